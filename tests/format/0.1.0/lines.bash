# What the filters in this directory are made of, and asked for.

# lines FIRST STEP LAST: three fields each
lines() {
	seq "$1" "$2" "$3" | sed 's/.*/ &,Line &,&/'
}

# given NAME, asked NAME, added NAME: the lines that are in the filter, those
# that it is asked for, and those that are added to it.
given() {
	case $1 in
	bits24) lines 1 2 9000 ;;
	*) lines 1 2 36000 | terminated "$1" ;;
	esac
}

asked() {
	lines 1 1 40000 | terminated "$1"
}

added() {
	lines 2 20 36000 | terminated "$1"
}

terminated() {
	case $1 in
	zero) tr '\n' '\0' ;;
	*) cat ;;
	esac
}

# layers OLD NEW: of the file NEW, the layers that were in OLD
layers() {
	tail -c +12289 "$2" | head -c $(($(stat -c %s "$1") - 12288))
}
