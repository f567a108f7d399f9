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
 * From now on, the output is kept whole, if it is a regular file; nothing
 * happens if it isn't. `notes` are noted as those of output `number`; NULL:
 * none. Returns whether it is such a file.
 */
int torn_watch(struct output *output, struct notes *notes, unsigned number);

/* What is written next begins with a record. */
void torn_begin(struct output *output);

/*
 * After a write that failed: of what was written since torn_begin, the first
 * `whole` bytes are whole records; cut off the rest. If that isn't possible,
 * `error` also says that the file is torn, and output->is_torn is set.
 */
void torn_cut(struct output *output, uint64_t whole, struct error *error);

/* torn_begin, output_write and, if need be, torn_cut: all of it, or nothing. */
int torn_write(struct output *output, const void *data, size_t nbytes,
    struct error *error);

/*
 * Before a run appends to its output: if an earlier run was killed over it, as
 * one of `notes` says, cut it back to its last whole record; else, if it
 * doesn't end with a record's end, end it. Either is reported to `notice`.
 * Nothing happens while others append to the file.
 */
int torn_mend(struct output *output, const struct record_format *format,
    const struct note notes[NOTES_COUNT], void (*notice)(const char *text),
    struct error *error);

#endif
