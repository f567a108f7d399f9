#include "disk/mapping.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/signals.h"

/* The unit of mmap(2): at least PAGE_BYTES, on some machines 16 or 64 KiB. */
static size_t
page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void *
cannot_map(const char *path, uint64_t nbytes, int errnum, struct error *error)
{
	error_set(error, STATUS_FAILED, "%s%scannot map %" PRIu64
	    " bytes of memory: %s", path == NULL ? "" : path,
	    path == NULL ? "" : ": ", nbytes, strerror(errnum));
	return NULL;
}

void *
mapping_of_file(struct file *file, uint64_t offset, uint64_t nbytes,
    int changed, struct error *error)
{
	int protection = PROT_READ |
	    (file->writable && changed ? PROT_WRITE : 0);
	size_t before;
	uint8_t *base;

	if (nbytes > SIZE_MAX / 2)
		return cannot_map(file->path, nbytes, ENOMEM, error);
	before = (size_t)(offset % page_bytes());
	base = mmap(NULL, (size_t)nbytes + before, protection, MAP_SHARED,
	    file->fd, (off_t)(offset - before));
	if (base == MAP_FAILED)
		return cannot_map(file->path, nbytes, errno, error);
	/* Keys are scattered at random: reading ahead would be useless. */
	madvise(base, (size_t)nbytes + before, MADV_RANDOM);
	base += before;
	signals_bus_range(base, (size_t)nbytes, file->path);
	return base;
}

void *
mapping_of_memory(uint64_t nbytes, int sparse, struct error *error)
{
	const size_t huge = MAPPING_HUGE_BYTES, page = page_bytes();
	size_t wanted, head;
	uint8_t *base;

	if (nbytes > SIZE_MAX / 2)
		return cannot_map(NULL, nbytes, ENOMEM, error);
	wanted = ((size_t)nbytes + page - 1) / page * page;
	base = mmap(NULL, wanted + huge, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | (sparse ? MAP_NORESERVE : 0), -1, 0);
	if (base == MAP_FAILED)
		return cannot_map(NULL, nbytes, errno, error);
	/* Unmap the excess at both ends. */
	head = (huge - (uintptr_t)base % huge) % huge;
	if (head > 0)
		munmap(base, head);
	munmap(base + head + wanted, huge - head);
	return base + head;
}

void
mapping_forget(void *base, uint64_t nbytes)
{
	madvise(base, (size_t)nbytes, MADV_DONTNEED);
}

int
mapping_is_cached(const void *place)
{
	uint8_t *page = (uint8_t *)(uintptr_t)place;
	unsigned char resident = 1;

	mincore(page - (uintptr_t)page % page_bytes(), 1, &resident);
	return resident & 1;
}

void
mapping_end(void *base, uint64_t nbytes)
{
	size_t before;

	if (base == NULL)
		return;
	signals_bus_forget(base);
	before = (uintptr_t)base % page_bytes();
	munmap((uint8_t *)base - before, (size_t)nbytes + before);
}
