/* The step that takes values of JSON, for its row in steps.c. */
#ifndef JSON_STEP_H
#define JSON_STEP_H

#include "bits/hash.h"
#include "key/recipe.h"
#include "key/scratch.h"

struct key_step;

int json_step_parse(const struct key_step *step, struct key_recipe *recipe,
    const char *pointer);
int json_step_print(const struct key_step *step,
    const struct key_recipe *recipe, char value[KEY_RECIPE_TEXT]);
void json_step_show(const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT]);
struct key json_step_apply(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch);

#endif
