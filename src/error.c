#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "temporary.h"

int
error_set(struct error *error, int status, const char *format, ...)
{
	char text[sizeof error->text];
	va_list args;

	/* The old text may be an argument of the new one. */
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	memcpy(error->text, text, sizeof text);
	error->status = status;
	return -1;
}

int
error_system(struct error *error, int errnum, const char *name)
{
	return error_set(error, STATUS_FAILED, "%s: %s", name,
	    strerror(errnum));
}

/* Control bytes, and UTF-8's C1 controls, which terminals obey, too. */
static int
is_control(const char *text)
{
	unsigned char c = (unsigned char)text[0];
	unsigned char next = (unsigned char)text[1];

	return c < 0x20 || c == 0x7f || (c == 0xc2 && next >= 0x80 &&
	    next < 0xa0);
}

void
error_print(const char *text)
{
	static const char hex[] = "0123456789abcdef";
	/* Every byte may become four; one write keeps the line whole. */
	char line[4 * sizeof(((struct error *)0)->text) + 16];
	size_t n = 0;

	memcpy(line, "bloomdedup: ", 12);
	n = 12;
	for (; *text != '\0' && n < sizeof line - 8; text++) {
		unsigned char c = (unsigned char)*text;
		if (c == '\n' || c == '\t' || c == '\r') {
			line[n++] = '\\';
			line[n++] = c == '\n' ? 'n' : c == '\t' ? 't' : 'r';
		} else if (is_control(text)) {
			line[n++] = '\\';
			line[n++] = 'x';
			line[n++] = hex[c >> 4];
			line[n++] = hex[c & 15];
		} else {
			line[n++] = (char)c;
		}
	}
	line[n++] = '\n';
	/* There is nobody left to tell when this fails. */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

void
error_printf(const char *format, ...)
{
	char text[sizeof(((struct error *)0)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	error_print(text);
}

void *
memory_or_die(void *pointer)
{
	if (pointer == NULL) {
		temporary_remove();
		error_print("out of memory");
		_exit(STATUS_FAILED);
	}
	return pointer;
}
