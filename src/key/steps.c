#include "key/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "bits/loops.h"
#include "key/columns.h"
#include "key/fields.h"
#include "key/join.h"
#include "key/json.h"
#include "key/url.h"

/* --- the end of the line, and blanks */

static struct key
apply_strip_cr(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch)
{
	(void)recipe, (void)scratch;
	if (key.nbytes > 0 && key.data[key.nbytes - 1] == '\r')
		key.nbytes--;
	return key;
}

/* RFC 4180: the CR before the line end is a part of it. */
static int
apply_strip_cr_if(const struct key_recipe *recipe)
{
	return recipe->strip_cr || recipe->csv;
}

static struct key
apply_trim(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch)
{
	(void)recipe, (void)scratch;
	return trim_blanks(key);
}

/* --- fields */

static int
has_fields(const struct key_recipe *recipe)
{
	return recipe->range_count > 0 || recipe->column_count > 0;
}

static int
print_fields(const struct key_recipe *recipe, unsigned i,
    char value[KEY_VALUE])
{
	value[0] = '=';
	if (recipe->column_count > 0)
		strcpy(value + 1, recipe->columns);
	else
		key_ranges_format(recipe, value + 1, KEY_VALUE - 1);
	return i == 0 && has_fields(recipe);
}

/* A list that is given twice adds up. */
static int
parse_fields(struct key_recipe *recipe, const char *value)
{
	char list[2 * KEY_VALUE];
	int count;

	if (value == NULL || strlen(value) >= KEY_RECIPE_TEXT)
		return -1;
	if (print_fields(recipe, 0, list))
		strcat(list, ",");
	strcat(list, value);
	value = list + 1;
	if (recipe->column_count == 0 && key_ranges_parse(recipe, value) == 0)
		return 0;
	count = columns_parse(value, recipe->columns);
	if (count <= 0)
		return -1;
	recipe->column_count = (unsigned)count;
	return 0;
}

static int
parse_separator(struct key_recipe *recipe, const char *value)
{
	if (value == NULL || strlen(value) != 2)
		return -1;
	recipe->separator = number_hex((const uint8_t *)value, 2);
	return recipe->separator < 0 ? -1 : 0;
}

static int
print_separator(const struct key_recipe *recipe, unsigned i,
    char value[KEY_VALUE])
{
	snprintf(value, KEY_VALUE, "=%02x",
	    (unsigned)recipe->separator & 0xff);
	return i == 0 && recipe->separator >= 0;
}

static void
show_separator(const struct key_recipe *recipe, char value[KEY_VALUE])
{
	int c = recipe->separator;

	if (c >= 0x20 && c < 0x7f)
		snprintf(value, KEY_VALUE, "=%c", c);
	else if (c == '\t' || c == '\0')
		snprintf(value, KEY_VALUE, "=%s", c == '\t' ? "\\t" : "\\0");
	else
		snprintf(value, KEY_VALUE, "=\\x%02x", (unsigned)c);
}

static struct key
apply_trim_fields(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch)
{
	(void)recipe;
	if (scratch->is_whole)
		return key;
	return trim_blanks(key);
}

/* Several values are trimmed one by one, before they are joined. */
static int
apply_trim_fields_if(const struct key_recipe *recipe)
{
	return recipe->trim_fields && (recipe->json_count == 1 ||
	    recipe->column_count == 1 || key_single_field(recipe));
}

/* --- values of JSON */

/* Add a pointer. */
static int
parse_json(struct key_recipe *recipe, const char *pointer)
{
	unsigned n = recipe->json_count;
	size_t at = 0;

	if (pointer == NULL)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		const char *other = recipe->json + recipe->json_at[i];

		if (strcmp(other, pointer) == 0)
			return -1;
		at = recipe->json_at[i] + strlen(other) + 1;
	}
	if (n == KEY_POINTERS_MAX || !json_is_pointer(pointer) ||
	    strlen(pointer) >= sizeof recipe->json - at)
		return -1;
	strcpy(recipe->json + at, pointer);
	recipe->json_at[n] = (uint16_t)at;
	recipe->json_count++;
	return 0;
}

static int
print_json(const struct key_recipe *recipe, unsigned i,
    char value[KEY_VALUE])
{
	if (i >= recipe->json_count)
		return 0;
	snprintf(value, KEY_VALUE, "=%s", recipe->json + recipe->json_at[i]);
	return 1;
}

/* The key is the whole line, because of a trouble. */
static struct key
keep_line(struct key line, enum key_trouble trouble,
    struct key_scratch *scratch)
{
	scratch_note(scratch, trouble);
	scratch->is_whole = 1;
	scratch->used = scratch->start;
	return line;
}

static int
is_null(struct key value)
{
	return value.nbytes == 4 && memcmp(value.data, "null", 4) == 0;
}

/*
 * Find the values of all pointers, and note in the scratch which led to one.
 * Returns KEY_TROUBLES if all did, otherwise the trouble.
 */
static enum key_trouble
find_values(const struct key_recipe *recipe, struct key line,
    struct key *values, struct key_scratch *scratch)
{
	const char *pointers[KEY_POINTERS_MAX];
	unsigned found = 0, nulls = 0;

	for (unsigned i = 0; i < recipe->json_count; i++)
		pointers[i] = recipe->json + recipe->json_at[i];
	switch (json_find(pointers, recipe->json_count, line.data, line.nbytes,
	    values)) {
	case JSON_NOT:
		return KEY_NOT_JSON;
	case JSON_TOO_DEEP:
		return KEY_TOO_DEEP;
	case JSON_OK:
		break;
	}
	for (unsigned i = 0; i < recipe->json_count; i++) {
		uint32_t is_found = values[i].data != NULL;
		uint32_t no_value = is_found && is_null(values[i]);

		scratch->found |= (is_found & ~no_value) << i;
		found += is_found;
		nulls += no_value;
	}
	if (found < recipe->json_count)
		return KEY_MISSING;
	return nulls > 0 ? KEY_NULL : KEY_TROUBLES;
}

static struct key
apply_json(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	const unsigned n = recipe->json_count;
	struct join join = join_begin(recipe, ',', scratch);
	struct key values[KEY_POINTERS_MAX], key = line;
	enum key_trouble trouble = find_values(recipe, line, values, scratch);

	if (trouble != KEY_TROUBLES)
		return keep_line(line, trouble, scratch);
	for (unsigned i = 0; i < n; i++) {
		/* Take it to where nothing is written before it is joined. */
		uint8_t *to = n == 1 ? scratch->data + scratch->used :
		    scratch->data + scratch->capacity - LOOPS_PADDING -
		    values[i].nbytes;

		key = json_take(values[i], to);
		if (key.data == NULL)
			return keep_line(line, KEY_NOT_JSON, scratch);
		if (n > 1)
			join_value(&join, key, 0);
		else if (key.data == to)
			scratch->used += key.nbytes;
	}
	return n > 1 ? scratch_key(scratch) : key;
}

static int
apply_json_if(const struct key_recipe *recipe)
{
	return recipe->json_count > 0;
}

/* --- URLs, and their parameters */

static int
parse_ignore(struct key_recipe *recipe, const char *value)
{
	char list[3 * KEY_RECIPE_TEXT];
	size_t used = strlen(recipe->url_rules.ignore);

	if (value == NULL || strlen(value) >= KEY_RECIPE_TEXT ||
	    url_ignore_parse(value, list) < 0 ||
	    used + 1 + strlen(list) >= sizeof recipe->url_rules.ignore)
		return -1;
	if (used > 0)
		recipe->url_rules.ignore[used++] = ',';
	strcpy(recipe->url_rules.ignore + used, list);
	return 0;
}

static int
print_ignore(const struct key_recipe *recipe, unsigned i,
    char value[KEY_VALUE])
{
	snprintf(value, KEY_VALUE, "=%s", recipe->url_rules.ignore);
	return i == 0 && recipe->url_rules.ignore[0] != '\0';
}

static int
parse_url(struct key_recipe *recipe, const char *value)
{
	recipe->url = 1;
	if (value == NULL)
		return 0;
	return url_switches_parse(value, &recipe->url_rules.switches);
}

static int
print_url(const struct key_recipe *recipe, unsigned i, char value[KEY_VALUE])
{
	char list[URL_SWITCHES_TEXT];

	url_switches_format(recipe->url_rules.switches, list);
	snprintf(value, KEY_VALUE, "%s%s", list[0] == '\0' ? "" : "=", list);
	return i == 0 && recipe->url;
}

static struct key
apply_url(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch)
{
	uint8_t *to = scratch->data + scratch->used;
	struct key url;

	if (scratch->is_whole)
		return key;
	url = url_key(&recipe->url_rules, key, to);
	if (url.data == NULL)
		return key;
	scratch->urls++;
	if (url.data == to)
		scratch->used += url.nbytes;
	return url;
}

static int
apply_url_if(const struct key_recipe *recipe)
{
	return recipe->url && !key_joins_values(recipe);
}

/* --- bytes */

static struct key
apply_cut(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch)
{
	size_t skip = recipe->skip < key.nbytes ? (size_t)recipe->skip :
	    key.nbytes;

	if (scratch->is_whole)
		return key;
	key.data += skip;
	key.nbytes -= skip;
	if (recipe->check > 0 && recipe->check < key.nbytes)
		key.nbytes = (size_t)recipe->check;
	return key;
}

static int
apply_cut_if(const struct key_recipe *recipe)
{
	return (recipe->skip > 0 || recipe->check > 0) &&
	    !key_joins_values(recipe);
}

/* Sixteen bytes at a time, which all supported machines can do. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static inline void
fold16(uint8_t *to, const uint8_t *from)
{
	bytes16 bytes;

	memcpy(&bytes, from, sizeof bytes);
	bytes += (bytes16)(bytes - 'A' < 26) & 32;
	memcpy(to, &bytes, sizeof bytes);
}

static struct key
apply_fold_case(const struct key_recipe *recipe, struct key key,
    struct key_scratch *scratch)
{
	uint8_t *to = scratch->data + scratch->start;
	size_t i = 0;

	(void)recipe;
	/*
	 * A key that is in the scratch already is folded in place. If bytes
	 * were skipped, move it to its start before that.
	 */
	if (scratch->used > scratch->start) {
		memmove(to, key.data, key.nbytes);
		key.data = to;
	}
	for (; i + 16 <= key.nbytes; i += 16)
		fold16(to + i, key.data + i);
	if (i < key.nbytes && i > 0) {
		/*
		 * Fold the last 16 bytes; to fold some of them again changes
		 * nothing.
		 */
		i = key.nbytes - 16;
		fold16(to + i, key.data + i);
		i = key.nbytes;
	}
	for (; i < key.nbytes; i++) {
		uint8_t c = key.data[i];
		to[i] = (uint8_t)(c + (c >= 'A' && c <= 'Z' ? 32 : 0));
	}
	scratch->used = scratch->start + key.nbytes;
	key.data = to;
	return key;
}

/* --- parts */

static int
parse_part(struct key_recipe *recipe, const char *value)
{
	uint64_t i, n;

	/* Accept what is written, so without leading zeros or blanks. */
	if (value == NULL || *value == '0' ||
	    number_digits(&value, NULL, PARTS_MAX, &i) < 0 ||
	    *value++ != '/' || *value == '0' ||
	    number_digits(&value, NULL, PARTS_MAX, &n) < 0 ||
	    *value != '\0' || i > n)
		return -1;
	recipe->part = (unsigned)i;
	recipe->parts = (unsigned)n;
	return 0;
}

static int
print_part(const struct key_recipe *recipe, unsigned i,
    char value[KEY_VALUE])
{
	snprintf(value, KEY_VALUE, "=%u/%u", recipe->part, recipe->parts);
	return i == 0 && recipe->parts > 0;
}

/* --- CSV */

static int
parse_csv(struct key_recipe *recipe, const char *value)
{
	recipe->csv = 1;
	if (value == NULL)
		return 0;
	recipe->csv_backslash = 1;
	return strcmp(value, "backslash") == 0 ? 0 : -1;
}

static int
print_csv(const struct key_recipe *recipe, unsigned i, char value[KEY_VALUE])
{
	strcpy(value, recipe->csv_backslash ? "=backslash" : "");
	return i == 0 && recipe->csv;
}

/* --- the rows */

#define MEMBER(name) .member = offsetof(struct key_recipe, name)
#define FLAG .kind = KEY_FLAG
#define APPLY(name) .apply = apply_##name, .applies = apply_##name##_if
#define COUNT .kind = KEY_COUNT

const struct key_step key_steps[] = {
	{ "zero-terminated", FLAG, MEMBER(zero_terminated),
	    .absent = "lines that end in a newline" },
	{ "strip-cr", FLAG, MEMBER(strip_cr),
	    APPLY(strip_cr) },
	{ "trim", FLAG, MEMBER(trim), .apply = apply_trim },
	{ "key", .parse = parse_fields, .escaped = 1,
	    .print = print_fields,
	    .absent = "the whole line as key",
	    .apply = key_take_fields, .applies = has_fields },
	{ "field-separator", .parse = parse_separator,
	    .print = print_separator, .show = show_separator,
	    .absent = "fields between blanks" },
	{ "csv", .parse = parse_csv, .print = print_csv },
	{ "header", FLAG, MEMBER(header) },
	{ "json", .parse = parse_json, .escaped = 1, .print = print_json,
	    APPLY(json) },
	{ "trim-fields", FLAG, MEMBER(trim_fields),
	    APPLY(trim_fields) },
	{ "url", .parse = parse_url, .print = print_url,
	    APPLY(url) },
	{ "url-ignore", .parse = parse_ignore, .print = print_ignore },
	{ "url-sort", FLAG, MEMBER(url_rules.sort) },
	{ "skip-chars", COUNT, MEMBER(skip), .unset = KEY_SKIP_UNSET,
	    .joined = "skip-data",
	    APPLY(cut) },
	{ "check-chars", COUNT, MEMBER(check),
	    .joined = "check-data" },
	{ "ignore-case", FLAG, MEMBER(ignore_case),
	    .apply = apply_fold_case },
	{ "keep-empty", FLAG, MEMBER(keep_empty) },
	{ "part", .parse = parse_part, .print = print_part },
};
const size_t key_step_count = sizeof key_steps / sizeof *key_steps;

_Static_assert(sizeof key_steps / sizeof *key_steps <= KEY_STEPS_MAX,
    "key_scratch has no room for so many steps");

static int
get_flag(const struct key_step *step, const struct key_recipe *recipe)
{
	int flag;

	memcpy(&flag, (const char *)recipe + step->member, sizeof flag);
	return flag;
}

static uint64_t
get_count(const struct key_step *step, const struct key_recipe *recipe)
{
	uint64_t count;

	memcpy(&count, (const char *)recipe + step->member, sizeof count);
	return count;
}

int
key_step_parse(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	char *member = (char *)recipe + step->member;
	const int flag = 1;
	uint64_t count;

	if (step->kind == KEY_VALUES)
		return step->parse(recipe, value);
	if (step->kind == KEY_FLAG) {
		memcpy(member, &flag, sizeof flag);
		return value == NULL ? 0 : -1;
	}
	if (value == NULL || number_count(value, &count) < 0)
		return -1;
	memcpy(member, &count, sizeof count);
	return 0;
}

int
key_step_print(const struct key_step *step, const struct key_recipe *recipe,
    unsigned i, char value[KEY_VALUE])
{
	uint64_t count;

	if (step->kind == KEY_VALUES)
		return step->print(recipe, i, value);
	value[0] = '\0';
	if (step->kind == KEY_FLAG)
		return i == 0 && get_flag(step, recipe);
	count = get_count(step, recipe);
	snprintf(value, KEY_VALUE, "=%" PRIu64, count);
	/* A count of 0 asks for nothing, so it is not written. */
	return i == 0 && count != 0 && count != step->unset;
}

int
key_step_applies(const struct key_step *step, const struct key_recipe *recipe)
{
	if (step->apply == NULL)
		return 0;
	if (step->applies != NULL)
		return step->applies(recipe);
	return get_flag(step, recipe);
}

int
key_step_is_given(const struct key_step *step, const struct key_recipe *recipe)
{
	char ignored[KEY_VALUE];

	if (key_step_print(step, recipe, 0, ignored))
		return 1;
	return step->unset != 0 && get_count(step, recipe) != step->unset;
}
