#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal number taken apart: digits * 10^exponent, nothing rounded. */
struct decimal {
	uint64_t digits;
	int64_t exponent;
	int more; /* more digits than fit: the value is wrong */
};

/* Larger exponents change nothing: no text has the digits to offset them. */
#define POWER_MAX INT64_C(1000000000000)

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

/* Parse an exponent, if any, and move *text past it; -1 if malformed. */
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
 * Read "12", "1.5", ".5" or "1.5e9" at *text and move *text past it. Trailing
 * zeros of the digits move into the exponent, so that a value that fits is
 * accepted however it is written.
 */
static int
decimal_parse(const char **text, struct decimal *d)
{
	const char *p = *text;
	int64_t zeros = 0, power = 0;
	int seen = 0, point = 0;

	*d = (struct decimal){ 0 };
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
	if (!seen || parse_power(&p, &power) < 0)
		return -1;
	d->exponent = d->digits == 0 ? 0 : d->exponent + zeros + power;
	*text = p;
	return 0;
}

/*
 * d * unit as a whole number; the unit is at most 2^60. With `floor`, a
 * fraction is rounded down; without it, it is refused.
 */
static int
decimal_whole(struct decimal d, uint64_t unit, int floor, uint64_t *value)
{
	uint64_t whole = d.digits, fraction = 0, v;

	if (d.more)
		return -1;
	/* Digits after the point, the last one first, in tenths of a unit. */
	for (; d.exponent < 0 && (whole | fraction) != 0; d.exponent++) {
		uint64_t tenths = whole % 10 * unit + fraction;

		if (tenths % 10 != 0 && !floor)
			return -1;
		fraction = tenths / 10;
		whole /= 10;
	}
	if (__builtin_mul_overflow(whole, unit, &v) ||
	    __builtin_add_overflow(v, fraction, &v))
		return -1;
	for (; d.exponent > 0; d.exponent--) {
		if (__builtin_mul_overflow(v, 10, &v))
			return -1;
	}
	*value = v;
	return 0;
}

/*
 * The unit whose letter is at *text, which moves past it: base, base^2 ...; 1
 * if it is none of the letters.
 */
static uint64_t
parse_unit(const char **text, const char *letters, uint64_t base)
{
	char letter = **text == 'k' ? 'K' : **text;
	const char *found = letter == '\0' ? NULL : strchr(letters, letter);
	uint64_t unit = 1;

	*text += found != NULL;
	for (; found != NULL && found >= letters; found--)
		unit *= base;
	return unit;
}

int
number_count(const char *text, uint64_t *value)
{
	struct decimal d;
	uint64_t unit;

	if (decimal_parse(&text, &d) < 0)
		return -1;
	unit = parse_unit(&text, "KMGT", 1000);
	return *text != '\0' ? -1 : decimal_whole(d, unit, 0, value);
}

int
number_size(const char *text, uint64_t *value)
{
	struct decimal d;
	uint64_t unit, v;

	if (decimal_parse(&text, &d) < 0)
		return -1;
	unit = parse_unit(&text, "KMGTPE", *text != '\0' &&
	    strcmp(text + 1, "B") == 0 ? 1000 : 1024);
	if (*text != '\0' && strcmp(text, "B") != 0 &&
	    (unit == 1 || strcmp(text, "iB") != 0))
		return -1;
	if (decimal_whole(d, unit, 1, &v) < 0 || (v == 0 && d.digits != 0))
		return -1;
	*value = v;
	return 0;
}

/*
 * decimal_parse checks the syntax, so strtod sees only plain decimal. It
 * expects a point, since the program never sets a locale.
 */
int
number_rate(const char *text, double *value)
{
	const char *start = text;
	struct decimal d;
	double v;

	if (decimal_parse(&text, &d) < 0)
		return -1;
	v = strtod(start, NULL);
	if (*text == '%') {
		text++;
		v = (double)(strtold(start, NULL) / 100);
	} else if (*text == '/') {
		const char *divisor = ++text;

		if (decimal_parse(&text, &d) < 0 || d.digits == 0)
			return -1;
		v /= strtod(divisor, NULL);
	}
	if (*text != '\0' || !(v >= 0 && v <= 1))
		return -1;
	*value = v;
	return 0;
}

int
number_seconds(const char *text, uint64_t *milliseconds)
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

static const char *
format_digits(char text[NUMBER_TEXT], double value, int digits)
{
	char *exponent;

	snprintf(text, NUMBER_TEXT, "%.*g", digits, value);
	/* C writes "1e-05", people write "1e-5" */
	exponent = strstr(text, "e-0");
	if (exponent != NULL)
		memmove(exponent + 2, exponent + 3, strlen(exponent + 2));
	return text;
}

const char *
number_format_rate(char text[NUMBER_TEXT], double value)
{
	return format_digits(text, value, 6);
}

const char *
number_format_exact(char text[NUMBER_TEXT], double value)
{
	double again = -1;

	for (int digits = 1; digits <= 17; digits++) {
		format_digits(text, value, digits);
		if (number_rate(text, &again) == 0 && !(again < value) &&
		    !(again > value))
			break;
	}
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

int
number_duration(const char *text, uint64_t *seconds)
{
	static const char units[] = "smhdw";
	static const uint64_t lengths[] = { 1, 60, 3600, 86400, 604800 };
	uint64_t value = 0;
	const char *p = text, *unit;

	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (uint64_t)(*p - '0');
		if (value >> 53 != 0)
			return -1;
	}
	unit = *p == '\0' ? NULL : strchr(units, *p);
	if (p == text || unit == NULL || p[1] != '\0' || value == 0 ||
	    value > (UINT64_C(1) << 53) / lengths[unit - units] - 1)
		return -1;
	*seconds = value * lengths[unit - units];
	return 0;
}
