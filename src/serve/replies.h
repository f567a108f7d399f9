/*
 * The replies still to be sent to a client. The buffer grows as needed; the
 * caller must not add to one that is long enough already.
 */
#ifndef REPLIES_H
#define REPLIES_H

#include <stddef.h>
#include <stdint.h>

struct replies {
	uint8_t *data;
	size_t start, end;  /* what is to be sent */
	size_t capacity;
};

void replies_free(struct replies *replies);

void replies_put(struct replies *replies, const void *data, size_t nbytes);

/* A line: `text` and \r\n. */
void replies_line(struct replies *replies, const char *text);

/* The same, with a '?' in place of each control character in `text`. */
void replies_reason(struct replies *replies, const char *before,
    const char *text);

void replies_format(struct replies *replies, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The number of bytes not sent yet. */
size_t replies_bytes(const struct replies *replies);

/*
 * Write them to a socket, as many bytes as it takes now. Returns how many, or
 * -1 with errno set if the connection is broken.
 */
long replies_send(struct replies *replies, int fd);

#endif
