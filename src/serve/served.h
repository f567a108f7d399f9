/*
 * One filter of the folder that is served: the file NAME.bloom, locked while it
 * is open. One that can't be used has a reason. At most once a second, at a
 * request, it is compared with what its name stands for, or opened again.
 *
 * Only so many are open at a time: if another one is needed, the one that was
 * not used for the longest time is closed.
 *
 * Functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef SERVED_H
#define SERVED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "model/plan.h"
#include "serve/bytes.h"

#define SERVED_NAME_MAX 64

struct filter;
struct served;

/* What the filters of a folder share. */
struct served_pool {
	const char *folder;
	int read_only;
	void (*tell)(const char *text); /* one line for the user */
	uint64_t second;       /* since the start; not 0 */
	uint64_t limit, bytes; /* of all filters: how many they may have, and
	                          have, with layers that are being made */
	size_t open, open_max; /* filters */
	struct served *newest, *oldest; /* open ones, by their last use */
};

/* A filter that isn't open yet; the pool must stay. */
struct served *served_new(struct served_pool *pool, struct bytes name);

/* Close and free; -1 if what is only in memory could not be written. */
int served_free(struct served *served, struct error *error);

/* Create its file, and open it. Returns 1 if there is a file already. */
int served_create(struct served *served, const struct filter_design *plan,
    struct error *error);

/*
 * To call before it is used: open it if it isn't, and once a second see whether
 * its name has another file, or a reader's file another table. Returns 1 if it
 * has no file. If `now`, look again even within the second.
 */
int served_look(struct served *served, int now);

/* It won't be asked for soon: just note how large its file is. */
void served_postpone(struct served *served);

/* Has its name no file, which served_look would tell? */
int served_is_gone(const struct served *served);

const char *served_name(const struct served *served);
size_t served_name_bytes(const struct served *served);
const char *served_path(const struct served *served);

/* How many bytes it has, also if it isn't open; 0 if it can't be used. */
uint64_t served_bytes(const struct served *served);

/* The filter, or NULL if it can't be used; and the reason then. */
struct filter *served_filter(const struct served *served);
const char *served_reason(const struct served *served);

/* Is it locked, or can't it be opened for another reason than its contents? */
int served_is_foreign(const struct served *served);

/* The filter failed: from now on it can't be used. */
void served_break(struct served *served, const struct error *error);

/* A request was refused for this reason: reported once a minute. */
void served_refuse(struct served *served, const char *reason);

/* So many lines were stored in it. */
void served_stored(struct served *served, uint64_t lines);

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
int served_may_grow(struct served *served, uint64_t wanted,
    struct error *error);

/*
 * If nine tenths of the newest layer are used, make room ahead, in the
 * background; an error is reported when the room is needed.
 */
void served_grow_ahead(struct served *served);

/* Was it made for a fixed number of lines? It must be open. */
int served_is_fixed(const struct served *served);

/* BF.RESERVE's EXPANSION: reported, not used, and 2 after a restart. */
uint32_t *served_expansion(struct served *served);

/*
 * A number for the caller's own use; -1 until the caller sets it. While it is
 * not -1, the filter stays open.
 */
int *served_slot(struct served *served);

#endif
