/* Fields of a line: lists of fields, and taking them from a line. */
#ifndef KEY_FIELDS_H
#define KEY_FIELDS_H

#include "bits/hash.h"
#include "key/recipe.h"

/*
 * Parse a list of fields as cut takes it, "2", "1,3", "2-4", "2-" or "-3", into
 * the recipe's ranges, in their one normal order. Returns -1, and leaves the
 * recipe alone, if it is not a list or has too many ranges.
 */
int key_ranges_parse(struct key_recipe *recipe, const char *text);

/* Write the recipe's ranges as a list; the text is cut at `nbytes`. */
void key_ranges_format(const struct key_recipe *recipe, char *text,
    size_t nbytes);

/* Does the recipe take exactly one field? */
int key_single_field(const struct key_recipe *recipe);

/*
 * Take the recipe's fields from a line; the result is a part of the line, or in
 * the scratch. Several fields keep a separator between them, and empty ones at
 * the end are left out. Several fields of CSV are joined as join.h says, with
 * the recipe's skip and check. If the line ends before the first of the fields,
 * the result is empty and KEY_NO_FIELD is noted.
 */
struct key key_take_fields(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch);

/* Are keys made of several values, each in quotes (join.h)? */
int key_joins_values(const struct key_recipe *recipe);

#endif
