/* The design of a new filter, and its header and first table. */
#ifndef MODEL_DESIGN_H
#define MODEL_DESIGN_H

#include <stdint.h>

#include "base/error.h"
#include "bits/geometry.h"
#include "bits/hash.h"
#include "disk/table.h"

/* The design of a new filter. */
struct filter_design {
	uint64_t capacity;
	double error_rate;
	struct geometry geometry; /* shape of the first layer, found by
				   * sizing.h */
	enum growth growth;
	struct window window;     /* the window; if there is one, `geometry` is
				   * not used */
	const struct hash *hash;  /* hash and secret; NULL: a new secret */
	uint32_t hash_kind;       /* kind of hash for a new secret; 0: the
				   * default */
	char recipe[FILTER_RECIPE_MAX + 1]; /* text of the recipe, as in
					     * header.recipe */
};

/*
 * Make the header of a new filter of this design, with a new secret unless the
 * design has a hash. It has no id yet: the filter's location gives it one.
 * Returns 0, or -1 with `error` filled if there are no random bytes.
 */
int design_header(const struct filter_design *design, struct header *header,
    struct error *error);

/*
 * Make the table of a new filter of this design: one empty layer, which is also
 * the first generation's if there is a window. Returns 0, or -1 with `error`
 * filled if a generation has no shape, or if there is a window of time and the
 * clock is certainly wrong.
 */
int design_table(const struct filter_design *design, struct table *table,
    struct error *error);

#endif
