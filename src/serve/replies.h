/*
 * The replies still to be sent to a client. They can be held and then
 * withdrawn: a get line that fails at its last key must not answer the others.
 *
 * The buffer grows as needed; the caller must not add to one that is long
 * enough already.
 */
#ifndef REPLIES_H
#define REPLIES_H

#include <stddef.h>
#include <stdint.h>

struct replies {
	uint8_t *data;
	size_t start, end;  /* what is to be sent */
	size_t capacity;
	size_t held;        /* if `holding`: bytes from here on are held */
	int holding;
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

/* Hold the replies that follow; then withdraw them, or let them go. */
void replies_hold(struct replies *replies);
void replies_withdraw(struct replies *replies);
void replies_let_go(struct replies *replies);

/* Exchange the first `old` bytes that are held for fewer. */
void replies_exchange(struct replies *replies, size_t old, const void *data,
    size_t nbytes);

/* The number of bytes not sent yet, and of those that may be sent now. */
size_t replies_bytes(const struct replies *replies);
size_t replies_ready(const struct replies *replies);

/*
 * Write what may be sent to a socket, as much as it takes now. Returns how many
 * bytes it took, or -1 with errno set if the connection is broken.
 */
long replies_send(struct replies *replies, int fd);

#endif
