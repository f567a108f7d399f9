/*
 * getopt_long reads the words twice: first with the options of all commands, up
 * to the first operand, which may be the command; then with the options of that
 * command alone. Both times, optind = 0 starts anew in all libraries, "-" in
 * front of the letters makes operands come in their order, and argv stays as it
 * is; ":" tells a missing argument from an unknown option.
 */
#include "cli/command_line.h"

#include <ctype.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/option_table.h"
#include "cli/report.h"
#include "cli/text.h"

#define ANY_COMMAND (~0u)

/* What getopt_long returns for an operand, and for --name of row 0, 1... */
enum { OPERAND = 1, LONG = 256 };

struct parser {
	struct options *options;
	int argc;
	char **argv;
	const char *command; /* the word in argv that names it, or NULL */
	/* Of each row: what was given, "" if it has no argument; or NULL. */
	const char *values[OPTION_TABLE_MAX];
};

/* Options as getopt_long takes them. */
struct grammar {
	struct option names[OPTION_TABLE_MAX + 1];
	char letters[3 * OPTION_TABLE_MAX + sizeof "-:"];
};

/* "bloomdedup" or "bloomdedup create" */
static const char *
full_name(const struct options *o, char text[40])
{
	const char *name = command_get(o->command)->name;

	snprintf(text, 40, "bloomdedup%s%s", *name == '\0' ? "" : " ", name);
	return text;
}

/* A usage error that points to the command's help. */
static int __attribute__((format(printf, 3, 4)))
refuse(const struct options *o, struct error *error, const char *format, ...)
{
	char text[sizeof error->text], name[40];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return error_set(error, STATUS_USAGE, "%s; see %s --help", text,
	    full_name(o, name));
}

/*
 * The row of a name or (name NULL) a letter. Where commands have different
 * ones, what comes before the command is the one that needs no command.
 */
static const struct option_row *
find_row(unsigned commands, const char *name, char letter)
{
	const struct option_row *found = NULL;

	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if ((row->commands & commands) && (name != NULL ?
		    strcmp(row->name, name) == 0 : row->letter == letter) &&
		    (found == NULL || (row->commands >> COMMAND_FILTER & 1)))
			found = row;
	}
	return found;
}

static void
set_grammar(struct grammar *g, unsigned commands)
{
	struct option *name = g->names;
	char *letter = stpcpy(g->letters, "-:");

	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];
		int argument = option_table_argument(row);

		if (find_row(commands, row->name, 0) == row)
			*name++ = (struct option){ row->name, argument, NULL,
				LONG + (int)i };
		if (row->letter == '\0' ||
		    find_row(commands, NULL, row->letter) != row)
			continue;
		*letter++ = row->letter;
		for (int j = 0; j < argument; j++)
			*letter++ = ':';
	}
	*name = (struct option){ 0 };
	*letter = '\0';
}

/* The next word or letter; musl takes the operand "-" for the end. */
static int
next(const struct parser *p, const struct grammar *g)
{
	int before = optind == 0 ? 1 : optind;
	int found = getopt_long(p->argc, p->argv, g->letters, g->names, NULL);

	if (found != -1 || optind != before || optind >= p->argc ||
	    strcmp(p->argv[optind], "-") != 0)
		return found;
	optarg = p->argv[optind++];
	return OPERAND;
}

/* The first operand is the command if it is its name and not after "--". */
static void
find_command(struct parser *p)
{
	enum command_id id;
	struct grammar g;
	int found;

	set_grammar(&g, ANY_COMMAND);
	opterr = optind = 0;
	do {
		found = next(p, &g);
	} while (found != -1 && found != OPERAND);
	id = found == -1 ? COMMAND_COUNT : command_find(optarg);
	if (id == COMMAND_COUNT)
		return;
	p->options->command = id;
	p->command = optarg;
}

/* Does the command have this option? */
static int
is_own(const struct options *o, const struct option_row *row)
{
	return row->commands >> o->command & 1;
}

/* The option belongs to other commands: say which ones. */
static int
refuse_foreign(const struct options *o, const struct option_row *row,
    struct error *error)
{
	char option[OPTION_NAME], name[40], owners[200] = "";
	size_t used = 0;

	for (int id = 0; id < COMMAND_COUNT && used < sizeof owners; id++) {
		const char *owner = command_get((enum command_id)id)->name;

		if (row->commands >> id & 1)
			used += (size_t)snprintf(owners + used,
			    sizeof owners - used, "%s%s",
			    used == 0 ? ", but of " : ", ",
			    *owner == '\0' ? "bloomdedup" : owner);
	}
	return refuse(o, error, "%s is not an option of %s%s",
	    option_table_name(row, option), full_name(o, name), owners);
}

#define SEPARATOR "fields are separated with -t, as in -t, -k 2"

/* Options of similar programs: what to use instead. */
static const struct habit {
	const char *names; /* letters, or names */
	const char *answer;
} habits[] = {
	{ "c count", "bloomdedup does not count; sort | uniq -c does" },
	{ "u unique", "new lines are printed by default, each of them once;"
	    " sort | uniq -u prints lines that occur once" },
	{ "D all-repeated", "-d prints the lines seen before" },
	{ "r recursive", "name the files, or use --files0-from with find"
	    " -print0" },
	{ "F delimiter separator sep fs", SEPARATOR },
	{ "field fields column columns", "fields are named with -k, as in"
	    " -k 2" },
	{ "ttl expire expires max-age", "--window=30d forgets lines after 30"
	    " days" },
	{ "size bits", "-n is the number of lines, and --max-size the largest"
	    " size; bloomdedup size computes it" },
	{ "fpr fp false-positive-rate", "the error rate is -p" },
	{ "in-place", "use -o FILE --atomic, which replaces FILE" },
};

static const char *
answer_habit(const char *name)
{
	for (size_t i = 0; i < sizeof habits / sizeof *habits; i++) {
		if (text_has_word(habits[i].names, name))
			return habits[i].answer;
	}
	return NULL;
}

/* A name that getopt_long doesn't know: ambiguous, of others, or a slip? */
static int
refuse_name(const struct options *o, const char *name, struct error *error)
{
	const struct option_row *foreign = find_row(ANY_COMMAND, name, 0);
	const char *near = NULL, *answer = answer_habit(name);
	char begin_so[1000] = "";
	size_t used = 0;

	for (size_t i = 0; i < option_table_count &&
	    used < sizeof begin_so; i++) {
		const struct option_row *row = &option_table[i];

		if (!is_own(o, row))
			continue;
		if (strncmp(row->name, name, strlen(name)) == 0)
			used += (size_t)snprintf(begin_so + used,
			    sizeof begin_so - used, "%s --%s",
			    used == 0 ? "" : ",", row->name);
		else if (near == NULL && text_is_near(name, row->name))
			near = row->name;
	}
	if (used > 0)
		return refuse(o, error, "option --%s could be%s", name,
		    begin_so);
	if (foreign != NULL)
		return refuse_foreign(o, foreign, error);
	if (answer != NULL)
		return refuse(o, error, "--%s: %s", name, answer);
	return near == NULL ? refuse(o, error, "unknown option --%s", name) :
	    refuse(o, error, "unknown option --%s (did you mean --%s?)", name,
	    near);
}

/* After getopt_long returned '?', with optopt as its table says. */
static int
refuse_option(const struct parser *p, struct error *error)
{
	const struct options *o = p->options;
	const char *word = p->argv[optind - 1];
	const struct option_row *row;
	const char *answer;
	char name[100];

	if (optopt >= LONG && optopt < LONG + (int)option_table_count) {
		return refuse(o, error, "--%s does not take an argument: '%s'",
		    option_table[optopt - LONG].name, strchr(word, '=') + 1);
	}
	if (optopt == 0) {
		snprintf(name, sizeof name, "%.*s",
		    (int)strcspn(word + 2, "="), word + 2);
		return refuse_name(o, name, error);
	}
	row = find_row(ANY_COMMAND, NULL, (char)optopt);
	if (row != NULL)
		return refuse_foreign(o, row, error);
	snprintf(name, sizeof name, "%c", (char)optopt);
	/* -d'|', as cut has it */
	answer = isalnum(optopt) || !isascii(optopt) ?
	    answer_habit(name) : SEPARATOR;
	return refuse(o, error, answer == NULL ? "unknown option -%s" :
	    "-%s: %s", name, answer);
}

static const struct option_row *
row_of(const struct options *o, int found)
{
	return found >= LONG ? &option_table[found - LONG] :
	    find_row(1u << o->command, NULL, (char)found);
}

static int
refuse_missing(const struct options *o, const struct option_row *row,
    struct error *error)
{
	char name[OPTION_NAME];

	return refuse(o, error, "%s: its argument %s is missing",
	    option_table_name(row, name), row->argument);
}

/* Without a list, one of two values would be silently ignored. */
static int
check_repeated(const struct parser *p, const struct option_row *row,
    const char *value, struct error *error)
{
	const char *first = p->values[row - option_table];
	char name[OPTION_NAME];

	value = value == NULL ? "" : value;
	if (first == NULL || row->adds_up || strcmp(first, value) == 0)
		return 0;
	return refuse(p->options, error, "%s: given twice: '%s' and '%s'",
	    option_table_name(row, name), first, value);
}

static int
take(struct parser *p, const struct option_row *row, const char *value,
    struct error *error)
{
	struct options *o = p->options;
	char name[OPTION_NAME];

	if (check_repeated(p, row, value, error) < 0)
		return -1;
	p->values[row - option_table] = value == NULL ? "" : value;
	if (value != NULL && value == p->command)
		return refuse(o, error, "%s: '%s' is the command, which comes"
		    " first", option_table_name(row, name), value);
	if (row->set(o, row, value) == 0)
		return 0;
	option_table_name(row, name);
	if (row->set == option_set_key && !key_option_fits(&o->recipe, value))
		return error_set(error, STATUS_USAGE, "%s: too long: the key"
		    " options have %d bytes in the filter", name,
		    KEY_RECIPE_TEXT - 1);
	return error_set(error, STATUS_USAGE, "%s: '%s' is not allowed; give"
	    " %s", name, value, row->allowed);
}

/*
 * If an operand is not a file but nearly the name of a command, or one that
 * doesn't come first, assume a typing error and stop: the rest of the line may
 * name a filter, which must not be changed by mistake.
 */
static int
check_operand(const struct options *o, const char *operand,
    struct error *error)
{
	const char *near = o->command == COMMAND_FILTER ?
	    command_near(operand) : NULL;

	if (near == NULL || access(operand, F_OK) == 0)
		return 0;
	if (strcmp(near, operand) == 0)
		return refuse(o, error, "%s: not a file; the command comes"
		    " first: bloomdedup %s", operand, near);
	return o->operands.count > 0 ? 0 : refuse(o, error, "%s: neither a"
	    " command nor a file (did you mean '%s'?)", operand, near);
}

static int
take_word(struct parser *p, int found, struct error *error)
{
	struct options *o = p->options;

	switch (found) {
	case '?':
		return refuse_option(p, error);
	case ':':
		return refuse_missing(o, row_of(o, optopt), error);
	case OPERAND:
		if (optarg == p->command)
			return 0;
		if (check_operand(o, optarg, error) < 0)
			return -1;
		text_list_add(&o->operands, optarg);
		return 0;
	case 'h':
		o->brief = 1;
		/* fall through */
	default:
		return take(p, row_of(o, found), optarg, error);
	}
}

/* Parse all words except the command. */
static int
parse_words(struct parser *p, struct error *error)
{
	struct options *o = p->options;
	struct grammar g;
	int found;

	set_grammar(&g, 1u << o->command);
	optind = 0;
	while ((found = next(p, &g)) != -1) {
		if (take_word(p, found, error) < 0)
			return -1;
	}
	for (int i = optind; i < p->argc; i++)
		text_list_add(&o->operands, p->argv[i]);
	return 0;
}

/* The row of this option if it was given. */
static const struct option_row *
find_given(const struct parser *p, const char *name)
{
	for (size_t i = 0; i < option_table_count; i++) {
		if (p->values[i] != NULL &&
		    strcmp(option_table[i].name, name) == 0)
			return &option_table[i];
	}
	return NULL;
}

/* Refuse an option that conflicts with another one or lacks one it needs. */
static int
check_row(const struct parser *p, const struct option_row *row,
    struct error *error)
{
	const struct option_conflict *end = row->conflicts +
	    sizeof row->conflicts / sizeof *row->conflicts;

	if (row->needs != NULL && find_given(p, row->needs) == NULL) {
		return refuse(p->options, error, "--%s needs --%s", row->name,
		    row->needs);
	}
	for (const struct option_conflict *conflict = row->conflicts;
	    conflict < end && conflict->names != NULL; conflict++) {
		for (size_t i = 0; i < option_table_count; i++) {
			if (p->values[i] == NULL || !text_has_word(
			    conflict->names, option_table[i].name))
				continue;
			return error_set(error, STATUS_USAGE, "--%s cannot be"
			    " combined with --%s%s", row->name,
			    option_table[i].name, conflict->because);
		}
	}
	return 0;
}

/* Check what the command itself requires. */
static int
check_command(const struct parser *p, const struct command *command,
    struct error *error)
{
	const struct options *o = p->options;

	if (o->operands.count > command->operands_max) {
		return error_set(error, STATUS_USAGE, "unexpected operand"
		    " '%s': %s", o->operands.items[command->operands_max],
		    command->takes);
	}
	if (o->operands.count < command->operands_min ||
	    (command->needs != NULL && find_given(p, command->needs) == NULL))
		return error_set(error, STATUS_USAGE, "%s", command->takes);
	return 0;
}

int
command_line_parse(struct options *o, int argc, char **argv,
    struct error *error)
{
	struct parser p = { .options = o, .argc = argc, .argv = argv };
	const struct command *command;

	*o = (struct options){ .run = RUN_PLAN_DEFAULT,
		.recipe = KEY_RECIPE_UNSET, .serve = SERVE_SETTINGS_DEFAULT };
	o->run.use.wait.milliseconds = 60000;
	o->run.use.wait.notice = report_notice;
	find_command(&p);
	if (parse_words(&p, error) < 0)
		return -1;
	if (o->help || o->version)
		return 0;
	for (size_t i = 0; i < option_table_count; i++) {
		if (p.values[i] != NULL &&
		    check_row(&p, &option_table[i], error) < 0)
			return -1;
	}
	command = command_get(o->command);
	if (check_command(&p, command, error) < 0)
		return -1;
	for (size_t i = 0; i < 2 && command->operands_are[i] != NULL; i++) {
		if (take(&p, find_row(ANY_COMMAND, command->operands_are[i],
		    0), o->operands.items[i], error) < 0)
			return -1;
	}
	return 0;
}

void
command_line_free(struct options *o)
{
	free(o->operands.items);
	free(o->listen.items);
}
