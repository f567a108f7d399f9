/*
 * What each step of a recipe does to a key, and whether a recipe has the step.
 * The scratch must have room for what all steps may make of a line
 * (key_scratch_reset).
 */
#ifndef APPLY_H
#define APPLY_H

#include "bits/hash.h"
#include "key/recipe.h"
#include "key/scratch.h"

/* Are keys made of several values, each in quotes (join.h)? */
int key_joins_values(const struct key_recipe *recipe);

struct key apply_strip_cr(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_strip_cr_if(const struct key_recipe *recipe);

struct key apply_trim(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_trim_if(const struct key_recipe *recipe);

struct key apply_fields(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_fields_if(const struct key_recipe *recipe);

struct key apply_json(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_json_if(const struct key_recipe *recipe);

struct key apply_trim_fields(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_trim_fields_if(const struct key_recipe *recipe);

struct key apply_url(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_url_if(const struct key_recipe *recipe);

struct key apply_skip(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_skip_if(const struct key_recipe *recipe);

struct key apply_check(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_check_if(const struct key_recipe *recipe);

struct key apply_fold_case(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch);
int apply_fold_case_if(const struct key_recipe *recipe);

#endif
