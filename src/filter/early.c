#include "filter/early.h"

#include <stdlib.h>
#include <string.h>

#include "bits/sizing.h"
#include "filter/filter.h"
#include "layers/layers.h"
#include "model/operations.h"

/* A larger filter is for so many lines: 40 MB or a little more by default. */
#define LARGER_CAPACITY UINT64_C(10000000)

struct early {
	struct filter filter;
	struct digest *digests; /* marked so far */
	size_t count, room;
};

static const struct filter_operations operations;

static struct early *
early_of(struct filter *filter)
{
	return (struct early *)(void *)filter;
}

void
early_begin(struct filter **filter)
{
	struct early *e;

	if (filter_path(*filter) != NULL) {
		layers_grow_large(*filter, LARGER_CAPACITY);
		return;
	}
	e = memory_or_die(calloc(1, sizeof *e));
	e->filter = (struct filter){ .operations = &operations,
		.under = *filter, .bottom = (*filter)->bottom };
	*filter = &e->filter;
}

/* Make a filter like `small`, and larger. */
static int
make_larger(struct filter **larger, const struct filter *small,
    struct error *error)
{
	const struct header *h = filter_header(small);
	const struct filter_use use = FILTER_WRITE;
	struct sizing sizing = { .capacity = LARGER_CAPACITY,
		.error_rate = h->error_rate };
	struct filter_design design = { .capacity = LARGER_CAPACITY,
		.error_rate = h->error_rate, .growth = GROWTH_GROW,
		.hash = &h->hash };

	if (sizing_solve(&sizing, error) < 0)
		return -1;
	design.geometry = sizing.geometry;
	memcpy(design.recipe, h->recipe, sizeof design.recipe);
	return layers_create(larger, NULL, 0, &design, &use, error);
}

/* The larger one takes the place of the small one, if there is room for it. */
static int
start_over(const struct early *e, struct filter **filter, struct error *error)
{
	struct filter *larger;
	uint64_t room;

	/* Without room for a larger one, this one grows like any other. */
	if (make_larger(&larger, *filter, error_ignored()) < 0)
		return 0;
	filter_close(*filter, error);
	*filter = larger;
	if (filter_reserve(larger, e->count, &room, error) != ROOM_ENOUGH)
		return -1;
	return filter_mark(larger, e->digests, e->count, error);
}

int
early_enlarge(struct filter **filter, struct error *error)
{
	struct early *e;
	int result;

	if ((*filter)->operations != &operations)
		return 0;
	e = early_of(*filter);
	*filter = e->filter.under;
	result = start_over(e, filter, error);
	free(e->digests);
	free(e);
	return result;
}

static int
early_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	return filter_probe(filter->under, digests, n, found, error);
}

static enum room
early_reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	return filter_reserve(filter->under, wanted, room, error);
}

static int
early_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct early *e = early_of(filter);

	e->digests = memory_grow(e->digests, &e->room, e->count + n,
	    sizeof *e->digests);
	memcpy(e->digests + e->count, digests, n * sizeof *digests);
	e->count += n;
	return filter_mark(filter->under, digests, n, error);
}

static int
early_close(struct filter *filter, struct error *error)
{
	struct early *e = early_of(filter);
	int result = filter_close(filter->under, error);

	free(e->digests);
	free(e);
	return result;
}

static const struct filter_operations operations = {
	.probe = early_probe,
	.reserve = early_reserve,
	.mark = early_mark,
	.close = early_close
};
