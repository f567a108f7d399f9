/* The table of all options, in the order of help. */
#ifndef OPTION_TABLE_H
#define OPTION_TABLE_H

#include <stddef.h>

#include "cli/option_row.h"

extern const struct option_row option_table[];
extern const size_t option_table_count;
#define OPTION_TABLE_MAX 128 /* an upper bound of option_table_count */

/* Headings of the groups. */
extern const char *const option_table_groups[OPTION_GROUP_COUNT];

/* no_argument, required_argument or optional_argument (getopt.h) */
int option_table_argument(const struct option_row *row);

/* Its name for messages: "-f, --filter" or "--sync". */
#define OPTION_NAME 40
const char *option_table_name(const struct option_row *row,
    char text[OPTION_NAME]);

/* What the option does, as the command's help puts it. */
const char *option_table_help(const struct option_row *row,
    enum command_id command);

#endif
