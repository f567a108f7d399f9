/* The actions of a sweep on the subkeys of its operations. */
#ifndef SERVE_ACTION_H
#define SERVE_ACTION_H

/*
 * The action of an operation on its subkey. Without leases, only the first
 * three occur, and ACTION_SET is the same as ACTION_ADD.
 */
enum action {
	ACTION_ADD,    /* remember it, unless it is leased */
	ACTION_LOOK,   /* only look it up */
	ACTION_SET,    /* remember it, which ends its lease */
	ACTION_LEASE,  /* lease it, unless it is remembered or leased */
	ACTION_RETURN, /* end its lease */
	ACTION_RENEW   /* its lease lasts longer, or shorter */
};

/*
 * The result of an operation; stored as a number in a filter's share of the
 * sweep.
 */
enum result {
	RESULT_NEW,      /* neither seen nor leased */
	RESULT_SEEN,     /* it was remembered before */
	RESULT_LEASED,
	/* The results from here on are failures. */
	RESULT_FULL,     /* the filter has no room for it */
	RESULT_NO_PLACE, /* the table has no place for a lease */
	RESULT_NO_SHARE  /* the filter already has half of the table */
};

#endif
