/*
 * The commands. Each is one row: its name, its help, what it requires, and the
 * function that runs it. Its options are rows of option_table.c.
 *
 * To add a command, write a file cmd_NAME.c with its row, and add its name to
 * the enum and the list in this file and to the table in command.c.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stddef.h>

#include "base/error.h"

enum command_id {
	COMMAND_FILTER, /* no command given: print the new lines */
	COMMAND_ADD,
	COMMAND_CHECK,
	COMMAND_CREATE,
	COMMAND_INFO,
	COMMAND_KEY,
	COMMAND_MERGE,
	COMMAND_PARTITION,
	COMMAND_REMOVE,
	COMMAND_SIZE,
	COMMAND_TRY,
	COMMAND_SERVE,
	COMMAND_HELP,
	COMMAND_VERSION,
	COMMAND_COUNT
};

struct options;

struct command {
	const char *name;    /* "" for COMMAND_FILTER */
	const char *summary; /* one line for the list of commands */
	const char *usage;   /* forms of the command after "bloomdedup ",
			      * separated by "\n" */
	const char *intro;   /* text that says what the command does; help wraps
			      * it */
	const char *outro;   /* text at the end of its help, or NULL */
	const char *manual;  /* name of its manual page; NULL: bloomdedup */

	/*
	 * The least and the most operands; `takes` is the message for another
	 * number.
	 */
	size_t operands_min, operands_max;
	const char *takes;
	/* The options that the operands set, in this order, or NULLs. */
	const char *operands_are[2];
	const char *needs;   /* an option that must be given, or NULL */
	/*
	 * What must be known before the command is used, for those who may have
	 * taken it for something else; and an option of other commands that
	 * shows that they have. Or NULLs.
	 */
	const char *caution, *refuses;
	int reads_operands;  /* they are files with lines, which must exist */

	/*
	 * Run it. Returns the exit status; or -1 with `error` filled, which
	 * main prints. Standard output is flushed and checked by main.
	 */
	int (*run)(const struct options *options, struct error *error);
};

#define COMMAND_OPERANDS_ANY ((size_t)-1)

extern const struct command command_filter, command_add, command_check,
    command_create, command_info, command_key, command_merge,
    command_partition, command_remove, command_size, command_try,
    command_serve, command_help, command_version;

extern const struct command *const command_table[COMMAND_COUNT];

/* Returns the command with this name; COMMAND_COUNT if there is none. */
enum command_id command_find(const char *name);

/*
 * Returns the command whose name is nearest to a mistyped one; NULL if none is
 * near.
 */
const char *command_near(const char *name);

/*
 * Print a command's help on standard output, at most 79 columns wide. `brief`:
 * only a screen of it, if it has more options than that.
 */
void command_print_help(enum command_id command, int brief);

#endif
