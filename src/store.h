/*
 * A file that is mapped, locked and made whole: everything that the filter
 * asks of the operating system. Knows nothing of what is in the file.
 *
 * All functions return 0, or -1 with `error` filled (it names the file);
 * exceptions are stated. Paths are copied.
 */
#ifndef STORE_H
#define STORE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "error.h"

/* Which lock to take, and how to wait for another run that holds it. */
struct store_wait {
	int shared;                        /* beside others that share it */
	uint64_t milliseconds;             /* 0: not at all */
	void (*notice)(const char *text);  /* told once, after a second */
};

struct store {
	int fd;        /* -1 if there is no file */
	char *path;    /* as messages name it */
	char *real_path; /* without links: what the journal stands beside */
	char *hidden;  /* the temporary name before store_publish, or NULL */
	int writable;
	uint64_t length;
	int unsafe;    /* this errno, if a sync has failed: that is final */
	struct store_wait wait; /* for both locks */
	int noticed;            /* that was told */
};

/* What stands beside FILTER, under the name FILTER.journal: see journal.h. */
#define STORE_JOURNAL ".journal"

/* The state before any open, on which store_close does nothing. */
#define STORE_NONE { .fd = -1 }

/*
 * Open the regular file `path`. To write, it is locked too (flock, exclusive
 * or shared),
 * after waiting for it as `wait` says (STATUS_LOCKED when the time is over);
 * what is then open is the file that has this name after the lock is had.
 * Reading takes no lock. Returns 1 if there is no such file.
 */
int store_open(struct store *store, const char *path, int writable,
    const struct store_wait *wait, struct error *error);

/*
 * Make a file of no bytes, mode 0600 less the umask, locked, under a temporary
 * name beside `path`. store_publish gives it its name: after a sync, so that
 * it is whole under that name. If there is one by then, it is replaced, or the
 * return value is 1 and nothing happened. store_close removes what was never
 * published.
 */
int store_create(struct store *store, const char *path, struct error *error);
int store_publish(struct store *store, int replace, struct error *error);

/*
 * The name without links, also where there is no such file yet; to be freed.
 * NULL, and errno, if that can't be told.
 */
char *store_follow(const char *path);

/* The same, but a link to nothing stays what it is, and in the way. */
char *store_real_path(const char *path);

/* Are these of one file, whatever names led to it? */
int store_same_file(const struct stat *a, const struct stat *b);

/* Would two files with these names, which aren't there yet, be one? */
int store_same_place(const char *a, const char *b);

/*
 * Open a new file for reading and writing under a random name in the folder of
 * `path`, mode 0600 less the umask; *hidden becomes that name, until
 * store_end_hidden; it is removed, too, if the program ends at once. Returns
 * the descriptor, or -1 with errno set.
 */
int store_open_hidden(const char *path, char **hidden);

/* It has its own name by now, or is to be removed. *hidden becomes NULL. */
void store_end_hidden(char **hidden, int remove);

/* The mode that open(2) with 0666 gives a new file `path`. */
mode_t store_new_mode(const char *path);

/*
 * If it is a pipe, let it hold more, so that its two ends wait for each other
 * less often. What isn't allowed is left.
 */
void store_widen_pipe(int fd);

/* Closing gives up the lock. */
void store_close(struct store *store);

/* Set store->length to what it is now. */
int store_measure(struct store *store, struct error *error);

/* Read or write all of it at an offset. An early end is an error. */
int store_read(struct store *store, void *data, size_t nbytes,
    uint64_t offset, struct error *error);
int store_write(struct store *store, const void *data, size_t nbytes,
    uint64_t offset, struct error *error);

/*
 * Read it only if that needs no disk: returns 1, or 0 where it is not, or not
 * all, in the page cache (or there is no way to ask); then data is undefined.
 */
int store_read_cached(const struct store *store, void *data, size_t nbytes,
    uint64_t offset);

/* *zero = are all bytes from `offset` to the end zero? */
int store_is_zero(struct store *store, uint64_t offset, int *zero,
    struct error *error);

/*
 * Keep the lock only as a shared one, and wait for others so; or try to be the
 * only one that has it: returns 1 if so. If not, no lock is left.
 */
void store_share(struct store *store, const struct store_wait *wait);
int store_be_alone(struct store *store);

/*
 * A second, short lock, on a range of the file's bytes, for who shares it.
 * Waits for it as store_open does for the other one. Ends with the process.
 */
int store_lock_range(struct store *store, uint64_t offset, uint64_t nbytes,
    struct error *error);
void store_unlock_range(struct store *store, uint64_t offset,
    uint64_t nbytes);

/*
 * Let the file end at `length` + `nbytes`: cut off what is behind `length`,
 * then allocate zeros, so that a full disk is an error here and not SIGBUS
 * later.
 */
int store_extend(struct store *store, uint64_t length, uint64_t nbytes,
    struct error *error);

/* Data (and length) on the disk. A failure is final. */
int store_sync(struct store *store, struct error *error);

/* A new, changed or removed name `path` is on the disk when its folder is. */
int store_sync_folder(const char *path, struct error *error);

/*
 * Map a range, page-aligned, shared with the file; NULL on failure. An access
 * to what was cut off meanwhile ends the program with a message.
 */
void *store_map(struct store *store, uint64_t offset, uint64_t nbytes,
    struct error *error);
void store_unmap(void *base, uint64_t nbytes);

/* Is this place of what store_map gave in the page cache, or unknown? */
int store_is_cached(const void *place);

/*
 * Zeroed memory of the process, aligned to STORE_HUGE_BYTES; as store_map. More
 * than there is may be had if it is `sparse`, and only a part will be used.
 */
#define STORE_HUGE_BYTES (2u * 1024 * 1024)
void *store_map_memory(uint64_t nbytes, int sparse, struct error *error);

/*
 * Who holds the lock on the open file: the process, or 0 if none or unknown
 * (read from /proc/locks). `name` becomes its command's name, or "".
 */
#define STORE_HOLDER_NAME 32
pid_t store_holder(const struct store *store, char name[STORE_HOLDER_NAME]);

#endif
