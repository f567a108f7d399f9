/*
 * The journal of an --atomic run: the digests of its new lines, in the file
 * FILTER.journal, until the run has succeeded and their bits are set.
 *
 * A sequence of frames, each with a checksum: the first has the filter's id,
 * then come digests, and at last a commit that says which digests belong to
 * which layer. A journal without a commit does not count. One with a commit is
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
#include "key/record.h"

/* The next `count` digests belong to layer number `layer`. */
struct journal_span {
	uint32_t layer;
	uint64_t count;
};

/*
 * An output of the run, as it was at the commit: a later run that finishes this
 * one knows the file by its inode.
 */
#define JOURNAL_OUTPUTS 3
#define JOURNAL_PATH_MAX 4096
struct journal_output {
	enum {
		/* values as stored in the file */
		JOURNAL_NO_OUTPUT = 0,
		JOURNAL_REPLACED = 1, /* it gets its name after the commit */
		JOURNAL_APPENDED = 2  /* it gets the journal's text */
	} kind;
	uint64_t device, inode;
	uint64_t length; /* bytes of the file at the commit */
	uint64_t changed; /* time of its last change then (os_changed) */
	struct record_format format;
	char path[JOURNAL_PATH_MAX]; /* path of the file, also for messages */
};

struct journal {
	int fd;        /* -1 if there is none */
	char *path;    /* owned */
	uint8_t *frame; /* one frame, as in the file; owned */
	uint32_t kind;  /* kind of the frame that was read last */
	size_t payload; /* bytes of that frame's payload */
	size_t used;   /* digests in the frame that is not written yet */
	uint64_t count; /* digests in the whole journal */
	uint64_t offset; /* offset in the file where the next frame is read or
			  * written */
	struct journal_span spans[TABLE_LAYERS_MAX];
	size_t span_count;
	int has_outputs; /* is it of a version that has outputs and text? */
	int is_done;     /* are all outputs as they should be, so that only the
			  * marks are missing? */
	uint64_t done_at; /* offset of the frame that says so */
	struct journal_output *outputs; /* JOURNAL_OUTPUTS of them; owned */
};

/* The state before any open, on which journal_close does nothing. */
#define JOURNAL_NONE { .fd = -1 }

/*
 * Fail if a journal is in the way of a new filter with this (resolved) name:
 * one whose filter is gone, or the name itself is a journal's. A journal
 * without a commit is in nobody's way, and is removed.
 */
int journal_check_new(const char *filter, struct error *error);

/*
 * The name of the journal of `filter` (its resolved name), which is
 * FILTER.journal. The caller frees it.
 */
#define JOURNAL_SUFFIX ".journal"
char *journal_name(const char *filter);

/*
 * Begin a journal for the filter file `filter` (its resolved name). Syncs its
 * name, and so the filter's, to the disk. If it `has_outputs`, older versions
 * refuse it, since they could not finish it; and since whoever finishes it
 * writes to the files that it names, nobody but its owner may write to it.
 */
int journal_create(struct journal *journal, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], int has_outputs, struct error *error);

/*
 * Fail if somebody else than root or the user of this process could have
 * written the journal, so that the files that it names must not be written to.
 */
int journal_check_trust(const struct journal *journal, struct error *error);

/*
 * Create a journal of no filter, for text that is appended in the end: in a
 * file without a name in the directory of `output`, which is gone once it is
 * closed. Errors name the output.
 */
int journal_create_nameless(struct journal *journal, const char *output,
    struct error *error);

/* Add digests. They are in the file after the next journal_prepare. */
int journal_add(struct journal *journal, const struct digest *digests,
    size_t n, struct error *error);

/*
 * Add text, a piece of whole records, that is to be appended to output number
 * `output`, after all text that was added for it before. A header is only for a
 * file that is empty.
 */
int journal_add_text(struct journal *journal, unsigned output, int is_header,
    const void *text, size_t nbytes, struct error *error);

/*
 * Sync all that was added to the disk, and reserve room for all that is written
 * later: for the commit, and for journal->outputs, which the caller has set.
 */
int journal_prepare(struct journal *journal, struct error *error);

/*
 * Write what was added since, the outputs, and then the commit with these spans
 * (at most TABLE_LAYERS_MAX, whose counts add up to the digests in the
 * journal), and sync all of it. From then on the journal counts.
 */
int journal_commit(struct journal *journal, const struct journal_span *spans,
    size_t count, struct error *error);

/* Open a journal that was opened for reading once more, to finish it. */
int journal_reopen(struct journal *journal, struct error *error);

/*
 * Has the run given its main output its name? If so, the journal counts, though
 * the run may have failed just then.
 */
int journal_is_in_place(const struct journal *journal);

/*
 * All outputs have what they should have, on the disk: from now on, nobody who
 * finishes the run looks at them.
 */
int journal_done(struct journal *journal, struct error *error);

enum journal_state {
	JOURNAL_FAILED = -1,
	JOURNAL_COMPLETE, /* it has a commit, and its spans are known; if files
			   * get names after the commit, the main one has it */
	JOURNAL_ABSENT,
	JOURNAL_UNFINISHED /* it has no commit, and does not count */
};

/*
 * Look for a journal of this filter (its resolved name), with any id if `id` is
 * NULL. After JOURNAL_FAILED, `error` is filled, and after JOURNAL_ABSENT there
 * is none: in both cases nothing is open. Otherwise it is open for reading, to
 * be closed or removed; its spans and outputs are known if it is complete. A
 * journal of another filter, or a file that is not a journal, is an error: it
 * is not ours to remove.
 */
enum journal_state journal_open(struct journal *journal, const char *filter,
    const uint8_t id[FILTER_ID_BYTES], struct error *error);

/*
 * Call `visit` for all digests of a complete journal in their order, with up to
 * JOURNAL_PIECE of one span at a time, all for the span's layer number `layer`.
 * Returns 0; or -1, with `error` filled, if the journal cannot be read, or if
 * `visit` returns -1.
 */
#define JOURNAL_PIECE 256
typedef int journal_visit(void *context, unsigned layer,
    const struct digest *digests, size_t n, struct error *error);
int journal_each(struct journal *journal, journal_visit *visit, void *context,
    struct error *error);

/*
 * Call `visit` for the text of output number `output` of a complete journal, in
 * the pieces that were added, but not for a header if the output has a length,
 * until it returns anything but 0, which is returned then. Returns -1,
 * with `error` filled, also if the journal cannot be read.
 */
typedef int journal_visit_text(void *context, const uint8_t *text,
    size_t nbytes, struct error *error);
int journal_each_text(struct journal *journal, unsigned output,
    journal_visit_text *visit, void *context, struct error *error);

/*
 * Remove the journal and close it, also if that fails. If a power failure
 * brings its name back, the next run removes it.
 */
int journal_remove(struct journal *journal, struct error *error);

/*
 * Remove the journal, if any, of a file that is no longer a filter, and this
 * user's notes (notes.h). A file that is not a journal is an error, and stays.
 */
int journal_discard(const char *filter, struct error *error);

/* Remove and close it where nothing depends on whether that works. */
void journal_forget(struct journal *journal);

/* Close it without removing it: its file stays as it is. */
void journal_close(struct journal *journal);

#endif
