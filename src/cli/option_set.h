/*
 * From an option's argument to its field in struct options. The comments state
 * the type of the field. A value that is not allowed is refused (STATUS_USAGE)
 * with a message that says what is allowed.
 */
#ifndef OPTION_SET_H
#define OPTION_SET_H

#include "cli/option_row.h"

option_setter
    option_set_on,       /* int: 1 */
    option_set_off,      /* int: 0 */
    option_set_text,     /* const char *; not empty, and no second value */
    option_set_operand,  /* appends an operand */
    option_set_list,     /* struct text_list: appends an item */
    option_set_mode,     /* unsigned, a file's mode in octal digits */
    option_set_count,    /* uint64_t, from row->least to row->most */
    option_set_small,    /* unsigned, the same */
    option_set_size,     /* uint64_t, bytes; not 0 */
    option_set_seconds,  /* uint64_t, milliseconds */
    option_set_rate,     /* double, an error rate */
    option_set_word,     /* int: 1 without a value; 2 for the first of */
                         /* row->values, 3 for the second... */
    option_set_window,   /* struct window */
    option_set_growth,   /* int, an enum growth */
    option_set_hash,     /* uint32_t, an enum hash_kind */
    option_set_key,      /* struct key_recipe: what row->name asks for */
    option_set_byte,     /* int, a byte */
    option_set_command;  /* to_command, which implies atomic */

#endif
