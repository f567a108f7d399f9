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

struct key
join_url(const struct key_recipe *recipe, struct key value, int doubled,
    size_t behind, struct key_scratch *scratch)
{
	const struct url_rules rules = { recipe->url_ignore, recipe->url_sort,
		recipe->url_switches };
	uint8_t *to = scratch->data + scratch->used + behind;

	if (doubled && memchr(value.data, '"', value.nbytes) != NULL) {
		uint8_t *copy = to + URL_ROOM(value.nbytes);

		value = (struct key){ copy, csv_undouble(value, copy) };
	}
	value = url_key(&rules, value, to);
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
	/* write it where it belongs: after separators and a quote */
	if (join->recipe->url) {
		struct key url = join_url(join->recipe, value, doubled,
		    join->separators + 1, scratch);

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
