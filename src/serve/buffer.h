/*
 * Bytes that are gathered, such as the replies to a client. A buffer is all
 * zero at first, and grows as needed: its user decides when it is long enough.
 */
#ifndef BUFFER_H
#define BUFFER_H

#include <stddef.h>
#include <stdint.h>

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
size_t buffer_bytes(const struct buffer *buffer);

/*
 * Move bytes to a socket, as many as it takes now. Returns how many, or -1 with
 * errno set if the connection is broken.
 */
long buffer_send(struct buffer *buffer, int fd);

#endif
