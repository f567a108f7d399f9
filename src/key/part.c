#include "key/part.h"

#include <stdio.h>
#include <string.h>

int
part_parse(const char *text, unsigned *part, unsigned *parts)
{
	unsigned i, n;
	char again[24];

	/* Accept what is written, so without leading zeros or blanks. */
	if (sscanf(text, "%5u/%5u", &i, &n) != 2 || i < 1 || i > n ||
	    n > PARTS_MAX)
		return -1;
	snprintf(again, sizeof again, "%u/%u", i, n);
	if (strcmp(again, text) != 0)
		return -1;
	*part = i;
	*parts = n;
	return 0;
}
