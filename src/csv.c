/*
 * Most CSV has few quotes: what has none is searched with memchr, and bytes
 * are looked at one by one only from a quote on. libcsv, which does it byte by
 * byte with a call for each field, doesn't tell where a record's bytes are.
 */
#include "csv.h"

#include <string.h>

#include "kernel.h"

/* About as much as a batch of lines. */
#define PLAIN_BYTES (64 * 1024)

/* One step of the scan; returns 1 if `byte` ends a record. */
static int
step(const struct csv_format *format, struct csv_state *state, uint8_t byte)
{
	if (state->in == CSV_QUOTED) {
		if (byte == '"')
			state->in = CSV_QUOTE_IN_QUOTED;
		return 0;
	}
	if (byte == '"' && state->in != CSV_PLAIN) {
		/* the first byte of a field, or the second of two quotes */
		state->in = CSV_QUOTED;
		return 0;
	}
	if (byte == format->terminator || byte == format->separator)
		state->in = CSV_FIELD_START;
	else
		state->in = CSV_PLAIN;
	return byte == format->terminator;
}

/* The end of the last record in data that has no quote in it; 0 if none. */
static size_t
plain_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	size_t end = nbytes;

	while (end > 0 && data[end - 1] != format->terminator)
		end--;
	if (nbytes > 0) {
		uint8_t last = data[nbytes - 1];
		state->in = last == format->terminator ||
		    last == format->separator ? CSV_FIELD_START : CSV_PLAIN;
	}
	return end;
}

size_t
csv_scan(const struct csv_format *format, struct csv_state *state,
    const uint8_t *data, size_t nbytes)
{
	size_t i = 0, last = 0;

	while (i < nbytes) {
		if (state->in == CSV_FIELD_START || state->in == CSV_PLAIN) {
			const uint8_t *quote = memchr(data + i, '"',
			    nbytes - i);
			size_t stop = quote == NULL ? nbytes :
			    (size_t)(quote - data);
			size_t end = plain_scan(format, state, data + i,
			    stop - i);

			if (end > 0)
				last = i + end;
			i = stop;
		} else if (state->in == CSV_QUOTED) {
			const uint8_t *quote = memchr(data + i, '"',
			    nbytes - i);
			i = quote == NULL ? nbytes : (size_t)(quote - data);
		}
		if (i < nbytes) {
			if (step(format, state, data[i]))
				last = i + 1;
			i++;
		}
	}
	return last;
}

/*
 * Where records without a quote end: up to the line before the first one. Looks
 * no further than a batch needs, since it is asked again for the next one.
 */
static uint8_t *
plain_end(const struct csv_format *format, uint8_t *data, const uint8_t *end)
{
	size_t nbytes = (size_t)(end - data);
	uint8_t *stop;

	nbytes = nbytes < PLAIN_BYTES ? nbytes : PLAIN_BYTES;
	stop = memchr(data, '"', nbytes);
	stop = stop == NULL ? data + nbytes : stop;
	while (stop > data && stop[-1] != format->terminator)
		stop--;
	return stop;
}

size_t
csv_split(const struct csv_format *format, uint8_t *data, const uint8_t *end,
    uint8_t **starts, size_t limit)
{
	size_t n = 0;

	starts[0] = data;
	while (data < end && n < limit) {
		struct csv_state state = { CSV_FIELD_START };
		uint8_t *plain = plain_end(format, data, end);
		int whole = 0;

		if (plain > data) {
			n += kernel()->split(data, plain, format->terminator,
			    starts + n, limit - n);
			data = starts[n];
			continue;
		}
		/* One record with quotes; a line break may be one of data. */
		while (!whole) {
			uint8_t *stop = memchr(data, format->terminator,
			    (size_t)(end - data));
			size_t nbytes = stop == NULL ? (size_t)(end - data) :
			    (size_t)(stop + 1 - data);

			whole = csv_scan(format, &state, data, nbytes) ==
			    nbytes || data + nbytes == end;
			data += nbytes;
		}
		starts[++n] = data;
	}
	return n;
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
	/* More behind the closing quote is no RFC 4180: all of it, as it is. */
	*field = data;
	*quoted = 0;
	return (size_t)(p - data);
}
