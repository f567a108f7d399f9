#include "model/estimate.h"

#include <math.h>

#include "bits/block.h"
#include "model/operations.h"

/* Of the server's filter: at its capacity, half of the bits are set. */
static double
textbook_fill(const struct layer_entry *layer, double lines)
{
	return 1 - exp2(-lines / (double)layer->capacity);
}

double
estimate_rate(const struct layer_entry *layer, double lines)
{
	return layer->geometry.k > 0 ? geometry_rate(&layer->geometry,
	    (uint64_t)lines) : pow(textbook_fill(layer, lines),
	    -log2(layer->error_rate));
}

static struct estimate
estimate_counted(const struct layer_entry *layer)
{
	double lines = (double)layer->lines;

	return (struct estimate){ .lines = lines,
		.error_rate = estimate_rate(layer, lines),
		.share = layer->geometry.k > 0 ?
		geometry_fill(&layer->geometry, lines) :
		textbook_fill(layer, lines) };
}

uint64_t
estimate_lines(const struct estimate *estimate, uint64_t limit)
{
	/* Casting a double beyond 2^64 is undefined; the limit is safe. */
	return estimate->lines >= (double)limit ? limit :
	    (uint64_t)(estimate->lines + 0.5);
}

int
estimate_sample(const struct geometry *geometry, uint64_t pages,
    const uint8_t *(*read)(void *context, uint64_t i, uint64_t page),
    void *context, struct estimate *estimate)
{
	uint64_t total = geometry->pages, bits = 0;

	*estimate = (struct estimate){ 0 };
	pages = pages < total ? pages : total;
	/* A key's page depends on its hash alone: any pages will do. */
	for (uint64_t i = 0; i < pages; i++) {
		/* total * i / pages, without overflow */
		const uint8_t *page = read(context, i, total / pages * i +
		    total % pages * i / pages);
		struct block_page_fill one;

		if (page == NULL)
			return -1;
		one = block_page_fill(geometry, page);
		bits += one.bits;
		estimate->error_rate += one.rate / (double)pages;
	}
	estimate->share = (double)bits / (8.0 * PAGE_BYTES * (double)pages);
	estimate->lines = geometry_lines(geometry, estimate->share);
	return 0;
}

struct sample {
	struct filter *filter;
	unsigned layer;
	uint8_t *page;
	struct error *error;
};

static const uint8_t *
sample_page(void *context, uint64_t i, uint64_t page)
{
	static const _Alignas(64) uint8_t empty[PAGE_BYTES];
	const struct sample *s = context;

	(void)i;
	return s->filter->operations->read_pages(s->filter, s->layer, page, 1,
	    s->page, s->error) < 0 ? empty : s->page;
}

struct estimate
estimate_layer(struct filter *f, unsigned i, uint64_t pages,
    struct error *error)
{
	_Alignas(64) uint8_t page[PAGE_BYTES];
	struct sample sample;
	struct estimate estimate;

	while (f->under != NULL)
		f = f->under;
	if (f->operations->read_pages == NULL)
		return estimate_counted(&f->table->layers[i]);
	sample = (struct sample){ f, i, page, error };
	estimate_sample(&f->table->layers[i].geometry, pages, sample_page,
	    &sample, &estimate);
	return estimate;
}
