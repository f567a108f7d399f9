#include "model/growth.h"

#include <inttypes.h>
#include <time.h>

#include "base/number.h"
#include "bits/sizing.h"
#include "model/operations.h"
#include "model/window.h"

int
growth_is_full(const struct filter *filter, uint64_t capacity,
    struct error *error)
{
	return error_set(error, STATUS_FULL, "%s: the filter's capacity of %"
	    PRIu64 " lines is used up (--on-full=fail)", filter->bottom->name,
	    capacity);
}

/*
 * The least capacity of a later layer: about the lines of a page. So few large
 * layers are probed, not many small ones.
 */
#define LAYER_LEAST 1000

/*
 * The capacity of the next layer: `wanted` lines, but at least twice as many as
 * any other one has, of the last generation if there is a window.
 */
static uint64_t
next_capacity(const struct table *table, uint64_t wanted)
{
	unsigned first = window_first_layer(table);
	uint64_t capacity = wanted;

	if (first == table->count)
		return wanted;
	if (capacity < LAYER_LEAST)
		capacity = LAYER_LEAST;
	if (capacity > SIZING_CAPACITY_MAX)
		capacity = SIZING_CAPACITY_MAX;
	for (unsigned i = first; i < table->count; i++) {
		if (2 * table->layers[i].capacity > capacity)
			capacity = 2 * table->layers[i].capacity;
	}
	return capacity;
}

/*
 * The shape of a later layer without a window. A line is looked up in all
 * layers, so it may be some percent larger than a first one, if fewer cache
 * lines a key are enough then: two at the default rate, in place of three.
 */
static int
shape_later(struct geometry *geometry, uint64_t capacity, double rate,
    struct error *error)
{
	return sizing_layer(geometry, capacity, rate, rate / 2, 0, error);
}

/* Without a window: the rate and the shape of the layer, the table's next. */
static int
shape_plain(const struct header *header, const struct table *table,
    struct layer_entry *layer, struct error *error)
{
	layer->error_rate = sizing_layer_rate(header->error_rate, 0,
	    table->count);
	return shape_later(&layer->geometry, layer->capacity,
	    layer->error_rate, error);
}

/*
 * With a window: the same of the last generation's next layer. To compute the
 * shape takes a millisecond; most often a layer of the table is like it.
 */
static int
shape_windowed(const struct header *header, const struct table *table,
    struct layer_entry *layer, struct error *error)
{
	unsigned j = table->count - window_first_layer(table);
	int fixed = j == 0 && header->growth != GROWTH_GROW;
	double rate = sizing_layer_rate(header->error_rate * WINDOW_SHARE,
	    fixed, j);

	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *like = &table->layers[i];

		if (like->capacity == layer->capacity &&
		    like->error_rate >= rate && like->error_rate <= rate) {
			layer->error_rate = rate;
			layer->geometry = like->geometry;
			return 0;
		}
	}
	return window_layer(layer, header->error_rate, fixed, j, error);
}

/* Set the layer's generation, rate, shape and place in the file. */
static int
shape(const struct filter *f, const struct table *table,
    struct layer_entry *layer, struct error *error)
{
	const struct header *header = f->bottom->header;

	if (table->generation_count == 0) {
		layer->offset = table_end(table);
		return shape_plain(header, table, layer, error);
	}
	layer->generation = table->generation_count - 1;
	if (shape_windowed(header, table, layer, error) < 0)
		return -1;
	layer->offset = window_place(table, f->bottom->table,
	    layer->geometry.pages * PAGE_BYTES);
	return 0;
}

int
growth_layer(const struct filter *f, const struct table *table,
    uint64_t wanted, uint64_t max_bytes, struct layer_entry *layer,
    struct error *error)
{
	unsigned most = table->generation_count > 0 ? TABLE_WINDOW_LAYERS_MAX :
	    TABLE_LAYERS_MAX;
	uint64_t capacity = next_capacity(table, wanted);
	char end[NUMBER_TEXT], limit[NUMBER_TEXT];

	if (capacity > SIZING_CAPACITY_MAX || table->count == most) {
		return error_set(error, STATUS_FULL, "%s: full, and cannot grow"
		    " any further", f->bottom->name);
	}
	*layer = (struct layer_entry){ .created = (uint64_t)time(NULL),
		.capacity = capacity };
	if (shape(f, table, layer, error) < 0)
		return -1;
	if (table_layer_end(layer) <= max_bytes)
		return 0;
	return error_set(error, STATUS_FULL, "%s: full: its next layer would"
	    " make it %s, more than the %s of --max-size", f->bottom->name,
	    number_format_binary(end, table_layer_end(layer)),
	    number_format_binary(limit, max_bytes));
}

uint64_t
growth_generation_lines(const struct filter *f)
{
	const struct header *header = f->bottom->header;
	const struct table *table = f->bottom->table;
	uint64_t most = window_generation_capacity(header->capacity);
	uint64_t lines = 0, step = 1;

	if (header->window.kind == WINDOW_LINES)
		return most;
	for (unsigned i = 0; i < table->count; i++) {
		if (i > 0 && table->layers[i].generation !=
		    table->layers[i - 1].generation)
			lines = 0;
		lines += table->layers[i].lines;
		if (lines <= most)
			continue;
		/* To four binary digits: most often one there has as many. */
		while (lines / step >= 16)
			step *= 2;
		most = (lines + step - 1) / step * step;
	}
	if (most > SIZING_CAPACITY_MAX)
		most = SIZING_CAPACITY_MAX;
	return most;
}

int
growth_second_size(const struct sizing *first, uint64_t *bytes,
    struct error *error)
{
	double rate = sizing_layer_rate(first->error_rate, 0, 1);
	uint64_t capacity = 2 * first->capacity;
	struct geometry second;

	if (capacity < LAYER_LEAST)
		capacity = LAYER_LEAST;
	if (shape_later(&second, capacity, rate, error) < 0)
		return -1;
	*bytes = first->bytes + second.pages * PAGE_BYTES;
	return 0;
}
