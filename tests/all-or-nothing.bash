# What the tests of --atomic and --to-command load: a run remembers all of its
# lines, or none.
load ../common

# prepare: the filter `seen` knows the line `old`; `in` has that line and new
# ones, one of them twice; `new` has the new ones; and `file`, the same as
# `before`, is what -o is to replace.
prepare() {
	echo old | bloomdedup -f seen >/dev/null
	echo 'old file' >file
	cp file before
	printf 'old\na\nb\na\n' >in
	printf 'a\nb\n' >new
}

# nothing_remembered: the new lines are still new, and nothing is left behind.
nothing_remembered() {
	bloomdedup check -v -f seen in >unknown
	printf 'a\nb\na\n' | cmp - unknown
	echo old | bloomdedup check -q -f seen
	[ ! -e seen.journal ]
	no_leftovers
}

# nothing_happened: the same, and `file` is the old one.
nothing_happened() {
	cmp before file
	nothing_remembered
}

# all_remembered: the lines of `in` are known, and nothing is left behind.
all_remembered() {
	all_known in
	[ ! -e seen.journal ]
	no_leftovers
}
