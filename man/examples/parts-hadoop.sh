#!/bin/bash
# The new lines of a day, in 8 parts, with Hadoop Streaming:
#
#     parts-hadoop.sh FILTERS DAY INPUT
#
# The folder DAY becomes the job's output, escaped as below, and DAY.lines the
# lines of the INPUT that no earlier day had. FILTERS has a filter for each part,
# as in parts-parallel.sh, in a folder that every node has mounted. Repeat the
# command until it succeeds: a day that Hadoop has committed is not computed
# again, and to add lines twice changes nothing. Finish a day before you begin
# the next. HADOOP is the command that runs a class, "hadoop" by default.
set -eu -o pipefail
export LC_ALL=C

# Hadoop takes a CR for the end of a line, and a tab for that of a key.
escape() { sed "s/%/%25/g; s/\r/%0D/g; s/\t/%09/$1"; }
unescape() { sed 's/\t$//; s/%0D/\r/g; s/%09/\t/g; s/%25/%/g'; }

case $1 in
map)
	bloomdedup partition --parts=8 ${KEYS-} | escape 2g
	exit ;;
reduce)
	# The lines of a part are together. A filter is only read, so this may
	# fail, or run twice.
	awk -v filters="$2" '
		function finish() {
			if (part != "" && close(command) != 0)
				failed = 1
		}
		{ number = substr($0, 1, index($0, "\t") - 1) }
		number != part {
			finish()
			part = number
			command = "bloomdedup --dry-run --strict-part -f " \
				filters "/part-" part ".bloom"
		}
		{
			line = substr($0, length(part) + 2)
			gsub(/%0D/, "\r", line)
			gsub(/%09/, "\t", line)
			gsub(/%25/, "%", line)
			print line | command
		}
		END { finish(); exit failed }' | escape g
	exit ;;
esac

if [ ! -e "$2/_SUCCESS" ]; then
	rm -rf "$2"
	${HADOOP-hadoop} org.apache.hadoop.streaming.HadoopStreaming \
		-D mapreduce.job.reduces=8 \
		-D textinputformat.record.delimiter=$'\n' \
		-cmdenv KEYS="${KEYS-}" -input "$3" -output "$2" \
		-mapper "bash $(realpath "$0") map" \
		-reducer "bash $(realpath "$0") reduce $1"
fi
cat "$2"/part-* | unescape >"$2.lines"
for i in {1..8}; do
	bloomdedup add -f "$1/part-$i.bloom" "$2.lines"
done
