/* Blanks, as isspace in the C locale. */
#ifndef BLANKS_H
#define BLANKS_H

#include "bits/hash.h"

static inline int
is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Without blanks at both ends. */
static inline struct key
trim_blanks(struct key key)
{
	while (key.nbytes > 0 && is_blank(key.data[key.nbytes - 1]))
		key.nbytes--;
	while (key.nbytes > 0 && is_blank(key.data[0])) {
		key.data++;
		key.nbytes--;
	}
	return key;
}

#endif
