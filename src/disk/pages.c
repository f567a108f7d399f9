#include "disk/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bitmap.h"
#include "base/io.h"
#include "base/signals.h"

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

/* The unit of mmap(2): at least PAGE_BYTES, on some machines 16 or 64 KiB. */
static size_t
unit_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* mmap(2) of nbytes and `extra` ones; NULL with `error` filled on failure. */
static uint8_t *
map(const struct file *file, uint64_t offset, uint64_t nbytes, size_t extra,
    int protection, int flags, struct error *error)
{
	void *base = MAP_FAILED;

	errno = ENOMEM;
	if (nbytes <= SIZE_MAX / 2)
		base = mmap(NULL, (size_t)nbytes + extra, protection, flags,
		    file == NULL ? -1 : file->fd, (off_t)offset);
	if (base != MAP_FAILED)
		return base;
	error_set(error, STATUS_FAILED, "%s%scannot map %" PRIu64
	    " bytes of memory: %s", file == NULL ? "" : file->path,
	    file == NULL ? "" : ": ", nbytes, strerror(errno));
	return NULL;
}

/* Map the layer in the file, to be `changed` there if it is writable. */
static uint8_t *
map_file(const struct pages *p, int changed, struct error *error)
{
	size_t before = (size_t)(p->offset % unit_bytes());
	uint64_t nbytes = p->count * PAGE_BYTES;
	uint8_t *base = map(p->file, p->offset - before, nbytes, before,
	    PROT_READ | (changed && p->file->writable ? PROT_WRITE : 0),
	    MAP_SHARED, error);

	if (base == NULL)
		return NULL;
	/* Keys are scattered at random: reading ahead would be useless. */
	madvise(base, (size_t)nbytes + before, MADV_RANDOM);
	base += before;
	/* An access to a part that is truncated ends the program. */
	signals_bus_range(base, (size_t)nbytes, p->file->path);
	return base;
}

/*
 * Zeroed memory, aligned to a huge page. If `sparse`, only a part will be used,
 * and it may be larger than the memory available.
 */
static uint8_t *
map_memory(uint64_t nbytes, int sparse, struct error *error)
{
	const size_t huge = HUGE_PAGES * PAGE_BYTES, unit = unit_bytes();
	size_t rest = (unit - (size_t)(nbytes % unit)) % unit, head;
	uint8_t *base = map(NULL, 0, nbytes, rest + huge,
	    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
	    (sparse ? MAP_NORESERVE : 0), error);

	if (base == NULL)
		return NULL;
	/* Unmap the excess at both ends. */
	head = (huge - (uintptr_t)base % huge) % huge;
	if (head > 0)
		munmap(base, head);
	munmap(base + head + (size_t)nbytes + rest, huge - head);
	return base + head;
}

/* Memory for all of the layer. */
static uint8_t *
map_layer(const struct pages *p, int sparse, struct error *error)
{
	uint8_t *base = map_memory(p->count * PAGE_BYTES, sparse, error);

#ifdef MADV_HUGEPAGE
	if (base != NULL)
		madvise(base, (size_t)(p->count * PAGE_BYTES), MADV_HUGEPAGE);
#endif
	return base;
}

static void
unmap(void *base, uint64_t nbytes)
{
	size_t before;

	if (base == NULL)
		return;
	signals_bus_forget(base);
	before = (uintptr_t)base % unit_bytes();
	munmap((uint8_t *)base - before, (size_t)nbytes + before);
}

/* Is the mapped file in the page cache, judging by a sample? */
static int
is_cached(const struct pages *p)
{
	for (uint64_t i = 0; i < CACHE_SAMPLE; i++) {
		uint8_t *page = p->base +
		    p->count * i / CACHE_SAMPLE * PAGE_BYTES;
		unsigned char resident = 1; /* if unknown */

		mincore(page - (uintptr_t)page % unit_bytes(), 1, &resident);
		if (!(resident & 1))
			return 0;
	}
	return 1;
}

static uint64_t
share_of(const struct pages *p, uint64_t share, uint64_t least)
{
	uint64_t lines = p->count * PAGE_CACHE_LINES / share;

	return lines > least ? lines : least;
}

int
pages_map(struct pages *p, struct file *file, uint64_t offset,
    uint64_t count, enum pages_kind kind, struct error *error)
{
	int private = kind == PAGES_PRIVATE || kind == PAGES_FRESH;
	size_t words = (size_t)(count / 64 + 1);
	uint64_t limit;
	void *copies;

	*p = (struct pages){ .count = count, .file = file, .offset = offset,
		.in_memory = kind == PAGES_MEMORY || kind == PAGES_FRESH };
	p->base = p->in_memory ? map_layer(p, private, error) :
	    map_file(p, kind != PAGES_PRIVATE, error);
	if (p->base == NULL)
		return -1;
	if (!p->in_memory && kind != PAGES_SHARED && !is_cached(p)) {
		p->absent = count;
		p->present = memory_or_die(calloc(words, sizeof *p->present));
		p->singles = memory_or_die(calloc((size_t)(count / HUGE_PAGES +
		    1), sizeof *p->singles));
	}
	if (!private)
		return 0;
	limit = share_of(p, CHANGES_SHARE, CHANGES_LEAST);
	limit = limit < CHANGES_MAX ? limit : CHANGES_MAX;
	copies = map_memory(changes_memory(limit), 1, error);
	if (copies == NULL) {
		pages_unmap(p);
		return -1;
	}
	p->changes = changes_new(count, limit, copies);
	if (kind == PAGES_PRIVATE)
		p->single_lines = share_of(p, SINGLE_SHARE, SINGLE_LEAST);
	p->dirty = memory_or_die(calloc(words, sizeof *p->dirty));
	p->buffer = memory_or_die(aligned_alloc(PAGE_BYTES,
	    WRITE_PAGES * PAGE_BYTES));
	return 0;
}

void
pages_unmap(struct pages *p)
{
	unmap(p->base, p->count * PAGE_BYTES);
	changes_free(p->changes);
	free(p->present);
	free(p->singles);
	free(p->dirty);
	free(p->buffer);
	*p = (struct pages){ 0 };
}

void
pages_load(struct pages *p, const uint64_t *numbers, size_t n)
{
	if (p->absent == 0)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t first = numbers[i], end = first + 1;
		uint64_t range = first / HUGE_PAGES;

		if (bitmap_get(p->present, first))
			continue;
		if (p->singles[range]++ >= HUGE_SINGLES) {
			first = range * HUGE_PAGES;
			end = p->count - first < HUGE_PAGES ? p->count :
			    first + HUGE_PAGES;
		}
		posix_fadvise(p->file->fd,
		    (off_t)(p->offset + first * PAGE_BYTES),
		    (off_t)((end - first) * PAGE_BYTES), POSIX_FADV_WILLNEED);
		for (uint64_t j = first; j < end; j++) {
			p->absent -= !bitmap_get(p->present, j);
			bitmap_set(p->present, j);
		}
	}
	/* All were asked for; again, if memory can't hold the file. */
	if (p->absent == 0 && !is_cached(p)) {
		memset(p->present, 0, (size_t)(p->count / 64 + 1) *
		    sizeof *p->present);
		memset(p->singles, 0, (size_t)(p->count / HUGE_PAGES + 1) *
		    sizeof *p->singles);
		p->absent = p->count;
	}
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

const uint8_t *
pages_line(struct pages *p, uint64_t page, unsigned line)
{
	uint64_t number = page * PAGE_CACHE_LINES + line;
	const uint8_t *copy = changes_find(p->changes, number);
	uint8_t bytes[CACHE_LINE_BYTES];

	if (copy != NULL)
		return copy;
	if (p->single_lines > 0 && changes_room(p->changes) > 0) {
		p->single_lines--;
		/* If that fails, the mapped file will tell why. */
		if (io_pread(p->file->fd, bytes, CACHE_LINE_BYTES, p->offset +
		    number * CACHE_LINE_BYTES) == CACHE_LINE_BYTES)
			return changes_add(p->changes, number, bytes);
	}
	return p->base + number * CACHE_LINE_BYTES;
}

uint8_t *
pages_change_line(struct pages *p, uint64_t page, unsigned line)
{
	uint64_t number = page * PAGE_CACHE_LINES + line;

	return changes_add(p->changes, number,
	    p->base + number * CACHE_LINE_BYTES);
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

int
pages_write_back(struct pages *p, struct error *error)
{
	const uint64_t length = p->offset + p->count * PAGE_BYTES;
	uint64_t end;

	if (p->dirty_count == 0)
		return 0;
	if (file_check_length(p->file, length, error) < 0)
		return -1;
	for (uint64_t i = 0; p->dirty_count > 0 && i < p->count; i = end) {
		const uint8_t *from = p->base + i * PAGE_BYTES;
		uint64_t offset = p->offset + i * PAGE_BYTES;
		size_t nbytes;

		end = i + 1;
		if (p->dirty[i / 64] == 0)
			end = i - i % 64 + 64;
		if (!bitmap_get(p->dirty, i))
			continue;
		end = end_of_run(p, i);
		nbytes = (size_t)((end - i) * PAGE_BYTES);
		if (p->changes != NULL) {
			if (p->in_memory)
				memcpy(p->buffer, from, nbytes);
			else if (file_read(p->file, p->buffer, nbytes, offset,
			    error) < 0)
				return -1;
			changes_apply(p->changes, i, end - i, p->buffer);
			from = p->buffer;
		}
		if (file_write(p->file, from, nbytes, offset, error) < 0)
			return -1;
		for (uint64_t j = i; j < end; j++) {
			p->dirty_count -= (uint64_t)bitmap_get(p->dirty, j);
			bitmap_clear(p->dirty, j);
		}
	}
	/* The mapped file has them now; zeros never do. */
	if (p->changes != NULL && !p->in_memory)
		changes_clear(p->changes);
	return file_check_length(p->file, length, error);
}

int
pages_gather(struct pages *p, struct error *error)
{
	uint64_t nbytes = p->count * PAGE_BYTES;
	uint8_t *base;

	if (p->in_memory) {
		/* Probed zeros are one huge page, which would be split. */
		madvise(p->base, (size_t)nbytes, MADV_DONTNEED);
	} else {
		base = map_layer(p, 1, &(struct error){ 0 });
		if (base == NULL)
			return 1;
		if (file_read(p->file, base, (size_t)nbytes, p->offset,
		    error) < 0) {
			unmap(base, nbytes);
			return -1;
		}
		unmap(p->base, nbytes);
		p->base = base;
		p->in_memory = 1;
		p->absent = 0;
	}
	changes_apply(p->changes, 0, p->count, p->base);
	changes_free(p->changes);
	p->changes = NULL;
	p->single_lines = 0;
	return 0;
}

int
pages_drop(struct pages *p, struct error *error)
{
	struct pages now;

	if (pages_private_bytes(p) == 0)
		return 0;
	if (!p->in_memory) {
		changes_release(p->changes);
		return 0;
	}
	if (pages_map(&now, p->file, p->offset, p->count, PAGES_PRIVATE,
	    error) < 0)
		return -1;
	now.single_lines = 0;
	pages_unmap(p);
	*p = now;
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
