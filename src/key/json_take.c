/*
 * Taking a value: every byte of it is checked, and strings are decoded, unlike
 * what is only skipped on the way to it (json.c).
 */
#include "key/json.h"

#include <string.h>

#include "bits/scan.h"
#include "key/json_text.h"

struct taker {
	const uint8_t *p, *end;
	uint8_t *to;
};

static void
take_bytes(struct taker *t, const uint8_t *p, size_t nbytes)
{
	memcpy(t->to, p, nbytes);
	t->to += nbytes;
}

/* Take the string at t->p: as it is, with quotes, or decoded without them. */
static int
take_string(struct taker *t, int decode)
{
	const uint8_t *start = t->p;

	if (t->p == t->end || *t->p++ != '"')
		return -1;
	for (;;) {
		const uint8_t *run = t->p;
		uint8_t bytes[4];
		size_t n;

		t->p = scan()->string_stop(run, t->end);
		if (decode)
			take_bytes(t, run, (size_t)(t->p - run));
		if (t->p == t->end || *t->p < 0x20)
			return -1;
		if (*t->p == '"')
			break;
		n = json_read_escape(&t->p, t->end, bytes);
		if (n == 0)
			return -1;
		if (decode)
			take_bytes(t, bytes, n);
	}
	t->p++;
	if (!decode)
		take_bytes(t, start, (size_t)(t->p - start));
	return 0;
}

/* Take this byte, without blanks around it; 0 if it isn't the next. */
static int
take_byte(struct taker *t, uint8_t byte)
{
	int taken;

	t->p = json_skip_blanks(t->p, t->end);
	taken = t->p < t->end && *t->p == byte;
	if (taken)
		*t->to++ = *t->p++;
	t->p = json_skip_blanks(t->p, t->end);
	return taken;
}

/* Take a string, a number or a word. */
static int
take_simple(struct taker *t, int decode)
{
	const uint8_t *stop;

	if (t->p < t->end && *t->p == '"')
		return take_string(t, decode);
	stop = json_scalar_end(t->p, t->end);
	if (stop == NULL)
		return -1;
	take_bytes(t, t->p, (size_t)(stop - t->p));
	t->p = stop;
	return 0;
}

/* Take the name of a member, and the colon after it. */
static int
take_name(struct taker *t)
{
	if (take_string(t, 0) < 0 || !take_byte(t, ':'))
		return -1;
	return 0;
}

/* Take any value; without recursion, since the input sets its depth. */
static int
take_value(struct taker *t)
{
	uint8_t closing[JSON_DEPTH_MAX];
	unsigned depth = 0;

	for (;;) {
		if (depth > 0 && closing[depth - 1] == '}' &&
		    take_name(t) < 0)
			return -1;
		if (take_byte(t, '{') || take_byte(t, '[')) {
			if (depth == JSON_DEPTH_MAX)
				return -1;
			closing[depth++] = json_closing(t->to[-1]);
			if (!take_byte(t, closing[depth - 1]))
				/*
				 * the array or object is not empty, so its
				 * first value follows
				 */
				continue;
			depth--;
		} else if (take_simple(t, depth == 0) < 0) {
			return -1;
		}
		/*
		 * A value has ended, and perhaps arrays and objects that end
		 * with it.
		 */
		while (depth > 0 && take_byte(t, closing[depth - 1]))
			depth--;
		if (depth == 0)
			return t->p == t->end ? 0 : -1;
		if (!take_byte(t, ','))
			return -1;
	}
}

struct key
json_take(struct key value, uint8_t *to)
{
	struct taker t = { value.data, value.data + value.nbytes, to };

	/* Most values are strings without escapes, which need no copy. */
	if (*t.p == '"' && value.nbytes >= 2 &&
	    scan()->string_stop(t.p + 1, t.end) == t.end - 1)
		return (struct key){ t.p + 1, value.nbytes - 2 };
	if (take_value(&t) < 0)
		return (struct key){ NULL, 0 };
	return (struct key){ to, (size_t)(t.to - to) };
}
