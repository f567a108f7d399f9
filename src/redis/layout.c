#include "redis/layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/le.h"
#include "base/number.h"
#include "bits/sizing.h"
#include "model/window.h"

#define VERSION 1
/* A smaller first layer would make commands for few lines each. */
#define LAYER_BITS_LEAST (UINT64_C(1) << 19)
/* Redis' longest string has 512 MiB. */
#define BITS_PAGES_MOST ((UINT64_C(512) << 20) / PAGE_BYTES - 1)
#define BITS_PAGES_LEAST 128

/* Layers of a set of shards; those of five are fewer than TABLE_LAYERS_MAX. */
#define LAYERS_MAX 12u

static const uint8_t magic[8] = { 'b', 'd', 's', 'h', 'a', 'r', 'd', '\n' };

/* Bits a line of a filter at a rate: the textbook's. */
static double
bits_a_line(double rate)
{
	return -log(rate) / (M_LN2 * M_LN2);
}

void
layout_bloom(struct layout *layout, uint64_t capacity, double rate,
    enum growth growth, int halves)
{
	double bits = bits_a_line(rate / 2), least = 4 / rate, mean;
	uint64_t raised = (uint64_t)ceil(least / bits);

	*layout = (struct layout){ .kind = SHARDS_BLOOM, .shards = 1,
		.shard_pages = 1,
		.rate = halves && growth == GROWTH_GROW ? rate : rate / 2 };
	if (least < (double)LAYER_BITS_LEAST)
		least = (double)LAYER_BITS_LEAST;
	while (layout->shards < LAYOUT_SHARDS_MAX &&
	    (double)capacity / (2 * layout->shards) * bits >= least)
		layout->shards *= 2;
	/* A shard gets its part of all lines, and by chance some more. */
	mean = (double)capacity / layout->shards;
	layout->capacity = layout->shards == 1 ? capacity + 1 :
	    (uint64_t)ceil(mean + 4 * sqrt(mean)) + 16;
	if (layout->capacity < raised)
		layout->capacity = raised;
	layout->geometry.pages = layout->shards;
}

int
layout_bits(struct layout *layout, uint64_t capacity, double rate,
    struct error *error)
{
	struct sizing sizing = { .capacity = capacity, .error_rate = rate,
		.fixed = 1 };
	uint64_t pages;

	if (sizing_solve(&sizing, error) < 0)
		return -1;
	*layout = (struct layout){ .kind = SHARDS_BITS, .shards = 1,
		.geometry = sizing.geometry };
	pages = layout->geometry.pages;
	while (layout->shards < LAYOUT_SHARDS_MAX &&
	    pages / (2 * layout->shards) >= BITS_PAGES_LEAST)
		layout->shards *= 2;
	layout->shard_pages = (pages + layout->shards - 1) / layout->shards;
	if (layout->shard_pages > BITS_PAGES_MOST)
		return error_set(error, STATUS_USAGE, "a filter of bit strings"
		    " has at most %u of 512 MiB; a server with BF.* (Redis 8,"
		    " or RedisBloom) has no such limit", LAYOUT_SHARDS_MAX);
	layout->geometry.pages = layout->shard_pages * layout->shards;
	layout->capacity = (capacity + layout->shards - 1) / layout->shards;
	return 0;
}

/* Return the error rate of one set of shards: that of a generation. */
static double
header_rate(const struct header *header)
{
	if (header->window.kind == WINDOW_NONE)
		return header->error_rate;
	return header->error_rate * WINDOW_SHARE;
}

void
layout_table(const struct layout *layout, const struct header *header,
    uint64_t lines, struct table *table)
{
	uint64_t capacity = layout->capacity * layout->shards;
	double rate = header_rate(header);
	unsigned most = table->count + LAYERS_MAX;
	int grows = layout->kind == SHARDS_BLOOM &&
	    header->growth == GROWTH_GROW;

	/* Each layer is twice as large and half as often wrong. */
	for (int last = 0; !last; capacity *= 2) {
		struct layer_entry layer = { .offset = table_end(table),
			.capacity = capacity };

		last = !grows || lines <= capacity || table->count + 1 == most;
		layer.lines = last ? lines : capacity;
		lines -= layer.lines;
		if (table->generation_count > 0)
			layer.generation = table->generation_count - 1;
		if (layout->kind == SHARDS_BITS) {
			layer.geometry = layout->geometry;
		} else {
			rate /= 2;
			/* All layers together have PAGES_MAX, also if a hostile
			   header's rate makes their size infinite. */
			layer.geometry.pages = number_whole(fmin(
			    ceil((double)capacity * bits_a_line(rate) / 8 /
			    PAGE_BYTES),
			    (double)(PAGES_MAX / TABLE_LAYERS_MAX)));
		}
		layer.error_rate = rate;
		table->layers[table->count++] = layer;
	}
}

uint64_t
layout_bytes(const struct layout *layout, const struct header *header)
{
	if (layout->kind == SHARDS_BITS)
		return layout->geometry.pages * PAGE_BYTES;
	return number_whole(fmin(floor((double)layout->shards *
	    (double)layout->capacity * bits_a_line(header_rate(header) / 2) /
	    8), (double)(PAGES_MAX * PAGE_BYTES)));
}

/* The keys of the shards have the name, so a filter can't be renamed. */
static uint32_t
name_crc(const char *name)
{
	return (uint32_t)crc32(0, (const uint8_t *)name, (uInt)strlen(name));
}

void
layout_encode(const struct layout *layout, const struct header *header,
    const char *name, uint8_t bytes[LAYOUT_HEADER_BYTES])
{
	uint8_t *p = bytes + PAGE_BYTES;

	memset(p, 0, LAYOUT_HEADER_BYTES - PAGE_BYTES);
	format_header_encode(header, bytes);
	memcpy(p, magic, sizeof magic);
	le_put32(p + 8, VERSION);
	le_put32(p + 12, (uint32_t)layout->kind);
	le_put32(p + 16, layout->shards);
	le_put32(p + 20, layout->geometry.k);
	le_put32(p + 24, layout->geometry.cache_lines);
	le_put32(p + 28, name_crc(name));
	le_put64(p + 32, layout->capacity);
	le_put64(p + 40, layout->kind == SHARDS_BITS ? layout->shard_pages : 0);
	le_put_double(p + 48, layout->rate);
	le_put32(p + 60, (uint32_t)crc32(0, bytes, LAYOUT_HEADER_BYTES - 4));
}

/* Could this program have made such shards? */
static int
is_possible(const struct layout *layout)
{
	if (layout->shards == 0 || layout->shards > LAYOUT_SHARDS_MAX ||
	    (layout->shards & (layout->shards - 1)) != 0)
		return 0;
	if (layout->capacity == 0 || layout->capacity > SIZING_CAPACITY_MAX ||
	    !(layout->rate >= 0))
		return 0;
	if (layout->kind == SHARDS_BLOOM)
		return 1;
	return layout->kind == SHARDS_BITS && layout->shard_pages > 0 &&
	    layout->shard_pages <= BITS_PAGES_MOST &&
	    geometry_check(&layout->geometry) == 0;
}

int
layout_decode(struct layout *layout, struct header *header, const char *name,
    const void *data, size_t nbytes, struct error *error)
{
	const uint8_t *bytes = data, *p = bytes + PAGE_BYTES;

	if (nbytes != LAYOUT_HEADER_BYTES ||
	    memcmp(p, magic, sizeof magic) != 0)
		return error_set(error, STATUS_FAILED, "not the header of a"
		    " bloomdedup filter");
	if (le_get32(p + 60) != crc32(0, bytes, LAYOUT_HEADER_BYTES - 4))
		return error_set(error, STATUS_FAILED, "damaged: the header's"
		    " checksum is wrong");
	if (le_get32(p + 8) != VERSION)
		return error_set(error, STATUS_FAILED, FORMAT_NEWER);
	if (le_get32(p + 28) != name_crc(name))
		return error_set(error, STATUS_FAILED, "the header belongs to a"
		    " filter of another name: a filter cannot be renamed; give"
		    " the key its old name again");
	*layout = (struct layout){ .kind = (enum shard_kind)le_get32(p + 12),
		.shards = le_get32(p + 16), .shard_pages = 1,
		.capacity = le_get64(p + 32), .rate = le_get_double(p + 48),
		.geometry = { .k = le_get32(p + 20),
		.cache_lines = le_get32(p + 24) } };
	if (layout->kind == SHARDS_BITS)
		layout->shard_pages = le_get64(p + 40);
	/* It wraps around only if they are out of range. */
	layout->geometry.pages = layout->shard_pages * layout->shards;
	if (!is_possible(layout))
		return error_set(error, STATUS_FAILED, "damaged: a field of the"
		    " header is out of range");
	return format_header_decode(header, bytes, error);
}

/* Names of keys */

static void
id_text(char text[17], const uint8_t id[FILTER_ID_BYTES])
{
	for (int i = 0; i < 8; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

size_t
layout_header_key(char key[LAYOUT_KEY_MAX], const char *name)
{
	return (size_t)snprintf(key, LAYOUT_KEY_MAX, "bloomdedup:{%s}", name);
}

size_t
layout_generation_key(char key[LAYOUT_KEY_MAX], const char *name,
    const uint8_t id[FILTER_ID_BYTES], int64_t generation)
{
	char text[17];

	id_text(text, id);
	return (size_t)snprintf(key, LAYOUT_KEY_MAX, "bloomdedup:{%s:%s:%"
	    PRId64 "}", name, text, generation);
}

size_t
layout_shard_key(char key[LAYOUT_KEY_MAX], const char *name,
    const uint8_t id[FILTER_ID_BYTES], int64_t generation, unsigned shard)
{
	char text[17];

	id_text(text, id);
	if (generation == LAYOUT_NO_GENERATION)
		return (size_t)snprintf(key, LAYOUT_KEY_MAX,
		    "bloomdedup-shard:{%s:%s:%u}", name, text, shard);
	return (size_t)snprintf(key, LAYOUT_KEY_MAX, "bloomdedup-shard:{%s:%s:%"
	    PRId64 ":%u}", name, text, generation, shard);
}
