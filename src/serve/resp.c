#include "serve/resp.h"

#include <string.h>

/* No word can be longer, as in Redis. */
#define LENGTH_MAX ((int64_t)512 << 20)

static size_t
fail(struct resp_word *word)
{
	word->event = RESP_BROKEN;
	return 0;
}

/*
 * The number in a line that begins with `first`. Returns the line's length; 0
 * if it isn't whole yet, or broken, which `word` then says.
 */
static size_t
take_number(const uint8_t *data, size_t nbytes, char first,
    struct resp_word *word, int64_t *value)
{
	size_t most = nbytes < RESP_HEAD_MAX ? nbytes : RESP_HEAD_MAX;
	const uint8_t *end;

	if (nbytes == 0)
		return 0;
	end = memchr(data, '\n', most);
	if (data[0] == first && end == NULL && most < RESP_HEAD_MAX)
		return 0;
	if (data[0] != first || end == NULL || end[-1] != '\r' ||
	    bytes_to_integer((struct bytes){ data + 1,
	    (size_t)(end - data) - 2 }, 1, value) < 0)
		return fail(word);
	return (size_t)(end - data) + 1;
}

static size_t
begin_request(struct resp_parser *parser, const uint8_t *data, size_t nbytes,
    struct resp_word *word)
{
	int64_t count;
	size_t n;

	/* an empty line, as redis-cli --pipe sends one */
	if (nbytes == 1 && data[0] == '\r')
		return 0;
	if (nbytes > 1 && data[0] == '\r' && data[1] == '\n')
		return 2;
	n = take_number(data, nbytes, RESP_FIRST_BYTE, word, &count);
	if (n == 0)
		return 0;
	if (count > RESP_WORDS_MAX)
		return fail(word);
	if (count > 0) {
		parser->index = 0;
		parser->count = (uint32_t)count;
		parser->state = RESP_AT_LENGTH;
	}
	return n;
}

static size_t
begin_word(struct resp_parser *parser, size_t longest, const uint8_t *data,
    size_t nbytes, struct resp_word *word)
{
	int64_t length;
	size_t n = take_number(data, nbytes, '$', word, &length);

	if (n == 0)
		return 0;
	if (length < 0 || length > LENGTH_MAX)
		return fail(word);
	parser->nbytes = (uint64_t)length;
	parser->state = RESP_AT_BYTES;
	if (parser->nbytes > longest) {
		parser->nbytes += 2;
		parser->state = RESP_AT_SKIP;
	}
	return n;
}

static size_t
take_bytes(const struct resp_parser *parser, const uint8_t *data, size_t nbytes,
    struct resp_word *word)
{
	size_t n = (size_t)parser->nbytes;

	if (nbytes < n + 2)
		return 0;
	if (data[n] != '\r' || data[n + 1] != '\n')
		return fail(word);
	word->event = RESP_WORD;
	word->bytes = (struct bytes){ data, n };
	return n + 2;
}

static size_t
skip_bytes(struct resp_parser *parser, size_t nbytes, struct resp_word *word)
{
	size_t n = parser->nbytes < nbytes ? (size_t)parser->nbytes : nbytes;

	parser->nbytes -= n;
	if (parser->nbytes == 0)
		word->event = RESP_LONG;
	return n;
}

size_t
resp_next(struct resp_parser *parser, size_t longest, const uint8_t *data,
    size_t nbytes, struct resp_word *word)
{
	size_t at = 0, n = 0;

	*word = (struct resp_word){ .event = RESP_MORE };
	do {
		const uint8_t *rest = data + at;
		size_t left = nbytes - at;

		switch (parser->state) {
		case RESP_AT_ARRAY:
			n = begin_request(parser, rest, left, word);
			break;
		case RESP_AT_LENGTH:
			n = begin_word(parser, longest, rest, left, word);
			break;
		case RESP_AT_BYTES:
			n = take_bytes(parser, rest, left, word);
			break;
		case RESP_AT_SKIP:
			n = skip_bytes(parser, left, word);
			break;
		}
		at += n;
	} while (n > 0 && word->event == RESP_MORE);
	if (word->event == RESP_WORD || word->event == RESP_LONG) {
		word->index = parser->index++;
		word->count = parser->count;
		if (parser->index < parser->count)
			parser->state = RESP_AT_LENGTH;
		else
			parser->state = RESP_AT_ARRAY;
	}
	return at;
}
