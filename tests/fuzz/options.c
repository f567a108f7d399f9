/*
 * Numbers, lists of fields, key recipes and whole command lines: what is
 * accepted has the value that it says, by decimal arithmetic on digits, lies in
 * its range, and comes back from what is written of it. The first byte of the
 * input says which of them the rest is.
 *
 * Which options cannot be combined is read from their table, as the program
 * does. The members of a recipe are named here again: a new one must be added
 * to same_recipe.
 */
#include <float.h>
#include <math.h>

#include "fuzz.h"
#include "base/number.h"
#include "cli/command_line.h"
#include "cli/option_table.h"
#include "bits/sizing.h"
#include "key/url_rules.h"

#define TEXT_MAX 4096
/* From here on, the parser may round. */
#define HARD_VALUE UINT64_C(100000000000000000)

/* A decimal number as digits: digits[i] stands for 10^(point - 1 - i). */
struct decimal {
	uint8_t digits[TEXT_MAX + 64];
	int count;
	int point;
	int hard; /* more digits than HARD_VALUE, or a silly exponent */
};

/* Returns where the number ends, NULL if there is none. */
static const char *
read_decimal(const char *p, struct decimal *d)
{
	uint64_t value = 0;
	int seen = 0, point = 0, zeros = 0;
	long exponent;

	*d = (struct decimal){ .count = 0 };
	for (; (*p >= '0' && *p <= '9') || (*p == '.' && !point); p++) {
		if (*p == '.') {
			point = 1;
			continue;
		}
		seen = 1;
		d->digits[d->count++] = (uint8_t)(*p - '0');
		d->point += !point;
		/* the digits without zeros at the end, as far as they fit */
		if (*p == '0') {
			zeros++;
			continue;
		}
		for (; zeros > 0; zeros--)
			d->hard |= __builtin_mul_overflow(value, 10, &value);
		d->hard |= __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, (unsigned)(*p - '0'), &value);
	}
	d->hard |= value >= HARD_VALUE;
	if (!seen)
		return NULL;
	if ((*p == 'e' || *p == 'E') && ((p[1] >= '0' && p[1] <= '9') ||
	    p[1] == '+' || p[1] == '-')) {
		char *end;

		if (!(p[1] >= '0' && p[1] <= '9') &&
		    !(p[2] >= '0' && p[2] <= '9'))
			return NULL;
		exponent = strtol(p + 1, &end, 10);
		if (labs(exponent) > 4000)
			d->hard = 1;
		exponent = exponent > 20000 ? 20000 : exponent < -20000 ?
		    -20000 : exponent;
		d->point += (int)exponent;
		p = end;
	}
	return p;
}

static void
multiply(struct decimal *d, unsigned factor)
{
	unsigned carry = 0;

	for (int i = d->count - 1; i >= 0; i--) {
		unsigned v = d->digits[i] * factor + carry;

		d->digits[i] = (uint8_t)(v % 10);
		carry = v / 10;
	}
	while (carry > 0) {
		memmove(d->digits + 1, d->digits, (size_t)d->count);
		d->digits[0] = (uint8_t)(carry % 10);
		carry /= 10;
		d->count++;
		d->point++;
	}
}

/* The part before the point; *rest: is there more? 0 if it needs 65 bits. */
static int
whole(const struct decimal *d, uint64_t *value, int *rest)
{
	uint64_t v = 0;

	*rest = 0;
	for (int i = 0; i < d->count && i < d->point; i++) {
		if (__builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, d->digits[i], &v))
			return 0;
	}
	for (int i = d->count; i < d->point && v > 0; i++) {
		if (__builtin_mul_overflow(v, 10, &v))
			return 0;
	}
	for (int i = d->point < 0 ? 0 : d->point; i < d->count; i++)
		*rest |= d->digits[i] != 0;
	*value = (uint64_t)v;
	return 1;
}

static int
is_zero(const struct decimal *d)
{
	for (int i = 0; i < d->count; i++) {
		if (d->digits[i] != 0)
			return 0;
	}
	return 1;
}

/* The parser's answer is the model's, but for what is hard. */
static void
compare(int result, uint64_t value, uint64_t before, int want,
    uint64_t wanted, int hard)
{
	if (result != 0)
		MUST(value == before);
	if (!hard && wanted < HARD_VALUE)
		MUST((result == 0) == want && (!want || value == wanted));
}

static void
check_count(const char *text)
{
	static const char units[] = "kMGT";
	struct decimal d;
	const char *unit, *p = read_decimal(text, &d);
	uint64_t value = 77, wanted = 0;
	int rest, want = p != NULL, result = number_count(text, &value);

	if (want && *p != '\0') {
		unit = strchr(units, *p == 'K' ? 'k' : *p);
		d.point += unit == NULL ? 0 : 3 * (int)(unit - units + 1);
		want = unit != NULL && p[1] == '\0';
	}
	want = want && whole(&d, &wanted, &rest) && !rest;
	compare(result, value, 77, want, wanted, d.hard);
}

static void
check_size(const char *text)
{
	static const char units[] = "KMGTPE";
	struct decimal d;
	const char *unit, *p = read_decimal(text, &d);
	uint64_t value = 77, wanted = 0;
	int rest, want = p != NULL, result = number_size(text, &value);

	if (want && *p != '\0' && strcmp(p, "B") != 0) {
		unit = strchr(units, *p == 'k' ? 'K' : *p);
		want = unit != NULL && (p[1] == '\0' ||
		    strcmp(p + 1, "B") == 0 || strcmp(p + 1, "iB") == 0);
		for (; want && unit >= units; unit--)
			multiply(&d, p[1] == 'B' ? 1000 : 1024);
	}
	want = want && whole(&d, &wanted, &rest) && (wanted > 0 || !rest);
	compare(result, value, 77, want, wanted, d.hard);
}

static void
check_seconds(const char *text)
{
	struct decimal d;
	const char *p = read_decimal(text, &d);
	uint64_t value = 77, wanted = 0;
	int rest, want = p != NULL && *p == '\0';
	int result = number_seconds(text, &value);

	d.point += 3;
	want = want && whole(&d, &wanted, &rest);
	want = want && (wanted < 1000000000000u ||
	    (wanted == 1000000000000u && !rest));
	compare(result, value, 77, want, want ? wanted + (rest != 0) : 0,
	    d.hard);
}

/* By strtold, which knows the same spelling of what was read already. */
static long double
to_double(const struct decimal *d, int percent)
{
	static char text[TEXT_MAX + 128];
	char *p = text;

	for (int i = 0; i < d->count; i++)
		*p++ = (char)('0' + d->digits[i]);
	snprintf(p, 20, "e%d", d->point - d->count - 2 * percent);
	return strtold(text, NULL);
}

static void
check_rate(const char *text)
{
	struct decimal d, divisor;
	const char *p = read_decimal(text, &d);
	char exact[NUMBER_TEXT];
	const long double little = 4 * LDBL_EPSILON;
	double value = 77, again = 77;
	long double wanted = 0;
	int want = p != NULL, result = number_rate(text, &value);

	if (want && *p == '/') {
		p = read_decimal(p + 1, &divisor);
		want = p != NULL && *p == '\0' && !is_zero(&divisor);
		if (want)
			wanted = (double)to_double(&d, 0) /
			    (double)to_double(&divisor, 0);
	} else if (want) {
		wanted = to_double(&d, *p == '%');
		if (*p != '%')
			wanted = (double)wanted;
		p += *p == '%';
		want = *p == '\0';
	}
	want = want && wanted >= 0 && wanted <= 1 + little;
	if (result != 0) {
		MUST(value == 77 && (!want || wanted > 1 - little));
		return;
	}
	/* one unit in the last place */
	MUST(want && fabsl(value - wanted) <=
	    DBL_EPSILON * wanted + (long double)DBL_MIN * DBL_EPSILON);
	MUST(number_rate(number_format_rate(exact, value), &again) == 0 &&
	    fabs(again - value) <= value * 1e-5);
}

/* "1.5 MB": is it the value, as near as one digit can tell? */
static void
check_scaled(const char *text, uint64_t value, double base,
    const char *units)
{
	char *end;
	double shown = strtod(text, &end), unit = 1;
	const char *found;

	MUST(*end++ == ' ');
	if (strcmp(end, "bytes") == 0) {
		MUST((double)value < base && shown == (double)value);
		return;
	}
	found = strchr(units, *end);
	MUST(found != NULL && *end != '\0' &&
	    strcmp(end + 1, base == 1024 ? "iB" : "B") == 0);
	for (; found >= units; found--)
		unit *= base;
	MUST(shown >= 1 && shown < base);
	MUST(fabs(shown * unit - (double)value) <= 0.0501 * unit);
}

static void
check_formats(struct input_bytes in)
{
	char text[NUMBER_TEXT], digits[NUMBER_TEXT], *p = digits;
	uint64_t value = take_evil(&in), again;

	number_format_count(text, value);
	MUST(strlen(text) < NUMBER_TEXT);
	for (size_t i = 0; text[i] != '\0'; i++) {
		MUST((text[i] == ',') == ((strlen(text) - i) % 4 == 0));
		if (text[i] != ',')
			*p++ = text[i];
	}
	*p = '\0';
	MUST(number_count(digits, &again) == 0 && again == value);
	check_scaled(number_format_bytes(text, value), value, 1000, "kMGTPE");
	check_scaled(number_format_binary(text, value), value, 1024, "KMGTPE");
}

/* Fields. */

struct field_list {
	unsigned count;
	uint64_t first[TEXT_MAX], last[TEXT_MAX];
};

static int
read_list(const char *p, struct field_list *list)
{
	list->count = 0;
	for (;;) {
		uint64_t ends[2] = { 1, UINT64_MAX };
		int given[2] = { 0, 0 }, dash = 0;

		for (int i = 0; i < 2; i++) {
			for (; *p >= '0' && *p <= '9'; p++) {
				if (!given[i])
					ends[i] = 0;
				given[i] = 1;
				ends[i] = ends[i] * 10 + (uint64_t)(*p - '0');
				ends[i] = ends[i] > UINT32_MAX ? UINT32_MAX :
				    ends[i];
			}
			if (i == 0 && *p == '-') {
				dash = 1;
				p++;
			}
			if (!dash)
				break;
		}
		if (!dash)
			ends[1] = ends[0];
		if ((!given[0] && !given[1]) || ends[0] < 1 ||
		    ends[0] > 1000000000 || ends[1] < ends[0] ||
		    (given[1] && ends[1] > 1000000000))
			return 0;
		list->first[list->count] = ends[0];
		list->last[list->count++] = ends[1];
		if (*p == '\0')
			return 1;
		if (*p++ != ',')
			return 0;
	}
}

static int
in_list(const struct field_list *list, uint64_t field)
{
	for (unsigned i = 0; i < list->count; i++) {
		if (field >= list->first[i] && field <= list->last[i])
			return 1;
	}
	return 0;
}

static int
in_recipe(const struct key_recipe *r, uint64_t field)
{
	for (unsigned i = 0; i < r->range_count; i++) {
		if (field >= r->ranges[i].first &&
		    (field <= r->ranges[i].last ||
		    r->ranges[i].last == UINT32_MAX))
			return 1;
	}
	return 0;
}

/* Of the flags it matters whether they are set, not to what. */
static int
same_flags(const struct key_recipe *a, const struct key_recipe *b)
{
	return !a->zero_terminated == !b->zero_terminated &&
	    !a->strip_cr == !b->strip_cr && !a->trim == !b->trim &&
	    !a->csv == !b->csv && !a->header == !b->header &&
	    !a->trim_fields == !b->trim_fields && !a->url == !b->url &&
	    !a->url_rules.sort == !b->url_rules.sort &&
	    !a->ignore_case == !b->ignore_case &&
	    !a->keep_empty == !b->keep_empty;
}

static int
same_pointers(const struct key_recipe *a, const struct key_recipe *b)
{
	if (a->json_count != b->json_count)
		return 0;
	for (unsigned i = 0; i < a->json_count; i++) {
		if (strcmp(a->json + a->json_at[i],
		    b->json + b->json_at[i]) != 0)
			return 0;
	}
	return 1;
}

static int
same_recipe(const struct key_recipe *a, const struct key_recipe *b)
{
	return same_flags(a, b) && same_pointers(a, b) &&
	    a->separator == b->separator && a->skip == b->skip &&
	    a->check == b->check &&
	    a->url_rules.switches == b->url_rules.switches &&
	    a->part == b->part && a->parts == b->parts &&
	    strcmp(a->url_rules.ignore, b->url_rules.ignore) == 0 &&
	    a->column_count == b->column_count &&
	    (a->column_count == 0 || strcmp(a->columns, b->columns) == 0) &&
	    a->range_count == b->range_count && memcmp(a->ranges, b->ranges,
	    a->range_count * sizeof *a->ranges) == 0;
}

/* It comes back from its text, which is no other recipe's. */
static void
check_recipe(const struct key_recipe *r)
{
	struct key_recipe again;
	struct error error;
	char text[KEY_RECIPE_TEXT];

	for (unsigned i = 0; i < r->range_count; i++) {
		const struct key_range *range = &r->ranges[i];

		MUST(range->first >= 1 && range->first <= KEY_FIELD_MAX &&
		    range->last >= range->first);
		MUST(range->last <= KEY_FIELD_MAX ||
		    (range->last == UINT32_MAX && i + 1 == r->range_count));
		MUST(i == 0 || range->first > r->ranges[i - 1].last + 1);
	}
	MUST(r->range_count <= KEY_RANGES_MAX);
	key_recipe_format(r, text);
	MUST(strlen(text) < KEY_RECIPE_TEXT);
	MUST(key_recipe_parse(&again, text, &error) == 0 &&
	    same_recipe(r, &again));
}

static void
check_fields(const char *text)
{
	static struct field_list list;
	struct key_recipe r = KEY_RECIPE_NONE, before = r;
	int want = read_list(text, &list);

	if (key_ranges_parse(&r, text) < 0) {
		MUST(memcmp(&r, &before, sizeof r) == 0);
		MUST(!want || list.count > KEY_RANGES_MAX);
		return;
	}
	MUST(want && r.range_count > 0);
	check_recipe(&r);
	for (unsigned i = 0; i < list.count; i++) {
		for (uint64_t j = 0; j < 3; j++) {
			uint64_t low = list.first[i] - 1 + j;
			uint64_t high = list.last[i] - 1 + j;

			MUST(in_recipe(&r, low) == in_list(&list, low));
			if (high >= 2)
				MUST(in_recipe(&r, high) ==
				    in_list(&list, high));
		}
	}
}

static void
check_recipe_text(const char *text)
{
	struct key_recipe stored, given = KEY_RECIPE_UNSET, other;
	struct error error;
	char again[KEY_RECIPE_TEXT];

	if (key_recipe_parse(&stored, text, &error) < 0)
		return;
	key_recipe_format(&stored, again);
	MUST(strcmp(text, again) == 0);
	check_recipe(&stored);
	MUST(key_recipe_inherit(&given, &stored, &error) == 0 &&
	    same_recipe(&given, &stored));
	MUST(key_recipe_inherit(&given, &stored, &error) == 0);
	/* a filter of whole lines contradicts all that it says */
	other = (struct key_recipe)KEY_RECIPE_NONE;
	MUST(given.skip == KEY_SKIP_UNSET ||
	    (key_recipe_inherit(&given, &other, &error) == 0) ==
	    (*text == '\0'));
	given = stored;
	if (key_recipe_complete(&given, &error) == 0)
		check_recipe(&given);
	else
		MUST(error.status == STATUS_USAGE && error.text[0] != '\0');
}

/* A list of switches of --url: each name adds its bit, in any order. */
static void
check_switches(const char *text)
{
	static const char *const names[] = { "form", "scheme", "www", "slash",
		"values", "numbers", "fragment", "tracking" };
	const size_t count = sizeof names / sizeof *names;
	unsigned switches = 0, wanted = 0, again = 0;
	int result = url_switches_parse(text, &switches), right = 1;
	char list[URL_SWITCHES_TEXT];

	for (const char *p = text;; p++) {
		size_t n = strcspn(p, ","), i = 0;

		while (i < count && (strlen(names[i]) != n ||
		    memcmp(p, names[i], n) != 0))
			i++;
		right &= i < count;
		wanted |= 1u << i;
		p += n;
		if (*p == '\0')
			break;
	}
	MUST((result == 0) == right);
	if (result < 0)
		return;
	MUST(switches == wanted);
	url_switches_format(switches, list);
	MUST(strlen(list) < URL_SWITCHES_TEXT);
	MUST(url_switches_parse(list, &again) == 0 && again == switches);
}

/* Command lines. */

/* How many bytes of a field tell whether its option was given; 0: none do. */
static size_t
telling_bytes(const struct option_row *row)
{
	if (row->set == option_set_value || row->set == option_set_word ||
	    row->set == option_set_small || row->set == option_set_mode ||
	    row->set == option_set_byte || row->set == option_set_window)
		return sizeof(int);
	if (row->set == option_set_text)
		return sizeof(char *);
	if (row->set == option_set_list)
		return sizeof(struct text_list);
	if (row->set == option_set_key)
		return 0;
	return sizeof(uint64_t);
}

/*
 * Has the option's field another value than without any options? One that was
 * given with that value is overlooked.
 */
static int
is_given(const struct options *o, const struct option_row *row)
{
	static struct options none;
	const char *field = (const char *)o + row->where;
	struct error error;
	char name[] = "bloomdedup", *argv[] = { name, NULL };

	if (!(row->commands >> o->command & 1))
		return 0;
	if (none.run.threads == 0)
		MUST(command_line_parse(&none, 1, argv, &error) == 0);
	if (row->set == option_set_value &&
	    *(const int *)(const void *)field != (int)row->least)
		return 0;
	return memcmp(field, (const char *)&none + row->where,
	    telling_bytes(row)) != 0;
}

/* Is one of these options given? Also if that can't be told: `otherwise`. */
static int
one_is_given(const struct options *o, const char *names, int otherwise)
{
	int given = 0;

	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];

		if (!text_has_word(names, row->name))
			continue;
		given |= is_given(o, row);
		if (telling_bytes(row) == 0)
			given |= otherwise;
	}
	return given;
}

/* No option lacks what it needs, or has what it cannot be combined with. */
static void
check_combinations(const struct options *o)
{
	for (size_t i = 0; i < option_table_count; i++) {
		const struct option_row *row = &option_table[i];
		const size_t most = sizeof row->conflicts /
		    sizeof *row->conflicts;

		if (!is_given(o, row))
			continue;
		MUST(row->needs == NULL || one_is_given(o, row->needs, 1));
		for (size_t j = 0; j < most; j++)
			MUST(row->conflicts[j].names == NULL ||
			    !one_is_given(o, row->conflicts[j].names, 0));
	}
}

static void
check_options(const struct options *o, int argc, char **argv)
{
	MUST(o->command >= COMMAND_FILTER && o->command < COMMAND_COUNT);
	MUST(o->operands.count < (size_t)argc);
	for (size_t i = 0; i < o->operands.count; i++) {
		int found = 0;

		for (int j = 1; j < argc; j++)
			found |= o->operands.items[i] == argv[j];
		MUST(found);
	}
	MUST(o->capacity <= SIZING_CAPACITY_MAX);
	MUST(o->error_rate == 0 || (o->error_rate >= SIZING_RATE_MIN &&
	    o->error_rate <= SIZING_RATE_MAX));
	MUST(o->hashes <= K_MAX && o->run.use.growth >= -1 &&
	    o->run.use.growth <= GROWTH_FAIL && o->run.use.max_bytes > 0 &&
	    o->run.use.wait.milliseconds <= 1000000000000u);
	MUST(o->hash == 0 || hash_name((uint32_t)o->hash) != NULL);
	MUST(o->recipe.separator >= -1 && o->recipe.separator <= 255);
	MUST(o->run.filter == NULL || *o->run.filter != '\0');
	MUST(o->run.output == NULL || *o->run.output != '\0');
	if (o->help || o->version)
		return;
	check_combinations(o);
}

static void
check_command_line(char *text, const char *end)
{
	char name[] = "bloomdedup";
	char **argv = calloc((size_t)(end - text) + 3, sizeof *argv);
	struct options options;
	struct error error = { .status = -1 };
	struct key_recipe recipe;
	int argc = 1, result;

	MUST(argv != NULL);
	argv[0] = name;
	/* a line each */
	while (text < end) {
		char *stop = strchr(text, '\n');

		argv[argc++] = text;
		if (stop == NULL)
			break;
		*stop = '\0';
		text = stop + 1;
	}
	result = command_line_parse(&options, argc, argv, &error);
	if (result == 0) {
		check_options(&options, argc, argv);
		recipe = options.recipe;
		if (key_recipe_complete(&recipe, &error) == 0)
			check_recipe(&recipe);
	} else {
		MUST(error.status == STATUS_USAGE && error.text[0] != '\0');
	}
	command_line_free(&options);
	free(argv);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	struct input_bytes in = { data, nbytes };
	unsigned what = (unsigned)take(&in, 1) % 9;
	char *text;

	if (nbytes > TEXT_MAX)
		return -1;
	if (what == 7) {
		check_formats(in);
		return 0;
	}
	/* on the heap, so that a sanitizer sees its end */
	text = malloc(in.nbytes + 1);
	MUST(text != NULL);
	memcpy(text, in.data, in.nbytes);
	text[in.nbytes] = '\0';
	switch (what) {
	case 0: check_count(text); break;
	case 1: check_size(text); break;
	case 2: check_rate(text); break;
	case 3: check_seconds(text); break;
	case 4: check_fields(text); break;
	case 5: check_recipe_text(text); break;
	case 8: check_switches(text); break;
	default: check_command_line(text, text + strlen(text)); break;
	}
	free(text);
	return 0;
}
