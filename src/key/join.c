#include "key/join.h"

#include "key/record.h"
#include "key/url.h"

struct join
join_begin(const struct key_recipe *recipe, uint8_t separator,
    struct key_scratch *scratch)
{
	return (struct join){ .recipe = recipe, .scratch = scratch,
		.separator = separator, .skip = recipe->skip,
		.left = recipe->check > 0 ? recipe->check : UINT64_MAX };
}

/*
 * The key of a value that is a URL: a part of the value, or bytes where it is
 * to stand in the line's key, behind separators and a quote. Its data is NULL
 * if the value is not a URL. If `doubled`, quotes in the value are doubled.
 */
static struct key
url_of_value(const struct join *join, struct key value, int doubled)
{
	struct key_scratch *scratch = join->scratch;
	uint8_t *to = scratch->data + scratch->used + join->separators + 1;

	if (doubled && memchr(value.data, '"', value.nbytes) != NULL) {
		uint8_t *copy = to + URL_ROOM(value.nbytes);

		value = (struct key){ copy, csv_undouble(value, copy) };
	}
	value = url_key(&join->recipe->url_rules, value, to);
	scratch->urls += value.data != NULL;
	return value;
}

/* Is the next byte of a value, or the next separator, a part of the key? */
static int
take_key_byte(struct join *join)
{
	if (join->skip > 0) {
		join->skip--;
		return 0;
	}
	if (join->left == 0)
		return 0;
	join->left -= join->left != UINT64_MAX;
	return 1;
}

/*
 * Append the bytes of a value that belong to the key, in quotes; a quote in
 * them is doubled, or was already. Nothing is appended if none does.
 */
static void
append_some(struct join *join, struct key value, int doubled)
{
	struct key_scratch *scratch = join->scratch;
	int begun = 0;

	for (size_t i = 0; i < value.nbytes; i++) {
		uint8_t c = value.data[i];

		if (take_key_byte(join)) {
			if (!begun)
				scratch_append_byte(scratch, '"');
			begun = 1;
			if (c == '"')
				scratch_append_byte(scratch, '"');
			scratch_append_byte(scratch, c);
		}
		i += doubled && c == '"';
	}
	if (begun)
		scratch_append_byte(scratch, '"');
}

void
join_value(struct join *join, struct key value, int doubled)
{
	struct key_scratch *scratch = join->scratch;
	int whole = join->skip == 0 && join->left == UINT64_MAX;

	if (join->recipe->trim_fields)
		value = trim_blanks(value);
	join->separators += join->count++ > 0;
	if (value.nbytes == 0)
		return;
	if (join->recipe->url) {
		struct key url = url_of_value(join, value, doubled);

		if (url.data != NULL) {
			value = url;
			doubled = 0;
		}
	}
	for (; join->separators > 0; join->separators--) {
		if (whole || take_key_byte(join))
			scratch_append_byte(scratch, join->separator);
	}
	if (whole && (doubled ||
	    memchr(value.data, '"', value.nbytes) == NULL)) {
		scratch_append_byte(scratch, '"');
		scratch_append(scratch, value.data, value.nbytes);
		scratch_append_byte(scratch, '"');
		return;
	}
	append_some(join, value, doubled);
}
