/* Values with any bytes, as a part of a line of text: %0A for a newline. */
#ifndef ESCAPE_H
#define ESCAPE_H

#include <stddef.h>

/* Returns the length of the whole text, even if `size` cuts it off. */
size_t escape(char *to, size_t size, const char *from);

/* In place; returns -1 if escape can't have written it. */
int unescape(char *text);

#endif
