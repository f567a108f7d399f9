/*
 * The filters of a folder, by name: NAME is the file NAME.bloom. The folder is
 * locked, and so is each filter that is open. A filter that can't be opened
 * stays in the catalog with the reason. Opening it is tried again, and the
 * folder is searched for new files, each at most once a second.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef CATALOG_H
#define CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "disk/format.h"
#include "serve/bytes.h"

#define CATALOG_NAME_MAX 64

struct catalog;
struct filter;
struct served; /* one of the filters */

/*
 * Open the folder and all of its filters, only for reading if `read_only`. All
 * filters together may have `limit` bytes.
 */
int catalog_open(struct catalog **catalog, const char *folder, int read_only,
    uint64_t limit, struct error *error);

/* Close all filters; -1 if what is only in memory could not be written. */
int catalog_close(struct catalog *catalog, struct error *error);

/* Is it a name, and what a name is. */
int catalog_is_name(struct bytes name);
extern const char catalog_name_rule[];

/* The filter with that name; NULL if there is none. */
struct served *catalog_find(struct catalog *catalog, struct bytes name);

/*
 * Create a filter; a window of kind WINDOW_NONE is none. Returns 1 if there is
 * a file of that name, whatever it is.
 */
int catalog_add(struct catalog *catalog, struct bytes name,
    uint64_t capacity, double error_rate, const struct window *window,
    enum growth growth, struct error *error);

/* Remove a filter with its file. Returns 1 if there is none. */
int catalog_remove(struct catalog *catalog, struct bytes name,
    struct error *error);

/* All filters, sorted by name. */
size_t catalog_count(const struct catalog *catalog);
struct served *catalog_at(const struct catalog *catalog, size_t i);

/* The limit of all filters together, and their size now, in bytes. */
uint64_t catalog_limit(const struct catalog *catalog);
void catalog_set_limit(struct catalog *catalog, uint64_t limit);
uint64_t catalog_bytes(const struct catalog *catalog);

const char *served_name(const struct served *served);

/* The filter, or NULL if it can't be used; and the reason then. */
struct filter *served_filter(const struct served *served);
const char *served_reason(const struct served *served);

/* The filter failed: from now on it can't be used. */
void served_break(struct served *served, const struct error *error);

/* The digest of a subkey. LOOPS_PADDING bytes after it may be read. */
struct digest served_digest(struct served *served, struct bytes subkey);

/* Is the mapped file still whole? -1 if not. */
int served_check(const struct served *served, struct error *error);

/* How many new lines it has room for without growing. */
uint64_t served_room(const struct served *served);

/*
 * Is there room for `wanted` new lines, or may the filter grow within the limit
 * of all filters? -1 (STATUS_FULL) if not.
 */
int served_may_grow(const struct served *served, uint64_t wanted,
    struct error *error);

/*
 * Are nine tenths of the newest layer used? Then make room ahead, in the
 * background; an error is reported when the room is needed.
 */
int served_is_nearly_full(const struct served *served);
void served_grow_ahead(struct served *served);

/* Was it made for a fixed number of lines? It must be open. */
int served_is_fixed(const struct served *served);

/* BF.RESERVE's EXPANSION: reported, not used, and 2 after a restart. */
uint32_t *served_expansion(struct served *served);

/* A number for the caller's own use; -1 until the caller sets it. */
int *served_slot(struct served *served);

#endif
