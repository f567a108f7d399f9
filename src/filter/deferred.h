/*
 * Marks that are held back until their lines are safe: a filter on top of
 * another one. For --sync, until the output is on the disk; for --atomic, until
 * the whole run has succeeded. For --dry-run, which only reads the other
 * filter, until it is closed: then they are forgotten.
 *
 * Until then, the run's new lines are looked up in a pending filter in memory,
 * whose error rate is the share of p that the layers leave (sizing.h). Their
 * digests are kept in a list, or in the journal, until they are marked in the
 * filter.
 */
#ifndef FILTER_DEFERRED_H
#define FILTER_DEFERRED_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct filter;
struct journal_output;
struct lock_wait;

/* Functions that make lines safe return 0, or -1 with `error` filled. */
struct deferred_promise {
	/* Before the commit: all that can fail. */
	int (*keep)(void *context, struct error *error);
	/* After it: gives new files their names, the main output last. */
	int (*name)(void *context, struct error *error);
	void *context;
	/*
	 * The run's outputs, JOURNAL_OUTPUTS of them, or NULL; `keep` completes
	 * them. Those that are appended to are open as `fds`, and get the
	 * journal's text after the commit.
	 */
	const struct journal_output *outputs;
	const int *fds;
	void (*notice)(const char *text); /* messages */
};

enum deferred_how {
	DEFERRED_LIST,    /* marks are kept in a list in memory */
	DEFERRED_JOURNAL, /* marks are kept in the journal */
	DEFERRED_OUTPUTS  /* the same, beside outputs that get text or their
			   * names after the commit */
};

/*
 * Hold back the marks for *filter, which is in a file: *filter becomes the
 * filter that does so, and closing it closes both. In the journal, all are kept
 * until deferred_commit. A full list is marked at once, after `promise` was
 * kept. On failure *filter is unchanged.
 *
 * Closing it discards what is still held: it is not remembered. But a journal
 * that has its commit and could not be applied stays for the next run.
 */
int deferred_begin(struct filter **filter, enum deferred_how how,
    const struct deferred_promise *promise, struct error *error);

/* Store text for an output (DEFERRED_OUTPUTS): journal_add_text. */
int deferred_add_text(struct filter *filter, unsigned output, int is_header,
    const void *text, size_t nbytes, struct error *error);

/*
 * Mark all that is held. First the filter is extended and the journal synced,
 * so that what can fail fails here. Then `promise` is kept; then the journal
 * gets its commit, new files get their names, its text is appended, the journal
 * says so, the bits are set and synced, and the journal is removed. Returns 0,
 * or -1 with `error` filled; after a failure, filter_close decides what becomes
 * of the journal.
 */
int deferred_commit(struct filter *filter,
    const struct deferred_promise *promise, struct error *error);

/*
 * Finish an earlier run of a filter file that was just opened for writing:
 * apply the journal of a run that ended after its commit, which is reported to
 * wait->notice, and remove that of a run that ended before its commit. Waits,
 * as `wait` says, for another run that appends to the same output. Notes
 * (notes.h) stay: they are for the next run that has outputs.
 */
int deferred_recover(struct filter *filter, const struct lock_wait *wait,
    struct error *error);

/*
 * For readers, which change nothing: put a complete journal, if there is one,
 * on top of *filter, so that its lines are found. Otherwise *filter is
 * unchanged.
 */
int deferred_read(struct filter **filter, struct error *error);

/*
 * Turn *filter, which may be open for reading only, into a filter whose marks
 * are forgotten when it is closed, which closes both. It is never full, and a
 * window does not move on meanwhile. On failure *filter is unchanged.
 */
int deferred_preview(struct filter **filter, struct error *error);

#endif
