# bash completion for bloomdedup; needs no helper functions.
# shellcheck disable=SC2207 # bash 3 has no mapfile; the words have no blanks

_bloomdedup()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous="" word command="" options
	local names='add check create info size try' i skip=""

	# bash has --option=value as three words.
	i=$((COMP_CWORD - 1))
	if [ "$current" = = ]; then
		current=
	elif [ "${COMP_WORDS[i]}" = = ]; then
		i=$((i - 1))
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
		-f | -n | -p | -m | -o | --filter | --capacity | --error-rate | \
			--memory | --output | --hashes | --on-full | --max-size | \
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
	case $previous in
	-f | --filter | -o | --output)
		return ;;
	--on-full)
		COMPREPLY=($(compgen -W 'grow warn fail' -- "$current"))
		return ;;
	--table)
		COMPREPLY=($(compgen -W k -- "$current"))
		return ;;
	-n | -p | -m | --capacity | --error-rate | --memory | --hashes | \
		--max-size | --lock-timeout)
		compopt +o default +o bashdefault 2>/dev/null
		return ;;
	esac

	case $command in
	'' | filter) options='-f --filter= -o --output= -q --quiet
		-z --zero-terminated -n --capacity= -p --error-rate= --on-full=
		--max-size= --lock-timeout= --no-gunzip -h --help -V --version' ;;
	add) options='-f --filter= -q --quiet -z --zero-terminated
		-n --capacity= -p --error-rate= --on-full= --max-size=
		--lock-timeout= --no-gunzip -h --help' ;;
	check) options='-f --filter= -v --invert -q --quiet -o --output=
		-z --zero-terminated --no-gunzip -h --help' ;;
	create) options='-n --capacity= -p --error-rate= -m --memory= --hashes=
		-z --zero-terminated --on-full= --max-size= --force
		--lock-timeout= -h --help' ;;
	info) options='--json -h --help' ;;
	size) options='-n --capacity= -p --error-rate= -m --memory= --hashes=
		--on-full= --json --table -h --help' ;;
	try) options='--hashes= --on-full= --json -h --help' ;;
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
