/*
 * One filter of the directory that is served: the file NAME.bloom, locked while
 * it is open. A filter that cannot be used has a reason. At most once a second,
 * at a request, it is compared with the file of its name, or opened again.
 *
 * At most open_max filters are open at a time: if another one is needed, the
 * one that was not used for the longest time is closed.
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
#include "model/design.h"
#include "model/use.h"
#include "serve/buffer.h"
#include "serve/service.h"

#define SERVED_NAME_MAX 64

struct filter;

/* The state that all filters of a directory share. */
struct served_pool {
	const struct serve_settings *settings;
	uint64_t second;       /* seconds since the start, from 1 on */
	uint64_t limit;        /* bytes that all filters together may take */
	uint64_t bytes;        /* bytes that they take, with layers that are
	                        * being made */
	size_t open, open_max; /* the number of filters that are open, and may
	                        * be */
	uint64_t openings;     /* number of times that one was opened */
	struct leases *leases; /* the leases of all filters; NULL without
	                        * --lease */
	struct served *newest; /* the open filter used last, or NULL */
	struct served *oldest; /* the one not used for the longest time */
};

/* Requests that met one trouble. */
struct refusals {
	uint64_t count;        /* requests since the last report */
	uint64_t reported;     /* the second of the last report, or 0 */
};

/* Other files only read it, but for `expansion` and `slot`. */
struct served {
	struct served_pool *pool;
	char name[SERVED_NAME_MAX + 1];
	size_t name_bytes;
	char *path;
	struct filter *filter;     /* NULL if it is not open */
	char *reason;              /* reason why it cannot be used, or NULL */
	int is_locked;             /* is that since another process has it? */
	uint64_t looked;           /* the second of the last look, or 0 */
	uint64_t bytes;            /* its share of pool->bytes */
	uint64_t announced;        /* bytes that its window may need: its share
	                            * is never less; or 0 */
	struct layer_entry next;   /* layer that would be added next */
	struct layer_entry next_after; /* last layer when `next` was computed,
				        * which holds while it is the last */
	uint64_t stored;           /* lines stored since the last look */
	struct error *no_room;     /* error of the last failure to make room;
				    * NULL: there was none */
	uint64_t no_room_until;    /* clock_now when it may be tried again */
	struct refusals refusals;  /* requests that it could not serve */
	struct served *newer, *older; /* its neighbours in the pool's list */
	struct key_recipe recipe;
	struct key_scratch scratch;
	uint32_t lessor;           /* number of its lessor; LESSOR_NONE until a
				    * subkey is leased */
	uint8_t lessor_id[FILTER_ID_BYTES]; /* id of the file in which the
					     * lessor's subkeys are leased */
	uint32_t expansion;        /* BF.RESERVE's: reported, not used, and 2
	                            * after a restart */
	int slot;                  /* the caller's, -1 at first; unless it is
	                            * -1, the filter stays open */
};

/*
 * Returns a filter that is not open yet, for served_free. The pool, which must
 * outlive it, counts it from now on.
 */
struct served *served_new(struct served_pool *pool, struct bytes name);

/*
 * Close and free it. Returns -1 if changes that were only in memory could not
 * be written; it is freed all the same.
 */
int served_free(struct served *served, struct error *error);

/* Create its file, and open it. Returns 1 if there is a file of that name. */
int served_create(struct served *served, const struct filter_design *design,
    struct error *error);

/*
 * Look at its file; to be called before each use. Opens the filter if it is not
 * open; once a second (if `now`, at once) it sees whether the name has another
 * file, or, for a server that only reads, the file another table, and opens it
 * again. Returns 1 if there is no file. Otherwise 0, also if it cannot be used:
 * then `filter` is NULL and `reason` says why.
 */
int served_look(struct served *served, int now);

/* Count the bytes of its file without opening it. */
void served_postpone(struct served *served);

/* Returns its size in bytes, also if it is not open; 0 if it cannot be used. */
uint64_t served_bytes(const struct served *served);

/* Close the filter, which is open, since it failed; `error` is the reason. */
void served_break(struct served *served, const struct error *error);

/* Count a request that met this trouble, which is reported once a minute. */
void served_report(struct served_pool *pool, struct refusals *refusals,
    const char *reason);

/* Count lines that were stored in it. */
void served_stored(struct served *served, uint64_t lines);

/*
 * Returns the lessor of its leases, in pool->leases. They belong to the file:
 * when the name has another one, they are dropped. The filter must be open.
 */
uint32_t served_lessor(struct served *served);

/* Returns the number of its leases, as leases_of_lessor. */
uint64_t served_leases(const struct served *served);

/*
 * Returns the digest of a subkey. LOOPS_PADDING bytes after the subkey may be
 * read, too.
 */
struct digest served_digest(struct served *served, struct bytes subkey);

/* Returns the number of new lines that fit into it without growing. */
uint64_t served_room(const struct served *served);

/*
 * Make room for `wanted` new lines, like filter_reserve, but within the memory
 * limit of all filters: beyond it, the answer is ROOM_SHORT with STATUS_FULL.
 *
 * Making room on a full disk takes milliseconds, in which all clients wait. So
 * after it has failed, it is not tried for a tenth of a second: until then, the
 * answer is ROOM_SHORT with the same error for all who want more than there is.
 * Counts its bytes again, since only this makes it grow.
 */
enum room served_reserve(struct served *served, uint64_t wanted,
    uint64_t *room, struct error *error);

/*
 * Begin to make the next layer in the background if nine tenths of the newest
 * one are used. An error is reported only when that layer is needed.
 */
void served_grow_ahead(struct served *served);

/* Is it open, and made for a fixed number of lines? */
int served_is_fixed(const struct served *served);

#endif
