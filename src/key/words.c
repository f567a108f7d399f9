/*
 * First the part of a line that is taken, then each thing that is done to it,
 * after a comma.
 */
#include "key/words.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "key/fields.h"

/* Appends as much as there is room for. */
__attribute__((format(printf, 2, 3)))
static void
say(char words[KEY_WORDS], const char *format, ...)
{
	size_t n = strlen(words);
	va_list args;

	va_start(args, format);
	vsnprintf(words + n, KEY_WORDS - n, format, args);
	va_end(args);
}

/* "2", "1, 2, 4 to 6", "4 and later" */
static void
say_ranges(char words[KEY_WORDS], const struct key_recipe *r)
{
	for (unsigned i = 0; i < r->range_count; i++) {
		const struct key_range *range = &r->ranges[i];

		say(words, "%s%" PRIu32, i == 0 ? "" : ", ", range->first);
		if (range->last == UINT32_MAX)
			say(words, " and later");
		else if (range->last > range->first)
			say(words, "%s%" PRIu32, range->last ==
			    range->first + 1 ? ", " : " to ", range->last);
	}
}

static void
say_separator(char words[KEY_WORDS], int c)
{
	if (c < 0)
		say(words, ", separated by blanks");
	else if (c == '\t')
		say(words, ", separated by tabs");
	else if (c == ' ')
		say(words, ", separated by single spaces");
	else if (c > ' ' && c < 0x7f)
		say(words, ", separated by '%c'", c);
	else
		say(words, ", separated by the byte 0x%02x", (unsigned)c);
}

static void
say_fields(char words[KEY_WORDS], const struct key_recipe *r)
{
	int is_one = r->column_count == 1 || key_single_field(r);

	if (r->column_count > 0) {
		say(words, "column%s %s of CSV", is_one ? "" : "s", r->columns);
	} else if (r->range_count > 0) {
		say(words, "field%s ", is_one ? "" : "s");
		say_ranges(words, r);
		say(words, "%s", r->csv ? " of CSV" : "");
	} else {
		say(words, "the whole record of CSV");
	}
	if (r->header)
		say(words, " with a header");
	if (!r->csv || r->separator != ',')
		say_separator(words, r->separator);
}

/* "the JSON values at /a and /b"; the empty pointer is the root. */
static void
say_pointers(char words[KEY_WORDS], const struct key_recipe *r)
{
	if (r->json_count == 1 && *r->json == '\0') {
		say(words, "the whole JSON document");
		return;
	}
	say(words, "the JSON value%s at ", r->json_count > 1 ? "s" : "");
	for (unsigned i = 0; i < r->json_count; i++) {
		const char *pointer = r->json + r->json_at[i];

		say(words, "%s%s", i == 0 ? "" : i + 1 < r->json_count ?
		    ", " : " and ", *pointer != '\0' ? pointer :
		    "the root");
	}
}

static void
say_part(char words[KEY_WORDS], const struct key_recipe *r)
{
	if (r->json_count > 0)
		say_pointers(words, r);
	else if (r->csv || r->range_count > 0)
		say_fields(words, r);
	else
		say(words, "the whole line");
}

static void
say_url(char words[KEY_WORDS], const struct key_recipe *r)
{
	say(words, ", as a URL");
	if (*r->url_ignore != '\0')
		say(words, " without the parameter%s %s",
		    strpbrk(r->url_ignore, ",*") == NULL ? "" : "s",
		    r->url_ignore);
	if (r->url_sort)
		say(words, "%s its parameters in any order",
		    *r->url_ignore != '\0' ? ", with" : " with");
}

/* Bytes are counted from 1. */
static void
say_bytes(char words[KEY_WORDS], uint64_t skip, uint64_t check)
{
	if (skip > 0 && check > 0)
		say(words, ", %" PRIu64 " byte%s from byte %" PRIu64 " on",
		    check, check == 1 ? "" : "s", skip + 1);
	else if (skip > 0)
		say(words, ", from byte %" PRIu64 " on", skip + 1);
	else if (check == 1)
		say(words, ", its first byte");
	else if (check > 0)
		say(words, ", its first %" PRIu64 " bytes", check);
}

void
key_recipe_words(const struct key_recipe *r, char words[KEY_WORDS])
{
	int is_part = r->csv || r->range_count > 0 || r->json_count > 0;

	words[0] = '\0';
	say_part(words, r);
	if (r->strip_cr)
		say(words, ", without a CR at the end%s",
		    is_part ? " of the line" : "");
	if (r->trim)
		say(words, ", without blanks around %s",
		    is_part ? "the line" : "it");
	if (r->trim_fields)
		say(words, ", without blanks around each %s",
		    r->json_count > 0 ? "value" : "field");
	if (r->url)
		say_url(words, r);
	say_bytes(words, r->skip, r->check);
	if (r->ignore_case)
		say(words, ", ignoring case (A to Z)");
	if (r->zero_terminated)
		say(words, "; lines end in NUL");
	if (r->keep_empty)
		say(words, "; lines with an empty key are new each time");
	if (r->parts > 0)
		say(words, "; only part %u of %u of the keys", r->part,
		    r->parts);
}
