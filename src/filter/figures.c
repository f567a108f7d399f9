#include "filter/figures.h"

#include <math.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/signals.h"
#include "bits/sizing.h"

#define PIECE_PAGES 64
/* Above this rate, what was taken for seen says nothing about what was new. */
#define HOPELESS_RATE 0.99
/* Pages in a sample that tells how many lines an overfilled layer has. */
#define START_PAGES 1000

/* 1 - product of (1 - rate), accurate for small rates. */
double
figures_joined_rate(const double *rates, unsigned count)
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
figures_error_rate(struct filter *f, uint64_t pages)
{
	unsigned count = filter_table(f)->count;
	double rates[FORMAT_LAYERS_MAX];

	for (unsigned i = 0; i < count; i++)
		rates[i] = estimate_layer(f, i, pages,
		    &(struct error){ 0 }).error_rate;
	return figures_joined_rate(rates, count);
}

double
figures_fullness(const struct filter *f)
{
	const struct table *table = filter_table(f);
	double lines = 0, capacity = 0;

	for (unsigned i = 0; i < table->count; i++) {
		lines += (double)table->layers[i].lines;
		capacity += (double)table->layers[i].capacity;
	}
	return lines / capacity;
}

/*
 * A layer at the start of the run: lines by its counter and by its bits; both 0
 * for a new one. With a window, it may have had another place in the table.
 */
static void
find_start(const struct layer_entry *layer, const struct figures_start *start,
    uint64_t *counted, uint64_t *lines)
{
	*counted = *lines = 0;
	for (unsigned i = 0; i < start->table.count; i++) {
		const struct layer_entry *old = &start->table.layers[i];

		if (old->offset != layer->offset ||
		    old->created != layer->created)
			continue;
		*counted = old->lines;
		*lines = start->lines[i];
	}
}

/*
 * Lines dropped by mistake are not counted, but their bits are set: in an
 * overfilled layer, only the bits tell what the next line meets.
 */
void
figures_start(struct filter *f, struct figures_start *start)
{
	*start = (struct figures_start){ .table = *filter_table(f) };
	for (unsigned i = 0; i < start->table.count; i++) {
		const struct layer_entry *layer = &start->table.layers[i];
		struct estimate estimate;

		start->lines[i] = layer->lines;
		if (layer->lines <= layer->capacity)
			continue;
		estimate = estimate_layer(f, i, START_PAGES,
		    &(struct error){ 0 });
		start->lines[i] = estimate_lines(&estimate,
		    SIZING_CAPACITY_MAX);
	}
}

double
figures_expected_dropped(const struct filter *f,
    const struct figures_start *start)
{
	enum { STEPS = 128 };
	const struct table *table = filter_table(f);
	double rates[FORMAT_LAYERS_MAX], dropped = 0;
	uint64_t counted[FORMAT_LAYERS_MAX], first[FORMAT_LAYERS_MAX];

	for (unsigned i = 0; i < table->count; i++) {
		find_start(&table->layers[i], start, &counted[i], &first[i]);
		rates[i] = estimate_rate(&table->layers[i], (double)first[i]);
	}
	if (figures_joined_rate(rates, table->count) > HOPELESS_RATE)
		return -1;
	/* The layers fill one after the other; the midpoint rule for each. */
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		double step = ((double)layer->lines - (double)counted[i]) /
		    STEPS;
		double lines = (double)first[i];

		for (unsigned j = 0; j < STEPS && step > 0; j++) {
			double own, all;

			rates[i] = estimate_rate(layer, lines + step / 2);
			own = rates[i];
			all = figures_joined_rate(rates, table->count);
			if (all > HOPELESS_RATE)
				return -1;
			/*
			 * For each line kept, 1 / (1 - rate) came. One that
			 * this layer dropped has its bits set, as if marked.
			 */
			dropped += step * all / (1 - all);
			lines += step * (1 + own / (1 - all));
		}
		rates[i] = estimate_rate(layer, lines);
	}
	return dropped;
}

int
figures_verify_layer(struct filter *f, unsigned i, struct error *error)
{
	const struct layer_entry *layer = &filter_table(f)->layers[i];
	uint8_t *piece = memory_or_die(malloc(PIECE_PAGES * PAGE_BYTES));
	uint32_t checksum = (uint32_t)crc32(0, NULL, 0);
	uint64_t total = layer->geometry.pages, pages;
	int result = 0;

	for (uint64_t page = 0; result == 0 && page < total; page += pages) {
		pages = total - page < PIECE_PAGES ? total - page :
		    PIECE_PAGES;
		if (signals_stop) {
			result = error_set(error, 128 + signals_stop,
			    "stopped by a signal");
			break;
		}
		result = filter_read_pages(f, i, page, (size_t)pages, piece,
		    error);
		if (result == 0)
			checksum = (uint32_t)crc32(checksum, piece,
			    (uInt)(pages * PAGE_BYTES));
	}
	free(piece);
	return result < 0 ? -1 : checksum == layer->checksum;
}
