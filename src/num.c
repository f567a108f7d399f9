#include "num.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A decimal number taken apart: digits * 10^exponent, nothing rounded. If there
 * are `more` digits than that, they are in its text, times 10^power.
 */
struct decimal {
	uint64_t digits;
	int64_t exponent;
	int more;
	const char *text, *end; /* without the exponent */
	int64_t power;          /* the exponent */
};

/* No exponent that is larger makes another value; no text is so long. */
#define POWER_MAX INT64_C(1000000000000)

/* No double, and no middle of two, has more significant digits. */
#define DIGITS_MAX 768

static int
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static void
append_digit(struct decimal *d, unsigned digit)
{
	if (d->digits > UINT64_MAX / 10 ||
	    d->digits * 10 > UINT64_MAX - digit)
		d->more = 1;
	else
		d->digits = d->digits * 10 + digit;
}

/* Behind "e", if that is what stands there; 0 if there is no exponent. */
static int
parse_power(const char **text, int64_t *power)
{
	const char *p = *text;
	int negative = 0;

	/* "8E" is a size: an exponent has digits */
	if ((*p != 'e' && *p != 'E') ||
	    !(is_digit(p[1]) || p[1] == '+' || p[1] == '-'))
		return 0;
	p++;
	if (*p == '+' || *p == '-')
		negative = *p++ == '-';
	if (!is_digit(*p))
		return -1;
	for (; is_digit(*p); p++) {
		if (*power < POWER_MAX)
			*power = *power * 10 + (*p - '0');
	}
	if (negative)
		*power = -*power;
	*text = p;
	return 0;
}

/*
 * Read "12", "1.5", ".5" or "1.5e9" at *text and move *text behind it.
 * Trailing zeros of the digits move into the exponent, so that a value that
 * fits is never refused for how it is written.
 */
static int
decimal_parse(const char **text, struct decimal *d)
{
	const char *p = *text;
	int64_t zeros = 0;
	int seen = 0, point = 0;

	*d = (struct decimal){ .text = p };
	for (; is_digit(*p) || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = 1;
			continue;
		}
		seen = 1;
		d->exponent -= point;
		if (*p == '0') {
			zeros++;
			continue;
		}
		for (; zeros > 0 && d->digits != 0 && !d->more; zeros--)
			append_digit(d, 0);
		zeros = 0;
		append_digit(d, (unsigned)(*p - '0'));
	}
	d->end = p;
	if (!seen || parse_power(&p, &d->power) < 0)
		return -1;
	d->exponent = d->digits == 0 ? 0 : d->exponent + zeros + d->power;
	*text = p;
	return 0;
}

/*
 * d * unit as a whole number. `floor` says what happens to a fraction: cut it
 * off, or refuse.
 */
static int
decimal_whole(struct decimal d, uint64_t unit, int floor, uint64_t *value)
{
	unsigned __int128 v = d.digits;

	if (d.more)
		return -1;
	v *= unit;
	for (; d.exponent > 0; d.exponent--) {
		v *= 10;
		if (v > UINT64_MAX)
			return -1;
	}
	for (; d.exponent < 0 && v != 0; d.exponent++) {
		if (v % 10 != 0 && !floor)
			return -1;
		v /= 10;
	}
	if (v > UINT64_MAX)
		return -1;
	*value = (uint64_t)v;
	return 0;
}

int
num_count(const char *text, uint64_t *value)
{
	struct decimal d;
	uint64_t unit = 1;

	if (decimal_parse(&text, &d) < 0)
		return -1;
	switch (*text) {
	case 'T':
		unit *= 1000; /* fall through */
	case 'G':
		unit *= 1000; /* fall through */
	case 'M':
		unit *= 1000; /* fall through */
	case 'k':
	case 'K':
		unit *= 1000;
		text++;
		break;
	default:
		break;
	}
	if (*text != '\0')
		return -1;
	return decimal_whole(d, unit, 0, value);
}

int
num_size(const char *text, uint64_t *value)
{
	static const char letters[] = "KMGTPE";
	struct decimal d;
	const char *letter = NULL;
	uint64_t unit = 1, v;

	if (decimal_parse(&text, &d) < 0)
		return -1;
	if (*text == 'k')
		letter = letters;
	else if (*text != '\0')
		letter = strchr(letters, *text);
	if (letter != NULL) {
		int thousand;

		text++;
		thousand = strcmp(text, "B") == 0;
		if (thousand || strcmp(text, "iB") == 0)
			text += strlen(text);
		for (; letter >= letters; letter--)
			unit *= thousand ? 1000 : 1024;
	} else if (strcmp(text, "B") == 0) {
		text++;
	}
	if (*text != '\0' || decimal_whole(d, unit, 1, &v) < 0)
		return -1;
	if (v == 0 && d.digits != 0)
		return -1;
	*value = v;
	return 0;
}

/* d * 10^scale, rounded once. */
static double
decimal_double(const struct decimal *d, int scale)
{
	char text[DIGITS_MAX + 32];
	int64_t exponent = d->power + scale;
	int point = 0, more = 0;
	size_t n = 0;

	for (const char *p = d->text; p != d->end; p++) {
		if (*p == '.') {
			point = 1;
			continue;
		}
		exponent -= point;
		if (n == 0 && *p == '0')
			continue;
		if (n < DIGITS_MAX) {
			text[n++] = *p;
		} else {
			exponent++;
			more |= *p != '0';
		}
	}
	if (n == 0)
		return 0;
	/* All that matters of the others is whether there is anything. */
	if (more) {
		text[n++] = '1';
		exponent--;
	}
	/* strtod rounds correctly; without a point no locale matters. */
	snprintf(text + n, sizeof text - n, "e%d",
	    exponent > 10000 ? 10000 : exponent < -10000 ? -10000 :
	    (int)exponent);
	return strtod(text, NULL);
}

int
num_rate(const char *text, double *value)
{
	struct decimal d, divisor;
	int percent;
	double v;

	if (decimal_parse(&text, &d) < 0)
		return -1;
	percent = *text == '%';
	text += percent;
	v = decimal_double(&d, percent ? -2 : 0);
	if (*text == '/' && !percent) {
		text++;
		if (decimal_parse(&text, &divisor) < 0 || divisor.digits == 0)
			return -1;
		v /= decimal_double(&divisor, 0);
	}
	if (*text != '\0' || !(v >= 0 && v <= 1))
		return -1;
	*value = v;
	return 0;
}

int
num_seconds(const char *text, uint64_t *milliseconds)
{
	struct decimal d;
	uint64_t ms;

	if (decimal_parse(&text, &d) < 0 || *text != '\0')
		return -1;
	if (decimal_whole(d, 1000, 1, &ms) < 0 || ms > 1000000000000u)
		return -1;
	if (decimal_whole(d, 1000, 0, milliseconds) < 0)
		*milliseconds = ms + 1;
	return 0;
}

const char *
num_format_count(char text[NUM_TEXT], uint64_t value)
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

static const char *
format_digits(char text[NUM_TEXT], double value, int digits)
{
	char *exponent;

	snprintf(text, NUM_TEXT, "%.*g", digits, value);
	/* "1e-05" is how C writes it, not people */
	exponent = strstr(text, "e-0");
	if (exponent != NULL)
		memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
	return text;
}

const char *
num_format_rate(char text[NUM_TEXT], double value)
{
	return format_digits(text, value, 6);
}

const char *
num_format_exact(char text[NUM_TEXT], double value)
{
	double again = -1;

	for (int digits = 1; digits <= 17; digits++) {
		format_digits(text, value, digits);
		if (num_rate(text, &again) == 0 && !(again < value) &&
		    !(again > value))
			break;
	}
	return text;
}

static const char *
format_scaled(char text[NUM_TEXT], uint64_t value, double base,
    const char *const *units)
{
	double v = (double)value;
	int unit = 0;

	/* 999.96 would be shown as "1000.0" */
	for (; v >= base - (unit > 0 ? 0.05 : 0) && unit < 6; unit++)
		v /= base;
	if (unit == 0)
		snprintf(text, NUM_TEXT, "%" PRIu64 " %s", value, units[0]);
	else
		snprintf(text, NUM_TEXT, "%.1f %s", v, units[unit]);
	return text;
}

const char *
num_format_bytes(char text[NUM_TEXT], uint64_t value)
{
	static const char *const units[] =
	    { "bytes", "kB", "MB", "GB", "TB", "PB", "EB" };

	return format_scaled(text, value, 1000, units);
}

const char *
num_format_binary(char text[NUM_TEXT], uint64_t value)
{
	static const char *const units[] =
	    { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };

	return format_scaled(text, value, 1024, units);
}
