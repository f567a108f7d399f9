/* A recipe in words, for people: "the JSON value at /url, as a URL". */
#ifndef WORDS_H
#define WORDS_H

#include "key/recipe.h"

/* The longest description, with its NUL. */
#define KEY_WORDS (4 * KEY_RECIPE_TEXT)

/*
 * Describe which part of a line is compared, in the order of the steps. Names
 * and pointers are not escaped, and may contain any bytes.
 */
void key_recipe_words(const struct key_recipe *recipe, char words[KEY_WORDS]);

#endif
