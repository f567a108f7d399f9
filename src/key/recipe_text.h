/*
 * Recipes as text, and their inheritance from a filter, as the rows of steps.c
 * define them.
 */
#ifndef KEY_RECIPE_TEXT_H
#define KEY_RECIPE_TEXT_H

#include <stddef.h>

#include "base/error.h"
#include "key/recipe.h"

/*
 * Add the option of this name, such as "json", to the recipe. Returns -1 if its
 * value is not allowed.
 */
int key_option(struct key_recipe *recipe, const char *name,
    const char *value);

/* Has the recipe's text room for this value besides what it has? */
int key_option_fits(const struct key_recipe *recipe, const char *value);

/*
 * Write the recipe as text, one step per line, in one spelling only: equal
 * recipes have equal texts. See bloomdedup(5), "Key recipe". Returns the length
 * of the whole text, even if it was cut.
 */
size_t key_recipe_format(const struct key_recipe *recipe,
    char text[KEY_RECIPE_TEXT]);

/*
 * Parse a recipe's text. Fails (STATUS_FAILED, without a file's name) if it is
 * not what key_recipe_format writes for a complete recipe.
 */
int key_recipe_parse(struct key_recipe *recipe, const char *text,
    struct error *error);

/* The longest text of key_recipe_options, with its NUL. */
#define KEY_OPTIONS (2 * KEY_RECIPE_TEXT)

/*
 * Returns the recipe with this text as options for people, "--key=2
 * --ignore-case", or "the whole line"; the text as it is if it cannot be
 * parsed. Values are quoted for a shell, but bytes are not escaped here: names
 * and pointers may contain any.
 * The result may be in `options`.
 */
const char *key_recipe_options(const char *text, char options[KEY_OPTIONS]);

/*
 * Complete *given, the options of a run, by what the filter's recipe has
 * besides. Fails (STATUS_USAGE, without a file's name) if it asks for something
 * that `stored` has not, with a text that names the two that contradict each
 * other.
 */
int key_recipe_inherit(struct key_recipe *given,
    const struct key_recipe *stored, struct error *error);

/*
 * Complete a recipe from options by what follows from them (such as the comma
 * of --csv), before it is used without a filter or for a new one. Fails
 * (STATUS_USAGE) if the options contradict each other or take too much room.
 */
int key_recipe_complete(struct key_recipe *recipe, struct error *error);

#endif
