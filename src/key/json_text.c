#include "key/json_text.h"

#include <string.h>

#include "base/number.h"

/* The end of the digits at p; NULL if there are none. */
static const uint8_t *
digits_end(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *start = p;

	while (p < end && *p >= '0' && *p <= '9')
		p++;
	return p > start ? p : NULL;
}

/* The end of the number at p; NULL if there is none. */
static const uint8_t *
number_end(const uint8_t *p, const uint8_t *end)
{
	if (p < end && *p == '-')
		p++;
	if (p < end && *p == '0')
		p++; /* a number has no other digit after it */
	else
		p = digits_end(p, end);
	if (p != NULL && p < end && *p == '.')
		p = digits_end(p + 1, end);
	if (p == NULL || p == end || (*p != 'e' && *p != 'E'))
		return p;
	p++;
	if (p < end && (*p == '+' || *p == '-'))
		p++;
	return digits_end(p, end);
}

const uint8_t *
json_scalar_end(const uint8_t *p, const uint8_t *end)
{
	static const char *const words[] = { "true", "false", "null" };

	for (int i = 0; i < 3; i++) {
		size_t n = strlen(words[i]);

		if ((size_t)(end - p) >= n && memcmp(p, words[i], n) == 0)
			return p + n;
	}
	return number_end(p, end);
}

/* Write the character in UTF-8; returns the number of its bytes. */
static size_t
write_utf8(int c, uint8_t to[4])
{
	unsigned n = 4;

	if (c < 0x80) {
		to[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800)
		n = 2;
	else if (c < 0x10000)
		n = 3;
	for (unsigned i = n - 1; i > 0; i--, c >>= 6)
		to[i] = (uint8_t)(0x80 | (c & 0x3f));
	/* it begins with as many ones as there are bytes */
	to[0] = (uint8_t)(0xf00 >> n | c);
	return n;
}

size_t
json_read_escape(const uint8_t **p, const uint8_t *end, uint8_t to[4])
{
	static const uint8_t letters[256] = { ['"'] = '"', ['\\'] = '\\',
		['/'] = '/', ['b'] = '\b', ['f'] = '\f', ['n'] = '\n',
		['r'] = '\r', ['t'] = '\t' };
	const uint8_t *q = *p + 1;
	int c, low;

	if (q == end)
		return 0;
	if (letters[*q] != 0) {
		*p = q + 1;
		to[0] = letters[*q];
		return 1;
	}
	if (*q != 'u' || end - q < 5 || (c = number_hex(q + 1, 4)) < 0)
		return 0;
	q += 5;
	if (c >= 0xd800 && c < 0xdc00 && end - q >= 6 && q[0] == '\\' &&
	    q[1] == 'u' && (low = number_hex(q + 2, 4)) >= 0xdc00 &&
	    low < 0xe000) {
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		q += 6;
	}
	*p = q;
	return write_utf8(c, to);
}
