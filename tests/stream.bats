# The main job: lines that were never seen before go out, in order.
load common

@test "new lines go out once and in order" {
	printf 'b\na\nb\nc\na\n' | bloomdedup >out
	printf 'b\na\nc\n' | cmp - out
}

@test "a second run prints nothing of what the first one saw" {
	printf 'a\nb\n' | bloomdedup -f seen >out
	printf 'a\nb\n' | cmp - out
	printf 'b\nc\na\n' | bloomdedup -f seen >out
	printf 'c\n' | cmp - out
}
