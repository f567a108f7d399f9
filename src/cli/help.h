/* -h and --help, composed from the rows of commands and options. */
#ifndef HELP_H
#define HELP_H

#include "cli/command.h"

/*
 * Print a command's help on standard output, at most 79 columns wide. `brief`:
 * only a screen of it, if it has more options than that.
 */
void help_print(enum command_id command, int brief);

#endif
