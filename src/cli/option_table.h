/*
 * An option is one row of option_table.c, in the order of help. Parsing, help,
 * conflicts and the completions (make completions) follow from the rows; a test
 * compares them with the manual. To add an option, add a row, a field of struct
 * options, and the code that uses the field.
 *
 * Two commands may use the same name or letter for different options: these are
 * two rows, and no command takes both.
 */
#ifndef CLI_OPTION_TABLE_H
#define CLI_OPTION_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"

struct options;
struct option_row;

/*
 * Store an option's argument (NULL if it has none) in the field that the row
 * names. The comments state the type of the field. Returns -1 if the value is
 * not what row->allowed says; the field is then undefined.
 */
typedef int option_setter(struct options *options,
    const struct option_row *row, const char *value);
option_setter
    option_set_value,    /* int: row->least */
    option_set_text,     /* const char *; not empty */
    option_set_list,     /* struct text_list: appends an item */
    option_set_mode,     /* unsigned, a file's mode in octal digits */
    option_set_count,    /* uint64_t, from row->least to row->most */
    option_set_small,    /* unsigned, the same */
    option_set_size,     /* uint64_t, bytes; not 0 */
    option_set_seconds,  /* uint64_t, milliseconds */
    option_set_duration, /* the same, not 0, and units are allowed */
    option_set_rate,     /* double, an error rate */
    option_set_word,     /* int: row->least for the first of row->values, */
                         /* one more for each further one; 1 if none given */
    option_set_window,   /* struct window */
    option_set_key,      /* struct key_recipe: what row->name asks for */
    option_set_byte;     /* int, a byte */

/* The groups of options, in the order of help. */
enum option_group {
	GROUP_MAIN,
	GROUP_FILTER,
	GROUP_KEY,
	GROUP_OTHER,
	GROUP_COUNT
};

struct option_conflict {
	const char *names;   /* options that it cannot be combined with */
	const char *because; /* end of the message: ": ..." or ", which ..." */
};

struct option_row {
	const char *name;
	char letter;           /* 0 if it has none */
	const char *argument;  /* "FILE"; "[=json]" is optional; NULL: none */
	unsigned commands;     /* those that take it: bits 1 << COMMAND_... */
	enum option_group group;

	option_setter *set;
	size_t where;          /* the field's offset in struct options */
	uint64_t least, most;  /* the range of a count; of words, the first;
	                          of a flag, its value */
	const char *values;    /* the words allowed, separated by blanks */
	const char *allowed;   /* ends "'x' is not allowed; give ..." */
	int adds_up;           /* given twice, both values count */

	const char *needs;     /* an option that must be given, too */
	struct option_conflict conflicts[2];

	const char *brief;     /* the same on a line of -h; NULL: not there */
	int rare;              /* few need it: -h of its commands omits it, or
			        * only its argument, if it has a brief text */
	const char *help;      /* one phrase that begins with a verb: what the
			        * option does */
	/* The text for commands where it differs. */
	struct option_help {
		unsigned commands;
		const char *help;
	} helps[3];
};

extern const struct option_row option_table[];
extern const size_t option_table_count;
#define OPTION_TABLE_MAX 128 /* an upper bound of option_table_count */

/* Returns no_argument, required_argument or optional_argument (getopt.h). */
int option_table_argument(const struct option_row *row);

/* Its name for messages: "-f, --filter" or "--sync". */
#define OPTION_NAME 40
const char *option_table_name(const struct option_row *row,
    char text[OPTION_NAME]);

#endif
