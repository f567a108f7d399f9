#include "disk/changes.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bitmap.h"
#include "base/error.h"
#include "bits/layout.h"

#define LEAST_BUCKET_BITS 12
#define APPLIED_AT_ONCE 32

/*
 * A changed cache line; and the index of the next one in its bucket plus 1, or
 * 0.
 */
struct change {
	uint64_t cache_line;
	uint32_t next;
};

struct changes {
	uint8_t *copies;   /* their cache lines, in the order of entries */
	struct change *entries;
	uint32_t *buckets; /* each page's first entry: its index plus 1, or 0 */
	unsigned bucket_bits;
	uint64_t count, limit;
	uint64_t most;     /* count, since the memory was last freed */
	uint64_t *pages;   /* a bit for each: has it any changes? */
};

uint64_t
changes_memory(uint64_t limit)
{
	return limit * (CACHE_LINE_BYTES + sizeof(struct change));
}

struct changes *
changes_new(uint64_t pages, uint64_t limit, void *memory)
{
	struct changes *c = memory_or_die(calloc(1, sizeof *c));

	c->limit = limit;
	c->copies = memory;
	c->entries = (struct change *)(void *)
	    (c->copies + limit * CACHE_LINE_BYTES);
	c->pages = memory_or_die(calloc((size_t)(pages / 64 + 1),
	    sizeof *c->pages));
	c->bucket_bits = LEAST_BUCKET_BITS;
	c->buckets = memory_or_die(calloc((size_t)1 << c->bucket_bits,
	    sizeof *c->buckets));
	return c;
}

void
changes_free(struct changes *c)
{
	if (c == NULL)
		return;
	munmap(c->copies, (size_t)changes_memory(c->limit));
	free(c->pages);
	free(c->buckets);
	free(c);
}

int
changes_have(const struct changes *c, uint64_t page)
{
	return bitmap_get(c->pages, page);
}

static uint64_t
page_of(const struct change *entry)
{
	return entry->cache_line / PAGE_CACHE_LINES;
}

static uint32_t *
bucket_of(const struct changes *c, uint64_t page)
{
	return &c->buckets[page * GOLDEN >> (64 - c->bucket_bits)];
}

/* The copy of the entry whose index plus 1 is `next`. */
static uint8_t *
copy_of(const struct changes *c, uint32_t next)
{
	return c->copies + (uint64_t)(next - 1) * CACHE_LINE_BYTES;
}

void
changes_prefetch(const struct changes *c, uint64_t page)
{
	__builtin_prefetch(bucket_of(c, page));
}

uint8_t *
changes_find(const struct changes *c, uint64_t cache_line)
{
	uint32_t next = *bucket_of(c, cache_line / PAGE_CACHE_LINES);

	while (next != 0 && c->entries[next - 1].cache_line != cache_line)
		next = c->entries[next - 1].next;
	if (next == 0)
		return NULL;
	return copy_of(c, next);
}

/* Twice the buckets; where there is no memory for them, they stay. */
static void
double_buckets(struct changes *c)
{
	size_t count = (size_t)2 << c->bucket_bits;
	uint32_t *buckets = calloc(count, sizeof *buckets);

	if (buckets == NULL)
		return;
	free(c->buckets);
	c->buckets = buckets;
	c->bucket_bits++;
	for (uint32_t i = 0; i < c->count; i++) {
		struct change *entry = &c->entries[i];
		uint32_t *bucket = bucket_of(c, page_of(entry));

		entry->next = *bucket;
		*bucket = i + 1;
	}
}

uint8_t *
changes_add(struct changes *c, uint64_t cache_line, const uint8_t *original)
{
	uint64_t page = cache_line / PAGE_CACHE_LINES;
	uint8_t *copy = changes_find(c, cache_line);
	uint32_t *bucket;

	if (copy != NULL)
		return copy;
	if (c->count >> c->bucket_bits > 0)
		double_buckets(c);
	bucket = bucket_of(c, page);
	copy = c->copies + c->count * CACHE_LINE_BYTES;
	memcpy(copy, original, CACHE_LINE_BYTES);
	c->entries[c->count++] = (struct change){ cache_line, *bucket };
	c->most = c->count > c->most ? c->count : c->most;
	*bucket = (uint32_t)c->count;
	bitmap_set(c->pages, page);
	return copy;
}

uint64_t
changes_count(const struct changes *c)
{
	return c->count;
}

uint64_t
changes_room(const struct changes *c)
{
	return c->limit - c->count;
}

/* In three rounds, so that each waits for all of its memory at once. */
static void
apply_some(const struct changes *c, uint64_t first, unsigned count,
    uint8_t *to)
{
	uint32_t next[APPLIED_AT_ONCE];

	for (unsigned i = 0; i < count; i++) {
		next[i] = 0;
		if (changes_have(c, first + i))
			next[i] = *bucket_of(c, first + i);
	}
	for (unsigned i = 0; i < count; i++) {
		if (next[i] == 0)
			continue;
		__builtin_prefetch(&c->entries[next[i] - 1]);
		__builtin_prefetch(copy_of(c, next[i]));
	}
	for (unsigned i = 0; i < count; i++) {
		for (uint32_t n = next[i]; n != 0; n = c->entries[n - 1].next) {
			const struct change *entry = &c->entries[n - 1];
			uint64_t index = entry->cache_line -
			    first * PAGE_CACHE_LINES;

			if (page_of(entry) == first + i)
				memcpy(to + index * CACHE_LINE_BYTES,
				    copy_of(c, n), CACHE_LINE_BYTES);
		}
	}
}

void
changes_apply(const struct changes *c, uint64_t first, uint64_t count,
    uint8_t *to)
{
	while (count > 0) {
		unsigned some = count < APPLIED_AT_ONCE ? (unsigned)count :
		    APPLIED_AT_ONCE;

		apply_some(c, first, some, to);
		first += some;
		count -= some;
		to += (size_t)some * PAGE_BYTES;
	}
}

/* What it costs depends on the changes that there were, not on earlier ones. */
void
changes_clear(struct changes *c)
{
	for (uint64_t i = 0; i < c->count; i++) {
		uint64_t page = page_of(&c->entries[i]);

		*bucket_of(c, page) = 0;
		bitmap_clear(c->pages, page);
	}
	c->count = 0;
}

void
changes_release(struct changes *c)
{
	changes_clear(c);
	madvise(c->copies, (size_t)changes_memory(c->limit), MADV_DONTNEED);
	c->most = 0;
}

uint64_t
changes_bytes(const struct changes *c)
{
	return changes_memory(c->most);
}
