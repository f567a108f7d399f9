#include "cli/option_table.h"

#include <getopt.h>
#include <stdio.h>

#include "bits/geometry.h"
#include "bits/sizing.h"
#include "cli/options.h"
#include "key/recipe.h"
#include "serve/leases.h"

enum { /* the commands that take it */
	FILTER = 1 << COMMAND_FILTER,
	ADD = 1 << COMMAND_ADD,
	CHECK = 1 << COMMAND_CHECK,
	CREATE = 1 << COMMAND_CREATE,
	INFO = 1 << COMMAND_INFO,
	KEY = 1 << COMMAND_KEY,
	MERGE = 1 << COMMAND_MERGE,
	PARTITION = 1 << COMMAND_PARTITION,
	REMOVE = 1 << COMMAND_REMOVE,
	SIZE = 1 << COMMAND_SIZE,
	TRY = 1 << COMMAND_TRY,
	SERVE = 1 << COMMAND_SERVE,
	ANY = (1 << COMMAND_COUNT) - 1,
	REMEMBER = FILTER | ADD,     /* they change a filter */
	STREAM = REMEMBER | CHECK,   /* they look lines up */
	OWN_KEYS = STREAM | CREATE,  /* their filter has a recipe */
	KEYS = OWN_KEYS | PARTITION | KEY, /* their lines have keys */
	READ = STREAM | PARTITION | KEY /* they read lines */
};

/* Ranges and defaults in texts, as the constants spell them. */
#define TEXT_OF(constant) #constant
#define TEXT(constant) TEXT_OF(constant)
#define CAPACITY TEXT(SIZING_CAPACITY_WRITTEN)
#define RATE TEXT(SIZING_RATE_DEFAULT)
#define CONNECTIONS_MAX 1000000

/* The texts spell these in units of their own. */
_Static_assert(SERVE_MODE_DEFAULT == 0600 && SERVE_KEY_DEFAULT == 64 << 10 &&
    SERVE_VALUE_DEFAULT == 1 << 20 && SERVE_REPLIES_DEFAULT == 64 << 20 &&
    SERVE_LEASES_DEFAULT == 1000000 &&
    RECORD_MAX_BYTES == 1 << 30, "the defaults that help states");
_Static_assert(SIZING_CAPACITY_MAX == 9007199254740992 && K_MAX == 64 &&
    HASH_SECRET_MAX == 192 && SIPHASH_KEY_BYTES == 16 &&
    KEY_RANGES_MAX == 32 && KEY_POINTERS_MAX == 32,
    "the limits that help and messages state");

#define TO(field) .where = offsetof(struct options, field)
#define VALUE(field, value) .set = option_set_value, TO(field), .least = value
#define FLAG(field) VALUE(field, 1)
#define SIZE_OF(field) .set = option_set_size, TO(field), \
	.allowed = "a size in bytes, such as 512K, 32M or 2G"
#define NAME(field) .set = option_set_text, TO(field), \
	.allowed = "a file name"

const struct option_row option_table[] = {
	/* What is printed, and where. */

	{ .name = "filter", .letter = 'f', .argument = "FILTER",
	    .commands = STREAM | KEY, .group = GROUP_MAIN, NAME(run.filter),
	    .brief = "remember lines in this file, made on first use",
	    .help = "remember lines in this file, or on a server with Redis"
	    " (redis://HOST/NAME); it is made on first use",
	    .helps = { { CHECK, "look the lines up in this filter" },
		{ KEY, "make keys with the key options of this filter" } } },
	{ .name = "filter", .letter = 'f', .argument = "FILTER",
	    .commands = CREATE | INFO, .group = GROUP_FILTER,
	    .set = option_set_list, TO(operands), .adds_up = 1,
	    .allowed = "a file name",
	    .help = "name the filter, as the operand FILTER does" },
	{ .name = "output", .letter = 'o', .argument = "FILE",
	    .commands = FILTER | CHECK | MERGE | PARTITION, .group = GROUP_MAIN,
	    NAME(run.output),
	    .brief = "print to FILE; with --append, add to it",
	    .help = "print to FILE instead of standard output",
	    .helps = { { MERGE, "write the merged filter to FILE" },
		{ PARTITION, "write each part to a file of its own; FILE has %d"
		    " for the number, as in 'part-%d.txt'" } } },
	{ .name = "parts", .argument = "N", .commands = PARTITION,
	    .group = GROUP_MAIN,
	    .set = option_set_small, TO(run.parts),
	    .least = 1, .most = PARTS_MAX,
	    .allowed = "a number of parts from 1 to " TEXT(PARTS_MAX),
	    .help = "split lines into N parts, 1 to " TEXT(PARTS_MAX) },
	{ .name = "append", .commands = FILTER, .group = GROUP_MAIN,
	    FLAG(run.append),
	    .needs = "output", .conflicts = { { "overwrite", "" } },
	    .help = "add to the end of FILE (with -o)" },
	{ .name = "overwrite", .commands = FILTER, .group = GROUP_MAIN,
	    FLAG(run.overwrite),
	    .needs = "output",
	    .help = "replace FILE, which may have contents (with -o)" },
	{ .name = "repeated", .letter = 'd', .commands = FILTER,
	    .group = GROUP_MAIN, FLAG(repeated),
	    .brief = "print the lines seen before instead",
	    .help = "print the lines seen before instead of the new ones" },
	{ .name = "duplicates", .argument = "FILE", .commands = FILTER,
	    .group = GROUP_MAIN, NAME(run.duplicates),
	    .help = "also write the lines seen before to FILE" },
	{ .name = "tee", .argument = "FILE", .commands = FILTER,
	    .group = GROUP_MAIN, NAME(run.tee),
	    .needs = "filter",
	    .conflicts = { { "repeated mark",
		": it adds the lines that are new" } },
	    .help = "add the new lines to FILE, too, before they are"
	    " printed" },
	{ .name = "invert", .letter = 'v', .commands = CHECK,
	    .group = GROUP_MAIN, FLAG(invert),
	    .help = "print the lines that are not in the filter" },
	{ .name = "mark", .commands = FILTER | CHECK, .group = GROUP_MAIN,
	    FLAG(mark),
	    .conflicts = {
		{ "repeated duplicates invert quiet",
		    ": it prints every line once" },
		{ "csv", ": the mark would become part of a field" } },
	    .help = "print every line, with new or seen and a tab in front",
	    .helps = { { CHECK, "print every line, with in or out and a tab in"
		    " front" } } },
	{ .name = "files0-from", .argument = "FILE", .commands = READ,
	    .group = GROUP_MAIN, NAME(files),
	    .help = "read the files whose names are in FILE, each ended by a"
	    " NUL; - is standard input" },
	{ .name = "quiet", .letter = 'q', .commands = STREAM,
	    .group = GROUP_MAIN, FLAG(quiet),
	    .conflicts = { { "output", ": it prints nothing" } },
	    .help = "print no lines; exit with 1 if none was new",
	    .helps = { { ADD, "exit with 1 if no line was new" },
		{ CHECK, "print no lines, only set the exit status" } } },
	{ .name = "to-command", .argument = "CMD", .commands = FILTER,
	    .group = GROUP_MAIN,
	    .set = option_set_text, TO(run.to_command),
	    .allowed = "a shell command",
	    .conflicts = {
		{ "output quiet", ": the command gets the lines" },
		{ "sync", ": what a command does with the lines cannot be"
		    " synced" } },
	    .help = "feed the lines to this shell command; remember them only"
	    " if it has read them all and exits with 0" },
	{ .name = "atomic", .commands = REMEMBER | PARTITION,
	    .group = GROUP_MAIN, FLAG(run.atomic),
	    .help = "remember lines only if the whole run succeeds; with -o,"
	    " replace FILE only then",
	    .helps = { { ADD, "remember lines only if the whole run succeeds" },
		{ PARTITION, "give the files their names only when all are"
		    " complete" } } },
	{ .name = "dry-run", .commands = FILTER, .group = GROUP_MAIN,
	    FLAG(run.dry_run),
	    .needs = "filter",
	    .brief = "print what is new, and remember nothing",
	    .help = "print on standard output what the run would print, and"
	    " change no file" },
	{ .name = "sync", .commands = REMEMBER | SERVE, .group = GROUP_MAIN,
	    FLAG(run.use.sync),
	    .help = "sync to disk, so that remembered lines also survive a"
	    " power failure; the output must be a file",
	    .helps = { { ADD,
		    "sync to disk, so that remembered lines also survive a"
		    " power failure" },
		{ SERVE, "sync to disk before each reply, so that what is"
		    " answered with STORED also survives a power failure" } } },
	{ .name = "stats", .argument = "[=json]", .commands = STREAM,
	    .group = GROUP_MAIN,
	    .set = option_set_word, TO(stats), .values = "json",
	    .least = STATS_JSON,
	    .allowed = "nothing, or --stats=json",
	    .help = "print statistics on standard error at the end" },
	{ .name = "progress", .commands = STREAM, .group = GROUP_MAIN,
	    FLAG(progress),
	    .help = "show a line of live figures on the terminal" },

	/* The server. */

	{ .name = "directory", .letter = 'd', .argument = "DIR",
	    .commands = SERVE, .group = GROUP_MAIN,
	    NAME(serve.directory),
	    .help = "serve the filters NAME.bloom of this directory" },
	{ .name = "listen", .letter = 'l', .argument = "ADDRESS",
	    .commands = SERVE, .group = GROUP_MAIN,
	    .set = option_set_list, TO(listen), .adds_up = 1,
	    .allowed = "HOST:PORT, [IPV6]:PORT, unix:PATH or fd:NUMBER",
	    .help = "listen on ADDRESS: HOST:PORT, [IPV6]:PORT, unix:PATH or"
	    " fd:NUMBER; may be repeated [127.0.0.1:12345]" },
	{ .name = "socket-mode", .argument = "MODE", .commands = SERVE,
	    .group = GROUP_MAIN,
	    .set = option_set_mode, TO(serve.socket_mode),
	    .allowed = "octal digits, such as 660",
	    .help = "give unix sockets this mode [600]" },
	{ .name = "admin", .commands = SERVE, .group = GROUP_MAIN,
	    VALUE(serve.admin, ADMIN_ALL),
	    .conflicts = { { "no-admin", "" } },
	    .help = "let all clients delete filters, not only those on a unix"
	    " socket" },
	{ .name = "no-admin", .commands = SERVE, .group = GROUP_MAIN,
	    VALUE(serve.admin, ADMIN_NONE),
	    .help = "let no client make or delete filters or set the memory"
	    " limit" },
	{ .name = "read-only", .commands = SERVE, .group = GROUP_MAIN,
	    FLAG(serve.read_only),
	    .help = "let no client change anything" },
	{ .name = "max-connections", .argument = "N", .commands = SERVE,
	    .group = GROUP_MAIN,
	    .set = option_set_count, TO(serve.connections),
	    .least = 1, .most = CONNECTIONS_MAX,
	    .allowed = "a number from 1 to " TEXT(CONNECTIONS_MAX),
	    .help = "serve at most N connections at a time ["
	    TEXT(SERVE_CONNECTIONS_DEFAULT) "]" },
	{ .name = "max-key", .argument = "SIZE", .commands = SERVE,
	    .group = GROUP_MAIN, SIZE_OF(max_key),
	    .help = "accept keys of up to SIZE [64K]" },
	{ .name = "max-value", .argument = "SIZE", .commands = SERVE,
	    .group = GROUP_MAIN, SIZE_OF(max_value),
	    .help = "accept values of up to SIZE [1M]" },
	{ .name = "max-unread", .argument = "SIZE", .commands = SERVE,
	    .group = GROUP_MAIN,
	    SIZE_OF(serve.reply_bytes),
	    .help = "stop reading from a client that leaves more than SIZE of"
	    " its replies unread [64M]" },
	{ .name = "idle-timeout", .argument = "SEC", .commands = SERVE,
	    .group = GROUP_MAIN,
	    .set = option_set_seconds, TO(serve.idle_time),
	    .allowed = "a number of seconds, such as 60; 0: never",
	    .help = "close connections that have been idle for SEC seconds"
	    " [never]" },
	{ .name = "lease", .argument = "MAX", .commands = SERVE,
	    .group = GROUP_MAIN,
	    .set = option_set_duration, TO(serve.lease_time),
	    .allowed = "a time from 0.001 to 1e9 seconds, such as 300, 30s, 10m"
	    " or 2h",
	    .conflicts = { { "read-only", ", which lets no client remember"
		" what it has leased" } },
	    .help = "lease subkeys to clients that add them with an expiration"
	    " time, for up to MAX, such as 10m" },
	{ .name = "max-leases", .argument = "N", .commands = SERVE,
	    .group = GROUP_MAIN,
	    .set = option_set_count, TO(serve.lease_count),
	    .least = 1, .most = LEASES_MAX,
	    .allowed = "a number from 1 to " TEXT(LEASES_MAX) ", such as 1e6",
	    .needs = "lease",
	    .help = "allow at most N leases at a time [1e6]" },

	/* The filter, and where it comes from. */

	{ .name = "capacity", .letter = 'n', .argument = "N",
	    .commands = REMEMBER | CREATE | SIZE | SERVE, .group = GROUP_FILTER,
	    .set = option_set_count, TO(capacity),
	    .least = 1, .most = SIZING_CAPACITY_MAX,
	    .allowed = "a count from 1 to 9007199254740992, such as 1000000,"
	    " 1e8 or 100M",
	    .brief = "plan for N lines, such as 1e8; the filter grows",
	    .help = "plan for N lines, such as 1e8; the filter grows if there"
	    " are more [" CAPACITY ", or more if the input is large]",
	    .helps = { { CREATE, "plan for N lines, such as 1e8"
		    " [" CAPACITY "]" },
		{ SIZE, "compute the size for N lines, such as 1e8 or 100M" },
		{ SERVE, "plan filters that BF.ADD makes for N subkeys"
		    " [" CAPACITY "]" } } },
	{ .name = "error-rate", .letter = 'p', .argument = "P",
	    .commands = REMEMBER | CREATE | SIZE | SERVE, .group = GROUP_FILTER,
	    .set = option_set_rate, TO(error_rate),
	    .allowed = "a rate from " TEXT(SIZING_RATE_MIN) " to "
	    TEXT(SIZING_RATE_MAX) ", such as 1e-6, 0.1% or"
	    " 1/1000",
	    .brief = "drop at most this share of new lines [" RATE "]",
	    .help = "drop at most this share of new lines (false positives),"
	    " such as 1e-6, 0.1% or 1/1000 [" RATE "]",
	    .helps = { { SERVE, "give filters that BF.ADD makes this error rate"
		    " [" RATE "]" } } },
	{ .name = "window", .argument = "W",
	    .commands = REMEMBER | CREATE | SIZE, .group = GROUP_FILTER,
	    .set = option_set_window, TO(window),
	    .allowed = "a time, such as 12h or 30d (s, m, h, d, w), or a number"
	    " of new lines, at least 4, such as 1e8",
	    .conflicts = { { "memory hashes like", "" } },
	    .brief = "forget lines after W: 30d, or a number of lines",
	    .help = "forget lines after W: a time, such as 30d (s, m, h, d,"
	    " w), or a number of new lines, such as 1e8",
	    .helps = { { SIZE, "compute the size of a filter that forgets lines"
		    " after W, a time such as 30d or a number of lines" } } },
	{ .name = "memory", .letter = 'm', .argument = "SIZE",
	    .commands = CREATE | SIZE | SERVE, .group = GROUP_FILTER,
	    SIZE_OF(memory),
	    .help = "limit the filter to SIZE, such as 2G; with -n, the error"
	    " rate follows, and with -p, the capacity",
	    .helps = { { SERVE, "limit all filters together to SIZE [half of"
		    " the memory]" } } },
	{ .name = "hashes", .argument = "K", .commands = CREATE | SIZE | TRY,
	    .group = GROUP_FILTER,
	    .set = option_set_small, TO(hashes), .least = 1, .most = K_MAX,
	    .allowed = "a number of hash functions from 1 to 64",
	    .rare = 1,
	    .help = "use K hash functions, 1 to 64" },
	{ .name = "on-full", .argument = "WHAT",
	    .commands = REMEMBER | CREATE | SIZE | TRY, .group = GROUP_FILTER,
	    .set = option_set_word, TO(run.use.growth),
	    .least = GROWTH_GROW, .values = "grow warn fail",
	    .allowed = "grow, warn or fail",
	    .help = "grow, warn or fail beyond N lines [grow]",
	    .helps = { { SIZE | TRY, "grow, warn or fail beyond N lines; a"
		    " filter that does not grow is smaller [grow]" } } },
	{ .name = "no-create", .commands = REMEMBER, .group = GROUP_FILTER,
	    FLAG(no_create),
	    .needs = "filter",
	    .brief = "fail if FILTER is missing, as by a misspelt name",
	    .help = "fail if there is no such filter, rather than make one" },
	{ .name = "max-size", .argument = "SIZE", .commands = REMEMBER,
	    .group = GROUP_FILTER,
	    SIZE_OF(run.use.max_bytes),
	    .help = "let the filter grow to SIZE at most, such as 2G" },
	{ .name = "like", .argument = "OTHER", .commands = CREATE,
	    .group = GROUP_FILTER, NAME(like),
	    .conflicts = {
		{ "hash secret-file", ": the secret is that of OTHER" },
		{ "memory hashes error-rate on-full",
		    ": the rate and the shape are those of OTHER" } },
	    .help = "take the shape and the secret of the filter OTHER, so"
	    " that both can be merged" },
	{ .name = "hash", .argument = "NAME", .commands = CREATE,
	    .group = GROUP_FILTER,
	    .set = option_set_word, TO(hash), .least = HASH_XXH3_128,
	    .values = "xxh3 siphash",
	    .allowed = "xxh3 or siphash",
	    .help = "use this keyed hash: xxh3, or siphash if an adversary"
	    " writes the lines and sees what is printed [xxh3]" },
	{ .name = "secret-file", .argument = "FILE", .commands = CREATE,
	    .group = GROUP_FILTER, NAME(secret_file),
	    .rare = 1,
	    .help = "take the hash's secret from FILE: 192 bytes, or 16 for"
	    " siphash [random]" },
	{ .name = "shared", .commands = REMEMBER, .group = GROUP_FILTER,
	    FLAG(run.use.wait.shared),
	    .needs = "filter",
	    .conflicts = { { "sync atomic to-command",
		    ", which needs the filter for itself" } },
	    .help = "share the filter with other --shared runs without"
	    " waiting; a line that two of them read at the same time may be"
	    " printed twice" },
	{ .name = "claim", .commands = REMEMBER, .group = GROUP_FILTER,
	    FLAG(run.use.claim),
	    .needs = "filter",
	    .conflicts = { { "sync atomic to-command shared",
		    ", which remembers lines before they are printed" },
		{ "repeated", ": it is about the new lines" } },
	    .help = "print each line on only one of all machines, with a filter"
	    " in Redis; a crash may lose lines",
	    .helps = { { ADD, "count each line as new on only one of all"
		    " machines, with a filter in Redis" } } },
	{ .name = "lock-timeout", .argument = "SEC",
	    .commands = STREAM | CREATE | MERGE | REMOVE, .group = GROUP_FILTER,
	    .set = option_set_seconds,
	    TO(run.use.wait.milliseconds),
	    .allowed = "a number of seconds, such as 60; 0: no waiting",
	    .help = "wait up to SEC seconds for another run that uses the"
	    " filter or an output, or for a server that cannot be reached ["
	    TEXT(OPTIONS_LOCK_TIMEOUT) "]" },
	{ .name = "force", .commands = CREATE | MERGE, .group = GROUP_FILTER,
	    FLAG(force),
	    .help = "replace an existing filter" },

	/* Which part of a line is compared. */

	{ .name = "zero-terminated", .letter = 'z', .commands = KEYS,
	    .group = GROUP_KEY,
	    FLAG(recipe.zero_terminated),
	    .help = "end lines with NUL, not with newline" },
	{ .name = "key", .letter = 'k', .argument = "LIST", .commands = KEYS,
	    .group = GROUP_KEY,
	    .set = option_set_key, TO(recipe), .adds_up = 1,
	    .allowed = "fields as for cut, such as 2 or 1,3 or 2-4 or 2-, in at"
	    " most 32 ranges, or names of columns, each of them once",
	    .brief = "compare these fields, such as 2 or 1,3 or 2-",
	    .help = "compare these fields, such as 2 or 1,3 or 2-4 or 2-" },
	{ .name = "field-separator", .letter = 't', .argument = "C",
	    .commands = KEYS, .group = GROUP_KEY,
	    .set = option_set_byte, TO(recipe.separator),
	    .allowed = "one byte, or \\t for a tab, or \\0 for NUL",
	    .brief = "separate fields at C [spaces and tabs]",
	    .help = "separate fields at C [runs of spaces and tabs]" },
	{ .name = "csv", .argument = "[=backslash]", .commands = KEYS,
	    .group = GROUP_KEY,
	    .set = option_set_key, TO(recipe), .adds_up = 1,
	    .values = "backslash", .allowed = "nothing, or backslash",
	    .brief = "read CSV; with --header, -k takes names of columns",
	    .help = "read comma-separated values; quoted fields may span"
	        " lines; with =backslash, \\\" in them is a quote" },
	{ .name = "header", .commands = KEYS, .group = GROUP_KEY,
	    FLAG(recipe.header),
	    .help = "take names for -k from the first record of each file"
	    " (--csv), which is printed once",
	    .helps = { { KEY, "take names for -k from the first record of each"
		    " file (--csv), which has no key" },
		{ PARTITION, "take names for -k from the first record of each"
		    " file (--csv), which each file of a part gets" } } },
	{ .name = "url", .argument = "[=LIST]", .commands = KEYS,
	    .group = GROUP_KEY,
	    .set = option_set_key, TO(recipe), .adds_up = 1,
	    .values = "form scheme www slash values numbers fragment tracking",
	    .allowed = "nothing, or a list of form, scheme, www, slash,"
	    " values, numbers, fragment and tracking, such as --url=form,www",
	    .help = "compare URLs in their normal form (RFC 3986); also ignore"
	    " the differences in LIST: form, scheme, www, slash, values,"
	    " numbers, tracking; or keep fragment" },
	{ .name = "url-ignore", .argument = "LIST", .commands = KEYS,
	    .group = GROUP_KEY,
	    .set = option_set_key, TO(recipe), .adds_up = 1,
	    .allowed = "names of parameters, such as utm_*,gclid",
	    .help = "ignore these parameters of URLs (--url), such as"
	    " utm_*,gclid" },
	{ .name = "url-sort", .commands = KEYS, .group = GROUP_KEY,
	    FLAG(recipe.url_rules.sort),
	    .help = "ignore the order of parameters of URLs (--url)" },
	{ .name = "strip-cr", .commands = KEYS, .group = GROUP_KEY,
	    FLAG(recipe.strip_cr),
	    .help = "ignore a carriage return at the end" },
	{ .name = "trim", .commands = KEYS, .group = GROUP_KEY,
	    FLAG(recipe.trim),
	    .help = "ignore blanks at both ends" },
	{ .name = "trim-fields", .commands = KEYS, .group = GROUP_KEY,
	    FLAG(recipe.trim_fields),
	    .help = "ignore blanks around each field of -k, or value of"
	    " --json" },
	{ .name = "skip-chars", .letter = 's', .argument = "N",
	    .commands = KEYS, .group = GROUP_KEY,
	    .set = option_set_count, TO(recipe.skip),
	    .most = KEY_SKIP_UNSET - 1, .allowed = "a number of bytes",
	    .help = "ignore the first N bytes" },
	{ .name = "check-chars", .letter = 'w', .argument = "N",
	    .commands = KEYS, .group = GROUP_KEY,
	    .set = option_set_count, TO(recipe.check),
	    .least = 1, .most = UINT64_MAX,
	    .allowed = "a number of bytes, at least 1",
	    .help = "compare at most N bytes" },
	{ .name = "ignore-case", .letter = 'i', .commands = KEYS,
	    .group = GROUP_KEY, FLAG(recipe.ignore_case),
	    .help = "ignore case (A to Z only)" },
	{ .name = "keep-empty", .commands = OWN_KEYS, .group = GROUP_KEY,
	    FLAG(recipe.keep_empty),
	    .help = "print every line whose key is empty, rather than take all"
	    " but the first for duplicates",
	    .helps = { { CHECK, "take no line whose key is empty for one in the"
		    " filter" } } },
	{ .name = "part", .argument = "I/N", .commands = OWN_KEYS,
	    .group = GROUP_KEY,
	    .set = option_set_key, TO(recipe),
	    .allowed = "a part and the number of parts, such as 3/16, of at"
	    " most " TEXT(PARTS_MAX),
	    .help = "read only lines whose keys are in part I of N, such as"
	    " 3/16; skip the others" },

	/* Everything else. */

	{ .name = "json", .commands = INFO | SIZE | TRY, .group = GROUP_OTHER,
	    FLAG(json),
	    .conflicts = { { "table", ": tables are for people" } },
	    .help = "print one line of JSON",
	    .helps = { { INFO, "print one line of JSON for each filter" } } },
	/* After the other --json row: before a command it has no argument. */
	{ .name = "json", .argument = "POINTER", .commands = KEYS,
	    .group = GROUP_KEY,
	    .set = option_set_key, TO(recipe), .adds_up = 1,
	    .allowed = "a JSON pointer, such as /url or /user/id; each of them"
	    " once, and at most 32",
	    .help = "compare a value of JSON lines, which POINTER refers to,"
	    " such as /url; several are compared in order" },
	{ .name = "verify", .commands = INFO, .group = GROUP_OTHER,
	    FLAG(verify),
	    .help = "read the whole filter and compare the checksums of its"
	    " full layers" },
	{ .name = "table", .argument = "[=k]", .commands = SIZE,
	    .group = GROUP_OTHER,
	    .set = option_set_word, TO(table), .values = "k",
	    .least = TABLE_RATES,
	    .allowed = "nothing, or --table=k",
	    .conflicts = { { "capacity error-rate memory",
		    ": it shows the sizes for many figures" },
		    { "window", "" } },
	    .rare = 1, .brief = "print the sizes for many N and P",
	    .help = "print the sizes for many N and P; with =k, the rates of a"
	    " textbook filter by bits per line and K" },
	{ .name = "measure", .commands = TRY, .group = GROUP_OTHER,
	    FLAG(measure),
	    .help = "make such a filter in memory, fill it, and measure its"
	    " error rate and speed" },
	{ .name = "threads", .letter = 'j', .argument = "N", .commands = READ,
	    .group = GROUP_OTHER,
	    .set = option_set_small, TO(run.threads),
	    .least = 1, .most = RUN_THREADS_MAX,
	    .allowed = "a number of threads from 1 to "
	    TEXT(RUN_THREADS_MAX),
	    .help = "use N threads [for large input, one for each free"
	    " processor, at most " TEXT(PIPELINE_THREADS_AUTOMATIC) "]" },
	{ .name = "strict-keys", .commands = READ, .group = GROUP_OTHER,
	    FLAG(run.strict_keys),
	    .help = "fail at the first line that is not a URL (--url), is not"
	    " JSON or lacks a value (--json), or has none of the fields"
	    " (-k)" },
	{ .name = "strict-part", .commands = STREAM, .group = GROUP_OTHER,
	    FLAG(run.strict_part),
	    .help = "fail at the first line of another part (--part)" },
	{ .name = "max-record", .argument = "SIZE", .commands = READ,
	    .group = GROUP_OTHER,
	    SIZE_OF(run.input.format.max_bytes),
	    .help = "accept --csv records of up to SIZE, such as 100M [1G]" },
	{ .name = "no-decompress", .commands = READ, .group = GROUP_OTHER,
	    VALUE(run.input.decompress, 0),
	    .help = "read compressed files as they are" },
	{ .name = "no-gunzip", .commands = READ, .group = GROUP_OTHER,
	    VALUE(run.input.decompress, 0),
	    .help = "do the same as --no-decompress, under its former name" },
	{ .name = "help", .letter = 'h', .commands = ANY, .group = GROUP_OTHER,
	    FLAG(help),
	    .help = "print this help and exit" },
	{ .name = "version", .letter = 'V', .commands = ANY,
	    .group = GROUP_OTHER, FLAG(version),
	    .help = "print the version and exit" },
};
const size_t option_table_count = sizeof option_table / sizeof *option_table;

_Static_assert(sizeof option_table / sizeof *option_table <= OPTION_TABLE_MAX,
    "command_line_parse has no room for so many options");

int
option_table_argument(const struct option_row *row)
{
	if (row->argument == NULL)
		return no_argument;
	return row->argument[0] == '[' ? optional_argument : required_argument;
}

const char *
option_table_name(const struct option_row *row, char text[OPTION_NAME])
{
	if (row->letter == '\0')
		snprintf(text, OPTION_NAME, "--%s", row->name);
	else
		snprintf(text, OPTION_NAME, "-%c, --%s", row->letter,
		    row->name);
	return text;
}
