/*
 * Bytes are looked at 64 at a time, as bits of a word, so up to LOOPS_PADDING
 * bytes after a line may be read.
 */
#include "key/fields.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits/scan.h"
#include "key/columns.h"
#include "key/join.h"
#include "key/record.h"

/* Merged into one function, each would save the registers that all need. */
#define NOINLINE static __attribute__((noinline))

static int
compare_ranges(const void *a, const void *b)
{
	const struct key_range *x = a, *y = b;

	return x->first < y->first ? -1 : x->first > y->first;
}

/* Sort, and join those that touch: 2,1 and 1-2 are one recipe. */
static void
normalize(struct key_recipe *recipe)
{
	struct key_range *ranges = recipe->ranges;
	unsigned n = 0;

	qsort(ranges, recipe->range_count, sizeof *ranges, compare_ranges);
	for (unsigned i = 0; i < recipe->range_count; i++) {
		if (n > 0 && (ranges[n - 1].last == UINT32_MAX ||
		    ranges[i].first <= ranges[n - 1].last + 1)) {
			if (ranges[i].last > ranges[n - 1].last)
				ranges[n - 1].last = ranges[i].last;
		} else {
			ranges[n++] = ranges[i];
		}
	}
	recipe->range_count = n;
}

int
key_ranges_parse(struct key_recipe *recipe, const char *text)
{
	struct key_recipe parsed = *recipe;

	parsed.range_count = 0;
	for (;;) {
		struct key_range range = { 1, UINT32_MAX };
		int open = *text == '-';

		if (!open) {
			if (columns_number(&text, &range.first) < 0)
				return -1;
			range.last = range.first;
		}
		if (*text == '-') {
			text++;
			range.last = UINT32_MAX;
			if ((open || (*text >= '0' && *text <= '9')) &&
			    columns_number(&text, &range.last) < 0)
				return -1;
		}
		if (range.last < range.first)
			return -1;
		if (parsed.range_count == KEY_RANGES_MAX)
			normalize(&parsed);
		if (parsed.range_count == KEY_RANGES_MAX)
			return -1;
		parsed.ranges[parsed.range_count++] = range;
		if (*text == '\0')
			break;
		if (*text++ != ',')
			return -1;
	}
	normalize(&parsed);
	*recipe = parsed;
	return 0;
}

void
key_ranges_format(const struct key_recipe *recipe, char *text, size_t nbytes)
{
	size_t n = 0;

	text[0] = '\0';
	for (unsigned i = 0; i < recipe->range_count; i++) {
		const struct key_range *range = &recipe->ranges[i];

		n += (size_t)snprintf(text + n, nbytes - n, "%s%" PRIu32,
		    i == 0 ? "" : ",", range->first);
		if (range->last == UINT32_MAX)
			n += (size_t)snprintf(text + n, nbytes - n, "-");
		else if (range->last != range->first)
			n += (size_t)snprintf(text + n, nbytes - n,
			    "-%" PRIu32, range->last);
	}
}

int
key_single_field(const struct key_recipe *recipe)
{
	return recipe->range_count == 1 &&
	    recipe->ranges[0].first == recipe->ranges[0].last;
}

int
key_joins_values(const struct key_recipe *recipe)
{
	return recipe->json_count > 1 || recipe->column_count > 1 ||
	    (recipe->csv && recipe->range_count > 0 &&
	    !key_single_field(recipe));
}

/*
 * Fields as in awk, found in words of 64 bits: bit i of `bits` is set if byte
 * base[i] is in a field that was not handed out yet.
 */
struct words {
	const uint8_t *base, *end;
	uint64_t bits;
	uint64_t (*blanks)(const uint8_t *p);
};

static inline void
words_load(struct words *w)
{
	w->bits = ~w->blanks(w->base);
	if (w->end - w->base < 64)
		w->bits &= ((uint64_t)1 << (w->end - w->base)) - 1;
}

static inline struct words
words_of(const uint8_t *data, size_t nbytes)
{
	struct words w = { data, data + nbytes, 0, scan()->blanks };

	words_load(&w);
	return w;
}

/* Find the next field; returns 0 after the last. */
static inline int
words_next(struct words *w, struct key *field)
{
	uint64_t below, rest;

	while (w->bits == 0) {
		if (w->end - w->base <= 64)
			return 0;
		w->base += 64;
		words_load(w);
	}
	field->data = w->base + __builtin_ctzll(w->bits);
	/* bits | below: all ones up to the first blank after the field */
	below = (w->bits & -w->bits) - 1;
	rest = ~(w->bits | below);
	while (rest == 0 && w->end - w->base > 64) {
		w->base += 64;
		words_load(w);
		rest = ~w->bits;
	}
	if (rest == 0) {
		field->nbytes = (size_t)(w->base + 64 - field->data);
		w->bits = 0;
	} else {
		unsigned bit = (unsigned)__builtin_ctzll(rest);
		field->nbytes = (size_t)(w->base + bit - field->data);
		w->bits &= ~(((uint64_t)1 << bit) - 1);
	}
	return 1;
}

/* Note that the line has none of the fields; its key is empty. */
static struct key
no_field(struct key line, struct key_scratch *scratch)
{
	scratch_note(scratch, KEY_NO_FIELD);
	return (struct key){ line.data, 0 };
}

/* Field `number`, which is 1 for the first, split as in awk. */
NOINLINE struct key
take_word(uint32_t number, struct key line, struct key_scratch *scratch)
{
	struct words words = words_of(line.data, line.nbytes);
	struct key field;

	do {
		if (!words_next(&words, &field))
			return no_field(line, scratch);
		number--;
	} while (number > 0);
	return field;
}

/* Separators at the end are removed, since empty fields there count as none. */
static struct key
strip_separators(struct key key, uint8_t separator)
{
	while (key.nbytes > 0 && key.data[key.nbytes - 1] == separator)
		key.nbytes--;
	return key;
}

static struct key
end_list(struct key_scratch *scratch, uint8_t separator)
{
	struct key key = strip_separators(scratch_key(scratch), separator);

	scratch->used = scratch->start + key.nbytes;
	return key;
}

/* One range of fields between single bytes: a piece of the line. */
NOINLINE struct key
take_piece(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	const struct key_range *range = &recipe->ranges[0];
	uint8_t separator = (uint8_t)recipe->separator;
	struct key piece = scan()->fields(line.data, line.data + line.nbytes,
	    separator, range->first, range->last);

	if (piece.data == NULL)
		return no_field(line, scratch);
	return strip_separators(piece, separator);
}

/* The key of several ranges: a piece for each, joined by a separator. */
NOINLINE struct key
take_pieces(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	const uint8_t *p = line.data, *end = line.data + line.nbytes;
	uint8_t separator = (uint8_t)recipe->separator;
	const struct scan *scanner = scan();
	uint32_t before = 0; /* number of fields that end before p */

	for (unsigned i = 0; i < recipe->range_count; i++) {
		struct key_range range = recipe->ranges[i];
		struct key piece = scanner->fields(p, end, separator,
		    range.first - before, range.last - before);

		if (piece.data == NULL && i == 0)
			return no_field(line, scratch);
		if (piece.data == NULL)
			break;
		if (i > 0)
			scratch_append_byte(scratch, separator);
		scratch_append(scratch, piece.data, piece.nbytes);
		p = piece.data + piece.nbytes + 1;
		if (p > end)
			break;
		before = range.last;
	}
	return end_list(scratch, separator);
}

/* Several fields without CSV, one by one: split as in awk, or trimmed. */
NOINLINE struct key
take_each(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	uint8_t separator = recipe->separator < 0 ? ' ' :
	    (uint8_t)recipe->separator;
	const uint8_t *p = line.data, *end = p + line.nbytes;
	uint32_t number = 1;
	unsigned range = 0;
	struct words words = words_of(p, line.nbytes);
	struct key field;

	for (; range < recipe->range_count; number++) {
		if (recipe->separator < 0) {
			if (!words_next(&words, &field))
				break;
		} else {
			if (p > end)
				break;
			field = scan()->fields(p, end, separator, 1, 1);
			p = field.data + field.nbytes + 1;
		}
		if (number < recipe->ranges[range].first)
			continue;
		if (recipe->trim_fields)
			field = trim_blanks(field);
		if (number > recipe->ranges[0].first)
			scratch_append_byte(scratch, separator);
		scratch_append(scratch, field.data, field.nbytes);
		range += number == recipe->ranges[range].last;
	}
	if (number <= recipe->ranges[0].first)
		return no_field(line, scratch);
	return end_list(scratch, separator);
}

static inline struct csv_fields
fields_of(const struct key_recipe *recipe, struct key line)
{
	const struct csv_format format = { (uint8_t)recipe->separator, 0,
		recipe->csv_backslash };

	return csv_fields_begin(&format, line.data, line.data + line.nbytes);
}

/* Is the value of a quoted field the bytes between its quotes? */
static inline int
is_literal(const struct csv_fields *fields, struct key field)
{
	/* memchr takes no NULL, which an empty field may have */
	if (field.nbytes == 0)
		return 1;
	return memchr(field.data, '"', field.nbytes) == NULL &&
	    !(fields->backslash &&
	    memchr(field.data, '\\', field.nbytes) != NULL);
}

/*
 * Add a field to a key. What backslashes stand for is decoded first, behind all
 * that may be written before it is joined.
 */
static inline void
join_field(struct join *join, const struct csv_fields *fields,
    struct key field, int quoted)
{
	struct key_scratch *scratch = join->scratch;
	uint8_t *to;

	if (fields->backslash && quoted && !is_literal(fields, field)) {
		to = scratch->data + scratch->capacity - LOOPS_PADDING -
		    field.nbytes;
		field = (struct key){ to, csv_contents(fields, field, to) };
		quoted = 0;
	}
	join_value(join, field, quoted);
}

/* The key is the contents of the CSV field `number`. */
NOINLINE struct key
take_csv_field(const struct key_recipe *recipe, uint32_t number,
    struct key line, struct key_scratch *scratch)
{
	struct csv_fields fields = fields_of(recipe, line);
	struct key field = { NULL, 0 };

	if (!fields.backslash)
		field = scan()->csv_field(fields.next, fields.end,
		    fields.separator, number);

	if (field.data != NULL) {
		/*
		 * If text follows the closing quote, the quotes are data
		 * (record.h).
		 */
		if (field.nbytes < 2 || field.data[0] != '"' ||
		    field.data[field.nbytes - 1] != '"')
			return field;
		field = (struct key){ field.data + 1, field.nbytes - 2 };
	} else {
		for (; fields.next != NULL && number > 0; number--)
			field = csv_fields_next(&fields);
		if (number > 0)
			return no_field(line, scratch);
		if (!fields.quoted)
			return field;
	}
	if (is_literal(&fields, field))
		return field;
	scratch->used += csv_contents(&fields, field, scratch->data +
	    scratch->used);
	return scratch_key(scratch);
}

/* The key of several CSV fields, which are joined as values in quotes. */
NOINLINE struct key
take_csv_list(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	const struct key_range *range = recipe->ranges;
	const struct key_range *ranges_end = range + recipe->range_count;
	struct csv_fields fields = fields_of(recipe, line);
	struct join join = join_begin(recipe, fields.separator, scratch);
	uint32_t number = 1;

	for (; fields.next != NULL && range < ranges_end; number++) {
		struct key field = csv_fields_next(&fields);

		if (number < range->first)
			continue;
		join_field(&join, &fields, field, fields.quoted);
		range += number == range->last;
	}
	if (number <= recipe->ranges[0].first)
		return no_field(line, scratch);
	return scratch_key(scratch);
}

/* The fields of columns, in the order of the list. */
NOINLINE struct key
take_columns(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	const struct columns *columns = scratch->columns;
	struct csv_fields fields = fields_of(recipe, line);
	struct key values[COLUMNS_MAX];
	int quoted[COLUMNS_MAX];
	struct join join = join_begin(recipe, fields.separator, scratch);
	unsigned next = 0;

	for (uint32_t number = 1; next < columns->count; number++) {
		struct key value = { fields.end, 0 };

		if (fields.next != NULL)
			value = csv_fields_next(&fields);
		else if (next == 0)
			return no_field(line, scratch);
		else
			/* no further field is wanted */
			number = columns->fields[next].first;
		for (; next < columns->count &&
		    columns->fields[next].first == number; next++) {
			values[columns->places[next]] = value;
			quoted[columns->places[next]] = fields.quoted;
		}
	}
	for (unsigned i = 0; i < columns->count; i++)
		join_field(&join, &fields, values[i], quoted[i]);
	return scratch_key(scratch);
}

struct key
key_take_fields(const struct key_recipe *recipe, struct key line,
    struct key_scratch *scratch)
{
	const struct columns *columns = scratch->columns;

	if (recipe->column_count > 0 && columns == NULL)
		return line;
	if (recipe->column_count == 1)
		return take_csv_field(recipe, columns->fields[0].first, line,
		    scratch);
	if (recipe->column_count > 1)
		return take_columns(recipe, line, scratch);
	if (recipe->csv && key_single_field(recipe))
		return take_csv_field(recipe, recipe->ranges[0].first, line,
		    scratch);
	if (recipe->csv)
		return take_csv_list(recipe, line, scratch);
	if (recipe->separator < 0 && key_single_field(recipe))
		return take_word(recipe->ranges[0].first, line, scratch);
	if (recipe->separator < 0 || (recipe->trim_fields &&
	    !key_single_field(recipe)))
		return take_each(recipe, line, scratch);
	if (recipe->range_count == 1)
		return take_piece(recipe, line, scratch);
	return take_pieces(recipe, line, scratch);
}
