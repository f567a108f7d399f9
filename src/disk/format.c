#include "disk/format.h"

#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/le.h"
#include "bits/sizing.h"

/*
 * A byte above 127, CR LF, ^Z and LF, as in PNG's: a transfer that treats the
 * file as text damages the magic already.
 */
static const uint8_t header_magic[] = {
	0x89, 'b', 'l', 'o', 'o', 'm', 'd', 'd', '\r', '\n', 0x1a, '\n'
};
static const uint8_t slot_magic[] = {
	'b', 'd', 'l', 'a', 'y', 'e', 'r', 's'
};
static const uint8_t window_magic[] = {
	'b', 'd', 'w', 'i', 'n', 'd', 'o', 'w'
};

enum { /* offsets in the header */
	AT_VERSION_TO_READ = 12,
	AT_VERSION_TO_WRITE = 14,
	AT_REQUIRED = 16,
	AT_OPTIONAL = 20,
	AT_ID = 24,
	AT_CREATED = 40,
	AT_CAPACITY = 48,
	AT_ERROR_RATE = 56,
	AT_GROWTH = 64,
	AT_HASH = 68,
	AT_PAGE_BYTES = 72,
	AT_LINE_BYTES = 76,
	AT_SECRET_BYTES = 80,
	AT_RECIPE_BYTES = 84,
	AT_WINDOW_KIND = 88,
	AT_WINDOW_LENGTH = 96,
	AT_SECRET = 128,
	AT_RECIPE = 320,
	AT_CRC = PAGE_BYTES - 4
};

enum { /* offsets in a slot */
	AT_SERIAL = FORMAT_SERIAL_OFFSET,
	AT_SLOT_ID = 16,
	AT_FILE_BYTES = 32,
	AT_LAYER_COUNT = 40,
	AT_FLAGS = 44,
	AT_SEALING_LAYER = 48,
	AT_SEALING_CHECKSUM = 52,
	AT_SEALING_PAGES = 56,
	AT_LAYERS = 64,

	/* offsets in the entry of a layer */
	LAYER_OFFSET = 0,
	LAYER_PAGES = 8,
	LAYER_CAPACITY = 16,
	LAYER_ERROR_RATE = 24,
	LAYER_LINES = 32,
	LAYER_CREATED = 40,
	LAYER_K = 48,
	LAYER_CACHE_LINES = 52,
	LAYER_FLAGS = 56,
	LAYER_CHECKSUM = 60,
	LAYER_BYTES = 64,
	FLAG_SEALED = 1,
	GENERATION_SHIFT = 8, /* its place + 1, with a window */

	/* a window's fields, in the room that other tables have for layers */
	AT_GENERATIONS = AT_LAYERS + TABLE_WINDOW_LAYERS_MAX * LAYER_BYTES,
	GENERATION_NUMBER = 0,
	GENERATION_BEGIN = 8,
	GENERATION_END = 16,
	GENERATION_BYTES = 24,
	AT_GENERATION_COUNT = AT_GENERATIONS +
	    TABLE_GENERATIONS_MAX * GENERATION_BYTES,
	AT_WINDOW_TABLE_ZERO = AT_GENERATION_COUNT + 4
};

_Static_assert(FILTER_HEADER_BYTES == (1 + FORMAT_SLOTS) * PAGE_BYTES,
    "the layers begin after header and slots");
_Static_assert(FILTER_HEADER_BYTES == SIZING_OVERHEAD_BYTES,
    "sizing knows how long header and slots are");
_Static_assert((int)AT_LAYERS + TABLE_LAYERS_MAX * LAYER_BYTES <=
    (int)AT_CRC && (int)AT_WINDOW_TABLE_ZERO <= (int)AT_CRC,
    "the table fits into a page");

static uint32_t
page_crc(const uint8_t *page)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), page, AT_CRC);
}

/* Is it the error rate of a layer? A NaN is none. */
static int
is_rate(double rate)
{
	return rate > 0 && rate <= 1;
}

void
format_header_encode(const struct header *h, uint8_t page[PAGE_BYTES])
{
	size_t recipe = strlen(h->recipe);
	size_t secret = hash_secret_bytes(h->hash.kind);

	memset(page, 0, PAGE_BYTES);
	memcpy(page, header_magic, sizeof header_magic);
	le_put16(page + AT_VERSION_TO_READ, FORMAT_VERSION);
	le_put16(page + AT_VERSION_TO_WRITE, h->version_to_write);
	le_put32(page + AT_OPTIONAL, h->optional_features);
	memcpy(page + AT_ID, h->id, sizeof h->id);
	le_put64(page + AT_CREATED, h->created);
	le_put64(page + AT_CAPACITY, h->capacity);
	le_put_double(page + AT_ERROR_RATE, h->error_rate);
	le_put32(page + AT_GROWTH, (uint32_t)h->growth);
	le_put32(page + AT_HASH, (uint32_t)h->hash.kind);
	le_put32(page + AT_PAGE_BYTES, PAGE_BYTES);
	le_put32(page + AT_LINE_BYTES, CACHE_LINE_BYTES);
	le_put32(page + AT_SECRET_BYTES, (uint32_t)secret);
	le_put32(page + AT_RECIPE_BYTES, (uint32_t)recipe);
	if (h->window.kind != WINDOW_NONE) {
		le_put32(page + AT_REQUIRED, FORMAT_FEATURE_WINDOW);
		le_put32(page + AT_WINDOW_KIND, (uint32_t)h->window.kind);
		le_put64(page + AT_WINDOW_LENGTH, h->window.length);
	}
	memcpy(page + AT_SECRET, h->hash.secret, secret);
	memcpy(page + AT_RECIPE, h->recipe, recipe);
	le_put32(page + AT_CRC, page_crc(page));
}

int
format_is_filter(const uint8_t *data, size_t nbytes)
{
	return nbytes >= sizeof header_magic &&
	    memcmp(data, header_magic, sizeof header_magic) == 0;
}

/* Can a filter have this window? */
static int
is_window(const struct window *window)
{
	if (window->kind == WINDOW_NONE)
		return 1;
	if (window->kind == WINDOW_LINES && window->length % 4 != 0)
		return 0;
	return window->kind <= WINDOW_LINES && window->length > 0 &&
	    window->length <= WINDOW_LENGTH_MAX;
}

/* Fails if a field has a value that none can have. */
static int
fields_decode(struct header *h, const uint8_t *page)
{
	uint32_t growth = le_get32(page + AT_GROWTH);
	uint32_t kind = le_get32(page + AT_HASH);
	uint32_t recipe = le_get32(page + AT_RECIPE_BYTES);

	memset(h, 0, sizeof *h);
	h->version_to_write = le_get16(page + AT_VERSION_TO_WRITE);
	h->optional_features = le_get32(page + AT_OPTIONAL);
	memcpy(h->id, page + AT_ID, sizeof h->id);
	h->created = le_get64(page + AT_CREATED);
	h->capacity = le_get64(page + AT_CAPACITY);
	h->error_rate = le_get_double(page + AT_ERROR_RATE);
	h->window.kind = (enum window_kind)le_get32(page + AT_WINDOW_KIND);
	h->window.length = le_get64(page + AT_WINDOW_LENGTH);
	if (h->version_to_write < FORMAT_VERSION || h->capacity == 0 ||
	    h->capacity > SIZING_CAPACITY_MAX || !is_rate(h->error_rate) ||
	    growth > GROWTH_FAIL || hash_secret_bytes(kind) == 0 ||
	    recipe > FILTER_RECIPE_MAX ||
	    (recipe > 0 && page[AT_RECIPE + recipe - 1] != '\n') ||
	    !is_window(&h->window))
		return -1;
	h->growth = (enum growth)growth;
	h->hash.kind = (enum hash_kind)kind;
	memcpy(h->hash.secret, page + AT_SECRET, hash_secret_bytes(kind));
	memcpy(h->recipe, page + AT_RECIPE, recipe);
	return 0;
}

int
format_check_writable(const struct header *header, const char *name,
    struct error *error)
{
	if (header->version_to_write <= FORMAT_VERSION &&
	    header->optional_features == 0)
		return 0;
	return error_set(error, STATUS_FAILED, "%s: " FORMAT_NEWER ": this one"
	    " can only read it", name);
}

int
format_header_decode(struct header *h, const uint8_t page[PAGE_BYTES],
    struct error *error)
{
	uint8_t again[PAGE_BYTES];

	if (memcmp(page, header_magic, sizeof header_magic) != 0) {
		if (memcmp(page + 1, header_magic + 1, 7) == 0) {
			return error_set(error, STATUS_FAILED, "the filter is"
			    " damaged: it was transferred as text");
		}
		return error_set(error, STATUS_FAILED,
		    "not a bloomdedup filter");
	}
	if ((le_get32(page + AT_REQUIRED) & ~FORMAT_FEATURE_WINDOW) != 0) {
		return error_set(error, STATUS_FAILED, FORMAT_NEWER ": it needs"
		    " features (%#x) that this version lacks",
		    le_get32(page + AT_REQUIRED));
	}
	if (le_get16(page + AT_VERSION_TO_READ) > FORMAT_VERSION) {
		return error_set(error, STATUS_FAILED, FORMAT_NEWER " (format"
		    " %u; this one reads %u)",
		    le_get16(page + AT_VERSION_TO_READ), FORMAT_VERSION);
	}
	/* Its encoding has the right checksum, lengths, and zeros elsewhere. */
	if (fields_decode(h, page) == 0) {
		format_header_encode(h, again);
		if (memcmp(again, page, PAGE_BYTES) == 0)
			return 0;
	}
	return error_set(error, STATUS_FAILED,
	    "the filter is damaged: its header is wrong");
}

void
format_slot_encode(const struct slot_head *head, const struct table *table,
    const uint8_t id[FILTER_ID_BYTES], uint8_t page[PAGE_BYTES])
{
	int windowed = table->generation_count > 0;

	memset(page, 0, PAGE_BYTES);
	memcpy(page, windowed ? window_magic : slot_magic, sizeof slot_magic);
	le_put64(page + AT_SERIAL, head->serial);
	memcpy(page + AT_SLOT_ID, id, FILTER_ID_BYTES);
	le_put64(page + AT_FILE_BYTES, table_end(table));
	le_put32(page + AT_LAYER_COUNT, table->count);
	le_put32(page + AT_FLAGS, (uint32_t)head->marking);
	le_put32(page + AT_SEALING_LAYER, head->sealing.layer);
	le_put32(page + AT_SEALING_CHECKSUM, head->sealing.checksum);
	le_put64(page + AT_SEALING_PAGES, head->sealing.pages);
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		uint8_t *p = page + AT_LAYERS + i * LAYER_BYTES;
		uint32_t flags = 0;

		le_put64(p + LAYER_OFFSET, layer->offset);
		le_put64(p + LAYER_PAGES, layer->geometry.pages);
		le_put64(p + LAYER_CAPACITY, layer->capacity);
		le_put_double(p + LAYER_ERROR_RATE, layer->error_rate);
		le_put64(p + LAYER_LINES, layer->lines);
		le_put64(p + LAYER_CREATED, layer->created);
		le_put32(p + LAYER_K, layer->geometry.k);
		le_put32(p + LAYER_CACHE_LINES, layer->geometry.cache_lines);
		if (windowed)
			flags |= (layer->generation + 1) << GENERATION_SHIFT;
		if (layer->sealed) {
			flags |= FLAG_SEALED;
			le_put32(p + LAYER_CHECKSUM, layer->checksum);
		}
		le_put32(p + LAYER_FLAGS, flags);
	}
	for (unsigned i = 0; i < table->generation_count; i++) {
		const struct generation *g = &table->generations[i];
		uint8_t *p = page + AT_GENERATIONS + i * GENERATION_BYTES;

		le_put64(p + GENERATION_NUMBER, (uint64_t)g->number);
		le_put64(p + GENERATION_BEGIN, (uint64_t)g->begin);
		le_put64(p + GENERATION_END, (uint64_t)g->end);
	}
	if (windowed)
		le_put32(page + AT_GENERATION_COUNT, table->generation_count);
	le_put32(page + AT_CRC, page_crc(page));
}

static void
layer_fields_decode(struct layer_entry *layer, const uint8_t *p)
{
	uint32_t flags = le_get32(p + LAYER_FLAGS);

	layer->offset = le_get64(p + LAYER_OFFSET);
	layer->geometry.pages = le_get64(p + LAYER_PAGES);
	layer->geometry.k = le_get32(p + LAYER_K);
	layer->geometry.cache_lines = le_get32(p + LAYER_CACHE_LINES);
	layer->capacity = le_get64(p + LAYER_CAPACITY);
	layer->error_rate = le_get_double(p + LAYER_ERROR_RATE);
	layer->lines = le_get64(p + LAYER_LINES);
	layer->created = le_get64(p + LAYER_CREATED);
	layer->sealed = flags & FLAG_SEALED;
	layer->checksum = le_get32(p + LAYER_CHECKSUM);
	layer->generation = (flags >> GENERATION_SHIFT) - 1;
}

/* Has each field a value that a layer can have, whatever the others are? */
static int
layer_is_possible(const struct layer_entry *layer)
{
	/* It bounds the pages, so that their sum with the offset is bounded. */
	if (geometry_check(&layer->geometry) < 0)
		return 0;
	return layer->offset % PAGE_BYTES == 0 &&
	    layer->offset >= FILTER_HEADER_BYTES &&
	    layer->offset / PAGE_BYTES <= PAGES_MAX - layer->geometry.pages &&
	    layer->capacity > 0 && layer->capacity <= SIZING_CAPACITY_MAX &&
	    is_rate(layer->error_rate);
}

/*
 * With a window: is layer i of a generation of the table, and of no earlier one
 * than the layers before it, and apart from all of them in the file?
 */
static int
layer_is_apart(const struct table *table, unsigned i)
{
	const struct layer_entry *layer = &table->layers[i];

	for (unsigned j = 0; j < i; j++) {
		const struct layer_entry *other = &table->layers[j];

		if (layer->generation < other->generation ||
		    (layer->offset < table_layer_end(other) &&
		    other->offset < table_layer_end(layer)))
			return 0;
	}
	return layer->generation < table->generation_count &&
	    table_layer_end(layer) <= table->file_bytes;
}

/* Decode layer i; those before it are decoded, since it follows them. */
static int
layer_decode(struct table *table, unsigned i, const uint8_t *page)
{
	struct layer_entry *layer = &table->layers[i];
	uint64_t end = FILTER_HEADER_BYTES;

	layer_fields_decode(layer, page + AT_LAYERS + i * LAYER_BYTES);
	if (!layer_is_possible(layer))
		return -1;
	if (table->generation_count > 0)
		return layer_is_apart(table, i) ? 0 : -1;
	/* Without a window, each begins where the one before ends. */
	if (i > 0)
		end = table_layer_end(layer - 1);
	return layer->offset == end ? 0 : -1;
}

/* With a window: what stands in place of other tables' last layers. */
static int
generations_decode(struct table *table, const uint8_t *page)
{
	if (table->file_bytes % PAGE_BYTES != 0 ||
	    table->file_bytes / PAGE_BYTES > PAGES_MAX)
		return -1;
	for (unsigned i = 0; i < table->generation_count; i++) {
		struct generation *g = &table->generations[i];
		const uint8_t *p =
		    page + AT_GENERATIONS + i * GENERATION_BYTES;

		g->number = (int64_t)le_get64(p + GENERATION_NUMBER);
		g->begin = (int64_t)le_get64(p + GENERATION_BEGIN);
		g->end = (int64_t)le_get64(p + GENERATION_END);
		/* The limits keep sums of such times from overflowing. */
		if (g->begin > g->end || g->begin < -INT64_MAX / 4 ||
		    g->end > INT64_MAX / 4 || (i > 0 &&
		    (g->number <= g[-1].number || g->end < g[-1].end)))
			return -1;
	}
	return 0;
}

/* Fails if a field has a value that none can have, or layers overlap. */
static int
table_decode(struct table *table, const uint8_t *page)
{
	unsigned windowed = memcmp(page, window_magic,
	    sizeof window_magic) == 0;
	unsigned most = windowed ? TABLE_WINDOW_LAYERS_MAX : TABLE_LAYERS_MAX;

	memset(table, 0, sizeof *table);
	table->count = le_get32(page + AT_LAYER_COUNT);
	table->file_bytes = le_get64(page + AT_FILE_BYTES);
	if (windowed)
		table->generation_count = le_get32(page + AT_GENERATION_COUNT);
	if (table->count < 1 || table->count > most ||
	    table->generation_count < windowed ||
	    table->generation_count > TABLE_GENERATIONS_MAX)
		return -1;
	for (unsigned i = 0; i < table->count; i++) {
		if (layer_decode(table, i, page) < 0)
			return -1;
	}
	if (!windowed)
		return 0;
	return generations_decode(table, page);
}

/* Decode the head of a slot that has this table. */
static int
head_decode(struct slot_head *head, const struct table *table,
    const uint8_t *page)
{
	uint32_t flags = le_get32(page + AT_FLAGS);
	struct sealing *s = &head->sealing;
	const struct layer_entry *layer;

	head->serial = le_get64(page + AT_SERIAL);
	if (head->serial == 0 || head->serial == UINT64_MAX ||
	    flags > MARKING_SHARED)
		return -1;
	head->marking = (enum marking)flags;
	s->layer = le_get32(page + AT_SEALING_LAYER);
	s->checksum = le_get32(page + AT_SEALING_CHECKSUM);
	s->pages = le_get64(page + AT_SEALING_PAGES);
	if (s->layer == 0)
		return s->checksum == 0 && s->pages == 0 ? 0 : -1;
	if (s->layer > table->count)
		return -1;
	/* It is not yet sealed: some pages are left for the checksum. */
	layer = &table->layers[s->layer - 1];
	if (layer->sealed || s->pages >= layer->geometry.pages)
		return -1;
	return 0;
}

int
format_slot_decode(struct slot_head *head, struct table *table,
    const uint8_t id[FILTER_ID_BYTES], const uint8_t page[PAGE_BYTES],
    struct error *error)
{
	uint8_t again[PAGE_BYTES];

	/* Its encoding has the right magic, checksum and id, and zeros. */
	if (table_decode(table, page) == 0 &&
	    head_decode(head, table, page) == 0) {
		format_slot_encode(head, table, id, again);
		if (memcmp(again, page, PAGE_BYTES) == 0)
			return 0;
	}
	return error_set(error, STATUS_FAILED,
	    "the filter is damaged: its table of layers is wrong");
}
