/*
 * The steps from a line to its key, one row each: how a step is written in the
 * recipe's text, how it is shown to people, and what it does. They act in the
 * order of the rows, which is also that of the text: strip a CR at the end,
 * trim blanks, take fields or JSON values, trim them, normalize URLs, skip
 * bytes, limit their number, fold case. The last rows say what an empty key is,
 * and which keys count at all.
 *
 * Also what follows from the rows: recipes as text, and their inheritance.
 */
#ifndef STEPS_H
#define STEPS_H

#include <stddef.h>

#include "base/error.h"
#include "bits/hash.h"
#include "key/apply.h"
#include "key/recipe.h"
#include "key/scratch.h"

struct key_step {
	const char *name;   /* in the text; the option is "--" and this */
	const char *joined; /* name in the text if key_joins_values; or NULL */
	const char *absent; /* for messages: what the lack of it means */
	size_t member;      /* of key_recipe: an int for a flag, or a count */
	uint64_t unset;     /* the count if the option was not given */

	/* Parse the value of the option, or after '=' in the text; or NULL. */
	int (*parse)(const struct key_step *step, struct key_recipe *recipe,
	    const char *value);
	int escaped;        /* the value is escaped in the text, as in %0A */
	/* Is the step in the recipe? `value` becomes "=..." or "". */
	int (*print)(const struct key_step *step,
	    const struct key_recipe *recipe, char value[KEY_RECIPE_TEXT]);
	/* The value as the option takes it, if that differs; or NULL. */
	void (*show)(const struct key_recipe *recipe,
	    char value[KEY_RECIPE_TEXT]);

	/* NULL if another row does its work. */
	key_apply apply;
	int (*applies)(const struct key_recipe *recipe);
};

#define KEY_STEPS 17 /* at most KEY_STEPS_MAX */
extern const struct key_step key_steps[KEY_STEPS];

/*
 * Add the option of this name, such as "json", to the recipe; -1 if its value
 * is not allowed.
 */
int key_option(struct key_recipe *recipe, const char *name,
    const char *value);

/* Does the recipe's text have room for a value as well? */
int key_option_fits(const struct key_recipe *recipe, const char *value);

/*
 * The recipe as text, one step per line, in one spelling only: equal recipes
 * have equal texts. See bloomdedup(5), "Key recipe".
 */
void key_recipe_format(const struct key_recipe *recipe,
    char text[KEY_RECIPE_TEXT]);

/*
 * The inverse; fails (STATUS_FAILED, without a file's name) if the text is not
 * what key_recipe_format writes for a complete recipe.
 */
int key_recipe_parse(struct key_recipe *recipe, const char *text,
    struct error *error);

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
