/*
 * An option is one row of option_table.c. Parsing, --help, conflicts and the
 * completions (make completions) follow from the rows; a test compares them
 * with the manual. To add an option, add a row, a field of struct options, and
 * the code that uses the field.
 *
 * Two commands may use the same name or letter for different options: these are
 * two rows, and no command takes both.
 */
#ifndef OPTION_ROW_H
#define OPTION_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "cli/command.h"

struct options;
struct option_row;

/*
 * Store an option's argument (NULL if it has none) in the field that the row
 * names; returns -1 if it is not allowed. option_set.h lists these functions.
 */
typedef int option_setter(struct options *options,
    const struct option_row *row, const char *value);

/* In the order of help. */
enum option_group {
	OPTION_GROUP_MAIN,
	OPTION_GROUP_FILTER,
	OPTION_GROUP_KEY,
	OPTION_GROUP_OTHER,
	OPTION_GROUP_COUNT
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
	uint64_t least, most;  /* the range of a count; of words, the least */
	const char *values;    /* the words allowed, separated by blanks */
	const char *allowed;   /* ends "'x' is not allowed; give ..." */
	int adds_up;           /* given twice, both values count */

	const char *needs;     /* an option that must be given, too */
	struct option_conflict conflicts[2];
	const char *missing;   /* why other commands don't take it, or NULL */

	const char *brief;     /* the same on a line of -h; NULL: not there */
	const char *help;      /* what it does, one phrase */
	/* The text for commands where it differs. */
	struct option_help {
		unsigned commands;
		const char *help;
	} helps[3];
};

#endif
