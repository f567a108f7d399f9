/*
 * The filters of a folder, by name: NAME is the file NAME.bloom. The folder is
 * locked. What is in it counts: a file that is new, gone or replaced is noticed
 * at a request, at most once a second and name.
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

/* Others only read it, set pool.limit, and count pool.second. */
struct catalog {
	struct served_pool pool;
	int fd;                    /* of the folder; holds the lock */
	uint64_t listed;           /* in which second */
	struct served **items;     /* sorted by name */
	size_t count, capacity;
	struct served *last;       /* the last one asked for */
	struct refusals unknown;   /* of filters that there aren't */
};

/*
 * Open the folder and its filters, `open_max` at a time; NULL if it fails.
 * `leases` is where their leases are, or NULL, and must stay.
 */
struct catalog *catalog_open(const struct serve_settings *plan,
    struct leases *leases, size_t open_max, struct error *error);

/* Close all filters; -1 if what is only in memory could not be written. */
int catalog_close(struct catalog *catalog, struct error *error);

int catalog_is_name(struct bytes name);

/*
 * The filter with that name; NULL if there is none, also if it can't be a name.
 * Valid until the next call that finds, adds, removes or lists filters.
 */
struct served *catalog_find(struct catalog *catalog, struct bytes name);

/* A request was refused since there is no filter of that name. */
void catalog_refuse(struct catalog *catalog, struct bytes name);

/*
 * The window of a filter to be made. One of lines must be the capacity, which
 * is rounded up like it. Returns 0, or -1.
 */
int catalog_window(struct filter_design *wanted, const char *text);

/*
 * Create a filter of this capacity, rate, growth and window. Returns 1 if there
 * is a file of that name, whatever it is.
 */
int catalog_add(struct catalog *catalog, struct bytes name,
    const struct filter_design *wanted, struct error *error);

/* Remove a filter with its file. Returns 1 if there is none. */
int catalog_remove(struct catalog *catalog, struct bytes name,
    struct error *error);

/* Make the list what the folder has now, at most once a second. */
void catalog_list(struct catalog *catalog);

#endif
