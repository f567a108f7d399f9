/*
 * What the targets for the protocols of serve share: requests from a stream
 * that arrives in pieces of any size, against a model that has all of it before
 * it. What parser and model say happened is compared as text.
 */
#ifndef TESTS_FUZZ_STREAM_H
#define TESTS_FUZZ_STREAM_H

#include "fuzz.h"

#define EVENTS_MAX ((size_t)1 << 20)
#define STREAM_MAX 4096

/* What happened, as text. */
struct events {
	char *text;
	size_t nbytes;
};

static inline void
put(struct events *events, const void *data, size_t nbytes)
{
	MUST(events->nbytes + nbytes <= EVENTS_MAX);
	if (nbytes > 0)
		memcpy(events->text + events->nbytes, data, nbytes);
	events->nbytes += nbytes;
}

static inline void
put_text(struct events *events, const char *text)
{
	put(events, text, strlen(text));
}

static const uint8_t *stream; /* a NUL follows it */
static size_t stream_bytes;

/* In the target: what happens in the stream. */
static void model(struct events *events);

/*
 * In the target: take all whole requests from the bytes, and return how many
 * bytes they had. *ended becomes 1 if the parser reads no more.
 */
static size_t parse(struct events *events, const uint8_t *data, size_t nbytes,
    int *ended);

/* Parse the stream in pieces, each of one byte more than `pieces` says. */
static inline void
feed(struct events *events, const uint8_t *pieces, size_t piece_count)
{
	size_t kept = 0, end = 0;
	int ended = 0;

	for (size_t i = 0; end < stream_bytes && !ended; i++) {
		size_t piece = piece_count == 0 ? stream_bytes :
		    pieces[i % piece_count] + 1u;
		uint8_t *buffer;
		size_t n, used;

		end = stream_bytes - end < piece ? stream_bytes : end + piece;
		n = end - kept;
		/* no longer than it is: the sanitizer sees what is read */
		buffer = malloc(n);
		MUST(buffer != NULL);
		memcpy(buffer, stream + kept, n);
		used = parse(events, buffer, n, &ended);
		MUST(used <= n);
		kept += used;
		free(buffer);
	}
}

/* The rest of an input: the number of pieces (mod 32), pieces, the stream. */
static inline void
compare(struct input_bytes *in)
{
	static char got_text[EVENTS_MAX], expected_text[EVENTS_MAX];
	struct events got = { got_text, 0 }, expected = { expected_text, 0 };
	size_t piece_count = take(in, 1) % 32;
	const uint8_t *pieces = take_bytes(in, &piece_count);
	char *copy;

	stream_bytes = in->nbytes > STREAM_MAX ? STREAM_MAX : in->nbytes;
	copy = calloc(1, stream_bytes + 1);
	MUST(copy != NULL);
	if (stream_bytes > 0)
		memcpy(copy, in->data, stream_bytes);
	stream = (const uint8_t *)copy;
	model(&expected);
	feed(&got, pieces, piece_count);
	if (got.nbytes != expected.nbytes ||
	    memcmp(got.text, expected.text, got.nbytes) != 0)
		fprintf(stderr, "got:\n%.*sexpected:\n%.*s", (int)got.nbytes,
		    got.text, (int)expected.nbytes, expected.text);
	MUST(got.nbytes == expected.nbytes &&
	    memcmp(got.text, expected.text, got.nbytes) == 0);
	free(copy);
}

#endif
