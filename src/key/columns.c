#include "key/columns.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "key/record.h"

int
columns_number(const char **text, uint32_t *field)
{
	const char *at = *text;
	uint64_t value;

	if (number_digits(&at, NULL, KEY_FIELD_MAX, &value) < 0 || value == 0)
		return -1;
	*field = (uint32_t)value;
	*text = at;
	return 0;
}

/* An item of a list. */
struct item {
	uint32_t number; /* 0: it is a name */
	struct key name;
	uint8_t room[KEY_RECIPE_TEXT]; /* room for a name in quotes */
};

/* Without quotes, would it be taken for a number or a range? */
static int
is_numeric(struct key item)
{
	size_t i = 0;

	while (i < item.nbytes && ((item.data[i] >= '0' &&
	    item.data[i] <= '9') || item.data[i] == '-'))
		i++;
	return i == item.nbytes;
}

static struct csv_fields
list_items(const char *list)
{
	const uint8_t *p = (const uint8_t *)list;

	return (struct csv_fields){ .separator = ',', .next = p,
		.end = p + strlen(list) };
}

/* Read the next item of a list. */
static int
read_item(struct csv_fields *list, struct item *item)
{
	struct key field = csv_fields_next(list);
	const char *digits = (const char *)field.data;

	*item = (struct item){ .name = field };
	if (!list->quoted)
		return is_numeric(field) &&
		    (columns_number(&digits, &item->number) < 0 ||
		    digits != (const char *)field.data + field.nbytes) ? -1 : 0;
	item->name.data = item->room;
	item->name.nbytes = csv_undouble(field, item->room);
	/* Without a closing quote, the name extends to the end of the list. */
	return field.data + field.nbytes == list->end ? -1 : 0;
}

/* Write it in the normal spelling: in quotes only if they are needed. */
static size_t
write_item(char *to, const struct item *item)
{
	const uint8_t *name = item->name.data;
	size_t nbytes = item->name.nbytes, n = 0;

	if (item->number > 0)
		return (size_t)sprintf(to, "%" PRIu32, item->number);
	if (!is_numeric(item->name) && name[0] != '"' &&
	    memchr(name, ',', nbytes) == NULL) {
		memcpy(to, name, nbytes);
		return nbytes;
	}
	to[n++] = '"';
	for (size_t i = 0; i < nbytes; i++) {
		if (name[i] == '"')
			to[n++] = '"';
		to[n++] = (char)name[i];
	}
	to[n++] = '"';
	return n;
}

int
columns_parse(const char *list, char *to)
{
	struct csv_fields items = list_items(list);
	char text[3 * KEY_RECIPE_TEXT];
	size_t n = 0, starts[COLUMNS_MAX + 1];
	int count = 0;

	if (items.end - items.next >= KEY_RECIPE_TEXT)
		return -1;
	for (; items.next != NULL; count++) {
		struct item item;

		if (count == COLUMNS_MAX || read_item(&items, &item) < 0)
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

/* The next name of a header, quoted or not; room has place for it. */
static struct key
next_name(struct csv_fields *names, uint8_t *room)
{
	struct key name = csv_fields_next(names);

	if (!names->quoted)
		return name;
	return (struct key){ room, csv_contents(names, name, room) };
}

static int
same_names(struct key a, struct key b)
{
	return a.nbytes == b.nbytes && memcmp(a.data, b.data, a.nbytes) == 0;
}

/* A header in a message takes at most so many bytes. */
#define SHOWN_BYTES 404

/* Begin to read the names, without byte order mark and line end. */
static struct csv_fields
names_of(const struct key_recipe *recipe, struct key header)
{
	const struct csv_format format = { (uint8_t)recipe->separator,
		recipe->zero_terminated ? '\0' : '\n', recipe->csv_backslash };
	const uint8_t *start = header.data, *end = start + header.nbytes;

	end -= end > start && end[-1] == format.terminator;
	end -= end > start && end[-1] == '\r';
	return csv_fields_begin(&format, start, end);
}

/* Return the part of a header whose names were not read yet. */
static struct key
rest_of(const struct csv_fields *names)
{
	return (struct key){ names->next, (size_t)(names->end - names->next) };
}

/* Fill `error`: there is no column with this name. */
static void
refuse_column(struct key name, struct key header, int is_one,
    struct error *error)
{
	static const struct { char byte; const char *name, *option; } others[] =
	{
		{ ';', "semicolons", ";" }, { '\t', "tabs", "\\t" },
		{ '|', "bars", "|" }, { ',', "commas", "," },
	};
	char shown[SHOWN_BYTES], wanted[SHOWN_BYTES];

	error_bytes(shown, sizeof shown, header.data, header.nbytes);
	error_bytes(wanted, sizeof wanted, name.data, name.nbytes);

	for (size_t i = 0; is_one && i < sizeof others / sizeof *others; i++) {
		if (memchr(header.data, others[i].byte, header.nbytes) == NULL)
			continue;
		error_set(error, STATUS_FAILED, "its header has no column"
		    " '%s', but one with %s: '%s'; try -t '%s'", wanted,
		    others[i].name, shown, others[i].option);
		return;
	}
	error_set(error, STATUS_FAILED, "its header has no column '%s'; its"
	    " columns are: %s", wanted, shown);
}

/* The number of the field with this name; 0 and `error` if not exactly one. */
static uint32_t
find_name(struct csv_fields names, struct key name, struct error *error)
{
	struct key header = rest_of(&names);
	uint8_t *room = memory_or_die(malloc(header.nbytes + 1));
	uint32_t found = 0, number;
	unsigned times = 0;

	for (number = 1; names.next != NULL; number++) {
		if (same_names(next_name(&names, room), name)) {
			found = number;
			times++;
		}
	}
	free(room);
	if (times == 1)
		return found;
	if (times == 0)
		refuse_column(name, header, number == 2, error);
	else
		error_set(error, STATUS_FAILED, "its header has more than one"
		    " column '%.*s': give its number", (int)name.nbytes,
		    (const char *)name.data);
	return 0;
}

int
columns_find(const struct key_recipe *recipe, const uint8_t *header,
    size_t nbytes, struct columns *columns, struct error *error)
{
	struct csv_fields list = list_items(recipe->columns);
	struct csv_fields names = names_of(recipe, (struct key){ header,
	    nbytes });
	struct key_range *fields = columns->fields;

	columns->count = 0;
	for (unsigned place = 0; place < recipe->column_count; place++) {
		unsigned i = columns->count++;
		struct item item;

		read_item(&list, &item);
		if (item.number == 0)
			item.number = find_name(names, item.name, error);
		if (item.number == 0)
			return -1;
		for (; i > 0 && fields[i - 1].first > item.number; i--) {
			fields[i] = fields[i - 1];
			columns->places[i] = columns->places[i - 1];
		}
		fields[i] = (struct key_range){ item.number, item.number };
		columns->places[i] = place;
	}
	return 0;
}

/* Are the next fields of two walks the same text? */
static int
same_next(struct csv_fields *first, struct csv_fields *second)
{
	struct key a = csv_fields_next(first), b = csv_fields_next(second);
	uint8_t *room;
	int same;

	if (!first->quoted && !second->quoted)
		return same_names(a, b);
	room = memory_or_die(malloc(a.nbytes + b.nbytes + 1));
	if (first->quoted)
		a = (struct key){ room, csv_contents(first, a, room) };
	if (second->quoted)
		b = (struct key){ room + a.nbytes,
			csv_contents(second, b, room + a.nbytes) };
	same = same_names(a, b);
	free(room);
	return same;
}

static int
same_lists(struct csv_fields first, struct csv_fields second)
{
	int same = 1;

	while (same && first.next != NULL && second.next != NULL)
		same = same_next(&first, &second);
	return same && first.next == NULL && second.next == NULL;
}

int
columns_first_byte(const struct key_recipe *recipe, struct key header)
{
	struct csv_fields names = names_of(recipe, header);
	const uint8_t *p = names.next;

	p += p < names.end && *p == '"';
	if (p == names.end || *p == (uint8_t)recipe->separator || *p == '"' ||
	    *p == '\\')
		return -1;
	return *p;
}

int
columns_are_again(const struct key_recipe *recipe, struct key record,
    struct key header)
{
	struct csv_fields first = names_of(recipe, record);
	struct csv_fields second = names_of(recipe, header), more = second;

	csv_fields_next(&more);
	return more.next != NULL && same_lists(first, second);
}

int
columns_compare(const struct key_recipe *recipe, struct key header,
    struct key other, const char *file, struct error *error)
{
	struct csv_fields first = names_of(recipe, header);
	struct csv_fields second = names_of(recipe, other);
	struct key a = rest_of(&first), b = rest_of(&second);
	char ours[SHOWN_BYTES], theirs[SHOWN_BYTES];

	if (same_lists(first, second))
		return 0;
	return error_set(error, STATUS_FAILED, "its columns are '%s', but"
	    " those of %s are '%s'",
	    error_bytes(ours, sizeof ours, a.data, a.nbytes), file,
	    error_bytes(theirs, sizeof theirs, b.data, b.nbytes));
}
