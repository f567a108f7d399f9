/*
 * What the program needs of the system that not every system with POSIX has.
 * Only os_linux.c, which is behind it, depends on Linux.
 */
#ifndef BASE_OS_H
#define BASE_OS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/error.h"

/* --- descriptors */

/*
 * A name in /proc of the open file `fd`, even of one without any other name.
 * Without /proc, there is no file of that name.
 */
struct os_name {
	char text[40];
};
struct os_name os_name(int fd);

/*
 * Open the open file `fd` once more, with these flags of open(2): the new
 * descriptor has a position and flags of its own. Needs /proc, and the right to
 * open the file with these flags. Returns the descriptor, or -1 with errno set.
 */
int os_reopen(int fd, int flags);

/*
 * Open a pipe whose ends are closed by exec, and do not block if `flags` has
 * O_NONBLOCK. Returns 0, or -1 with errno set.
 */
int os_pipe(int ends[2], int flags);

/*
 * If `fd` is a pipe, enlarge its buffer, so that its two ends wait for each
 * other less often. Does nothing where that is not allowed.
 */
void os_widen_pipe(int fd);

/*
 * Open a socket that is closed by exec and does not block. Returns the
 * descriptor, or -1 with errno set.
 */
int os_socket(int family, int type, int protocol);

/*
 * Let the system ask the other end of a TCP connection that rests for `idle`
 * seconds, and then every `interval` seconds, whether it is still there; after
 * `count` questions without an answer, the connection is broken.
 */
void os_keep_alive(int fd, int idle, int interval, int count);

/* --- files */

/*
 * Open a new file without a name, for reading and writing, that os_link can
 * give a name in this directory. Returns the descriptor, or -1 if there can be
 * no such file.
 */
int os_open_nameless(const char *directory, mode_t mode);

/* Give the open file a name that nothing has yet; -1 with errno set. */
int os_link(int fd, const char *path);

/*
 * Rename a file, if nothing has the new name. Returns 0, or -1 with errno set:
 * EINVAL or ENOSYS where that cannot be done.
 */
int os_rename_to_new(const char *name, const char *path);

/* Returns when a file was last changed (mtime), in nanoseconds since 1970. */
uint64_t os_changed(const struct stat *st);

/* Does the file have an access control list (acl(5))? */
int os_has_acl(const char *path);

/*
 * Allocate a range of a file on the disk. Returns 0, or an error number:
 * EOPNOTSUPP or EINVAL where that cannot be done.
 */
int os_allocate(int fd, uint64_t offset, uint64_t nbytes);

/*
 * Make a hole of a range, which then consists of zeros. Returns 0, or -1 with
 * errno set, also where there are no holes.
 */
int os_punch(int fd, uint64_t offset, uint64_t nbytes);

/* Could there be anything but a hole in this range? */
int os_may_have_data(int fd, uint64_t offset, uint64_t nbytes);

/*
 * Sync the data of a file, also those that were changed through a shared
 * mapping. Returns 0, or -1 with errno set.
 */
int os_sync(int fd);

/* Hints: the range will be read soon; the whole file from here to its end. */
void os_will_read(int fd, uint64_t offset, uint64_t nbytes);
void os_will_read_on(int fd);

/*
 * Where a file is, as far as the system says. FUSE and 9P are also used for
 * files of this host.
 */
enum os_file_system {
	OS_LOCAL,
	OS_NFS,    /* there, a removed file is renamed while it is open */
	OS_REMOTE, /* another protocol between hosts, or perhaps one */
	OS_UNKNOWN
};
enum os_file_system os_file_system(int fd);

/* --- locks */

/*
 * Take or end a lock on a range (struct flock), as F_SETLK of fcntl(2) does,
 * but one that belongs to the open file and not to the process. Returns 0, or
 * -1 with errno set.
 */
struct flock;
int os_lock_opened(int fd, struct flock *range);

/* The process with a flock(2) on this file; 0 if none or unknown. */
pid_t os_lock_holder(const struct stat *st);

/* Copy the name of the process' command, at most nbytes - 1; "" if unknown. */
void os_command(pid_t process, char *name, size_t nbytes);

/*
 * Leases (fcntl(2)). Until os_let_in is called or `fd` closed, whoever wants to
 * open the file waits, as long as the system allows that, usually 45 seconds:
 * with os_keep_others_out anybody, with os_keep_writers_out, for which `fd`
 * must be a descriptor for reading, only those that want to write.
 */
enum os_lease {
	OS_LEASE_GIVEN,
	OS_LEASE_REFUSED, /* others have it open, or have it open for writing */
	OS_LEASE_UNKNOWN  /* the system has no leases for this file and user */
};
enum os_lease os_keep_others_out(int fd);
enum os_lease os_keep_writers_out(int fd);
void os_let_in(int fd);

/* --- the machine */

/*
 * Hints about pages (madvise(2)), which do nothing where the kernel or the C
 * library lacks them: larger pages for this memory, and changes to this mapping
 * without a fault for each page.
 */
void os_prefer_huge_pages(void *base, size_t nbytes);
void os_map_at_once(void *base, size_t nbytes);

/*
 * Fill `data` with random bytes from the system, at most 256. Returns 0, or -1
 * with `error` filled.
 */
int os_random(void *data, size_t nbytes, struct error *error);

/*
 * Returns the bytes of memory that the process can still allocate,
 * approximately: the smallest of MemAvailable in /proc/meminfo (proc(5)) and
 * the rest of memory.max of each of the process's control groups (cgroups(7),
 * version 2; also version 1's memory controller), including the group's page
 * cache that was not used lately.
 */
uint64_t os_memory_available(void);

/*
 * Returns how many processors the process may use at the same time, at least 1:
 * those that it may run on (sched_setaffinity(2)), or fewer if one of its
 * control groups gets only a share of them (cpu.max, or cpu.cfs_quota_us of
 * version 1; a share is rounded up).
 */
unsigned os_processors(void);

#endif
