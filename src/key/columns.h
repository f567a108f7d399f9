/*
 * CSV fields by the names of their columns, which are in the first record of
 * each file: the recipe's list of names, and where its columns are in a file.
 */
#ifndef COLUMNS_H
#define COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "key/recipe.h"

#define COLUMNS_MAX 32

/* Where the columns of a list are in a file, sorted by field. */
struct columns {
	unsigned count;
	struct key_range fields[COLUMNS_MAX];  /* of one field each */
	unsigned places[COLUMNS_MAX];          /* in the list, from 0 */
};

/*
 * Parse the number of a field, such as "12", at *text, and move *text past it.
 */
int columns_number(const char **text, uint32_t *number);

/*
 * A list is a CSV record of names and field numbers (digits without quotes).
 * Write it in its only normal spelling to `to`, which has KEY_RECIPE_TEXT
 * bytes. Returns the number of columns, or -1 if it isn't a list, or too long.
 */
int columns_parse(const char *list, char *to);

/*
 * Find the recipe's columns in a file's first record [header, header + nbytes),
 * with or without its line end. Fails (STATUS_FAILED, without a file's name) if
 * no column, or more than one, has a name.
 */
int columns_find(const struct key_recipe *recipe, const uint8_t *header,
    size_t nbytes, struct columns *columns, struct error *error);

/*
 * Has a header the names of another one, which is that of `file`, in the same
 * order? Otherwise -1, with a text that names both and begins as if the file of
 * `header` were named before it.
 */
int columns_compare(const struct key_recipe *recipe, struct key header,
    struct key other, const char *file, struct error *error);

#endif
