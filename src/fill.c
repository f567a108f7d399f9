#include "fill.h"

#include <math.h>

int
fill_sample(const struct geometry *geometry, uint64_t pages,
    const uint8_t *(*read)(void *context, uint64_t i, uint64_t page),
    void *context, struct fill *fill)
{
	uint64_t total = geometry->pages, bits = 0;

	*fill = (struct fill){ 0 };
	pages = pages < total ? pages : total;
	/* A key's page depends on its hash alone: any pages will do. */
	for (uint64_t i = 0; i < pages; i++) {
		const uint8_t *page = read(context, i, (uint64_t)
		    ((unsigned __int128)total * i / pages));
		struct block_page_fill one;

		if (page == NULL)
			return -1;
		one = block_page_fill(geometry, page);
		bits += one.bits;
		fill->error_rate += one.rate / (double)pages;
	}
	fill->share = (double)bits / (8.0 * PAGE_BYTES * (double)pages);
	fill->lines = geometry_lines(geometry, fill->share);
	return 0;
}

static const uint8_t *
mapped_page(void *context, uint64_t i, uint64_t page)
{
	struct pages *pages = context;

	(void)i;
	/* One that can't be read counts as empty; who needs it says why. */
	pages_load(pages, &page, 1, 0, 1, &(struct error){ 0 });
	return pages->base + page * PAGE_BYTES;
}

struct fill
fill_of_layer(struct filter *f, unsigned i, uint64_t pages)
{
	struct fill fill;

	fill_sample(&f->arrays[i].geometry, pages, mapped_page,
	    &f->pages[i], &fill);
	return fill;
}

/* 1 - product of (1 - rate), which has no digits left for small rates. */
static double
join_rates(const double *rates, unsigned count)
{
	double unseen = 0;

	for (unsigned i = 0; i < count; i++) {
		if (rates[i] >= 1)
			return 1;
		unseen += log1p(-rates[i]);
	}
	return 0 - expm1(unseen); /* no negative zero */
}

double
fill_error_rate(struct filter *f, uint64_t pages)
{
	double rates[FORMAT_LAYERS_MAX];

	for (unsigned i = 0; i < f->table.count; i++)
		rates[i] = fill_of_layer(f, i, pages).error_rate;
	return join_rates(rates, f->table.count);
}

double
fill_expected_dropped(const struct filter *f,
    const uint64_t before[FORMAT_LAYERS_MAX])
{
	enum { STEPS = 128 };
	double rates[FORMAT_LAYERS_MAX], dropped = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		rates[i] = geometry_rate(&f->table.layers[i].geometry,
		    before[i]);
	/* The layers fill one after the other; the midpoint rule for each. */
	for (unsigned i = 0; i < f->table.count; i++) {
		const struct layer_entry *layer = &f->table.layers[i];
		double step = (double)(layer->lines - before[i]) / STEPS;
		double lines = (double)before[i];

		for (unsigned j = 0; j < STEPS && step > 0; j++) {
			double own, all;

			rates[i] = geometry_rate(&layer->geometry,
			    (uint64_t)(lines + step / 2));
			own = rates[i];
			all = join_rates(rates, f->table.count);
			/*
			 * For a line that was kept 1 / (1 - rate) came. One
			 * that this layer dropped has its bits: as if marked.
			 */
			dropped += step * all / (1 - all);
			lines += step * (1 + own / (1 - all));
		}
		rates[i] = geometry_rate(&layer->geometry, (uint64_t)lines);
	}
	return dropped;
}
