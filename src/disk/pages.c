#include "disk/pages.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/bitmap.h"
#include "base/io.h"
#include "disk/mapping.h"

/* Pages in a huge page, which has 2 MiB on all machines that matter. */
#define HUGE_PAGES 512
/*
 * After this many single pages of such a range, all of it is asked for: a disk
 * reads it nearly as fast, and never far from the better choice.
 */
#define HUGE_SINGLES 64
/*
 * At most this share of a layer's lines is kept apart from it: to read all of
 * it takes as long as so many changes do.
 */
#define CHANGES_SHARE 16
/* A small layer's share is more: for 512 keys, and for tests. */
#define CHANGES_LEAST (512 * CACHE_LINES_MAX)
/*
 * A line that is read by itself takes 1 us, a page fault 3 to 5, and more when
 * the process ends. Of many lines, more and more are on pages that are mapped.
 */
#define SINGLE_SHARE 2048
#define SINGLE_LEAST 512
/*
 * Pages written at once, at most: a larger write makes the page cache hold the
 * file in larger pieces, and a later change of one page pays for a whole piece.
 */
#define WRITE_PAGES 32
/* How many pages of a large file are looked for in the page cache. */
#define CACHE_SAMPLE 64
/* How many unchanged pages are written, too, to save a call. */
#define WRITE_GAP 4

static void
advise_huge(void *base, size_t nbytes)
{
#ifdef MADV_HUGEPAGE
	madvise(base, nbytes, MADV_HUGEPAGE);
#else
	(void)base, (void)nbytes;
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

/* Map the file, and find out whether the kernel must be told what to read. */
static int
map_file(struct pages *p, enum pages_kind kind, struct error *error)
{
	size_t words = (size_t)(p->count / 64 + 1);
	size_t ranges = (size_t)(p->count / HUGE_PAGES + 1);

	p->base = mapping_of_file(p->file, p->offset, p->count * PAGE_BYTES,
	    kind != PAGES_PRIVATE, error);
	if (p->base == NULL)
		return -1;
	if (kind == PAGES_SHARED || is_cached(p))
		return 0;
	p->absent = p->count;
	p->present = memory_or_die(calloc(words, sizeof *p->present));
	p->singles = memory_or_die(calloc(ranges, sizeof *p->singles));
	return 0;
}

/* Zeroed memory for all of the layer; NULL on failure. */
static uint8_t *
map_memory(const struct pages *p, int sparse, struct error *error)
{
	uint8_t *base = mapping_of_memory(p->count * PAGE_BYTES, sparse,
	    error);

	if (base != NULL)
		advise_huge(base, (size_t)(p->count * PAGE_BYTES));
	return base;
}

static uint64_t
share_of(const struct pages *p, uint64_t share, uint64_t least)
{
	uint64_t lines = p->count * PAGE_LINES / share;

	return lines > least ? lines : least;
}

int
pages_map(struct pages *p, struct file *file, uint64_t offset,
    uint64_t count, enum pages_kind kind, struct error *error)
{
	int private = kind == PAGES_PRIVATE || kind == PAGES_FRESH;

	*p = (struct pages){ .count = count, .file = file, .offset = offset,
		.in_memory = kind == PAGES_MEMORY || kind == PAGES_FRESH };
	if (p->in_memory)
		p->base = map_memory(p, private, error);
	else if (map_file(p, kind, error) < 0)
		return -1;
	if (p->base == NULL)
		return -1;
	if (!private)
		return 0;
	p->changes = changes_new(count,
	    share_of(p, CHANGES_SHARE, CHANGES_LEAST), error);
	if (p->changes == NULL) {
		pages_unmap(p);
		return -1;
	}
	if (kind == PAGES_PRIVATE)
		p->single_lines = share_of(p, SINGLE_SHARE, SINGLE_LEAST);
	p->dirty = memory_or_die(calloc((size_t)(count / 64 + 1),
	    sizeof *p->dirty));
	p->buffer = memory_or_die(aligned_alloc(PAGE_BYTES,
	    WRITE_PAGES * PAGE_BYTES));
	return 0;
}

void
pages_unmap(struct pages *p)
{
	mapping_end(p->base, p->count * PAGE_BYTES);
	changes_free(p->changes);
	free(p->present);
	free(p->singles);
	free(p->dirty);
	free(p->buffer);
	*p = (struct pages){ 0 };
}

/* Once all were asked for, a file that memory can't hold is asked for again. */
static void
ask_again(struct pages *p)
{
	if (is_cached(p))
		return;
	memset(p->present, 0, (size_t)(p->count / 64 + 1) *
	    sizeof *p->present);
	memset(p->singles, 0, (size_t)(p->count / HUGE_PAGES + 1) *
	    sizeof *p->singles);
	p->absent = p->count;
}

static void
ask_for(struct pages *p, uint64_t first, uint64_t count)
{
	posix_fadvise(p->file->fd, (off_t)(p->offset + first * PAGE_BYTES),
	    (off_t)(count * PAGE_BYTES), POSIX_FADV_WILLNEED);
	for (uint64_t i = first; i < first + count; i++) {
		p->absent -= !bitmap_get(p->present, i);
		bitmap_set(p->present, i);
	}
}

void
pages_load(struct pages *p, const uint64_t *numbers, size_t n)
{
	if (p->absent == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t range = numbers[i] / HUGE_PAGES;
		uint64_t first = range * HUGE_PAGES;

		if (bitmap_get(p->present, numbers[i]))
			continue;
		if (p->singles[range]++ < HUGE_SINGLES)
			ask_for(p, numbers[i], 1);
		else
			ask_for(p, first, p->count - first < HUGE_PAGES ?
			    p->count - first : HUGE_PAGES);
	}
	if (p->absent == 0)
		ask_again(p);
}

void
pages_touch(struct pages *p, const uint64_t *numbers, size_t n)
{
	if (p->dirty == NULL)
		return;
	for (size_t i = 0; i < n; i++) {
		p->dirty_count += !bitmap_get(p->dirty, numbers[i]);
		bitmap_set(p->dirty, numbers[i]);
	}
}

int
pages_are_few(const struct pages *p)
{
	return p->single_lines > 0;
}

/* Read a line; if that fails, the mapped file will tell why. */
static const uint8_t *
read_line(struct pages *p, uint64_t number)
{
	uint8_t line[LINE_BYTES];

	if (p->single_lines == 0 || changes_room(p->changes) == 0)
		return NULL;
	p->single_lines--;
	if (io_pread(p->file->fd, line, LINE_BYTES, p->offset +
	    number * LINE_BYTES) != LINE_BYTES)
		return NULL;
	return changes_add(p->changes, number, line);
}

const uint8_t *
pages_line(struct pages *p, uint64_t page, unsigned line)
{
	uint64_t number = page * PAGE_LINES + line;
	const uint8_t *copy = changes_find(p->changes, number);

	if (copy == NULL)
		copy = read_line(p, number);
	return copy != NULL ? copy : p->base + number * LINE_BYTES;
}

uint8_t *
pages_change_line(struct pages *p, uint64_t page, unsigned line)
{
	uint64_t number = page * PAGE_LINES + line;

	return changes_add(p->changes, number, p->base + number * LINE_BYTES);
}

const uint8_t *
pages_page(const struct pages *p, uint64_t number)
{
	const uint8_t *base = p->base + number * PAGE_BYTES;

	if (p->changes == NULL || !changes_have(p->changes, number))
		return base;
	memcpy(p->buffer, base, PAGE_BYTES);
	changes_apply(p->changes, number, 1, p->buffer);
	return p->buffer;
}

/* The end of the run of pages, starting at `first`, that one call writes. */
static uint64_t
end_of_run(const struct pages *p, uint64_t first)
{
	uint64_t limit = first - first % WRITE_PAGES + WRITE_PAGES;
	uint64_t end = first + 1;

	limit = limit < p->count ? limit : p->count;
	for (uint64_t i = end; i < limit && i <= end + WRITE_GAP &&
	    (p->absent == 0 || bitmap_get(p->present, i)); i++) {
		if (bitmap_get(p->dirty, i))
			end = i + 1;
	}
	return end;
}

/* Some pages as they are now; NULL with `error` filled on failure. */
static const uint8_t *
current(struct pages *p, uint64_t first, uint64_t count, struct error *error)
{
	const uint8_t *base = p->base + first * PAGE_BYTES;
	size_t nbytes = (size_t)(count * PAGE_BYTES);

	if (p->changes == NULL)
		return base;
	if (p->in_memory)
		memcpy(p->buffer, base, nbytes);
	else if (file_read(p->file, p->buffer, nbytes, p->offset +
	    first * PAGE_BYTES, error) < 0)
		return NULL;
	changes_apply(p->changes, first, count, p->buffer);
	return p->buffer;
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
	const uint8_t *pages;
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
		if (!bitmap_get(p->dirty, i))
			continue;
		end = end_of_run(p, i);
		pages = current(p, i, end - i, error);
		if (pages == NULL || file_write(p->file, pages,
		    (size_t)((end - i) * PAGE_BYTES),
		    p->offset + i * PAGE_BYTES, error) < 0)
			return -1;
		for (uint64_t j = i; j < end; j++) {
			p->dirty_count -= (uint64_t)bitmap_get(p->dirty, j);
			bitmap_clear(p->dirty, j);
		}
	}
	/* The mapped file has them now; zeros never do. */
	if (p->changes != NULL && !p->in_memory)
		changes_clear(p->changes);
	return check_length(p, error);
}

/* Read all of the mapped file's layer into memory in its place. */
static int
read_all(struct pages *p, struct error *error)
{
	uint8_t *base = map_memory(p, 1, &(struct error){ 0 });

	if (base == NULL)
		return 1;
	if (file_read(p->file, base, (size_t)(p->count * PAGE_BYTES),
	    p->offset, error) < 0) {
		mapping_end(base, p->count * PAGE_BYTES);
		return -1;
	}
	mapping_end(p->base, p->count * PAGE_BYTES);
	p->base = base;
	p->in_memory = 1;
	p->absent = 0;
	free(p->present);
	free(p->singles);
	p->present = NULL;
	p->singles = NULL;
	return 0;
}

int
pages_gather(struct pages *p, struct error *error)
{
	int result = 0;

	/* Zeros that were probed are one huge page, which would be split. */
	if (p->in_memory)
		mapping_forget(p->base, p->count * PAGE_BYTES);
	else
		result = read_all(p, error);
	if (result != 0)
		return result;
	changes_apply(p->changes, 0, p->count, p->base);
	changes_free(p->changes);
	p->changes = NULL;
	p->single_lines = 0;
	return 0;
}

/* Map the file in place of memory, which is freed. */
static int
map_again(struct pages *p, struct error *error)
{
	struct pages now;

	if (pages_map(&now, p->file, p->offset, p->count, PAGES_PRIVATE,
	    error) < 0)
		return -1;
	now.single_lines = 0;
	pages_unmap(p);
	*p = now;
	return 0;
}

int
pages_drop(struct pages *p, struct error *error)
{
	if (p->dirty == NULL || pages_private_bytes(p) == 0)
		return 0;
	if (p->in_memory && map_again(p, error) < 0)
		return -1;
	changes_release(p->changes);
	return 0;
}

uint64_t
pages_private_bytes(const struct pages *p)
{
	if (p->dirty == NULL)
		return 0;
	return p->changes == NULL ? p->count * PAGE_BYTES :
	    changes_bytes(p->changes);
}
