#include "key/key.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/number.h"
#include "key/json.h"
#include "key/url.h"

struct record_format
key_record_format(const struct key_recipe *r)
{
	return (struct record_format){ .csv = { (uint8_t)r->separator,
		r->zero_terminated ? '\0' : '\n' }, .is_csv = r->csv };
}

int
key_is_line(const struct key_recipe *r)
{
	for (size_t i = 0; i < KEY_STEPS; i++) {
		if (key_steps[i].apply != NULL && key_steps[i].applies(r))
			return 0;
	}
	return 1;
}

/* How many bytes of scratch a byte of a line may need. */
static size_t
room_factor(const struct key_recipe *r)
{
	size_t factor = 1;

	/* A value of one byte may become a separator and three bytes. */
	if (key_joins_values(r))
		factor = 4 * (r->json_count + r->column_count) + 4;
	if (r->url)
		factor += URL_ROOM(1) / 2;
	return factor;
}

void
key_scratch_reset(struct key_scratch *scratch, const struct key_recipe *r,
    size_t nbytes)
{
	size_t wanted = room_factor(r) * nbytes + 4096;

	scratch->used = 0;
	scratch->step_count = 0;
	for (size_t i = 0; i < KEY_STEPS; i++) {
		if (key_steps[i].apply != NULL && key_steps[i].applies(r))
			scratch->steps[scratch->step_count++] =
			    key_steps[i].apply;
	}
	if (scratch->step_count == 0)
		return;
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

void
key_figures_add(struct key_figures *sum, const struct key_figures *next)
{
	for (int i = 0; i < KEY_TROUBLES; i++) {
		if (sum->of[i].count == 0)
			sum->of[i].first = sum->lines + next->of[i].first;
		sum->of[i].count += next->of[i].count;
	}
	sum->lines += next->lines;
	sum->found |= next->found;
}

/* What is wrong with a line, or with several. */
static const struct {
	const char *one, *several;
} troubles[KEY_TROUBLES] = {
	[KEY_NOT_JSON] = { "is not JSON", "are not JSON" },
	[KEY_TOO_DEEP] = { "is nested more than 1024 levels deep",
	    "are nested more than 1024 levels deep" },
	[KEY_MISSING] = { "lacks a value that --json names",
	    "lack a value that --json names" },
	[KEY_NOT_URL] = { "is not a URL", "are not URLs" },
};
_Static_assert(JSON_DEPTH_MAX == 1024, "the texts above say so");

int
key_figures_tell(const struct key_figures *figures, enum key_trouble trouble,
    struct error *error)
{
	uint64_t count = figures->of[trouble].count;
	char lines[NUMBER_TEXT], first[NUMBER_TEXT];

	if (count == 0)
		return 0;
	number_format_count(first, figures->of[trouble].first);
	if (count == 1) {
		error_set(error, STATUS_OK, "line %s %s, and was compared"
		    " whole", first, troubles[trouble].one);
	} else {
		error_set(error, STATUS_OK, "%s lines %s, and were compared"
		    " whole; the first is line %s",
		    number_format_count(lines, count),
		    troubles[trouble].several, first);
	}
	return 1;
}

uint64_t
key_figures_first(const struct key_figures *figures, uint64_t before,
    struct error *error)
{
	uint64_t first = 0;
	int trouble = 0;

	for (int i = 0; i < KEY_TROUBLES; i++) {
		if (i != KEY_MISSING && figures->of[i].count > 0 &&
		    (first == 0 || figures->of[i].first < first)) {
			first = figures->of[i].first;
			trouble = i;
		}
	}
	if (first > 0)
		error_set(error, STATUS_FAILED, "line %" PRIu64 " %s, which"
		    " --strict-keys does not allow", before + first,
		    troubles[trouble].one);
	return first;
}

struct key
key_take(const struct key_recipe *r, const uint8_t *data, size_t nbytes,
    struct key_scratch *scratch)
{
	struct key key = { data, nbytes };

	scratch->start = scratch->used;
	scratch->is_whole = 0;
	scratch->urls = 0;
	scratch->figures.lines++;
	for (unsigned i = 0; i < scratch->step_count; i++)
		key = scratch->steps[i](r, key, scratch);
	if (r->url && scratch->urls == 0 && !scratch->is_whole)
		scratch_note(scratch, KEY_NOT_URL);
	return key;
}
