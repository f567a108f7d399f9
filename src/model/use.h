/*
 * The use of a filter by a run, and the filter's answers: types of the
 * interface that every kind of filter shares (filter/filter.h).
 */
#ifndef MODEL_USE_H
#define MODEL_USE_H

#include <stdint.h>

#include "disk/file.h"

/* The use of a filter by a run. */
struct filter_use {
	int writable;          /* else nothing of it is changed */
	struct lock_wait wait; /* lock, and patience with other runs, only if
			        * writable; and with a server */
	int growth;            /* an enum growth, or -1: as it was made */
	uint64_t max_bytes;    /* bytes that it may become, or UINT64_MAX */
	int sync;              /* filter_sync must be possible */
	int claim;             /* filter_claim is used: only on a server */
	int no_link;           /* a symbolic link to it is refused */
	int unsynced;          /* a new file gets its name at once, before it
	                        * is on the disk */
	int in_place;          /* do marks survive the process at once? then the
			        * file is mapped, however large it is */
};

/* The use of commands that only look lines up, and of filters in memory. */
#define FILTER_READ { .growth = -1, .max_bytes = UINT64_MAX }
#define FILTER_WRITE { .writable = 1, .growth = -1, .max_bytes = UINT64_MAX }

/* The answer to a request for room for a number of new lines. */
enum room {
	ROOM_ENOUGH, /* there is room for all of them */
	ROOM_AGAIN,  /* there is room for fewer; the others get theirs after
		      * another probe, when the window has moved on */
	ROOM_SHORT   /* there is room for fewer, and no more can be made */
};

/* The outcome of a claim (filter_claim) for a digest. */
enum claim {
	CLAIM_OURS,  /* nobody knew it: it is remembered, and ours; also if the
	                server's answer was lost, so that nobody knows */
	CLAIM_TAKEN, /* it was remembered before */
	CLAIM_UNDONE /* nothing was done, and nothing is known */
};

/* The state of a filter's file since it was opened. */
enum filter_state {
	FILTER_CURRENT,
	FILTER_OUTDATED, /* opened for reading; its table has changed */
	FILTER_REPLACED, /* its name has another file, or none */
	FILTER_OVERWRITTEN /* its file has become another filter, or none: it
	                      can only be closed, which does not write to it */
};

/* The parts and the cost of a filter; a figure that is not known is 0. */
struct filter_costs {
	uint64_t private_bytes; /* memory for changes of a file */
	uint64_t coming_bytes;  /* a layer that is made in the background */
	unsigned shards;        /* number of shards on a server; 0: the filter
				 * is not on a server */
	int own_shards;         /* they are the server's own filters, which
	                           grow; else bit strings */
};

#endif
