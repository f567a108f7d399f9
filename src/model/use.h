/*
 * How a run uses a filter, and what the filter answers: words of the interface
 * that every kind of filter shares (filter/filter.h).
 */
#ifndef MODEL_USE_H
#define MODEL_USE_H

#include <stdint.h>

#include "disk/file.h"

/* How a run uses a filter. */
struct filter_use {
	int writable;          /* else nothing of it is changed */
	struct lock_wait wait; /* if writable: for other runs */
	int growth;            /* an enum growth, or -1: as it was made */
	uint64_t max_bytes;    /* how large it may become, or UINT64_MAX */
	int sync;              /* filter_sync must be possible */
	int claim;             /* filter_claim is used: only on a server */
	int no_link;           /* a symbolic link to it is refused */
	int unsynced;          /* a new file gets its name at once, before it
	                        * is on the disk */
	int in_place;          /* what is marked survives the process at once:
	                        * the file is mapped, however large it is */
};

/* For commands that only look, and for filters in memory. */
#define FILTER_READ { .growth = -1, .max_bytes = UINT64_MAX }
#define FILTER_WRITE { .writable = 1, .growth = -1, .max_bytes = UINT64_MAX }

/* The answer to a request for room for a number of new lines. */
enum room {
	ROOM_ENOUGH, /* there is room for all of them */
	ROOM_AGAIN,  /* for fewer, and for the others after another probe: a
	                window will have moved on */
	ROOM_SHORT   /* for fewer, and no more can be made */
};

/* What became of a digest that was claimed (filter_claim). */
enum claim {
	CLAIM_OURS,  /* nobody knew it: it is remembered, and ours; also if the
	                server's answer was lost, so that nobody knows */
	CLAIM_TAKEN, /* it was remembered before */
	CLAIM_UNDONE /* nothing was done, and nothing is known */
};

/* What became of a filter in a file since it was opened. */
enum filter_state {
	FILTER_CURRENT,
	FILTER_OUTDATED, /* opened for reading; its table has changed */
	FILTER_REPLACED, /* its name has another file, or none */
	FILTER_OVERWRITTEN /* its file has become another filter, or none: it
	                      can only be closed, which doesn't write to it */
};

/* What a filter consists of and has cost: 0 where it isn't known. */
struct filter_costs {
	uint64_t private_bytes; /* memory for changes of a file */
	uint64_t coming_bytes;  /* a layer that is made in the background */
	unsigned shards;        /* on a server: how many; never 0 there */
	int own_shards;         /* they are the server's own filters, which
	                           grow; else bit strings */
};

#endif
