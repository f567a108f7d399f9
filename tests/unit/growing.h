/* A filter that grows, in a file. */
#ifndef TESTS_UNIT_GROWING_H
#define TESTS_UNIT_GROWING_H

#include "bits/sizing.h"
#include "filter/filter.h"

/*
 * Make an empty one for `capacity` lines, in place of any other file. Returns
 * 0; or -1 with `error` filled, and *f is NULL.
 */
static inline int
create_growing(struct filter **f, const char *path, uint64_t capacity,
    double error_rate, struct error *error)
{
	struct filter_design design = { .capacity = capacity,
		.error_rate = error_rate, .growth = GROWTH_GROW,
		.hash_kind = HASH_XXH3_128 };
	const struct filter_use use = FILTER_WRITE;
	double rate = sizing_layer_rate(error_rate, 0, 0);

	*f = NULL;
	if (sizing_layer(&design.geometry, capacity, rate, rate, 0, error) < 0)
		return -1;
	return filter_create(f, path, 1, &design, &use, error);
}

#endif
