#include "filter/preview.h"

#include <stdlib.h>

#include "bits/sizing.h"
#include "filter/filter.h"
#include "layers/layers.h"
#include "model/growth.h"
#include "model/operations.h"

struct preview {
	struct filter filter;  /* on top of the one that is read */
	struct filter *fresh;  /* in memory: what this run has seen */
	struct table planned;  /* of the filter below, as it would have grown */
	uint64_t count;        /* lines in `fresh` */
	uint64_t max_bytes;
};

static struct preview *
preview_of(struct filter *filter)
{
	return (struct preview *)(void *)filter;
}

static int
probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct preview *p = preview_of(filter);

	if (filter->under->operations->probe(filter->under, digests, n, found,
	    error) < 0)
		return -1;
	filter_prefetch(p->fresh, digests, n);
	return p->fresh->operations->probe(p->fresh, digests, n, found, error);
}

/* The filter below grows by a layer, on paper. */
static int
plan_layer(struct preview *p, uint64_t wanted, struct error *error)
{
	struct filter *under = p->filter.under;
	struct layer_entry layer;

	if (filter_growth(under) == GROWTH_FAIL)
		return growth_is_full(filter_name(under), &p->planned, error);
	if (growth_layer(filter_name(under), filter_header(under),
	    &p->planned, wanted, &layer, error) < 0 ||
	    growth_place(filter_name(under), &p->planned, &p->planned, &layer,
	    p->max_bytes, error) < 0)
		return -1;
	growth_append(&p->planned, &layer);
	return 0;
}

/* How many of the lines that are wanted have room in the filter below? */
static uint64_t
room_below(struct preview *p, uint64_t wanted, struct error *error)
{
	uint64_t all = p->count + wanted, room = 0;
	unsigned i = 0;

	/* Only a file has a known end, and a window forgets in time. */
	if (filter_path(&p->filter) == NULL ||
	    filter_header(&p->filter)->window.kind != WINDOW_NONE)
		return wanted;
	while (room < all) {
		uint64_t more;

		if (i == p->planned.count &&
		    plan_layer(p, all - room, error) < 0)
			break;
		more = format_layer_room(&p->planned, i++,
		    filter_growth(&p->filter));
		room += more < all - room ? more : all - room;
	}
	return room < p->count ? 0 : room - p->count;
}

static uint64_t
reserve(struct filter *filter, uint64_t wanted, struct error *error)
{
	struct preview *p = preview_of(filter);
	uint64_t room = room_below(p, wanted, error), got;
	struct error second;

	got = filter_reserve(p->fresh, room, &second);
	if (got < room)
		*error = second;
	return got;
}

static int
mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct preview *p = preview_of(filter);

	p->count += n;
	return filter_mark(p->fresh, digests, n, error);
}

static int
close_preview(struct filter *filter, struct error *error)
{
	struct preview *p = preview_of(filter);
	struct filter *under = filter->under;

	filter_close(p->fresh, error);
	free(p);
	return filter_close(under, error);
}

static const struct filter_operations operations = {
	.probe = probe,
	.reserve = reserve,
	.mark = mark,
	.close = close_preview
};

int
preview_begin(struct filter **filter, uint64_t max_bytes, struct error *error)
{
	const struct header *h = filter_header(*filter);
	const struct filter_use use = FILTER_WRITE;
	double share = SIZING_PENDING_SHARE * h->error_rate;
	double rate = sizing_layer_rate(share, 0, 0);
	struct filter_design plan = { .capacity = SIZING_CAPACITY_DEFAULT,
		.error_rate = share, .growth = GROWTH_GROW, .hash = &h->hash };
	struct filter *fresh;
	struct preview *p;

	if (sizing_layer(&plan.geometry, plan.capacity, rate, rate, 0,
	    error) < 0 || layers_create(&fresh, NULL, 0, &plan, &use,
	    error) < 0)
		return -1;
	p = memory_or_die(calloc(1, sizeof *p));
	p->filter = (struct filter){ .operations = &operations,
		.under = *filter };
	p->fresh = fresh;
	p->planned = *filter_table(*filter);
	p->max_bytes = max_bytes;
	*filter = &p->filter;
	return 0;
}
