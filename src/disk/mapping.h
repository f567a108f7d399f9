/* Mapped memory: a range of a file, or memory of the process. */
#ifndef MAPPING_H
#define MAPPING_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "disk/file.h"

/*
 * Map a range of the file, page-aligned, shared with it; NULL on failure, with
 * `error` filled. It can be changed if the file is writable and `changed` is
 * set. An access to a part that was truncated meanwhile ends the program with a
 * message.
 */
void *mapping_of_file(struct file *file, uint64_t offset, uint64_t nbytes,
    int changed, struct error *error);

/*
 * Zeroed memory of the process, aligned to MAPPING_HUGE_BYTES; NULL as above.
 * If `sparse`, only a part will be used, and it may be larger than the memory
 * available.
 */
#define MAPPING_HUGE_BYTES (2u * 1024 * 1024)
void *mapping_of_memory(uint64_t nbytes, int sparse, struct error *error);

/* Free memory of mapping_of_memory, which is then zero (Linux's madvise(2)). */
void mapping_forget(void *base, uint64_t nbytes);

/* Unmap either, or a range registered with signals_bus_range; NULL is none. */
void mapping_end(void *base, uint64_t nbytes);

/* Is this place of a mapped file in the page cache? 1 if unknown. */
int mapping_is_cached(const void *place);

#endif
