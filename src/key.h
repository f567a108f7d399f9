/*
 * From a line to its key: the part of it that decides whether it was seen.
 * What is done for that is the recipe; it stands in the filter file, and the
 * line itself always goes out as it came.
 *
 * The steps, in this order: strip a CR at the end, trim blanks at both ends,
 * take fields, skip bytes, take at most so many bytes, fold ASCII letters.
 */
#ifndef KEY_H
#define KEY_H

#include <stddef.h>
#include <stdint.h>

#include "csv.h"
#include "error.h"
#include "hash.h"

#define KEY_RANGES_MAX 32
#define KEY_FIELD_MAX 1000000000u

/* What key_recipe_format writes at most, with its NUL. */
#define KEY_RECIPE_TEXT 1025

struct key_range {
	uint32_t first, last; /* 1-based fields; last is UINT32_MAX if open */
};

struct key_recipe {
	int zero_terminated;
	int strip_cr;
	int trim;
	unsigned range_count; /* 0: the whole line */
	struct key_range ranges[KEY_RANGES_MAX]; /* sorted, not touching */
	int separator;        /* of fields, a byte; -1: runs of blanks */
	int csv;
	uint64_t skip;        /* bytes; KEY_SKIP_UNSET if not given */
	uint64_t check;       /* bytes; 0 is all */
	int ignore_case;
};

/* Options can say -s 0, which is not the same as not to say it. */
#define KEY_SKIP_UNSET UINT64_MAX

/* The recipe for whole lines; what options give begins with the second. */
#define KEY_RECIPE_NONE { .separator = -1 }
#define KEY_RECIPE_UNSET { .separator = -1, .skip = KEY_SKIP_UNSET }

/* Parse a list as cut has it: "2", "1,3", "2-4", "2-", "-3". */
int key_ranges_parse(struct key_recipe *recipe, const char *text);

/*
 * The recipe as text, one option a line, in one spelling only: equal recipes
 * have equal texts. bloomdedup(5), "Key recipe".
 */
void key_recipe_format(const struct key_recipe *recipe,
    char text[KEY_RECIPE_TEXT]);

/*
 * The inverse; -1 if the text is not what key_recipe_format writes of a
 * complete recipe.
 */
int key_recipe_parse(struct key_recipe *recipe, const char *text);

/*
 * What `given` asks for must be in `stored`; what it leaves out is taken from
 * there. Returns 0 and makes *given the whole; or -1, `error` naming the two
 * that contradict each other (STATUS_USAGE, without a file's name).
 */
int key_recipe_inherit(struct key_recipe *given,
    const struct key_recipe *stored, struct error *error);

/*
 * Fill in what follows from the rest (the comma of --csv) before a recipe is
 * used for a new filter. Fails (STATUS_USAGE) where it makes no sense.
 */
int key_recipe_complete(struct key_recipe *recipe, struct error *error);

/* Is the key the whole line, so that key_take isn't needed? */
int key_is_line(const struct key_recipe *recipe);

/* Where keys are put together that don't stand in the line as they are. */
struct key_scratch {
	uint8_t *data;
	size_t capacity, used;
};

/*
 * The key of line [data, data + nbytes), without its terminator, behind which
 * KERNEL_PADDING bytes may be read, whatever is there: a part of the
 * line, or bytes in `scratch` that are valid until scratch->used is set back to
 * 0. Joined fields keep a separator between them; empty ones at the end are as
 * good as none.
 */
struct key key_take(const struct key_recipe *recipe, const uint8_t *data,
    size_t nbytes, struct key_scratch *scratch);

/* Make room for the keys of lines of `nbytes` in all; empties the scratch. */
void key_scratch_reset(struct key_scratch *scratch,
    const struct key_recipe *recipe, size_t nbytes);
void key_scratch_free(struct key_scratch *scratch);

#endif
