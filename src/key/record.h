/*
 * The records of the input: lines, or records of CSV.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "key/csv.h"

/* A quote that is never closed must not fill the memory. */
#define RECORD_MAX_BYTES (UINT64_C(1) << 30)

struct record_format {
	struct csv_format csv; /* for lines, only the terminator counts */
	int is_csv;
	uint64_t max_bytes;    /* of a CSV record; 0: no limit */
};

/*
 * Continue the scan with the next `nbytes` of the file. Returns where the last
 * record in them ends (after its terminator), 0 if none does. Up to
 * LOOPS_PADDING bytes after them may be read, whatever they are.
 */
size_t record_scan(const struct record_format *format,
    struct csv_state *state, const uint8_t *data, size_t nbytes);

/*
 * No record may be larger than format->max_bytes, its terminator aside. `data`
 * begins with a record, was scanned up to `to`, and its last whole record ends
 * at *end. -1 (STATUS_FAILED, without a file's name) if one of them is too
 * large, or what follows if there is none; *end becomes where it begins.
 */
int record_check_size(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t *end,
    size_t to, struct error *error);

/*
 * At the end of the file, whose last bytes, without an end, are the record at
 * `data`: -1, with a text that says where, if a quote was never closed. The
 * record still ends there.
 */
int record_check_end(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t nbytes,
    struct error *error);

/*
 * Find at most `limit` records in [data, end), which has whole records only.
 * Returns how many; starts[i] is where record i begins, starts[result] where
 * the last one ends, and starts has room for limit + 1. Up to LOOPS_PADDING
 * bytes after `end` may be read, whatever they are.
 */
size_t record_split(const struct record_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t limit);

#endif
