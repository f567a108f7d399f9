/*
 * Numbers as people write them, one strict parser for every option, and back.
 *
 * Plain decimal only, in no locale: a sign, "nan", "inf", "0x10", a blank, an
 * empty string or trailing bytes are refused. Each parser returns 0 and sets
 * *value, or returns -1 and leaves it alone; who calls says what is allowed,
 * since only that one knows the option's name.
 */
#ifndef NUM_H
#define NUM_H

#include <stddef.h>
#include <stdint.h>

/*
 * A count: "100000000", "1e8", "1.5e9", "100M". k (or K) M G T are powers of
 * 1000. Must be a whole number below 2^64.
 */
int num_count(const char *text, uint64_t *value);

/*
 * A size in bytes: "512K", "32M", "2GiB" in powers of 1024, as `sort -S` has
 * them; "500kB", "2MB" in powers of 1000; a plain number is bytes. A fraction
 * is allowed where the result is at least one byte ("1.5G"), rounded down.
 */
int num_size(const char *text, uint64_t *value);

/*
 * A rate: "1e-6", "0.001", "0.1%", "1/1000". Any value in [0, 1], with any
 * number of digits; the double that is nearest, of a quotient to within one
 * unit in the last place.
 */
int num_rate(const char *text, double *value);

/*
 * Seconds, whole or with a fraction, at most 1e9; *milliseconds is rounded up.
 */
int num_seconds(const char *text, uint64_t *milliseconds);

/* Room for what any of the num_format functions write, with its NUL. */
#define NUM_TEXT 48

/* 100000000 -> "100,000,000" */
const char *num_format_count(char text[NUM_TEXT], uint64_t value);

/* 0.00001 -> "1e-5", 0.0025 -> "0.0025"; up to six digits */
const char *num_format_rate(char text[NUM_TEXT], double value);

/* The shortest text that num_rate reads as this value, as above. */
const char *num_format_exact(char text[NUM_TEXT], double value);

/* 299533704 -> "299.5 MB", in powers of 1000; exact below 1000 */
const char *num_format_bytes(char text[NUM_TEXT], uint64_t value);

/* 299533704 -> "285.7 MiB", in powers of 1024; exact below 1024 */
const char *num_format_binary(char text[NUM_TEXT], uint64_t value);

#endif
