/*
 * Reads and writes at an offset that retry until complete; random bytes;
 * descriptors, and buffers of pipes.
 */
#ifndef IO_H
#define IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Read nbytes. Returns how many were read, fewer only at the end of the file,
 * or -1 with errno set.
 */
ssize_t io_pread(int fd, void *data, size_t nbytes, uint64_t offset);

/* Write nbytes. Returns 0, or -1 with errno set. */
int io_pwrite(int fd, const void *data, size_t nbytes, uint64_t offset);

/*
 * Random bytes from the system, at most 256. Returns 0, or -1 with `error`
 * filled.
 */
int io_random(void *data, size_t nbytes, struct error *error);

/*
 * How many descriptors may be open: as many as the system lets this process
 * have, from now on.
 */
uint64_t io_descriptors(void);

/*
 * If `fd` is a pipe, enlarge its buffer, so that its two ends wait for each
 * other less often. Does nothing where that isn't allowed.
 */
void io_widen_pipe(int fd);

#endif
