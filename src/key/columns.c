#include "key/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "key/csv.h"
#include "key/join.h"

static const struct csv_format list_format = { ',', '\0' };

/* An item of a list; a name has at most as many bytes as a recipe's text. */
struct item {
	uint32_t number; /* 0: it is a name */
	uint8_t name[KEY_RECIPE_TEXT];
	size_t nbytes;
};

/* Without quotes, would it be taken for a number or a range? */
static int
is_numeric(const uint8_t *p, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++) {
		if ((p[i] < '0' || p[i] > '9') && p[i] != '-')
			return 0;
	}
	return 1;
}

/* -1 if it isn't the number of a field, in digits. */
static int
read_number(const uint8_t *p, size_t nbytes, uint32_t *number)
{
	uint64_t value = 0;

	for (size_t i = 0; i < nbytes; i++) {
		if (p[i] < '0' || p[i] > '9')
			return -1;
		value = value * 10 + (uint64_t)(p[i] - '0');
		if (value > KEY_FIELD_MAX)
			return -1;
	}
	*number = (uint32_t)value;
	return value > 0 ? 0 : -1;
}

/* Read the list item at *p; *p becomes the next item, or NULL. */
static int
read_item(const uint8_t **p, const uint8_t *end, struct item *item)
{
	struct key field;
	int quoted;

	field.nbytes = csv_field(&list_format, *p, end, &field.data, &quoted,
	    p);
	item->number = 0;
	/* A quote that is never closed. */
	if (quoted && field.data + field.nbytes == end)
		return -1;
	if (!quoted && is_numeric(field.data, field.nbytes))
		return read_number(field.data, field.nbytes, &item->number);
	item->nbytes = field.nbytes;
	if (quoted)
		item->nbytes = join_undouble(field, item->name);
	else
		memcpy(item->name, field.data, field.nbytes);
	return 0;
}

/* Write it in the normal spelling: in quotes only if they are needed. */
static size_t
write_item(char *to, const struct item *item)
{
	size_t n = 0;

	if (item->number > 0)
		return (size_t)sprintf(to, "%" PRIu32, item->number);
	if (!is_numeric(item->name, item->nbytes) && item->name[0] != '"' &&
	    memchr(item->name, ',', item->nbytes) == NULL) {
		memcpy(to, item->name, item->nbytes);
		return item->nbytes;
	}
	to[n++] = '"';
	for (size_t i = 0; i < item->nbytes; i++) {
		if (item->name[i] == '"')
			to[n++] = '"';
		to[n++] = (char)item->name[i];
	}
	to[n++] = '"';
	return n;
}

int
columns_parse(const char *list, char *to)
{
	const uint8_t *p = (const uint8_t *)list, *end = p + strlen(list);
	char text[3 * KEY_RECIPE_TEXT];
	size_t n = 0, starts[COLUMNS_MAX + 1];
	int count = 0;

	if (end - p >= KEY_RECIPE_TEXT)
		return -1;
	for (; p != NULL; count++) {
		struct item item;

		if (count == COLUMNS_MAX || read_item(&p, end, &item) < 0)
			return -1;
		if (count > 0)
			text[n++] = ',';
		starts[count] = n;
		n += write_item(text + n, &item);
		for (int i = 0; i < count; i++) {
			size_t nbytes = starts[i + 1] - 1 - starts[i];

			if (n - starts[count] == nbytes && memcmp(text +
			    starts[i], text + starts[count], nbytes) == 0)
				return -1;
		}
	}
	if (n >= KEY_RECIPE_TEXT)
		return -1;
	memcpy(to, text, n);
	to[n] = '\0';
	return count;
}

/* The number of the field with this name; 0 and `error` if not exactly one. */
static uint32_t
find_name(const struct csv_format *format, const uint8_t *header,
    const uint8_t *end, const struct item *item, struct error *error)
{
	const uint8_t *p = csv_begin(format, header, end);
	uint8_t *name = memory_or_die(malloc((size_t)(end - header) + 1));
	uint32_t found = 0;
	unsigned times = 0;

	for (uint32_t number = 1; p != NULL; number++) {
		struct key field;
		int quoted;

		field.nbytes = csv_field(format, p, end, &field.data, &quoted,
		    &p);
		if (quoted) {
			field.nbytes = join_undouble(field, name);
			field.data = name;
		}
		if (field.nbytes != item->nbytes || memcmp(field.data,
		    item->name, field.nbytes) != 0)
			continue;
		found = number;
		times++;
	}
	free(name);
	if (times == 1)
		return found;
	error_set(error, STATUS_FAILED, times == 0 ?
	    "its header has no column '%.*s'" :
	    "its header has more than one column '%.*s': give its number",
	    (int)item->nbytes, (const char *)item->name);
	return 0;
}

/* Add the list's next field, and keep the fields sorted. */
static void
add_field(struct columns *columns, uint32_t field)
{
	unsigned i = columns->count++, place = i;

	for (; i > 0 && columns->fields[i - 1].first > field; i--) {
		columns->fields[i] = columns->fields[i - 1];
		columns->places[i] = columns->places[i - 1];
	}
	columns->in_order &= i == place && (i == 0 ||
	    columns->fields[i - 1].first < field);
	columns->fields[i] = (struct key_range){ field, field };
	columns->places[i] = place;
}

int
columns_find(const struct key_recipe *r, const uint8_t *header,
    size_t nbytes, struct columns *columns, struct error *error)
{
	const struct csv_format format = { (uint8_t)r->separator,
		r->zero_terminated ? '\0' : '\n' };
	const uint8_t *list = (const uint8_t *)r->columns;
	const uint8_t *list_end = list + strlen(r->columns);
	const uint8_t *end = header + nbytes;

	end -= end > header && end[-1] == format.terminator;
	end -= end > header && end[-1] == '\r';
	columns->count = 0;
	columns->in_order = 1;
	for (unsigned i = 0; i < r->column_count; i++) {
		struct item item = { 0 };

		read_item(&list, list_end, &item);
		if (item.number == 0)
			item.number = find_name(&format, header, end, &item,
			    error);
		if (item.number == 0)
			return -1;
		add_field(columns, item.number);
	}
	return 0;
}
