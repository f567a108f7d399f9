# bash completion for bloomdedup; needs no helper functions.
# shellcheck disable=SC2207 # bash 3 has no mapfile; the words have no blanks

_bloomdedup()
{
	local current=${COMP_WORDS[COMP_CWORD]} previous="" word command="" equals=""
	local i skip="" options="" values="" names with_argument with_file
	local with_command with_value without_files

	# bash has --option=value as three words.
	i=$((COMP_CWORD - 1))
	if [ "$current" = = ]; then
		current="" equals="="
	elif [ "${COMP_WORDS[i]}" = = ]; then
		i=$((i - 1)) equals="="
	fi
	[ "$i" -gt 0 ] && previous=${COMP_WORDS[i]}

	_bloomdedup_tables # the options are those without a command

	# The first operand is a command if it has the name of one.
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if [ -n "$skip" ]; then
			[ "$word" = = ] || skip=
			continue
		fi
		case $word in
		--)
			command=${command:-filter}
			break ;;
		=*) [ "$word" = = ] && i=$((i + 1)) ;;
		-*)
			case " $with_argument " in
			*" $word "*) skip=yes ;;
			esac ;;
		*)
			if [ -z "$command" ]; then
				case " $names " in
				*" $word "*) command=$word ;;
				*) command=filter ;;
				esac
			fi ;;
		esac
	done
	_bloomdedup_tables

	# An empty answer makes bash complete file names.
	COMPREPLY=()
	if [ -n "$values" ]; then
		COMPREPLY=($(compgen -W "$values" -- "$current"))
		return
	fi
	case " $with_file " in *" $previous "*) return ;; esac
	case " $with_command " in
	*" $previous "*)
		COMPREPLY=($(compgen -c -- "$current"))
		return ;;
	esac
	case " $with_value " in
	*" $previous "*)
		compopt +o default +o bashdefault 2>/dev/null
		return ;;
	esac

	case $current in
	-*)
		COMPREPLY=($(compgen -W "$options" -- "$current"))
		case ${COMPREPLY[0]} in
		*=) [ ${#COMPREPLY[@]} -gt 1 ] ||
			compopt -o nospace 2>/dev/null ;;
		esac
		return ;;
	esac
	case $command in
	'')
		# Files as well: a line for each, so that blanks stay.
		local IFS=$'\n'
		COMPREPLY=($(compgen -W "${names// /$IFS}" -- "$current"
			compgen -f -- "$current"))
		compopt -o filenames 2>/dev/null
		return ;;
	help)
		COMPREPLY=($(compgen -W "$names" -- "$current"))
		return ;;
	esac
	case " $without_files " in
	*" $command "*) compopt +o default +o bashdefault 2>/dev/null ;;
	esac
	return 0
}

# Sets the caller's lists, for its $previous$equals and its $command.
# shellcheck disable=SC2034 # the caller uses them
_bloomdedup_tables()
{
	# generated from src/cli/option_table.c by make completions
	names='add check create info key merge partition remove size try serve help version'
	with_argument='-f --filter -o --output --parts --duplicates --tee --files0-from --to-command -d --directory -l --listen --socket-mode --max-connections --max-key --max-value --max-unread --idle-timeout --lease --max-leases -n --capacity -p --error-rate --window -m --memory --hashes --on-full --max-size --like --hash --secret-file --lock-timeout -k --key -t --field-separator --url-ignore -s --skip-chars -w --check-chars --part -j --threads --max-record'
	with_file='-f --filter -o --output --duplicates --tee --files0-from -d --directory --like --secret-file'
	with_command='--to-command'
	with_value='--parts -l --listen --socket-mode --max-connections --max-key --max-value --max-unread --idle-timeout --lease --max-leases -n --capacity -p --error-rate --window -m --memory --hashes --max-size --lock-timeout -k --key -t --field-separator --url-ignore -s --skip-chars -w --check-chars --part -j --threads --max-record'
	without_files='try serve version'
	case $previous$equals in
	--stats=) values='json' ;;
	--on-full | --on-full=) values='grow warn fail' ;;
	--hash | --hash=) values='xxh3 siphash' ;;
	--csv=) values='backslash' ;;
	--url=) values='form scheme www slash values numbers fragment tracking' ;;
	--table=) values='k' ;;
	esac
	case ${command:-filter} in
	filter) options='-f --filter= -o --output= --append --overwrite -d --repeated --duplicates= --tee= --mark --files0-from= -q --quiet --to-command= --atomic --dry-run --sync --stats --progress -n --capacity= -p --error-rate= --window= --on-full= --no-create --max-size= --shared --claim --lock-timeout= -z --zero-terminated -k --key= -t --field-separator= --csv --header --url --url-ignore= --url-sort --strip-cr --trim --trim-fields -s --skip-chars= -w --check-chars= -i --ignore-case --keep-empty --part= --json= -j --threads= --strict-keys --strict-part --max-record= --no-decompress --no-gunzip -h --help -V --version' ;;
	add) options='-f --filter= --files0-from= -q --quiet --atomic --sync --stats --progress -n --capacity= -p --error-rate= --window= --on-full= --no-create --max-size= --shared --claim --lock-timeout= -z --zero-terminated -k --key= -t --field-separator= --csv --header --url --url-ignore= --url-sort --strip-cr --trim --trim-fields -s --skip-chars= -w --check-chars= -i --ignore-case --keep-empty --part= --json= -j --threads= --strict-keys --strict-part --max-record= --no-decompress --no-gunzip -h --help -V --version' ;;
	check) options='-f --filter= -o --output= -v --invert --mark --files0-from= -q --quiet --stats --progress --lock-timeout= -z --zero-terminated -k --key= -t --field-separator= --csv --header --url --url-ignore= --url-sort --strip-cr --trim --trim-fields -s --skip-chars= -w --check-chars= -i --ignore-case --keep-empty --part= --json= -j --threads= --strict-keys --strict-part --max-record= --no-decompress --no-gunzip -h --help -V --version' ;;
	create) options='-f --filter= -n --capacity= -p --error-rate= --window= -m --memory= --hashes= --on-full= --like= --hash= --secret-file= --lock-timeout= --force -z --zero-terminated -k --key= -t --field-separator= --csv --header --url --url-ignore= --url-sort --strip-cr --trim --trim-fields -s --skip-chars= -w --check-chars= -i --ignore-case --keep-empty --part= --json= -h --help -V --version' ;;
	info) options='-f --filter= --json --verify -h --help -V --version' ;;
	key) options='-f --filter= --files0-from= -z --zero-terminated -k --key= -t --field-separator= --csv --header --url --url-ignore= --url-sort --strip-cr --trim --trim-fields -s --skip-chars= -w --check-chars= -i --ignore-case --json= -j --threads= --strict-keys --max-record= --no-decompress --no-gunzip -h --help -V --version' ;;
	merge) options='-o --output= --lock-timeout= --force -h --help -V --version' ;;
	partition) options='-o --output= --parts= --files0-from= --atomic -z --zero-terminated -k --key= -t --field-separator= --csv --header --url --url-ignore= --url-sort --strip-cr --trim --trim-fields -s --skip-chars= -w --check-chars= -i --ignore-case --json= -j --threads= --strict-keys --max-record= --no-decompress --no-gunzip -h --help -V --version' ;;
	remove) options='--lock-timeout= -h --help -V --version' ;;
	size) options='-n --capacity= -p --error-rate= --window= -m --memory= --hashes= --on-full= --json --table -h --help -V --version' ;;
	try) options='--hashes= --on-full= --json --measure -h --help -V --version' ;;
	serve) options='--sync -d --directory= -l --listen= --socket-mode= --admin --no-admin --read-only --max-connections= --max-key= --max-value= --max-unread= --idle-timeout= --lease= --max-leases= -n --capacity= -p --error-rate= -m --memory= -h --help -V --version' ;;
	help) options='-h --help -V --version' ;;
	version) options='-h --help -V --version' ;;
	esac
	# end
}

complete -o bashdefault -o default -F _bloomdedup bloomdedup
