/*
 * Data without quotes are searched with memchr; from a quote on, 64 bytes are
 * looked at together. libcsv works byte by byte, with a call for each field,
 * and doesn't tell where a record's bytes are.
 *
 * The four functions of record.h that read the grammar aren't one, because the
 * ends of records, all fields in order, and one field of a wide record ask for
 * different loops: with a single scanner for all, they took 10 to 120 % longer.
 */
#include "key/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "bits/scan.h"

/* About as much as a batch of lines. */
#define BATCH_BYTES (64 * 1024)

/* UTF-8's byte order mark */
static const uint8_t MARK[] = { 0xef, 0xbb, 0xbf };

static int
ends_field(const struct csv_format *format, uint8_t byte)
{
	return byte == format->terminator || byte == format->separator;
}

void
record_step(const struct csv_format *format, struct csv_state *state,
    uint8_t byte)
{
	int first = state->in == CSV_RECORD_START;
	int opens = first || state->in == CSV_FIELD_START;

	if (state->in == CSV_ESCAPED) {
		state->in = CSV_QUOTED;
	} else if (state->in == CSV_QUOTED) {
		if (byte == '"')
			state->in = CSV_QUOTE_IN_QUOTED;
		else if (byte == '\\' && format->backslash)
			state->in = CSV_ESCAPED;
	} else if (byte == '"' && (opens || state->in == CSV_QUOTE_IN_QUOTED)) {
		/*
		 * The quote opens a field, or is the second of a pair within
		 * one.
		 */
		state->in = CSV_QUOTED;
	} else if (byte == format->terminator) {
		state->in = CSV_RECORD_START;
	} else if (byte == format->separator) {
		state->in = CSV_FIELD_START;
	} else if (first && byte == MARK[0]) {
		state->in = CSV_MARK_1;
	} else if (state->in == CSV_MARK_1 && byte == MARK[1]) {
		state->in = CSV_MARK_2;
	} else if (state->in == CSV_MARK_2 && byte == MARK[2]) {
		state->in = CSV_FIELD_START;
	} else {
		state->in = CSV_PLAIN;
	}
}

/*
 * Scan what stands before the first quote, and return how many bytes that are;
 * *last becomes where the last record in them ends, 0 if none does.
 */
static size_t
scan_plain(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes, size_t *last)
{
	const uint8_t *quote = memchr(data, '"', nbytes);
	size_t stop = quote == NULL ? nbytes : (size_t)(quote - data);
	size_t end = stop;

	while (end > 0 && data[end - 1] != format->terminator)
		end--;
	if (end > 0)
		state->in = CSV_RECORD_START;
	if (stop - end > sizeof MARK)
		state->in = data[stop - 1] == format->separator ?
		    CSV_FIELD_START : CSV_PLAIN;
	for (size_t i = end; i < stop && stop - end <= sizeof MARK; i++)
		record_step(format, state, data[i]);
	*last = end;
	return stop;
}

static int
has_backslash(const uint8_t *p, uint64_t all)
{
	static const uint8_t bytes[3] = { '\\', '\\', '\\' };
	uint64_t bits[3];

	scan()->equal_three(p, bytes, bits);
	return (bits[0] & all) != 0;
}

/* Returns `strays` without the carriage returns that end a record. */
static uint64_t
drop_line_ends(const struct csv_format *format, const uint8_t *p,
    uint64_t strays)
{
	for (uint64_t left = strays; left != 0; left &= left - 1) {
		const uint8_t *at = p + __builtin_ctzll(left);

		if (at[0] == '\r' && at[1] == format->terminator)
			strays &= ~(left & -left);
	}
	return strays;
}

/*
 * Look at the next bytes of [p, end), 64 or all. Returns a bit for each
 * terminator that ends a record; *quoted has those inside quotes, and *strays,
 * unless NULL, the first byte of each text after a closing quote.
 */
static inline __attribute__((always_inline)) uint64_t
scan_word(const struct csv_format *format, struct csv_state *state,
    const uint8_t *p, const uint8_t *end, uint64_t *quoted, uint64_t *strays)
{
	const uint64_t closed = state->in == CSV_QUOTE_IN_QUOTED;
	const unsigned begins = 1 << CSV_RECORD_START | 1 << CSV_FIELD_START |
	    1 << CSV_QUOTE_IN_QUOTED;
	const uint8_t bytes[3] = { '"', format->separator, format->terminator };
	unsigned last = end - p < 64 ? (unsigned)(end - p) - 1 : 63;
	uint64_t bits[3], all = ~(uint64_t)0 >> (63 - last);
	struct quotes q;
	int placed;

	scan()->equal_three(p, bytes, bits);
	q = (struct quotes){ .quotes = bits[0] & all,
		.stops = (bits[1] | bits[2]) & all };
	placed = quotes_place(&q, record_in_quotes(state),
	    (int)(begins >> state->in & 1));
	if (format->backslash && (state->in == CSV_ESCAPED ||
	    has_backslash(p, all)))
		placed = 0;
	if (strays != NULL)
		*strays = ((q.quotes & ~q.inside) << 1 | closed) & all &
		    ~(q.quotes | q.stops);
	if (placed && q.inside >> last & 1) {
		state->in = CSV_QUOTED;
	} else if (!placed || (p[last] >= 0x80 &&
	    memchr(MARK, p[last], sizeof MARK) != NULL)) {
		/*
		 * Few words have a quote whose meaning depends on more bytes,
		 * or end within a byte order mark.
		 */
		q.inside = 0;
		if (strays != NULL)
			*strays = 0;
		for (unsigned i = 0; i <= last; i++) {
			int may_stray = state->in == CSV_QUOTE_IN_QUOTED;

			record_step(format, state, p[i]);
			q.inside |= (uint64_t)record_in_quotes(state) << i;
			may_stray &= state->in == CSV_PLAIN;
			if (strays != NULL)
				*strays |= (uint64_t)may_stray << i;
		}
	} else if (q.quotes >> last & 1) {
		state->in = CSV_QUOTE_IN_QUOTED;
	} else if (bits[2] >> last & 1) {
		state->in = CSV_RECORD_START;
	} else if (q.stops >> last & 1) {
		state->in = CSV_FIELD_START;
	} else {
		state->in = CSV_PLAIN;
	}
	*quoted = bits[2] & all & q.inside;
	return bits[2] & all & ~q.inside;
}

size_t
record_scan(const struct record_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	size_t last = 0, i = 0;

	if (!format->is_csv) {
		while (nbytes > 0 &&
		    data[nbytes - 1] != format->csv.terminator)
			nbytes--;
		return nbytes;
	}
	if (state->in < CSV_QUOTED)
		i = scan_plain(&format->csv, state, data, nbytes, &last);
	for (; i < nbytes; i += 64) {
		uint64_t quoted, ends = scan_word(&format->csv, state, data + i,
		    data + nbytes, &quoted, NULL);

		if (ends != 0)
			last = i + 64 - (unsigned)__builtin_clzll(ends);
		/*
		 * Most words have none. The test spares the count of bits, for
		 * which not all machines have an instruction.
		 */
		if (quoted != 0)
			state->quoted_lines +=
			    (unsigned)__builtin_popcountll(quoted);
	}
	state->lines += scan()->count(data, nbytes, format->csv.terminator);
	return last;
}

/* Bits of strays, among the ends of records: the first one is that of 0. */
static void
note_strays(uint64_t texts, uint64_t ends, uint8_t *strays, size_t limit)
{
	for (; texts != 0; texts &= texts - 1) {
		uint64_t before = ends & ((texts & -texts) - 1);
		size_t record = (size_t)__builtin_popcountll(before);

		if (record < limit)
			strays[record] = 1;
	}
}

/*
 * Split data with quotes, a batch of it or one record that is larger. There are
 * n records before it; returns how many with those of it.
 */
static size_t
split_words(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t n, size_t limit,
    uint8_t *strays)
{
	struct csv_state state = { .in = CSV_RECORD_START };
	const uint8_t *p = data;
	size_t before = n;

	for (; p < end && n < limit && ((size_t)(p - data) < BATCH_BYTES ||
	    n == before); p += 64) {
		uint64_t quoted, texts, ends = scan_word(format, &state, p,
		    end, &quoted, &texts);

		if (texts != 0 && strays != NULL)
			note_strays(drop_line_ends(format, p, texts), ends,
			    strays + n, limit - n);
		for (; ends != 0 && n < limit; ends &= ends - 1)
			starts[++n] = p + __builtin_ctzll(ends) + 1;
	}
	if (p >= end && n < limit && starts[n] < end)
		starts[++n] = end;
	return n;
}

size_t
record_split(const struct record_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t limit, uint8_t *strays)
{
	uint8_t terminator = format->csv.terminator;
	size_t n = 0;

	if (!format->is_csv)
		return scan()->split(data, end, terminator, starts, limit);
	starts[0] = data;
	if (strays != NULL)
		memset(strays, 0, limit);
	while (n < limit && starts[n] < end) {
		/*
		 * The records before the first quote; no further than a batch
		 * needs, since this is called again for the next one.
		 */
		const uint8_t *start = starts[n], *stop;
		size_t nbytes = (size_t)(end - start);

		nbytes = nbytes < BATCH_BYTES ? nbytes : BATCH_BYTES;
		stop = memchr(start, '"', nbytes);
		stop = stop == NULL ? start + nbytes : stop;
		while (stop > start && stop[-1] != terminator)
			stop--;
		if (stop > start)
			n += scan()->split(start, stop, terminator, starts + n,
			    limit - n);
		else
			n = split_words(&format->csv, start, end, starts, n,
			    limit, strays);
	}
	return n;
}

const uint8_t *
record_stray(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end)
{
	struct csv_state state = { 0 };

	end -= end > data && end[-1] == format->terminator;
	end -= end > data && end[-1] == '\r';
	for (; data < end; data++) {
		int may_stray = state.in == CSV_QUOTE_IN_QUOTED;

		record_step(format, &state, *data);
		if (may_stray && state.in == CSV_PLAIN)
			return data;
	}
	return NULL;
}

/* --- records that are too large or never end */

const uint8_t *
csv_open_quote(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end)
{
	struct csv_fields fields = csv_fields_begin(format, data, end);
	struct key last;

	do {
		last = csv_fields_next(&fields);
	} while (fields.next != NULL);
	return last.data - 1;
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

int
record_check_size(const struct record_format *format,
    const struct csv_state *state, const uint8_t *data, size_t *end,
    size_t to, struct error *error)
{
	char quote[80], limit[NUMBER_TEXT];
	struct csv_state after = { 0 };
	size_t at = 0, next, whole = *end;

	if (!format->is_csv || format->max_bytes == 0)
		return 0;
	/* Mostly all records together are no larger than one may be. */
	if (whole <= format->max_bytes)
		at = whole;
	for (; at < whole; at = next) {
		const uint8_t *starts[2];

		record_split(format, data + at, data + whole, starts, 1, NULL);
		next = (size_t)(starts[1] - data);
		if (next - at - 1 > format->max_bytes)
			break;
	}
	if (at == whole && (whole > 0 || to <= format->max_bytes))
		return 0;
	*end = at;
	number_format_binary(limit, format->max_bytes);
	if (whole == 0 && record_in_quotes(state)) {
		return error_set(error, STATUS_FAILED, "%s is not closed within"
		    " %s, which --max-record allows",
		    describe_quote(format, state, data, to, quote), limit);
	}
	/* Count the lines that were scanned but begin after this record. */
	record_scan(format, &after, data + at, to - at);
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

	if (!format->is_csv || !record_in_quotes(state))
		return 0;
	return error_set(error, STATUS_FAILED, "%s is never closed: everything"
	    " from there to the end of the file is one record",
	    describe_quote(format, state, data, nbytes, quote));
}

/* --- fields of CSV */

struct csv_fields
csv_fields_begin(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end)
{
	struct csv_fields fields = { .separator = format->separator,
		.next = data, .end = end, .backslash = format->backslash };

	for (size_t i = 0; i < sizeof MARK; i++) {
		if (data + i == end || data[i] != MARK[i] ||
		    ends_field(format, MARK[i]))
			return fields;
	}
	fields.next += sizeof MARK;
	return fields;
}

/*
 * The quote that closes a field, of which p is the first byte behind the quote
 * that opens it, if backslashes have a meaning.
 */
static const uint8_t *
closing_quote(const uint8_t *p, const uint8_t *end)
{
	for (; p < end; p++) {
		if (*p == '"' && (p + 1 == end || p[1] != '"'))
			return p;
		p += *p == '"' || *p == '\\';
	}
	return NULL;
}

struct key
csv_fields_next(struct csv_fields *fields)
{
	const uint8_t *p = fields->next, *end = fields->end;
	const uint8_t *closing = p, *stop;

	fields->quoted = p < end && *p == '"';
	if (fields->quoted && fields->backslash) {
		closing = closing_quote(p + 1, end);
	} else if (fields->quoted) {
		closing = memchr(p + 1, '"', (size_t)(end - p - 1));
		while (closing != NULL && closing + 1 < end &&
		    closing[1] == '"') /* it is one of a pair */
			closing = memchr(closing + 2, '"',
			    (size_t)(end - closing - 2));
	}
	/* the quote is never closed, so the field takes the rest */
	if (closing == NULL) {
		fields->next = NULL;
		return (struct key){ p + 1, (size_t)(end - p - 1) };
	}
	stop = memchr(closing, fields->separator, (size_t)(end - closing));
	if (stop == NULL) {
		fields->next = NULL;
		stop = end;
	} else {
		fields->next = stop + 1;
	}
	/* RFC 4180 allows nothing after the closing quote: take all, as is. */
	fields->quoted = fields->quoted && closing + 1 == stop;
	if (fields->quoted)
		return (struct key){ p + 1, (size_t)(closing - p - 1) };
	return (struct key){ p, (size_t)(stop - p) };
}

size_t
csv_undouble(struct key value, uint8_t *to)
{
	const uint8_t *p = value.data, *end = p + value.nbytes, *quote;
	uint8_t *start = to;

	while ((quote = memchr(p, '"', (size_t)(end - p))) != NULL) {
		memcpy(to, p, (size_t)(quote + 1 - p));
		to += quote + 1 - p;
		p = quote + 2;
	}
	memcpy(to, p, (size_t)(end - p));
	return (size_t)(to - start + (end - p));
}

size_t
csv_contents(const struct csv_fields *fields, struct key value, uint8_t *to)
{
	const uint8_t *p = value.data, *end = p + value.nbytes;
	uint8_t *start = to;

	if (!fields->backslash)
		return csv_undouble(value, to);
	for (; p < end; p++) {
		/*
		 * Leave out the first quote of a pair, or a backslash before
		 * such a byte.
		 */
		int has_next = p + 1 < end;

		if (*p == '"' || (*p == '\\' && has_next &&
		    (p[1] == '"' || p[1] == '\\')))
			p += has_next;
		*to++ = *p;
	}
	return (size_t)(to - start);
}
