/*
 * Most CSV has few quotes: data without quotes is searched with memchr, and
 * bytes are looked at one by one only from a quote on. libcsv works byte by
 * byte, with a call for each field, and doesn't tell where a record's bytes
 * are.
 */
#include "key/csv.h"

#include <string.h>

#include "bits/loops.h"

/* About as much as a batch of lines. */
#define PLAIN_BYTES (64 * 1024)

/* UTF-8's byte order mark */
static const uint8_t MARK[] = { 0xef, 0xbb, 0xbf };

static int
ends_field(const struct csv_format *format, uint8_t byte)
{
	return byte == format->terminator || byte == format->separator;
}

/* One step of the scan; returns 1 if `byte` ends a record. */
static int
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
		return byte == format->terminator;
	} else if (first && byte == MARK[0]) {
		state->in = CSV_MARK_1;
	} else if (state->in == CSV_MARK_1 && byte == MARK[1]) {
		state->in = CSV_MARK_2;
	} else if (state->in == CSV_MARK_2 && byte == MARK[2]) {
		state->in = CSV_FIELD_START;
	} else {
		state->in = CSV_PLAIN;
	}
	return 0;
}

/* The end of the last record in data that has no quote in it; 0 if none. */
static size_t
plain_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	size_t end = nbytes;

	while (end > 0 && data[end - 1] != format->terminator)
		end--;
	if (end > 0)
		state->in = CSV_RECORD_START;
	if (nbytes - end > sizeof MARK)
		state->in = data[nbytes - 1] == format->separator ?
		    CSV_FIELD_START : CSV_PLAIN;
	for (size_t i = end; i < nbytes && nbytes - end <= sizeof MARK; i++)
		step(format, state, data[i]);
	return end;
}

/* Numbers that only a message needs; not counted if NULL. */
struct counts {
	size_t quote;          /* where the last field in quotes begins */
	uint64_t quoted_lines; /* terminators in quotes, before it */
	uint64_t all_quoted;   /* and in all */
};

static inline size_t
scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes, struct counts *counts)
{
	size_t i = 0, last = 0;

	while (i < nbytes) {
		int quoted = state->in == CSV_QUOTED;

		if (state->in != CSV_QUOTE_IN_QUOTED) {
			const uint8_t *quote = memchr(data + i, '"',
			    nbytes - i);
			size_t stop = quote == NULL ? nbytes :
			    (size_t)(quote - data);
			size_t end = quoted ? 0 : plain_scan(format, state,
			    data + i, stop - i);

			if (end > 0)
				last = i + end;
			if (quoted && counts != NULL)
				counts->all_quoted += loops()->count(data + i,
				    stop - i, format->terminator);
			i = stop;
		}
		if (i < nbytes) {
			int doubled = state->in == CSV_QUOTE_IN_QUOTED;

			if (step(format, state, data[i]))
				last = i + 1;
			if (counts != NULL && state->in == CSV_QUOTED &&
			    !doubled) {
				counts->quote = i;
				counts->quoted_lines = counts->all_quoted;
			}
			i++;
		}
	}
	return last;
}

size_t
csv_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	struct counts counts = { .quote = SIZE_MAX };
	size_t last = scan(format, state, data, nbytes, &counts);

	if (state->in >= CSV_QUOTED && counts.quote != SIZE_MAX) {
		state->quote_line = state->lines + 1 + loops()->count(data,
		    counts.quote, format->terminator);
		state->quote_record = state->quote_line -
		    state->quoted_lines - counts.quoted_lines;
	}
	state->lines += loops()->count(data, nbytes, format->terminator);
	state->quoted_lines += counts.all_quoted;
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

	nbytes = nbytes < PLAIN_BYTES ? nbytes : PLAIN_BYTES;
	stop = memchr(data, '"', nbytes);
	stop = stop == NULL ? data + nbytes : stop;
	while (stop > data && stop[-1] != format->terminator)
		stop--;
	return stop;
}

size_t
csv_split(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **starts, size_t limit)
{
	size_t n = 0;

	starts[0] = data;
	while (data < end && n < limit) {
		struct csv_state state = { .in = CSV_RECORD_START };
		const uint8_t *plain = plain_end(format, data, end);
		int whole = 0;

		if (plain > data) {
			n += loops()->split(data, plain, format->terminator,
			    starts + n, limit - n);
			data = starts[n];
			continue;
		}
		/* One record with quotes; a line break in it may be data. */
		while (!whole) {
			const uint8_t *stop = memchr(data, format->terminator,
			    (size_t)(end - data));
			size_t nbytes = stop == NULL ? (size_t)(end - data) :
			    (size_t)(stop + 1 - data);

			whole = scan(format, &state, data, nbytes, NULL) ==
			    nbytes || data + nbytes == end;
			data += nbytes;
		}
		starts[++n] = data;
	}
	return n;
}

const uint8_t *
csv_begin(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end)
{
	for (size_t i = 0; i < sizeof MARK; i++) {
		if (data + i == end || data[i] != MARK[i] ||
		    ends_field(format, MARK[i]))
			return data;
	}
	return data + sizeof MARK;
}

size_t
csv_field(const struct csv_format *format, const uint8_t *data,
    const uint8_t *end, const uint8_t **field, int *quoted,
    const uint8_t **next)
{
	const uint8_t *p = data, *stop;

	*quoted = p < end && *p == '"';
	*field = data;
	if (!*quoted) {
		stop = memchr(p, format->separator, (size_t)(end - p));
		*next = stop == NULL ? NULL : stop + 1;
		return (size_t)((stop == NULL ? end : stop) - p);
	}
	*field = ++p;
	for (;;) {
		stop = memchr(p, '"', (size_t)(end - p));
		if (stop == NULL) { /* never closed: up to the end */
			*next = NULL;
			return (size_t)(end - *field);
		}
		if (stop + 1 == end || stop[1] != '"')
			break;
		p = stop + 2;
	}
	p = memchr(stop, format->separator, (size_t)(end - stop));
	*next = p == NULL ? NULL : p + 1;
	p = p == NULL ? end : p;
	if (stop + 1 == p)
		return (size_t)(stop - *field);
	/* RFC 4180 allows nothing after the closing quote: take all, as is. */
	*field = data;
	*quoted = 0;
	return (size_t)(p - data);
}
