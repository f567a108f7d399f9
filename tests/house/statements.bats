# What README and the manual pages say is true: tests/house/statements/run tries
# it, sentence by sentence.
load ../common

try_statements() {
	needs groff
	"$ROOT/tests/house/statements/run" "$1"
}

@test "bloomdedup(1): what it says is true" {
	try_statements man/bloomdedup.1
}

@test "bloomdedup-serve(1): what it says is true" {
	try_statements man/bloomdedup-serve.1
}

@test "bloomdedup-redis(7): what it says is true" {
	try_statements man/bloomdedup-redis.7
}

@test "README: what it says is true" {
	try_statements README.md
}

@test "bloomdedup(5): what it says is true" {
	try_statements man/bloomdedup.5
}

@test "bloomdedup(7): what it says is true" {
	try_statements man/bloomdedup.7
}
