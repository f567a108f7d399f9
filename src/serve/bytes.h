/* Bytes of a request; they belong to somebody else. */
#ifndef BYTES_H
#define BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

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

/*
 * A whole number of at most 18 digits; one below 0 only if `negative`. Returns
 * 0, or -1.
 */
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

#endif
