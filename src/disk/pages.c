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
#include "base/os.h"
#include "base/signals.h"

/* Pages in a huge page, which has 2 MiB on all machines that matter. */
#define HUGE_PAGES 512
/*
 * After this many single pages of such a range, all of it is asked for: a disk
 * reads it nearly as fast, and never far from the better choice.
 */
#define HUGE_SINGLES 64
/*
 * At most this share of a layer's cache lines is kept apart from it: to read
 * all of it takes as long as so many changes do.
 */
#define CHANGES_SHARE 16
/* A small layer's share is more: for 512 keys, and for tests. */
#define CHANGES_LEAST (512 * CACHE_LINES_MAX)
/*
 * A cache line that is read by itself takes 1 us, a page fault 3 to 5, and more
 * when the process ends. Of many, more and more are on pages that are mapped.
 */
#define PIECEMEAL_SHARE 2048
#define PIECEMEAL_LEAST 512
/*
 * Pages written at once, at most: a larger write makes the page cache hold the
 * file in larger pieces, and a later change of one page pays for a whole piece.
 */
#define WRITE_PAGES 32
/* How many pages of a large file are looked for in the page cache. */
#define CACHE_SAMPLE 64
/* How many unchanged pages are written, too, to save a call. */
#define WRITE_GAP 4
/* So many pages of a cold layer are looked at, to have them read in advance. */
#define WRITE_AHEAD 512

/* The unit of mmap(2): at least PAGE_BYTES, on some machines 16 or 64 KiB. */
static size_t
unit_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* Map nbytes and `extra` ones; NULL with `error` filled on failure. */
static uint8_t *
map_range(const struct file *file, uint64_t offset, uint64_t nbytes,
    size_t extra, int protection, int flags, struct error *error)
{
	void *base = MAP_FAILED;

	errno = ENOMEM;
	if (nbytes <= SIZE_MAX / 2)
		base = mmap(NULL, (size_t)nbytes + extra, protection, flags,
		    file == NULL ? -1 : file->fd, (off_t)offset);
	if (base != MAP_FAILED)
		return base;
	/*
	 * These two say that memory is lacking, others that mapping is
	 * impossible.
	 */
	if (file != NULL && errno != ENOMEM && errno != EAGAIN) {
		error_set(error, STATUS_FAILED, "%s: this file system cannot"
		    " map files: %s; keep the filter on a local disk",
		    file->path, strerror(errno));
		return NULL;
	}
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
	uint8_t *base = map_range(p->file, p->offset - before, nbytes, before,
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
	uint8_t *base = map_range(NULL, 0, nbytes, rest + huge,
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

/* Allocate memory for all of the layer. */
static uint8_t *
map_layer(const struct pages *p, int sparse, struct error *error)
{
	uint8_t *base = map_memory(p->count * PAGE_BYTES, sparse, error);

	if (base != NULL)
		os_prefer_huge_pages(base, (size_t)(p->count * PAGE_BYTES));
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
		unsigned char resident = 1; /* the answer if it is unknown */

		mincore(page - (uintptr_t)page % unit_bytes(), 1,
		    (void *)&resident);
		if (!(resident & 1))
			return 0;
	}
	return 1;
}

/* The words of a bitmap with a bit for each page. */
static size_t
bitmap_words(const struct pages *p)
{
	return (size_t)(p->count / 64 + 1);
}

/* How many ranges of 2 MiB the layer has, the last one maybe shorter. */
static size_t
huge_ranges(const struct pages *p)
{
	return (size_t)(p->count / HUGE_PAGES + 1);
}

/* One of `share` cache lines of the layer, and no fewer than `least`. */
static uint64_t
share_of(const struct pages *p, uint64_t share, uint64_t least)
{
	uint64_t cache_lines = p->count * PAGE_CACHE_LINES / share;

	return cache_lines > least ? cache_lines : least;
}

/* No page is present: all are absent, as in the beginning. */
static void
begin_cold(struct pages *p)
{
	memset(p->present, 0, bitmap_words(p) * sizeof *p->present);
	memset(p->singles, 0, huge_ranges(p) * sizeof *p->singles);
	p->absent = p->count;
	p->asked = 0;
}

static enum pages_state
first_state(enum pages_kind kind)
{
	switch (kind) {
	case PAGES_MEMORY:
		return PAGES_IN_MEMORY;
	case PAGES_SHARED:
	case PAGES_LARGE:
		return PAGES_MAPPED;
	case PAGES_PRIVATE:
		return PAGES_PIECEMEAL;
	case PAGES_FRESH:
		break;
	}
	return PAGES_ZEROS;
}

/* Make what a private layer has besides its base: the list of changes. */
static int
begin_changes(struct pages *p, struct error *error)
{
	uint64_t limit = share_of(p, CHANGES_SHARE, CHANGES_LEAST);
	void *copies;

	limit = limit < CHANGES_MAX ? limit : CHANGES_MAX;
	copies = map_memory(changes_memory(limit), 1, error);
	if (copies == NULL)
		return -1;
	p->changes = changes_new(p->count, limit, copies);
	if (p->state == PAGES_PIECEMEAL)
		p->piecemeal_left = share_of(p, PIECEMEAL_SHARE,
		    PIECEMEAL_LEAST);
	p->dirty = memory_or_die(calloc(bitmap_words(p), sizeof *p->dirty));
	p->buffer = memory_or_die(aligned_alloc(PAGE_BYTES,
	    WRITE_PAGES * PAGE_BYTES));
	return 0;
}

int
pages_map(struct pages *p, struct file *file, uint64_t offset,
    uint64_t count, enum pages_kind kind, struct error *error)
{
	*p = (struct pages){ .state = first_state(kind), .count = count,
		.file = file, .offset = offset };
	if (p->state == PAGES_IN_MEMORY || p->state == PAGES_ZEROS)
		p->base = map_layer(p, p->state == PAGES_ZEROS, error);
	else
		p->base = map_file(p, p->state == PAGES_MAPPED, error);
	if (p->base == NULL)
		return -1;
	if ((kind == PAGES_LARGE || kind == PAGES_PRIVATE) && !is_cached(p)) {
		p->present = memory_or_die(malloc(bitmap_words(p) *
		    sizeof *p->present));
		p->singles = memory_or_die(malloc(huge_ranges(p) *
		    sizeof *p->singles));
		p->memory = os_memory_available() / PAGE_BYTES;
		begin_cold(p);
	}
	if (pages_are_private(p) && begin_changes(p, error) < 0) {
		pages_unmap(p);
		return -1;
	}
	return 0;
}

int
pages_can_map(uint64_t count)
{
	const uint64_t nbytes = count * PAGE_BYTES;
	/* The caller asks whether, and not why not. */
	uint8_t *base = map_range(NULL, 0, nbytes, 0, PROT_NONE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, error_ignored());

	if (base == NULL)
		return 0;
	munmap(base, (size_t)nbytes);
	return 1;
}

/* All pages of a mapping may be changed now, without a fault of each. */
static void
map_at_once(struct pages *p)
{
	size_t before = (uintptr_t)p->base % unit_bytes();

	os_map_at_once(p->base - before, (size_t)(p->count * PAGE_BYTES) +
	    before);
}

/*
 * The kernel needs 4 us for a page that is first changed through a mapping. If
 * the page was written with write(2), many at a time, it needs next to nothing.
 */
int
pages_fill(struct pages *p, struct error *error)
{
	const uint64_t length = p->offset + p->count * PAGE_BYTES;
	uint8_t *zeros;
	uint64_t some;
	int result = 0;

	if (p->state != PAGES_MAPPED)
		return 0;
	if (file_check_length(p->file, length, error) < 0)
		return -1;
	zeros = memory_or_die(calloc(WRITE_PAGES, PAGE_BYTES));
	for (uint64_t i = 0; i < p->count && result == 0; i += some) {
		some = p->count - i < WRITE_PAGES ? p->count - i : WRITE_PAGES;
		result = file_write(p->file, zeros, (size_t)(some *
		    PAGE_BYTES), p->offset + i * PAGE_BYTES, error);
	}
	free(zeros);
	if (result == 0)
		map_at_once(p);
	return result;
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

/* Ask for a page, or for all of its range. */
static void
ask_for(struct pages *p, uint64_t number)
{
	uint64_t range = number / HUGE_PAGES;
	uint64_t first = number, end = number + 1;

	/* In a layer that memory can't hold, most of a range would be lost. */
	if (p->count <= p->memory && p->singles[range]++ >= HUGE_SINGLES) {
		first = range * HUGE_PAGES;
		end = p->count - first < HUGE_PAGES ? p->count :
		    first + HUGE_PAGES;
	}
	os_will_read(p->file->fd, p->offset + first * PAGE_BYTES,
	    (end - first) * PAGE_BYTES);
	p->asked += end - first;
	for (uint64_t i = first; i < end; i++) {
		p->absent -= !bitmap_get(p->present, i);
		bitmap_set(p->present, i);
	}
}

void
pages_load(struct pages *p, const uint64_t *numbers, size_t n)
{
	if (!pages_are_cold(p))
		return;
	for (size_t i = 0; i < n; i++) {
		if (!bitmap_get(p->present, numbers[i]))
			ask_for(p, numbers[i]);
	}
	/*
	 * Memory that can't hold the layer has lost those that were asked for
	 * first by now: a page that is touched without having been asked for is
	 * waited for alone.
	 */
	if (p->count > p->memory && p->asked > p->memory / 2)
		begin_cold(p);
	/* All were asked for; again, if they are not in memory after all. */
	if (p->absent == 0 && !is_cached(p))
		begin_cold(p);
}

void
pages_touch(struct pages *p, const uint64_t *numbers, size_t n)
{
	if (!pages_are_private(p))
		return;
	for (size_t i = 0; i < n; i++) {
		p->dirty_count += !bitmap_get(p->dirty, numbers[i]);
		bitmap_set(p->dirty, numbers[i]);
	}
}

const uint8_t *
pages_cache_line(struct pages *p, uint64_t page, unsigned cache_line)
{
	uint64_t number = page * PAGE_CACHE_LINES + cache_line;
	const uint8_t *copy = changes_find(p->changes, number);
	uint8_t bytes[CACHE_LINE_BYTES];

	if (copy != NULL)
		return copy;
	if (p->state == PAGES_PIECEMEAL && changes_room(p->changes) > 0) {
		p->piecemeal_left--;
		if (p->piecemeal_left == 0)
			p->state = PAGES_OVERLAY;
		/*
		 * If the read fails, so will the access to the mapped file,
		 * with a reason.
		 */
		if (io_pread(p->file->fd, bytes, CACHE_LINE_BYTES, p->offset +
		    number * CACHE_LINE_BYTES) == CACHE_LINE_BYTES)
			return changes_add(p->changes, number, bytes);
	}
	return p->base + number * CACHE_LINE_BYTES;
}

uint8_t *
pages_change_cache_line(struct pages *p, uint64_t page, unsigned cache_line)
{
	uint64_t number = page * PAGE_CACHE_LINES + cache_line;

	return changes_add(p->changes, number,
	    p->base + number * CACHE_LINE_BYTES);
}

const uint8_t *
pages_page(const struct pages *p, uint64_t number)
{
	const uint8_t *base = p->base + number * PAGE_BYTES;

	if (!pages_have_changes(p) || !changes_have(p->changes, number))
		return base;
	memcpy(p->buffer, base, PAGE_BYTES);
	changes_apply(p->changes, number, 1, p->buffer);
	return p->buffer;
}

/*
 * The end of the run of pages, starting at `first`, that one call writes. A
 * page that wasn't changed is in it only if it is in memory: it would be read.
 */
static uint64_t
end_of_run(const struct pages *p, uint64_t first)
{
	uint64_t limit = first - first % WRITE_PAGES + WRITE_PAGES;
	uint64_t end = first + 1;

	limit = limit < p->count ? limit : p->count;
	for (uint64_t i = end; i < limit && i <= end + WRITE_GAP; i++) {
		if (bitmap_get(p->dirty, i))
			end = i + 1;
		else if (pages_are_cold(p) && !bitmap_get(p->present, i))
			break;
	}
	return end;
}

/*
 * Write `count` pages from `first` on, with their changes. Of a file that is
 * mapped, they are read first: the mapping may not have them in memory.
 */
static int
write_pages(const struct pages *p, uint64_t first, uint64_t count,
    struct error *error)
{
	const uint8_t *from = p->base + first * PAGE_BYTES;
	uint64_t offset = p->offset + first * PAGE_BYTES;
	size_t nbytes = (size_t)(count * PAGE_BYTES);

	if (p->state == PAGES_GATHERED)
		return file_write(p->file, from, nbytes, offset, error);
	if (p->state == PAGES_ZEROS)
		memcpy(p->buffer, from, nbytes);
	else if (file_read(p->file, p->buffer, nbytes, offset, error) < 0)
		return -1;
	changes_apply(p->changes, first, count, p->buffer);
	return file_write(p->file, p->buffer, nbytes, offset, error);
}

/* Are only changes in memory, and the pages themselves in the mapped file? */
static int
holds_only_changes(const struct pages *p)
{
	return p->state == PAGES_PIECEMEAL || p->state == PAGES_OVERLAY;
}

/*
 * Let the kernel begin to read those of the next pages, from `first` on, that
 * will be written. If they were read one by one, it would take that for a
 * sequential read, and read all pages in between. Returns the end of what was
 * looked at.
 */
static uint64_t
read_ahead(const struct pages *p, uint64_t first)
{
	uint64_t i, end;

	for (i = first; i < p->count && i < first + WRITE_AHEAD; i = end) {
		end = i + 1;
		if (!bitmap_get(p->dirty, i))
			continue;
		end = end_of_run(p, i);
		os_will_read(p->file->fd, p->offset + i * PAGE_BYTES,
		    (end - i) * PAGE_BYTES);
	}
	return i;
}

int
pages_write_back(struct pages *p, struct error *error)
{
	const uint64_t length = p->offset + p->count * PAGE_BYTES;
	/*
	 * Pages that are not in memory are read from the disk before the write.
	 */
	const int reads = pages_are_cold(p) && holds_only_changes(p);
	uint64_t end, ahead = 0;

	if (p->dirty_count == 0)
		return 0;
	if (file_check_length(p->file, length, error) < 0)
		return -1;
	for (uint64_t i = 0; p->dirty_count > 0 && i < p->count; i = end) {
		end = i + 1;
		if (p->dirty[i / 64] == 0)
			end = i - i % 64 + 64;
		if (!bitmap_get(p->dirty, i))
			continue;
		if (reads && i >= ahead)
			ahead = read_ahead(p, i);
		end = end_of_run(p, i);
		if (write_pages(p, i, end - i, error) < 0)
			return -1;
		for (uint64_t j = i; j < end; j++) {
			p->dirty_count -= (uint64_t)bitmap_get(p->dirty, j);
			bitmap_clear(p->dirty, j);
		}
	}
	/*
	 * The mapped file has the changes now; a layer of zeros keeps its own.
	 */
	if (holds_only_changes(p))
		changes_clear(p->changes);
	return file_check_length(p->file, length, error);
}

int
pages_gather(struct pages *p, struct error *error)
{
	uint64_t nbytes = p->count * PAGE_BYTES;
	uint8_t *base;

	if (p->state == PAGES_ZEROS) {
		/* Probed zeros are one huge page, which would be split. */
		madvise(p->base, (size_t)nbytes, MADV_DONTNEED);
	} else {
		/*
		 * Without memory for the layer, its pages stay where they are,
		 * which is slower, but no error.
		 */
		base = map_layer(p, 1, error_ignored());
		if (base == NULL)
			return 1;
		if (file_read(p->file, base, (size_t)nbytes, p->offset,
		    error) < 0) {
			unmap(base, nbytes);
			return -1;
		}
		unmap(p->base, nbytes);
		p->base = base;
		p->absent = 0;
	}
	changes_apply(p->changes, 0, p->count, p->base);
	changes_free(p->changes);
	p->changes = NULL;
	p->state = PAGES_GATHERED;
	return 0;
}

int
pages_drop(struct pages *p, struct error *error)
{
	struct pages now;

	if (pages_private_bytes(p) == 0)
		return 0;
	if (holds_only_changes(p)) {
		changes_release(p->changes);
		return 0;
	}
	if (pages_map(&now, p->file, p->offset, p->count, PAGES_PRIVATE,
	    error) < 0)
		return -1;
	now.state = PAGES_OVERLAY;
	pages_unmap(p);
	*p = now;
	return 0;
}

uint64_t
pages_private_bytes(const struct pages *p)
{
	if (!pages_are_private(p))
		return 0;
	if (p->state == PAGES_GATHERED)
		return p->count * PAGE_BYTES;
	return changes_bytes(p->changes);
}
