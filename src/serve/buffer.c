#include "serve/buffer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"

/* One that was sent, and is no larger than this, is kept for the next bytes. */
#define KEPT_BYTES ((size_t)16 << 10)
#define FIRST_BYTES ((size_t)1 << 10)

void
buffer_free(struct buffer *buffer)
{
	free(buffer->data);
	*buffer = (struct buffer){ 0 };
}

void
buffer_put(struct buffer *b, const void *data, size_t nbytes)
{
	/*
	 * It moves no more bytes than were sent, however slowly they are sent.
	 */
	if (b->capacity - b->end < nbytes && b->start > 0 &&
	    b->start >= buffer_bytes(b)) {
		memmove(b->data, b->data + b->start, b->end - b->start);
		b->end -= b->start;
		b->start = 0;
	}
	if (b->capacity - b->end < nbytes) {
		size_t wanted = b->end + nbytes;

		if (wanted < FIRST_BYTES)
			wanted = FIRST_BYTES;
		b->data = memory_grow(b->data, &b->capacity, wanted, 1);
	}
	if (nbytes > 0)
		memcpy(b->data + b->end, data, nbytes);
	b->end += nbytes;
}

void
buffer_line(struct buffer *b, const char *text)
{
	buffer_put(b, text, strlen(text));
	buffer_put(b, "\r\n", 2);
}

void
buffer_reason(struct buffer *b, const char *before, const char *text)
{
	size_t n = strlen(text);

	buffer_put(b, before, strlen(before));
	buffer_put(b, text, n);
	for (uint8_t *p = b->data + b->end - n; p < b->data + b->end; p++) {
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	buffer_put(b, "\r\n", 2);
}

void
buffer_format(struct buffer *b, const char *format, ...)
{
	char text[BUFFER_FORMAT_MAX + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	buffer_put(b, text, strlen(text));
}

long
buffer_send(struct buffer *b, int fd)
{
	ssize_t n = 0;

	if (b->end > b->start)
		n = send(fd, b->data + b->start, buffer_bytes(b), MSG_NOSIGNAL);
	if (n < 0 && (errno == EINTR || errno == EAGAIN ||
	    errno == EWOULDBLOCK))
		return 0;
	if (n < 0)
		return -1;
	b->start += (size_t)n;
	if (b->start == b->end) {
		b->start = b->end = 0;
		if (b->capacity > KEPT_BYTES)
			buffer_free(b);
	}
	return n;
}
