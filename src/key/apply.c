#include "key/apply.h"

#include <string.h>

#include "key/blanks.h"
#include "key/fields.h"
#include "key/join.h"
#include "key/json.h"
#include "key/scan.h"

int
key_joins_values(const struct key_recipe *r)
{
	return r->json_count > 1 || r->column_count > 1 ||
	    (r->csv && r->range_count > 0 && !key_single_field(r));
}

struct key
apply_strip_cr(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	(void)r, (void)scratch;
	if (key.nbytes > 0 && key.data[key.nbytes - 1] == '\r')
		key.nbytes--;
	return key;
}

/* RFC 4180: the CR before the line end is a part of it. */
int
apply_strip_cr_if(const struct key_recipe *r)
{
	return r->strip_cr || r->csv;
}

struct key
apply_trim(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	(void)r, (void)scratch;
	return trim_blanks(key);
}

int
apply_trim_if(const struct key_recipe *r)
{
	return r->trim;
}

struct key
apply_fields(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	return key_take_fields(r, key, scratch);
}

int
apply_fields_if(const struct key_recipe *r)
{
	return r->range_count > 0 || r->column_count > 0;
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
apply_json(const struct key_recipe *r, struct key line,
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

int
apply_json_if(const struct key_recipe *r)
{
	return r->json_count > 0;
}

struct key
apply_trim_fields(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	(void)r;
	return scratch->is_whole ? key : trim_blanks(key);
}

/* Of several, each is trimmed before they are joined. */
int
apply_trim_fields_if(const struct key_recipe *r)
{
	return r->trim_fields && (r->json_count == 1 || r->column_count == 1 ||
	    key_single_field(r));
}

struct key
apply_url(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	struct key url;

	if (scratch->is_whole)
		return key;
	url = join_url(r, key, 0, 0, scratch);
	if (url.data == scratch->data + scratch->used)
		scratch->used += url.nbytes;
	return url.data == NULL ? key : url;
}

int
apply_url_if(const struct key_recipe *r)
{
	return r->url && !key_joins_values(r);
}

struct key
apply_skip(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	size_t n = r->skip < key.nbytes ? (size_t)r->skip : key.nbytes;

	if (scratch->is_whole)
		return key;
	return (struct key){ key.data + n, key.nbytes - n };
}

int
apply_skip_if(const struct key_recipe *r)
{
	return r->skip > 0 && !key_joins_values(r);
}

struct key
apply_check(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	if (r->check < key.nbytes && !scratch->is_whole)
		key.nbytes = (size_t)r->check;
	return key;
}

int
apply_check_if(const struct key_recipe *r)
{
	return r->check > 0 && !key_joins_values(r);
}

/* Sixteen bytes at a time, which all supported machines can do. */
typedef uint8_t bytes16 __attribute__((vector_size(16)));

static inline void
fold16(uint8_t *to, const uint8_t *from)
{
	bytes16 bytes;

	memcpy(&bytes, from, sizeof bytes);
	bytes += (bytes16)(bytes - 'A' < 26) & 32;
	memcpy(to, &bytes, sizeof bytes);
}

struct key
apply_fold_case(const struct key_recipe *r, struct key key,
    struct key_scratch *scratch)
{
	uint8_t *to = scratch->data + scratch->start;
	size_t i = 0;

	(void)r;
	/*
	 * A key that is in the scratch already is folded in place. If bytes
	 * were skipped, move it to its start before that.
	 */
	if (scratch->used > scratch->start) {
		memmove(to, key.data, key.nbytes);
		key.data = to;
	}
	for (; i + 16 <= key.nbytes; i += 16)
		fold16(to + i, key.data + i);
	if (i < key.nbytes && i > 0) {
		/* the last 16, some of them again, which changes nothing */
		i = key.nbytes - 16;
		fold16(to + i, key.data + i);
		i = key.nbytes;
	}
	for (; i < key.nbytes; i++) {
		uint8_t c = key.data[i];
		to[i] = (uint8_t)(c + (c >= 'A' && c <= 'Z' ? 32 : 0));
	}
	scratch->used = scratch->start + key.nbytes;
	key.data = to;
	return key;
}

int
apply_fold_case_if(const struct key_recipe *r)
{
	return r->ignore_case;
}
