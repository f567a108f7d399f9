/*
 * The text of URLs: the classes of bytes, and copying it in its normal
 * percent-encoding. Only the files of URLs include this.
 */
#ifndef KEY_URL_TEXT_H
#define KEY_URL_TEXT_H

#include <stdint.h>
#include <string.h>

#include "base/number.h"

/* The classes of bytes; most of their names are those of RFC 3986. */
enum {
	LOWER = 1 << 0,
	UPPER = 1 << 1,
	DIGIT = 1 << 2,
	MARK = 1 << 3,   /* the rest of unreserved: - _ ~ */
	DOT = 1 << 4,    /* the dot, which is also unreserved */
	SUB = 1 << 5,    /* sub-delims, but for & and = */
	AMPERSAND = 1 << 6,
	ENCODED = 1 << 7, /* not allowed in a URL, but written in paths and
			   * queries: means the same as percent-encoded */
	COLON = 1 << 8,
	PATH = 1 << 9,   /* @ / */
	QUERY = 1 << 10, /* ? */
	PLUS = 1 << 11,  /* +, which is in SUB, too */
	EQUALS = 1 << 12,
	ALPHA = LOWER | UPPER,
	UNRESERVED = ALPHA | DIGIT | MARK | DOT,
	SUB_DELIMS = SUB | AMPERSAND | EQUALS,
	IN_PATH = UNRESERVED | SUB_DELIMS | COLON | PATH | ENCODED,
	IN_QUERY = IN_PATH | QUERY,
	IN_PARAMETER = IN_QUERY & ~AMPERSAND
};

/* The class of each byte; 0: it is in no URL. */
extern const uint16_t url_class[256];

/* The rest of a text that is being read: from p on, up to `end`. */
struct reader {
	const uint8_t *p, *end;
};

/*
 * Copy bytes of these classes, normalizing percent-encoding, up to the first
 * byte that is in none of them, which in->p then points to. Writes at most
 * three bytes for each. Returns the end of what was written.
 *
 * A percent sign without two hexadecimal digits after it is an ordinary byte
 * where the classes have ENCODED, and stays; elsewhere, the result is NULL.
 * No digit that would make an escape of it is decoded, so that the text that
 * is written means the same when it is read again.
 */
uint8_t *url_copy(struct reader *in, unsigned classes, uint8_t *to);

/* Returns the first `byte` in [p, end), else `end`. */
static inline const uint8_t *
url_find(const uint8_t *p, const uint8_t *end, uint8_t byte)
{
	const uint8_t *found = memchr(p, byte, (size_t)(end - p));

	return found == NULL ? end : found;
}

/* Returns the byte that is percent-encoded at p; -1 if none is. */
static inline int
url_encoded_byte(const uint8_t *p, const uint8_t *end)
{
	if (end - p < 3 || *p != '%')
		return -1;
	return number_hex(p + 1, 2);
}

/*
 * Returns the byte that is percent-encoded at p, if it must be, and in upper
 * case, as url_copy writes it; otherwise -1.
 */
static inline int
url_normal_escape(const uint8_t *p, const uint8_t *end)
{
	int byte = url_encoded_byte(p, end);

	if (byte < 0 || p[1] >= 'a' || p[2] >= 'a' ||
	    url_class[byte] & UNRESERVED)
		return -1;
	return byte;
}

/* Write a byte percent-encoded; returns the end. */
static inline uint8_t *
url_encode(uint8_t *to, uint8_t byte)
{
	static const char digits[] = "0123456789ABCDEF";

	to[0] = '%';
	to[1] = (uint8_t)digits[byte >> 4];
	to[2] = (uint8_t)digits[byte & 15];
	return to + 3;
}

#endif
