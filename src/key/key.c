#include "key/key.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "key/fields.h"
#include "key/json.h"
#include "key/url.h"

/* Room for the text about the fields that a line lacks. */
#define KEY_TEXT (KEY_RECIPE_TEXT + 32)

struct record_format
key_record_format(const struct key_recipe *recipe)
{
	return (struct record_format){ .csv = { (uint8_t)recipe->separator,
		recipe->zero_terminated ? '\0' : '\n', recipe->csv_backslash },
		.is_csv = recipe->csv };
}

/* In how many of the values can a byte be: is one a part of another? */
static size_t
nesting(const struct key_recipe *recipe)
{
	size_t most = 1;

	for (unsigned i = 0; i < recipe->json_count; i++) {
		const char *inner = recipe->json + recipe->json_at[i];
		size_t depth = 0;

		for (unsigned j = 0; j < recipe->json_count; j++) {
			const char *outer = recipe->json + recipe->json_at[j];
			size_t n = strlen(outer);

			depth += strncmp(inner, outer, n) == 0 &&
			    (inner[n] == '/' || inner[n] == '\0');
		}
		most = depth > most ? depth : most;
	}
	return most;
}

void
key_keep_empty(const struct key *keys, size_t n, struct digest *digests)
{
	for (size_t i = 0; i < n; i++) {
		if (keys[i].nbytes == 0)
			digests[i] = DIGEST_NONE;
	}
}

void
key_scratch_begin(struct key_scratch *scratch, const struct key_recipe *recipe)
{
	scratch->step_count = 0;
	for (size_t i = 0; i < key_step_count; i++) {
		if (key_step_applies(&key_steps[i], recipe))
			scratch->steps[scratch->step_count++] =
			    key_steps[i].apply;
	}
	scratch->factor = 1;
	/* A value of one byte may become a separator and three bytes. */
	if (key_joins_values(recipe))
		scratch->factor = 4 * nesting(recipe) + 4;
	/* A URL needs URL_ROOM, and a copy of the value in join_value. */
	if (recipe->url)
		scratch->factor += URL_ROOM(1) - URL_ROOM(0) + 4;
}

void
key_scratch_reserve(struct key_scratch *scratch, size_t nbytes)
{
	size_t wanted = scratch->factor * nbytes + 4096;

	scratch->used = 0;
	if (wanted > scratch->capacity || scratch->capacity / 16 > wanted) {
		free(scratch->data);
		scratch->data = memory_or_die(malloc(wanted));
		scratch->capacity = wanted;
	}
}

void
key_scratch_free(struct key_scratch *scratch)
{
	free(scratch->data);
	*scratch = (struct key_scratch){ 0 };
}

int
key_has_troubles(const struct key_recipe *recipe)
{
	return recipe->json_count > 0 || recipe->url || recipe->csv ||
	    recipe->range_count > 0 || recipe->column_count > 0;
}

/* Note what follows the quote in the first record that has such text. */
static void
note_stray(struct key_figures *figures, const struct key_recipe *recipe,
    const uint8_t *record, const uint8_t *end)
{
	const struct csv_format format = key_record_format(recipe).csv;
	const uint8_t *text = record_stray(&format, record, end);
	size_t nbytes = 0;

	if (text == NULL)
		return;
	while (text + nbytes < end && text[nbytes] != format.separator &&
	    text[nbytes] != format.terminator && text[nbytes] != '"')
		nbytes++;
	error_bytes(figures->stray, sizeof figures->stray, text, nbytes);
	figures->is_escaped = text - record > 2 && text[-2] == '\\';
}

void
key_figures_count(struct key_figures *figures, const struct key_recipe *recipe,
    const uint8_t *troubles, const uint8_t *const *starts,
    const uint32_t *numbers, size_t n, struct key_position position)
{
	uint64_t eight = 0;

	for (size_t i = 0; i < n; i++) {
		/* Most lines have no trouble, so eight are tested at once. */
		for (; i + sizeof eight <= n; i += sizeof eight) {
			memcpy(&eight, troubles + i, sizeof eight);
			if (eight != 0)
				break;
		}
		for (int t = 0; i < n && troubles[i] >> t != 0; t++) {
			if (!(troubles[i] >> t & 1))
				continue;
			if (figures->of[t].lines++ > 0)
				continue;
			figures->of[t].first = (struct key_position){
				position.file, position.number +
				(numbers == NULL ? i : numbers[i]) };
			if (t == KEY_STRAY)
				note_stray(figures, recipe, starts[i],
				    starts[i + 1]);
		}
	}
}

/* What is wrong with a line, or with several. */
static const struct {
	const char *one, *several;
} troubles_in_words[KEY_TROUBLES] = {
	[KEY_NOT_JSON] = { "is not JSON", "are not JSON" },
	[KEY_TOO_DEEP] = { "is nested more than 1024 levels deep",
	    "are nested more than 1024 levels deep" },
	[KEY_MISSING] = { "lacks a value that --json names",
	    "lack a value that --json names" },
	[KEY_NULL] = { "has null where --json names a value",
	    "have null where --json names a value" },
	[KEY_NOT_URL] = { "is not a URL", "are not URLs" },
	[KEY_NO_FIELD] = { "has ", "have " }, /* say_fields has the rest */
	[KEY_STRAY] = { "has text after a closing quote",
	    "have text after a closing quote" }, /* say_stray has the rest */
	[KEY_HEADER] = { "is the header again", "are the header again" }
};
_Static_assert(JSON_DEPTH_MAX == 1024, "the texts above say so");

/* Is what should be a URL only a part of the line? */
static int
is_part(const struct key_recipe *recipe, enum key_trouble trouble)
{
	return trouble == KEY_NOT_URL && (recipe->json_count > 0 ||
	    recipe->csv || recipe->range_count > 0 ||
	    recipe->column_count > 0 || recipe->skip > 0 || recipe->check > 0);
}

/* Returns "record" if one may have several lines, else "line". */
static const char *
unit(const struct key_recipe *recipe)
{
	return recipe->csv ? "record" : "line";
}

/* Is it a single field or column that makes the key? */
static int
is_single(const struct key_recipe *recipe)
{
	return recipe->column_count > 0 ? recipe->column_count == 1 :
	    key_single_field(recipe);
}

/* The fields or columns after `one` or `several`: "no field 2". */
static void
say_list(const struct key_recipe *recipe, const char *one, const char *several,
    char text[KEY_TEXT])
{
	char list[KEY_RECIPE_TEXT];
	const char *noun = recipe->column_count > 0 ? "column" : "field";
	const char *names = list;

	if (recipe->column_count > 0)
		names = recipe->columns;
	else
		key_ranges_format(recipe, list, sizeof list);
	if (is_single(recipe))
		snprintf(text, KEY_TEXT, "%s%s %s", one, noun, names);
	else
		snprintf(text, KEY_TEXT, "%s%ss %s", several, noun, names);
}

/* Write such as "no field 2" or "none of the columns a,b". */
static void
say_fields(const struct key_recipe *recipe, char text[KEY_TEXT])
{
	say_list(recipe, "no ", "none of the ", text);
}

/* Write such as "field 2" or "any of the columns a,b". */
static void
say_wanted(const struct key_recipe *recipe, char text[KEY_TEXT])
{
	say_list(recipe, "", "any of the ", text);
}

/* Write such as "/a or /b", as much of it as fits. */
static void
say_pointers(const struct key_recipe *recipe, char text[KEY_TEXT])
{
	size_t used = 0;

	for (unsigned i = 0; i < recipe->json_count && used < KEY_TEXT; i++) {
		const char *pointer = recipe->json + recipe->json_at[i];

		/*
		 * An empty pointer, which is the whole document, is shown in
		 * quotes.
		 */
		if (*pointer == '\0')
			pointer = "''";
		used += (size_t)snprintf(text + used, KEY_TEXT - used, "%s%s",
		    i > 0 ? " or " : "", pointer);
	}
}

/* What the first stray text is, and what may help. */
static void
say_stray(const struct key_figures *figures, const struct key_recipe *recipe,
    char text[KEY_TEXT])
{
	snprintf(text, KEY_TEXT, ": '%s'%s", figures->stray,
	    figures->is_escaped && !recipe->csv_backslash ?
	    "; --csv=backslash takes \\\" for a quote" : "");
}

/* What became of a line with this trouble, and of several. */
static const char *
consequence(const struct key_recipe *recipe, enum key_trouble trouble, int one)
{
	if (trouble == KEY_NO_FIELD && one)
		return ", so its key is empty";
	if (trouble == KEY_NO_FIELD && recipe->keep_empty)
		return ", so their keys are empty, and each counts as new";
	if (trouble == KEY_NO_FIELD)
		return " and count as one";
	if (trouble == KEY_STRAY)
		return "";
	if (trouble == KEY_HEADER)
		return one ? ", and was left out" : ", and were left out";
	if (is_part(recipe, trouble))
		return one ? ", and was compared as it is" :
		    ", and were compared as they are";
	return one ? ", and was compared whole" : ", and were compared whole";
}

int
key_figures_tell(const struct key_figures *figures,
    const struct key_recipe *recipe, enum key_trouble trouble,
    struct error *error)
{
	const struct key_position *first = &figures->of[trouble].first;
	uint64_t lines = figures->of[trouble].lines;
	const char *then = consequence(recipe, trouble, lines == 1);
	int part = is_part(recipe, trouble);
	char count[NUMBER_TEXT], number[NUMBER_TEXT], fields[KEY_TEXT] = "";
	char stray[KEY_TEXT] = "";

	if (lines == figures->of[trouble].told)
		return 0;
	if (trouble == KEY_NO_FIELD)
		say_fields(recipe, fields);
	if (trouble == KEY_STRAY)
		say_stray(figures, recipe, stray);
	number_format_count(number, first->number);
	if (lines == 1)
		error_set(error, STATUS_OK, "%s: %s%s %s %s%s%s%s", first->file,
		    part ? "the key of " : "", unit(recipe), number,
		    troubles_in_words[trouble].one, fields, then, stray);
	else
		error_set(error, STATUS_OK, "%s%s %ss %s%s%s; the first is %s"
		    " %s of %s%s", part ? "the keys of " : "",
		    number_format_count(count, lines), unit(recipe),
		    troubles_in_words[trouble].several, fields, then,
		    unit(recipe), number, first->file, stray);
	return 1;
}

int
key_figures_wait(const struct key_figures *figures, uint64_t least)
{
	for (int t = 0; t < KEY_TROUBLES; t++) {
		if (figures->of[t].told == 0 && figures->of[t].lines >= least)
			return 1;
	}
	return 0;
}

void
key_figures_notice(struct key_figures *figures,
    const struct key_recipe *recipe, uint64_t least,
    void (*notice)(const char *text))
{
	struct error error;

	for (int t = 0; t < KEY_TROUBLES; t++) {
		if (figures->of[t].told > 0 || figures->of[t].lines < least)
			continue;
		if (key_figures_tell(figures, recipe, (enum key_trouble)t,
		    &error))
			notice(error.text);
		figures->of[t].told = figures->of[t].lines;
	}
}

size_t
key_first_refused(const uint8_t *troubles, size_t n)
{
	size_t i = 0;

	while (i < n && troubles[i] == 0)
		i++;
	return i;
}

void
key_refuse(const struct key_recipe *recipe, uint8_t troubles,
    struct key_position position, struct error *error)
{
	int trouble = __builtin_ctz(troubles);
	char fields[KEY_TEXT] = "";

	if (trouble == KEY_NO_FIELD)
		say_fields(recipe, fields);
	error_set(error, STATUS_FAILED, "%s: %s%s %" PRIu64 " %s%s, which"
	    " --strict-keys does not allow", position.file,
	    is_part(recipe, (enum key_trouble)trouble) ? "the key of " : "",
	    unit(recipe), position.number, troubles_in_words[trouble].one,
	    fields);
}

int
key_all_lack_fields(const struct key_recipe *recipe, const uint8_t *troubles,
    uint32_t found, size_t n)
{
	size_t i = 0;

	if (n == 0 || recipe->keep_empty)
		return 0;
	if (recipe->json_count > 0)
		return found == 0;
	while (i < n && (troubles[i] >> KEY_NO_FIELD & 1))
		i++;
	return i == n;
}

int
key_figures_lack_all(const struct key_figures *figures,
    const struct key_recipe *recipe, uint64_t lines)
{
	if (lines == 0 || recipe->keep_empty)
		return 0;
	if (recipe->json_count > 0)
		return figures->found == 0;
	return figures->of[KEY_NO_FIELD].lines == lines;
}

/* ", with fields between blanks": what the fields of lines depend on. */
static const char *
say_separator(const struct key_recipe *recipe, char text[80])
{
	static const char see[] = "; see -t";

	if (recipe->separator < 0)
		snprintf(text, 80, ", with fields between blanks%s", see);
	else if (recipe->separator == '\t')
		snprintf(text, 80, ", with fields between tabs%s", see);
	else if (recipe->separator == '\0')
		snprintf(text, 80, ", with fields between NULs%s", see);
	else
		snprintf(text, 80, ", with fields between '%c'%s",
		    recipe->separator, see);
	return text;
}

int
key_refuse_all(const struct key_recipe *recipe, const char *file, size_t n,
    struct error *error)
{
	char which[KEY_TEXT], fields[KEY_TEXT] = "", separator[80];
	const char *name = file == NULL ? "" : file;
	const char *colon = file == NULL ? "" : ": ";

	if (file == NULL)
		snprintf(which, sizeof which, "no %s has ", unit(recipe));
	else if (n == 1)
		snprintf(which, sizeof which, "the first %s does not have ",
		    unit(recipe));
	else
		snprintf(which, sizeof which, "none of the first %zu %ss has ",
		    n, unit(recipe));
	if (recipe->json_count > 0) {
		say_pointers(recipe, fields);
		return error_set(error, STATUS_FAILED, "%s%s%sa value at %s"
		    " (--json)", name, colon, which, fields);
	}
	say_wanted(recipe, fields);
	return error_set(error, STATUS_FAILED, "%s%s%s%s%s", name, colon,
	    which, fields, say_separator(recipe, separator));
}

struct key
key_take(const struct key_recipe *recipe, const uint8_t *data, size_t nbytes,
    struct key_scratch *scratch)
{
	struct key key = { data, nbytes };
	uint8_t *to;

	scratch->start = scratch->used;
	scratch->is_whole = 0;
	scratch->urls = 0;
	scratch->troubles = 0;
	for (unsigned i = 0; i < scratch->step_count; i++)
		key = scratch->steps[i](recipe, key, scratch);
	if (recipe->url && scratch->urls == 0 && !scratch->is_whole &&
	    !(scratch->troubles >> KEY_NO_FIELD & 1))
		scratch_note(scratch, KEY_NOT_URL);
	if (recipe->json_count == 0 || (!scratch->is_whole &&
	    (key.nbytes == 0 || key.data[0] < 0xfe)))
		return key;
	/*
	 * A line that was kept whole is no value with the same text: it begins
	 * with a byte that is in no UTF-8, and values that begin so get another
	 * one.
	 */
	to = scratch->data + scratch->start;
	memmove(to + 1, key.data, key.nbytes);
	*to = scratch->is_whole ? 0xff : 0xfe;
	scratch->used = scratch->start + key.nbytes + 1;
	return scratch_key(scratch);
}
