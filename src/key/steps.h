/*
 * The steps from a line to its key, one row each: how a step is written in the
 * recipe's text, how it is shown to people, and what it does. They act in the
 * order of the rows, which is also that of the text: strip a CR at the end,
 * trim blanks, take fields or JSON values, trim them, normalize URLs, skip
 * bytes, limit their number, fold case. The last rows say what an empty key is,
 * and which keys count at all.
 */
#ifndef KEY_STEPS_H
#define KEY_STEPS_H

#include <stddef.h>

#include "bits/hash.h"
#include "key/recipe.h"

/* The longest value of a step: '=', what a recipe can have, and a NUL. */
#define KEY_VALUE (KEY_RECIPE_TEXT + 1)

struct key_step {
	const char *name;   /* name in the recipe's text; the option is "--" and
			     * this */
	const char *joined; /* name in the text if key_joins_values; or NULL */
	const char *absent; /* words for messages: what holds without the
			     * step */
	enum { KEY_VALUES, KEY_FLAG, KEY_COUNT } kind;
	size_t member;      /* offset of its member in key_recipe: an int for a
			     * flag, or a uint64_t for a count */
	uint64_t unset;     /* the count if the option was not given */

	/*
	 * Only of KEY_VALUES: add a value to the recipe, as the option or the
	 * text after '=' gives it (NULL if it gives none). Returns -1 if the
	 * value is not allowed.
	 */
	int (*parse)(struct key_recipe *recipe, const char *value);
	/*
	 * Only of KEY_VALUES: does the recipe have the step's value i, from 0?
	 * Then `value` becomes "=..." or "", not escaped.
	 */
	int (*print)(const struct key_recipe *recipe, unsigned i,
	    char value[KEY_VALUE]);
	/* Replace the value by what the option takes; NULL if it is that. */
	void (*show)(const struct key_recipe *recipe, char value[KEY_VALUE]);
	int escaped;        /* the value is escaped in the text, as in %0A */

	/* Does the step to a key; NULL if another row does its work. */
	key_apply apply;
	/* Does the recipe ask for that? NULL: if the flag is set. */
	int (*applies)(const struct key_recipe *recipe);
};

extern const struct key_step key_steps[];
extern const size_t key_step_count;

/*
 * Parse or print a value of a step, as its row's `parse` and `print` do, for
 * rows of any kind.
 */
int key_step_parse(const struct key_step *step, struct key_recipe *recipe,
    const char *value);
int key_step_print(const struct key_step *step,
    const struct key_recipe *recipe, unsigned i, char value[KEY_VALUE]);

/* Was the step's option given? A count of 0 can be, though it asks nothing. */
int key_step_is_given(const struct key_step *step,
    const struct key_recipe *recipe);

/* Does it change the key of a line? */
int key_step_applies(const struct key_step *step,
    const struct key_recipe *recipe);

#endif
