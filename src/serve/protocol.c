/*
 * A request whose value hasn't arrived is parsed again from its first byte
 * when more bytes arrive: lines are short, and no state has to be kept. Only
 * the search for the end of a line continues where it stopped.
 */
#include "serve/protocol.h"

#include <string.h>

#define WORDS_MAX 8
/* Verb, flags, times, lengths and blanks, besides the key. */
#define LINE_REST 256

/* A line, and the bytes after it. */
struct line {
	const struct row *row; /* of its verb */
	struct protocol *protocol;
	const struct protocol_limits *limits;
	struct bytes word[WORDS_MAX];
	unsigned count; /* words beyond WORDS_MAX are counted, not kept */
	struct bytes rest;
};

struct row {
	const char *word;
	enum verb verb;
	/* Returns how many bytes after the line belong to the request. */
	size_t (*parse)(const struct line *line, struct request *request);
	unsigned least;  /* words, with the verb */
	unsigned before_noreply; /* if there are so many, noreply may follow */
	const char *reply; /* why it is refused */
};

/* The first byte of each request in memcached's binary protocol. */
#define BINARY_MAGIC 0x80

/* The next word of *rest, which is advanced past it; empty at the end. */
static struct bytes
next_word(struct bytes *rest)
{
	const uint8_t *p = rest->data, *end = p + rest->nbytes, *start;

	while (p < end && *p == ' ')
		p++;
	start = p;
	while (p < end && *p != ' ')
		p++;
	rest->data = p;
	rest->nbytes = (size_t)(end - p);
	return (struct bytes){ start, (size_t)(p - start) };
}

static void
split(struct line *line, struct bytes text)
{
	struct bytes word;

	while ((word = next_word(&text)).nbytes > 0) {
		if (line->count < WORDS_MAX)
			line->word[line->count] = word;
		line->count++;
	}
}

static size_t
fail(struct request *request, const char *reply)
{
	request->verb = VERB_FAILED;
	request->reply = reply;
	return 0;
}

static size_t
malformed(struct request *request)
{
	return fail(request, "CLIENT_ERROR bad command line format");
}

/* The length of "\n" or "\r\n" at p; 0 if neither, -1 if not known yet. */
static int
end_of_line(const uint8_t *p, size_t nbytes)
{
	if (nbytes == 0)
		return -1;
	if (*p == '\n')
		return 1;
	if (*p != '\r')
		return 0;
	return nbytes == 1 ? -1 : p[1] == '\n' ? 2 : 0;
}

/*
 * The value after a line. Returns how many bytes it takes; if the request has
 * failed, or the value is too long, the value is skipped as it arrives.
 */
static size_t
take_value(const struct line *line, uint64_t length, struct request *request)
{
	struct bytes rest = line->rest;
	int end;

	if (request->verb != VERB_FAILED && length > line->limits->value)
		fail(request, "CLIENT_ERROR object too large");
	if (request->verb == VERB_FAILED) {
		line->protocol->state = PROTOCOL_SKIP_VALUE;
		line->protocol->skip = length;
		return 0;
	}
	end = rest.nbytes < length ? -1 :
	    end_of_line(rest.data + length, rest.nbytes - (size_t)length);
	if (end < 0) {
		request->verb = VERB_MORE;
		return 0;
	}
	if (end == 0) {
		fail(request, "CLIENT_ERROR bad data chunk");
		line->protocol->state = PROTOCOL_SKIP_LINE;
		return (size_t)length;
	}
	request->value = (struct bytes){ rest.data, (size_t)length };
	return (size_t)length + (size_t)end;
}

/* "VERB KEY FLAGS TIME LENGTH [noreply]" and a value. */
static size_t
parse_storage(const struct line *line, struct request *request)
{
	const struct bytes *word = line->word;
	unsigned fixed = line->row->least;
	int64_t number, length;

	request->noreply = line->count == fixed + 1 &&
	    bytes_are(word[fixed], "noreply");
	if (line->count != fixed + (unsigned)request->noreply ||
	    bytes_to_integer(word[2], 0, &number) < 0 ||
	    bytes_to_integer(word[3], 1, &number) < 0 ||
	    bytes_to_integer(word[4], 0, &length) < 0)
		return malformed(request);
	request->key = word[1];
	if (word[1].nbytes > line->limits->key && request->verb != VERB_FAILED)
		fail(request, "CLIENT_ERROR key too long");
	return take_value(line, (uint64_t)length, request);
}

/* Up to two words after the verb, and "noreply" after them. */
static size_t
parse_words(const struct line *line, struct request *request)
{
	unsigned count = line->count;

	if (count < line->row->least)
		return fail(request, "ERROR");
	request->noreply = count > line->row->before_noreply &&
	    count <= WORDS_MAX && bytes_are(line->word[count - 1], "noreply");
	count -= (unsigned)request->noreply;
	if (request->verb == VERB_FAILED)
		return 0;
	if (count > 3)
		return malformed(request);
	if (count > 2)
		request->value = line->word[2];
	if (count > 1)
		request->key = line->word[1];
	if (request->key.nbytes > line->limits->key)
		return fail(request, "CLIENT_ERROR key too long");
	return 0;
}

/* The numbers after cachedump mean nothing here. */
static size_t
parse_stats(const struct line *line, struct request *request)
{
	struct line some = *line;

	if (line->count == 4 && bytes_are(line->word[1], "cachedump"))
		some.count = 2;
	return parse_words(&some, request);
}

/* "delete KEY", and a time of 0 from older clients. */
static size_t
parse_delete(const struct line *line, struct request *request)
{
	parse_words(line, request);
	if (request->verb == VERB_DELETE && request->value.nbytes > 0 &&
	    !bytes_are(request->value, "0"))
		return malformed(request);
	return 0;
}

/* version and quit take no words. */
static size_t
parse_alone(const struct line *line, struct request *request)
{
	if (line->count > 1)
		return fail(request, "ERROR");
	request->hang_up = request->verb == VERB_QUIT;
	return 0;
}

/* HTTP: any web page can make a browser send requests to this machine. */
static size_t
hang_up(const struct line *line, struct request *request)
{
	(void)line;
	request->hang_up = 1;
	return 0;
}

#define NO_VALUES "CLIENT_ERROR a filter keeps no values"
#define NO_TIMES "CLIENT_ERROR a filter has no times"

static const struct row rows[] = {
	{ "set", VERB_SET, parse_storage, 5, 5, NULL },
	{ "add", VERB_ADD, parse_storage, 5, 5, NULL },
	{ "replace", VERB_REPLACE, parse_storage, 5, 5, NULL },
	{ "append", VERB_FAILED, parse_storage, 5, 5, NO_VALUES },
	{ "prepend", VERB_FAILED, parse_storage, 5, 5, NO_VALUES },
	{ "cas", VERB_FAILED, parse_storage, 6, 6, NO_VALUES },
	{ "delete", VERB_DELETE, parse_delete, 2, 2, NULL },
	{ "stats", VERB_STATS, parse_stats, 1, 2, NULL },
	{ "try", VERB_TRY, parse_words, 2, 2, NULL },
	{ "setmem", VERB_SETMEM, parse_words, 2, 2, NULL },
	{ "version", VERB_VERSION, parse_alone, 1, 1, NULL },
	{ "verbosity", VERB_VERBOSITY, parse_words, 2, 1, NULL },
	{ "quit", VERB_QUIT, parse_alone, 1, 1, NULL },
	{ "incr", VERB_FAILED, parse_words, 1, 1, NO_VALUES },
	{ "decr", VERB_FAILED, parse_words, 1, 1, NO_VALUES },
	{ "touch", VERB_FAILED, parse_words, 1, 1, NO_TIMES },
	{ "gat", VERB_FAILED, parse_words, 1, 1, NO_TIMES },
	{ "gats", VERB_FAILED, parse_words, 1, 1, NO_TIMES },
	{ "flush_all", VERB_FAILED, parse_words, 1, 1,
	    "CLIENT_ERROR filters are deleted one by one" },
	{ "help", VERB_FAILED, parse_words, 1, 1, "CLIENT_ERROR requests: add,"
	    " set, get, gets, replace, delete, stats, try, setmem, version,"
	    " quit; see SERVING in bloomdedup(1)" },
	{ "GET", VERB_FAILED, hang_up, 1, 1, "" },
	{ "HEAD", VERB_FAILED, hang_up, 1, 1, "" },
	{ "POST", VERB_FAILED, hang_up, 1, 1, "" },
	{ "PUT", VERB_FAILED, hang_up, 1, 1, "" },
	{ "DELETE", VERB_FAILED, hang_up, 1, 1, "" },
	{ "OPTIONS", VERB_FAILED, hang_up, 1, 1, "" },
	{ "Host:", VERB_FAILED, hang_up, 1, 1, "" },
};
#define ROWS (sizeof rows / sizeof *rows)

/*
 * The next key of a get line; the blank or \n after it is left for the next
 * call, which takes the absence of a key for the end of the line.
 */
static size_t
next_key(struct protocol *protocol, const struct protocol_limits *limits,
    const uint8_t *data, size_t nbytes, struct request *request)
{
	size_t start = 0, end, key_end, limit;

	while (start < nbytes && data[start] == ' ')
		start++;
	/* a key, and the \r that may follow it */
	limit = nbytes - start < limits->key + 2 ? nbytes :
	    start + limits->key + 2;
	end = start + protocol->searched;
	while (end < limit && data[end] != ' ' && data[end] != '\n')
		end++;
	protocol->searched = 0;
	if (end == nbytes && end - start < limits->key + 2) {
		protocol->searched = end - start;
		request->verb = VERB_MORE;
		return start;
	}
	key_end = end;
	if (key_end > start && end < limit && data[end] == '\n' &&
	    data[end - 1] == '\r')
		key_end--;
	if (key_end - start > limits->key) {
		protocol->state = PROTOCOL_SKIP_LINE;
		fail(request, "CLIENT_ERROR key too long");
		return end;
	}
	if (key_end == start) {
		request->verb = VERB_GET_END;
		if (protocol->state == PROTOCOL_FIRST_KEY)
			fail(request, "ERROR");
		protocol->state = PROTOCOL_LINE;
		return end + 1;
	}
	protocol->state = PROTOCOL_KEYS;
	request->verb = VERB_GET;
	request->with_cas = protocol->with_cas;
	request->key = (struct bytes){ data + start, key_end - start };
	return end;
}

/* Bytes of the verb and the blank after it; 0 if it is not a get line. */
static size_t
begin_get(struct protocol *protocol, const uint8_t *data, size_t nbytes)
{
	if (nbytes < 4 || memcmp(data, "get", 3) != 0)
		return 0;
	protocol->with_cas = data[3] == 's';
	if (data[3] != ' ' && (!protocol->with_cas || nbytes < 5 ||
	    data[4] != ' '))
		return 0;
	protocol->state = PROTOCOL_FIRST_KEY;
	protocol->searched = 0;
	return protocol->with_cas ? 5 : 4;
}

static size_t
skip_line(struct protocol *protocol, const uint8_t *data, size_t nbytes)
{
	const uint8_t *end = memchr(data, '\n', nbytes);

	if (end == NULL)
		return nbytes;
	protocol->state = PROTOCOL_LINE;
	return (size_t)(end - data) + 1;
}

/* Skip the value, then the rest of its line, whatever it is. */
static size_t
skip_value(struct protocol *protocol, size_t nbytes)
{
	if (protocol->skip > nbytes) {
		protocol->skip -= nbytes;
		return nbytes;
	}
	protocol->state = PROTOCOL_SKIP_LINE;
	return (size_t)protocol->skip;
}

/* Find the line at `data`; *line excludes its line end, *nbytes includes it. */
static int
find_line(struct protocol *protocol, const uint8_t *data, size_t *nbytes,
    struct bytes *line)
{
	const uint8_t *end = memchr(data + protocol->searched, '\n',
	    *nbytes - protocol->searched);

	if (end == NULL) {
		protocol->searched = *nbytes;
		return 0;
	}
	protocol->searched = 0;
	*nbytes = (size_t)(end - data) + 1;
	*line = (struct bytes){ data, *nbytes - 1 };
	if (line->nbytes > 0 && end[-1] == '\r')
		line->nbytes--;
	return 1;
}

static size_t
parse_line(struct line *line, struct bytes text, struct request *request)
{
	split(line, text);
	for (size_t i = 0; line->count > 0 && i < ROWS; i++) {
		if (!bytes_are(line->word[0], rows[i].word))
			continue;
		line->row = &rows[i];
		request->verb = rows[i].verb;
		request->reply = rows[i].reply;
		return rows[i].parse(line, request);
	}
	return fail(request, "ERROR");
}

/* A request that begins here, other than a get. */
static size_t
next_line(struct protocol *protocol, const struct protocol_limits *limits,
    const uint8_t *data, size_t nbytes, struct request *request)
{
	size_t found = nbytes, taken;
	struct line line = { .protocol = protocol, .limits = limits };
	struct bytes text;

	if (nbytes > 0 && data[0] == BINARY_MAGIC) {
		request->hang_up = 1;
		fail(request, "");
		return nbytes;
	}
	if (!find_line(protocol, data, &found, &text) &&
	    found <= limits->key + LINE_REST)
		return 0;
	if (found > limits->key + LINE_REST) {
		request->hang_up = 1;
		fail(request, "CLIENT_ERROR line too long");
		return nbytes;
	}
	line.rest = (struct bytes){ data + found, nbytes - found };
	taken = parse_line(&line, text, request);
	return request->verb == VERB_MORE ? 0 : found + taken;
}

size_t
protocol_next(struct protocol *protocol, const struct protocol_limits *limits,
    const uint8_t *data, size_t nbytes, struct request *request)
{
	size_t at = 0;

	*request = (struct request){ .verb = VERB_MORE };
	if (protocol->state == PROTOCOL_SKIP_VALUE)
		at += skip_value(protocol, nbytes);
	if (protocol->state == PROTOCOL_SKIP_LINE)
		at += skip_line(protocol, data + at, nbytes - at);
	if (protocol->state == PROTOCOL_LINE)
		at += begin_get(protocol, data + at, nbytes - at);
	switch (protocol->state) {
	case PROTOCOL_FIRST_KEY:
	case PROTOCOL_KEYS:
		return at + next_key(protocol, limits, data + at, nbytes - at,
		    request);
	case PROTOCOL_LINE:
		return at + next_line(protocol, limits, data + at, nbytes - at,
		    request);
	default:
		return at;
	}
}

size_t
protocol_bytes_max(const struct protocol_limits *limits)
{
	return limits->key + LINE_REST + limits->value + 2;
}
