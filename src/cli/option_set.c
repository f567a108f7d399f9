#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "bits/sizing.h"
#include "cli/option_table.h"
#include "cli/options.h"
#include "cli/text.h"
#include "model/window.h"

/* In seconds, as number_seconds has it. */
#define DURATION_MAX 1000000000

static void *
field(struct options *o, const struct option_row *row)
{
	return (char *)o + row->where;
}

int
option_set_value(struct options *o, const struct option_row *row,
    const char *value)
{
	(void)value;
	*(int *)field(o, row) = (int)row->least;
	return 0;
}

int
option_set_text(struct options *o, const struct option_row *row,
    const char *value)
{
	*(const char **)field(o, row) = value;
	if (*value == '\0')
		return -1;
	return 0;
}

int
option_set_list(struct options *o, const struct option_row *row,
    const char *value)
{
	text_list_add(field(o, row), value);
	if (*value == '\0')
		return -1;
	return 0;
}

int
option_set_mode(struct options *o, const struct option_row *row,
    const char *value)
{
	unsigned *mode = field(o, row);
	const char *p = value;

	for (*mode = 0; *p >= '0' && *p <= '7' && *mode <= 0777; p++)
		*mode = 8 * *mode + (unsigned)(*p - '0');
	if (*p != '\0' || *mode > 0777 || *mode == 0)
		return -1;
	return 0;
}

int
option_set_count(struct options *o, const struct option_row *row,
    const char *value)
{
	uint64_t *n = field(o, row);

	if (number_count(value, n) < 0)
		return -1;
	if (*n < row->least || *n > row->most)
		return -1;
	return 0;
}

int
option_set_small(struct options *o, const struct option_row *row,
    const char *value)
{
	uint64_t n;

	if (number_count(value, &n) < 0 || n < row->least || n > row->most)
		return -1;
	*(unsigned *)field(o, row) = (unsigned)n;
	return 0;
}

int
option_set_size(struct options *o, const struct option_row *row,
    const char *value)
{
	uint64_t *nbytes = field(o, row);

	if (number_size(value, nbytes) < 0 || *nbytes == 0)
		return -1;
	return 0;
}

int
option_set_seconds(struct options *o, const struct option_row *row,
    const char *value)
{
	return number_seconds(value, field(o, row));
}

int
option_set_duration(struct options *o, const struct option_row *row,
    const char *value)
{
	uint64_t *milliseconds = field(o, row), seconds;

	if (number_duration(value, &seconds) == 0) {
		if (seconds > DURATION_MAX)
			return -1;
		*milliseconds = 1000 * seconds;
		return 0;
	}
	/* Less than a millisecond is refused, since it would be rounded up. */
	if (number_seconds(value, milliseconds) < 0 ||
	    strtod(value, NULL) < 0.001)
		return -1;
	return 0;
}

int
option_set_rate(struct options *o, const struct option_row *row,
    const char *value)
{
	double *rate = field(o, row);

	if (number_rate(value, rate) < 0)
		return -1;
	if (*rate < SIZING_RATE_MIN || *rate > SIZING_RATE_MAX)
		return -1;
	return 0;
}

int
option_set_word(struct options *o, const struct option_row *row,
    const char *value)
{
	int *number = field(o, row);
	int position;

	if (value == NULL) {
		*number = 1;
		return 0;
	}
	position = text_has_word(row->values, value);
	if (position == 0)
		return -1;
	*number = (int)row->least + position - 1;
	return 0;
}

/* Only digits and e make a number of lines: 30m means minutes. */
int
option_set_window(struct options *o, const struct option_row *row,
    const char *value)
{
	o->window_text = value;
	return window_parse(field(o, row), value);
}

int
option_set_key(struct options *o, const struct option_row *row,
    const char *value)
{
	return key_option(field(o, row), row->name, value);
}

int
option_set_byte(struct options *o, const struct option_row *row,
    const char *value)
{
	int *byte = field(o, row);

	if (strcmp(value, "\\t") == 0)
		*byte = '\t';
	else if (strcmp(value, "\\0") == 0)
		*byte = '\0';
	else if (strlen(value) == 1)
		*byte = (unsigned char)*value;
	else
		return -1;
	return 0;
}
