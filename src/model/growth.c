#include "model/growth.h"

#include <inttypes.h>
#include <time.h>

#include "base/number.h"
#include "bits/sizing.h"
#include "model/window.h"

int
growth_is_full(const char *name, const struct table *table,
    struct error *error)
{
	uint64_t capacity = 0;

	for (unsigned i = 0; i < table->count; i++)
		capacity += table->layers[i].capacity;
	return error_set(error, STATUS_FULL, "%s: the filter's capacity of %"
	    PRIu64 " lines is used up (--on-full=fail)", name, capacity);
}

/*
 * The capacity of the layer after those from `first` on, of a table that may
 * have `most`; the rest of *layer, except the time, becomes 0.
 */
static int
next_capacity(const char *name, const struct table *table, unsigned first,
    unsigned most, struct layer_entry *layer, struct error *error)
{
	*layer = (struct layer_entry){ .created = (uint64_t)time(NULL) };
	for (unsigned i = first; i < table->count; i++) {
		if (2 * table->layers[i].capacity > layer->capacity)
			layer->capacity = 2 * table->layers[i].capacity;
	}
	if (table->count < most && layer->capacity <= SIZING_CAPACITY_MAX)
		return 0;
	return error_set(error, STATUS_FULL,
	    "%s: full, and can't grow any further", name);
}

static int
layer_in_generation(const char *name, const struct header *header,
    const struct table *table, struct layer_entry *layer, struct error *error)
{
	unsigned first = window_first_layer(table);

	if (next_capacity(name, table, first, FORMAT_WINDOW_LAYERS_MAX, layer,
	    error) < 0)
		return -1;
	layer->generation = table->generation_count - 1;
	return window_layer(&layer->geometry, layer->capacity,
	    header->error_rate, 0, table->count - first, &layer->error_rate,
	    error);
}

int
growth_layer(const char *name, const struct header *header,
    const struct table *table, struct layer_entry *layer, struct error *error)
{
	if (header->window.kind != WINDOW_NONE)
		return layer_in_generation(name, header, table, layer, error);
	if (next_capacity(name, table, 0, FORMAT_LAYERS_MAX, layer,
	    error) < 0)
		return -1;
	layer->error_rate = sizing_layer_rate(header->error_rate, 0,
	    table->count);
	return sizing_layer(&layer->geometry, layer->capacity,
	    layer->error_rate, layer->error_rate, 0, error);
}

int
growth_generation(const struct header *header, const struct table *table,
    struct layer_entry *layer, struct error *error)
{
	*layer = (struct layer_entry){ .created = (uint64_t)time(NULL),
		.capacity = window_generation_capacity(header->capacity),
		.generation = table->generation_count - 1 };
	return window_layer(&layer->geometry, layer->capacity,
	    header->error_rate, header->growth != GROWTH_GROW, 0,
	    &layer->error_rate, error);
}

int
growth_place(const char *name, struct table *table, const struct table *among,
    struct layer_entry *layer, uint64_t max_bytes, struct error *error)
{
	int windowed = table->generation_count > 0;
	uint64_t nbytes = layer->geometry.pages * PAGE_BYTES;
	char text[NUMBER_TEXT];

	layer->offset = windowed ? window_place(table, among, nbytes) :
	    format_table_end(table);
	if (nbytes > max_bytes || layer->offset > max_bytes - nbytes)
		return error_set(error, STATUS_FULL, "%s: full, and with the"
		    " next layer it would be larger than --max-size: %s",
		    name, number_format_binary(text, layer->offset + nbytes));
	if (windowed && layer->offset + nbytes > table->file_bytes)
		table->file_bytes = layer->offset + nbytes;
	return 0;
}
