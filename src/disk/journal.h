/*
 * The journal of an --atomic run: the digests of its new lines, in the file
 * FILTER.journal, until the run has succeeded and their bits are set.
 *
 * A sequence of frames, each with a checksum: the first has the filter's id,
 * then come digests, and at last a commit that says which digests belong to
 * which layer. A journal without a commit doesn't count. One with a commit is
 * applied by the next run: setting bits twice does no harm. Behind the commit
 * are the outputs of the run; the text that it appends to one of them is
 * between the digests. See bloomdedup(5), "Journal".
 *
 * All functions return 0, or -1 with `error` filled; exceptions are stated.
 */
#ifndef DISK_JOURNAL_H
#define DISK_JOURNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "disk/table.h"

/* The next `count` digests belong to layer number `layer`. */
struct journal_span {
	uint32_t layer;
	uint64_t count;
};

/* An output of the run. */
#define JOURNAL_OUTPUTS 2
#define JOURNAL_PATH_MAX 4096
struct journal_output {
	enum {
		/* values as stored in the file */
		JOURNAL_NO_OUTPUT = 0,
		JOURNAL_REPLACED = 1, /* it was in place before the commit */
		JOURNAL_APPENDED = 2  /* it gets the journal's text */
	} kind;
	uint64_t device, inode;
	uint64_t length; /* if appended: that of the file at the commit */
	char path[JOURNAL_PATH_MAX];
};

struct journal {
	int fd;        /* -1 if there is none */
	char *path;
	uint8_t *frame; /* one frame, as in the file, */
	uint32_t kind;  /* and if it was read, its kind */
	size_t payload; /* and the length of its payload */
	size_t used;   /* digests that were added to it */
	uint64_t count; /* digests in all */
	uint64_t offset; /* where the next frame is read or written */
	struct journal_span spans[TABLE_LAYERS_MAX];
	size_t span_count;
	struct journal_output outputs[JOURNAL_OUTPUTS];
};

#define JOURNAL_NONE { .fd = -1 }

/*
 * Fail if a journal is in the way of a new filter with this (resolved) name:
 * one whose filter is gone, or the name itself is a journal's. A journal
 * without a commit is in nobody's way, and is removed.
 */
int journal_check_new(const char *filter, struct error *error);

/* FILTER.journal, for the resolved name of the filter; to be freed. */
#define JOURNAL_SUFFIX ".journal"
char *journal_name(const char *filter);

/*
 * Begin a journal for the filter file `filter` (its resolved name). Syncs its
 * name, and so the filter's, to the disk. If it `has_text`, older versions
 * refuse it, since they could not finish it.
 */
int journal_create(struct journal *journal, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], int has_text, struct error *error);

/*
 * The same for notes.h: a journal that never gets a commit. That of an earlier
 * run is replaced, and nothing is synced.
 */
#define JOURNAL_BEGIN_BYTES (16 + 4 + FILTER_ID_BYTES)
int journal_create_for_notes(struct journal *journal, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error);

int journal_add(struct journal *journal, const struct digest *digests,
    size_t n, struct error *error);

/* Add text that is to be appended to output number `output`. */
int journal_add_text(struct journal *journal, unsigned output,
    const void *text, size_t nbytes, struct error *error);

/*
 * Sync all that was added to the disk, and reserve room for the commit frame
 * and for journal->outputs, which the caller has set.
 */
int journal_prepare(struct journal *journal, struct error *error);

/* The same, then write the outputs and the commit, and sync them. */
int journal_commit(struct journal *journal, const struct journal_span *spans,
    size_t count, struct error *error);

enum journal_state {
	JOURNAL_FAILED = -1,
	JOURNAL_COMPLETE, /* it has a commit, and its spans are known */
	JOURNAL_ABSENT,
	JOURNAL_UNFINISHED, /* it has no commit, and doesn't count */
	JOURNAL_NOTES     /* the same; it has notes of its run's writes */
};

/*
 * Look for a journal of this filter, with any id if `id` is NULL; it is open
 * then, unless it is absent. A journal of another filter, or a file that isn't
 * a journal, is an error: it is not ours to remove.
 */
enum journal_state journal_open(struct journal *journal, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error);

/*
 * After the commit: call `visit` for all digests in their order, up to
 * JOURNAL_PIECE of a span (for `layer`) at a time, until it returns -1.
 */
#define JOURNAL_PIECE 1024
typedef int journal_visit(void *context, unsigned layer,
    const struct digest *digests, size_t n, struct error *error);
int journal_each(struct journal *journal, journal_visit *visit, void *context,
    struct error *error);

/*
 * After the commit: call `visit` for the text of output number `output`, in
 * pieces, until it returns anything but 0, which is returned then. -1 also if
 * the journal can't be read, with `error` filled.
 */
typedef int journal_visit_text(void *context, const uint8_t *text,
    size_t nbytes, struct error *error);
int journal_each_text(struct journal *journal, unsigned output,
    journal_visit_text *visit, void *context, struct error *error);

/*
 * Remove and close it. If a power cut brings it back, the next run removes it.
 */
int journal_remove(struct journal *journal, struct error *error);

/*
 * Remove the journal, if any, of a file that is no longer a filter. A file that
 * isn't a journal is an error, and stays.
 */
int journal_discard(const char *filter, struct error *error);

/* Remove and close it, where nothing depends on whether it comes back. */
void journal_forget(struct journal *journal);

/* Close without removing. */
void journal_close(struct journal *journal);

#endif
