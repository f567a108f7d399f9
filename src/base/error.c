#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/passwords.h"
#include "base/utf8.h"

int
error_set(struct error *error, int status, const char *format, ...)
{
	char text[sizeof error->text];
	va_list args;

	/* The arguments may point into the old text. */
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	memcpy(error->text, text, sizeof text);
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
	char line[4 * sizeof(((struct error *)0)->text) + 16];
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
	char text[sizeof(((struct error *)0)->text)];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	error_print(text);
}

void
error_notify(void (*notice)(const char *text), const char *format, ...)
{
	char text[sizeof(((struct error *)0)->text)];
	va_list args;

	if (notice == NULL)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
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
