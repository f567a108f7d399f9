/* --help, composed from the rows of commands and options. */
#ifndef HELP_H
#define HELP_H

#include "cli/command.h"

/* Print a command's help on standard output, at most 79 columns wide. */
void help_print(enum command_id command);

#endif
