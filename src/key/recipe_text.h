/* What follows from the rows of steps.c: recipes as text, and inheritance. */
#ifndef RECIPE_TEXT_H
#define RECIPE_TEXT_H

#include <stddef.h>

#include "base/error.h"
#include "key/recipe.h"

/* Add the option `name` ("json"); -1 if its value is not allowed. */
int key_option(struct key_recipe *recipe, const char *name,
    const char *value);

/* Does the recipe's text have room for a value as well? */
int key_option_fits(const struct key_recipe *recipe, const char *value);

/*
 * The recipe as text, one step per line, in one spelling only: equal recipes
 * have equal texts. See bloomdedup(5), "Key recipe". Returns the length of the
 * whole text, even if it was cut.
 */
size_t key_recipe_format(const struct key_recipe *recipe,
    char text[KEY_RECIPE_TEXT]);

/*
 * The inverse; fails (STATUS_FAILED, without a file's name) if the text is not
 * what key_recipe_format writes for a complete recipe.
 */
int key_recipe_parse(struct key_recipe *recipe, const char *text,
    struct error *error);

/* The longest text of key_recipe_options, with its NUL. */
#define KEY_OPTIONS (2 * KEY_RECIPE_TEXT)

/*
 * The recipe with this text as options, "--key=2 --ignore-case", or "the whole
 * line"; as it is if it can't be parsed. Names may contain any bytes.
 */
const char *key_recipe_options(const char *text, char options[KEY_OPTIONS]);

/*
 * What `given` asks for must be in `stored`; what it leaves out is taken from
 * there. Returns 0 and completes *given; or -1, with `error` naming the two
 * that contradict each other (STATUS_USAGE, without a file's name).
 */
int key_recipe_inherit(struct key_recipe *given,
    const struct key_recipe *stored, struct error *error);

/*
 * Fill in what follows from the rest (the comma of --csv) before a recipe is
 * used for a new filter. Fails (STATUS_USAGE) if the recipe makes no sense.
 */
int key_recipe_complete(struct key_recipe *recipe, struct error *error);

#endif
