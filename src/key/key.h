/*
 * From a line to its key: the part of it that decides whether it was seen. The
 * recipe (recipe.h) makes it, step by step (steps.h), and is stored in the
 * filter file. The line itself is always printed unchanged.
 */
#ifndef KEY_H
#define KEY_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"
#include "key/columns.h"
#include "key/fields.h"
#include "key/recipe.h"
#include "key/recipe_text.h"
#include "key/record.h"
#include "key/steps.h"

/* The format of the input's records, for a complete recipe. */
struct record_format key_record_format(const struct key_recipe *recipe);

/* Is the key the whole line, so that key_take isn't needed? */
int key_is_line(const struct key_recipe *recipe);

/*
 * The key of the line [data, data + nbytes), given without its terminator: a
 * part of the line, or bytes in `scratch` that are valid until scratch->used is
 * set back to 0. LOOPS_PADDING bytes after the line may be read, whatever they
 * are. key_scratch_reset must have prepared the scratch for this recipe.
 */
struct key key_take(const struct key_recipe *recipe, const uint8_t *data,
    size_t nbytes, struct key_scratch *scratch);

/* For --keep-empty: the digests of empty keys become DIGEST_NONE. */
void key_keep_empty(const struct key *keys, size_t n, struct digest *digests);

/*
 * Empty the scratch, and prepare it for the keys of lines of `nbytes` in all.
 * If scratch->step_count is 0 then, keys are whole lines.
 */
void key_scratch_reset(struct key_scratch *scratch,
    const struct key_recipe *recipe, size_t nbytes);
void key_scratch_free(struct key_scratch *scratch);

/* A line of the input. */
struct key_place {
	const char *file;
	uint64_t number; /* in the file, from 1; the header counts */
};

/* How many lines had each trouble, and which was the first. */
struct key_figures {
	uint32_t found; /* bit i: pointer i led to a value in some line */
	struct {
		uint64_t lines;
		struct key_place first;
	} of[KEY_TROUBLES];
};

/* Can lines have a trouble? */
int key_has_troubles(const struct key_recipe *recipe);

/* Count n lines of one file: line numbers[i] (NULL: i) after `place`. */
void key_figures_count(struct key_figures *figures, const uint8_t *troubles,
    const uint32_t *numbers, size_t n, struct key_place place);

/*
 * Did any line have this trouble? Then `error` says how many, and the first.
 */
int key_figures_tell(const struct key_figures *figures,
    const struct key_recipe *recipe, enum key_trouble trouble,
    struct error *error);

/*
 * The first of n lines that --strict-keys doesn't allow, since it is not JSON,
 * not a URL, or has none of the fields; n if there is none.
 */
size_t key_first_refused(const uint8_t *troubles, size_t n);

/* Fill `error` (STATUS_FAILED) for such a line. */
void key_refuse(const struct key_recipe *recipe, uint8_t troubles,
    struct key_place place, struct error *error);

#endif
