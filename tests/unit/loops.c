/*
 * Goal: every version of the hot loops that this machine can run does what a
 * simple model does: split at every length, whatever stands behind the data;
 * find bytes of each kind, wherever they are; digests as the plain version's,
 * whatever the mixture of lengths; a key is found if and only if none of its
 * bits is missing.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "bits/block.h"
#include "bits/hash.h"
#include "bits/loops.h"
#include "bits/scan.h"
#include "bits/version.h"
#include "random64.h"
#include "tap.h"

/* What is wrong with this split, or NULL. Memory is as long as is promised. */
static const char *
check_split(const struct scan *k, const uint8_t *lines, size_t nbytes,
    uint8_t terminator, size_t limit, unsigned alignment)
{
	uint8_t *memory = memory_or_die(
	    malloc(alignment + nbytes + LOOPS_PADDING));
	const uint8_t **starts = memory_or_die(
	    calloc(limit + 1, sizeof *starts));
	uint8_t *data = memory + alignment, *from = data;
	const char *wrong = NULL;
	size_t n, lines_there = 0;

	memcpy(data, lines, nbytes);
	/* What is behind the data may look like the end of lines. */
	memset(data + nbytes, terminator, LOOPS_PADDING);
	n = k->split(data, data + nbytes, terminator, starts, limit);
	for (size_t i = 0; i < nbytes && lines_there < limit; i++) {
		if (lines[i] != terminator)
			continue;
		if (lines_there < n && starts[lines_there] != from)
			wrong = "a line begins elsewhere";
		lines_there++;
		from = data + i + 1;
	}
	if (n != lines_there)
		wrong = "the number of lines";
	else if (starts[n] != from)
		wrong = "the end of the last line";
	free(starts);
	free(memory);
	return wrong;
}

/* Lines of up to `longest` bytes, nbytes in all, the last one whole. */
static void
make_lines(uint8_t *lines, size_t nbytes, uint8_t terminator, uint64_t longest)
{
	for (size_t i = 0; i < nbytes; i++) {
		uint8_t byte = (uint8_t)random64();

		lines[i] = random64() % (longest + 1) == 0 || i + 1 == nbytes ?
		    terminator : byte == terminator ? (uint8_t)~byte : byte;
	}
}

static void
test_split(const struct scan *k, const char *name)
{
	static const size_t limits[] = { 1, 2, 63, 64, 65, 66, 127, 129, 4096 };
	static const uint64_t longest[] = { 0, 1, 10, 63, 64, 65, 1000 };
	static uint8_t lines[10000];

	for (size_t nbytes = 0; nbytes <= 300; nbytes++) {
		const char *wrong = NULL;

		for (unsigned i = 0; i < 63 && wrong == NULL; i++) {
			uint8_t terminator = i % 2 == 0 ? '\n' : '\0';

			make_lines(lines, nbytes, terminator, longest[i % 7]);
			wrong = check_split(k, lines, nbytes, terminator,
			    limits[i / 7], (unsigned)(random64() % 64));
		}
		tap_ok(wrong == NULL, "%s: split %zu bytes%s%s", name,
		    nbytes, wrong != NULL ? ": " : "",
		    wrong != NULL ? wrong : "");
	}
	for (unsigned i = 0; i < 7; i++) {
		const char *wrong = NULL;

		make_lines(lines, sizeof lines, '\n', longest[i]);
		for (unsigned j = 0; j < 9 && wrong == NULL; j++)
			wrong = check_split(k, lines, sizeof lines, '\n',
			    limits[j], 0);
		tap_ok(wrong == NULL, "%s: split lines of up to %" PRIu64
		    " bytes%s%s", name, longest[i],
		    wrong != NULL ? ": " : "", wrong != NULL ? wrong : "");
	}
}

/* A bit for each of 64 bytes that are in `kind`, of `nbytes`. */
static uint64_t
mask_of(const uint8_t *p, const char *kind, size_t nbytes)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < 64; i++)
		bits |= (uint64_t)(memchr(kind, p[i], nbytes) != NULL) << i;
	return bits;
}

/* The first byte in [p, end) that is in `kind`; a place from end on if none. */
static int
stops_at(const uint8_t *found, const uint8_t *p, const uint8_t *end,
    const char *kind, size_t nbytes)
{
	while (p < end && memchr(kind, *p, nbytes) == NULL)
		p++;
	return p == end ? found >= end : found == p;
}

static void
test_bytes(const struct scan *k, const char *name)
{
	char stops[34] = "\"\\"; /* and all control characters */
	uint8_t data[256 + LOOPS_PADDING];
	uint64_t three[3], quotes, escapes, brackets;
	int masks = 1, ends = 1;

	for (char c = 0; c < 0x20; c++)
		stops[2 + c] = c;
	for (int round = 0; round < 20000; round++) {
		size_t nbytes = (size_t)(random64() % 257);
		const uint8_t *end = data + nbytes;

		/* mostly letters; all bytes, near 0x20 above all, else */
		for (size_t i = 0; i < sizeof data; i++) {
			uint64_t r = random64();

			data[i] = r % 64 != 0 ? 'a' : (uint8_t)(r >> 8 &
			    (r & 64 ? 0xff : 0x3f));
		}
		k->equal_three(data, (const uint8_t *)"a0?", three);
		k->json(data, &quotes, &escapes, &brackets);
		masks &= k->blanks(data) == mask_of(data, " \t\n", 3) &&
		    three[0] == mask_of(data, "a", 1) &&
		    three[1] == mask_of(data, "0", 1) &&
		    three[2] == mask_of(data, "?", 1) &&
		    quotes == mask_of(data, "\"", 1) &&
		    escapes == mask_of(data, "\\", 1) &&
		    brackets == mask_of(data, "[]{}", 4);
		ends &= stops_at(k->string_end(data, end), data, end,
		    "\"\\", 2) && stops_at(k->string_stop(data, end), data,
		    end, stops, sizeof stops);
	}
	tap_ok(masks, "%s: bytes of each kind", name);
	tap_ok(ends, "%s: where strings end", name);
}

/* Where skip should stop. */
static const uint8_t *
skip_model(const struct characters *set, const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == '.' ? p[-1] != '/' :
	    set->columns[*p % 16] >> *p / 16 & 1))
		p++;
	return p;
}

/* A bit for each of 64 bytes that is neither in the set nor a dot. */
static uint64_t
others_model(const struct characters *set, const uint8_t *p)
{
	uint64_t bits = 0;

	for (unsigned i = 0; i < 64; i++)
		bits |= (uint64_t)(p[i] != '.' &&
		    !(set->columns[p[i] % 16] >> p[i] / 16 & 1)) << i;
	return bits;
}

static void
test_skip(const struct scan *k, const char *name)
{
	uint8_t memory[1 + 256 + LOOPS_PADDING], *data = memory + 1;
	size_t wrong = 0, stops = 0, wrong_marks = 0;
	struct query_marks marks;

	for (int round = 0; round < 20000; round++) {
		uint16_t classes[256] = { 0 };
		struct characters set = { { 0 }, classes, 4 };
		size_t nbytes = (size_t)(random64() % 257);
		const uint8_t *found, *end = data + nbytes;

		for (unsigned c = 0; c < 128; c++) {
			unsigned is_in = c != '.' && random64() % 64 != 0;

			set.columns[c % 16] |= (uint8_t)(is_in << c / 16);
			classes[c] = (uint16_t)(3 + 4 * is_in);
		}
		/* letters, with something else here and there */
		for (size_t i = 0; i < sizeof memory; i++)
			memory[i] = random64() % 64 != 0 ? 'a' :
			    random64() % 2 == 0 ? (uint8_t)random64() :
			    (uint8_t)"./&="[random64() % 4];
		found = k->skip(&set, data, end);
		wrong += found != skip_model(&set, data, end);
		stops += found < end;
		marks = k->query(&set, data);
		wrong_marks += marks.ampersands != mask_of(data, "&", 1) ||
		    marks.equals != mask_of(data, "=", 1) ||
		    marks.others != others_model(&set, data);
	}
	tap_ok(wrong == 0 && stops > 1000 && stops < 19000,
	    "%s: what isn't in a set: %zu of %zu stops are wrong", name,
	    wrong, stops);
	tap_ok(wrong_marks == 0, "%s: what is in a query: %zu are wrong", name,
	    wrong_marks);
}

/* One field after the other. */
static struct key
fields_model(const uint8_t *p, const uint8_t *end, uint8_t separator,
    uint32_t first, uint32_t last)
{
	struct key found = { NULL, 0 };

	for (uint32_t number = 1; ; number++) {
		const uint8_t *stop = p;

		while (stop < end && *stop != separator)
			stop++;
		if (number == first)
			found.data = p;
		if (number >= first)
			found.nbytes = (size_t)(stop - found.data);
		if (number == last || stop == end)
			return found;
		p = stop + 1;
	}
}

static void
test_fields(const struct scan *k, const char *name)
{
	uint8_t data[256 + LOOPS_PADDING];
	size_t wrong = 0, some = 0;

	for (int round = 0; round < 50000; round++) {
		uint64_t odds = (uint64_t)1 << random64() % 7;
		size_t nbytes = (size_t)(random64() % 257);
		uint32_t first = 1 + (uint32_t)(random64() % 5);
		uint32_t last = first + (uint32_t)(random64() % 3);
		struct key found, want;

		last = random64() % 8 == 0 ? UINT32_MAX : last;
		for (size_t i = 0; i < sizeof data; i++)
			data[i] = random64() % odds == 0 ? ',' : 'a';
		data[nbytes] = '\n';
		found = k->fields(data, data + nbytes, ',', first, last);
		want = fields_model(data, data + nbytes, ',', first, last);
		wrong += found.data != want.data || found.nbytes != want.nbytes;
		some += found.nbytes > 0;
	}
	tap_ok(wrong == 0 && some > 10000, "%s: fields: %zu of 50000 are wrong",
	    name, wrong);
}

static void
test_digest(const struct loops *k, const struct hash *hash)
{
	enum { KEYS = 1200 };
	static uint8_t text[2000];
	struct key keys[KEYS];
	struct digest digests[KEYS];
	size_t wrong = 0;

	for (size_t i = 0; i < sizeof text; i++)
		text[i] = (uint8_t)random64();
	for (size_t i = 0; i < KEYS; i++) {
		/* every length up to 300, then any of them after any other */
		size_t nbytes = i <= 300 ? i :
		    (size_t)(random64() % 1900);

		keys[i] = (struct key){ text + random64() % 100,
			i % 2 == 0 ? nbytes : nbytes % 301 };
	}
	k->digest(hash, keys, KEYS, digests);
	for (size_t i = 0; i < KEYS; i++) {
		struct digest d;

		loops_versions[VERSION_PLAIN]->digest(hash, &keys[i], 1, &d);
		wrong += d.low != digests[i].low || d.high != digests[i].high;
	}
	tap_ok(wrong == 0, "%s: digests: %zu of %d are wrong", k->name, wrong,
	    KEYS);
	memset(digests, 0, sizeof digests);
	k->digest(hash, keys, 0, digests);
	tap_ok(digests[0].low == 0, "%s: no keys, no digests", k->name);
}

struct model {
	uint8_t *pages;
	unsigned chosen; /* the bit that is to be cleared */
	unsigned count;
};

static uint8_t *
byte_of(struct model *m, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	return m->pages + page * PAGE_BYTES + line * CACHE_LINE_BYTES +
	    lane * 8 + bit / 8;
}

static void
set(void *context, uint64_t page, unsigned line, unsigned lane, unsigned bit)
{
	*byte_of(context, page, line, lane, bit) |= (uint8_t)(1 << bit % 8);
}

static void
clear_chosen(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	struct model *m = context;

	if (m->count++ == m->chosen)
		*byte_of(m, page, line, lane, bit) &=
		    (uint8_t)~(1 << bit % 8);
}

/*
 * Marked: the same bytes as the model's. Any one bit missing, even in a filter
 * that is full but for it: not found. What was found before stays so.
 */
static void
test_bits(const struct loops *k, struct geometry g)
{
	enum { KEYS = 40 };
	size_t nbytes = (size_t)g.pages * PAGE_BYTES;
	uint8_t *pages = memory_or_die(aligned_alloc(PAGE_BYTES, nbytes));
	uint8_t *copy = memory_or_die(aligned_alloc(PAGE_BYTES, nbytes));
	struct block_array array = { pages, g };
	struct model m = { .pages = copy };
	struct digest digests[KEYS];
	uint8_t found[KEYS + 1];
	int marked, all = 1, missing = 1, kept = 1;

	for (size_t i = 0; i < KEYS; i++)
		digests[i] = random_digest();
	memset(pages, 0, nbytes);
	memset(copy, 0, nbytes);
	k->mark(&array, digests, KEYS);
	for (size_t i = 0; i < KEYS; i++)
		block_visit(&g, digests[i], set, &m);
	marked = memcmp(pages, copy, nbytes) == 0;

	memset(found, 0, sizeof found);
	k->prefetch(&array, digests, KEYS);
	k->probe(&array, digests, KEYS, found);
	for (size_t i = 0; i < KEYS; i++)
		all &= found[i] == 1;
	all &= found[KEYS] == 0;

	m.pages = pages;
	for (m.chosen = 0; m.chosen < g.k; m.chosen++) {
		memset(pages, 0xff, nbytes);
		m.count = 0;
		block_visit(&g, digests[0], clear_chosen, &m);
		found[0] = 0;
		k->probe(&array, digests, 1, found);
		missing &= found[0] == 0;
		found[0] = 1;
		k->probe(&array, digests, 1, found);
		kept &= found[0] == 1;
	}
	tap_ok(marked && all && missing && kept && m.count == g.k,
	    "%s: k = %u in %u cache lines, %" PRIu64 " pages%s%s%s%s",
	    k->name, g.k, g.cache_lines, g.pages,
	    marked ? "" : ": marks other bits", all ? "" : ": not found",
	    missing ? "" : ": found with a bit missing",
	    kept ? "" : ": forgot what was found");
	free(pages);
	free(copy);
}

int
main(void)
{
	struct hash hash = { .kind = HASH_XXH3_128 };

	for (unsigned i = 0; i < sizeof hash.secret; i++)
		hash.secret[i] = (uint8_t)random64();
	for (unsigned i = 0; i < VERSIONS; i++) {
		const struct loops *k = loops_versions[i];
		const struct scan *s = scan_versions[i];

		if (!version_runs(i))
			continue;
		printf("# %s\n", k->name);
		test_split(s, k->name);
		test_bytes(s, k->name);
		test_skip(s, k->name);
		test_fields(s, k->name);
		test_digest(k, &hash);
		for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
			for (unsigned bits = t; bits <= CACHE_LINE_LANES * t;
			    bits++)
				test_bits(k, (struct geometry){
				    .pages = bits % 3 + 1, .k = bits,
				    .cache_lines = t });
		}
	}
	return tap_end();
}
