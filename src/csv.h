/*
 * Comma-separated values, RFC 4180: where a record and a field end. A quote
 * opens a quoted field at its beginning only; in it, two quotes stand for one,
 * and separators and line ends are data. A quote elsewhere is an ordinary byte.
 */
#ifndef CSV_H
#define CSV_H

#include <stddef.h>
#include <stdint.h>

struct csv_format {
	uint8_t separator;
	uint8_t terminator; /* of a record */
};

/* Where a scan of a stream stands; all zero at the beginning of a record. */
struct csv_state {
	enum { CSV_FIELD_START, CSV_PLAIN, CSV_QUOTED, CSV_QUOTE_IN_QUOTED } in;
};

/*
 * Go on with the scan over the next `nbytes` of the stream. Returns where the
 * last record in them ends (behind its terminator), 0 if none does.
 */
size_t csv_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes);

/*
 * As kernel's split, for whole records; of one terminated by the end, too.
 * Up to KERNEL_PADDING bytes behind the end may be read, whatever is there.
 */
size_t csv_split(const struct csv_format *format, uint8_t *data,
    const uint8_t *end, uint8_t **starts, size_t limit);

/*
 * One field of a record: [*field, *field + return value) are its bytes without
 * the quotes around them; doubled quotes in it are still doubled, and *quoted
 * says whether there can be any. *next becomes the beginning of the next field,
 * or NULL if this was the last.
 */
size_t csv_field(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **field, int *quoted,
    const uint8_t **next);

#endif
