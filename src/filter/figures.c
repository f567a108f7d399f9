#include "filter/figures.h"

#include <math.h>
#include <zlib.h>

#include "base/signals.h"

#define PIECE_PAGES 64

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
 * The lines of a layer at the start of the run. With a window, it may have had
 * another place in the table; a new one had none.
 */
static double
lines_before(const struct layer_entry *layer, const struct table *before)
{
	for (unsigned i = 0; i < before->count; i++) {
		const struct layer_entry *old = &before->layers[i];

		if (old->offset == layer->offset &&
		    old->created == layer->created)
			return (double)old->lines;
	}
	return 0;
}

double
figures_expected_dropped(const struct filter *f, const struct table *before)
{
	enum { STEPS = 128 };
	const struct table *table = filter_table(f);
	double rates[FORMAT_LAYERS_MAX], dropped = 0;

	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];

		if (layer->lines > layer->capacity)
			return -1;
		rates[i] = estimate_rate(layer, lines_before(layer, before));
	}
	/* The layers fill one after the other; the midpoint rule for each. */
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		double lines = lines_before(layer, before);
		double step = ((double)layer->lines - lines) / STEPS;

		for (unsigned j = 0; j < STEPS && step > 0; j++) {
			double own, all;

			own = rates[i] = estimate_rate(layer, lines + step / 2);
			all = figures_joined_rate(rates, table->count);
			/*
			 * For each line kept, 1 / (1 - rate) came. One that
			 * this layer dropped has its bits set, as if marked.
			 */
			dropped += step * all / (1 - all);
			lines += step * (1 + own / (1 - all));
		}
		rates[i] = estimate_rate(layer, lines);
	}
	return isfinite(dropped) ? dropped : -1;
}

int
figures_verify_layer(struct filter *f, unsigned i, struct error *error)
{
	const struct layer_entry *layer = &filter_table(f)->layers[i];
	uint8_t piece[PIECE_PAGES * PAGE_BYTES];
	uint32_t checksum = (uint32_t)crc32(0, NULL, 0);
	uint64_t total = layer->geometry.pages, pages;

	for (uint64_t page = 0; page < total; page += pages) {
		pages = total - page < PIECE_PAGES ? total - page :
		    PIECE_PAGES;
		if (signals_stop)
			return error_set(error, 128 + signals_stop,
			    "stopped by a signal");
		if (filter_read_pages(f, i, page, (size_t)pages, piece,
		    error) < 0)
			return -1;
		checksum = (uint32_t)crc32(checksum, piece,
		    (uInt)(pages * PAGE_BYTES));
	}
	return checksum == layer->checksum;
}
