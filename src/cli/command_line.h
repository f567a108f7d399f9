/* The command line: from argv to a checked configuration. */
#ifndef CLI_COMMAND_LINE_H
#define CLI_COMMAND_LINE_H

#include "base/error.h"
#include "cli/options.h"

/*
 * Parse argv, which ends with NULL. Options may appear anywhere before "--"; a
 * long one may be abbreviated if that is unambiguous among the options of the
 * command. The first operand is the command if it is the name of one and not
 * after "--". On failure, the error names the option, the value and what is
 * allowed. Call command_line_free in any case.
 */
int command_line_parse(struct options *options, int argc, char **argv,
    struct error *error);

/* Free what the options own. */
void command_line_free(struct options *options);

#endif
