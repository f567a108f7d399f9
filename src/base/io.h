/*
 * Reads and writes at an offset that retry until they are complete; random
 * bytes; descriptors, and the buffers of pipes.
 */
#ifndef BASE_IO_H
#define BASE_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Read nbytes at an offset. Returns how many were read, fewer only at the end
 * of the file; or -1 with errno set.
 */
ssize_t io_pread(int fd, void *data, size_t nbytes, uint64_t offset);

/* Write all of nbytes at an offset. Returns 0, or -1 with errno set. */
int io_pwrite(int fd, const void *data, size_t nbytes, uint64_t offset);

/*
 * A name in /proc of the open file `fd`, even of one without any other name.
 * Without /proc, there is no file of that name.
 */
struct io_name {
	char text[40];
};
struct io_name io_name(int fd);

/*
 * Open the open file `fd` once more, with these flags of open(2): the new
 * descriptor has a position and flags of its own. Needs /proc, and the right to
 * open the file with these flags. Returns the descriptor, or -1 with errno set.
 */
int io_reopen(int fd, int flags);

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
 * Until `fd`, a descriptor for reading, is closed, whoever wants to open the
 * file for writing waits (a read lease, fcntl(2)), as long as the system allows
 * that: usually 45 seconds.
 */
enum io_lease {
	IO_LEASE_GIVEN,
	IO_LEASE_REFUSED, /* it is open for writing, by whomever */
	IO_LEASE_UNKNOWN  /* the system has no leases for this file and user */
};
enum io_lease io_keep_writers_out(int fd);

/*
 * Take back what was written: `nbytes` in one or more writes through `fd`, the
 * first of which began at `begin`, of which the first `kept` stay. Returns 0,
 * or -1 if nothing was changed: as io_cut, or because others have written in
 * between, so that the bytes behind `begin` are not all ours.
 */
int io_take_back(int fd, uint64_t begin, uint64_t nbytes, uint64_t kept);

/*
 * Fill `data` with random bytes from the system, at most 256. Returns 0, or -1
 * with `error` filled.
 */
int io_random(void *data, size_t nbytes, struct error *error);

/*
 * Raise the limit on open descriptors to what the system allows this process.
 * Returns how many may be open now.
 */
uint64_t io_descriptors(void);

/* Is `fd` a pipe or a socket, at whose other end another program works? */
int io_has_peer(int fd);

/*
 * If `fd` is a pipe, enlarge its buffer, so that its two ends wait for each
 * other less often. Does nothing where that is not allowed.
 */
void io_widen_pipe(int fd);

#endif
