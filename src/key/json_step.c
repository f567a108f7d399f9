#include "key/json_step.h"

#include <stdio.h>
#include <string.h>

#include "bits/loops.h"
#include "key/escape.h"
#include "key/join.h"
#include "key/json.h"

/* Add a pointer. */
int
json_step_parse(const struct key_step *step, struct key_recipe *recipe,
    const char *pointer)
{
	unsigned n = recipe->json_count;
	size_t at = 0;

	(void)step;
	if (pointer == NULL)
		return -1;
	for (unsigned i = 0; i < n; i++) {
		const char *other = recipe->json + recipe->json_at[i];

		if (strcmp(other, pointer) == 0)
			return -1;
		at = recipe->json_at[i] + strlen(other) + 1;
	}
	if (n == KEY_POINTERS_MAX || !json_is_pointer(pointer) ||
	    strlen(pointer) >= sizeof recipe->json - at)
		return -1;
	strcpy(recipe->json + at, pointer);
	recipe->json_at[n] = (uint16_t)at;
	recipe->json_count++;
	return 0;
}

/* Several pointers are several lines, "=/a\njson=/b". */
int
json_step_print(const struct key_step *step, const struct key_recipe *recipe,
    char value[KEY_RECIPE_TEXT])
{
	size_t n = 0;

	(void)step;
	value[0] = '\0';
	for (unsigned i = 0; i < recipe->json_count; i++) {
		if (n < KEY_RECIPE_TEXT)
			n += (size_t)snprintf(value + n, KEY_RECIPE_TEXT - n,
			    i == 0 ? "=" : "\njson=");
		if (n < KEY_RECIPE_TEXT)
			n += escape(value + n, KEY_RECIPE_TEXT - n,
			    recipe->json + recipe->json_at[i]);
	}
	return recipe->json_count > 0;
}

/* "=/a --json=/b" */
void
json_step_show(const struct key_recipe *recipe, char value[KEY_RECIPE_TEXT])
{
	size_t n = 0;

	for (unsigned i = 0; i < recipe->json_count && n < KEY_RECIPE_TEXT; i++)
		n += (size_t)snprintf(value + n, KEY_RECIPE_TEXT - n, "%s%s",
		    i == 0 ? "=" : " --json=",
		    recipe->json + recipe->json_at[i]);
}

/* The key is the whole line, because of this trouble. */
static struct key
keep_line(struct key line, enum key_trouble trouble,
    struct key_scratch *scratch)
{
	scratch_note(scratch, trouble);
	scratch->is_whole = 1;
	scratch->used = scratch->start;
	return line;
}

static struct key
join_json(const struct key_recipe *r, const struct key *values,
    struct key line, struct key_scratch *scratch)
{
	struct join join = join_begin(r, ',', scratch);

	for (unsigned i = 0; i < r->json_count; i++) {
		/* after all that may be written before it is joined */
		uint8_t *to = scratch->data + scratch->capacity -
		    LOOPS_PADDING - values[i].nbytes;
		struct key value = json_take(values[i], to);

		if (value.data == NULL)
			return keep_line(line, KEY_NOT_JSON, scratch);
		join_value(&join, value, 0);
	}
	return scratch_key(scratch);
}

struct key
json_step_apply(const struct key_recipe *r, struct key line,
    struct key_scratch *scratch)
{
	const char *pointers[KEY_POINTERS_MAX];
	struct key values[KEY_POINTERS_MAX], key;
	uint32_t found = 0;
	uint32_t all = (uint32_t)(((uint64_t)1 << r->json_count) - 1);
	enum json_result result;

	for (unsigned i = 0; i < r->json_count; i++)
		pointers[i] = r->json + r->json_at[i];
	result = json_find(pointers, r->json_count, line.data, line.nbytes,
	    values);
	if (result != JSON_OK)
		return keep_line(line, result == JSON_TOO_DEEP ? KEY_TOO_DEEP :
		    KEY_NOT_JSON, scratch);
	for (unsigned i = 0; i < r->json_count; i++) {
		uint32_t bit = (uint32_t)(values[i].data != NULL) << i;

		scratch->found |= bit;
		found |= bit;
	}
	if (found != all)
		return keep_line(line, KEY_MISSING, scratch);
	if (r->json_count > 1)
		return join_json(r, values, line, scratch);
	key = json_take(values[0], scratch->data + scratch->used);
	if (key.data == NULL)
		return keep_line(line, KEY_NOT_JSON, scratch);
	if (key.data == scratch->data + scratch->used)
		scratch->used += key.nbytes;
	return key;
}
