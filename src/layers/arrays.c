#include "layers/arrays.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "base/os.h"

/* A layer this large may not be in the page cache, and is worth a check. */
#define LARGE_PAGES ((64 << 20) / PAGE_BYTES)
/* How many digests are loaded, marked or noted at a time, at most. */
#define PIECE 512
/* This share of the room for changes shows whether there is enough. */
#define FIRST_SHARE 32
/* How fast private memory is written back; milliseconds to pause before. */
#define PAGES_A_MILLISECOND 200
#define LEAST_PAUSE 10
#define LONGEST_PAUSE 1000

/*
 * If the filter is large compared to what the kernel lets be dirty (in general
 * a tenth of the memory), layers are kept in private memory, using at most half
 * of what is available. For tests, the environment can set other limits:
 * BLOOMDEDUP_PRIVATE=FROM[,MAX], in bytes.
 */
void
arrays_init(struct arrays *a, struct file *file, int in_place)
{
	const uint64_t least = 16 << 20, most = 256 << 20;
	const char *text = getenv("BLOOMDEDUP_PRIVATE");
	uint64_t available;

	*a = (struct arrays){ .file = file, .in_place = in_place };
	if (file == NULL || in_place)
		return;
	available = os_memory_available();
	a->private_max = available / 2;
	a->private_from = available / 64;
	if (a->private_from > most)
		a->private_from = most;
	if (a->private_from < least)
		a->private_from = least;
	if (text == NULL)
		return;
	if (number_digits(&text, NULL, UINT64_MAX, &a->private_from) < 0 ||
	    *text++ != ',')
		return;
	(void)number_digits(&text, NULL, UINT64_MAX, &a->private_max);
}

/* What a new layer of so many pages is mapped for. */
static enum pages_kind
pages_kind_for(const struct arrays *a, uint64_t pages, int fresh)
{
	if (a->file == NULL)
		return PAGES_MEMORY;
	if (a->in_place)
		return pages >= LARGE_PAGES ? PAGES_LARGE : PAGES_SHARED;
	if (pages * PAGE_BYTES < a->private_from)
		return PAGES_SHARED;
	return fresh ? PAGES_FRESH : PAGES_PRIVATE;
}

int
arrays_add(struct arrays *a, const struct layer_entry *layer, int fresh,
    struct error *error)
{
	uint64_t pages = layer->geometry.pages;
	enum pages_kind kind = pages_kind_for(a, pages, fresh);
	struct pages *to = &a->pages[a->count];
	int result = pages_map(to, a->file, layer->offset, pages, kind, error);

	/* If there is no private memory for it, map the file itself. */
	if (result < 0 && (kind == PAGES_FRESH || kind == PAGES_PRIVATE))
		result = pages_map(to, a->file, layer->offset, pages,
		    PAGES_SHARED, error);
	if (result < 0)
		return -1;
	a->blocks[a->count].geometry = layer->geometry;
	a->blocks[a->count].pages = to->base;
	__atomic_store_n(&a->count, a->count + 1, __ATOMIC_RELEASE);
	return 0;
}

/* Not a large one: it may take longer than the lines of this run gain by it. */
int
arrays_fill(struct arrays *a, unsigned i, struct error *error)
{
	if (a->pages[i].count >= LARGE_PAGES)
		return 0;
	return pages_fill(&a->pages[i], error);
}

void
arrays_drop(struct arrays *a, unsigned count)
{
	unsigned left = a->count - count;

	for (unsigned i = 0; i < count; i++)
		pages_unmap(&a->pages[i]);
	memmove(a->pages, a->pages + count, left * sizeof *a->pages);
	memmove(a->blocks, a->blocks + count, left * sizeof *a->blocks);
	memset(a->pages + left, 0, count * sizeof *a->pages);
	__atomic_store_n(&a->count, left, __ATOMIC_RELEASE);
}

void
arrays_prefetch(const struct arrays *a, const struct digest *digests, size_t n)
{
	unsigned count = __atomic_load_n(&a->count, __ATOMIC_ACQUIRE);

	for (unsigned i = 0; i < count; i++)
		loops()->prefetch(&a->blocks[i], digests, n);
}

/* The pages of these digests in layer i are about to be used. */
static void
load(struct arrays *a, unsigned i, const struct digest *digests, size_t n)
{
	struct pages *pages = &a->pages[i];
	uint64_t numbers[PIECE];

	for (size_t j = 0; j < n && pages_are_cold(pages); j += PIECE) {
		size_t some = n - j < PIECE ? n - j : PIECE;

		block_pages(&a->blocks[i].geometry, digests + j, some,
		    numbers);
		pages_load(pages, numbers, some);
	}
}

/* Tell the loops where the pages of layer i are, which may have moved. */
static void
find_pages(struct arrays *a, unsigned i)
{
	__atomic_store_n(&a->blocks[i].pages, a->pages[i].base,
	    __ATOMIC_RELAXED);
}

/* Write private memory back, and free it. */
static int
free_private(struct arrays *a, struct error *error)
{
	int result = arrays_write_back(a, 1, error);

	for (unsigned i = 0; i < a->count && result == 0; i++) {
		result = pages_drop(&a->pages[i], error);
		find_pages(a, i);
	}
	return result;
}

/* Read all of layer i into memory; returns 1 if there is not enough of it. */
static int
read_layer(struct arrays *a, unsigned i, struct error *error)
{
	uint64_t nbytes = a->blocks[i].geometry.pages * PAGE_BYTES;
	int result = 1;

	if (nbytes <= a->private_max &&
	    arrays_private_bytes(a) <= a->private_max - nbytes)
		result = pages_gather(&a->pages[i], error);
	find_pages(a, i);
	return result;
}

/*
 * If the digests to come will need more room for changes than there is,
 * don't wait for that: to change all that fits and then to read the layer takes
 * twice as long as to read it. The first ones tell how many will come.
 */
static int
look_ahead(struct arrays *a, unsigned i, struct error *error)
{
	const struct changes *c = a->pages[i].changes;
	unsigned t = a->blocks[i].geometry.cache_lines;

	if (!pages_have_changes(&a->pages[i]) || a->looked_ahead ||
	    a->expected < changes_room(c) / t ||
	    changes_count(c) < changes_room(c) / FIRST_SHARE)
		return 0;
	a->looked_ahead = 1;
	return read_layer(a, i, error) < 0 ? -1 : 0;
}

/*
 * Look at single cache lines of layer i: if `all`, those of each digest, else
 * those that were changed, for what wasn't found without them.
 */
static void
probe_cache_lines(struct arrays *a, unsigned i, const struct digest *digests,
    size_t n, int all, uint8_t *found)
{
	struct pages *pages = &a->pages[i];
	const struct geometry *g = &a->blocks[i].geometry;
	const uint8_t *at[CACHE_LINES_MAX];
	unsigned cache_lines[CACHE_LINES_MAX];
	uint64_t page;

	if (!pages_have_changes(pages))
		return;
	for (size_t d = 0; d < n; d++) {
		if (found[d])
			continue;
		block_pages(g, &digests[d], 1, &page);
		if (!all && !changes_have(pages->changes, page))
			continue;
		block_cache_lines(g, digests[d], cache_lines);
		for (unsigned j = 0; j < g->cache_lines; j++)
			at[j] = pages_cache_line(pages, page, cache_lines[j]);
		found[d] = (uint8_t)block_probe_cache_lines(g, digests[d], at);
	}
}

void
arrays_probe(struct arrays *a, const struct digest *digests, size_t n,
    uint8_t *found)
{
	for (unsigned i = 0; i < a->count; i++)
		load(a, i, digests, n);
	for (unsigned i = 0; i < a->count; i++) {
		int piecemeal = a->pages[i].state == PAGES_PIECEMEAL;

		if (!piecemeal)
			loops()->probe(&a->blocks[i], digests, n, found);
		probe_cache_lines(a, i, digests, n, piecemeal, found);
	}
}

void
arrays_probe_chains(struct arrays *a, const struct digest *digests, size_t n,
    uint8_t *found)
{
	const struct block_array *chain[TABLE_LAYERS_MAX];
	uint8_t piecemeal[TABLE_LAYERS_MAX] = { 0 };
	unsigned count = 0;

	for (unsigned i = 0; i < a->count; i++)
		load(a, i, digests, n);
	for (unsigned i = 0; i < a->count; i++)
		piecemeal[i] = a->pages[i].state == PAGES_PIECEMEAL;
	for (unsigned i = a->count; i-- > 0; ) {
		chain[count] = &a->blocks[i];
		count += !piecemeal[i];
		if (i > 0 && geometry_is_same(&a->blocks[i].geometry,
		    &a->blocks[i - 1].geometry))
			continue;
		if (count > 0)
			loops()->probe_chain(chain, count, digests, n, found);
		count = 0;
	}
	for (unsigned i = a->count; i-- > 0; )
		probe_cache_lines(a, i, digests, n, piecemeal[i], found);
}

/*
 * Set bits in copies of cache lines while there is room; of how many digests?
 * They belong to the pages `numbers`.
 */
static size_t
mark_changes(struct arrays *a, unsigned i, const struct digest *digests,
    const uint64_t *numbers, size_t n)
{
	struct pages *pages = &a->pages[i];
	const struct geometry *g = &a->blocks[i].geometry;
	uint64_t room = changes_room(pages->changes) / g->cache_lines;
	uint8_t *at[CACHE_LINES_MAX];
	unsigned cache_lines[CACHE_LINES_MAX];

	n = n < room ? n : (size_t)room;
	for (size_t d = 0; d < n; d++)
		changes_prefetch(pages->changes, numbers[d]);
	for (size_t d = 0; d < n; d++) {
		block_cache_lines(g, digests[d], cache_lines);
		for (unsigned j = 0; j < g->cache_lines; j++)
			at[j] = pages_change_cache_line(pages, numbers[d],
			    cache_lines[j]);
		block_mark_cache_lines(g, digests[d], at);
	}
	return n;
}

/* There is no room for more changes in layer i: make it. */
static int
free_changes(struct arrays *a, unsigned i, struct error *error)
{
	int result = read_layer(a, i, error);

	if (result == 1)
		return free_private(a, error);
	return result;
}

/* Set bits in a private layer, whose changed pages are noted. */
static int
mark_private(struct arrays *a, unsigned i, const struct digest *digests,
    size_t n, unsigned how, struct error *error)
{
	const struct block_array *block = &a->blocks[i];
	struct pages *pages = &a->pages[i];
	uint64_t numbers[PIECE];
	size_t done;

	for (; n > 0; digests += done, n -= done) {
		size_t some = n < PIECE ? n : PIECE;

		if (how & ARRAYS_PREFETCH)
			loops()->prefetch(block, digests, some);
		block_pages(&block->geometry, digests, some, numbers);
		pages_load(pages, numbers, some);
		done = some;
		if (pages_have_changes(pages))
			done = mark_changes(a, i, digests, numbers, some);
		else
			loops()->mark(block, digests, some);
		pages_touch(pages, numbers, done);
		if (done < some && free_changes(a, i, error) < 0)
			return -1;
		if (look_ahead(a, i, error) < 0)
			return -1;
		if (arrays_private_bytes(a) > a->private_max &&
		    free_private(a, error) < 0)
			return -1;
	}
	return 0;
}

int
arrays_mark(struct arrays *a, unsigned i, const struct digest *digests,
    size_t n, unsigned how, struct error *error)
{
	const struct block_array *block = &a->blocks[i];
	size_t some;

	if (pages_are_private(&a->pages[i]))
		return mark_private(a, i, digests, n, how, error);
	for (; n > 0; digests += some, n -= some) {
		some = n < PIECE ? n : PIECE;
		if (how & ARRAYS_PREFETCH)
			loops()->prefetch(block, digests, some);
		load(a, i, digests, some);
		if (how & ARRAYS_SHARED)
			block_mark_shared(block, digests, some);
		else
			loops()->mark(block, digests, some);
	}
	return 0;
}

int
arrays_read(const struct arrays *a, unsigned i, uint64_t first, size_t pages,
    uint8_t *to, struct error *error)
{
	if (a->file != NULL && a->pages[i].dirty_count == 0)
		return file_read(a->file, to, pages * PAGE_BYTES,
		    a->pages[i].offset + first * PAGE_BYTES, error);
	for (size_t j = 0; j < pages; j++)
		memcpy(to + j * PAGE_BYTES, pages_page(&a->pages[i],
		    first + j), PAGE_BYTES);
	return 0;
}

static uint64_t
dirty_pages(const struct arrays *a)
{
	uint64_t pages = 0;

	for (unsigned i = 0; i < a->count; i++)
		pages += a->pages[i].dirty_count;
	return pages;
}

/*
 * A pause must last about as long as the writing will take, so that at most
 * half of the time is lost if the input goes on.
 */
int
arrays_idle_after(const struct arrays *a)
{
	uint64_t pages = dirty_pages(a);
	uint64_t pause = LEAST_PAUSE + pages / PAGES_A_MILLISECOND;

	if (pages == 0)
		return -1;
	return pause < LONGEST_PAUSE ? (int)pause : LONGEST_PAUSE;
}

int
arrays_write_back(struct arrays *a, int all, struct error *error)
{
	/* Every second, or less often: a twentieth of the time at most. */
	uint64_t pause = 20 * a->write_back_cost, start;

	if (pause < CLOCK_SECOND)
		pause = CLOCK_SECOND;
	if (dirty_pages(a) == 0)
		return 0;
	start = clock_now();
	if (!all && a->written_back == 0)
		a->written_back = start;
	if (!all && start - a->written_back < pause)
		return 0;
	for (unsigned i = 0; i < a->count; i++) {
		if (pages_write_back(&a->pages[i], error) < 0)
			return -1;
	}
	a->written_back = clock_now();
	a->write_back_cost = a->written_back - start;
	return 0;
}

uint64_t
arrays_private_bytes(const struct arrays *a)
{
	uint64_t nbytes = 0;

	for (unsigned i = 0; i < a->count; i++)
		nbytes += pages_private_bytes(&a->pages[i]);
	return nbytes;
}
