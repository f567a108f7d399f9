/*
 * The filters of a directory, by name: NAME is the file NAME.bloom. The
 * directory is locked, and it is authoritative: a request for a filter checks,
 * at most once a second per name, whether its file has appeared, disappeared or
 * changed.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef SERVE_CATALOG_H
#define SERVE_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "disk/table.h"
#include "serve/buffer.h"
#include "serve/served.h"

/* Other files only read it, set pool.limit, and count pool.second. */
struct catalog {
	struct served_pool pool;
	int fd;                    /* the directory, which it keeps locked */
	uint64_t listed;           /* the second of the last catalog_list */
	struct served **items;     /* the filters known, sorted by name */
	size_t count, capacity;    /* number of items, and the room for them */
	struct served *last;       /* the filter found last, or NULL */
	struct refusals unknown;   /* requests for filters that are missing */
};

/*
 * Lock the directory of `settings`, which must stay, and read which filters it
 * has. `leases` has their leases, and must stay, too; NULL if there are none.
 * Returns NULL with `error` filled if it fails. catalog_close frees it.
 */
struct catalog *catalog_open(const struct serve_settings *settings,
    struct leases *leases, struct error *error);

/*
 * Open the filters, at most `open_max` of them at a time, now and later.
 * Filters that cannot be used are reported (settings->notice), which is no
 * error.
 */
void catalog_open_filters(struct catalog *catalog, size_t open_max);

/*
 * Close all filters and unlock the directory. Returns -1 if changes that were
 * only in memory could not be written; it is closed all the same.
 */
int catalog_close(struct catalog *catalog, struct error *error);

/* Can a filter have this name? If not, clients are told which it can have. */
#define CATALOG_NAMES "a filter's name has up to 64 letters, digits and" \
	" '._-:@+=,%#{}', no dot first"
int catalog_is_name(struct bytes name);

/*
 * Returns the filter with that name, which the catalog owns; NULL if there is
 * none, also if it cannot be a name. The filter may be one that cannot be used.
 * Valid until the next call that finds, adds, removes or lists filters.
 */
struct served *catalog_find(struct catalog *catalog, struct bytes name);

/* Count a request for a filter that is missing; reported once a minute. */
void catalog_report_missing(struct catalog *catalog, struct bytes name);

/*
 * Parse `text` as the window of a filter that is to be made, into `wanted`. A
 * window of lines must be as long as the capacity, which is rounded up like it.
 * Returns 0, or -1 if it is no such window; there is no error.
 */
int catalog_window(struct filter_design *wanted, const char *text);

/*
 * Create a filter with the capacity, error rate, growth and window of `wanted`.
 * Returns 1 if there is a file of that name, whatever it contains.
 */
int catalog_add(struct catalog *catalog, struct bytes name,
    const struct filter_design *wanted, struct error *error);

/* Remove a filter and its file. Returns 1 if there is none. */
int catalog_remove(struct catalog *catalog, struct bytes name,
    struct error *error);

/*
 * Make `items` all filters of the directory; reads it at most once a second.
 * The leases of a file that is gone end.
 */
void catalog_list(struct catalog *catalog);

#endif
