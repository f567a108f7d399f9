/*
 * A request whose value hasn't arrived is parsed again from its first byte
 * when more bytes arrive: lines are short, and no state has to be kept. Only
 * the search for the end of a line continues where it stopped.
 */
#include "serve/protocol.h"

#include <string.h>

#define WORDS_MAX 8
/* Verb, key, flags, time and length. */
#define STORAGE_WORDS 5
/* Verb, flags, times, lengths and blanks, besides the key. */
#define LINE_REST 256
#define MALFORMED "CLIENT_ERROR bad command line format"

/* A line, and the bytes after it. */
struct line {
	const struct row *row;
	struct protocol *protocol;
	const struct protocol_limits *limits;
	struct bytes text;  /* the rest of it, without its end */
	struct bytes word[WORDS_MAX]; /* first, the verb */
	unsigned count; /* words beyond WORDS_MAX are counted, not kept */
	struct bytes rest;
};

struct row {
	const char *word;
	enum verb verb;
	/*
	 * Returns how many bytes after the line belong to the request. NULL:
	 * this is no request, so hang up.
	 */
	size_t (*parse)(struct line *line, struct request *request);
	unsigned least;    /* least number of words, with the verb */
	const char *reply; /* the reply to a line with fewer words */
};

static void
split_line(struct line *line)
{
	struct bytes word;

	while ((word = bytes_next_word(&line->text)).nbytes > 0) {
		if (line->count < WORDS_MAX)
			line->word[line->count] = word;
		line->count++;
	}
}

static size_t
refuse_line(struct request *request, const char *reply)
{
	request->verb = VERB_FAILED;
	request->reply = reply;
	return 0;
}

/*
 * The length of the \r\n at p, behind a value; 0 if there is something else, -1
 * if that is not known yet.
 */
static int
end_of_value(const uint8_t *p, size_t nbytes)
{
	if (nbytes == 0 || (nbytes == 1 && *p == '\r'))
		return -1;
	return nbytes > 1 && p[0] == '\r' && p[1] == '\n' ? 2 : 0;
}

/*
 * Which length has the value behind a malformed line? It is the fifth word, or
 * if a key with a blank has moved it, the last one, before the token of "cas".
 * Returns -1 if no word tells: then no value is expected.
 */
static int64_t
announced_length(const struct line *line)
{
	int64_t number, length = -1;
	unsigned last = line->count < WORDS_MAX ? line->count : WORDS_MAX;

	if (last < STORAGE_WORDS)
		return -1;
	if (bytes_to_integer(line->word[2], 0, &number) == 0 &&
	    bytes_to_integer(line->word[3], 1, &number) == 0 &&
	    bytes_to_integer(line->word[4], 0, &length) == 0)
		return length;
	if (last < line->row->least)
		return -1;
	last -= line->row->least - STORAGE_WORDS;
	if (bytes_to_integer(line->word[last - 1], 0, &length) == 0)
		return length;
	return -1;
}

/* Take "noreply" off the end of the line's words, if more than `least` stay. */
static void
take_noreply(struct line *line, unsigned least, struct request *request)
{
	if (line->count > least && line->count <= WORDS_MAX &&
	    bytes_are(line->word[line->count - 1], "noreply")) {
		request->noreply = 1;
		line->count--;
	}
}

/* The value of a request that has failed is skipped as it arrives. */
static void
skip_value(struct line *line, int64_t length)
{
	if (length < 0)
		return;
	line->protocol->state = PROTOCOL_SKIP_VALUE;
	line->protocol->skip = (uint64_t)length;
}

/* Parse "VERB KEY FLAGS TIME LENGTH [noreply]", which a value follows. */
static size_t
parse_storage(struct line *line, struct request *request)
{
	const struct bytes *word = line->word;
	int64_t number, length;
	size_t nbytes;
	int end = -1;

	split_line(line);
	take_noreply(line, STORAGE_WORDS, request);
	if (line->count != line->row->least ||
	    bytes_to_integer(word[2], 0, &number) < 0 ||
	    bytes_to_integer(word[3], 1, &request->time) < 0 ||
	    bytes_to_integer(word[4], 0, &length) < 0) {
		skip_value(line, announced_length(line));
		return refuse_line(request, MALFORMED);
	}
	request->key = word[1];
	if (request->verb != VERB_FAILED && word[1].nbytes > line->limits->key)
		refuse_line(request, "CLIENT_ERROR key too long");
	if (request->verb != VERB_FAILED &&
	    (uint64_t)length > line->limits->value)
		refuse_line(request, "CLIENT_ERROR object too large");
	if (request->verb == VERB_FAILED) {
		skip_value(line, length);
		return 0;
	}
	nbytes = (size_t)length;
	if (line->rest.nbytes >= nbytes)
		end = end_of_value(line->rest.data + nbytes,
		    line->rest.nbytes - nbytes);
	if (end < 0) {
		request->verb = VERB_MORE;
		return 0;
	}
	if (end == 0) {
		refuse_line(request, "CLIENT_ERROR bad data chunk");
		line->protocol->state = PROTOCOL_SKIP_LINE;
		return nbytes;
	}
	request->value = (struct bytes){ line->rest.data, nbytes };
	return nbytes + (size_t)end;
}

/* Parse up to two words after the verb, and "noreply". */
static size_t
parse_words(struct line *line, struct request *request)
{
	/* the word after the verb may be the name of a filter, which may be
	   called noreply */
	unsigned least = 2;

	if (request->verb == VERB_FAILED || request->verb == VERB_VERBOSITY)
		least = 1;
	split_line(line);
	take_noreply(line, least, request);
	if (request->verb == VERB_FAILED)
		return 0;
	if (line->count < line->row->least)
		return refuse_line(request, "ERROR");
	/* stats cachedump has two numbers, which mean nothing here */
	if (line->count == 4 && request->verb == VERB_STATS &&
	    bytes_are(line->word[1], "cachedump"))
		line->count = 2;
	if (line->count > 3)
		return refuse_line(request, MALFORMED);
	if (line->count > 2)
		request->value = line->word[2];
	if (line->count > 1)
		request->key = line->word[1];
	if (request->key.nbytes > line->limits->key)
		return refuse_line(request, "CLIENT_ERROR key too long");
	return 0;
}

/* Parse "verbosity LEVEL [noreply]". */
static size_t
parse_verbosity(struct line *line, struct request *request)
{
	int64_t level;

	parse_words(line, request);
	if (request->verb == VERB_VERBOSITY && (line->count > 2 ||
	    bytes_to_integer(request->key, 0, &level) < 0))
		return refuse_line(request, MALFORMED);
	return 0;
}

/* Parse "touch KEY TIME [noreply]". */
static size_t
parse_touch(struct line *line, struct request *request)
{
	parse_words(line, request);
	if (request->verb == VERB_TOUCH &&
	    bytes_to_integer(request->value, 1, &request->time) < 0)
		return refuse_line(request,
		    "CLIENT_ERROR invalid exptime argument");
	return 0;
}

/* get: its keys are left together, since they may be many. Others: no words. */
static size_t
parse_rest(struct line *line, struct request *request)
{
	int get = request->verb == VERB_GET;

	request->key = bytes_after_blanks(line->text);
	request->with_cas = get && line->word[0].nbytes == 4;
	if ((request->key.nbytes > 0) != get)
		return refuse_line(request, "ERROR");
	request->hang_up = request->verb == VERB_QUIT ||
	    request->verb == VERB_REDIS_QUIT;
	return 0;
}

#define NO_VALUES "CLIENT_ERROR a filter keeps no values"

/* The model in tests/fuzz/protocol.c has them, too. */
static const struct row rows[] = {
	{ "set", VERB_SET, parse_storage, STORAGE_WORDS, NULL },
	{ "add", VERB_ADD, parse_storage, STORAGE_WORDS, NULL },
	{ "get", VERB_GET, parse_rest, 2, NULL },
	{ "gets", VERB_GET, parse_rest, 2, NULL },
	{ "replace", VERB_REPLACE, parse_storage, 5, NULL },
	{ "append", VERB_FAILED, parse_storage, 5, NO_VALUES },
	{ "prepend", VERB_FAILED, parse_storage, 5, NO_VALUES },
	{ "cas", VERB_FAILED, parse_storage, 6, NO_VALUES },
	{ "delete", VERB_DELETE, parse_words, 2, NULL },
	{ "touch", VERB_TOUCH, parse_touch, 3, NULL },
	{ "stats", VERB_STATS, parse_words, 1, NULL },
	{ "try", VERB_TRY, parse_words, 2, NULL },
	{ "setmem", VERB_SETMEM, parse_words, 2, NULL },
	{ "version", VERB_VERSION, parse_rest, 1, NULL },
	{ "verbosity", VERB_VERBOSITY, parse_verbosity, 2, NULL },
	{ "quit", VERB_QUIT, parse_rest, 1, NULL },
	{ "PING", VERB_PING, parse_rest, 1, NULL },
	{ "ping", VERB_PING, parse_rest, 1, NULL },
	{ "QUIT", VERB_REDIS_QUIT, parse_rest, 1, NULL },
	{ "help", VERB_FAILED, parse_words, 1, PROTOCOL_HELP },
	/* HTTP: any web page can make a browser send requests here */
	{ "GET", VERB_FAILED, NULL, 1, "" },
	{ "HEAD", VERB_FAILED, NULL, 1, "" },
	{ "POST", VERB_FAILED, NULL, 1, "" },
	{ "PUT", VERB_FAILED, NULL, 1, "" },
	{ "DELETE", VERB_FAILED, NULL, 1, "" },
	{ "OPTIONS", VERB_FAILED, NULL, 1, "" },
	{ "Host:", VERB_FAILED, NULL, 1, "" },
};
#define ROWS (sizeof rows / sizeof *rows)

static const struct row unknown = { "", VERB_FAILED, parse_words, 1, "ERROR" };

static const struct row *
find_row(struct bytes word, const struct protocol_limits *limits)
{
	size_t i = 0;

	while (i < ROWS && !bytes_are(word, rows[i].word))
		i++;
	if (i == ROWS || (rows[i].verb == VERB_TOUCH && !limits->touch))
		return &unknown;
	return &rows[i];
}

/* How long the line that begins at `data` may be. */
static size_t
line_bytes_max(const struct protocol_limits *limits, const uint8_t *data,
    size_t nbytes)
{
	size_t most = limits->key + LINE_REST;

	/* The keys of a get may be as long, together, as a value. */
	if (nbytes >= 3 && memcmp(data, "get", 3) == 0)
		most += limits->value;
	return most;
}

static size_t
next_request(struct protocol *protocol, const struct protocol_limits *limits,
    const uint8_t *data, size_t nbytes, struct request *request)
{
	const uint8_t *end = memchr(data + protocol->searched, '\n',
	    nbytes - protocol->searched);
	size_t most = line_bytes_max(limits, data, nbytes);
	size_t found = end == NULL ? nbytes : (size_t)(end - data) + 1, taken;
	struct line line = { .protocol = protocol, .limits = limits,
		.rest = { data + found, nbytes - found } };

	protocol->searched = end == NULL ? nbytes : 0;
	if (found > most) {
		request->hang_up = 1;
		refuse_line(request, "CLIENT_ERROR line too long");
		return nbytes;
	}
	if (end == NULL)
		return 0;
	line.text = (struct bytes){ data, (size_t)(end - data) };
	line.text.nbytes -= end > data && end[-1] == '\r';
	line.word[line.count++] = bytes_next_word(&line.text);
	line.row = find_row(line.word[0], limits);
	request->verb = line.row->verb;
	request->reply = line.row->reply;
	if (line.row->parse == NULL) {
		request->hang_up = 1;
		return found;
	}
	taken = line.row->parse(&line, request);
	return request->verb == VERB_MORE ? 0 : found + taken;
}

size_t
protocol_next(struct protocol *protocol, const struct protocol_limits *limits,
    const uint8_t *data, size_t nbytes, struct request *request)
{
	const uint8_t *end;
	size_t at = 0;

	*request = (struct request){ .verb = VERB_MORE };
	if (protocol->state == PROTOCOL_SKIP_VALUE) {
		at = protocol->skip < nbytes ? (size_t)protocol->skip : nbytes;
		protocol->skip -= at;
		/* What is left of the line is skipped, too. */
		if (protocol->skip == 0)
			protocol->state = PROTOCOL_SKIP_LINE;
	}
	if (protocol->state == PROTOCOL_SKIP_LINE) {
		end = memchr(data + at, '\n', nbytes - at);
		at = end == NULL ? nbytes : (size_t)(end - data) + 1;
		if (end != NULL)
			protocol->state = PROTOCOL_LINE;
	}
	if (protocol->state == PROTOCOL_LINE)
		at += next_request(protocol, limits, data + at, nbytes - at,
		    request);
	return at;
}

size_t
protocol_bytes_max(const struct protocol_limits *limits)
{
	return limits->key + LINE_REST + limits->value + 2;
}
