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

struct words {
	struct bytes word[WORDS_MAX];
	unsigned count; /* words beyond WORDS_MAX are counted, not kept */
};

/* Parse a request from the words of its line and the bytes after it. */
typedef size_t handler(struct protocol *protocol,
    const struct protocol_limits *limits, const struct words *words,
    struct bytes rest, struct request *request);

/* The first byte of each request in memcached's binary protocol. */
#define BINARY_MAGIC 0x80

static int
is_word(struct bytes bytes, const char *word)
{
	return bytes.nbytes == strlen(word) &&
	    memcmp(bytes.data, word, bytes.nbytes) == 0;
}

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
split(struct bytes text, struct words *words)
{
	struct bytes word;

	words->count = 0;
	while ((word = next_word(&text)).nbytes > 0) {
		if (words->count < WORDS_MAX)
			words->word[words->count] = word;
		words->count++;
	}
}

/* A whole number without a sign, below 2^63. */
static int
parse_length(struct bytes word, uint64_t *value)
{
	uint64_t sum = 0;

	if (word.nbytes == 0 || word.nbytes > 18)
		return -1;
	for (size_t i = 0; i < word.nbytes; i++) {
		if (word.data[i] < '0' || word.data[i] > '9')
			return -1;
		sum = 10 * sum + (uint64_t)(word.data[i] - '0');
	}
	*value = sum;
	return 0;
}

/* The same for a time, which may be in the past. */
static int
is_integer(struct bytes word)
{
	uint64_t value;

	if (word.nbytes > 1 && word.data[0] == '-') {
		word.data++;
		word.nbytes--;
	}
	return parse_length(word, &value) == 0;
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
take_value(struct protocol *protocol, const struct protocol_limits *limits,
    uint64_t length, struct bytes rest, struct request *request)
{
	int end;

	if (request->verb != VERB_FAILED && length > limits->value)
		fail(request, "CLIENT_ERROR object too large");
	if (request->verb == VERB_FAILED) {
		protocol->state = PROTOCOL_SKIP_VALUE;
		protocol->skip = length;
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
		protocol->state = PROTOCOL_SKIP_LINE;
		return (size_t)length;
	}
	request->value = (struct bytes){ rest.data, (size_t)length };
	return (size_t)length + (size_t)end;
}

/* "VERB KEY FLAGS TIME LENGTH [noreply]" and a value. */
static size_t
parse_storage(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	const struct bytes *word = words->word;
	unsigned fixed = is_word(word[0], "cas") ? 6 : 5;
	uint64_t length;

	request->noreply = words->count == fixed + 1 &&
	    is_word(word[fixed], "noreply");
	if (words->count != fixed + (unsigned)request->noreply ||
	    parse_length(word[2], &length) < 0 || !is_integer(word[3]) ||
	    parse_length(word[4], &length) < 0)
		return malformed(request);
	request->key = word[1];
	if (word[1].nbytes > limits->key && request->verb != VERB_FAILED)
		fail(request, "CLIENT_ERROR key too long");
	return take_value(protocol, limits, length, rest, request);
}

/* Requests that change a value: a filter has none. */
static size_t
refuse_storage(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	fail(request, "CLIENT_ERROR a filter keeps no values");
	return parse_storage(protocol, limits, words, rest, request);
}

/* Up to two words after the verb, and "noreply" after them. */
static size_t
parse_words(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	unsigned count = words->count;

	(void)protocol;
	(void)rest;
	if (count > WORDS_MAX)
		return malformed(request);
	request->noreply = count > 2 &&
	    is_word(words->word[count - 1], "noreply");
	count -= (unsigned)request->noreply;
	if (count > 3)
		return malformed(request);
	if (count > 2)
		request->value = words->word[2];
	if (count > 1)
		request->key = words->word[1];
	if (request->key.nbytes > limits->key)
		return fail(request, "CLIENT_ERROR key too long");
	return 0;
}

/* The numbers after cachedump mean nothing here. */
static size_t
parse_stats(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	struct words some = *words;

	if (words->count == 4 && is_word(words->word[1], "cachedump"))
		some.count = 2;
	return parse_words(protocol, limits, &some, rest, request);
}

static size_t
parse_key(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	if (words->count < 2)
		return fail(request, "ERROR");
	return parse_words(protocol, limits, words, rest, request);
}

/* "delete KEY", and a time of 0 from older clients. */
static size_t
parse_delete(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	size_t n = parse_key(protocol, limits, words, rest, request);

	if (request->verb == VERB_DELETE && request->value.nbytes > 0 &&
	    !is_word(request->value, "0"))
		return malformed(request);
	return n;
}

static size_t
refuse_words(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	static const char *const why[][2] = {
		{ "flush_all", "CLIENT_ERROR filters are deleted one by one" },
		{ "touch", "CLIENT_ERROR a filter has no times" },
		{ "gat", "CLIENT_ERROR a filter has no times" },
		{ "gats", "CLIENT_ERROR a filter has no times" },
		{ "help", "CLIENT_ERROR requests: add, set, get, gets,"
		   " replace, delete, stats, try, setmem, version, quit;"
		   " see SERVING in bloomdedup(1)" },
	};

	parse_words(protocol, limits, words, rest, request);
	/* flush_all takes no word before it. */
	if (words->count == 2)
		request->noreply = is_word(words->word[1], "noreply");
	for (size_t i = 0; i < sizeof why / sizeof *why; i++) {
		if (is_word(words->word[0], why[i][0]))
			return fail(request, why[i][1]);
	}
	return fail(request, "CLIENT_ERROR a filter keeps no values");
}

/* HTTP: any web page can make a browser send requests to this machine. */
static size_t
hang_up(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	(void)protocol;
	(void)limits;
	(void)words;
	(void)rest;
	request->hang_up = 1;
	return fail(request, "");
}

/* version and quit take no words. */
static size_t
parse_alone(struct protocol *protocol, const struct protocol_limits *limits,
    const struct words *words, struct bytes rest, struct request *request)
{
	(void)protocol;
	(void)limits;
	(void)rest;
	if (words->count > 1)
		return fail(request, "ERROR");
	request->hang_up = request->verb == VERB_QUIT;
	return 0;
}

/* noreply may be the only word after verbosity. */
static size_t
parse_verbosity(struct protocol *protocol,
    const struct protocol_limits *limits, const struct words *words,
    struct bytes rest, struct request *request)
{
	if (words->count == 2 && is_word(words->word[1], "noreply")) {
		request->noreply = 1;
		return 0;
	}
	return parse_key(protocol, limits, words, rest, request);
}

static const struct {
	const char *word;
	enum verb verb;
	handler *parse;
} verbs[] = {
	{ "set", VERB_SET, parse_storage },
	{ "add", VERB_ADD, parse_storage },
	{ "replace", VERB_REPLACE, parse_storage },
	{ "delete", VERB_DELETE, parse_delete },
	{ "stats", VERB_STATS, parse_stats },
	{ "try", VERB_TRY, parse_key },
	{ "setmem", VERB_SETMEM, parse_key },
	{ "version", VERB_VERSION, parse_alone },
	{ "verbosity", VERB_VERBOSITY, parse_verbosity },
	{ "quit", VERB_QUIT, parse_alone },
	{ "append", VERB_FAILED, refuse_storage },
	{ "prepend", VERB_FAILED, refuse_storage },
	{ "cas", VERB_FAILED, refuse_storage },
	{ "incr", VERB_FAILED, refuse_words },
	{ "decr", VERB_FAILED, refuse_words },
	{ "touch", VERB_FAILED, refuse_words },
	{ "gat", VERB_FAILED, refuse_words },
	{ "gats", VERB_FAILED, refuse_words },
	{ "flush_all", VERB_FAILED, refuse_words },
	{ "help", VERB_FAILED, refuse_words },
	{ "GET", VERB_FAILED, hang_up },
	{ "HEAD", VERB_FAILED, hang_up },
	{ "POST", VERB_FAILED, hang_up },
	{ "PUT", VERB_FAILED, hang_up },
	{ "DELETE", VERB_FAILED, hang_up },
	{ "OPTIONS", VERB_FAILED, hang_up },
	{ "Host:", VERB_FAILED, hang_up },
};
#define VERBS (sizeof verbs / sizeof *verbs)

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
parse_line(struct protocol *protocol, const struct protocol_limits *limits,
    struct bytes line, struct bytes rest, struct request *request)
{
	struct words words;

	split(line, &words);
	for (size_t i = 0; words.count > 0 && i < VERBS; i++) {
		if (!is_word(words.word[0], verbs[i].word))
			continue;
		request->verb = verbs[i].verb;
		return verbs[i].parse(protocol, limits, &words, rest, request);
	}
	return fail(request, "ERROR");
}

/* A request that begins here, other than a get. */
static size_t
next_line(struct protocol *protocol, const struct protocol_limits *limits,
    const uint8_t *data, size_t nbytes, struct request *request)
{
	size_t found = nbytes, taken;
	struct bytes line;

	if (nbytes > 0 && data[0] == BINARY_MAGIC) {
		request->hang_up = 1;
		fail(request, "");
		return nbytes;
	}
	if (!find_line(protocol, data, &found, &line) &&
	    found <= limits->key + LINE_REST)
		return 0;
	if (found > limits->key + LINE_REST) {
		request->hang_up = 1;
		fail(request, "CLIENT_ERROR line too long");
		return nbytes;
	}
	taken = parse_line(protocol, limits, line, (struct bytes){
	    data + found, nbytes - found }, request);
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
