# What README and the manual pages promise holds: tests/house/statements/run tries
# it, statement by statement.
load ../common

try_statements() {
	needs groff
	"$ROOT/tests/house/statements/run" "$1"
}

@test "bloomdedup(1): what it promises holds" {
	try_statements man/bloomdedup.1
}

@test "bloomdedup-serve(1): what it promises holds" {
	try_statements man/bloomdedup-serve.1
}

@test "bloomdedup-redis(7): what it promises holds" {
	try_statements man/bloomdedup-redis.7
}

@test "README: what it promises holds" {
	try_statements README.md
}

@test "bloomdedup(5): what it promises holds" {
	try_statements man/bloomdedup.5
}

@test "bloomdedup(7): what it promises holds" {
	try_statements man/bloomdedup.7
}
