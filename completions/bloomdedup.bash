# bash completion for bloomdedup; needs no helper functions.
# shellcheck disable=SC2207 # bash 3 has no mapfile; the words have no blanks

_bloomdedup()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous="" word command="" options
	local equals="" keys names='add check create info merge size try' i skip=""

	# bash has --option=value as three words.
	i=$((COMP_CWORD - 1))
	if [ "$current" = = ]; then
		current="" equals="="
	elif [ "${COMP_WORDS[i]}" = = ]; then
		i=$((i - 1)) equals="="
	fi
	[ "$i" -gt 0 ] && previous=${COMP_WORDS[i]}

	# The first operand is a command if it has the name of one.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [ -n "$skip" ]; then
			[ "$word" = = ] || skip=
			continue
		fi
		case $word in
		-f | -n | -p | -m | -o | -k | -t | -s | -w | --filter | \
			--capacity | --error-rate | --memory | --output | \
			--duplicates | --to-command | --key | --field-separator | \
			--skip-chars | --check-chars | --like | --hash | \
			--secret-file | --hashes | --on-full | --max-size | \
			--lock-timeout)
			skip=yes ;;
		--)
			command=${command:-filter}
			break ;;
		=*) [ "$word" = = ] && i=$((i + 1)) ;;
		-*) ;;
		*)
			if [ -z "$command" ]; then
				case " $names " in
				*" $word "*) command=$word ;;
				*) command=filter ;;
				esac
			fi ;;
		esac
	done

	# An empty answer makes bash complete file names.
	COMPREPLY=()
	case $previous$equals in
	--stats=)
		COMPREPLY=($(compgen -W json -- "$current"))
		return ;;
	--table=)
		COMPREPLY=($(compgen -W k -- "$current"))
		return ;;
	esac
	case $previous in
	-f | --filter | -o | --output | --duplicates | --like | --secret-file)
		return ;;
	--to-command)
		COMPREPLY=($(compgen -c -- "$current"))
		return ;;
	--hash)
		COMPREPLY=($(compgen -W 'xxh3 siphash' -- "$current"))
		return ;;
	--on-full)
		COMPREPLY=($(compgen -W 'grow warn fail' -- "$current"))
		return ;;
	-n | -p | -m | -k | -t | -s | -w | -j | --threads | --capacity | \
		--error-rate | --memory | --hashes | --max-size | --lock-timeout | --key | \
		--field-separator | --skip-chars | --check-chars)
		compopt +o default +o bashdefault 2>/dev/null
		return ;;
	esac

	keys='-z --zero-terminated -k --key= -t --field-separator= --csv --strip-cr
		--trim -s --skip-chars= -w --check-chars= -i --ignore-case'
	case $command in
	'' | filter) options="$keys -f --filter= -o --output= -d --repeated
		--duplicates= -q --quiet --to-command= --atomic --sync --stats
		--progress -n --capacity= -p --error-rate= --on-full=
		--max-size= --lock-timeout= --shared -j
		--threads= --no-gunzip -h --help
		-V --version" ;;
	add) options="$keys -f --filter= -q --quiet --atomic --sync --stats
		--progress -n --capacity= -p --error-rate= --on-full=
		--max-size= --lock-timeout= --shared -j
		--threads= --no-gunzip -h --help" ;;
	check) options="$keys -f --filter= -v --invert -q --quiet -o --output=
		--stats --progress -j --threads= --no-gunzip -h --help" ;;
	create) options="$keys -n --capacity= -p --error-rate= -m --memory=
		--hashes= --on-full= --max-size= --like= --hash=
		--secret-file= --force
		--lock-timeout= -h --help" ;;
	info) options='--json --verify -h --help' ;;
	merge) options='-o --output= --force --lock-timeout= -h --help' ;;
	size) options='-n --capacity= -p --error-rate= -m --memory= --hashes=
		--on-full= --json --table -h --help' ;;
	try) options='--measure --hashes= --on-full= --json -h --help' ;;
	esac

	case $current in
	-*)
		COMPREPLY=($(compgen -W "$options" -- "$current"))
		case ${COMPREPLY[0]} in
		*=) [ ${#COMPREPLY[@]} -gt 1 ] ||
			compopt -o nospace 2>/dev/null ;;
		esac ;;
	*)
		if [ -z "$command" ]; then
			# Files as well: a line for each, so that blanks stay.
			local IFS=$'\n'
			COMPREPLY=($(compgen -W "${names// /$IFS}" -- "$current"
				compgen -f -- "$current"))
			compopt -o filenames 2>/dev/null
		elif [ "$command" = size ] || [ "$command" = try ]; then
			compopt +o default +o bashdefault 2>/dev/null
		fi ;;
	esac
	return 0
}

complete -o bashdefault -o default -F _bloomdedup bloomdedup
