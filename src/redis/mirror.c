#include "redis/mirror.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/bitmap.h"

/* A larger layer is rarely seen whole: huge pages would waste memory. */
#define SMALL_BYTES ((uint64_t)64 << 20)

static size_t
words(const struct mirror *m)
{
	return (size_t)(m->array.geometry.pages + 63) / 64;
}

static size_t
length(const struct mirror *m)
{
	return (size_t)m->array.geometry.pages * PAGE_BYTES;
}

int
mirror_map(struct mirror *m, const struct geometry *geometry,
    struct error *error)
{
	void *pages;

	*m = (struct mirror){ .array.geometry = *geometry };
	pages = mmap(NULL, length(m), PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (pages == MAP_FAILED)
		return error_system(error, errno, "memory for a mirror of the"
		    " filter");
#ifdef MADV_NOHUGEPAGE
	if (length(m) > SMALL_BYTES)
		madvise(pages, length(m), MADV_NOHUGEPAGE);
#endif
	m->array.pages = pages;
	m->touched = memory_or_die(calloc(words(m), sizeof *m->touched));
	return 0;
}

void
mirror_unmap(struct mirror *m)
{
	if (m->array.pages != NULL)
		munmap(m->array.pages, length(m));
	free(m->touched);
	*m = (struct mirror){ 0 };
}

uint8_t *
mirror_page(struct mirror *m, uint64_t page)
{
	m->pages += !bitmap_get(m->touched, page);
	bitmap_set(m->touched, page);
	return m->array.pages + page * PAGE_BYTES;
}

/* After MADV_DONTNEED, anonymous pages are zero (madvise(2)). */
void
mirror_drop(struct mirror *m)
{
	if (m->pages == 0)
		return;
	madvise(m->array.pages, length(m), MADV_DONTNEED);
	for (size_t i = 0; i < words(m); i++)
		m->touched[i] = 0;
	m->pages = 0;
}
