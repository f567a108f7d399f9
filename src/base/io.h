/*
 * Reads and writes at an offset that retry until they are complete;
 * descriptors, and taking back what was written.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Read nbytes at an offset. Returns how many were read, fewer only at the end
 * of the file; or -1 with errno set.
 */
ssize_t io_pread(int fd, void *data, size_t nbytes, uint64_t offset);

/* Write all of nbytes at an offset. Returns 0, or -1 with errno set. */
int io_pwrite(int fd, const void *data, size_t nbytes, uint64_t offset);

/*
 * A descriptor to read the open file `fd`: itself, if it is open for reading,
 * else a new one, which io_end_reading closes. Returns -1 with errno set if
 * that needs a right that we do not have, or /proc.
 */
int io_begin_reading(int fd);
void io_end_reading(int fd, int reader);

/*
 * Cut a regular file, open for writing, that ends at `size` back to `to`, but
 * only if nobody else has it open, whom that would confuse. A position behind
 * the new end becomes the end. Returns 0, or -1 if nothing was changed: others
 * have it open, it ends elsewhere, or it is not ours.
 */
int io_cut(int fd, off_t size, off_t to);

/*
 * Take back what was written: `nbytes` in one or more writes through `fd`, the
 * first of which began at `begin`, of which the first `kept` stay. Returns 0,
 * or -1 if nothing was changed: as io_cut, or because others have written in
 * between, so that the bytes behind `begin` are not all ours.
 */
int io_take_back(int fd, uint64_t begin, uint64_t nbytes, uint64_t kept);

/*
 * Raise the limit on open descriptors to what the system allows this process.
 * Returns how many may be open now.
 */
uint64_t io_descriptors(void);

/* Is `fd` a pipe or a socket, at whose other end another program works? */
int io_has_peer(int fd);

#endif
