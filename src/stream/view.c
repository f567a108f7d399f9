#define _GNU_SOURCE /* F_SETLEASE, mremap */
#include "stream/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signals.h"
#include "disk/mapping.h"

#ifdef F_SETLEASE

#include <sys/vfs.h>

#ifndef MADV_POPULATE_READ /* since Linux 5.14 */
#define MADV_POPULATE_READ 22
#endif

/* Addresses mapped at a time, and how much of them is in memory. */
#define SEGMENT_BYTES (64 * 1024 * 1024)
#define WINDOW_BYTES (2 * 1024 * 1024)

/* Mapped bytes of the file. */
struct segment {
	uint8_t *base;     /* NULL: none */
	uint64_t from;     /* place in the file */
	size_t nbytes;
	size_t loaded;     /* so many are in memory, */
	size_t forgotten;  /* but the first ones no longer */
	volatile size_t finished; /* so many are not used any more */
};

/* One, for the signal handler. */
static struct {
	const char *name;
	int fd;            /* not owned; -1: there is no view */
	uint64_t end;      /* the file's size */
	struct segment segment;

	volatile sig_atomic_t lent;   /* the lease is ours */
	volatile sig_atomic_t wanted; /* by somebody else */
	volatile sig_atomic_t busy;   /* with the segment */
} view = { .fd = -1 };

static size_t
round_down(uint64_t n, size_t unit)
{
	return (size_t)(n - n % unit);
}

/* Put a copy in the place of what is in memory and not finished. */
static int
copy_segment(void)
{
	const struct segment *s = &view.segment;
	size_t page = mapping_page_bytes();
	size_t first = round_down(s->finished, page), nbytes;
	uint8_t *copy;

	if (s->base == NULL || first >= s->loaded)
		return 0;
	nbytes = round_down(s->loaded - first + page - 1, page);
	copy = mmap(NULL, nbytes, PROT_READ | PROT_WRITE, MAP_PRIVATE |
	    MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED)
		return -1;
	memcpy(copy, s->base + first, s->loaded - first);
	return mremap(copy, nbytes, nbytes, MREMAP_MAYMOVE | MREMAP_FIXED,
	    s->base + first) == MAP_FAILED ? -1 : 0;
}

/*
 * Give the lease back if it is wanted. Without memory for a copy, it stays
 * until the view ends or Linux takes it (/proc/sys/fs/lease-break-time).
 */
static void
give_back(void)
{
	if (!view.wanted || !view.lent)
		return;
	if (copy_segment() == 0)
		fcntl(view.fd, F_SETLEASE, F_UNLCK);
	view.lent = 0;
}

static void
on_lease(int number)
{
	int saved = errno;

	(void)number;
	view.wanted = 1;
	if (!view.busy)
		give_back();
	errno = saved;
}

/* While the segment is changed, the handler leaves the lease to release. */
static void
hold(void)
{
	view.busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
}

static void
release(void)
{
	atomic_signal_fence(memory_order_seq_cst);
	view.busy = 0;
	give_back();
}

/*
 * Others can change files of these kinds on another machine, or another side of
 * this one, where nobody knows of the lease.
 */
static int
is_shared(void)
{
	const long fuse = 0x65735546, v9fs = 0x01021997; /* statfs(2) */
	struct statfs fs;

	return fstatfs(view.fd, &fs) < 0 || fs.f_type == fuse ||
	    fs.f_type == v9fs;
}

/* The signal may have been blocked when the program was started. */
static int
take_lease(void)
{
	struct sigaction action = { .sa_handler = on_lease,
		.sa_flags = SA_RESTART };
	struct stat st;
	sigset_t set;

	sigemptyset(&action.sa_mask);
	sigemptyset(&set);
	sigaddset(&set, SIGIO);
	view.wanted = 0;
	if (is_shared() || sigaction(SIGIO, &action, NULL) < 0 ||
	    sigprocmask(SIG_UNBLOCK, &set, NULL) < 0 ||
	    fcntl(view.fd, F_SETLEASE, F_RDLCK) < 0)
		return -1;
	view.lent = 1;
	if (fstat(view.fd, &st) < 0)
		return -1;
	view.end = (uint64_t)st.st_size;
	return 0;
}

/* If addresses are limited, they are for other uses. */
int
view_begin(int fd, const char *name)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_AS, &limit) < 0 ||
	    limit.rlim_cur != RLIM_INFINITY)
		return -1;
	view.name = name;
	view.fd = fd;
	if (take_lease() == 0)
		return 0;
	view_end();
	return -1;
}

void
view_end(void)
{
	if (view.fd < 0)
		return;
	hold();
	mapping_end(view.segment.base, view.segment.nbytes);
	view.segment.base = NULL;
	if (view.lent)
		fcntl(view.fd, F_SETLEASE, F_UNLCK);
	view.lent = 0;
	view.fd = -1;
	release();
}

/* Map from `offset` to `stop`, and on. */
static int
map(struct segment *s, uint64_t offset, uint64_t stop)
{
	uint64_t from = offset - offset % mapping_page_bytes();
	uint64_t nbytes = view.end - from;
	void *base;

	nbytes = nbytes < SEGMENT_BYTES ? nbytes : SEGMENT_BYTES;
	if (stop - from > nbytes)
		return -1;
	base = mmap(NULL, (size_t)nbytes, PROT_READ, MAP_SHARED, view.fd,
	    (off_t)from);
	if (base == MAP_FAILED)
		return -1;
	*s = (struct segment){ base, from, (size_t)nbytes, 0, 0, 0 };
	signals_bus_range(base, s->nbytes, view.name);
	return 0;
}

/* Have at least `nbytes` of the segment in memory, and what is finished not. */
static int
load(struct segment *s, size_t nbytes)
{
	size_t finished = round_down(s->finished, mapping_page_bytes()), to;

	if (finished > s->forgotten) {
		madvise(s->base + s->forgotten, finished - s->forgotten,
		    MADV_DONTNEED);
		s->forgotten = finished;
	}
	to = round_down(nbytes + WINDOW_BYTES - 1, WINDOW_BYTES);
	to = to < s->nbytes ? to : s->nbytes;
	if (madvise(s->base + s->loaded, to - s->loaded,
	    MADV_POPULATE_READ) < 0)
		return -1;
	s->loaded = to;
	/* If the next ones are on disk, it can read them meanwhile. */
	if (to < s->nbytes && !mapping_is_cached(s->base + to))
		posix_fadvise(view.fd, (off_t)(s->from + to), WINDOW_BYTES,
		    POSIX_FADV_WILLNEED);
	return 0;
}

/* Go on to another segment; if that can't be had, stay. */
static int
advance(uint64_t offset, uint64_t stop)
{
	struct segment before = view.segment;

	if (map(&view.segment, offset, stop) < 0)
		return -1;
	if (load(&view.segment, (size_t)(stop - view.segment.from)) == 0) {
		mapping_end(before.base, before.nbytes);
		return 0;
	}
	mapping_end(view.segment.base, view.segment.nbytes);
	view.segment = before;
	return -1;
}

const uint8_t *
view_bytes(uint64_t offset, size_t nbytes)
{
	struct segment *s = &view.segment;
	uint64_t stop = offset + nbytes + VIEW_PADDING;
	/* Lines that were read, since they are long, aren't mapped. */
	int mapped = s->base != NULL && offset >= s->from &&
	    offset <= s->from + s->loaded && stop <= s->from + s->nbytes;
	int result = -1;

	if (mapped)
		s->finished = (size_t)(offset - s->from);
	if (mapped && stop <= s->from + s->loaded)
		return s->base + (offset - s->from);
	if (stop > view.end || !view.lent)
		return NULL;
	hold();
	if (view.lent)
		result = mapped ? load(s, (size_t)(stop - s->from)) :
		    advance(offset, stop);
	release();
	return result < 0 ? NULL : s->base + (offset - s->from);
}

#else

int
view_begin(int fd, const char *name)
{
	(void)fd, (void)name;
	return -1;
}

void
view_end(void)
{
}

const uint8_t *
view_bytes(uint64_t offset, size_t nbytes)
{
	(void)offset, (void)nbytes;
	return NULL;
}

#endif
