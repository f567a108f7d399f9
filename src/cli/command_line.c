/*
 * getopt_long reads the words twice: first with the options of all commands, up
 * to the first operand, which may be the command; then with the options of that
 * command alone. Both times, optind = 0 starts anew in all libraries, "-" in
 * front of the letters makes operands come in their order, and argv stays as it
 * is; ":" tells a missing argument from an unknown option.
 */
#include "cli/command_line.h"

#include <assert.h>
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
	struct error *error;
	int argc;
	char **argv;
	const char *command; /* the word in argv that names it, or NULL */
	char name[40];       /* "bloomdedup" or "bloomdedup create" */
	/* What was given for each row: "" without an argument; or NULL. */
	const char *values[OPTION_TABLE_MAX];
};

/* Options as getopt_long takes them. */
struct grammar {
	struct option names[OPTION_TABLE_MAX + 1];
	char letters[3 * OPTION_TABLE_MAX + sizeof "-:"];
};

/* Fill in a usage error that points to the command's help; returns -1. */
static int __attribute__((format(printf, 2, 3)))
usage_error(const struct parser *p, const char *format, ...)
{
	char text[sizeof p->error->text];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return error_set(p->error, STATUS_USAGE, "%s; see %s --help", text,
	    p->name);
}

/*
 * The row of a name or (name NULL) a letter. Where commands have different
 * ones, what comes before the command is the one that needs no command.
 */
static const struct option_row *
find_option(unsigned commands, const char *name, char letter)
{
	const struct option_row *found = NULL;

	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if (!(row->commands & commands))
			continue;
		if (name != NULL && strcmp(row->name, name) != 0)
			continue;
		if (name == NULL && row->letter != letter)
			continue;
		if (found == NULL || (row->commands >> COMMAND_FILTER & 1))
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

		if (find_option(commands, row->name, 0) == row)
			*name++ = (struct option){ row->name, argument, NULL,
				LONG + (int)i };
		if (row->letter == '\0' ||
		    find_option(commands, NULL, row->letter) != row)
			continue;
		*letter++ = row->letter;
		for (int j = 0; j < argument; j++)
			*letter++ = ':';
	}
	*name = (struct option){ 0 };
	*letter = '\0';
	optind = 0;
}

/*
 * The next option or operand, or -1 at the end; *word becomes the word that it
 * is in. musl takes the operand "-" for the end.
 */
static int
next(const struct parser *p, const struct grammar *g, const char **word)
{
	int before = optind == 0 ? 1 : optind;
	int found = getopt_long(p->argc, p->argv, g->letters, g->names, NULL);

	*word = before < p->argc ? p->argv[before] : "";
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
	enum command_id id = COMMAND_COUNT;
	struct grammar g = { 0 };
	const char *word;
	int found;

	set_grammar(&g, ANY_COMMAND);
	opterr = 0;
	do {
		found = next(p, &g, &word);
	} while (found != -1 && found != OPERAND);
	if (found == OPERAND)
		id = command_find(optarg);
	if (id != COMMAND_COUNT) {
		p->options->command = id;
		p->command = optarg;
	}
	if (p->command == NULL)
		snprintf(p->name, sizeof p->name, "bloomdedup");
	else
		snprintf(p->name, sizeof p->name, "bloomdedup %s", p->command);
}

/* The option belongs to other commands: say which ones, if they are few. */
static int
refuse_other_commands(const struct parser *p, const struct option_row *row)
{
	const struct command *command = command_table[p->options->command];
	const char *owners[COMMAND_COUNT];
	char option[OPTION_NAME], list[100] = "";
	int count = 0;

	if (command->refuses != NULL &&
	    strcmp(row->name, command->refuses) == 0)
		return usage_error(p, "%s: %s", option_table_name(row, option),
		    command->caution);
	for (int id = 0; id < COMMAND_COUNT; id++) {
		const char *owner = command_table[id]->name;

		if (row->commands >> id & 1)
			owners[count++] = *owner == '\0' ? "bloomdedup" :
			    owner;
	}
	if (count == 1)
		snprintf(list, sizeof list, ", but of %s", owners[0]);
	else if (count == 2)
		snprintf(list, sizeof list, ", but of %s and %s", owners[0],
		    owners[1]);
	else if (count == 3)
		snprintf(list, sizeof list, ", but of %s, %s and %s",
		    owners[0], owners[1], owners[2]);
	return usage_error(p, "%s is not an option of %s%s",
	    option_table_name(row, option), p->name, list);
}

#define SEPARATOR "fields are separated with -t, as in -t, -k 2"

/* Options of similar programs, and what to use instead of them. */
static const struct habit {
	const char *names; /* letters, or names */
	const char *answer;
} habits[] = {
	{ "c count", "bloomdedup does not count; sort | uniq -c does" },
	{ "u unique", "new lines are printed by default, each of them once;"
	    " sort | uniq -u prints lines that occur once" },
	{ "D all-repeated", "-d prints the lines seen before" },
	{ "0 null null-data", "-z is for lines that end in NUL" },
	{ "strip", "--trim ignores blanks at both ends, --strip-cr a carriage"
	    " return at the end" },
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
refuse_long_name(const struct parser *p, const char *name)
{
	const struct option_row *foreign = find_option(ANY_COMMAND, name, 0);
	const char *near = NULL, *answer = answer_habit(name);
	char begin_so[1000] = "";
	size_t used = 0;

	for (size_t i = 0; i < option_table_count &&
	    used < sizeof begin_so; i++) {
		const struct option_row *row = &option_table[i];

		if (!(row->commands >> p->options->command & 1))
			continue;
		if (strncmp(row->name, name, strlen(name)) == 0)
			used += (size_t)snprintf(begin_so + used,
			    sizeof begin_so - used, "%s --%s",
			    used == 0 ? "" : ",", row->name);
		else if (near == NULL && text_is_near(name, row->name))
			near = row->name;
	}
	if (used > 0)
		return usage_error(p, "option --%s could be%s", name, begin_so);
	if (foreign != NULL)
		return refuse_other_commands(p, foreign);
	if (answer != NULL)
		return usage_error(p, "--%s: %s", name, answer);
	if (near == NULL)
		return usage_error(p, "unknown option --%s", name);
	return usage_error(p, "unknown option --%s (did you mean --%s?)", name,
	    near);
}

/* After getopt_long returned '?', with optopt as its table says. */
static int
refuse_option(const struct parser *p)
{
	const char *word = p->argv[optind - 1], *answer;
	const struct option_row *row;
	char name[100];

	if (optopt >= LONG && optopt < LONG + (int)option_table_count) {
		return usage_error(p, "--%s does not take an argument: '%s'",
		    option_table[optopt - LONG].name, strchr(word, '=') + 1);
	}
	if (optopt == 0) {
		snprintf(name, sizeof name, "%.*s",
		    (int)strcspn(word + 2, "="), word + 2);
		return refuse_long_name(p, name);
	}
	row = find_option(ANY_COMMAND, NULL, (char)optopt);
	if (row != NULL)
		return refuse_other_commands(p, row);
	snprintf(name, sizeof name, "%c", (char)optopt);
	/*
	 * A character such as that of -d'|' was meant as a separator for
	 * cut(1).
	 */
	answer = isalnum(optopt) || !isascii(optopt) ?
	    answer_habit(name) : SEPARATOR;
	return usage_error(p, answer == NULL ? "unknown option -%s" : "-%s: %s",
	    name, answer);
}

static int
apply_option(struct parser *p, const struct option_row *row, const char *value)
{
	struct options *o = p->options;
	const char **given = &p->values[row - option_table];
	const char *text = value == NULL ? "" : value;
	char name[OPTION_NAME];

	option_table_name(row, name);
	/* Without a list, one of two values would be silently ignored. */
	if (*given != NULL && !row->adds_up && strcmp(*given, text) != 0)
		return usage_error(p, "%s: given twice: '%s' and '%s'", name,
		    *given, text);
	*given = text;
	if (value != NULL && value == p->command)
		return usage_error(p,
		    "%s: '%s' is the command, which comes first", name, value);
	if (row->set(o, row, value) == 0)
		return 0;
	if (row->set == option_set_key && !key_option_fits(&o->recipe, value))
		return error_set(p->error, STATUS_USAGE, "%s: too long: the key"
		    " options have %d bytes in the filter", name,
		    KEY_RECIPE_TEXT - 1);
	return error_set(p->error, STATUS_USAGE, "%s: '%s' is not allowed; give"
	    " %s", name, value, row->allowed);
}

/* What people look for, and no filter can do: what there is instead. */
static const struct wish {
	const char *names;
	const char *answer;
} wishes[] = {
	{ " undo forget unsee delete rm reset clear ",
	    "a filter cannot forget single lines, but --dry-run shows what a"
	    " run would remember" },
	{ " list dump export ",
	    "a filter has no lines to list; info describes it" },
};

/* The answer to a word that is no command, or NULL. */
static const char *
answer_to(const char *word)
{
	char name[20];

	if (snprintf(name, sizeof name, " %s ", word) >= (int)sizeof name)
		return NULL;
	for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
		if (strstr(wishes[i].names, name) != NULL)
			return wishes[i].answer;
	}
	return NULL;
}

/*
 * If an operand is not a file but nearly the name of a command, or one that
 * doesn't come first, assume a typing error and stop: the rest of the line may
 * name a filter, which must not be changed by mistake.
 */
static int
take_operand(struct parser *p, const char *operand)
{
	struct options *o = p->options;
	const char *near = NULL, *answer = NULL;

	if (o->command == COMMAND_FILTER && access(operand, F_OK) != 0) {
		near = command_near(operand);
		answer = answer_to(operand);
	}
	if (near != NULL && strcmp(near, operand) == 0)
		return usage_error(p, "%s: not a file; the command comes first:"
		    " bloomdedup %s", operand, near);
	if (answer != NULL && o->operands.count == 0)
		return usage_error(p, "%s: neither a command nor a file; %s",
		    operand, answer);
	if (near != NULL && o->operands.count == 0)
		return usage_error(p,
		    "%s: neither a command nor a file (did you" " mean '%s'?)",
		    operand, near);
	text_list_add(&o->operands, operand);
	return 0;
}

/*
 * An abbreviation that means something else: the full name of an option of
 * other commands, or what other programs call something of ours. Returns 0 if
 * it is none.
 */
static int
check_abbreviation(const struct parser *p, const struct option_row *row,
    const char *word)
{
	const struct option_row *foreign;
	char name[100];
	const char *answer;

	if (strncmp(word, "--", 2) != 0)
		return 0;
	snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="),
	    word + 2);
	if (strcmp(name, row->name) == 0)
		return 0;
	foreign = find_option(ANY_COMMAND, name, 0);
	if (foreign != NULL)
		return refuse_other_commands(p, foreign);
	answer = answer_habit(name);
	if (answer == NULL)
		return 0;
	return usage_error(p, "--%s: %s", name, answer);
}

/* The row for what getopt_long returns, or for its optopt: it was given it. */
static const struct option_row *
row_of(unsigned commands, int option)
{
	const struct option_row *row;

	if (option >= LONG)
		return &option_table[option - LONG];
	row = find_option(commands, NULL, (char)option);
	assert(row != NULL);
	return row;
}

/*
 * After a letter, an equals sign would be a part of the name: -f=seen would
 * make a file that --filter=seen does not find.
 */
static int
check_name(const struct parser *p, const struct option_row *row,
    const char *name)
{
	if ((row->letter != 'f' && row->letter != 'o') || *name != '=')
		return 0;
	return usage_error(p, "-%c%s: write -%c %s or --%s%s; a file of this"
	    " name is ./%s", row->letter, name, row->letter, name + 1,
	    row->name, name, name);
}

/* Take what getopt_long found in `word`. */
static int
apply_found(struct parser *p, int found, const char *word)
{
	const unsigned commands = 1u << p->options->command;
	const struct option_row *row;
	char name[OPTION_NAME];

	switch (found) {
	case OPERAND:
		return optarg == p->command ? 0 : take_operand(p, optarg);
	case '?':
		return refuse_option(p);
	case ':':
		row = row_of(commands, optopt);
		return usage_error(p, "%s: its argument %s is missing",
		    option_table_name(row, name), row->argument);
	default:
		break;
	}
	row = row_of(commands, found);
	if (found >= LONG && check_abbreviation(p, row, word) < 0)
		return -1;
	if (found < LONG && check_name(p, row, optarg) < 0)
		return -1;
	p->options->brief |= found == 'h';
	return apply_option(p, row, optarg);
}

/* Parse all words except the command. */
static int
parse_all(struct parser *p)
{
	struct grammar g = { 0 };
	const char *word;
	int found;

	set_grammar(&g, 1u << p->options->command);
	while ((found = next(p, &g, &word)) != -1) {
		if (apply_found(p, found, word) < 0)
			return -1;
	}
	for (int i = optind; i < p->argc; i++)
		text_list_add(&p->options->operands, p->argv[i]);
	return 0;
}

/* The row of an option that was given and is one of these; else NULL. */
static const struct option_row *
find_given(const struct parser *p, const char *names)
{
	for (size_t i = 0; i < option_table_count; i++) {
		if (p->values[i] != NULL &&
		    text_has_word(names, option_table[i].name))
			return &option_table[i];
	}
	return NULL;
}

/* Refuse an option that conflicts with another one or lacks one it needs. */
static int
check_row(const struct parser *p, const struct option_row *row)
{
	const struct option_conflict *conflict = row->conflicts,
	    *end = conflict + sizeof row->conflicts / sizeof *conflict;

	if (row->needs != NULL && find_given(p, row->needs) == NULL)
		return usage_error(p, "--%s needs --%s", row->name, row->needs);
	for (; conflict < end && conflict->names != NULL; conflict++) {
		const struct option_row *other = find_given(p, conflict->names);

		if (other != NULL)
			return error_set(p->error, STATUS_USAGE, "--%s cannot"
			    " be combined with --%s%s", row->name, other->name,
			    conflict->because);
	}
	return 0;
}

/* An empty one is most likely a shell's variable that isn't set. */
static int
check_not_empty(const struct text_list *operands, struct error *error)
{
	for (size_t i = 0; i < operands->count; i++) {
		if (operands->items[i][0] == '\0')
			return error_set(error, STATUS_USAGE, "'' is not"
			    " allowed as an operand; give a name");
	}
	return 0;
}

/* Does the command have what it needs? Take the operands that are options. */
static int
check_command(struct parser *p, const struct command *command)
{
	const struct text_list *operands = &p->options->operands;

	if (operands->count > command->operands_max)
		return error_set(p->error, STATUS_USAGE, "unexpected operand"
		    " '%s': %s", operands->items[command->operands_max],
		    command->takes);
	if (operands->count < command->operands_min ||
	    (command->needs != NULL && find_given(p, command->needs) == NULL))
		return error_set(p->error, STATUS_USAGE, "%s", command->takes);
	if (command->operands_are[0] == NULL)
		return check_not_empty(operands, p->error);
	for (size_t i = 0; i < 2 && command->operands_are[i] != NULL; i++) {
		const struct option_row *row = find_option(ANY_COMMAND,
		    command->operands_are[i], 0);

		if (apply_option(p, row, operands->items[i]) < 0)
			return -1;
	}
	return 0;
}

int
command_line_parse(struct options *o, int argc, char **argv,
    struct error *error)
{
	struct parser p = { .options = o, .error = error, .argc = argc,
		.argv = argv };

	*o = (struct options){ .run = RUN_PLAN_DEFAULT,
		.recipe = KEY_RECIPE_UNSET, .serve = SERVE_SETTINGS_DEFAULT };
	o->run.use.wait.milliseconds = OPTIONS_LOCK_TIMEOUT * 1000;
	o->run.use.wait.notice = report_notice;
	find_command(&p);
	if (parse_all(&p) < 0)
		return -1;
	if (o->help || o->version)
		return 0;
	for (size_t i = 0; i < option_table_count; i++) {
		if (p.values[i] != NULL && check_row(&p, &option_table[i]) < 0)
			return -1;
	}
	return check_command(&p, command_table[o->command]);
}

void
command_line_free(struct options *o)
{
	free(o->operands.items);
	free(o->listen.items);
	free(o->names);
}
