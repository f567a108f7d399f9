/*
 * Numbers as people write them: one strict parser for all options, and the
 * output of numbers in messages and tables.
 *
 * Numbers are decimal, with a point and an exponent if they need them, and
 * independent of the locale. A sign, "nan", "inf", "0x10", a blank, an empty
 * string or bytes after the number are refused. Each parser returns 0 and
 * stores the number, or returns -1 and stores nothing. It prints no message:
 * the caller knows the option's name and what is allowed.
 *
 * A whole number of digits alone is exact. With a point, an exponent or a unit,
 * the digits from the 19th on may be rounded; those from the 16th on where a
 * long double is no larger than a double, as on armhf.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Parse a count: "100000000", "1e8", "1.5e9", "100M". The units k (or K), M, G
 * and T are powers of 1000. The result must be a whole number below 2^64.
 */
int number_count(const char *text, uint64_t *value);

/*
 * Parse a size in bytes, below 2^64: "512K", "32M" and "2GiB" are in powers of
 * 1024, as in `sort -S`, "500kB" and "2MB" in powers of 1000, and a plain
 * number or one with B is bytes. A fraction of a unit is allowed ("1.5G") and
 * rounded down to whole bytes; less than one byte is refused, except 0.
 */
int number_size(const char *text, uint64_t *value);

/*
 * Parse a rate from 0 to 1: "1e-6", "0.001", "0.1%", "1/1000", with any number
 * of digits. *value becomes the nearest double; for a percentage or a quotient,
 * it may be off by one unit in the last place.
 */
int number_rate(const char *text, double *value);

/*
 * Parse a number of seconds, at most 1e9, whole or with a fraction.
 * *milliseconds is rounded up, so that only 0 becomes 0.
 */
int number_seconds(const char *text, uint64_t *milliseconds);

/*
 * Parse a duration in whole units: "90s", "30m", "12h", "30d", "4w". It is at
 * least a second and less than 2^53 seconds.
 */
int number_duration(const char *text, uint64_t *seconds);

/*
 * Read the decimal digits at *at, up to `end` or, if that is NULL, up to a byte
 * that is none, as a whole number of at most `most`. Returns 0 with the number
 * in *value and *at moved past it; or -1 if there is no digit or the number is
 * larger, with both unchanged.
 */
static inline int
number_digits(const char **at, const char *end, uint64_t most, uint64_t *value)
{
	const char *p = *at;
	uint64_t sum = 0;

	for (; p != end && *p >= '0' && *p <= '9'; p++) {
		unsigned digit = (unsigned)(*p - '0');

		if (sum > most / 10 || digit > most - 10 * sum)
			return -1;
		sum = 10 * sum + digit;
	}
	if (p == *at)
		return -1;
	*at = p;
	*value = sum;
	return 0;
}

/* The value of each byte as a hexadecimal digit, and 1; 0: it is none. */
extern const uint8_t number_hex_digits[256];

/* Returns the value of n hexadecimal digits, at most 7; -1 if one is none. */
static inline int
number_hex(const uint8_t *at, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		int digit = number_hex_digits[at[i]] - 1;

		if (digit < 0)
			return -1;
		value = value << 4 | digit;
	}
	return value;
}

/*
 * Returns the nearest whole number: 0 for what is negative or a NaN, and
 * UINT64_MAX for what is too large.
 */
uint64_t number_whole(double value);

/* Room for the output of any number_format function, with its NUL. */
#define NUMBER_TEXT 48

/* Write 100000000 as "100,000,000". Returns `text`, as do the next three. */
const char *number_format_count(char text[NUMBER_TEXT], uint64_t value);

/* Write 0.00001 as "1e-5", 0.0025 as "0.0025"; up to six digits. */
const char *number_format_rate(char text[NUMBER_TEXT], double value);

/* Write 299533704 as "299.5 MB", in powers of 1000; exact below 1000. */
const char *number_format_bytes(char text[NUMBER_TEXT], uint64_t value);

/* Write 299533704 as "285.7 MiB", in powers of 1024; exact below 1024. */
const char *number_format_binary(char text[NUMBER_TEXT], uint64_t value);

#endif
