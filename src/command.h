/*
 * The commands. Each is a descriptor: its help, and a function that does it
 * and returns the exit status. They print, and nobody below them does.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include "options.h"

struct command_entry {
	const char *help; /* what --help prints */
	/*
	 * Returns the exit status; or -1 with `error` filled, which main
	 * prints. Standard output is flushed and checked by main.
	 */
	int (*run)(const struct options *options, struct error *error);
};

extern const struct command_entry command_filter, command_add, command_check,
    command_create, command_info, command_merge, command_size, command_try;

#endif
