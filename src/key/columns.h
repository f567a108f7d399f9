/*
 * CSV fields by the names of their columns, which are in the first record of
 * each file: the recipe's list of names, and where its columns are in a file.
 */
#ifndef KEY_COLUMNS_H
#define KEY_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "key/recipe.h"

#define COLUMNS_MAX 32

/*
 * The fields of a file that the columns of a list are in, in ascending order.
 */
struct columns {
	unsigned count;
	struct key_range fields[COLUMNS_MAX]; /* ranges of one field each */
	unsigned places[COLUMNS_MAX]; /* their places in the list, from 0 */
};

/*
 * Parse the number of a field, such as "12", at *text, and move *text past it.
 * Returns -1 if there is no number from 1 to KEY_FIELD_MAX.
 */
int columns_number(const char **text, uint32_t *number);

/*
 * Parse a list of columns, which is a CSV record of names and field numbers
 * (digits without quotes), and write it to `to`, which has KEY_RECIPE_TEXT
 * bytes, in the one normal spelling that equal lists share. Returns the number
 * of columns, or -1 if it is not a list or is too long.
 */
int columns_parse(const char *list, char *to);

/*
 * Find the recipe's columns in a file's first record [header, header + nbytes),
 * with or without its line end, and fill in *columns. Fails (STATUS_FAILED,
 * without a file's name) if the header has a name of the list not at all or
 * more than once.
 */
int columns_find(const struct key_recipe *recipe, const uint8_t *header,
    size_t nbytes, struct columns *columns, struct error *error);

/*
 * Compare a header with another one, which is that of `file`. Returns -1 if
 * their names differ or are in another order, with a text in `error` that shows
 * both, and that continues the name of the file of `header`.
 */
int columns_compare(const struct key_recipe *recipe, struct key header,
    struct key other, const char *file, struct error *error);

/*
 * Is a record, with its terminator, a file's header again: the same names in
 * the same order? A header of one column never is, since it may be data.
 */
int columns_are_again(const struct key_recipe *recipe, struct key record,
    struct key header);

/*
 * Returns the byte with which a record must begin, behind a quote or not, that
 * is the header again, unless it begins with a byte order mark; or -1 if it may
 * be any.
 */
int columns_first_byte(const struct key_recipe *recipe, struct key header);

#endif
