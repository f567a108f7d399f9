/*
 * JSON: values lie in the document, what is taken of one is JSON again, with
 * the same values in it, and what another string says is another string.
 *
 * An input is a pointer, a line feed and a document.
 */
#include "bits/scan.h"
#include "fuzz.h"
#include "key/json.h"

/* A copy with as many bytes behind it as may be read, and no more. */
static uint8_t *
copy(const uint8_t *data, size_t nbytes, int fill)
{
	uint8_t *to = malloc(nbytes + LOOPS_PADDING);

	MUST(to != NULL);
	if (nbytes > 0)
		memcpy(to, data, nbytes);
	memset(to + nbytes, fill, LOOPS_PADDING);
	return to;
}

static struct key
take_value(struct key value, uint8_t **room)
{
	*room = malloc(value.nbytes);
	MUST(*room != NULL);
	return json_take(value, *room);
}

static int
same(struct key a, struct key b)
{
	return (a.data == NULL) == (b.data == NULL) && (a.data == NULL ||
	    (a.nbytes == b.nbytes && memcmp(a.data, b.data, a.nbytes) == 0));
}

/* What is behind the document must not matter. */
static enum json_result
find(const char *const *pointers, const uint8_t *data, size_t nbytes,
    struct key *values)
{
	uint8_t *other = copy(data, nbytes, '"');
	struct key others[2];
	enum json_result result = json_find(pointers, 2, data, nbytes, values);

	MUST(json_find(pointers, 2, other, nbytes, others) == result);
	for (int i = 0; i < 2; i++) {
		MUST(result != JSON_OK || same(values[i], others[i]));
		MUST(values[i].data == NULL || (values[i].data >= data &&
		    values[i].nbytes > 0 &&
		    values[i].data + values[i].nbytes <= data + nbytes));
	}
	free(other);
	return result;
}

/* The document without blanks has the same value there. */
static void
check_again(const char *const *pointers, struct key whole, struct key value)
{
	uint8_t *data = copy(whole.data, whole.nbytes, '}'), *a, *b, *c;
	struct key values[2], taken, again;

	MUST(find(pointers, data, whole.nbytes, values) == JSON_OK);
	again = take_value(values[0], &a);
	MUST(same(whole, again));
	MUST((values[1].data == NULL) == (value.data == NULL));
	if (value.data != NULL) {
		taken = take_value(value, &b);
		again = take_value(values[1], &c);
		MUST(taken.data != NULL && same(taken, again));
		free(b);
		free(c);
	}
	free(a);
	free(data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
	const uint8_t *stop = nbytes == 0 ? NULL : memchr(bytes, '\n', nbytes);
	size_t n = stop == NULL ? 0 : (size_t)(stop - bytes);
	char pointer[100] = "";
	const char *const pointers[] = { "", pointer };
	struct key values[2], whole;
	uint8_t *data, *room;

	if (stop == NULL || n >= sizeof pointer)
		return 0;
	memcpy(pointer, bytes, n);
	if (!json_is_pointer(pointer))
		return 0;
	nbytes -= n + 1;
	data = copy(stop + 1, nbytes, '\\');
	if (find(pointers, data, nbytes, values) == JSON_OK) {
		MUST(values[0].data != NULL);
		whole = take_value(values[0], &room);
		if (whole.data != NULL && *values[0].data != '"')
			check_again(pointers, whole, values[1]);
		free(room);
	}
	free(data);
	return 0;
}
