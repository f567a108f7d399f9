#include "options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"
#include "sizing.h"
#include "team.h"

const char *const options_command_names[COMMAND_COUNT] = {
	"", "add", "check", "create", "info", "merge", "size", "try"
};

/* Long options without a letter of their own. */
enum {
	OPTION_ON_FULL = 256,
	OPTION_MAX_SIZE,
	OPTION_LOCK_TIMEOUT,
	OPTION_NO_GUNZIP,
	OPTION_JSON,
	OPTION_VERIFY,
	OPTION_HASHES,
	OPTION_TABLE,
	OPTION_FORCE,
	OPTION_CSV,
	OPTION_STRIP_CR,
	OPTION_TRIM,
	OPTION_DUPLICATES,
	OPTION_STATS,
	OPTION_PROGRESS,
	OPTION_LIKE,
	OPTION_MEASURE,
	OPTION_SYNC,
	OPTION_ATOMIC,
	OPTION_TO_COMMAND,
	OPTION_HASH,
	OPTION_SECRET_FILE,
	OPTION_SHARED
};

enum { /* which commands take it */
	FILTER = 1 << COMMAND_FILTER,
	ADD = 1 << COMMAND_ADD,
	CHECK = 1 << COMMAND_CHECK,
	CREATE = 1 << COMMAND_CREATE,
	INFO = 1 << COMMAND_INFO,
	MERGE = 1 << COMMAND_MERGE,
	SIZE = 1 << COMMAND_SIZE,
	TRY = 1 << COMMAND_TRY,
	ANY = (1 << COMMAND_COUNT) - 1,
	LINES = FILTER | ADD | CHECK | CREATE /* where keys matter */
};

static const struct spec {
	const char *name;
	int argument; /* getopt's no_, required_ or optional_argument */
	int letter;
	unsigned commands;
} specs[] = {
	{ "filter", required_argument, 'f', FILTER | ADD | CHECK },
	{ "capacity", required_argument, 'n', FILTER | ADD | CREATE | SIZE },
	{ "error-rate", required_argument, 'p', FILTER | ADD | CREATE | SIZE },
	{ "memory", required_argument, 'm', CREATE | SIZE },
	{ "hashes", required_argument, OPTION_HASHES, CREATE | SIZE | TRY },
	{ "zero-terminated", no_argument, 'z', LINES },
	{ "key", required_argument, 'k', LINES },
	{ "field-separator", required_argument, 't', LINES },
	{ "csv", no_argument, OPTION_CSV, LINES },
	{ "strip-cr", no_argument, OPTION_STRIP_CR, LINES },
	{ "trim", no_argument, OPTION_TRIM, LINES },
	{ "skip-chars", required_argument, 's', LINES },
	{ "check-chars", required_argument, 'w', LINES },
	{ "ignore-case", no_argument, 'i', LINES },
	{ "repeated", no_argument, 'd', FILTER },
	{ "duplicates", required_argument, OPTION_DUPLICATES, FILTER },
	{ "stats", optional_argument, OPTION_STATS, FILTER | ADD | CHECK },
	{ "progress", no_argument, OPTION_PROGRESS, FILTER | ADD | CHECK },
	{ "shared", no_argument, OPTION_SHARED, FILTER | ADD },
	{ "sync", no_argument, OPTION_SYNC, FILTER | ADD },
	{ "atomic", no_argument, OPTION_ATOMIC, FILTER | ADD },
	{ "to-command", required_argument, OPTION_TO_COMMAND, FILTER },
	{ "hash", required_argument, OPTION_HASH, CREATE },
	{ "secret-file", required_argument, OPTION_SECRET_FILE, CREATE },
	{ "like", required_argument, OPTION_LIKE, CREATE },
	{ "measure", no_argument, OPTION_MEASURE, TRY },
	{ "quiet", no_argument, 'q', FILTER | ADD | CHECK },
	{ "output", required_argument, 'o', FILTER | CHECK | MERGE },
	{ "invert", no_argument, 'v', CHECK },
	{ "on-full", required_argument, OPTION_ON_FULL,
	    FILTER | ADD | CREATE | SIZE | TRY },
	{ "max-size", required_argument, OPTION_MAX_SIZE,
	    FILTER | ADD | CREATE },
	{ "lock-timeout", required_argument, OPTION_LOCK_TIMEOUT,
	    FILTER | ADD | CREATE | MERGE },
	{ "threads", required_argument, 'j', FILTER | ADD | CHECK },
	{ "no-gunzip", no_argument, OPTION_NO_GUNZIP, FILTER | ADD | CHECK },
	{ "json", no_argument, OPTION_JSON, INFO | SIZE | TRY },
	{ "verify", no_argument, OPTION_VERIFY, INFO },
	{ "table", optional_argument, OPTION_TABLE, SIZE },
	{ "force", no_argument, OPTION_FORCE, CREATE | MERGE },
	{ "help", no_argument, 'h', ANY },
	{ "version", no_argument, 'V', ANY },
};
#define SPEC_COUNT (sizeof specs / sizeof *specs)

/* NULL only for a letter that getopt made up. */
static const struct spec *
find_spec(int letter)
{
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		if (specs[i].letter == letter)
			return &specs[i];
	}
	return NULL;
}

static const char *
long_name(int letter)
{
	const struct spec *spec = find_spec(letter);

	return spec == NULL ? "" : spec->name;
}

static int
bad_value(struct error *error, int letter, const char *value,
    const char *allowed)
{
	char name[8] = "";

	if (letter < 256) {
		name[0] = '-';
		name[1] = (char)letter;
		memcpy(name + 2, ", ", 3);
	}
	return error_set(error, STATUS_USAGE, "%s--%s: '%s' is not allowed;"
	    " give %s", name, long_name(letter), value, allowed);
}

#define SIZE_HELP "a size in bytes, such as 512K, 32M or 2G"

int
options_capacity(const char *text, uint64_t *value, struct error *error)
{
	if (num_count(text, value) < 0 || *value < 1 ||
	    *value > SIZING_CAPACITY_MAX)
		return bad_value(error, 'n', text, "a count from 1 to"
		    " 9007199254740992, such as 1000000, 1e8 or 100M");
	return 0;
}

int
options_error_rate(const char *text, double *value, struct error *error)
{
	if (num_rate(text, value) < 0 || *value < SIZING_RATE_MIN ||
	    *value > SIZING_RATE_MAX)
		return bad_value(error, 'p', text, "a rate from 1e-12 to 0.5,"
		    " such as 1e-6, 0.1% or 1/1000");
	return 0;
}

static int
parse_growth(const char *text, int *value)
{
	for (int i = GROWTH_GROW; i <= GROWTH_FAIL; i++) {
		if (strcmp(text, format_growth_name((enum growth)i)) == 0) {
			*value = i;
			return 0;
		}
	}
	return -1;
}

static int
take_name(const char **name, int letter, const char *value,
    struct error *error)
{
	if (*value == '\0')
		return bad_value(error, letter, value, "a file name");
	*name = value;
	return 0;
}

/* A number from 1 to `most`. */
static int
take_small(unsigned *number, int letter, const char *value, unsigned most,
    const char *allowed, struct error *error)
{
	uint64_t count;

	if (num_count(value, &count) < 0 || count < 1 || count > most)
		return bad_value(error, letter, value, allowed);
	*number = (unsigned)count;
	return 0;
}

static int
parse_separator(const char *text, int *separator)
{
	if (strcmp(text, "\\t") == 0)
		*separator = '\t';
	else if (strcmp(text, "\\0") == 0)
		*separator = '\0';
	else if (strlen(text) == 1)
		*separator = (unsigned char)*text;
	else
		return -1;
	return 0;
}

/* One option and its argument into the configuration. */
static int
take_option(struct options *o, int letter, const char *value,
    struct error *error)
{
	switch (letter) {
	case 'f':
		return take_name(&o->filter, letter, value, error);
	case 'o':
		return take_name(&o->output, letter, value, error);
	case OPTION_DUPLICATES:
		return take_name(&o->duplicates, letter, value, error);
	case OPTION_SECRET_FILE:
		return take_name(&o->secret_file, letter, value, error);
	case OPTION_HASH:
		o->hash = hash_kind_of(value);
		if (o->hash == 0)
			return bad_value(error, letter, value,
			    "xxh3 or siphash");
		break;
	case OPTION_LIKE:
		return take_name(&o->like, letter, value, error);
	case 'k':
		if (o->recipe.range_count > 0) {
			return bad_value(error, letter, value,
			    "one list only: -k1,3 and not -k1 -k3");
		}
		if (key_ranges_parse(&o->recipe, value) < 0) {
			return bad_value(error, letter, value, "fields as cut"
			    " has them, such as 2 or 1,3 or 2-4 or 2-, in at"
			    " most 32 ranges");
		}
		break;
	case 't':
		if (parse_separator(value, &o->recipe.separator) < 0) {
			return bad_value(error, letter, value, "one byte, or"
			    " \\t for a tab, or \\0 for NUL");
		}
		break;
	case 's':
		if (num_count(value, &o->recipe.skip) < 0 ||
		    o->recipe.skip == KEY_SKIP_UNSET) {
			return bad_value(error, letter, value,
			    "a number of bytes");
		}
		break;
	case 'w':
		if (num_count(value, &o->recipe.check) < 0 ||
		    o->recipe.check == 0) {
			return bad_value(error, letter, value,
			    "a number of bytes, at least 1");
		}
		break;
	case OPTION_STATS:
		if (value != NULL && strcmp(value, "json") != 0)
			return bad_value(error, letter, value,
			    "nothing, or --stats=json");
		o->stats = value == NULL ? STATS_TEXT : STATS_JSON;
		break;
	case 'n':
		return options_capacity(value, &o->capacity, error);
	case 'p':
		return options_error_rate(value, &o->error_rate, error);
	case 'm':
		if (num_size(value, &o->memory) < 0 || o->memory == 0)
			return bad_value(error, letter, value, SIZE_HELP);
		break;
	case OPTION_HASHES:
		return take_small(&o->hashes, letter, value, K_MAX,
		    "a number of hash functions from 1 to 64", error);
	case OPTION_MAX_SIZE:
		if (num_size(value, &o->max_bytes) < 0 || o->max_bytes == 0)
			return bad_value(error, letter, value, SIZE_HELP);
		break;
	case OPTION_LOCK_TIMEOUT:
		if (num_seconds(value, &o->lock_timeout) < 0) {
			return bad_value(error, letter, value,
			    "a number of seconds, such as 60; 0: no waiting");
		}
		break;
	case 'j':
		return take_small(&o->threads, letter, value, TEAM_THREADS_MAX,
		    "a number of threads from 1 to 16", error);
	case OPTION_ON_FULL:
		if (parse_growth(value, &o->growth) < 0)
			return bad_value(error, letter, value,
			    "grow, warn or fail");
		break;
	case OPTION_TABLE:
		if (value != NULL && strcmp(value, "k") != 0)
			return bad_value(error, letter, value,
			    "nothing, or --table=k");
		o->table = value == NULL ? TABLE_SIZES : TABLE_RATES;
		break;
	case 'z': o->recipe.zero_terminated = 1; break;
	case 'i': o->recipe.ignore_case = 1; break;
	case 'd': o->repeated = 1; break;
	case OPTION_CSV: o->recipe.csv = 1; break;
	case OPTION_STRIP_CR: o->recipe.strip_cr = 1; break;
	case OPTION_TRIM: o->recipe.trim = 1; break;
	case OPTION_SHARED: o->shared = 1; break;
	case OPTION_SYNC: o->sync = 1; break;
	case OPTION_ATOMIC: o->atomic = 1; break;
	case OPTION_TO_COMMAND:
		o->to_command = value;
		o->atomic = 1;
		break;
	case OPTION_PROGRESS: o->progress = 1; break;
	case OPTION_MEASURE: o->measure = 1; break;
	case 'q': o->quiet = 1; break;
	case 'v': o->invert = 1; break;
	case 'h': o->help = 1; break;
	case 'V': o->version = 1; break;
	case OPTION_NO_GUNZIP: o->gunzip = 0; break;
	case OPTION_JSON: o->json = 1; break;
	case OPTION_VERIFY: o->verify = 1; break;
	case OPTION_FORCE: o->force = 1; break;
	default: break;
	}
	return 0;
}

/* getopt's tables, made from ours. */
static void
make_tables(char letters[2 * SPEC_COUNT + 3],
    struct option longs[SPEC_COUNT + 1])
{
	/* "-": operands come in their place; ":" tells a missing argument */
	*letters++ = '-';
	*letters++ = ':';
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		longs[i] = (struct option){ specs[i].name, specs[i].argument,
			NULL, specs[i].letter };
		if (specs[i].letter < 256) {
			*letters++ = (char)specs[i].letter;
			if (specs[i].argument == required_argument)
				*letters++ = ':';
		}
	}
	*letters = '\0';
	longs[SPEC_COUNT] = (struct option){ NULL, 0, NULL, 0 };
}

static void
take_operand(struct options *o, char *operand, int may_be_command)
{
	if (may_be_command && o->operand_count == 0 &&
	    o->command == COMMAND_FILTER) {
		for (int i = COMMAND_FILTER + 1; i < COMMAND_COUNT; i++) {
			if (strcmp(operand, options_command_names[i]) == 0) {
				o->command = (enum command)i;
				return;
			}
		}
	}
	o->operands[o->operand_count++] = operand;
}

/*
 * A message about the option that getopt refused; `word` is where it stands.
 */
static int
refused(const char *word, int result, struct error *error)
{
	const struct spec *spec = find_spec(optopt);
	const char *problem = "unknown option";

	if (result == ':')
		problem = "an argument is missing for option";
	else if (spec != NULL && spec->argument == no_argument)
		problem = "no argument is allowed for option";
	if (optopt > 0 && optopt < 256 && strncmp(word, "--", 2) != 0) {
		return error_set(error, STATUS_USAGE, "%s -%c; see"
		    " bloomdedup --help", problem, optopt);
	}
	return error_set(error, STATUS_USAGE, "%s %s; see bloomdedup --help",
	    problem, word);
}

/* Options that can't be together. */
static int
check_together(const struct options *o, struct error *error)
{
	if (o->shared && (o->sync || o->atomic)) {
		return error_set(error, STATUS_USAGE, "--shared can't be"
		    " together with --%s, which needs the filter for itself",
		    o->sync ? "sync" : o->to_command != NULL ? "to-command" :
		    "atomic");
	}
	if (o->shared && o->filter == NULL) {
		return error_set(error, STATUS_USAGE,
		    "--shared needs a filter file: -f FILTER");
	}
	if (o->quiet && o->output != NULL) {
		return error_set(error, STATUS_USAGE, "--quiet prints nothing:"
		    " it can't be together with --output");
	}
	if (o->to_command != NULL && o->sync) {
		return error_set(error, STATUS_USAGE, "--to-command can't be"
		    " together with --sync: what it does with the lines can't"
		    " be put on the disk");
	}
	if (o->to_command != NULL && (o->output != NULL || o->quiet)) {
		return error_set(error, STATUS_USAGE, "--to-command takes the"
		    " lines: it can't be together with --%s",
		    o->output != NULL ? "output" : "quiet");
	}
	return 0;
}

int
options_parse(struct options *o, int argc, char **argv, struct error *error)
{
	char letters[2 * SPEC_COUNT + 3];
	struct option longs[SPEC_COUNT + 1];
	unsigned char given[SPEC_COUNT] = { 0 };
	int letter;

	*o = (struct options){ .recipe = KEY_RECIPE_UNSET, .growth = -1,
		.max_bytes = UINT64_MAX,
		.lock_timeout = 60000, .gunzip = 1 };
	o->operands = memory_or_die(calloc((size_t)argc + 1, sizeof(char *)));
	make_tables(letters, longs);
	opterr = 0;
	for (;;) {
		/* within a group of letters optind stays where it is */
		int before = optind;

		letter = getopt_long(argc, argv, letters, longs, NULL);
		if (letter == -1)
			break;
		if (letter == 1) {
			take_operand(o, optarg, 1);
			continue;
		}
		if (letter == '?' || letter == ':')
			return refused(argv[before], letter, error);
		for (size_t i = 0; i < SPEC_COUNT; i++)
			given[i] |= specs[i].letter == letter;
		if (take_option(o, letter, optarg, error) < 0)
			return -1;
	}
	while (optind < argc)
		take_operand(o, argv[optind++], 0);
	if (o->help || o->version)
		return 0;
	for (size_t i = 0; i < SPEC_COUNT; i++) {
		if (!given[i] || (specs[i].commands >> o->command & 1))
			continue;
		return error_set(error, STATUS_USAGE, "--%s is not an option"
		    " of bloomdedup%s%s; see bloomdedup %s%s--help",
		    specs[i].name, o->command == COMMAND_FILTER ? "" : " ",
		    options_command_names[o->command],
		    options_command_names[o->command],
		    o->command == COMMAND_FILTER ? "" : " ");
	}
	return check_together(o, error);
}

void
options_free(struct options *o)
{
	free(o->operands);
	o->operands = NULL;
}
