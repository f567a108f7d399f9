#include "base/utf8.h"

#include <stdio.h>

/* How long a character is that begins with this byte; 0 if none does. */
static int
length_by_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	if (first >= 0xf0 && first < 0xf5)
		return 4;
	return 0;
}

/* May the second byte follow this first one? */
static int
may_follow(unsigned char first, unsigned char second)
{
	switch (first) {
	case 0xe0:
		/* a lower one would be an overlong form */
		return second >= 0xa0;
	case 0xed:
		return second <= 0x9f; /* a higher one would be a surrogate */
	case 0xf0:
		/* a lower one would be an overlong form */
		return second >= 0x90;
	case 0xf4:
		/* a higher one would be beyond U+10FFFF */
		return second <= 0x8f;
	default:
		return 1;
	}
}

int
utf8_length(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	int length = length_by_first(p[0]);

	for (int i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	if (length > 1 && !may_follow(p[0], p[1]))
		return 0;
	return length;
}

int
utf8_show(const char *text, char shown[UTF8_SHOWN])
{
	const unsigned char *p = (const unsigned char *)text;
	int length = utf8_length(text);

	if (p[0] < 0x20 || p[0] == 0x7f || (p[0] == 0xc2 && p[1] < 0xa0) ||
	    (length == 0 && p[0] < 0xa0)) {
		snprintf(shown, UTF8_SHOWN, "\\x%02x", p[0]);
		return 1;
	}
	length = length == 0 ? 1 : length;
	snprintf(shown, UTF8_SHOWN, "%.*s", length, text);
	return length;
}
