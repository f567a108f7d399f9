/*
 * The Test Anything Protocol, as much of it as the unit tests need: main()
 * ends with `return tap_end();`.
 */
#ifndef TESTS_UNIT_TAP_H
#define TESTS_UNIT_TAP_H

#include <stdarg.h>
#include <stdio.h>

static int tap_count, tap_failures;

__attribute__((format(printf, 2, 3)))
static inline int
tap_ok(int ok, const char *format, ...)
{
	va_list args;

	printf("%s %d - ", ok ? "ok" : "not ok", ++tap_count);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	tap_failures += !ok;
	return ok;
}

static inline int
tap_end(void)
{
	printf("1..%d\n", tap_count);
	return tap_failures != 0;
}

#endif
