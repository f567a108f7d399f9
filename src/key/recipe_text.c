#include "key/recipe_text.h"

#include <stdio.h>
#include <string.h>

#include "key/escape.h"
#include "key/fields.h"
#include "key/steps.h"

/* Returns the length of the whole text, even if it was cut. */
static size_t
format(const struct key_recipe *recipe, char text[KEY_RECIPE_TEXT])
{
	char value[KEY_RECIPE_TEXT];
	size_t n = 0;

	text[0] = '\0';
	for (size_t i = 0; i < key_step_count; i++) {
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

	for (size_t i = 0; i < key_step_count; i++) {
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

	if (!key_step_is_given(step, recipe)) {
		snprintf(text, KEY_RECIPE_TEXT + 32, "%s%s",
		    step->absent != NULL ? "" : "no --",
		    step->absent != NULL ? step->absent : step->name);
		return;
	}
	step->print(step, recipe, value);
	if (step->show != NULL)
		step->show(recipe, value);
	snprintf(text, KEY_RECIPE_TEXT + 32, "--%s%s", step->name, value);
}

const char *
key_recipe_options(const char *text, char options[KEY_OPTIONS])
{
	char option[KEY_RECIPE_TEXT + 32];
	struct key_recipe recipe;
	size_t n = 0;

	if (*text == '\0')
		return "the whole line";
	if (key_recipe_parse(&recipe, text, &(struct error){ 0 }) < 0)
		return text;
	for (size_t i = 0; i < key_step_count; i++) {
		if (!key_steps[i].print(&key_steps[i], &recipe, option))
			continue;
		describe(&key_steps[i], &recipe, option);
		n += (size_t)snprintf(options + n, KEY_OPTIONS - n, "%s%s",
		    n == 0 ? "" : " ", option);
	}
	return options;
}

int
key_recipe_inherit(struct key_recipe *given,
    const struct key_recipe *stored, struct error *error)
{
	char had[KEY_RECIPE_TEXT + 32], wanted[KEY_RECIPE_TEXT + 32];

	for (size_t i = 0; i < key_step_count; i++) {
		const struct key_step *step = &key_steps[i];

		if (!key_step_is_given(step, given))
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
	for (size_t i = 0; i < key_step_count; i++) {
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
