/*
 * Goal: a number is taken as it is written, or refused; nothing is guessed or
 * wrapped around, and rounded only from the 19th digit on. And back: what is
 * shown is what a person would write.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "tap.h"

#define UNTOUCHED UINT64_C(0xdeadbeef)

typedef int parser(const char *text, uint64_t *value);

struct whole {
	const char *text;
	uint64_t value;
};

static const struct whole counts[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "007", 7 },
	{ "100000000", 100000000 },
	{ "1e8", 100000000 },
	{ "1E8", 100000000 },
	{ "1e+5", 100000 },
	{ "1e0", 1 },
	{ "1e-0", 1 },
	{ "0e5", 0 },
	{ "0.0", 0 },
	{ "1.5e0k", 1500 },
	{ "0.1e1", 1 },
	{ "1.5e9", 1500000000 },
	{ "15.0", 15 },
	{ "1.", 1 },
	{ ".5e1", 5 },
	{ "1000e-3", 1 },
	{ "0.0000000000000000000000000000001e31", 1 },
	{ "10000000000000000000000000000000000e-34", 1 },
	{ "100M", 100000000 },
	{ "1k", 1000 },
	{ "1K", 1000 },
	{ "1.5G", 1500000000 },
	{ "0.001k", 1 },
	{ "2T", 2000000000000 },
	{ "1e3k", 1000000 },
	{ "4294967296", UINT64_C(1) << 32 },
	{ "9007199254740993", (UINT64_C(1) << 53) + 1 },
	{ "1e19", UINT64_C(10000000000000000000) },
	{ "18446744073709551609", UINT64_MAX - 6 },
	{ "18446744073709551610", UINT64_MAX - 5 },
	{ "18446744073709551614", UINT64_MAX - 1 },
	{ "18446744073709551615", UINT64_MAX },
	{ "18446744073709551615.0", UINT64_MAX },
	{ "1.8446744073709551615e19", UINT64_MAX },
	{ "18446744073709551.615k", UINT64_MAX },
};

/* No number in any option. */
static const char *const nothing[] = {
	"", " ", " 1", "1 ", "1\n", "\t1", "+1", "-1", "-0", "--1", "nan",
	"NaN", "inf", "INF", "infinity", "-inf", "0x10", "0X10", "0b1", "12abc",
	"abc", "1e", "1e+", "1e-", "1e+-5", "1ee5", "1e5e5", "1e5.5", "e5", ".",
	"..", ".e5", "1..2", "1.2.3", "1,000", "1,5", "1_000", "1'000", "1kk",
	"1 k", "k", "M", "1m", "1g", "1kM", "1k5", "1h", "\xd9\xa1",
	"1\xc2\xa0",
	"1e400", "1e99999999999999999999", "1e18446744073709551617", "0x1p3",
	"1d5", "1f", "1L", "1u", "$1", "1;", "1/0", "1/", "/1", "1//2", "1/2/3",
	"%", "1%%", "1/ 2", "1/-2", "1/nan", "1/1e400/1e400",
};

static const char *const not_counts[] = {
	"1.5", "1.5e0", "0.1", ".5", "1e-1", "1e-400", "12e-1", "0.0001k",
	"1e-5000", "1.0001k", "18446744073709551616",
	"18446744073709551615.5", "1e20", "184467440737095516150",
	"20000000000T",
	"99999999999999999999999999", "1KiB", "1kB", "1B", "1P", "0.1%", "1/2",
	"10%", "2E", "1e400k",
};

static const struct whole sizes[] = {
	{ "0", 0 },
	{ "1", 1 },
	{ "1B", 1 },
	{ "512K", 512 * 1024 },
	{ "512k", 512 * 1024 },
	{ "512KiB", 512 * 1024 },
	{ "512kiB", 512 * 1024 },
	{ "500kB", 500000 },
	{ "2KB", 2000 },
	{ "2kB", 2000 },
	{ "32M", 32 << 20 },
	{ "2MB", 2000000 },
	{ "2G", UINT64_C(2) << 30 },
	{ "2GiB", UINT64_C(2) << 30 },
	{ "2GB", 2000000000 },
	{ "1.5G", UINT64_C(3) << 29 },
	{ "0.5K", 512 },
	{ "1.5", 1 },
	{ "1.0001K", 1024 },
	{ "1e3", 1000 },
	{ "1e-3GB", 1000000 },
	{ "3T", UINT64_C(3) << 40 },
	{ "3TB", UINT64_C(3000000000000) },
	{ "3P", UINT64_C(3) << 50 },
	{ "3PB", UINT64_C(3000000000000000) },
	{ "8E", UINT64_C(1) << 63 },
	{ "15.5E", UINT64_C(31) << 59 },
	{ "18EB", UINT64_C(18000000000000000000) },
	{ "18446744073709551615", UINT64_MAX },
	{ "18014398509481983K", UINT64_MAX - 1023 },
};

static const char *const not_sizes[] = {
	"1e-400", "1e-5000", "0.5", "1e-3", "0.0001K", "1KiBx", "1KBx",
	"1Ki", "1KI", "1Kib", "1KIB", "1Kb", "1b", "1BB", "1iB", "1Bi",
	"1MiBiB", "16E",
	"18446744073709551616", "18014398509481984K", "19EB", "1Z", "1e20",
	"1e30K", "99999999999E", "1KK", "10%", "1/2", "1K ", "1 K",
};

static const struct {
	const char *text;
	double value;
} rates[] = {
	{ "1e-6", 1e-6 },
	{ "1E-6", 1e-6 },
	{ "0.001", 0.001 },
	{ ".001", 0.001 },
	{ "0.00001", 1e-5 },
	{ "0.1%", 0.001 },
	{ "1%", 0.01 },
	{ "100%", 1 },
	{ "1e-4%", 1e-6 },
	{ "1/1000", 0.001 },
	{ "1/1e6", 1e-6 },
	{ "2/3", 2.0 / 3 },
	{ "1e-13", 1e-13 },
	{ "1e-12", 1e-12 },
	{ "0.5", 0.5 },
	{ "0", 0 },
	{ "0/1", 0 },
	{ "1", 1 },
	{ "1.0", 1 },
	{ "1/1", 1 },
	{ "0.1e1", 1 },
	{ "5e-1", 0.5 },
	{ "1e-300", 1e-300 },
	{ "1e-400", 0 },
	{ "0.123456789012345678", 0.123456789012345678 },
	{ "0.3333333333333333333333", 1.0 / 3 },
	{ "33.33333333333333333333333333333333333333%", 1.0 / 3 },
	{ "333333333333333333333333333333333e-33", 1.0 / 3 },
	{ "100000000000000000000000000000001e-38", 1e-6 },
	{ "1/3.00000000000000000000000000000000001", 1.0 / 3 },
	{ "0.1111111111111111111111111/0.3333333333333333333333333",
	    1.0 / 3 },
	{ "100000000000000000000000000/300000000000000000000000001",
	    1.0 / 3 },
	{ "18446744073709551616e-20", 0.18446744073709551616 },
	{ "18446744073709551617e-20", 0.18446744073709551617 },
	{ "99999999999999999999999999/1e27", 0.1 },
	{ "1e-99999", 0 },
	{ "1e-99999999999999999999", 0 },
	{ "1.0000000000000000000000000001", 1 },
};

static const char *const not_rates[] = {
	"2", "1.0000001", "1.5", "1.5e0", "101%", "2/1", "1/0.5", "1/0", "0/0",
	"1/0.0", "1e400", "1e400/1e400", "1e-400/1e-400", "1/1000x", "1%x",
	"1K", "1M", "0.1 %", "1/1000%", "1.000000000000000222044604925031308",
	"33333333333333333333333333", "33333333333333333333333333%",
	"0.3333333333333333333333333x", "0.33333333333333333333333333.3",
	"1e-99999999999999999999/1e-99999999999999999999",
	"0.3333333333333333333333333/0.00000000000000000000000000000",
};

static const struct whole seconds[] = { /* in milliseconds */
	{ "0", 0 },
	{ "60", 60000 },
	{ "0.5", 500 },
	{ ".25", 250 },
	{ "1.0015", 1002 },
	{ "0.0001", 1 },
	{ "1e-9", 1 },
	{ "1e-5000", 1 },
	{ "1e9", 1000000000000 },
};

static const char *const not_seconds[] = {
	"1000000001", "1e10", "1000000000.1", "1s", "1k", "1%", "1/2",
};

#define COUNT(array) (sizeof (array) / sizeof *(array))

/* number.h: later digits may be rounded where a long double is a double. */
static int
can_be_exact(const struct whole *it)
{
	return LDBL_MANT_DIG > DBL_MANT_DIG ||
	    it->value >> DBL_MANT_DIG == 0 || it->value % 4096 == 0 ||
	    it->text[strspn(it->text, "0123456789")] == '\0';
}

static void
accepts(const char *what, parser *parse, const struct whole *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t value = UNTOUCHED;
		int result = parse(cases[i].text, &value);

		if (!can_be_exact(&cases[i]))
			continue;
		tap_ok(result == 0 && value == cases[i].value,
		    "%s '%s' is %" PRIu64 " (%d, %" PRIu64 ")", what,
		    cases[i].text, cases[i].value, result, value);
	}
}

static int
is_refused(parser *parse, const char *text)
{
	uint64_t value = UNTOUCHED;

	return parse(text, &value) == -1 && value == UNTOUCHED;
}

static int
rate_is_refused(const char *text)
{
	double value = 42;

	return number_rate(text, &value) == -1 && value > 41;
}

static void
refuses(const char *what, parser *parse, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!tap_ok(is_refused(parse, texts[i]), "no %s, number %zu",
		    what, i + 1))
			printf("# %s\n", texts[i]);
	}
}

static void
test_rates(void)
{
	for (size_t i = 0; i < COUNT(rates); i++) {
		double value = 42;
		int result = number_rate(rates[i].text, &value);

		tap_ok(result == 0 && fabs(value - rates[i].value) <=
		    DBL_EPSILON * rates[i].value, "rate '%s' is %g (%d, %g)",
		    rates[i].text, rates[i].value, result, value);
	}
	for (size_t i = 0; i < COUNT(not_rates); i++)
		tap_ok(rate_is_refused(not_rates[i]), "rate '%s' is refused",
		    not_rates[i]);
	for (size_t i = 0; i < COUNT(nothing); i++) {
		if (!tap_ok(rate_is_refused(nothing[i]), "no rate, number %zu",
		    i + 1))
			printf("# %s\n", nothing[i]);
	}
}

static int
is_rate(const char *text, double want)
{
	double value = 42;

	return number_rate(text, &value) == 0 && !(value < want) &&
	    !(value > want);
}

/* Of whatever length: what strtod, which knows this spelling, makes of it. */
static void
test_long_rates(void)
{
	static char text[300100];
	int same = 1;

	srand(1);
	for (int i = 0; i < 20000 && same; i++) {
		int digits = 1 + rand() % 1000, n = 0, more = rand() % 3;

		if (more > 0)
			text[n++] = '0';
		text[n++] = '.';
		for (int j = 0; j < digits; j++)
			text[n++] = (char)('0' + (more == 1 ?
			    rand() % 10 : rand() % 16 == 0));
		snprintf(text + n, sizeof text - (size_t)n, "e-%d",
		    rand() % 400);
		same = is_rate(text, strtod(text, NULL));
	}
	tap_ok(same, "20,000 rates of up to 1,000 digits");

	/* 1/2 + 2^-54, the middle of two doubles: even, or just above it */
	strcpy(text, "0.5000000000000000555111512312578270211815834045410"
	    "15625");
	tap_ok(is_rate(text, 0.5), "the middle of two is the even one");
	memset(text + strlen(text), '0', 200000);
	tap_ok(is_rate(text, 0.5), "so it is with 200,000 zeros behind it");
	text[200000] = '1';
	tap_ok(is_rate(text, 0.5 + DBL_EPSILON / 2),
	    "but not with a 1 behind these");

	memset(text, '3', 300000);
	text[1] = '.';
	text[0] = '0';
	text[300000] = '\0';
	tap_ok(is_rate(text, 1.0 / 3), "300,000 digits");
	memset(text + 2, '0', 250000);
	strcpy(text + 300000, "e250000");
	tap_ok(is_rate(text, 1.0 / 3), "zeros that the exponent takes away");
	memset(text, '0', 300000);
	memcpy(text, "25", 2);
	strcpy(text + 300000, "e-300000");
	tap_ok(is_rate(text, 0.25), "and those that it needs");
}

/* Long inputs: right, or refused, and soon; never a wrap-around. */
static void
test_long(void)
{
	static char text[300001];
	uint64_t value = UNTOUCHED;

	memset(text, '0', 300000);
	tap_ok(number_count(text, &value) != 0 || value == 0,
	    "300,000 zeros are nothing but zero");
	memset(text, '9', 300000);
	tap_ok(is_refused(number_count, text), "300,000 nines are refused");
	tap_ok(is_refused(number_size, text), "and as a size");
	tap_ok(rate_is_refused(text), "and as a rate");
	text[1] = '.';
	tap_ok(number_count(text, &value) == 0 && value == 10,
	    "behind a point they are as good as 10");
	memset(text, '0', 1001);
	text[1] = '.';
	text[1000] = '1';
	strcpy(text + 1001, "e999");
	tap_ok(number_count(text, &value) == 0 && value == 1,
	    "a thousand digits that the exponent makes 1");
}

static void
shows(const char *got, const char *want)
{
	tap_ok(strcmp(got, want) == 0, "'%s' is shown (%s)", want, got);
}

static void
test_whole(void)
{
	static const struct {
		double value;
		uint64_t whole;
	} rows[] = {
		{ 0, 0 }, { -1, 0 }, { -1e300, 0 }, { -INFINITY, 0 },
		{ NAN, 0 }, { 0.49, 0 }, { 0.5, 1 }, { 1.4, 1 }, { 2.5, 3 },
		{ 4503599627370497.0, 4503599627370497 },
		{ 9007199254740991.0, 9007199254740991 },
		{ 18446744073709549568.0, 18446744073709549568u },
		{ 18446744073709551616.0, UINT64_MAX }, { 1e300, UINT64_MAX },
		{ INFINITY, UINT64_MAX },
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		tap_ok(number_whole(rows[i].value) == rows[i].whole, "%g is %"
		    PRIu64 " as a whole number", rows[i].value, rows[i].whole);
}

static void
test_format(void)
{
	char text[NUMBER_TEXT];

	shows(number_format_count(text, 0), "0");
	shows(number_format_count(text, 7), "7");
	shows(number_format_count(text, 999), "999");
	shows(number_format_count(text, 1000), "1,000");
	shows(number_format_count(text, 99999), "99,999");
	shows(number_format_count(text, 100000), "100,000");
	shows(number_format_count(text, 100000000), "100,000,000");
	shows(number_format_count(text, UINT64_MAX),
	    "18,446,744,073,709,551,615");

	shows(number_format_rate(text, 0.00001), "1e-5");
	shows(number_format_rate(text, 0.0025), "0.0025");
	shows(number_format_rate(text, 1e-6), "1e-6");
	shows(number_format_rate(text, 1.5e-9), "1.5e-9");
	shows(number_format_rate(text, 1e-12), "1e-12");
	shows(number_format_rate(text, 1e-10), "1e-10");
	shows(number_format_rate(text, 1e-300), "1e-300");
	shows(number_format_rate(text, 0), "0");
	shows(number_format_rate(text, 1), "1");
	shows(number_format_rate(text, 0.5), "0.5");
	shows(number_format_rate(text, 0.1), "0.1");
	shows(number_format_rate(text, 0.001), "0.001");
	shows(number_format_rate(text, 1.0 / 3), "0.333333");
	shows(number_format_rate(text, 1.23456789e-7), "1.23457e-7");

	shows(number_format_bytes(text, 0), "0 bytes");
	shows(number_format_bytes(text, 999), "999 bytes");
	shows(number_format_bytes(text, 1000), "1.0 kB");
	shows(number_format_bytes(text, 1049), "1.0 kB");
	shows(number_format_bytes(text, 999949), "999.9 kB");
	shows(number_format_bytes(text, 999951), "1.0 MB");
	shows(number_format_bytes(text, 299533704), "299.5 MB");
	shows(number_format_bytes(text, 999999999), "1.0 GB");
	shows(number_format_bytes(text, 1000000000000), "1.0 TB");
	shows(number_format_bytes(text, 1000000000000000), "1.0 PB");
	shows(number_format_bytes(text, UINT64_MAX), "18.4 EB");

	shows(number_format_binary(text, 0), "0 bytes");
	shows(number_format_binary(text, 1023), "1023 bytes");
	shows(number_format_binary(text, 1024), "1.0 KiB");
	shows(number_format_binary(text, 1048524), "1023.9 KiB");
	shows(number_format_binary(text, 1048575), "1.0 MiB");
	shows(number_format_binary(text, 299533704), "285.7 MiB");
	shows(number_format_binary(text, UINT64_C(1) << 30), "1.0 GiB");
	shows(number_format_binary(text, UINT64_C(1) << 40), "1.0 TiB");
	shows(number_format_binary(text, UINT64_C(1) << 50), "1.0 PiB");
	shows(number_format_binary(text, UINT64_MAX), "16.0 EiB");
}

/* Digits within a text, of at most so much. */
static void
test_digits(void)
{
	static const struct {
		const char *text;
		size_t bytes; /* that may be read; 0: up to the NUL */
		uint64_t most, value;
		int left;     /* what stands behind them; -1: refused */
	} cases[] = {
		{ "12", 0, 12, 12, 0 }, { "12", 0, 11, 0, -1 },
		{ "12", 1, 11, 1, 1 }, { "12x", 0, 99, 12, 1 },
		{ "007", 0, 7, 7, 0 }, { "", 0, 9, 0, -1 },
		{ "x", 0, 9, 0, -1 }, { "-1", 0, 9, 0, -1 },
		{ " 1", 0, 9, 0, -1 }, { "0", 0, 0, 0, 0 },
		{ "1", 0, 0, 0, -1 },
		{ "18446744073709551615", 0, UINT64_MAX, UINT64_MAX, 0 },
		{ "18446744073709551616", 0, UINT64_MAX, 0, -1 },
		{ "99999999999999999999", 0, UINT64_MAX, 0, -1 },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		const char *text = cases[i].text, *at = text;
		const char *end = cases[i].bytes > 0 ? text + cases[i].bytes :
		    NULL;
		uint64_t value = UNTOUCHED;
		int result = number_digits(&at, end, cases[i].most, &value);

		if (cases[i].left < 0)
			tap_ok(result < 0 && at == text && value == UNTOUCHED,
			    "digits '%s' are refused", text);
		else
			tap_ok(result == 0 && value == cases[i].value &&
			    strlen(at) == (size_t)cases[i].left,
			    "digits '%s'", text);
	}
}

int
main(void)
{
	test_digits();
	accepts("count", number_count, counts, COUNT(counts));
	refuses("count", number_count, not_counts, COUNT(not_counts));
	refuses("count", number_count, nothing, COUNT(nothing));
	accepts("size", number_size, sizes, COUNT(sizes));
	refuses("size", number_size, not_sizes, COUNT(not_sizes));
	accepts("seconds", number_seconds, seconds, COUNT(seconds));
	refuses("seconds", number_seconds, not_seconds, COUNT(not_seconds));
	refuses("seconds", number_seconds, nothing, COUNT(nothing));
	test_rates();
	test_long_rates();
	test_long();
	test_whole();
	test_format();
	return tap_end();
}
