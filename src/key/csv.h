/*
 * Comma-separated values, RFC 4180: where a record and a field end. A quote
 * opens a quoted field only at the field's beginning; in such a field, two
 * quotes stand for one, and separators and line ends are data. A quote
 * elsewhere is an ordinary byte.
 *
 * The UTF-8 byte order mark at the beginning of a record is not part of the
 * first field, so that it doesn't hide a quote.
 */
#ifndef CSV_H
#define CSV_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"

struct csv_format {
	uint8_t separator;
	uint8_t terminator; /* of a record */
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
 * Continue the scan with the next `nbytes` of the stream. Returns where the
 * last record in them ends (after its terminator), 0 if none does. Up to
 * LOOPS_PADDING bytes after them may be read, whatever they are.
 */
size_t csv_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes);

/* Is the scan in a quoted field? At the end of a file, it was never closed. */
int csv_in_quotes(const struct csv_state *state);

/*
 * As split of scan.h, for whole records, including one that only the end
 * of the file terminates. Up to LOOPS_PADDING bytes after `end` may be read,
 * whatever they are.
 */
size_t csv_split(const struct csv_format *format, const uint8_t *data,
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

/* The quote that opens and isn't closed in a record without an end. */
const uint8_t *csv_open_quote(const struct csv_format *format,
    const uint8_t *data, const uint8_t *end);

#endif
