#include "key/steps.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "base/number.h"
#include "key/apply.h"
#include "key/columns.h"
#include "key/fields.h"
#include "key/json.h"
#include "key/part.h"
#include "key/url.h"

/* --- rows that set a flag, or a count */

static int
get_flag(const struct key_step *step, const struct key_recipe *recipe)
{
	int flag;

	memcpy(&flag, (const char *)recipe + step->member, sizeof flag);
	return flag;
}

static int
parse_flag(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	const int flag = 1;

	memcpy((char *)recipe + step->member, &flag, sizeof flag);
	return value == NULL ? 0 : -1;
}

static int
print_flag(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	value[0] = '\0';
	return get_flag(step, recipe);
}

static uint64_t
get_count(const struct key_step *step, const struct key_recipe *recipe)
{
	uint64_t count;

	memcpy(&count, (const char *)recipe + step->member, sizeof count);
	return count;
}

static int
parse_count(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	uint64_t count;

	if (value == NULL || number_count(value, &count) < 0)
		return -1;
	memcpy((char *)recipe + step->member, &count, sizeof count);
	return 0;
}

/* 0 isn't written, since it asks for nothing. */
static int
print_count(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	uint64_t count = get_count(step, recipe);

	snprintf(value, KEY_RECIPE_TEXT, "=%" PRIu64, count);
	return count != 0 && count != step->unset;
}

/* --- values with any bytes */

/* Escape bytes that a line of the text can't contain, as in %0A. */
static size_t
escape(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; *from != '\0'; from++) {
		unsigned char c = (unsigned char)*from;
		int plain = c >= 0x20 && c != 0x7f && c != '%';

		if (n < size)
			snprintf(to + n, size - n, plain ? "%c" : "%%%02X", c);
		n += plain ? 1 : 3;
	}
	return n;
}

/* Returns -1 if escape can't have written it. */
static int
unescape(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		int c;

		if (*text != '%') {
			*to++ = *text;
			continue;
		}
		c = hex_read((const uint8_t *)text + 1, 2);
		if (c <= 0)
			return -1;
		*to++ = (char)c;
		text += 2;
	}
	*to = '\0';
	return 0;
}

/* --- fields */

static int
print_fields(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	(void)step;
	value[0] = '=';
	if (recipe->column_count > 0)
		escape(value + 1, KEY_RECIPE_TEXT - 1, recipe->columns);
	else
		value[1 + key_ranges_format(recipe, value + 1,
		    KEY_RECIPE_TEXT - 1)] = '\0';
	return recipe->range_count > 0 || recipe->column_count > 0;
}

static void
show_fields(const struct key_recipe *recipe, char value[KEY_RECIPE_TEXT])
{
	if (recipe->column_count > 0) {
		value[0] = '=';
		memcpy(value + 1, recipe->columns, KEY_RECIPE_TEXT - 1);
		value[KEY_RECIPE_TEXT - 1] = '\0';
	}
}

/* A list that is given twice adds up. */
static int
parse_fields(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	char list[2 * KEY_RECIPE_TEXT] = "";
	int count;

	if (value == NULL || strlen(value) >= KEY_RECIPE_TEXT)
		return -1;
	if (print_fields(step, recipe, list)) {
		show_fields(recipe, list);
		list[strlen(list)] = ',';
	}
	strcat(list, value);
	value = list + (*list == '=');
	if (recipe->column_count == 0 && key_ranges_parse(recipe, value) == 0)
		return 0;
	count = columns_parse(value, recipe->columns);
	if (count > 0)
		recipe->column_count = (unsigned)count;
	return count > 0 ? 0 : -1;
}

static int
parse_separator(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	(void)step;
	if (value == NULL || strlen(value) != 2)
		return -1;
	recipe->separator = hex_read((const uint8_t *)value, 2);
	return recipe->separator < 0 ? -1 : 0;
}

static int
print_separator(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	(void)step;
	snprintf(value, KEY_RECIPE_TEXT, "=%02x",
	    (unsigned)recipe->separator & 0xff);
	return recipe->separator >= 0;
}

static void
show_separator(const struct key_recipe *recipe, char value[KEY_RECIPE_TEXT])
{
	int c = recipe->separator;

	snprintf(value, KEY_RECIPE_TEXT, c > 0x20 && c < 0x7f ? "=%c" :
	    "=\\x%02x", c);
}

/* --- JSON pointers */

/* Add a pointer. */
static int
parse_json(const struct key_step *step, struct key_recipe *recipe,
    const char *pointer)
{
	unsigned n = recipe->json_count;
	size_t at = 0;

	(void)step;
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

/* Several pointers are several lines, "=/a\njson=/b". */
static int
print_json(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	size_t n = 0;

	value[0] = '\0';
	for (unsigned i = 0; i < recipe->json_count; i++) {
		if (n < KEY_RECIPE_TEXT)
			n += (size_t)snprintf(value + n, KEY_RECIPE_TEXT - n,
			    i == 0 ? "=" : "\n%s=", step->name);
		if (n < KEY_RECIPE_TEXT)
			n += escape(value + n, KEY_RECIPE_TEXT - n,
			    recipe->json + recipe->json_at[i]);
	}
	return recipe->json_count > 0;
}

/* "=/a --json=/b" */
static void
show_json(const struct key_recipe *recipe, char value[KEY_RECIPE_TEXT])
{
	size_t n = 0;

	for (unsigned i = 0; i < recipe->json_count && n < KEY_RECIPE_TEXT; i++)
		n += (size_t)snprintf(value + n, KEY_RECIPE_TEXT - n, "%s%s",
		    i == 0 ? "=" : " --json=",
		    recipe->json + recipe->json_at[i]);
}

/* --- parameters of URLs */

static int
parse_ignore(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	char list[3 * KEY_RECIPE_TEXT];
	size_t used = strlen(recipe->url_ignore);

	(void)step;
	if (value == NULL || strlen(value) >= KEY_RECIPE_TEXT ||
	    url_ignore_parse(value, list) < 0 ||
	    used + 1 + strlen(list) >= sizeof recipe->url_ignore)
		return -1;
	if (used > 0)
		recipe->url_ignore[used++] = ',';
	strcpy(recipe->url_ignore + used, list);
	return 0;
}

static int
print_ignore(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	(void)step;
	value[0] = '=';
	memcpy(value + 1, recipe->url_ignore, KEY_RECIPE_TEXT - 1);
	value[KEY_RECIPE_TEXT - 1] = '\0';
	return recipe->url_ignore[0] != '\0';
}

/* --- parts */

static int
parse_part(const struct key_step *step, struct key_recipe *recipe,
    const char *value)
{
	(void)step;
	return value == NULL ? -1 :
	    part_parse(value, &recipe->part, &recipe->parts);
}

static int
print_part(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	(void)step;
	snprintf(value, KEY_RECIPE_TEXT, "=%u/%u", recipe->part,
	    recipe->parts);
	return recipe->parts > 0;
}

/* --- the rows */

#define MEMBER(name) .member = offsetof(struct key_recipe, name)
#define FLAG .parse = parse_flag, .print = print_flag
#define APPLY(name) .apply = apply_##name, .applies = apply_##name##_if
#define COUNT .parse = parse_count, .print = print_count

const struct key_step key_steps[KEY_STEPS] = {
	{ "zero-terminated", FLAG, MEMBER(zero_terminated),
	    .absent = "lines that end in a newline" },
	{ "strip-cr", FLAG, MEMBER(strip_cr),
	    APPLY(strip_cr) },
	{ "trim", FLAG, MEMBER(trim),
	    APPLY(trim) },
	{ "key", .parse = parse_fields, .escaped = 1,
	    .print = print_fields, .show = show_fields,
	    .absent = "the whole line as key",
	    APPLY(fields) },
	{ "field-separator", .parse = parse_separator,
	    .print = print_separator, .show = show_separator,
	    .absent = "fields between blanks" },
	{ "csv", FLAG, MEMBER(csv) },
	{ "header", FLAG, MEMBER(header) },
	{ "json", .parse = parse_json, .escaped = 1,
	    .print = print_json, .show = show_json,
	    .absent = "no --json",
	    APPLY(json) },
	{ "trim-fields", FLAG, MEMBER(trim_fields),
	    APPLY(trim_fields) },
	{ "url", FLAG, MEMBER(url),
	    APPLY(url) },
	{ "url-ignore", .parse = parse_ignore, .print = print_ignore },
	{ "url-sort", FLAG, MEMBER(url_sort) },
	{ "skip-chars", COUNT, MEMBER(skip), .unset = KEY_SKIP_UNSET,
	    .joined = "skip-data",
	    APPLY(skip) },
	{ "check-chars", COUNT, MEMBER(check),
	    .joined = "check-data",
	    APPLY(check) },
	{ "ignore-case", FLAG, MEMBER(ignore_case),
	    APPLY(fold_case) },
	{ "keep-empty", FLAG, MEMBER(keep_empty) },
	{ "part", .parse = parse_part, .print = print_part },
};

/* --- recipes as text */

/* Returns the length of the whole text, even if it was cut. */
static size_t
format(const struct key_recipe *recipe, char text[KEY_RECIPE_TEXT])
{
	char value[KEY_RECIPE_TEXT];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < KEY_STEPS; i++) {
		const struct key_step *step = &key_steps[i];
		int joined = step->joined != NULL && key_joins_values(recipe);
		size_t at = n < KEY_RECIPE_TEXT ? n : KEY_RECIPE_TEXT - 1;

		if (step->print(step, recipe, value))
			n += (size_t)snprintf(text + at, KEY_RECIPE_TEXT - at,
			    "%s%s\n", joined ? step->joined : step->name,
			    value);
	}
	return n;
}

void
key_recipe_format(const struct key_recipe *recipe, char text[KEY_RECIPE_TEXT])
{
	format(recipe, text);
}

static int
has_name(const char *name, const char *line, size_t nbytes)
{
	return name != NULL && strlen(name) == nbytes &&
	    memcmp(name, line, nbytes) == 0;
}

/* One line of a recipe. */
static int
parse_line(struct key_recipe *recipe, char *line)
{
	char *value = strchr(line, '=');
	size_t nbytes = value == NULL ? strlen(line) : (size_t)(value - line);

	for (size_t i = 0; i < KEY_STEPS; i++) {
		const struct key_step *step = &key_steps[i];

		if (!has_name(step->name, line, nbytes) &&
		    !has_name(step->joined, line, nbytes))
			continue;
		if (value != NULL && step->escaped && unescape(value + 1) < 0)
			return -1;
		return step->parse(step, recipe,
		    value == NULL ? NULL : value + 1);
	}
	return -1;
}

static int
parse_lines(struct key_recipe *recipe, const char *text)
{
	char copy[KEY_RECIPE_TEXT], *line = copy;

	if (strlen(text) >= sizeof copy)
		return -1;
	strcpy(copy, text);
	while (*line != '\0') {
		char *end = strchr(line, '\n');

		if (end == NULL)
			return -1;
		*end = '\0';
		if (parse_line(recipe, line) < 0)
			return -1;
		line = end + 1;
	}
	return 0;
}

int
key_recipe_parse(struct key_recipe *recipe, const char *text,
    struct error *error)
{
	struct key_recipe parsed = KEY_RECIPE_NONE;
	char again[KEY_RECIPE_TEXT] = "";

	/*
	 * Accept only the normal spelling, so that texts can be compared, and
	 * only recipes that a new filter can have.
	 */
	if (parse_lines(&parsed, text) == 0 &&
	    key_recipe_complete(&parsed, error) == 0)
		key_recipe_format(&parsed, again);
	if (strcmp(again, text) == 0) {
		*recipe = parsed;
		return 0;
	}
	if (key_joins_values(&parsed) && (strstr(text, "skip-chars=") != NULL ||
	    strstr(text, "check-chars=") != NULL)) {
		return error_set(error, STATUS_FAILED, "made by bloomdedup"
		    " 0.1.0 with --csv, several fields and --skip-chars or"
		    " --check-chars, which counted quotes that were not in the"
		    " data: make a new filter");
	}
	return error_set(error, STATUS_FAILED, "its key options are unknown to"
	    " this version of bloomdedup");
}

/* --- inheritance */

/* "--key=1,2", as on the command line; or what the lack of it means. */
static void
describe(const struct key_step *step, const struct key_recipe *recipe,
    char text[KEY_RECIPE_TEXT + 32])
{
	char value[KEY_RECIPE_TEXT];

	if (!step->print(step, recipe, value) && (step->unset == 0 ||
	    get_count(step, recipe) == step->unset)) {
		snprintf(text, KEY_RECIPE_TEXT + 32, "%s%s",
		    step->absent != NULL ? "" : "no --",
		    step->absent != NULL ? step->absent : step->name);
		return;
	}
	if (step->show != NULL)
		step->show(recipe, value);
	snprintf(text, KEY_RECIPE_TEXT + 32, "--%s%s", step->name, value);
}

static int
is_given(const struct key_step *step, const struct key_recipe *recipe)
{
	char ignored[KEY_RECIPE_TEXT];

	return step->print(step, recipe, ignored) || (step->unset != 0 &&
	    get_count(step, recipe) != step->unset);
}

int
key_recipe_inherit(struct key_recipe *given,
    const struct key_recipe *stored, struct error *error)
{
	char had[KEY_RECIPE_TEXT + 32], wanted[KEY_RECIPE_TEXT + 32];

	for (size_t i = 0; i < KEY_STEPS; i++) {
		const struct key_step *step = &key_steps[i];

		if (!is_given(step, given))
			continue;
		describe(step, stored, had);
		describe(step, given, wanted);
		if (strcmp(had, wanted) != 0) {
			return error_set(error, STATUS_USAGE, "made with %s,"
			    " which contradicts %s", had, wanted);
		}
	}
	*given = *stored;
	return 0;
}

/* Check that options for different kinds of lines go together. */
static int
check_kind(const struct key_recipe *r, struct error *error)
{
	if (r->header && !r->csv) {
		return error_set(error, STATUS_USAGE, "--header is for --csv:"
		    " only its files have names for their columns");
	}
	if (r->column_count > 0 && !r->header) {
		return error_set(error, STATUS_USAGE, "-k, --key: '%s' is not"
		    " allowed; give fields as for cut, such as 2 or 1,3 or 2-4"
		    " or 2-, in at most 32 ranges, or with --csv and --header"
		    " names of columns", r->columns);
	}
	if (r->json_count > 0 && (r->csv || r->range_count > 0)) {
		return error_set(error, STATUS_USAGE, "--json cannot be"
		    " combined with --%s: a line is JSON or has fields",
		    r->csv ? "csv" : "key");
	}
	if (r->trim_fields && r->range_count == 0 && r->column_count == 0 &&
	    r->json_count == 0) {
		return error_set(error, STATUS_USAGE, "--trim-fields is for"
		    " fields: name them with --key or --json");
	}
	if (!r->url && (r->url_ignore[0] != '\0' || r->url_sort)) {
		return error_set(error, STATUS_USAGE, "--url-%s is for URLs:"
		    " add --url", r->url_sort ? "sort" : "ignore");
	}
	if (r->url && r->range_count > 0 && !r->csv && !key_single_field(r)) {
		return error_set(error, STATUS_USAGE, "--url takes one field,"
		    " such as --key=2, or several with --csv");
	}
	return 0;
}

int
key_recipe_complete(struct key_recipe *r, struct error *error)
{
	char text[KEY_RECIPE_TEXT];
	size_t nbytes;

	if (r->csv && r->separator < 0)
		r->separator = ',';
	if (r->skip == KEY_SKIP_UNSET)
		r->skip = 0;
	if (r->separator >= 0 && r->range_count == 0 && !r->csv) {
		return error_set(error, STATUS_USAGE, "--field-separator is"
		    " for fields: name them with --key");
	}
	if (r->separator == (r->zero_terminated ? '\0' : '\n') ||
	    (r->csv && r->separator == '"')) {
		return error_set(error, STATUS_USAGE, "--field-separator:"
		    " the separator must differ from the line end and the"
		    " quote");
	}
	if (check_kind(r, error) < 0)
		return -1;
	nbytes = format(r, text);
	if (nbytes >= KEY_RECIPE_TEXT) {
		return error_set(error, STATUS_USAGE, "the key options take %zu"
		    " bytes in the filter, which has room for %d", nbytes,
		    KEY_RECIPE_TEXT - 1);
	}
	return 0;
}

int
key_option(struct key_recipe *recipe, const char *name, const char *value)
{
	for (size_t i = 0; i < KEY_STEPS; i++) {
		if (strcmp(key_steps[i].name, name) == 0)
			return key_steps[i].parse(&key_steps[i], recipe, value);
	}
	return -1;
}

int
key_option_fits(const struct key_recipe *recipe, const char *value)
{
	char text[KEY_RECIPE_TEXT];

	return format(recipe, text) + strlen(value) < KEY_RECIPE_TEXT;
}
