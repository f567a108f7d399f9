#include "json.h"

#include <stdio.h>

/* The length of the UTF-8 sequence at p, 0 if it is none (RFC 3629). */
static int
utf8_length(const unsigned char *p)
{
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

void
json_print_string(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;

	putchar('"');
	while (*p != '\0') {
		int length = utf8_length(p);

		if (*p == '"' || *p == '\\') {
			printf("\\%c", *p);
		} else if (*p < 0x20) {
			printf("\\u%04x", *p);
		} else if (length == 0) {
			fputs("\\ufffd", stdout);
			length = 1;
		} else {
			fwrite(p, 1, (size_t)length, stdout);
		}
		p += length;
	}
	putchar('"');
}

void
json_print_name(const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char c = (unsigned char)*text;

		if (c < 0x20 || c == 0x7f)
			printf("\\x%02x", c);
		else
			putchar(c);
	}
}
