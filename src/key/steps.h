/*
 * The steps from a line to its key, one row each: how a step is written in the
 * recipe's text, how it is shown to people, and what it does. They act in the
 * order of the rows, which is also that of the text: strip a CR at the end,
 * trim blanks, take fields or JSON values, trim them, normalize URLs, skip
 * bytes, limit their number, fold case. The last rows say what an empty key is,
 * and which keys count at all.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stddef.h>

#include "bits/hash.h"
#include "key/recipe.h"

/* The longest value of a step: '=', what a recipe can have, and a NUL. */
#define KEY_VALUE (KEY_RECIPE_TEXT + 1)

struct key_step {
	const char *name;   /* in the text; the option is "--" and this */
	const char *joined; /* name in the text if key_joins_values; or NULL */
	const char *absent; /* for messages: what the lack of it means */
	enum { KEY_VALUES, KEY_FLAG, KEY_COUNT } kind;
	size_t member;      /* of key_recipe: an int for a flag, or a count */
	uint64_t unset;     /* the count if the option was not given */

	/*
	 * For a value that is neither a flag nor a count: parse it, as the
	 * option or the text after '=' gives it; NULL if there is none.
	 */
	int (*parse)(struct key_recipe *recipe, const char *value);
	/*
	 * Does the recipe have the step's value i, from 0? `value` becomes
	 * "=..." or "", and is not escaped.
	 */
	int (*print)(const struct key_recipe *recipe, unsigned i,
	    char value[KEY_VALUE]);
	/* The value as the option takes it, if that differs; or NULL. */
	void (*show)(const struct key_recipe *recipe, char value[KEY_VALUE]);
	int escaped;        /* the value is escaped in the text, as in %0A */

	/* NULL if another row does its work. */
	key_apply apply;
	int (*applies)(const struct key_recipe *recipe); /* NULL: the flag */
};

extern const struct key_step key_steps[];
extern const size_t key_step_count;

/* parse and print of any row. */
int key_step_parse(const struct key_step *step, struct key_recipe *recipe,
    const char *value);
int key_step_print(const struct key_step *step,
    const struct key_recipe *recipe, unsigned i, char value[KEY_VALUE]);

int key_step_is_given(const struct key_step *step,
    const struct key_recipe *recipe);

/* Does it change the key of a line? */
int key_step_applies(const struct key_step *step,
    const struct key_recipe *recipe);

#endif
