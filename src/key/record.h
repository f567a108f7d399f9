/*
 * The records of the input: lines, or records of comma-separated values, RFC
 * 4180; and the fields of these. A quote opens a quoted field only at the
 * field's beginning; in such a field, two quotes stand for one, and separators
 * and line ends are data. A quote elsewhere is an ordinary byte.
 *
 * The UTF-8 byte order mark at the beginning of a record is not part of the
 * first field, so that it doesn't hide a quote.
 */
#ifndef RECORD_H
#define RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"

/* A quote that is never closed must not fill the memory. */
#define RECORD_MAX_BYTES (UINT64_C(1) << 30)

struct csv_format {
	uint8_t separator;
	uint8_t terminator; /* of a record */
};

struct record_format {
	struct csv_format csv; /* for lines, only the terminator counts */
	int is_csv;
	uint64_t max_bytes;    /* of a CSV record; 0: no limit */
};

/* The state of a scan; all zero at the beginning of a file. */
struct csv_state {
	enum {
		CSV_RECORD_START,
		CSV_MARK_1, /* after this many bytes of a byte order mark */
		CSV_MARK_2,
		CSV_FIELD_START,
		CSV_PLAIN,
		CSV_QUOTED,
		CSV_QUOTE_IN_QUOTED
	} in;
	uint64_t lines;        /* terminators so far, */
	uint64_t quoted_lines; /* of which these are inside quotes */
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

/* The fields of a record, one by one. */
struct csv_fields {
	uint8_t separator;
	const uint8_t *next; /* where the next begins; NULL after the last */
	const uint8_t *end;  /* of the record */
	int quoted;          /* in the last one, quotes may be doubled */
};

/* The first one begins after the byte order mark, if there is one. */
struct csv_fields csv_fields_begin(const struct csv_format *format,
    const uint8_t *data, const uint8_t *end);

/* The next field, without the quotes around it; it is a part of the record. */
struct key csv_fields_next(struct csv_fields *fields);

/* Copy a value, with one quote for each two; returns the copy's length. */
size_t csv_undouble(struct key value, uint8_t *to);

/* The quote that opens and isn't closed in a record without an end. */
const uint8_t *csv_open_quote(const struct csv_format *format,
    const uint8_t *data, const uint8_t *end);

#endif
