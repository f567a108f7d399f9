/*
 * The records of the input: lines, or records of comma-separated values, RFC
 * 4180; and the fields of these. A quote opens a quoted field only at the
 * field's beginning; in such a field, two quotes stand for one, and separators
 * and line ends are data. A quote elsewhere is an ordinary byte.
 *
 * With csv_format.backslash, a backslash in a quoted field belongs to the byte
 * after it: with a quote or a backslash, it stands for that byte; other pairs
 * are two bytes of data. Elsewhere, it is an ordinary byte.
 *
 * The UTF-8 byte order mark at the beginning of a record is not part of the
 * first field, so that it does not hide a quote.
 *
 * Four functions read this grammar, each as fast as its question allows:
 *
 *     record_step         one byte; the reference
 *     record_scan, _split where records end, 64 bytes at a time
 *     csv_fields_next     the fields of a record, one after the other
 *     csv_field (scan.h)  one field of a record, with vectors
 *
 * A change of the grammar is a change of record_step; tests/fuzz/lines.c holds
 * the other three against it.
 */
#ifndef KEY_RECORD_H
#define KEY_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"

/* A quote that is never closed must not fill the memory. */
#define RECORD_MAX_BYTES (UINT64_C(1) << 30)

struct csv_format {
	uint8_t separator;
	uint8_t terminator; /* the byte that ends a record */
	int backslash;      /* inside quotes, is a backslash a pair with the
			     * byte after it? */
};

struct record_format {
	struct csv_format csv; /* separator and terminator; lines have only the
			        * terminator */
	int is_csv;
	uint64_t max_bytes;    /* the most bytes of a CSV record; 0: no limit */
};

/* The state of a scan; all zero at the beginning of a file. */
struct csv_state {
	enum {
		CSV_RECORD_START,
		CSV_MARK_1, /* one byte of a byte order mark was read */
		CSV_MARK_2, /* two bytes of it were read */
		CSV_FIELD_START, /* a separator or a byte order mark was read */
		CSV_PLAIN,  /* inside a field without quotes around it */
		CSV_QUOTED, /* between the quotes of a field */
		CSV_QUOTE_IN_QUOTED, /* a quote was read that closes the field,
				      * or is half of two */
		CSV_ESCAPED /* between the quotes, behind a backslash that takes
			     * the meaning from the next byte */
	} in;
	uint64_t lines;        /* terminators so far, inside quotes or not */
	uint64_t quoted_lines; /* the terminators inside quotes */
};

/*
 * Continue the scan with one byte, by the rules above. Changes state->in only:
 * the counters are those of record_scan.
 */
void record_step(const struct csv_format *format, struct csv_state *state,
    uint8_t byte);

/* Is the next byte inside the quotes of a field? */
static inline int
record_in_quotes(const struct csv_state *state)
{
	return state->in == CSV_QUOTED || state->in == CSV_ESCAPED;
}

/*
 * Continue the scan with the next `nbytes` of the file. Returns where the last
 * record in them ends (after its terminator), 0 if none does. Up to
 * LOOPS_PADDING bytes after them may be read, whatever they are.
 */
size_t record_scan(const struct record_format *format,
    struct csv_state *state, const uint8_t *data, size_t nbytes);

/*
 * Check that no record is larger than format->max_bytes, its terminator aside.
 * `data` begins with a record and was scanned up to `to`; its last whole record
 * ends at *end (0: there is no whole record). Returns -1 and fills `error`
 * (STATUS_FAILED, without a file's name) if one of the whole records is too
 * large, or if there is none and the beginning of the first one is too large
 * already; *end is then set to where that record begins.
 */
int record_check_size(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t *end,
    size_t to, struct error *error);

/*
 * Check the end of a file, for which `state` is the result of the scan. The
 * last record, [data, data + nbytes), has no terminator, and ends with the
 * file. Returns -1 and fills `error` (STATUS_FAILED, without a file's name),
 * which says where, if the record has a quote that is never closed.
 */
int record_check_end(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t nbytes,
    struct error *error);

/*
 * Find at most `limit` records in [data, end), which consists of whole records.
 * Returns how many were found, which may be fewer than there are. starts[i]
 * becomes the beginning of record i, and starts[result] the end of the last
 * one, so `starts` has room for limit + 1. Up to LOOPS_PADDING bytes after
 * `end` may be read, whatever they are.
 *
 * With CSV, and if `strays` is not NULL, strays[i] becomes whether record i has
 * text after the closing quote of a field, which RFC 4180 does not allow: most
 * likely its quotes are meant otherwise.
 */
size_t record_split(const struct record_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t limit,
    uint8_t *strays);

/*
 * Returns the first text after the closing quote of a field in the record
 * [data, end), or NULL.
 */
const uint8_t *record_stray(const struct csv_format *format,
    const uint8_t *data, const uint8_t *end);

/* A walk over the fields of a record. */
struct csv_fields {
	uint8_t separator;
	const uint8_t *next; /* the beginning of the next field, or NULL */
	const uint8_t *end;
	int quoted;          /* the last field was in quotes: csv_contents */
	int backslash;       /* csv_format.backslash of its record */
};

/*
 * Begin a walk over the record [data, end), given without its terminator. The
 * first field begins after the byte order mark, if there is one.
 */
struct csv_fields csv_fields_begin(const struct csv_format *format,
    const uint8_t *data, const uint8_t *end);

/*
 * Return the next field, without the quotes around it, as a part of the record,
 * and set fields->quoted. fields->next must not be NULL.
 */
struct key csv_fields_next(struct csv_fields *fields);

/*
 * Copy the value of a quoted field to `to`, which has value.nbytes bytes, with
 * one quote in place of each two. Returns the length of the copy.
 */
size_t csv_undouble(struct key value, uint8_t *to);

/* Like csv_undouble, for a field of this walk, which may have backslashes. */
size_t csv_contents(const struct csv_fields *fields, struct key value,
    uint8_t *to);

/*
 * Find the quote that is never closed in a record without an end, which must
 * have one.
 */
const uint8_t *csv_open_quote(const struct csv_format *format,
    const uint8_t *data, const uint8_t *end);

#endif
