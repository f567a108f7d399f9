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
#ifndef SERVE_SERVED_H
#define SERVE_SERVED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "disk/table.h"
#include "key/key.h"
#include "model/plan.h"
#include "serve/buffer.h"
#include "serve/service.h"

#define SERVED_NAME_MAX 64

struct filter;

/* What the filters of a folder share. */
struct served_pool {
	const struct serve_settings *plan;
	uint64_t second;       /* since the start; not 0 */
	uint64_t limit, bytes; /* of all filters: how many they may have, and
	                          have, with layers that are being made */
	size_t open, open_max; /* filters */
	struct leases *leases; /* of all filters; NULL without --lease */
	struct served *newest, *oldest; /* open ones, by their last use */
};

struct refusals {
	uint64_t count;            /* of requests, since they were reported, */
	uint64_t reported;         /* in this second, or 0 */
};

/* Others only read it, but for the last two. */
struct served {
	struct served_pool *pool;
	char name[SERVED_NAME_MAX + 1];
	size_t name_bytes;
	char *path;
	struct filter *filter;     /* NULL if it isn't open */
	char *reason;              /* why it can't be used, or NULL */
	uint64_t looked;           /* in which second, or 0 */
	uint64_t bytes;            /* counted in pool->bytes */
	uint64_t announced;        /* of a window: counted at least */
	struct layer_entry next;   /* the next layer, once it is known, */
	struct layer_entry next_after; /* if this is still the last one */
	uint64_t stored;           /* lines, since it was looked at */
	struct refusals refusals;
	struct served *newer, *older; /* of pool, if it is open */
	struct key_recipe recipe;
	int is_whole;              /* key_is_line(&recipe) */
	struct key_scratch scratch;
	uint32_t lessor;           /* LESSOR_NONE until a subkey is leased, */
	uint8_t lessor_id[FILTER_ID_BYTES]; /* in the file with this id */
	uint32_t expansion;        /* BF.RESERVE's: reported, not used, and 2
	                            * after a restart */
	int slot;                  /* the caller's, -1 at first; unless it is
	                            * -1, the filter stays open */
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

/* How many bytes it has, also if it isn't open; 0 if it can't be used. */
uint64_t served_bytes(const struct served *served);

/* The filter, which is open, failed: it is closed. */
void served_break(struct served *served, const struct error *error);

/* A request was refused for this reason, which is reported once a minute. */
void served_report(struct served_pool *pool, struct refusals *refusals,
    const char *reason);

/* So many lines were stored in it. */
void served_stored(struct served *served, uint64_t lines);

/*
 * The lessor of its leases, in pool->leases. They belong to the file: when the
 * name has another one, they are dropped. The filter must be open.
 */
uint32_t served_lessor(struct served *served);

/* How many leases it has, as leases_of_lessor. */
uint64_t served_leases(const struct served *served);

/* The digest of a subkey. LOOPS_PADDING bytes after it may be read. */
struct digest served_digest(struct served *served, struct bytes subkey);

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

/* Was it made for a fixed number of lines? 0 if it isn't open. */
int served_is_fixed(const struct served *served);

#endif
