#include "key/recipe_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/quote.h"
#include "key/fields.h"
#include "key/steps.h"

/* Any bytes as a part of a line of text, such as %0A for a newline. */
static void
escape(char *to, const char *from)
{
	for (; *from != '\0'; from++) {
		unsigned char c = (unsigned char)*from;
		int plain = c >= 0x20 && c != 0x7f && c != '%';

		to += sprintf(to, plain ? "%c" : "%%%02X", c);
	}
	*to = '\0';
}

/* The inverse, in place; -1 if escape can't have written it. */
static int
unescape(char *text)
{
	char *to = text;

	for (; *text != '\0'; text++) {
		int c = (unsigned char)*text;

		if (c == '%') {
			c = number_hex((const uint8_t *)text + 1, 2);
			if (c <= 0)
				return -1;
			text += 2;
		}
		*to++ = (char)c;
	}
	*to = '\0';
	return 0;
}

size_t
key_recipe_format(const struct key_recipe *recipe, char text[KEY_RECIPE_TEXT])
{
	char value[KEY_VALUE], escaped[3 * KEY_VALUE];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < key_step_count; i++) {
		const struct key_step *step = &key_steps[i];
		const char *name = step->name, *shown = value;

		if (step->joined != NULL && key_joins_values(recipe))
			name = step->joined;
		if (step->escaped)
			shown = escaped;
		for (unsigned j = 0; key_step_print(step, recipe, j, value);
		    j++) {
			size_t at = n < KEY_RECIPE_TEXT ? n :
			    KEY_RECIPE_TEXT - 1;

			escape(escaped, value);
			n += (size_t)snprintf(text + at, KEY_RECIPE_TEXT - at,
			    "%s%s\n", name, shown);
		}
	}
	return n;
}

static const struct key_step *
find_step(const char *name)
{
	for (size_t i = 0; i < key_step_count; i++) {
		const char *joined = key_steps[i].joined;

		if (strcmp(name, key_steps[i].name) == 0 ||
		    (joined != NULL && strcmp(name, joined) == 0))
			return &key_steps[i];
	}
	return NULL;
}

static int
parse_lines(struct key_recipe *recipe, const char *text)
{
	char copy[KEY_RECIPE_TEXT], *line = copy;

	if (strlen(text) >= sizeof copy)
		return -1;
	strcpy(copy, text);
	while (*line != '\0') {
		char *end = strchr(line, '\n'), *value;
		const struct key_step *step;

		if (end == NULL)
			return -1;
		*end = '\0';
		value = strchr(line, '=');
		if (value != NULL)
			*value++ = '\0';
		step = find_step(line);
		if (step == NULL || (value != NULL && step->escaped &&
		    unescape(value) < 0) ||
		    key_step_parse(step, recipe, value) < 0)
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
	    strstr(text, "check-chars=") != NULL))
		return error_set(error, STATUS_FAILED, "made by bloomdedup"
		    " 0.1.0 with --csv, several fields and --skip-chars or"
		    " --check-chars, which counted quotes that were not in the"
		    " data: make a new filter");
	return error_set(error, STATUS_FAILED, "its key options are unknown to"
	    " this version of bloomdedup");
}

/* --- inheritance */

/*
 * Write what the recipe has of a step as on the command line, "--key=1,2" or
 * "--json=/a --json=/b"; or what the lack of it means.
 */
static void
describe_step(const struct key_step *step, const struct key_recipe *recipe,
    char text[KEY_OPTIONS])
{
	char value[KEY_VALUE], *word;
	int equals;
	unsigned i = 0;
	size_t n = 0;

	if (!key_step_is_given(step, recipe)) {
		if (step->absent != NULL)
			snprintf(text, KEY_OPTIONS, "%s", step->absent);
		else
			snprintf(text, KEY_OPTIONS, "no --%s", step->name);
		return;
	}
	/* Options may also state a count of 0, which a recipe does not have. */
	key_step_print(step, recipe, 0, value);
	do {
		if (step->show != NULL)
			step->show(recipe, value);
		equals = *value == '=';
		word = quote_word(value + equals);
		n += (size_t)snprintf(text + n, KEY_OPTIONS - n, "%s--%s%s%s",
		    i == 0 ? "" : " ", step->name, equals ? "=" : "", word);
		free(word);
	} while (key_step_print(step, recipe, ++i, value));
}

const char *
key_recipe_options(const char *text, char options[KEY_OPTIONS])
{
	char option[KEY_OPTIONS];
	struct key_recipe recipe;
	size_t n = 0;

	if (*text == '\0')
		return "the whole line";
	/*
	 * A recipe of a later version cannot be parsed, and is shown as it is.
	 */
	if (key_recipe_parse(&recipe, text, error_ignored()) < 0)
		return text;
	for (size_t i = 0; i < key_step_count; i++) {
		if (!key_step_print(&key_steps[i], &recipe, 0, option))
			continue;
		describe_step(&key_steps[i], &recipe, option);
		n += (size_t)snprintf(options + n, KEY_OPTIONS - n, "%s%s",
		    n == 0 ? "" : " ", option);
	}
	return options;
}

int
key_recipe_inherit(struct key_recipe *given,
    const struct key_recipe *stored, struct error *error)
{
	char had[KEY_OPTIONS], wanted[KEY_OPTIONS], value[KEY_VALUE];

	for (size_t i = 0; i < key_step_count; i++) {
		const struct key_step *step = &key_steps[i];

		if (!key_step_is_given(step, given))
			continue;
		describe_step(step, stored, had);
		describe_step(step, given, wanted);
		if (strcmp(had, wanted) == 0)
			continue;
		if (step->absent == NULL &&
		    !key_step_print(step, stored, 0, value))
			return error_set(error, STATUS_USAGE, "made without"
			    " --%s, which contradicts %s", step->name, wanted);
		return error_set(error, STATUS_USAGE, "made with %s, which"
		    " contradicts %s", had, wanted);
	}
	*given = *stored;
	return 0;
}

static int
check_separator(const struct key_recipe *recipe, struct error *error)
{
	const int line_end = recipe->zero_terminated ? '\0' : '\n';

	if (recipe->separator >= 0 && recipe->range_count == 0 &&
	    !recipe->csv) {
		return error_set(error, STATUS_USAGE, "--field-separator is"
		    " for fields: name them with --key");
	}
	if (recipe->separator == line_end ||
	    (recipe->csv && recipe->separator == '"')) {
		return error_set(error, STATUS_USAGE, "--field-separator:"
		    " the separator must differ from the line end and the"
		    " quote");
	}
	if (recipe->csv_backslash && recipe->separator == '\\') {
		return error_set(error, STATUS_USAGE, "--field-separator:"
		    " the separator must differ from the backslash of"
		    " --csv=backslash");
	}
	return 0;
}

/* What --header, and names of columns in --key, can be combined with. */
static int
check_columns(const struct key_recipe *recipe, struct error *error)
{
	if (recipe->header && !recipe->csv) {
		return error_set(error, STATUS_USAGE, "--header is for --csv:"
		    " only its files have names for their columns");
	}
	if (recipe->column_count > 0 && !recipe->header) {
		return error_set(error, STATUS_USAGE, "-k, --key: '%s' is not"
		    " allowed; give fields as for cut, such as 2 or 1,3 or 2-4"
		    " or 2-, in at most 32 ranges, or with --csv and --header"
		    " names of columns", recipe->columns);
	}
	return 0;
}

/* What the options that take a line apart can be combined with. */
static int
check_values(const struct key_recipe *recipe, struct error *error)
{
	const char *other = recipe->csv ? "csv" : "key";

	if (recipe->json_count > 0 && (recipe->csv ||
	    recipe->range_count > 0)) {
		return error_set(error, STATUS_USAGE, "--json cannot be"
		    " combined with --%s: a line is JSON or has fields", other);
	}
	if (recipe->trim_fields && recipe->range_count == 0 &&
	    recipe->column_count == 0 && recipe->json_count == 0) {
		return error_set(error, STATUS_USAGE, "--trim-fields is for"
		    " fields: name them with --key or --json");
	}
	return 0;
}

static int
check_url(const struct key_recipe *recipe, struct error *error)
{
	const char *option = recipe->url_rules.sort ? "sort" : "ignore";

	if (!recipe->url && (recipe->url_rules.ignore[0] != '\0' ||
	    recipe->url_rules.sort)) {
		return error_set(error, STATUS_USAGE, "--url-%s is for URLs:"
		    " add --url", option);
	}
	if (recipe->url && recipe->range_count > 0 && !recipe->csv &&
	    !key_single_field(recipe)) {
		return error_set(error, STATUS_USAGE, "--url takes one field,"
		    " such as --key=2, or several with --csv");
	}
	return 0;
}

int
key_recipe_complete(struct key_recipe *recipe, struct error *error)
{
	char text[KEY_RECIPE_TEXT];
	size_t nbytes;

	if (recipe->csv && recipe->separator < 0)
		recipe->separator = ',';
	if (recipe->skip == KEY_SKIP_UNSET)
		recipe->skip = 0;
	if (check_separator(recipe, error) < 0 ||
	    check_columns(recipe, error) < 0 ||
	    check_values(recipe, error) < 0 || check_url(recipe, error) < 0)
		return -1;
	nbytes = key_recipe_format(recipe, text);
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
	const struct key_step *step = find_step(name);

	if (step == NULL)
		return -1;
	return key_step_parse(step, recipe, value);
}

int
key_option_fits(const struct key_recipe *recipe, const char *value)
{
	char text[KEY_RECIPE_TEXT];

	return key_recipe_format(recipe, text) + strlen(value) <
	    KEY_RECIPE_TEXT;
}
