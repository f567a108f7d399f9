/*
 * Numbers as people write them: one strict parser for all options, and output.
 *
 * Plain decimal only, in no locale: a sign, "nan", "inf", "0x10", a blank, an
 * empty string or trailing bytes are refused. Each parser returns 0 and sets
 * *value, or returns -1 and leaves it alone. Of a whole number, digits from the
 * 19th on may be rounded. The caller reports what is allowed, since it knows
 * the option's name.
 */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/*
 * A count: "100000000", "1e8", "1.5e9", "100M". k (or K) M G T are powers of
 * 1000. Must be a whole number below 2^64.
 */
int number_count(const char *text, uint64_t *value);

/*
 * A size in bytes: "512K", "32M", "2GiB" in powers of 1024, as in `sort -S`;
 * "500kB", "2MB" in powers of 1000; a plain number is bytes. A fraction is
 * allowed where the result is at least one byte ("1.5G"), rounded down.
 */
int number_size(const char *text, uint64_t *value);

/*
 * A rate: "1e-6", "0.001", "0.1%", "1/1000". Any value in [0, 1], with any
 * number of digits. *value is the nearest double; for a percentage or a
 * quotient, within one unit in the last place.
 */
int number_rate(const char *text, double *value);

/*
 * Seconds, whole or with a fraction, at most 1e9; *milliseconds is rounded up.
 */
int number_seconds(const char *text, uint64_t *milliseconds);

/* A time in whole units: "90s", "30m", "12h", "30d", "4w"; 1 s to 2^53 s. */
int number_duration(const char *text, uint64_t *seconds);

/* The value of n hexadecimal digits (at most 7), -1 if a byte is none. */
static inline int
number_hex(const uint8_t *at, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		unsigned digit = at[i] - (unsigned)'0';
		unsigned letter = (at[i] | 0x20u) - 'a';

		if (digit > 9 && letter > 5)
			return -1;
		value = value << 4 | (int)(digit <= 9 ? digit : letter + 10);
	}
	return value;
}

/* The nearest whole number, clamped to 64 bits; 0 for a NaN. */
uint64_t number_whole(double value);

/* Room for the output of any number_format function, with its NUL. */
#define NUMBER_TEXT 48

/* 100000000 -> "100,000,000" */
const char *number_format_count(char text[NUMBER_TEXT], uint64_t value);

/* 0.00001 -> "1e-5", 0.0025 -> "0.0025"; up to six digits */
const char *number_format_rate(char text[NUMBER_TEXT], double value);

/* 299533704 -> "299.5 MB", in powers of 1000; exact below 1000 */
const char *number_format_bytes(char text[NUMBER_TEXT], uint64_t value);

/* 299533704 -> "285.7 MiB", in powers of 1024; exact below 1024 */
const char *number_format_binary(char text[NUMBER_TEXT], uint64_t value);

#endif
