#include "model/estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bits/block.h"
#include "model/operations.h"

/* A filter of the server has half of its bits set at its capacity. */
static double
textbook_fill(const struct layer_entry *layer, double lines)
{
	return 1 - exp2(-lines / (double)layer->capacity);
}

/*
 * The rate at which unseen lines are found in a layer once it has so many
 * lines. One without a shape is a server's, with the textbook's.
 */
static double
layer_rate(const struct layer_entry *layer, double lines)
{
	if (layer->geometry.k == 0)
		return pow(textbook_fill(layer, lines),
		    -log2(layer->error_rate));
	return geometry_rate(&layer->geometry, (uint64_t)lines);
}

uint64_t
estimate_lines(const struct estimate *estimate, uint64_t limit)
{
	/* Casting a double beyond 2^64 is undefined; the limit is safe. */
	if (estimate->lines >= (double)limit)
		return limit;
	return (uint64_t)(estimate->lines + 0.5);
}

/* The number of page j of a sample, spread over all pages of a layer. */
static uint64_t
sampled_page(uint64_t total, uint64_t pages, uint64_t j)
{
	/* A key's page depends on its hash alone: any pages will do. */
	return total / pages * j + total % pages * j / pages;
}

/* Add page j of a sample to the mean rate; returns how many bits it has set. */
static uint64_t
add_page(struct estimate *e, const struct geometry *geometry, uint64_t j,
    const uint8_t *page)
{
	struct block_page_fill fill = block_page_fill(geometry, page);

	e->error_rate += (fill.rate - e->error_rate) / (double)(j + 1);
	return fill.bits;
}

/* Conclude from the bits that are set in a sample of so many pages. */
static void
conclude(struct estimate *e, const struct geometry *geometry, uint64_t bits,
    uint64_t pages)
{
	e->share = (double)bits / (8.0 * PAGE_BYTES * (double)pages);
	e->lines = geometry_lines(geometry, e->share);
}

struct estimate
estimate_union(struct filter *f, unsigned i, uint64_t pages,
    const uint8_t *with, uint8_t *joined, struct error *error)
{
	_Alignas(64) uint8_t page[PAGE_BYTES];
	const struct geometry *geometry = &f->bottom->table->layers[i].geometry;
	uint64_t total = geometry->pages, bits = 0;
	struct estimate e = { 0 };

	pages = pages < total ? pages : total;
	for (uint64_t j = 0; j < pages; j++) {
		uint64_t number = sampled_page(total, pages, j);
		uint8_t *to = with == NULL ? page : joined + j * PAGE_BYTES;

		if (f->bottom->operations->read_pages(f->bottom, i, number, 1,
		    to, error) < 0) {
			if (with != NULL)
				return e;
			memset(to, 0, PAGE_BYTES);
		}
		for (size_t k = 0; k < PAGE_BYTES && with != NULL; k++)
			to[k] |= with[j * PAGE_BYTES + k];
		bits += add_page(&e, geometry, j, to);
	}
	conclude(&e, geometry, bits, pages);
	return e;
}

/*
 * A counter is more exact than a sample; but if it was lost or is too low, the
 * bits say so: an estimate's error is less than this.
 */
static double
counted_or_estimated(double counted, double estimated, double share)
{
	double tolerance = 0.02 + 4 / sqrt(estimated * share + 1);

	return estimated > counted * (1 + tolerance) ? estimated : counted;
}

/* From pages that are read together. Without them, *e is unchanged. */
static void
estimate_sample(struct filter *f, const struct layer_entry *layer,
    uint64_t wanted, struct estimate *e, struct error *error)
{
	const struct filter_operations *operations = f->bottom->operations;
	const struct geometry *geometry = &layer->geometry;
	struct estimate sample = { 0 };
	size_t pages = operations->sample_pages;
	uint64_t *numbers, bits = 0;
	uint8_t *bytes;

	if (pages > wanted)
		pages = (size_t)wanted;
	if (pages > geometry->pages)
		pages = (size_t)geometry->pages;
	numbers = memory_or_die(malloc(pages * sizeof *numbers));
	bytes = memory_or_die(aligned_alloc(64, pages * PAGE_BYTES));
	for (uint64_t j = 0; j < pages; j++)
		numbers[j] = sampled_page(geometry->pages, pages, j);
	if (operations->sample(f->bottom, numbers, pages, bytes, error) == 0) {
		for (uint64_t j = 0; j < pages; j++)
			bits += add_page(&sample, geometry, j,
			    bytes + j * PAGE_BYTES);
		conclude(&sample, geometry, bits, pages);
		sample.lines = counted_or_estimated(e->lines, sample.lines,
		    (double)pages / (double)geometry->pages);
		*e = sample;
	}
	free(numbers);
	free(bytes);
}

struct estimate
estimate_layer(struct filter *f, unsigned i, uint64_t pages,
    struct error *error)
{
	const struct layer_entry *layer = &f->bottom->table->layers[i];
	struct estimate e = { .lines = (double)layer->lines };

	if (f->bottom->operations->read_pages != NULL)
		return estimate_union(f, i, pages, NULL, NULL, error);
	e.error_rate = layer_rate(layer, e.lines);
	e.share = layer->geometry.k > 0 ?
	    geometry_fill(&layer->geometry, e.lines) :
	    textbook_fill(layer, e.lines);
	if (f->bottom->operations->sample != NULL)
		estimate_sample(f, layer, pages, &e, error);
	return e;
}

/* 1 - product of (1 - rate), accurate for small rates. */
double
estimate_joined_rate(const double *rates, unsigned count)
{
	double unseen = 0;

	for (unsigned i = 0; i < count; i++) {
		if (rates[i] >= 1)
			return 1;
		unseen += log1p(-rates[i]);
	}
	/* subtracted from 0, since a minus sign would make a negative zero */
	return 0 - expm1(unseen);
}

double
estimate_error_rate(struct filter *f, uint64_t pages)
{
	double rates[TABLE_LAYERS_MAX];

	f = f->bottom;
	for (unsigned i = 0; i < f->table->count; i++)
		/* a page that can't be read counts as empty */
		rates[i] = estimate_layer(f, i, pages,
		    error_ignored()).error_rate;
	return estimate_joined_rate(rates, f->table->count);
}

double
estimate_fullness(const struct table *table)
{
	double lines = 0, capacity = 0;

	for (unsigned i = 0; i < table->count; i++) {
		lines += (double)table->layers[i].lines;
		capacity += (double)table->layers[i].capacity;
	}
	return lines / capacity;
}

double
estimate_dropped(const struct table *table, const struct table *before)
{
	enum { STEPS = 128 };
	double rates[TABLE_LAYERS_MAX], first[TABLE_LAYERS_MAX] = { 0 };
	double dropped = 0;

	/*
	 * The lines of each at the start of the run. With a window, it may have
	 * had another number in the table; a new one had no lines.
	 */
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];

		if (layer->lines > layer->capacity)
			return -1;
		for (unsigned j = 0; j < before->count; j++) {
			if (before->layers[j].offset == layer->offset &&
			    before->layers[j].created == layer->created)
				first[i] = (double)before->layers[j].lines;
		}
		rates[i] = layer_rate(layer, first[i]);
	}
	/* The layers fill one after the other; the midpoint rule for each. */
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		double lines = first[i];
		double step = ((double)layer->lines - lines) / STEPS;

		for (unsigned j = 0; j < STEPS && step > 0; j++) {
			double own, all;

			own = rates[i] = layer_rate(layer, lines + step / 2);
			all = estimate_joined_rate(rates, table->count);
			/*
			 * For each line kept, 1 / (1 - rate) came. One that
			 * this layer dropped has its bits set, as if marked.
			 */
			dropped += step * all / (1 - all);
			lines += step * (1 + own / (1 - all));
		}
		rates[i] = layer_rate(layer, lines);
	}
	return isfinite(dropped) ? dropped : -1;
}
