# The environment of the tests, the same on every machine. For common.bash and
# tests/run.

# clean_environment: forget all variables but those that the tests know, so that
# none of them helps here and is missing elsewhere, or the other way round: the
# language, options of grep, make or git, the modes of new files.
clean_environment() {
	local name
	for name in $(compgen -e); do
		case $name in
		# of every machine, and of whoever starts the tests
		PATH | HOME | TERM | TMPDIR | PWD | OLDPWD | SHLVL | _) ;;
		# of bats, and what tests/README.md and the Makefile set
		BATS* | BUILD | BLOOMDEDUP* | JOBS | LIMIT | UNDER_* | OTHER_BLOOMDEDUP) ;;
		REDIS_SERVER | REDIS_CLI | REDIS_BLOOM | VALKEY_SERVER) ;;
		# where libraries are, and how registries are reached
		LD_LIBRARY_PATH | *SAN_OPTIONS | *_proxy) ;;
		*) unset "$name" ;;
		esac
	done
	# make has no way to write a name with blanks
	[[ ${TMPDIR-} != *[[:space:]]* ]] || unset TMPDIR
	umask 022
	# Python writes nothing beside what it reads.
	export PYTHONDONTWRITEBYTECODE=1
}
