#include "disk/table.h"

const char *
growth_name(enum growth growth)
{
	switch (growth) {
	case GROWTH_GROW:
		return "grow";
	case GROWTH_WARN:
		return "warn";
	case GROWTH_FAIL:
		break;
	}
	return "fail";
}

uint64_t
table_layer_end(const struct layer_entry *layer)
{
	return layer->offset + layer->geometry.pages * PAGE_BYTES;
}

uint64_t
table_end(const struct table *table)
{
	uint64_t end = FILTER_HEADER_BYTES;

	if (table->generation_count > 0 && table->file_bytes > end)
		end = table->file_bytes;
	for (unsigned i = 0; i < table->count; i++) {
		if (table_layer_end(&table->layers[i]) > end)
			end = table_layer_end(&table->layers[i]);
	}
	return end;
}

uint64_t
table_lines(const struct table *table)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < table->count; i++)
		sum += table->layers[i].lines;
	return sum;
}

uint64_t
table_capacity(const struct table *table)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < table->count; i++)
		sum += table->layers[i].capacity;
	return sum;
}

uint64_t
table_layer_room(const struct table *table, unsigned i, enum growth growth)
{
	const struct layer_entry *layer = &table->layers[i];

	if (layer->sealed || (table->generation_count > 0 &&
	    layer->generation + 1 != table->generation_count))
		return 0;
	if (growth == GROWTH_WARN && i + 1 == table->count)
		return UINT64_MAX;
	return layer->lines < layer->capacity ?
	    layer->capacity - layer->lines : 0;
}

uint64_t
table_room(const struct table *table, enum growth growth)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < table->count; i++) {
		uint64_t more = table_layer_room(table, i, growth);

		sum = more > UINT64_MAX - sum ? UINT64_MAX : sum + more;
	}
	return sum;
}
