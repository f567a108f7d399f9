/*
 * Goal: what is encoded comes back the same; damage of any single bit is
 * refused; and a page that somebody made on purpose, with the checksum right,
 * is refused or is a filter that can be worked with: no overflow, no offset
 * outside of the file, no number that the rest of the program can't take.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "disk/format.h"
#include "base/le.h"
#include "bits/sizing.h"
#include "tap.h"

#define CRC_AT (PAGE_BYTES - 4)
#define LAYERS_AT 64
#define LAYER_BYTES 64

static void
fix_crc(uint8_t *page)
{
	le_put32(page + CRC_AT,
	    (uint32_t)crc32(crc32(0, NULL, 0), page, CRC_AT));
}

static struct header
sample_header(void)
{
	struct header h = { .created = 1700000000, .capacity = 123456789,
		.error_rate = 1e-6, .growth = GROWTH_WARN,
		.version_to_write = FORMAT_VERSION,
		.hash = { .kind = HASH_XXH3_128 },
		.recipe = "zero-terminated\n" };

	for (unsigned i = 0; i < sizeof h.id; i++)
		h.id[i] = (uint8_t)(i * 17 + 1);
	for (unsigned i = 0; i < hash_secret_bytes(h.hash.kind); i++)
		h.hash.secret[i] = (uint8_t)(255 - i);
	return h;
}

static const struct slot_head sample_head = { .serial = 42 };

/* `count` layers, the last one not sealed. */
static struct table
sample_table(unsigned count)
{
	struct table table = { .count = count };
	uint64_t offset = FILTER_HEADER_BYTES;

	for (unsigned i = 0; i < count; i++) {
		struct layer_entry *layer = &table.layers[i];

		*layer = (struct layer_entry){ .offset = offset,
			.geometry = { 7 + 5 * i, 20, 3 },
			.capacity = UINT64_C(1000) + i, .error_rate = 1e-7,
			.lines = 1000 - i, .created = 1700000000 + i };
		layer->sealed = i + 1 < count;
		layer->checksum = layer->sealed ? 0xdeadbeef - i : 0;
		offset += layer->geometry.pages * PAGE_BYTES;
	}
	return table;
}

static int
same_double(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

static int
same_header(const struct header *a, const struct header *b)
{
	return memcmp(a->id, b->id, sizeof a->id) == 0 &&
	    a->created == b->created && a->capacity == b->capacity &&
	    same_double(a->error_rate, b->error_rate) &&
	    a->growth == b->growth && a->hash.kind == b->hash.kind &&
	    memcmp(a->hash.secret, b->hash.secret, HASH_SECRET_MAX) == 0 &&
	    a->optional_features == b->optional_features &&
	    a->version_to_write == b->version_to_write &&
	    strcmp(a->recipe, b->recipe) == 0;
}

static int
same_layer(const struct layer_entry *a, const struct layer_entry *b)
{
	return a->offset == b->offset &&
	    a->geometry.pages == b->geometry.pages &&
	    a->geometry.k == b->geometry.k &&
	    a->geometry.cache_lines == b->geometry.cache_lines &&
	    a->capacity == b->capacity &&
	    same_double(a->error_rate, b->error_rate) &&
	    a->lines == b->lines && a->created == b->created &&
	    !a->sealed == !b->sealed && a->checksum == b->checksum;
}

static int
same_head(const struct slot_head *a, const struct slot_head *b)
{
	return a->serial == b->serial && a->marking == b->marking &&
	    a->sealing.layer == b->sealing.layer &&
	    a->sealing.checksum == b->sealing.checksum &&
	    a->sealing.pages == b->sealing.pages;
}

static int
same_table(const struct table *a, const struct table *b)
{
	if (a->count != b->count)
		return 0;
	for (unsigned i = 0; i < a->count; i++) {
		if (!same_layer(&a->layers[i], &b->layers[i]))
			return 0;
	}
	return 1;
}

static int
header_comes_back(const struct header *h)
{
	uint8_t page[PAGE_BYTES];
	struct header back;
	struct error error;

	format_header_encode(h, page);
	return format_header_decode(&back, page, &error) == 0 &&
	    same_header(h, &back);
}

static void
test_header(void)
{
	struct header h = sample_header();

	tap_ok(header_comes_back(&h), "a header comes back the same");
	for (int growth = GROWTH_GROW; growth <= GROWTH_FAIL; growth++) {
		h.growth = (enum growth)growth;
		tap_ok(header_comes_back(&h), "growth: %s",
		    growth_name(h.growth));
	}
	h.recipe[0] = '\0';
	tap_ok(header_comes_back(&h), "no key recipe");
	memset(h.recipe, 'x', FILTER_RECIPE_MAX);
	h.recipe[FILTER_RECIPE_MAX - 1] = '\n';
	h.recipe[FILTER_RECIPE_MAX] = '\0';
	tap_ok(header_comes_back(&h), "the longest key recipe");
	h.capacity = SIZING_CAPACITY_MAX;
	h.error_rate = SIZING_RATE_MIN;
	h.created = UINT64_MAX;
	memset(h.hash.secret, 0xff, sizeof h.hash.secret);
	tap_ok(header_comes_back(&h), "the largest values");
	h.capacity = 1;
	h.error_rate = SIZING_RATE_MAX;
	h.created = 0;
	memset(h.hash.secret, 0, sizeof h.hash.secret);
	tap_ok(header_comes_back(&h), "the smallest values");
}

static void
test_table(void)
{
	static const unsigned counts[] = { 1, 2, 6, TABLE_LAYERS_MAX };
	const struct header h = sample_header();
	uint8_t page[PAGE_BYTES];
	struct slot_head head_back;
	struct table back;
	struct error error;

	for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++) {
		struct table table = sample_table(counts[i]);
		struct slot_head head = sample_head;

		head.marking = counts[i] == 2 ? MARKING_SHARED : MARKING_NONE;
		if (counts[i] == 6)
			head.sealing = (struct sealing){ 6, 12345, 31 };
		format_slot_encode(&head, &table, h.id, page);
		tap_ok(format_slot_decode(&head_back, &back, h.id, page,
		    &error) == 0 && same_head(&head, &head_back) &&
		    same_table(&table, &back),
		    "a table of %u layers comes back the same", counts[i]);
		tap_ok(le_get64(page + 32) == table_end(&table) &&
		    table_end(&table) ==
		    table.layers[counts[i] - 1].offset + PAGE_BYTES *
		    table.layers[counts[i] - 1].geometry.pages,
		    "and says where the file ends");
	}
	page[16] ^= 1;
	fix_crc(page);
	tap_ok(format_slot_decode(&head_back, &back, h.id, page, &error) < 0,
	    "the table of another filter is refused");
}

static void
test_flips(void)
{
	struct header h = sample_header(), back;
	struct table table = sample_table(4), table_back;
	struct slot_head head_back;
	uint8_t header_page[PAGE_BYTES], table_page[PAGE_BYTES];
	unsigned headers = 0, tables = 0, texts = 0;
	struct error error;

	format_header_encode(&h, header_page);
	format_slot_encode(&sample_head, &table, h.id, table_page);
	for (unsigned bit = 0; bit < PAGE_BYTES * 8; bit++) {
		uint8_t flip = (uint8_t)(1u << bit % 8);

		header_page[bit / 8] ^= flip;
		error = (struct error){ 0 };
		headers += format_header_decode(&back, header_page,
		    &error) == 0;
		texts += error.status != STATUS_FAILED ||
		    error.text[0] == '\0' || strchr(error.text, '\n') != NULL;
		header_page[bit / 8] ^= flip;

		table_page[bit / 8] ^= flip;
		error = (struct error){ 0 };
		tables += format_slot_decode(&head_back, &table_back, h.id,
		    table_page, &error) == 0;
		texts += error.status != STATUS_FAILED ||
		    error.text[0] == '\0' || strchr(error.text, '\n') != NULL;
		table_page[bit / 8] ^= flip;
	}
	tap_ok(headers == 0, "each flipped bit of a header is refused (%u"
	    " weren't)", headers);
	tap_ok(tables == 0, "each flipped bit of a table is refused (%u"
	    " weren't)", tables);
	tap_ok(texts == 0, "with status 3 and a word of one line (%u"
	    " weren't)", texts);
	tap_ok(format_header_decode(&back, header_page, &error) == 0 &&
	    format_slot_decode(&head_back, &table_back, h.id, table_page,
	    &error) == 0,
	    "unflipped they are accepted");
}

/* Text mode: CR LF became LF, or LF became CR LF. */
static void
test_text_mode(void)
{
	struct header h = sample_header();
	uint8_t page[PAGE_BYTES], other[PAGE_BYTES + 2];
	struct error error;

	format_header_encode(&h, page);
	memcpy(other, page, 8);
	memcpy(other + 8, page + 9, PAGE_BYTES - 9);
	other[PAGE_BYTES - 1] = 0;
	tap_ok(format_header_decode(&h, other, &error) < 0 &&
	    strstr(error.text, "text") != NULL,
	    "a carriage return was lost: %s", error.text);
	format_header_encode(&h, page);
	memcpy(other, page, 9);
	other[9] = '\r';
	memcpy(other + 10, page + 9, PAGE_BYTES - 9);
	tap_ok(format_header_decode(&h, other, &error) < 0 &&
	    strstr(error.text, "text") != NULL,
	    "a carriage return was added: %s", error.text);
	format_header_encode(&h, page);
	page[0] &= 0x7f;
	tap_ok(format_header_decode(&h, page, &error) < 0 &&
	    strstr(error.text, "text") != NULL,
	    "the eighth bit was lost: %s", error.text);
	memset(page, 0, sizeof page);
	tap_ok(format_header_decode(&h, page, &error) < 0 &&
	    strstr(error.text, "not a bloomdedup filter") != NULL,
	    "zeros: %s", error.text);
}

/* The values that integer fields are set to, with the checksum made right. */
static const uint64_t evil[] = {
	0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 62, 63, 64, 65, 191, 192, 193, 1023,
	1024, 1025, 4095, 4096, 4097, 12287, 12288, 12289, 65535, 65536,
	UINT64_C(0x7fffffff), UINT64_C(0x80000000), UINT64_C(0x80000001),
	UINT64_C(0xfffff000), UINT64_C(0xffffffff), UINT64_C(0x100000000),
	UINT64_C(0x100000001), PAGES_MAX - 1, PAGES_MAX, PAGES_MAX + 1,
	UINT64_C(0x10000000000000), (UINT64_C(1) << 52) - 3,
	(UINT64_C(1) << 53) - 1, UINT64_C(1) << 53, (UINT64_C(1) << 53) + 1,
	(UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1,
	UINT64_C(0x7fffffffffffe000), UINT64_C(0xfffffffffffff000),
	UINT64_MAX - 1, UINT64_MAX,
	/* as binary64: infinities, NaN, denormals, -1, 1 and what is above */
	UINT64_C(0x7ff0000000000000), UINT64_C(0xfff0000000000000),
	UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000001),
	UINT64_C(0x000fffffffffffff), UINT64_C(0x8000000000000000),
	UINT64_C(0xbff0000000000000), UINT64_C(0x3ff0000000000000),
	UINT64_C(0x3ff0000000000001), UINT64_C(0x3fe0000000000000),
	UINT64_C(0x7fefffffffffffff),
};
#define EVIL (sizeof evil / sizeof *evil)

static int
header_is_sane(const struct header *h)
{
	return h->capacity >= 1 && h->capacity <= SIZING_CAPACITY_MAX &&
	    isfinite(h->error_rate) && h->error_rate > 0 &&
	    h->error_rate <= 1 && h->growth >= GROWTH_GROW &&
	    h->growth <= GROWTH_FAIL &&
	    hash_secret_bytes(h->hash.kind) > 0 &&
	    hash_secret_bytes(h->hash.kind) <= HASH_SECRET_MAX &&
	    h->version_to_write >= 1 &&
	    memchr(h->recipe, '\0', sizeof h->recipe) != NULL;
}

static int
slot_is_sane(const struct slot_head *head, const struct table *table)
{
	uint64_t end = FILTER_HEADER_BYTES;

	if (table->count < 1 || table->count > TABLE_LAYERS_MAX ||
	    head->serial == 0)
		return 0;
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		uint64_t nbytes;

		if (geometry_check(&layer->geometry) < 0 ||
		    layer->offset != end || layer->capacity < 1 ||
		    layer->capacity > SIZING_CAPACITY_MAX ||
		    !(layer->error_rate > 0 && layer->error_rate <= 1) ||
		    __builtin_mul_overflow(layer->geometry.pages, PAGE_BYTES,
		    &nbytes) || __builtin_add_overflow(end, nbytes, &end) ||
		    end > INT64_MAX ||
		    (!layer->sealed && layer->checksum != 0))
			return 0;
	}
	return table_end(table) == end;
}

/* What is accepted must be what was written. */
static int
header_is_faithful(const struct header *h, const uint8_t *page)
{
	uint8_t again[PAGE_BYTES];

	if (h->version_to_write != FORMAT_VERSION || h->optional_features != 0)
		return 1; /* such a header is never written */
	format_header_encode(h, again);
	return memcmp(page, again, PAGE_BYTES) == 0;
}

static int
slot_is_faithful(const struct slot_head *head, const struct table *table,
    const uint8_t *id, const uint8_t *page)
{
	uint8_t again[PAGE_BYTES];

	format_slot_encode(head, table, id, again);
	return memcmp(page, again, PAGE_BYTES) == 0;
}

struct tally {
	unsigned accepted, refused, wrong;
};

static void
tell(const struct tally *tally, const char *what)
{
	tap_ok(tally->wrong == 0 && tally->refused > 0, "%s: %u pages"
	    " refused, %u accepted, none that is wrong", what,
	    tally->refused, tally->accepted);
}

static void
try_header(uint8_t *page, struct tally *tally)
{
	struct header h;
	struct error error;

	fix_crc(page);
	if (format_header_decode(&h, page, &error) < 0) {
		tally->refused++;
		return;
	}
	tally->accepted++;
	if (!header_is_sane(&h) || !header_is_faithful(&h, page))
		tally->wrong++;
}

static void
try_table(uint8_t *page, const uint8_t *id, struct tally *tally)
{
	struct slot_head head;
	struct table table;
	struct error error;

	fix_crc(page);
	if (format_slot_decode(&head, &table, id, page, &error) < 0) {
		tally->refused++;
		return;
	}
	tally->accepted++;
	if (!slot_is_sane(&head, &table) ||
	    !slot_is_faithful(&head, &table, id, page))
		tally->wrong++;
}

/* Every integer at every offset: fields, halves of fields, and across them. */
static void
test_evil_header(void)
{
	const struct header h = sample_header();
	struct tally tally = { 0 };
	uint8_t good[PAGE_BYTES], page[PAGE_BYTES];

	format_header_encode(&h, good);
	for (unsigned at = 0; at < 140; at++) {
		for (unsigned i = 0; i < EVIL; i++) {
			for (unsigned nbytes = 1; nbytes <= 8; nbytes *= 2) {
				memcpy(page, good, sizeof page);
				le_put(page + at, evil[i], nbytes);
				try_header(page, &tally);
			}
		}
	}
	tell(&tally, "headers with hostile integers");

	tally = (struct tally){ 0 };
	for (unsigned at = 0; at < CRC_AT; at++) {
		memcpy(page, good, sizeof page);
		page[at] ^= 0x5a;
		try_header(page, &tally);
	}
	tell(&tally, "headers with each byte changed");
}

static void
test_recipes(void)
{
	struct header h = sample_header();
	struct error error;
	uint8_t page[PAGE_BYTES];

	memset(h.recipe, 'x', FILTER_RECIPE_MAX);
	h.recipe[FILTER_RECIPE_MAX] = '\0';
	format_header_encode(&h, page);
	tap_ok(format_header_decode(&h, page, &error) < 0,
	    "a key recipe without an end is refused");
	le_put32(page + 84, FILTER_RECIPE_MAX + 1);
	page[320 + FILTER_RECIPE_MAX] = '\n';
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) < 0,
	    "a key recipe that is too long is refused");
	h = sample_header();
	format_header_encode(&h, page);
	page[325] = '\0';
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) < 0,
	    "a NUL in a key recipe is refused");
}

static void
test_features(void)
{
	struct header h = sample_header();
	struct error error;
	uint8_t page[PAGE_BYTES];

	format_header_encode(&h, page);
	le_put32(page + 16, 2);
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) < 0 &&
	    strstr(error.text, "newer") != NULL,
	    "an unknown required feature is refused: %s", error.text);
	h.window = (struct window){ WINDOW_LINES, 400 };
	format_header_encode(&h, page);
	tap_ok(format_header_decode(&h, page, &error) == 0 &&
	    h.window.kind == WINDOW_LINES && h.window.length == 400,
	    "a window is told");
	le_put32(page + 16, 0);
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) < 0,
	    "and refused without its feature: %s", error.text);
	h = sample_header();
	format_header_encode(&h, page);
	le_put32(page + 20, 0x80000000);
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) == 0 &&
	    h.optional_features == 0x80000000,
	    "an unknown optional feature is told");
	h = sample_header();
	format_header_encode(&h, page);
	le_put16(page + 14, FORMAT_VERSION + 1);
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) == 0 &&
	    h.version_to_write == FORMAT_VERSION + 1,
	    "a newer version to write is told");
	le_put16(page + 12, FORMAT_VERSION + 1);
	fix_crc(page);
	tap_ok(format_header_decode(&h, page, &error) < 0 &&
	    strstr(error.text, "newer") != NULL,
	    "a newer version to read is refused: %s", error.text);
}

/*
 * As above; and since the end of the file must fit to the layers, too, with
 * that made right as far as arithmetic modulo 2^64 can.
 */
static void
test_evil_table(unsigned count)
{
	const struct header h = sample_header();
	const struct table table = sample_table(count);
	struct tally tally = { 0 };
	uint8_t good[PAGE_BYTES], page[PAGE_BYTES];
	unsigned end = LAYERS_AT + LAYER_BYTES * count + 16;

	format_slot_encode(&sample_head, &table, h.id, good);
	for (unsigned at = 0; at < end && at < CRC_AT - 8; at += 4) {
		for (unsigned i = 0; i < 2 * EVIL; i++) {
			for (unsigned nbytes = 4; nbytes <= 8; nbytes *= 2) {
				uint64_t offset = FILTER_HEADER_BYTES;

				memcpy(page, good, sizeof page);
				le_put(page + at, evil[i / 2], nbytes);
				for (unsigned j = 0; i % 2 && j < count; j++) {
					uint8_t *p = page + LAYERS_AT +
					    j * LAYER_BYTES;
					le_put64(p, offset);
					offset += le_get64(p + 8) * PAGE_BYTES;
				}
				if (i % 2)
					le_put64(page + 32, offset);
				try_table(page, h.id, &tally);
			}
		}
	}
	if (count < 10)
		tell(&tally, "tables with hostile integers");
	else
		tell(&tally, "full tables with hostile integers");
}

/* Layers that are each allowed and together longer than any file. */
static void
test_long_tables(void)
{
	const struct header h = sample_header();
	struct tally tally = { 0 };
	uint8_t page[PAGE_BYTES];

	for (unsigned count = 2; count <= TABLE_LAYERS_MAX; count++) {
		for (unsigned shift = 0; shift <= 8; shift++) {
			struct table table = sample_table(count);
			uint64_t offset = FILTER_HEADER_BYTES;

			for (unsigned i = 0; i < count; i++) {
				table.layers[i].offset = offset;
				table.layers[i].geometry.pages =
				    (PAGES_MAX >> shift) - (shift == 8);
				offset += PAGE_BYTES *
				    table.layers[i].geometry.pages;
			}
			format_slot_encode(&sample_head, &table, h.id, page);
			try_table(page, h.id, &tally);
		}
	}
	tell(&tally, "tables longer than a file");
}

static void
test_table_limits(void)
{
	const struct header h = sample_header();
	struct table table = sample_table(3), back;
	struct slot_head head_back;
	struct error error;
	uint8_t page[PAGE_BYTES];

	format_slot_encode(&sample_head, &table, h.id, page);
	le_put32(page + 40, 2);
	le_put64(page + 32, table.layers[2].offset);
	fix_crc(page);
	tap_ok(format_slot_decode(&head_back, &back, h.id, page, &error) < 0,
	    "entries behind the last layer are refused");
	format_slot_encode(&sample_head, &table, h.id, page);
	le_put32(page + 40, 63);
	fix_crc(page);
	tap_ok(format_slot_decode(&head_back, &back, h.id, page, &error) < 0,
	    "more layers than there are is refused");
	for (unsigned t = 0; t <= 9; t++) {
		for (unsigned k = 0; k <= 73; k++) {
			int allowed = t >= 1 && t <= 8 && k >= t && k <= 8 * t;

			format_slot_encode(&sample_head, &table, h.id, page);
			le_put32(page + LAYERS_AT + 48, k);
			le_put32(page + LAYERS_AT + 52, t);
			fix_crc(page);
			if ((format_slot_decode(&head_back, &back, h.id, page,
			    &error) == 0) != allowed) {
				tap_ok(0, "k = %u, %u cache lines", k, t);
				return;
			}
		}
	}
	tap_ok(1, "k and cache lines: t <= k <= 8t and 1 <= t <= 8, no others");
}

/* An arbitrary page, with magic, id and checksum right or not. */
static void
test_noise(void)
{
	const struct header h = sample_header();
	struct tally headers = { 0 }, tables = { 0 };
	const struct table table = sample_table(5);
	uint8_t page[PAGE_BYTES];
	uint64_t x = 88172645463325252u; /* xorshift64 (Marsaglia 2003) */

	for (unsigned round = 0; round < 20000; round++) {
		format_header_encode(&h, page);
		for (unsigned i = 0; i < 1 + round % 4; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			page[(x >> 32) % 400] = (uint8_t)x;
		}
		try_header(page, &headers);
		format_slot_encode(&sample_head, &table, h.id, page);
		for (unsigned i = 0; i < 1 + round % 4; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			page[(x >> 32) % 400] = (uint8_t)x;
		}
		try_table(page, h.id, &tables);
	}
	tell(&headers, "headers with random bytes");
	tell(&tables, "tables with random bytes");
}

int
main(void)
{
	test_header();
	test_table();
	test_flips();
	test_text_mode();
	test_recipes();
	test_features();
	test_evil_header();
	test_evil_table(3);
	test_evil_table(TABLE_LAYERS_MAX);
	test_long_tables();
	test_table_limits();
	test_noise();
	return tap_end();
}
