#include "key/part.h"

/* A number from 1 to PARTS_MAX, without leading zeros; 0 if it is none. */
static unsigned
number(const char **text)
{
	unsigned value = 0;

	if (**text == '0')
		return 0;
	for (; **text >= '0' && **text <= '9' && value <= PARTS_MAX; ++*text)
		value = 10 * value + (unsigned)(**text - '0');
	return value <= PARTS_MAX ? value : 0;
}

int
part_parse(const char *text, unsigned *part, unsigned *parts)
{
	unsigned i = number(&text), n;

	if (i == 0 || *text++ != '/')
		return -1;
	n = number(&text);
	if (*text != '\0' || i > n)
		return -1;
	*part = i;
	*parts = n;
	return 0;
}
