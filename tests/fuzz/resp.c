/*
 * Requests in Redis' protocol, from a stream that arrives in pieces of any
 * size, against a model that has all of it before it.
 *
 *     longest word (mod 64),
 *     number of pieces (mod 32), and each: bytes of it, less one,
 *     the stream
 */
#include <limits.h>

#include "stream.h"
#include "serve/resp.h"

static void
put_word(struct events *events, unsigned long index, unsigned long count,
    const uint8_t *data, size_t nbytes)
{
	char text[100];

	put(events, text, (size_t)snprintf(text, sizeof text, "%lu of %lu: ",
	    index, count));
	if (data == NULL)
		put_text(events, "too long");
	else
		put(events, data, nbytes);
	put_text(events, "\n");
}

/* The model. */

static const uint8_t *stream_end;
static size_t longest;

static void
model_break(struct events *events)
{
	put_text(events, "broken\n");
}

/*
 * A line of at most 32 bytes at *at, which is moved behind it. Returns 0 where
 * the stream ends, -1 if it is longer.
 */
static int
model_line(const uint8_t **at, char line[33])
{
	for (int i = 0; i < 32; i++) {
		if (*at + i == stream_end)
			return 0;
		line[i] = (char)(*at)[i];
		if (line[i] == '\n') {
			line[i + 1] = '\0';
			*at += i + 1;
			return i + 1;
		}
	}
	return -1;
}

/*
 * A line of a mark, a number and \r\n; *value is LLONG_MIN if there is
 * another thing in it. Returns 0 where the stream ends, or is broken.
 */
static int
model_number(struct events *events, const uint8_t **at, int array,
    long long *value)
{
	char line[33], *digits = line + 1;
	size_t n;
	int length;

	if (*at < stream_end && **at != (array ? '*' : '$')) {
		model_break(events);
		return 0;
	}
	length = model_line(at, line);
	if (length < 0)
		model_break(events);
	if (length <= 0)
		return 0;
	*value = LLONG_MIN;
	digits += *digits == '-';
	n = strspn(digits, "0123456789");
	if (n > 0 && n <= 18 && strcmp(digits + n, "\r\n") == 0 &&
	    digits + n + 2 == line + length)
		*value = strtoll(line + 1, NULL, 10);
	return 1;
}

/* Returns 0 where the stream ends, or is broken. */
static int
model_word(struct events *events, const uint8_t **at, long long index,
    long long count)
{
	long long length = 0;

	if (!model_number(events, at, 0, &length))
		return 0;
	if (length < 0 || length > 512LL * 1024 * 1024) {
		model_break(events);
		return 0;
	}
	if (stream_end - *at < length + 2)
		return 0;
	if ((size_t)length > longest) {
		put_word(events, (unsigned long)index, (unsigned long)count,
		    NULL, 0);
	} else if (memcmp(*at + length, "\r\n", 2) != 0) {
		model_break(events);
		return 0;
	} else {
		put_word(events, (unsigned long)index, (unsigned long)count,
		    *at, (size_t)length);
	}
	*at += length + 2;
	return 1;
}

static void
model(struct events *events)
{
	const uint8_t *at = stream;
	long long count = 0;

	stream_end = stream + stream_bytes;
	for (;;) {
		while (stream_end - at >= 2 && memcmp(at, "\r\n", 2) == 0)
			at += 2;
		if (stream_end - at == 1 && *at == '\r')
			return;
		if (!model_number(events, &at, 1, &count))
			return;
		if (count == LLONG_MIN || count > 1024 * 1024) {
			model_break(events);
			return;
		}
		for (long long i = 0; i < count; i++) {
			if (!model_word(events, &at, i, count))
				return;
		}
	}
}

/* The parser. */

static struct resp_parser parser;

static size_t
parse(struct events *events, const uint8_t *data, size_t nbytes, int *ended)
{
	struct resp_word word;
	size_t used = 0;

	do {
		used += resp_next(&parser, longest, data + used, nbytes - used,
		    &word);
		MUST(used <= nbytes);
		if (word.event >= RESP_BROKEN)
			model_break(events);
		else if (word.event != RESP_MORE)
			put_word(events, word.index, word.count,
			    word.event == RESP_LONG ? NULL : word.bytes.data,
			    word.bytes.nbytes);
	} while (word.event == RESP_WORD || word.event == RESP_LONG);
	*ended = word.event >= RESP_BROKEN;
	MUST(*ended || nbytes - used < longest + 2 ||
	    nbytes - used < RESP_HEAD_MAX);
	return used;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
	struct input_bytes in = { bytes, nbytes };

	longest = take(&in, 1) % 64;
	parser = (struct resp_parser){ 0 };
	compare(&in);
	return 0;
}
