/*
 * Makes the key of a line: the bytes that decide whether it was seen before.
 * The recipe (recipe.h) makes it, step by step (steps.h), and is stored in the
 * filter file. The line itself is always printed unchanged.
 */
#ifndef KEY_KEY_H
#define KEY_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"
#include "key/columns.h"
#include "key/fields.h"
#include "key/recipe.h"
#include "key/recipe_text.h"
#include "key/record.h"
#include "key/steps.h"

/*
 * Returns the format of the input's records, which a complete recipe implies.
 */
struct record_format key_record_format(const struct key_recipe *recipe);

/*
 * Make the key of the line [data, data + nbytes), given without its terminator.
 * The key is a part of the line, or bytes in `scratch` that stay valid until
 * scratch->used is set back to 0. What was wrong with the line is in
 * scratch->troubles. LOOPS_PADDING bytes after the line may be read, whatever
 * they are. key_scratch_begin must have prepared the scratch for this recipe,
 * and key_scratch_reserve made room for the line.
 */
struct key key_take(const struct key_recipe *recipe, const uint8_t *data,
    size_t nbytes, struct key_scratch *scratch);

/* Replace the digests of empty keys by DIGEST_NONE, for --keep-empty. */
void key_keep_empty(const struct key *keys, size_t n, struct digest *digests);

/*
 * Prepare the scratch for keys that this recipe makes. If scratch->step_count
 * is 0 afterwards, keys are whole lines, and key_take is not needed. A scratch
 * that is all zero is empty; the caller frees it.
 */
void key_scratch_begin(struct key_scratch *scratch,
    const struct key_recipe *recipe);
void key_scratch_free(struct key_scratch *scratch);

/* Empty the scratch, and make room for keys of lines of `nbytes` in all. */
void key_scratch_reserve(struct key_scratch *scratch, size_t nbytes);

/* A line of the input. */
struct key_position {
	const char *file;
	uint64_t number; /* number of the line in the file, from 1, header
			  * included */
};

/* The number of lines that had each trouble, and the first of them. */
struct key_figures {
	uint32_t found; /* bit i: pointer i led to a value in some line */
	struct {
		uint64_t lines;         /* number of lines that had the
					 * trouble */
		struct key_position first;
		uint64_t told;          /* number that key_figures_notice told;
					 * 0: none yet */
	} of[KEY_TROUBLES];
	uint64_t waiting_since; /* the first pause of the input at which one
				 * waited to be told; 0: none does */
	char stray[40];    /* KEY_STRAY: the text after the first such quote */
	int is_escaped;    /* is a backslash before that quote? */
};

/* Can a line have any trouble with this recipe? */
int key_has_troubles(const struct key_recipe *recipe);

/*
 * Count the troubles of n lines of one file. troubles[i] is about the line that
 * begins at starts[i], up to starts[i + 1], and comes numbers[i] lines after
 * `position`, or i lines if `numbers` is NULL.
 */
void key_figures_count(struct key_figures *figures,
    const struct key_recipe *recipe, const uint8_t *troubles,
    const uint8_t *const *starts, const uint32_t *numbers, size_t n,
    struct key_position position);

/*
 * Did any line have this trouble? Then fill `error` (STATUS_OK) with a message
 * that says how many had it, which was the first, and what became of them; but
 * not if key_figures_notice has told this very number.
 */
int key_figures_tell(const struct key_figures *figures,
    const struct key_recipe *recipe, enum key_trouble trouble,
    struct error *error);

/*
 * Does a trouble that lines had wait for key_figures_notice to be told? `least`
 * is as for that.
 */
int key_figures_wait(const struct key_figures *figures, uint64_t least);

/*
 * Tell each trouble that at least `least` lines had, while they are still read:
 * each only once. `notice` reports a message.
 */
void key_figures_notice(struct key_figures *figures,
    const struct key_recipe *recipe, uint64_t least,
    void (*notice)(const char *text));

/*
 * Do all of these n lines, at least one, lack all fields of the key, or all
 * values of --json? Bit i of `found` is set if one of them has a value at
 * pointer i. Where an empty key is wanted (--keep-empty), the answer is no.
 */
int key_all_lack_fields(const struct key_recipe *recipe,
    const uint8_t *troubles, uint32_t found, size_t n);

/*
 * Did none of the `lines` lines that a run has read have any field of the key,
 * as key_all_lack_fields asks; or, with --json, any of the values?
 */
int key_figures_lack_all(const struct key_figures *figures,
    const struct key_recipe *recipe, uint64_t lines);

/*
 * Fill `error` (STATUS_FAILED) for lines of which none has the key: the first
 * `n` of a file; or all that were read, if `file` is NULL. Returns -1.
 */
int key_refuse_all(const struct key_recipe *recipe, const char *file, size_t n,
    struct error *error);

/*
 * Find the first of n lines that --strict-keys does not allow, because it is
 * not JSON or not a URL, lacks a value of --json, or has none of the fields.
 * Returns n if there is none.
 */
size_t key_first_refused(const uint8_t *troubles, size_t n);

/* Fill `error` (STATUS_FAILED) for a line that key_first_refused found. */
void key_refuse(const struct key_recipe *recipe, uint8_t troubles,
    struct key_position position, struct error *error);

#endif
