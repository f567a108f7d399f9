#include "key/record.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/number.h"
#include "key/scan.h"

size_t
record_scan(const struct record_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	if (format->is_csv)
		return csv_scan(&format->csv, state, data, nbytes);
	while (nbytes > 0 && data[nbytes - 1] != format->csv.terminator)
		nbytes--;
	return nbytes;
}

/* "the quote that opens in record 3 (line 7)" */
static const char *
describe_quote(const struct record_format *format,
    const struct csv_state *csv, const uint8_t *data, size_t nbytes,
    char text[80])
{
	const uint8_t *end = data + nbytes;
	const uint8_t *quote = csv_open_quote(&format->csv, data, end);

	snprintf(text, 80, "the quote that opens in record %" PRIu64
	    " (line %" PRIu64 ")", csv->lines - csv->quoted_lines + 1,
	    csv->lines + 1 - scan()->count(quote, (size_t)(end - quote),
	    format->csv.terminator));
	return text;
}

/* Where the first whole record begins that is too large; *end if none is. */
static size_t
first_too_large(const struct record_format *format, const uint8_t *data,
    size_t end)
{
	const uint8_t *starts[2];
	size_t at = 0, next;

	/* mostly there is less than one could have */
	if (end <= format->max_bytes)
		return end;
	for (; at < end; at = next) {
		record_split(format, data + at, data + end, starts, 1);
		next = (size_t)(starts[1] - data);
		if (next - at - 1 > format->max_bytes)
			break;
	}
	return at;
}

/* The records and lines that were scanned and begin at data or later. */
static struct csv_state
scan_again(const struct record_format *format, const uint8_t *data, size_t n)
{
	struct csv_state csv = { 0 };

	csv_scan(&format->csv, &csv, data, n);
	return csv;
}

int
record_check_size(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t *end,
    size_t to, struct error *error)
{
	char quote[80], limit[NUMBER_TEXT];
	struct csv_state after;
	size_t at, whole = *end;

	if (!format->is_csv || format->max_bytes == 0)
		return 0;
	at = first_too_large(format, data, whole);
	if (at == whole && (whole > 0 || to <= format->max_bytes))
		return 0;
	*end = at;
	number_format_binary(limit, format->max_bytes);
	if (whole == 0 && csv_in_quotes(state)) {
		return error_set(error, STATUS_FAILED, "%s is not closed within"
		    " %s, which --max-record allows",
		    describe_quote(format, state, data, to, quote), limit);
	}
	after = scan_again(format, data + at, to - at);
	return error_set(error, STATUS_FAILED, "record %" PRIu64 " (line %"
	    PRIu64 ") is larger than the %s that --max-record allows",
	    state->lines - state->quoted_lines -
	    (after.lines - after.quoted_lines) + 1,
	    state->lines - after.lines + 1, limit);
}

int
record_check_end(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t nbytes,
    struct error *error)
{
	char quote[80];

	if (!format->is_csv || !csv_in_quotes(state))
		return 0;
	return error_set(error, STATUS_FAILED, "%s is never closed: everything"
	    " from there to the end of the file is one record",
	    describe_quote(format, state, data, nbytes, quote));
}

size_t
record_split(const struct record_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t limit)
{
	if (format->is_csv)
		return csv_split(&format->csv, data, end, starts, limit);
	return scan()->split(data, end, format->csv.terminator, starts,
	    limit);
}
