#include "cli/option_set.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "bits/sizing.h"
#include "cli/options.h"
#include "model/window.h"

static void *
field(struct options *o, const struct option_row *row)
{
	return (char *)o + row->where;
}

/* "-f, " or "" */
#define LETTER(row) (row)->letter == '\0' ? "" : \
	(char []){ '-', (row)->letter, ',', ' ', '\0' }

static int
bad_value(struct error *error, const struct option_row *row,
    const char *value, const char *allowed)
{
	return error_set(error, STATUS_USAGE, "%s--%s: '%s' is not allowed;"
	    " give %s", LETTER(row), row->name, value, allowed);
}

int
option_set_on(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	(void)value;
	(void)error;
	*(int *)field(o, row) = 1;
	return 0;
}

int
option_set_off(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	(void)value;
	(void)error;
	*(int *)field(o, row) = 0;
	return 0;
}

int
option_set_text(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	const char **text = field(o, row);

	if (*value == '\0')
		return bad_value(error, row, value, row->allowed);
	*text = value;
	return 0;
}

int
option_set_operand(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	if (*value == '\0')
		return bad_value(error, row, value, row->allowed);
	o->operands[o->operand_count++] = (char *)(uintptr_t)value;
	return 0;
}

int
option_set_list(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	struct text_list *list = field(o, row);

	if (*value == '\0')
		return bad_value(error, row, value, row->allowed);
	list->items = memory_or_die(realloc(list->items,
	    (list->count + 1) * sizeof *list->items));
	list->items[list->count++] = (char *)(uintptr_t)value;
	return 0;
}

int
option_set_mode(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	unsigned mode = 0;
	const char *p = value;

	for (; *p >= '0' && *p <= '7' && mode <= 0777; p++)
		mode = 8 * mode + (unsigned)(*p - '0');
	if (p == value || *p != '\0' || mode > 0777 || mode == 0)
		return bad_value(error, row, value, row->allowed);
	*(unsigned *)field(o, row) = mode;
	return 0;
}

int
option_set_count(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	uint64_t *count = field(o, row), n;

	if (number_count(value, &n) < 0 || n < row->least || n > row->most)
		return bad_value(error, row, value, row->allowed);
	*count = n;
	return 0;
}

int
option_set_small(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	unsigned *count = field(o, row);
	uint64_t n;

	if (number_count(value, &n) < 0 || n < row->least || n > row->most)
		return bad_value(error, row, value, row->allowed);
	*count = (unsigned)n;
	return 0;
}

int
option_set_size(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	uint64_t *bytes = field(o, row), n;

	if (number_size(value, &n) < 0 || n == 0) {
		return bad_value(error, row, value,
		    "a size in bytes, such as 512K, 32M or 2G");
	}
	*bytes = n;
	return 0;
}

int
option_set_seconds(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	uint64_t *milliseconds = field(o, row);

	if (number_seconds(value, milliseconds) < 0)
		return bad_value(error, row, value, row->allowed);
	return 0;
}

int
option_set_rate(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	double *rate = field(o, row), p;

	if (number_rate(value, &p) < 0 || p < SIZING_RATE_MIN ||
	    p > SIZING_RATE_MAX) {
		return bad_value(error, row, value, "a rate from 1e-12 to 0.5,"
		    " such as 1e-6, 0.1% or 1/1000");
	}
	*rate = p;
	return 0;
}

int
option_set_word(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	int *number = field(o, row), i = 2;

	if (value == NULL) {
		*number = 1;
		return 0;
	}
	for (const char *p = row->values; *p != '\0'; i++) {
		size_t n = strcspn(p, " ");

		if (strlen(value) == n && memcmp(p, value, n) == 0) {
			*number = i;
			return 0;
		}
		p += n + (p[n] == ' ');
	}
	return bad_value(error, row, value, row->allowed);
}

/* Only digits and e make a number of lines: 30m means minutes. */
int
option_set_window(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	o->window_text = value;
	return window_parse(field(o, row), value) == 0 ? 0 :
	    bad_value(error, row, value, row->allowed);
}

int
option_set_growth(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	int *growth = field(o, row);

	for (int i = GROWTH_GROW; i <= GROWTH_FAIL; i++) {
		if (strcmp(value, format_growth_name((enum growth)i)) == 0) {
			*growth = i;
			return 0;
		}
	}
	return bad_value(error, row, value, row->allowed);
}

int
option_set_hash(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	uint32_t *hash = field(o, row), kind = hash_kind_of(value);

	if (kind == 0)
		return bad_value(error, row, value, row->allowed);
	*hash = kind;
	return 0;
}

int
option_set_key(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	struct key_recipe *recipe = field(o, row);

	if (key_option(recipe, row->name, value) == 0)
		return 0;
	if (value != NULL && !key_option_fits(recipe, value))
		return error_set(error, STATUS_USAGE, "%s--%s: too long: the"
		    " key options have %d bytes in the filter", LETTER(row),
		    row->name, KEY_RECIPE_TEXT - 1);
	return bad_value(error, row, value, row->allowed);
}

int
option_set_byte(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	int *byte = field(o, row);

	if (strcmp(value, "\\t") == 0)
		*byte = '\t';
	else if (strcmp(value, "\\0") == 0)
		*byte = '\0';
	else if (strlen(value) == 1)
		*byte = (unsigned char)*value;
	else
		return bad_value(error, row, value, row->allowed);
	return 0;
}

int
option_set_command(struct options *o, const struct option_row *row,
    const char *value, struct error *error)
{
	if (option_set_text(o, row, value, error) < 0)
		return -1;
	o->run.atomic = 1;
	return 0;
}
