#include "base/utf8.h"

#include <stdio.h>

int
utf8_length(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	int length = p[0] < 0x80 ? 1 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 :
	    (p[0] & 0xf0) == 0xe0 ? 3 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : 0;

	for (int i = 1; i < length; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f))
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
