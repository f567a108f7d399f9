#include "disk/pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "disk/mapping.h"

/* Pages in a huge page, which has 2 MiB on all machines that matter. */
#define CHUNK_PAGES 512
/*
 * Reading a single page costs 2 us, a chunk 350 us (from the page cache). After
 * this many single pages, the whole chunk is read: never far from the better
 * choice.
 */
#define CHUNK_SINGLES 64
/*
 * A new layer isn't read, so a single page is cheap. A chunk takes memory for
 * all of its pages, which is expensive if the kernel has to reclaim it first.
 */
#define FRESH_SINGLES 400
/*
 * Pages written at once, at most: a larger write makes the page cache hold the
 * file in larger pieces, and a later change of one page pays for a whole piece.
 */
#define WRITE_PAGES 32
/* How many pages of a large file are looked for in the page cache. */
#define CACHE_SAMPLE 64
/* How many unchanged pages are written, too, to save a call. */
#define WRITE_GAP 4

static int
get_bit(const uint64_t *bits, uint64_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void
set_bit(uint64_t *bits, uint64_t i)
{
	bits[i / 64] |= (uint64_t)1 << i % 64;
}

static void
clear_bit(uint64_t *bits, uint64_t i)
{
	bits[i / 64] &= ~((uint64_t)1 << i % 64);
}

static void
advise(void *base, size_t nbytes, int huge)
{
#ifdef MADV_HUGEPAGE
	madvise(base, nbytes, huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
#else
	(void)base, (void)nbytes, (void)huge;
#endif
}

/* Is the mapped file in the page cache, judging by a sample? */
static int
is_cached(const struct pages *p)
{
	for (uint64_t i = 0; i < CACHE_SAMPLE; i++) {
		if (!mapping_is_cached(p->base +
		    p->count * i / CACHE_SAMPLE * PAGE_BYTES))
			return 0;
	}
	return 1;
}

int
pages_map(struct pages *p, struct file *file, uint64_t offset,
    uint64_t count, enum pages_kind kind, struct error *error)
{
	size_t words = (size_t)(count / 64 + 1);
	size_t chunks = (size_t)(count / CHUNK_PAGES + 1);
	int shared = kind == PAGES_SHARED || kind == PAGES_LARGE;

	*p = (struct pages){ .count = count, .file = file,
		.offset = offset, .fresh = kind == PAGES_FRESH };
	p->base = shared ?
	    mapping_of_file(file, offset, count * PAGE_BYTES, error) :
	    mapping_of_memory(count * PAGE_BYTES, kind != PAGES_MEMORY, error);
	if (p->base == NULL)
		return -1;
	if (kind == PAGES_LARGE && !is_cached(p)) {
		p->absent = count;
		p->present = memory_or_die(calloc(words, sizeof *p->present));
	}
	if (shared)
		return 0;
	/*
	 * Pages read from a file are scattered at first: each would cost
	 * clearing a huge page.
	 */
	advise(p->base, (size_t)(count * PAGE_BYTES), kind == PAGES_MEMORY);
	if (kind == PAGES_MEMORY)
		return 0;
	p->absent = count;
	p->present = memory_or_die(calloc(words, sizeof *p->present));
	p->dirty = memory_or_die(calloc(words, sizeof *p->dirty));
	p->singles = memory_or_die(calloc(chunks, sizeof *p->singles));
	return 0;
}

void
pages_unmap(struct pages *p)
{
	mapping_end(p->base, p->count * PAGE_BYTES);
	free(p->present);
	free(p->dirty);
	free(p->singles);
	*p = (struct pages){ 0 };
}

static void
set_present(struct pages *p, uint64_t number)
{
	set_bit(p->present, number);
	p->absent--;
}

static int
read_pages(struct pages *p, uint64_t first, uint64_t count,
    struct error *error)
{
	return p->fresh ? 0 : file_read(p->file, p->base +
	    first * PAGE_BYTES, (size_t)(count * PAGE_BYTES),
	    p->offset + first * PAGE_BYTES, error);
}

/*
 * Read all of a chunk into a huge page. The kernel gives one only if none of
 * its pages is in use, so changed pages are saved first. Returns 1 if there is
 * no memory for that.
 */
static int
load_chunk(struct pages *p, uint64_t chunk, struct error *error)
{
	uint64_t first = chunk * CHUNK_PAGES, end = first + CHUNK_PAGES;
	uint8_t *aside = malloc(CHUNK_PAGES * PAGE_BYTES);
	uint8_t *base = p->base + first * PAGE_BYTES, *next = aside;
	/* a fresh layer is never read again from the file */
	const uint64_t *kept = p->fresh ? p->present : p->dirty;
	size_t nbytes;
	int result;

	if (aside == NULL)
		return 1;
	end = end < p->count ? end : p->count;
	nbytes = (size_t)(end - first) * PAGE_BYTES;
	for (uint64_t i = first; i < end; i++) {
		if (get_bit(kept, i)) {
			memcpy(next, p->base + i * PAGE_BYTES, PAGE_BYTES);
			next += PAGE_BYTES;
		} else if (get_bit(p->present, i)) {
			clear_bit(p->present, i);
			p->absent++;
		}
	}
	madvise(base, nbytes, MADV_DONTNEED);
	advise(base, nbytes, 1);
	result = read_pages(p, first, end - first, error);
	next = aside;
	for (uint64_t i = first; i < end; i++) {
		if (get_bit(kept, i)) {
			memcpy(p->base + i * PAGE_BYTES, next, PAGE_BYTES);
			next += PAGE_BYTES;
		} else if (result == 0) {
			set_present(p, i);
		}
	}
	free(aside);
	return result;
}

static int
load_page(struct pages *p, uint64_t number, struct error *error)
{
	uint64_t chunk = number / CHUNK_PAGES;
	unsigned singles = p->fresh ? FRESH_SINGLES : CHUNK_SINGLES;
	int result = 1;

	if (get_bit(p->present, number))
		return 0;
	if (p->singles[chunk] >= singles)
		result = load_chunk(p, chunk, error);
	else
		p->singles[chunk]++;
	if (result <= 0)
		return result;
	if (p->fresh) {
		/* One page fault instead of two, for probe and mark. */
		p->base[number * PAGE_BYTES] = 0;
	} else if (read_pages(p, number, 1, error) < 0) {
		return -1;
	}
	set_present(p, number);
	return 0;
}

static void
announce(const struct pages *p, uint64_t first, uint64_t count)
{
	posix_fadvise(p->file->fd, (off_t)(p->offset + first * PAGE_BYTES),
	    (off_t)(count * PAGE_BYTES), POSIX_FADV_WILLNEED);
}

/*
 * Read what is in the page cache; the kernel can start to read the rest from
 * the disk, all at once.
 */
static void
prepare(struct pages *p, const uint64_t *numbers, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t number = numbers[i];
		uint64_t chunk = number / CHUNK_PAGES;

		if (get_bit(p->present, number))
			continue;
		if (p->dirty == NULL) {
			announce(p, number, 1);
			set_present(p, number);
		} else if (p->singles[chunk] == CHUNK_SINGLES) {
			announce(p, chunk * CHUNK_PAGES, CHUNK_PAGES);
		} else if (file_read_cached(p->file, p->base +
		    number * PAGE_BYTES, PAGE_BYTES,
		    p->offset + number * PAGE_BYTES)) {
			p->singles[chunk]++;
			set_present(p, number);
		} else {
			announce(p, number, 1);
		}
	}
}

int
pages_load(struct pages *p, const uint64_t *numbers, size_t n,
    struct error *error)
{
	if (p->absent == 0)
		return 0;
	if (!p->fresh)
		prepare(p, numbers, n);
	if (p->dirty == NULL)
		return 0; /* it is mapped */
	for (size_t i = 0; i < n; i++) {
		if (load_page(p, numbers[i], error) < 0)
			return -1;
	}
	return 0;
}

void
pages_touch(struct pages *p, const uint64_t *numbers, size_t n)
{
	if (p->dirty == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		p->dirty_count += !get_bit(p->dirty, numbers[i]);
		set_bit(p->dirty, numbers[i]);
	}
}

/* The end of the run of pages, starting at `first`, that one call writes. */
static uint64_t
end_of_run(const struct pages *p, uint64_t first)
{
	uint64_t limit = first - first % WRITE_PAGES + WRITE_PAGES;
	uint64_t end = first + 1;

	limit = limit < p->count ? limit : p->count;
	for (uint64_t i = end; i < limit && i <= end + WRITE_GAP &&
	    get_bit(p->present, i); i++) {
		if (get_bit(p->dirty, i))
			end = i + 1;
	}
	return end;
}

static int
check_length(const struct pages *p, struct error *error)
{
	return file_check_length(p->file, p->offset + p->count * PAGE_BYTES,
	    error);
}

int
pages_write_back(struct pages *p, struct error *error)
{
	uint64_t end;

	if (p->dirty_count == 0)
		return 0;
	if (check_length(p, error) < 0)
		return -1;
	for (uint64_t i = 0; p->dirty_count > 0 && i < p->count; i = end) {
		end = i + 1;
		if (p->dirty[i / 64] == 0) {
			end = i - i % 64 + 64;
			continue;
		}
		if (!get_bit(p->dirty, i))
			continue;
		end = end_of_run(p, i);
		if (file_write(p->file, p->base + i * PAGE_BYTES,
		    (size_t)((end - i) * PAGE_BYTES),
		    p->offset + i * PAGE_BYTES, error) < 0)
			return -1;
		for (uint64_t j = i; j < end; j++) {
			p->dirty_count -= (uint64_t)get_bit(p->dirty, j);
			clear_bit(p->dirty, j);
		}
	}
	return check_length(p, error);
}

void
pages_drop(struct pages *p)
{
	size_t nbytes = (size_t)(p->count * PAGE_BYTES);

	if (p->dirty == NULL || p->absent == p->count)
		return;
	madvise(p->base, nbytes, MADV_DONTNEED);
	advise(p->base, nbytes, 0);
	memset(p->present, 0, (size_t)(p->count / 64 + 1) * 8);
	memset(p->singles, 0, (size_t)(p->count / CHUNK_PAGES + 1) *
	    sizeof *p->singles);
	p->absent = p->count;
	p->fresh = 0;
}
