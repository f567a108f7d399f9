/*
 * Data without quotes is searched with memchr; from a quote on, 64 bytes are
 * looked at together. libcsv works byte by byte, with a call for each field,
 * and doesn't tell where a record's bytes are.
 */
#include "key/csv.h"

#include <string.h>

#include "key/quotes.h"
#include "key/scan.h"

/* About as much as a batch of lines. */
#define BATCH_BYTES (64 * 1024)

/* UTF-8's byte order mark */
static const uint8_t MARK[] = { 0xef, 0xbb, 0xbf };

static int
ends_field(const struct csv_format *format, uint8_t byte)
{
	return byte == format->terminator || byte == format->separator;
}

/* One step of the scan. */
static void
step(const struct csv_format *format, struct csv_state *state, uint8_t byte)
{
	int first = state->in == CSV_RECORD_START;
	int opens = first || state->in == CSV_FIELD_START;

	if (state->in == CSV_QUOTED) {
		if (byte == '"')
			state->in = CSV_QUOTE_IN_QUOTED;
	} else if (byte == '"' && (opens || state->in == CSV_QUOTE_IN_QUOTED)) {
		/* the first byte of a field, or the second of two quotes */
		state->in = CSV_QUOTED;
	} else if (ends_field(format, byte)) {
		state->in = byte == format->terminator ? CSV_RECORD_START :
		    CSV_FIELD_START;
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
		step(format, state, data[i]);
	*last = end;
	return stop;
}

/* Up to 64 bytes; bit i of each word is about byte i. */
struct word {
	struct quotes quotes;
	uint64_t terminators;
	unsigned nbytes;
};

/* Take the bytes one by one. */
static void
step_word(const struct csv_format *format, struct csv_state *state,
    const uint8_t *p, struct word *w)
{
	w->quotes.inside = 0;
	for (unsigned i = 0; i < w->nbytes; i++) {
		step(format, state, p[i]);
		w->quotes.inside |= (uint64_t)(state->in == CSV_QUOTED) << i;
	}
}

/* The state after a word that isn't taken byte by byte; -1 if it must be. */
static inline int
state_after(const struct word *w, uint8_t last_byte)
{
	unsigned last = w->nbytes - 1;

	if (w->quotes.inside >> last & 1)
		return CSV_QUOTED;
	if (last_byte >= 0x80 && memchr(MARK, last_byte, sizeof MARK) != NULL)
		return -1;
	return w->quotes.quotes >> last & 1 ? CSV_QUOTE_IN_QUOTED :
	    w->terminators >> last & 1 ? CSV_RECORD_START :
	    w->quotes.stops >> last & 1 ? CSV_FIELD_START : CSV_PLAIN;
}

/*
 * Look at the next bytes of [p, end), of which there are some. Few words have a
 * quote that tells nothing, or a byte order mark.
 */
static inline __attribute__((always_inline)) void
scan_word(const struct csv_format *format, struct csv_state *state,
    const uint8_t *p, const uint8_t *end, struct word *w)
{
	const unsigned begins = 1 << CSV_RECORD_START | 1 << CSV_FIELD_START |
	    1 << CSV_QUOTE_IN_QUOTED;
	const uint8_t bytes[3] = { '"', format->separator, format->terminator };
	uint64_t bits[3], all = ~(uint64_t)0;
	int placed, after;

	scan()->equal_three(p, bytes, bits);
	w->nbytes = 64;
	if (end - p < 64) {
		w->nbytes = (unsigned)(end - p);
		all >>= 64 - w->nbytes;
	}
	w->terminators = bits[2] & all;
	w->quotes = (struct quotes){ .quotes = bits[0] & all,
		.stops = (bits[1] | bits[2]) & all };
	placed = quotes_place(&w->quotes, state->in == CSV_QUOTED,
	    (int)(begins >> state->in & 1));
	after = state_after(w, p[w->nbytes - 1]);
	if (!placed || after < 0)
		step_word(format, state, p, w);
	else
		state->in = (unsigned)after;
}

/* The terminators that end records. */
static inline uint64_t
record_ends(const struct word *w)
{
	return w->terminators & ~w->quotes.inside;
}

/* Mostly of none: not all machines have an instruction for it. */
static inline unsigned
bit_count(uint64_t bits)
{
	return bits == 0 ? 0 : (unsigned)__builtin_popcountll(bits);
}

size_t
csv_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	size_t last = 0, i = 0;

	if (state->in < CSV_QUOTED)
		i = scan_plain(format, state, data, nbytes, &last);
	for (; i < nbytes; i += 64) {
		uint64_t ends;
		struct word w;

		scan_word(format, state, data + i, data + nbytes, &w);
		ends = record_ends(&w);
		if (ends != 0)
			last = i + 64 - (unsigned)__builtin_clzll(ends);
		state->quoted_lines += bit_count(w.terminators &
		    w.quotes.inside);
	}
	state->lines += scan()->count(data, nbytes, format->terminator);
	return last;
}

int
csv_in_quotes(const struct csv_state *state)
{
	return state->in == CSV_QUOTED;
}

/*
 * The end of the records before the first quote. Looks no further than a batch
 * needs, since it is called again for the next one.
 */
static const uint8_t *
plain_end(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end)
{
	size_t nbytes = (size_t)(end - data);
	const uint8_t *stop;

	nbytes = nbytes < BATCH_BYTES ? nbytes : BATCH_BYTES;
	stop = memchr(data, '"', nbytes);
	stop = stop == NULL ? data + nbytes : stop;
	while (stop > data && stop[-1] != format->terminator)
		stop--;
	return stop;
}

/*
 * Split data with quotes, a batch of it or one record that is larger. There are
 * n records before it; returns how many with those of it.
 */
static size_t
split_words(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t n, size_t limit)
{
	struct csv_state state = { .in = CSV_RECORD_START };
	const uint8_t *p = data;
	size_t before = n;

	for (; p < end && n < limit && ((size_t)(p - data) < BATCH_BYTES ||
	    n == before); p += 64) {
		uint64_t ends;
		struct word w;

		scan_word(format, &state, p, end, &w);
		for (ends = record_ends(&w); ends != 0 && n < limit;
		    ends &= ends - 1)
			starts[++n] = p + __builtin_ctzll(ends) + 1;
	}
	if (p >= end && n < limit && starts[n] < end)
		starts[++n] = end;
	return n;
}

size_t
csv_split(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t limit)
{
	size_t n = 0;

	starts[0] = data;
	while (starts[n] < end && n < limit) {
		const uint8_t *plain = plain_end(format, starts[n], end);

		if (plain > starts[n])
			n += scan()->split(starts[n], plain,
			    format->terminator, starts + n, limit - n);
		else
			n = split_words(format, starts[n], end, starts, n,
			    limit);
	}
	return n;
}

struct csv_fields
csv_fields_begin(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end)
{
	struct csv_fields fields = { format->separator, data, end, 0 };

	for (size_t i = 0; i < sizeof MARK; i++) {
		if (data + i == end || data[i] != MARK[i] ||
		    ends_field(format, MARK[i]))
			return fields;
	}
	fields.next += sizeof MARK;
	return fields;
}

/* The quote that closes the field whose content begins at p; NULL if none. */
static const uint8_t *
closing_quote(const uint8_t *p, const uint8_t *end)
{
	for (;;) {
		p = memchr(p, '"', (size_t)(end - p));
		if (p == NULL || p + 1 == end || p[1] != '"')
			return p;
		p += 2;
	}
}

struct key
csv_fields_next(struct csv_fields *fields)
{
	const uint8_t *p = fields->next, *end = fields->end;
	const uint8_t *closing = p, *stop;

	fields->quoted = p < end && *p == '"';
	if (fields->quoted)
		closing = closing_quote(p + 1, end);
	if (closing == NULL) { /* up to the end */
		fields->next = NULL;
		return (struct key){ p + 1, (size_t)(end - p - 1) };
	}
	stop = memchr(closing, fields->separator, (size_t)(end - closing));
	fields->next = stop == NULL ? NULL : stop + 1;
	stop = stop == NULL ? end : stop;
	/* RFC 4180 allows nothing after the closing quote: take all, as is. */
	fields->quoted = fields->quoted && closing + 1 == stop;
	return fields->quoted ?
	    (struct key){ p + 1, (size_t)(closing - p - 1) } :
	    (struct key){ p, (size_t)(stop - p) };
}

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
