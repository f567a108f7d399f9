#include "filter/growth.h"

#include <inttypes.h>
#include <time.h>

#include "base/number.h"
#include "bits/sizing.h"

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

int
growth_capacity(const char *name, const struct table *table, unsigned first,
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

int
growth_layer(const char *name, const struct table *table, double error_rate,
    struct layer_entry *layer, struct error *error)
{
	if (growth_capacity(name, table, 0, FORMAT_LAYERS_MAX, layer,
	    error) < 0)
		return -1;
	layer->error_rate = sizing_layer_rate(error_rate, 0, table->count);
	return sizing_layer(&layer->geometry, layer->capacity,
	    layer->error_rate, layer->error_rate, 0, error);
}

int
growth_check_size(const char *name, uint64_t offset, uint64_t nbytes,
    uint64_t max_bytes, struct error *error)
{
	char text[NUMBER_TEXT];

	if (nbytes <= max_bytes && offset <= max_bytes - nbytes)
		return 0;
	return error_set(error, STATUS_FULL, "%s: full, and with the next"
	    " layer it would be larger than --max-size: %s", name,
	    number_format_binary(text, offset + nbytes));
}
