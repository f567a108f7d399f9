/* Fields of a line: lists of fields, and taking them from a line. */
#ifndef FIELDS_H
#define FIELDS_H

#include "bits/hash.h"
#include "key/recipe.h"

/* Parse a list as for cut: "2", "1,3", "2-4", "2-", "-3". */
int key_ranges_parse(struct key_recipe *recipe, const char *text);

/* The inverse. */
void key_ranges_format(const struct key_recipe *recipe, char *text,
    size_t nbytes);

/* Does the recipe take exactly one field? */
int key_single_field(const struct key_recipe *recipe);

/*
 * The chosen fields, as a part of the line or in the scratch. Joined fields
 * keep a separator between them; empty ones at the end are left out. Several
 * fields of CSV are joined as join.h says, with the recipe's skip and check. If
 * not even the first of the fields is there, KEY_NO_FIELD is noted.
 */
struct key key_take_fields(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch);

/* Are keys made of several values, each in quotes (join.h)? */
int key_joins_values(const struct key_recipe *recipe);

#endif
