#include "base/number.h"

#include <ctype.h>
#include <errno.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const uint8_t number_hex_digits[256] = {
	['0'] = 1, ['1'] = 2, ['2'] = 3, ['3'] = 4, ['4'] = 5, ['5'] = 6,
	['6'] = 7, ['7'] = 8, ['8'] = 9, ['9'] = 10,
	['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16
};

/*
 * Read "12", "1.5", ".5" or "1.5e9" at *text, and move *text past it. strtold
 * would also take blanks, signs, words and hexadecimal digits. It expects a
 * point, since the program never sets a locale. What is too small for it
 * becomes the smallest number above 0, so that only 0 is 0.
 */
static int
parse_decimal(const char **text, long double *value)
{
	const char *p = *text;
	char *end;

	if (!isdigit((unsigned char)p[*p == '.' ? 1 : 0]) ||
	    (*p == '0' && (p[1] == 'x' || p[1] == 'X')))
		return -1;
	errno = 0;
	*value = strtold(p, &end);
	if (errno == ERANGE && !(*value > 0))
		*value = nextafterl(0, 1);
	*text = end;
	return 0;
}

/* Digits alone: exact, even where a long double is no more than a double. */
static int
parse_digits(const char *text, uint64_t *value)
{
	uint64_t n;

	if (number_digits(&text, NULL, UINT64_MAX, &n) < 0 || *text != '\0')
		return -1;
	*value = n;
	return 0;
}

/*
 * A value that is whole, but for rounding errors. Another one is rounded down
 * if `rounding` is negative, up if it is positive, and refused if it is 0.
 */
static int
make_whole(long double value, int rounding, uint64_t *whole)
{
	long double nearest = roundl(value);

	if (fabsl(value - nearest) > 4 * LDBL_EPSILON * value) {
		if (rounding == 0)
			return -1;
		nearest = rounding < 0 ? floorl(value) : ceill(value);
	}
	if (!(nearest < 18446744073709551616.0L))
		return -1;
	*whole = (uint64_t)nearest;
	return 0;
}

/*
 * The unit whose letter is at *text, which moves past it: base for the first of
 * `letters`, base^2 for the second ...; 1 if it is none of them.
 */
static uint64_t
parse_unit(const char **text, const char *letters, uint64_t base)
{
	char letter = **text == 'k' ? 'K' : **text;
	uint64_t unit = base;

	for (; *letters != '\0'; letters++) {
		if (*letters == letter) {
			++*text;
			return unit;
		}
		unit *= base;
	}
	return 1;
}

int
number_count(const char *text, uint64_t *value)
{
	long double v;
	uint64_t unit;

	if (parse_digits(text, value) == 0)
		return 0;
	if (parse_decimal(&text, &v) < 0)
		return -1;
	unit = parse_unit(&text, "KMGT", 1000);
	if (*text != '\0')
		return -1;
	return make_whole(v * unit, 0, value);
}

int
number_size(const char *text, uint64_t *value)
{
	uint64_t base = 1024, unit;
	long double v;

	if (parse_digits(text, value) == 0)
		return 0;
	if (parse_decimal(&text, &v) < 0)
		return -1;
	if (*text != '\0' && strcmp(text + 1, "B") == 0)
		base = 1000;
	unit = parse_unit(&text, "KMGTPE", base);
	if (*text != '\0' && strcmp(text, "B") != 0 &&
	    (unit == 1 || strcmp(text, "iB") != 0))
		return -1;
	v *= unit;
	if (v > 0 && v < 1)
		return -1;
	return make_whole(v, -1, value);
}

int
number_rate(const char *text, double *value)
{
	const char *number = text;
	long double exact;
	double v;

	if (parse_decimal(&text, &exact) < 0)
		return -1;
	/* To round `exact` would be to round twice. */
	v = strtod(number, NULL);
	if (*text == '%') {
		text++;
		v = (double)(exact / 100);
	} else if (*text == '/') {
		number = ++text;
		if (parse_decimal(&text, &exact) < 0)
			return -1;
		v /= strtod(number, NULL);
	}
	if (*text != '\0' || !(v >= 0 && v <= 1))
		return -1;
	*value = v;
	return 0;
}

int
number_seconds(const char *text, uint64_t *milliseconds)
{
	long double v;

	if (parse_decimal(&text, &v) < 0 || *text != '\0' || v > 1e9L)
		return -1;
	return make_whole(v * 1000, 1, milliseconds);
}

int
number_duration(const char *text, uint64_t *seconds)
{
	static const char units[] = "smhdw";
	static const uint64_t lengths[] = { 1, 60, 3600, 86400, 604800 };
	const char *unit;
	uint64_t n, length;
	long double v;

	if (parse_decimal(&text, &v) < 0 || make_whole(v, 0, &n) < 0)
		return -1;
	unit = *text == '\0' ? NULL : strchr(units, *text);
	if (unit == NULL || text[1] != '\0')
		return -1;
	length = lengths[unit - units];
	if (n == 0 || n >= (UINT64_C(1) << 53) / length)
		return -1;
	*seconds = n * length;
	return 0;
}

const char *
number_format_count(char text[NUMBER_TEXT], uint64_t value)
{
	char digits[24];
	int length = snprintf(digits, sizeof digits, "%" PRIu64, value);
	char *out = text;

	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return text;
}

const char *
number_format_rate(char text[NUMBER_TEXT], double value)
{
	char *exponent;

	snprintf(text, NUMBER_TEXT, "%g", value);
	/* C writes "1e-05", people write "1e-5" */
	exponent = strstr(text, "e-0");
	if (exponent != NULL)
		memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
	return text;
}

static const char *
format_scaled(char text[NUMBER_TEXT], uint64_t value, double base,
    const char *letters, const char *rest)
{
	double v = (double)value;
	int unit = 0;

	/* 999.96 would be shown as "1000.0" */
	for (; v >= base - (unit > 0 ? 0.05 : 0) && unit < 6; unit++)
		v /= base;
	if (unit == 0)
		snprintf(text, NUMBER_TEXT, "%" PRIu64 " bytes", value);
	else
		snprintf(text, NUMBER_TEXT, "%.1f %c%s", v, letters[unit - 1],
		    rest);
	return text;
}

const char *
number_format_bytes(char text[NUMBER_TEXT], uint64_t value)
{
	return format_scaled(text, value, 1000, "kMGTPE", "B");
}

const char *
number_format_binary(char text[NUMBER_TEXT], uint64_t value)
{
	return format_scaled(text, value, 1024, "KMGTPE", "iB");
}

uint64_t
number_whole(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 18446744073709551615.0 ? UINT64_MAX :
	    (uint64_t)round(value);
}
