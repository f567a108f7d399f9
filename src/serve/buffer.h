/* The bytes of requests, and a queue of bytes for replies. */
#ifndef SERVE_BUFFER_H
#define SERVE_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/number.h"

/* Bytes in the memory of somebody else. */
struct bytes {
	const uint8_t *data;
	size_t nbytes;
};

static inline int
bytes_are(struct bytes bytes, const char *text)
{
	return bytes.nbytes == strlen(text) &&
	    memcmp(bytes.data, text, bytes.nbytes) == 0;
}

static inline struct bytes
bytes_after_blanks(struct bytes bytes)
{
	while (bytes.nbytes > 0 && bytes.data[0] == ' ') {
		bytes.data++;
		bytes.nbytes--;
	}
	return bytes;
}

/*
 * Returns the next word of *rest, where blanks divide words, and advances *rest
 * past it. At the end, the word is empty.
 */
static inline struct bytes
bytes_next_word(struct bytes *rest)
{
	struct bytes word = bytes_after_blanks(*rest);
	const uint8_t *end = memchr(word.data, ' ', word.nbytes);

	*rest = word;
	if (end != NULL)
		word.nbytes = (size_t)(end - word.data);
	rest->data += word.nbytes;
	rest->nbytes -= word.nbytes;
	return word;
}

/*
 * Divide the key of a request, FILTER|SUBKEY, at its first |. Returns 1; or 0
 * without one: then *filter is all of it, and *subkey is empty.
 */
static inline int
bytes_divide_key(struct bytes key, struct bytes *filter, struct bytes *subkey)
{
	const uint8_t *bar = memchr(key.data, '|', key.nbytes);

	*filter = key;
	*subkey = (struct bytes){ NULL, 0 };
	if (bar == NULL)
		return 0;
	filter->nbytes = (size_t)(bar - key.data);
	*subkey = (struct bytes){ bar + 1, key.nbytes - filter->nbytes - 1 };
	return 1;
}

/* Is a key divided into filter and subkey? */
static inline int
bytes_are_divided(struct bytes key)
{
	return memchr(key.data, '|', key.nbytes) != NULL;
}

/*
 * Parse `bytes` as a whole decimal number of at most 18 digits; a '-' before it
 * is allowed only if `negative`. Returns 0 with the number in *value, or -1 if
 * it is none.
 */
static inline int
bytes_to_integer(struct bytes bytes, int negative, int64_t *value)
{
	int is_negative = negative && bytes.nbytes > 0 && bytes.data[0] == '-';
	const char *at = (const char *)bytes.data + is_negative;
	const char *end = (const char *)bytes.data + bytes.nbytes;
	uint64_t sum;

	if (end - at > 18 || number_digits(&at, end, UINT64_MAX, &sum) < 0 ||
	    at != end)
		return -1;
	*value = is_negative ? -(int64_t)sum : (int64_t)sum;
	return 0;
}

/*
 * A queue of bytes: they are added at its end, and sent from its start. One
 * that is all zero is empty. It owns its memory, which grows as needed without
 * a limit: the caller decides when it is long enough.
 */
struct buffer {
	uint8_t *data;
	size_t start, end;  /* positions in `data` of the bytes queued */
	size_t capacity;    /* bytes that `data` has room for */
};

/* Free its memory, and make it empty. NULL is not allowed. */
void buffer_free(struct buffer *buffer);

/* Add `nbytes` bytes. */
void buffer_put(struct buffer *buffer, const void *data, size_t nbytes);

/* Add the line `text`, with \r\n. */
void buffer_line(struct buffer *buffer, const char *text);

/*
 * Add a line of `before` and `text`, with \r\n. Each control character in
 * `text`, which may come from outside, becomes a '?': it stays one line.
 */
void buffer_reason(struct buffer *buffer, const char *before,
    const char *text);

/* Add text formatted as by printf; it is cut after BUFFER_FORMAT_MAX bytes. */
#define BUFFER_FORMAT_MAX 1000
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns how many bytes are queued. */
static inline size_t
buffer_bytes(const struct buffer *buffer)
{
	return buffer->end - buffer->start;
}

/*
 * Move as many bytes to the socket `fd` as it takes without waiting. Returns
 * their number, also 0; or -1 with errno set if the connection is broken.
 */
long buffer_send(struct buffer *buffer, int fd);

#endif
