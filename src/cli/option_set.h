/*
 * From an option's argument to its field in struct options. The comments state
 * the type of the field. Each returns -1 if the value is not what row->allowed
 * says; the field is then undefined.
 */
#ifndef OPTION_SET_H
#define OPTION_SET_H

#include "cli/option_row.h"

option_setter
    option_set_on,       /* int: 1 */
    option_set_off,      /* int: 0 */
    option_set_text,     /* const char *; not empty */
    option_set_list,     /* struct text_list: appends an item */
    option_set_mode,     /* unsigned, a file's mode in octal digits */
    option_set_count,    /* uint64_t, from row->least to row->most */
    option_set_small,    /* unsigned, the same */
    option_set_size,     /* uint64_t, bytes; not 0 */
    option_set_seconds,  /* uint64_t, milliseconds */
    option_set_rate,     /* double, an error rate */
    option_set_word,     /* int: row->least for the first of row->values, */
                         /* one more for each further one; 1 if none given */
    option_set_window,   /* struct window */
    option_set_key,      /* struct key_recipe: what row->name asks for */
    option_set_byte,     /* int, a byte */
    option_set_command;  /* to_command, which implies atomic */

#endif
