/*
 * Goal: two lines have the same key exactly when the recipe's steps, done the
 * slow way, leave the same fields of both; recipes come back from their text as
 * they were; a contradiction with a stored recipe is found, and named.
 */
#include <stdlib.h>
#include <string.h>

#include "bits/scan.h"
#include "key/key.h"
#include "random64.h"
#include "tap.h"

#define LINE_MAX_BYTES 48
#define FIELDS_MAX (LINE_MAX_BYTES + 1)
#define ROUNDS 300000

/* Lists of fields. */

static void
check_list(const char *text, const char *normal)
{
	struct key_recipe recipe = KEY_RECIPE_NONE;
	char format[KEY_RECIPE_TEXT], want[KEY_RECIPE_TEXT];

	snprintf(want, sizeof want, "key=%s\n", normal);
	if (key_ranges_parse(&recipe, text) == 0)
		key_recipe_format(&recipe, format);
	else
		strcpy(format, "refused");
	tap_ok(strcmp(format, want) == 0, "-k %s is %s", text, normal);
}

static void
check_no_list(const char *text)
{
	struct key_recipe recipe = KEY_RECIPE_NONE;
	struct key_recipe before = recipe;

	tap_ok(key_ranges_parse(&recipe, text) < 0 &&
	    memcmp(&recipe, &before, sizeof recipe) == 0,
	    "-k '%s' is refused, and changes nothing", text);
}

static void
check_lists(void)
{
	static const char *const refused[] = { "", "0", "-", "--", "1,", ",1",
		"1,,2", "0-", "-0", "2-1", "1-2-3", "1--2", "+1", " 1", "1 ",
		"a", "1a", "1.0", "1e3", "0x1", "1;2", "1000000001",
		"99999999999999999999", "-99999999999999999999" };

	check_list("2", "2");
	check_list("002", "2");
	check_list("1,3", "1,3");
	check_list("3,1", "1,3");
	check_list("1,1", "1");
	check_list("2,1", "1-2");
	check_list("1-3,2-5", "1-5");
	check_list("1-2,3-4", "1-4");
	check_list("2-", "2-");
	check_list("-3", "1-3");
	check_list("5,2-", "2-");
	check_list("-3,2-", "1-");
	check_list("9,1-2,4-", "1-2,4-");
	check_list("1000000000", "1000000000");
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		check_no_list(refused[i]);
}

/* Recipes and their text. */

static struct key_recipe
any_recipe(void)
{
	struct key_recipe r = KEY_RECIPE_NONE;
	char list[KEY_RANGES_MAX * 24];
	unsigned ranges = below(3) == 0 ? below(KEY_RANGES_MAX + 1) : 1;
	size_t n = 0;

	r.zero_terminated = (int)below(2);
	r.strip_cr = (int)below(2);
	r.trim = (int)below(2);
	r.trim_fields = (int)below(2);
	r.keep_empty = (int)below(2);
	r.csv = (int)below(2);
	r.ignore_case = (int)below(2);
	r.separator = (int)below(257) - 1;
	r.skip = below(2) ? below(1000) : 0;
	r.check = below(2) ? below(1000) : 0;
	for (unsigned i = 0; i < ranges; i++) {
		unsigned first = 1 + below(1000000000 - 1000);

		n += (size_t)snprintf(list + n, sizeof list - n, "%s%u",
		    i == 0 ? "" : ",", first);
		if (below(2))
			n += (size_t)snprintf(list + n, sizeof list - n,
			    "-%u", first + below(1000));
	}
	if (ranges > 0)
		key_ranges_parse(&r, list);
	return r;
}

/* One that a filter can have. */
static struct key_recipe
random_recipe(void)
{
	struct key_recipe r;
	struct error error;

	do {
		r = any_recipe();
	} while (key_recipe_complete(&r, &error) < 0);
	return r;
}

static void
check_texts(void)
{
	static const char *const refused[] = { "trim", "trim\n\n", "\n",
		"Trim\n", "trim\ntrim\n", "trim\nstrip-cr\n", "key=\n",
		"key=1,2\n", "key=01\n", "key=2,1\n", "trim=1\n",
		"key=0\n", "key\n", "skip-chars=0\n", "skip-chars=-1\n",
		"skip-chars=1e3\n", "check-chars=0\n", "check-chars=\n",
		"field-separator=,\n", "field-separator=2C\n",
		"field-separator=zz\n", "field-separator=-1\n",
		"field-separator=+1\n", "field-separator= 1\n",
		"field-separator=2c \n", "unheard-of\n", "unheard-of=1\n",
		"skip-chars=18446744073709551615\n",
		"check-chars=18446744073709551616\n",
		"field-separator=2c\n", "csv\n", "key=1\ncsv\n",
		"key=1\nfield-separator=0a\n",
		"zero-terminated\nkey=1\nfield-separator=00\n",
		"key=1\nfield-separator=22\ncsv\n",
		"key=1-2\nfield-separator=2c\ncsv\nskip-chars=1\n",
		"key=1\nfield-separator=2c\ncsv\nskip-data=1\n",
		"skip-data=1\n", "check-data=1\n" };
	struct key_recipe r = KEY_RECIPE_NONE, again;
	char text[KEY_RECIPE_TEXT], other[KEY_RECIPE_TEXT];
	struct key_scratch scratch = { 0 };
	struct error error;
	int same = 1;

	for (int i = 0; i < 20000; i++) {
		r = random_recipe();
		key_recipe_format(&r, text);
		if (key_recipe_parse(&again, text, &error) < 0) {
			same = 0;
			printf("# %s", text);
			break;
		}
		key_recipe_format(&again, other);
		same &= strcmp(text, other) == 0 &&
		    r.separator == again.separator && r.skip == again.skip &&
		    r.check == again.check && r.csv == again.csv &&
		    r.trim_fields == again.trim_fields &&
		    r.keep_empty == again.keep_empty &&
		    r.trim == again.trim && r.strip_cr == again.strip_cr &&
		    r.ignore_case == again.ignore_case &&
		    r.zero_terminated == again.zero_terminated &&
		    r.range_count == again.range_count &&
		    memcmp(r.ranges, again.ranges,
		    r.range_count * sizeof *r.ranges) == 0;
	}
	tap_ok(same, "recipes come back from their text");

	/* The longest there is: as many ranges as may be, all far apart. */
	r = (struct key_recipe){ .zero_terminated = 1, .strip_cr = 1,
		.trim = 1, .range_count = KEY_RANGES_MAX, .separator = 255,
		.csv = 1, .skip = 9000000000000000000,
		.check = 9000000000000000000, .ignore_case = 1 };
	for (uint32_t i = 0; i < KEY_RANGES_MAX; i++)
		r.ranges[i] = (struct key_range){ 999999000 + 3 * i,
			999999001 + 3 * i };
	key_recipe_format(&r, text);
	tap_ok(strlen(text) < KEY_RECIPE_TEXT && key_recipe_parse(&again,
	    text, &error) == 0 && again.range_count == KEY_RANGES_MAX &&
	    again.ignore_case, "the longest recipe has room");

	key_recipe_parse(&r, "", &error);
	key_scratch_begin(&scratch, &r);
	tap_ok(scratch.step_count == 0, "no text is the whole line");
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		if (key_recipe_parse(&r, refused[i], &error) == 0)
			printf("# taken: %s", refused[i]);
		tap_ok(key_recipe_parse(&r, refused[i], &error) < 0,
		    "text %zu of those that nothing writes is refused", i);
	}
}

/* Inheritance: what is given must be what is stored. */

static void
check_inherit(const char *stored_text, const char *given_text,
    const char *had, const char *wanted)
{
	struct key_recipe stored, given;
	struct error error = { 0 };
	char text[KEY_RECIPE_TEXT];
	int result;

	if (key_recipe_parse(&stored, stored_text, &error) < 0 ||
	    key_recipe_parse(&given, given_text, &error) < 0) {
		tap_ok(0, "the test's recipes are right");
		return;
	}
	/* A text can't say that it says nothing of it. */
	if (given.skip == 0)
		given.skip = KEY_SKIP_UNSET;
	result = key_recipe_inherit(&given, &stored, &error);
	if (had == NULL) {
		key_recipe_format(&given, text);
		tap_ok(result == 0 && strcmp(text, stored_text) == 0,
		    "what is not given is inherited: %zu, %zu bytes of text",
		    strlen(stored_text), strlen(given_text));
	} else {
		tap_ok(result < 0 && error.status == STATUS_USAGE &&
		    strstr(error.text, had) != NULL &&
		    strstr(error.text, wanted) != NULL,
		    "a contradiction names both: %s",
		    result < 0 ? error.text : "none found");
	}
}

static void
check_inheritance(void)
{
	const char *all = "zero-terminated\nstrip-cr\ntrim\nkey=1,3-\n"
	    "field-separator=2c\ncsv\nskip-data=1\ncheck-data=9\n"
	    "ignore-case\n";

	check_inherit(all, "", NULL, NULL);
	check_inherit(all, all, NULL, NULL);
	check_inherit(all, "trim\ncheck-chars=9\n", NULL, NULL);
	check_inherit("", "", NULL, NULL);
	check_inherit("key=1\n", "key=2\n", "--key=1", "--key=2");
	check_inherit("", "key=2\n", "whole line", "--key=2");
	check_inherit("key=1\nfield-separator=2c\n",
	    "key=1\nfield-separator=3b\n", "--field-separator=,",
	    "--field-separator=';'");
	check_inherit("key=1\n", "key=1\nfield-separator=09\n",
	    "fields between blanks", "--field-separator='\\t'");
	check_inherit("", "trim\n", "without --trim", "--trim");
	check_inherit("", "strip-cr\n", "without --strip-cr", "--strip-cr");
	check_inherit("key=1\nfield-separator=2c\n",
	    "key=1\nfield-separator=2c\ncsv\n", "without --csv", "--csv");
	check_inherit("", "ignore-case\n", "without --ignore-case",
	    "--ignore-case");
	check_inherit("", "zero-terminated\n", "newline", "--zero-terminated");
	check_inherit("skip-chars=1\n", "skip-chars=2\n", "--skip-chars=1",
	    "--skip-chars=2");
	check_inherit("check-chars=1\n", "check-chars=2\n",
	    "--check-chars=1", "--check-chars=2");
}

/* Keys, against the slow way. */

struct value {
	uint8_t bytes[2 * LINE_MAX_BYTES];
	size_t nbytes;
};

static void
add_byte(struct value *value, uint8_t c)
{
	value->bytes[value->nbytes++] = c;
}

static int
blank(uint8_t c)
{
	return memchr(" \t\n\v\f\r", c, 6) != NULL;
}

static unsigned
model_fields(const struct key_recipe *r, const struct value *line,
    struct value *fields)
{
	unsigned n = 0;
	size_t i = 0;

	for (unsigned j = 0; j < FIELDS_MAX; j++)
		fields[j].nbytes = 0;
	if (r->separator < 0) {
		while (i < line->nbytes) {
			while (i < line->nbytes && blank(line->bytes[i]))
				i++;
			if (i == line->nbytes)
				break;
			while (i < line->nbytes && !blank(line->bytes[i]))
				add_byte(&fields[n], line->bytes[i++]);
			n++;
		}
		return n;
	}
	for (;;) {
		int quoted = r->csv && i < line->nbytes &&
		    line->bytes[i] == '"';

		for (i += (size_t)quoted; i < line->nbytes; i++) {
			uint8_t c = line->bytes[i];

			if (quoted && c == '"') {
				if (i + 1 == line->nbytes ||
				    line->bytes[i + 1] != '"') {
					quoted = 0;
					continue;
				}
				i++;
			} else if (!quoted && c == r->separator) {
				break;
			}
			add_byte(&fields[n], c);
		}
		n++;
		if (i == line->nbytes)
			return n;
		i++;
	}
}

static int
chosen(const struct key_recipe *r, unsigned number)
{
	for (unsigned i = 0; i < r->range_count; i++) {
		if (number >= r->ranges[i].first &&
		    number <= r->ranges[i].last)
			return 1;
	}
	return 0;
}

/*
 * Do two lines agree in the chosen fields? Steps after -k are not for this
 * one: they work on the joined bytes.
 */
static int
model_same(const struct key_recipe *r, const struct value *a,
    const struct value *b)
{
	static struct value x[FIELDS_MAX], y[FIELDS_MAX];
	unsigned in_a = model_fields(r, a, x), in_b = model_fields(r, b, y);

	/* those behind are empty in both */
	for (unsigned i = 0; i < in_a || i < in_b; i++) {
		if (chosen(r, i + 1) && (x[i].nbytes != y[i].nbytes ||
		    memcmp(x[i].bytes, y[i].bytes, x[i].nbytes) != 0))
			return 0;
	}
	return 1;
}

static struct value
random_line(const struct key_recipe *r)
{
	struct value line;
	size_t nbytes = below(8);

	line.nbytes = 0;
	while (line.nbytes < nbytes) {
		int at_start = line.nbytes == 0 ||
		    line.bytes[line.nbytes - 1] == r->separator;
		unsigned what = below(7);

		if (what < 2)
			add_byte(&line, r->separator < 0 ?
			    (uint8_t)" \t"[what] : (uint8_t)r->separator);
		else if (what == 2 && r->csv && at_start) {
			/* a quoted field of up to two bytes, well-formed */
			add_byte(&line, '"');
			for (unsigned i = below(3); i > 0; i--) {
				unsigned c = below(4);

				if (c == 0)
					add_byte(&line, '"');
				add_byte(&line, c == 0 ? '"' : c == 1 ?
				    (uint8_t)r->separator : 'a');
			}
			add_byte(&line, '"');
			if (line.nbytes < nbytes)
				add_byte(&line, (uint8_t)r->separator);
		} else if (what < 6 || !r->csv || !at_start) {
			add_byte(&line, (uint8_t)"aab \""[what - 2]);
		}
	}
	return line;
}

/* The first ones are a field each. */
static const char *const lists[] = { "1", "2", "3", "4", "1,2", "1,3", "2-",
	"-2", "1-", "2,4-" };
enum { LISTS = sizeof lists / sizeof *lists };

static void
check_keys(int separator, int csv, const char *name)
{
	struct key_scratch scratch = { 0 };
	struct key_recipe recipes[LISTS];
	unsigned equal = 0;
	int same = 1;

	for (int i = 0; i < LISTS; i++) {
		recipes[i] = (struct key_recipe)KEY_RECIPE_NONE;
		recipes[i].separator = separator;
		recipes[i].csv = csv;
		key_ranges_parse(&recipes[i], lists[i]);
	}
	for (int i = 0; i < ROUNDS && same; i++) {
		const struct key_recipe *r = &recipes[below(LISTS)];
		struct value a = random_line(r), b = random_line(r);
		struct key k, l;
		int alike;

		key_scratch_begin(&scratch, r);
		key_scratch_reserve(&scratch, a.nbytes + b.nbytes + 2);
		k = key_take(r, a.bytes, a.nbytes, &scratch);
		l = key_take(r, b.bytes, b.nbytes, &scratch);
		alike = model_same(r, &a, &b);
		equal += (unsigned)alike;
		same = alike == (k.nbytes == l.nbytes &&
		    memcmp(k.data, l.data, k.nbytes) == 0);
		if (!same)
			printf("# '%.*s' and '%.*s'\n", (int)a.nbytes,
			    (const char *)a.bytes, (int)b.nbytes,
			    (const char *)b.bytes);
	}
	tap_ok(same && equal > ROUNDS / 100, "%s: keys are equal where the"
	    " fields are (%u times)", name, equal);

	/* One field is its bytes, so that what follows -k works on them. */
	same = 1;
	for (int i = 0; i < ROUNDS && same; i++) {
		static struct value fields[FIELDS_MAX];
		unsigned field = below(4);
		const struct key_recipe *r = &recipes[field];
		struct value a = random_line(r);
		struct key k;

		model_fields(r, &a, fields);
		key_scratch_begin(&scratch, r);
		key_scratch_reserve(&scratch, a.nbytes + 1);
		k = key_take(r, a.bytes, a.nbytes, &scratch);
		same = k.nbytes == fields[field].nbytes &&
		    memcmp(k.data, fields[field].bytes, k.nbytes) == 0;
	}
	tap_ok(same, "%s: the key of one field is that field", name);
	key_scratch_free(&scratch);
}

/* Steps in their order: strip-cr, trim, key, skip, check, ignore-case. */
static void
check_take(const char *recipe_text, const char *line, const char *want)
{
	struct key_scratch scratch = { 0 };
	uint8_t data[100 + LOOPS_PADDING];
	size_t nbytes = strlen(line);
	struct key_recipe r;
	struct error error;
	struct key key;

	if (key_recipe_parse(&r, recipe_text, &error) < 0) {
		tap_ok(0, "the test's recipe is right");
		return;
	}
	memcpy(data, line, nbytes);
	key_scratch_begin(&scratch, &r);
	key_scratch_reserve(&scratch, nbytes + 1);
	key = key_take(&r, data, nbytes, &scratch);
	tap_ok(key.nbytes == strlen(want) &&
	    memcmp(key.data, want, key.nbytes) == 0, "key '%s'", want);
	key_scratch_free(&scratch);
}

static void
check_steps(void)
{
	check_take("strip-cr\n", "a\r", "a");
	check_take("strip-cr\n", "a\r\r", "a\r");
	check_take("strip-cr\n", "\r", "");
	check_take("strip-cr\n", "a\r ", "a\r ");
	check_take("trim\n", " \t a b \v\f\r ", "a b");
	check_take("trim\n", " \t ", "");
	check_take("trim\n", "\xa0" "a\xa0", "\xa0" "a\xa0");
	check_take("strip-cr\ntrim\n", " a \r", "a");
	check_take("trim\nkey=1\nfield-separator=20\n", "  a b", "a");
	check_take("key=1\nfield-separator=20\n", "  a b", "");
	check_take("key=2\nfield-separator=2c\nskip-chars=1\n", "abc,def",
	    "ef");
	check_take("skip-chars=2\ncheck-chars=3\n", "abcdefgh", "cde");
	check_take("skip-chars=9\n", "abc", "");
	check_take("skip-chars=3\ncheck-chars=1\n", "abc", "");
	check_take("check-chars=9\n", "abc", "abc");
	check_take("skip-chars=9000000000000000000\n", "abc", "");
	check_take("check-chars=9000000000000000000\n", "abc", "abc");
	check_take("skip-chars=1\nignore-case\n", "ABCz[@`{", "bcz[@`{");
	check_take("ignore-case\n", "\xc3\x84\xe9", "\xc3\x84\xe9");
	check_take("key=2\nfield-separator=2c\ncsv\nskip-chars=1\n"
	    "check-chars=3\nignore-case\n", "a,\"X\"\"YZQ\"", "\"yz");
	check_take("key=1\nfield-separator=2c\ncsv\nignore-case\n",
	    "\"A,B\",c", "a,b");
	check_take("key=1\nfield-separator=2c\ncsv\n",
	    "\xef\xbb\xbf\"a,b\",c", "a,b");
	check_take("key=1\nfield-separator=2c\ncsv\n",
	    "\xef\xbb\xbf" "a,b", "a");
	check_take("key=1\nfield-separator=bb\ncsv\n",
	    "\xef\xbb\xbf", "\xef");
	check_take("field-separator=2c\ncsv\n", "\xef\xbb\xbf" "a",
	    "\xef\xbb\xbf" "a");
}

/* Several fields of CSV: what is cut is what they say, not their quotes. */
static void
check_cuts(void)
{
	static const char line[] = "\"a\"\"b\",,cd,\"\"";
	static const char *const skipped[] = {
		"\"a\"\"b\",,\"cd\"", "\"\"\"b\",,\"cd\"", "\"b\",,\"cd\"",
		",,\"cd\"", ",\"cd\"", "\"cd\"", "\"d\"", "", "" };
	static const char *const checked[] = { "",
		"\"a\"", "\"a\"\"\"", "\"a\"\"b\"", "\"a\"\"b\",",
		"\"a\"\"b\",,", "\"a\"\"b\",,\"c\"",
		"\"a\"\"b\",,\"cd\"", "\"a\"\"b\",,\"cd\"" };
	const char *fields = "key=1-\nfield-separator=2c\ncsv\n";
	char text[KEY_RECIPE_TEXT];

	for (int i = 1; i < 9; i++) {
		snprintf(text, sizeof text, "%sskip-data=%d\n", fields, i);
		check_take(text, line, skipped[i]);
		snprintf(text, sizeof text, "%scheck-data=%d\n", fields, i);
		check_take(text, line, checked[i]);
	}
	check_take("key=1-2\nfield-separator=2c\ncsv\nskip-data=2\n"
	    "check-data=3\nignore-case\n", "ABC,DE\"F", "\"c\",\"d\"");
}

/* Without fields of their own, separators at most: "a,,b" but not "a,,". */
static void
check_padding(void)
{
	struct key_recipe r = KEY_RECIPE_NONE;
	struct key_scratch scratch = { 0 };
	enum { COMMAS = 1000 };
	uint8_t line[COMMAS + 1 + LOOPS_PADDING];
	struct key key;

	memset(line, ',', COMMAS);
	line[COMMAS] = 'x';
	r.separator = ',';
	key_ranges_parse(&r, "1-");
	key_scratch_begin(&scratch, &r);
	key_scratch_reserve(&scratch, COMMAS + 1);
	key = key_take(&r, line, COMMAS, &scratch);
	tap_ok(key.nbytes == 0, "empty fields at the end are as good as none");
	key = key_take(&r, line, COMMAS + 1, &scratch);
	tap_ok(key.nbytes == COMMAS + 1, "empty fields before one count");
	key_scratch_free(&scratch);
}

/* Keys of many lines in one scratch: it is large enough for the worst. */
static void
check_scratch(const char *line, int csv, const char *name)
{
	enum { LINES = 16, COPIES = 5000 };
	struct key_recipe r = KEY_RECIPE_NONE;
	struct key_scratch scratch = { 0 };
	size_t length = strlen(line), nbytes = length * COPIES;
	uint8_t *data = malloc(nbytes + LOOPS_PADDING);
	int inside = 1;

	for (size_t i = 0; i < COPIES; i++)
		memcpy(data + i * length, line, length);
	r.separator = ',';
	r.csv = csv;
	r.ignore_case = 1;
	key_ranges_parse(&r, "1-");
	for (size_t n = 0; n <= nbytes && inside; n = n < 64 ? n + 1 : 2 * n) {
		key_scratch_begin(&scratch, &r);
		key_scratch_reserve(&scratch, LINES * (n + 1));
		for (int i = 0; i < LINES; i++) {
			struct key key = key_take(&r, data, n, &scratch);

			inside &= scratch.used <= scratch.capacity &&
			    key.nbytes <= scratch.used;
		}
	}
	tap_ok(inside, "room for the keys of lines of %s", name);
	free(data);
	key_scratch_free(&scratch);
}

/* Values inside of values count as often as there are pointers to them. */
static void
check_scratch_json(const char *pointers, size_t nbytes, unsigned count,
    size_t most)
{
	enum { LINES = 5000 };
	static const char line[LOOPS_PADDING + 32] = "{\"a\":[[\"\"],1]}";
	struct key_recipe r = KEY_RECIPE_NONE;
	struct key_scratch scratch = { 0 };
	size_t length = strlen(line);

	memcpy(r.json, pointers, nbytes);
	for (size_t i = 0; r.json_count < count; i += strlen(r.json + i) + 1)
		r.json_at[r.json_count++] = (uint16_t)i;
	key_scratch_begin(&scratch, &r);
	key_scratch_reserve(&scratch, LINES * (length + 1));
	for (int i = 0; i < LINES; i++)
		key_take(&r, (const uint8_t *)line, length, &scratch);
	tap_ok(scratch.troubles == 0 && scratch.used > LINES * length / 2 &&
	    scratch.used + LOOPS_PADDING + length <= scratch.capacity,
	    "room for the values of %u pointers", count);
	tap_ok(scratch.capacity <= most * LINES * (length + 1) + 4096,
	    "and no more than they need");
	key_scratch_free(&scratch);
}

int
main(void)
{
	check_lists();
	check_texts();
	check_inheritance();
	check_keys(-1, 0, "blanks");
	check_keys(',', 0, "comma");
	check_keys('\0', 0, "NUL");
	check_keys('"', 0, "quote");
	check_keys(',', 1, "csv");
	check_keys(' ', 1, "csv between blanks");
	check_steps();
	check_cuts();
	check_padding();
	check_scratch("a,", 1, "fields of one byte");
	check_scratch("a\"\",", 1, "quotes");
	check_scratch("\"\"\"\",", 1, "quoted quotes");
	check_scratch("\"", 1, "quotes alone");
	check_scratch(",", 0, "separators");
	check_scratch_json("\0/a\0/a/0\0/a/0/0", 15, 4, 20);
	check_scratch_json("/a/0\0/a/1\0/b\0/ab", 17, 2, 8);
	return tap_end();
}
