#include "key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"
#include "num.h"

static int
parse_field(const char **text, uint32_t *field)
{
	const char *p = *text;
	uint64_t value = 0;

	for (; *p >= '0' && *p <= '9'; p++) {
		value = value * 10 + (uint64_t)(*p - '0');
		if (value > KEY_FIELD_MAX)
			return -1;
	}
	if (p == *text || value == 0)
		return -1;
	*field = (uint32_t)value;
	*text = p;
	return 0;
}

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
			if (parse_field(&text, &range.first) < 0)
				return -1;
			range.last = range.first;
		}
		if (*text == '-') {
			text++;
			range.last = UINT32_MAX;
			if ((open || (*text >= '0' && *text <= '9')) &&
			    parse_field(&text, &range.last) < 0)
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

static size_t
format_ranges(const struct key_recipe *recipe, char *text, size_t nbytes)
{
	size_t n = 0;

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
	return n;
}

void
key_recipe_format(const struct key_recipe *recipe, char text[KEY_RECIPE_TEXT])
{
	const size_t size = KEY_RECIPE_TEXT;
	size_t n = 0;

	/* 32 ranges of 22 bytes and the rest stay below the limit. */
	text[0] = '\0';
	if (recipe->zero_terminated)
		n += (size_t)snprintf(text + n, size - n, "zero-terminated\n");
	if (recipe->strip_cr)
		n += (size_t)snprintf(text + n, size - n, "strip-cr\n");
	if (recipe->trim)
		n += (size_t)snprintf(text + n, size - n, "trim\n");
	if (recipe->range_count > 0) {
		n += (size_t)snprintf(text + n, size - n, "key=");
		n += format_ranges(recipe, text + n, size - n);
		n += (size_t)snprintf(text + n, size - n, "\n");
	}
	if (recipe->separator >= 0)
		n += (size_t)snprintf(text + n, size - n,
		    "field-separator=%02x\n", (unsigned)recipe->separator);
	if (recipe->csv)
		n += (size_t)snprintf(text + n, size - n, "csv\n");
	if (recipe->skip > 0)
		n += (size_t)snprintf(text + n, size - n,
		    "skip-chars=%" PRIu64 "\n", recipe->skip);
	if (recipe->check > 0)
		n += (size_t)snprintf(text + n, size - n,
		    "check-chars=%" PRIu64 "\n", recipe->check);
	if (recipe->ignore_case)
		snprintf(text + n, size - n, "ignore-case\n");
}

/* One line of a recipe. */
static int
parse_line(struct key_recipe *recipe, char *line)
{
	char *value = strchr(line, '=');

	if (value == NULL) {
		int *flag = strcmp(line, "zero-terminated") == 0 ?
		    &recipe->zero_terminated :
		    strcmp(line, "strip-cr") == 0 ? &recipe->strip_cr :
		    strcmp(line, "trim") == 0 ? &recipe->trim :
		    strcmp(line, "csv") == 0 ? &recipe->csv :
		    strcmp(line, "ignore-case") == 0 ? &recipe->ignore_case :
		    NULL;
		if (flag == NULL)
			return -1;
		*flag = 1;
		return 0;
	}
	*value++ = '\0';
	if (strcmp(line, "key") == 0)
		return key_ranges_parse(recipe, value);
	if (strcmp(line, "skip-chars") == 0)
		return num_count(value, &recipe->skip);
	if (strcmp(line, "check-chars") == 0)
		return num_count(value, &recipe->check);
	if (strcmp(line, "field-separator") == 0 && strlen(value) == 2) {
		recipe->separator = (int)strtol(value, NULL, 16);
		return 0;
	}
	return -1;
}

int
key_recipe_parse(struct key_recipe *recipe, const char *text)
{
	struct key_recipe parsed = KEY_RECIPE_NONE;
	char copy[KEY_RECIPE_TEXT], again[KEY_RECIPE_TEXT], *line = copy;
	struct error ignored;

	if (strlen(text) >= sizeof copy)
		return -1;
	strcpy(copy, text);
	while (*line != '\0') {
		char *end = strchr(line, '\n');

		if (end == NULL)
			return -1;
		*end = '\0';
		if (parse_line(&parsed, line) < 0)
			return -1;
		line = end + 1;
	}
	/*
	 * One spelling only, so that texts can be compared; and nothing that a
	 * new filter's recipe can't be.
	 */
	if (key_recipe_complete(&parsed, &ignored) < 0)
		return -1;
	key_recipe_format(&parsed, again);
	if (strcmp(again, text) != 0)
		return -1;
	*recipe = parsed;
	return 0;
}

static int
contradiction(struct error *error, const char *stored, const char *given)
{
	return error_set(error, STATUS_USAGE, "made with %s, which contradicts"
	    " %s", stored, given);
}

static int
inherit_flag(int *given, int stored, const char *option, struct error *error)
{
	char text[64];

	if (*given && !stored) {
		snprintf(text, sizeof text, "no %s", option);
		return contradiction(error, text, option);
	}
	*given = stored;
	return 0;
}

static int
inherit_number(uint64_t *given, uint64_t unset, uint64_t stored,
    const char *option, struct error *error)
{
	char had[64], wanted[64];

	if (*given != unset && *given != stored) {
		snprintf(had, sizeof had, "%s=%" PRIu64, option, stored);
		snprintf(wanted, sizeof wanted, "%s=%" PRIu64, option, *given);
		return contradiction(error, had, wanted);
	}
	*given = stored;
	return 0;
}

static void
describe_key(const struct key_recipe *recipe, char *text, size_t nbytes)
{
	size_t n = (size_t)snprintf(text, nbytes, "%s",
	    recipe->range_count == 0 ? "the whole line as key" : "--key=");

	format_ranges(recipe, text + n, nbytes - n);
}

static void
describe_separator(const struct key_recipe *recipe, char *text, size_t nbytes)
{
	int c = recipe->separator;

	if (c < 0)
		snprintf(text, nbytes, "fields between blanks");
	else if (c > 0x20 && c < 0x7f)
		snprintf(text, nbytes, "--field-separator=%c", c);
	else
		snprintf(text, nbytes, "--field-separator=\\x%02x",
		    (unsigned)c);
}

int
key_recipe_inherit(struct key_recipe *given, const struct key_recipe *stored,
    struct error *error)
{
	char had[KEY_RECIPE_TEXT], wanted[KEY_RECIPE_TEXT];

	if (given->range_count > 0 &&
	    (given->range_count != stored->range_count ||
	    memcmp(given->ranges, stored->ranges,
	    given->range_count * sizeof *given->ranges) != 0)) {
		describe_key(stored, had, sizeof had);
		describe_key(given, wanted, sizeof wanted);
		return contradiction(error, had, wanted);
	}
	if (given->separator >= 0 && given->separator != stored->separator) {
		describe_separator(stored, had, sizeof had);
		describe_separator(given, wanted, sizeof wanted);
		return contradiction(error, had, wanted);
	}
	if (given->zero_terminated && !stored->zero_terminated)
		return contradiction(error, "lines that end in a newline",
		    "--zero-terminated");
	if (inherit_flag(&given->strip_cr, stored->strip_cr, "--strip-cr",
	    error) < 0 ||
	    inherit_flag(&given->trim, stored->trim, "--trim", error) < 0 ||
	    inherit_flag(&given->csv, stored->csv, "--csv", error) < 0 ||
	    inherit_flag(&given->ignore_case, stored->ignore_case,
	    "--ignore-case", error) < 0 ||
	    inherit_number(&given->skip, KEY_SKIP_UNSET, stored->skip,
	    "--skip-chars", error) < 0 ||
	    inherit_number(&given->check, 0, stored->check, "--check-chars",
	    error) < 0)
		return -1;
	*given = *stored;
	return 0;
}

int
key_recipe_complete(struct key_recipe *r, struct error *error)
{
	if (r->csv && r->separator < 0)
		r->separator = ',';
	if (r->skip == KEY_SKIP_UNSET)
		r->skip = 0;
	if (r->separator >= 0 && r->range_count == 0 && !r->csv) {
		return error_set(error, STATUS_USAGE, "--field-separator is"
		    " for fields: say which with --key");
	}
	if (r->separator == (r->zero_terminated ? '\0' : '\n') ||
	    (r->csv && r->separator == '"')) {
		return error_set(error, STATUS_USAGE, "--field-separator:"
		    " what ends a line or quotes a field can't separate"
		    " fields");
	}
	return 0;
}

int
key_is_line(const struct key_recipe *r)
{
	return !r->csv && !r->strip_cr && !r->trim && r->range_count == 0 &&
	    r->skip == 0 && r->check == 0 && !r->ignore_case;
}

void
key_scratch_reset(struct key_scratch *scratch, const struct key_recipe *r,
    size_t nbytes)
{
	/* A field of CSV of one byte may become a separator and three. */
	size_t wanted = (r->csv ? 4 : 1) * nbytes + 4096;

	if (wanted > scratch->capacity || scratch->capacity / 16 > wanted) {
		free(scratch->data);
		scratch->data = memory_or_die(malloc(wanted));
		scratch->capacity = wanted;
	}
	scratch->used = 0;
}

void
key_scratch_free(struct key_scratch *scratch)
{
	free(scratch->data);
	*scratch = (struct key_scratch){ 0 };
}

/* As isspace in the C locale. */
static int
is_blank(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Sixteen bytes at a time; every machine that this is built for can do it. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static inline bytes16
load16(const uint8_t *p)
{
	bytes16 bytes;

	memcpy(&bytes, p, sizeof bytes);
	return bytes;
}

/*
 * awk's fields, found in words of 64 bits: bit i of `bits` is set where byte i
 * from `base` on is in a field that was not handed out yet.
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

static inline void
words_start(struct words *w, const uint8_t *data, size_t nbytes)
{
	*w = (struct words){ data, data + nbytes, 0, kernel()->blanks };
	if (nbytes > 0)
		words_load(w);
}

/* The next field; returns 0 behind the last. */
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
	/* all ones up to the first blank behind its beginning */
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

/* The fields wanted are one, and it can be no other. */
static int
single_field(const struct key_recipe *r)
{
	return r->range_count == 1 && r->ranges[0].first == r->ranges[0].last;
}

static void
append(struct key_scratch *scratch, const void *data, size_t nbytes)
{
	memcpy(scratch->data + scratch->used, data, nbytes);
	scratch->used += nbytes;
}

/* Doubled quotes become one; with `quote`, all of it is quoted again. */
static void
append_field(struct key_scratch *scratch, struct key field, int quoted,
    int quote)
{
	if (quote)
		append(scratch, "\"", 1);
	if (quoted == quote || memchr(field.data, '"', field.nbytes) == NULL) {
		append(scratch, field.data, field.nbytes);
	} else {
		for (size_t i = 0; i < field.nbytes; i++) {
			append(scratch, field.data + i, 1);
			if (field.data[i] != '"')
				continue;
			if (quote)
				append(scratch, "\"", 1);
			else
				i++;
		}
	}
	if (quote)
		append(scratch, "\"", 1);
}

/*
 * The chosen fields of CSV. They can hold the separator, and are quoted again
 * where there may be more than one, so that joining them loses nothing.
 */
static struct key
take_csv(const struct key_recipe *r, struct key line,
    struct key_scratch *scratch)
{
	const struct csv_format format = { (uint8_t)r->separator, 0 };
	const uint8_t *p = line.data, *end = line.data + line.nbytes;
	size_t start = scratch->used, separators = 0;
	int single = single_field(r), first = 1;
	unsigned range = 0;

	for (uint32_t number = 1; p != NULL && range < r->range_count;
	    number++) {
		struct key field;
		int quoted;

		field.nbytes = csv_field(&format, p, end, &field.data,
		    &quoted, &p);
		if (number < r->ranges[range].first)
			continue;
		if (single && !quoted)
			return field;
		separators += !first;
		first = 0;
		if (field.nbytes > 0) {
			for (; separators > 0; separators--)
				append(scratch, &format.separator, 1);
			append_field(scratch, field, quoted, !single);
		}
		range += number == r->ranges[range].last;
	}
	return (struct key){ scratch->data + start, scratch->used - start };
}

/* The chosen ones of awk's fields, joined by a blank: no field has one. */
static struct key
take_words(const struct key_recipe *r, struct key line,
    struct key_scratch *scratch)
{
	uint8_t *to = scratch->data + scratch->used;
	struct key key = { to, 0 }, field;
	struct words words;
	unsigned range = 0;

	words_start(&words, line.data, line.nbytes);
	for (uint32_t number = 1; range < r->range_count &&
	    words_next(&words, &field); number++) {
		if (number < r->ranges[range].first)
			continue;
		if (single_field(r))
			return field;
		/* Fields that are there are not empty: none at the end is. */
		if (number > r->ranges[0].first)
			to[key.nbytes++] = ' ';
		memcpy(to + key.nbytes, field.data, field.nbytes);
		key.nbytes += field.nbytes;
		range += number == r->ranges[range].last;
	}
	scratch->used += key.nbytes;
	return key;
}

/* The separators of a line: bit i is set where byte i from `base` on is one. */
struct separators {
	const uint8_t *base, *end;
	uint64_t bits;
	uint8_t byte;
	uint64_t (*equal)(const uint8_t *p, uint8_t byte);
};

static inline void
separators_load(struct separators *s)
{
	s->bits = s->equal(s->base, s->byte);
	if (s->end - s->base < 64)
		s->bits &= ((uint64_t)1 << (s->end - s->base)) - 1;
}

static inline void
separators_start(struct separators *s, const uint8_t *data, size_t nbytes,
    uint8_t byte)
{
	*s = (struct separators){ data, data + nbytes, 0, byte,
		kernel()->equal };
	separators_load(s);
}

/* The count-th separator from here on (1 is the next one), or NULL. */
static inline const uint8_t *
separators_skip(struct separators *s, uint32_t count)
{
	for (;;) {
		for (; s->bits != 0; s->bits &= s->bits - 1) {
			if (--count == 0) {
				unsigned bit =
				    (unsigned)__builtin_ctzll(s->bits);
				s->bits &= s->bits - 1;
				return s->base + bit;
			}
		}
		if (s->end - s->base <= 64)
			return NULL;
		s->base += 64;
		separators_load(s);
	}
}

/*
 * Fields between single bytes: each range is one piece of the line, with the
 * separators in it. Pieces are joined by a separator; those at the end go,
 * since empty fields there are as good as none.
 */
static struct key
take_pieces(const struct key_recipe *r, struct key line,
    struct key_scratch *scratch)
{
	const uint8_t *p = line.data, *end = line.data + line.nbytes;
	uint8_t separator = (uint8_t)r->separator;
	uint8_t *to = scratch->data + scratch->used;
	struct key key = { to, 0 };
	struct separators all;
	uint32_t number = 1; /* of the field that begins at p */

	separators_start(&all, p, line.nbytes, separator);
	for (unsigned i = 0; i < r->range_count; i++) {
		struct key_range range = r->ranges[i];
		const uint8_t *start, *stop;

		if (range.first > number) {
			p = separators_skip(&all, range.first - number);
			if (p == NULL)
				break;
			p++;
		}
		start = p;
		stop = range.last == UINT32_MAX ? NULL :
		    separators_skip(&all, range.last - range.first + 1);
		p = stop == NULL ? NULL : stop + 1;
		stop = stop == NULL ? end : stop;
		number = range.last + 1;
		if (r->range_count == 1) {
			key = (struct key){ start, (size_t)(stop - start) };
			break;
		}
		if (i > 0)
			to[key.nbytes++] = separator;
		memcpy(to + key.nbytes, start, (size_t)(stop - start));
		key.nbytes += (size_t)(stop - start);
		if (p == NULL)
			break;
	}
	while (key.nbytes > 0 && key.data[key.nbytes - 1] == separator)
		key.nbytes--;
	if (r->range_count > 1)
		scratch->used += key.nbytes;
	return key;
}

static inline void
fold16(uint8_t *to, const uint8_t *from)
{
	bytes16 bytes = load16(from);

	bytes += (bytes16)(bytes - 'A' < 26) & 32;
	memcpy(to, &bytes, sizeof bytes);
}

static struct key
fold_case(struct key key, struct key_scratch *scratch, size_t start)
{
	uint8_t *to = scratch->data + start;
	size_t i = 0;

	/*
	 * Joined fields are in the scratch already, and are folded over
	 * themselves; what is skipped must not move them while that is done.
	 */
	if (scratch->used > start) {
		memmove(to, key.data, key.nbytes);
		key.data = to;
	}
	for (; i + 16 <= key.nbytes; i += 16)
		fold16(to + i, key.data + i);
	if (i < key.nbytes && i > 0) {
		/* the last ones; what is folded twice stays as it is */
		i = key.nbytes - 16;
		fold16(to + i, key.data + i);
		i = key.nbytes;
	}
	for (; i < key.nbytes; i++) {
		uint8_t c = key.data[i];
		to[i] = (uint8_t)(c + (c >= 'A' && c <= 'Z' ? 32 : 0));
	}
	scratch->used = start + key.nbytes;
	key.data = to;
	return key;
}

struct key
key_take(const struct key_recipe *r, const uint8_t *data, size_t nbytes,
    struct key_scratch *scratch)
{
	struct key key = { data, nbytes };
	size_t start = scratch->used;

	/* RFC 4180: the CR before the line end is a part of it. */
	if ((r->strip_cr || r->csv) && key.nbytes > 0 &&
	    key.data[key.nbytes - 1] == '\r')
		key.nbytes--;
	if (r->trim) {
		while (key.nbytes > 0 && is_blank(key.data[key.nbytes - 1]))
			key.nbytes--;
		while (key.nbytes > 0 && is_blank(key.data[0])) {
			key.data++;
			key.nbytes--;
		}
	}
	if (r->range_count > 0)
		key = r->csv ? take_csv(r, key, scratch) :
		    r->separator < 0 ? take_words(r, key, scratch) :
		    take_pieces(r, key, scratch);
	if (r->skip > 0) {
		size_t skip = r->skip < key.nbytes ? (size_t)r->skip :
		    key.nbytes;
		key.data += skip;
		key.nbytes -= skip;
	}
	if (r->check > 0 && r->check < key.nbytes)
		key.nbytes = (size_t)r->check;
	if (r->ignore_case)
		key = fold_case(key, scratch, start);
	return key;
}
