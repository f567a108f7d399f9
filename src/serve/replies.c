#include "serve/replies.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/error.h"

/* An empty buffer that is no larger than this is kept for the next replies. */
#define KEPT_BYTES ((size_t)16 << 10)
#define FIRST_BYTES ((size_t)1 << 10)

void
replies_free(struct replies *replies)
{
	free(replies->data);
	*replies = (struct replies){ 0 };
}

static void
make_room(struct replies *r, size_t nbytes)
{
	if (r->capacity - r->end >= nbytes)
		return;
	if (r->start > 0) {
		memmove(r->data, r->data + r->start, r->end - r->start);
		r->end -= r->start;
		r->start = 0;
	}
	if (r->capacity - r->end >= nbytes)
		return;
	if (r->capacity == 0)
		r->capacity = FIRST_BYTES;
	while (r->capacity - r->end < nbytes)
		r->capacity *= 2;
	r->data = memory_or_die(realloc(r->data, r->capacity));
}

void
replies_put(struct replies *r, const void *data, size_t nbytes)
{
	make_room(r, nbytes);
	if (nbytes > 0)
		memcpy(r->data + r->end, data, nbytes);
	r->end += nbytes;
}

void
replies_line(struct replies *r, const char *text)
{
	replies_put(r, text, strlen(text));
	replies_put(r, "\r\n", 2);
}

void
replies_reason(struct replies *r, const char *before, const char *text)
{
	size_t n = strlen(text);

	replies_put(r, before, strlen(before));
	replies_put(r, text, n);
	for (uint8_t *p = r->data + r->end - n; p < r->data + r->end; p++) {
		if (*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	replies_put(r, "\r\n", 2);
}

void
replies_format(struct replies *r, const char *format, ...)
{
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (n < 0)
		return;
	make_room(r, (size_t)n + 1);
	va_start(args, format);
	vsnprintf((char *)r->data + r->end, (size_t)n + 1, format, args);
	va_end(args);
	r->end += (size_t)n;
}

size_t
replies_bytes(const struct replies *r)
{
	return r->end - r->start;
}

long
replies_send(struct replies *r, int fd)
{
	ssize_t n = 0;

	if (r->end > r->start)
		n = send(fd, r->data + r->start, r->end - r->start,
		    MSG_NOSIGNAL);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN ||
		    errno == EWOULDBLOCK ? 0 : -1;
	r->start += (size_t)n;
	if (r->start == r->end) {
		r->start = r->end = 0;
		if (r->capacity > KEPT_BYTES)
			replies_free(r);
	}
	return n;
}
