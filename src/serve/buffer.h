/* Bytes of requests, and of replies. */
#ifndef SERVE_BUFFER_H
#define SERVE_BUFFER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Bytes that belong to somebody else. */
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

/* The next word of *rest, which is advanced past it; empty at the end. */
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

/* A whole number (18 digits; below 0 only if `negative`). Returns 0 or -1. */
static inline int
bytes_to_integer(struct bytes bytes, int negative, int64_t *value)
{
	size_t i = negative && bytes.nbytes > 0 && bytes.data[0] == '-';
	int64_t sum = 0;

	if (bytes.nbytes == i || bytes.nbytes - i > 18)
		return -1;
	for (size_t j = i; j < bytes.nbytes; j++) {
		if (bytes.data[j] < '0' || bytes.data[j] > '9')
			return -1;
		sum = 10 * sum + (bytes.data[j] - '0');
	}
	*value = i > 0 ? -sum : sum;
	return 0;
}

/*
 * Bytes that are gathered. A buffer is all zero at first, and grows as needed:
 * its user decides when it is long enough.
 */
struct buffer {
	uint8_t *data;
	size_t start, end;  /* what is in it */
	size_t capacity;
};

/* Free what it has; it is empty then. */
void buffer_free(struct buffer *buffer);

void buffer_put(struct buffer *buffer, const void *data, size_t nbytes);

/* A line: `text` and \r\n. */
void buffer_line(struct buffer *buffer, const char *text);

/* The same, with a '?' in place of each control character in `text`. */
void buffer_reason(struct buffer *buffer, const char *before,
    const char *text);

/* At most BUFFER_FORMAT_MAX bytes. */
#define BUFFER_FORMAT_MAX 1000
void buffer_format(struct buffer *buffer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The number of bytes in it. */
static inline size_t
buffer_bytes(const struct buffer *buffer)
{
	return buffer->end - buffer->start;
}

/*
 * Move bytes to a socket, as many as it takes now. Returns how many, or -1 with
 * errno set if the connection is broken.
 */
long buffer_send(struct buffer *buffer, int fd);

#endif
