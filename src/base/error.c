#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/passwords.h"
#include "base/utf8.h"

/* Is it one of the bytes behind the first one of a character in UTF-8? */
static int
is_inside(char byte)
{
	return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Copy a text of n bytes, without its middle if it is too long. */
static void
shorten(char to[ERROR_TEXT], char *text, size_t n)
{
	static const char dots[] = "...";
	size_t half = (ERROR_TEXT - sizeof dots) / 2, begin = half;
	size_t end = n - half;

	if (n < ERROR_TEXT) {
		memcpy(to, text, n + 1);
		return;
	}
	/* Half of a password would not be known as one. */
	for (size_t i = 0; i < n; i++)
		memset(text + i, '*', passwords_at(text, text + i));
	while (begin > 0 && is_inside(text[begin]))
		begin--;
	while (is_inside(text[end]))
		end++;
	sprintf(to, "%.*s%s%s", (int)begin, text, dots, text + end);
}

/* Write a message to `to`. */
static void
compose(char to[ERROR_TEXT], const char *format, va_list args)
{
	char text[PATH_MAX + ERROR_TEXT];
	int n = vsnprintf(text, sizeof text, format, args);

	shorten(to, text, n < (int)sizeof text ? (size_t)n : sizeof text - 1);
}

int
error_set(struct error *error, int status, const char *format, ...)
{
	va_list args;

	/* The arguments may point into the old text. */
	va_start(args, format);
	compose(error->text, format, args);
	va_end(args);
	error->status = status;
	error->repeated = 0;
	error->errnum = 0;
	return -1;
}

int
error_system(struct error *error, int errnum, const char *name)
{
	error_set(error, STATUS_FAILED, "%s: %s", name, strerror(errnum));
	error->errnum = errnum;
	return -1;
}

int
error_prefix(struct error *error, const char *name)
{
	return error_set(error, error->status, "%s: %s", name, error->text);
}

int
error_is_full(const struct error *error)
{
	return error->status == STATUS_FULL || error->errnum == ENOSPC ||
	    error->errnum == EDQUOT || error->errnum == EFBIG;
}

int
error_again(struct error *error, int errnum, const char *name)
{
	error_system(error, errnum, name);
	error->repeated = 1;
	return -1;
}

void
error_print(const char *text)
{
	/* Every byte may become four; one write keeps the line whole. */
	char line[4 * ERROR_TEXT + 16];
	size_t n = (size_t)snprintf(line, sizeof line, "bloomdedup: ");
	size_t taken;
	const char *at = text;

	for (; *at != '\0' && n < sizeof line - 8; n += strlen(line + n)) {
		taken = passwords_at(text, at);
		if (taken > 0)
			strcpy(line + n, PASSWORDS_HIDDEN);
		else
			taken = (size_t)utf8_show(at, line + n);
		at += taken;
	}
	line[n++] = '\n';
	/* If this fails, there is nowhere left to report it. */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

char *
error_bytes(char *to, size_t room, const void *data, size_t nbytes)
{
	const char *p = data;
	size_t n = 0;

	for (size_t i = 0; i < nbytes; i++) {
		if (n + sizeof "\\x00..." > room) {
			strcpy(to + n, "...");
			return to;
		}
		if (p[i] == '\0')
			n += (size_t)sprintf(to + n, "\\x00");
		else
			to[n++] = p[i];
	}
	to[n] = '\0';
	return to;
}

void
error_printf(const char *format, ...)
{
	char text[ERROR_TEXT];
	va_list args;

	va_start(args, format);
	compose(text, format, args);
	va_end(args);
	error_print(text);
}

void
error_notify(void (*notice)(const char *text), const char *format, ...)
{
	char text[ERROR_TEXT];
	va_list args;

	if (notice == NULL)
		return;
	va_start(args, format);
	compose(text, format, args);
	va_end(args);
	notice(text);
}

struct error *
error_ignored(void)
{
	static _Thread_local struct error ignored;

	return &ignored;
}

void *
memory_or_die(void *pointer)
{
	static atomic_flag is_said = ATOMIC_FLAG_INIT;

	if (pointer != NULL)
		return pointer;
	/* Other threads may run out of memory at the same moment. */
	while (atomic_flag_test_and_set(&is_said))
		pause();
	error_print("out of memory");
	_exit(STATUS_FAILED);
}

void *
memory_grow(void *items, size_t *room, size_t wanted, size_t item_bytes)
{
	const size_t least = 16;

	if (wanted <= *room)
		return items;
	*room *= 2;
	if (*room < least)
		*room = least;
	if (*room < wanted)
		*room = wanted;
	return memory_or_die(realloc(items, *room * item_bytes));
}
