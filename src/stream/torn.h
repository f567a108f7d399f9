/*
 * Outputs never keep a part of a record: what a write that failed has left of
 * one is cut off again, and what a run that was killed has left is cut off by
 * the next run that appends to the file, if a note says that a write was under
 * way (disk/notes.h). Without a note, nobody knows whose bytes they are, and
 * they only get an end, so that no record is glued to them.
 *
 * A file is cut only if nobody else has it open, whom that would confuse: a
 * program that follows it, or another writer.
 */
#ifndef STREAM_TORN_H
#define STREAM_TORN_H

#include "base/error.h"
#include "disk/notes.h"
#include "key/record.h"
#include "stream/output.h"

/*
 * Begin to keep the output whole, if it is a regular file; otherwise do
 * nothing. Bytes are noted in `notes`, unless it is NULL, as those of output
 * `number`. Returns whether it is a regular file.
 */
int torn_watch(struct output *output, struct notes *notes, unsigned number);

/* Note that the next byte written begins a record. */
void torn_begin(struct output *output);

/*
 * Cut off a torn record after a write that failed: of the bytes written since
 * torn_begin, the first `whole` are whole records. If it cannot be cut off,
 * `error` also says that the file is torn, and output->is_torn is set.
 */
void torn_cut(struct output *output, uint64_t whole, struct error *error);

/*
 * Write all of `data`, or nothing: torn_begin, output_write and, if need be,
 * torn_cut.
 */
int torn_write(struct output *output, const void *data, size_t nbytes,
    struct error *error);

/*
 * Repair the output before a run appends to it: if an earlier run was killed
 * while it wrote to it, as one of `notes` says, cut it back to its last whole
 * record; otherwise, if its last record has no end, end it. Either is reported
 * to `notice`. Does nothing while others append to the file.
 */
int torn_mend(struct output *output, const struct record_format *format,
    const struct note notes[NOTES_COUNT], void (*notice)(const char *text),
    struct error *error);

#endif
