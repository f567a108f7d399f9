#include "key/escape.h"

#include <stdint.h>
#include <stdio.h>

#include "base/number.h"

size_t
escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from != '\0'; from++) {
		unsigned char c = (unsigned char)*from;
		int plain = c >= 0x20 && c != 0x7f && c != '%';

		if (n < size)
			snprintf(to + n, size - n, plain ? "%c" : "%%%02X", c);
		n += plain ? 1 : 3;
	}
	return n;
}

int
unescape(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		int c;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		c = number_hex((const uint8_t *)text + 1, 2);
		if (c <= 0)
			return -1;
		*to++ = (char)c;
		text += 2;
	}
	*to = '\0';
	return 0;
}
