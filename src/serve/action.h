/* What a sweep does with the subkeys of its operations. */
#ifndef SERVE_ACTION_H
#define SERVE_ACTION_H

/*
 * What an operation does with its subkey. Without leases, only the first three
 * occur, and setting is the same as adding.
 */
enum action {
	ACTION_ADD,    /* remember it, unless it is leased */
	ACTION_LOOK,   /* only look it up */
	ACTION_SET,    /* remember it, which ends its lease */
	ACTION_LEASE,  /* lease it, unless it is remembered or leased */
	ACTION_RETURN, /* end its lease */
	ACTION_RENEW   /* its lease lasts longer, or shorter */
};

/* What an operation found; as a number, in a filter's share of the sweep. */
enum result {
	RESULT_NEW,      /* neither seen nor leased */
	RESULT_SEEN,     /* it was remembered before */
	RESULT_LEASED,
	/* From here on, it failed: */
	RESULT_FULL,     /* the filter has no room for it */
	RESULT_NO_PLACE, /* for a lease, in the table, */
	RESULT_NO_SHARE  /* or in the filter's half of it */
};

#endif
