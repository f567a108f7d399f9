/*
 * Requests in memcached's protocol, from a stream that arrives in pieces of any
 * size, against a model that has all of it before it and goes byte by byte.
 *
 *     longest key (mod 64, one more), longest value (mod 64; if the byte is 64
 *     or more, touch is a request),
 *     number of pieces (mod 32), and each: bytes of it, less one,
 *     the stream
 *
 * The model has the verbs, and which words they take, a second time: a row that
 * is added in serve/protocol.c must be added here.
 */
#include "stream.h"
#include "serve/protocol.h"

#define REST 256 /* of a line, besides the key */

/* A parser answers with any verb but the last one. */
static const char *const names[] = {
	[VERB_MORE] = "more",
	[VERB_GET] = "get",
	[VERB_SET] = "set",
	[VERB_ADD] = "add",
	[VERB_REPLACE] = "replace",
	[VERB_DELETE] = "delete",
	[VERB_TOUCH] = "touch",
	[VERB_STATS] = "stats",
	[VERB_TRY] = "try",
	[VERB_SETMEM] = "setmem",
	[VERB_VERSION] = "version",
	[VERB_VERBOSITY] = "verbosity",
	[VERB_QUIT] = "quit",
	[VERB_PING] = "PING",
	[VERB_REDIS_QUIT] = "QUIT",
	[VERB_FAILED] = "failed"
};
_Static_assert(sizeof names / sizeof *names == VERB_GET_END,
    "each verb that the parser answers with has a name");

static void
put_request(struct events *events, const struct request *r)
{
	char flags[] = { ' ', r->with_cas ? 'c' : '-', r->noreply ? 'n' : '-',
		r->hang_up ? 'h' : '-', '\n', '\0' };
	char time[30];

	put_text(events, names[r->verb]);
	put_text(events, " [");
	put(events, r->key.data, r->verb == VERB_FAILED ? 0 : r->key.nbytes);
	put_text(events, "] [");
	put(events, r->value.data,
	    r->verb == VERB_FAILED ? 0 : r->value.nbytes);
	put_text(events, "] ");
	put_text(events, r->reply == NULL ? "" : r->reply);
	snprintf(time, sizeof time, " %lld", r->verb == VERB_FAILED ? 0 :
	    (long long)r->time);
	put_text(events, time);
	put_text(events, flags);
}

/* The model. */

static size_t at;
static size_t key_max, value_max;
static int touch;

/* The line at `at`, which is moved behind it; 0 if it isn't whole. */
static int
model_line(struct bytes *line)
{
	size_t i = at;

	while (i < stream_bytes && stream[i] != '\n')
		i++;
	if (i == stream_bytes)
		return 0;
	*line = (struct bytes){ stream + at, i - at };
	if (i > at && stream[i - 1] == '\r')
		line->nbytes--;
	at = i + 1;
	return 1;
}

static unsigned
model_words(struct bytes line, struct bytes words[512])
{
	unsigned count = 0;

	for (size_t i = 0; i < line.nbytes; i++) {
		if (line.data[i] == ' ')
			continue;
		if (i == 0 || line.data[i - 1] == ' ')
			words[count++] = (struct bytes){ line.data + i, 0 };
		words[count - 1].nbytes++;
	}
	return count;
}

static int
is(struct bytes word, const char *text)
{
	return word.nbytes == strlen(text) &&
	    memcmp(word.data, text, word.nbytes) == 0;
}

static int
digits(struct bytes word, int sign)
{
	size_t i = sign && word.nbytes > 1 && word.data[0] == '-';
	size_t n = word.nbytes - i;

	for (; i < word.nbytes; i++) {
		if (word.data[i] < '0' || word.data[i] > '9')
			return 0;
	}
	return n > 0 && n <= 18;
}

static void
model_skip(size_t nbytes)
{
	struct bytes rest;

	if (stream_bytes - at < nbytes)
		at = stream_bytes;
	else
		at += nbytes;
	if (!model_line(&rest))
		at = stream_bytes;
}

/* Returns 0 where the stream ends. */
static int
model_storage(struct events *events, const struct bytes *words,
    unsigned count, struct request *r)
{
	unsigned fixed = is(words[0], "cas") ? 6 : 5;
	unsigned long long length;
	size_t value = at;

	r->noreply = count > 5 && count <= 8 && is(words[count - 1], "noreply");
	count -= (unsigned)r->noreply;
	if (count != fixed || !digits(words[2], 0) ||
	    !digits(words[3], 1) || !digits(words[4], 0)) {
		/* the last word, before the token of cas */
		unsigned last = (count > 8 ? 8 : count) - (fixed - 4);
		int is_there = count >= fixed;

		r->verb = VERB_FAILED;
		r->reply = "CLIENT_ERROR bad command line format";
		put_request(events, r);
		if (count >= 5 && digits(words[2], 0) && digits(words[3], 1) &&
		    digits(words[4], 0)) {
			last = 4;
			is_there = 1;
		}
		if (is_there && digits(words[last], 0))
			model_skip((size_t)strtoull((const char *)
			    words[last].data, NULL, 10));
		return 1;
	}
	r->time = strtoll((const char *)words[3].data, NULL, 10);
	length = strtoull((const char *)words[4].data, NULL, 10);
	r->key = words[1];
	if (r->verb != VERB_FAILED && words[1].nbytes > key_max) {
		r->verb = VERB_FAILED;
		r->reply = "CLIENT_ERROR key too long";
	}
	if (r->verb != VERB_FAILED && length > value_max) {
		r->verb = VERB_FAILED;
		r->reply = "CLIENT_ERROR object too large";
	}
	if (r->verb == VERB_FAILED) {
		put_request(events, r);
		model_skip((size_t)length);
		return 1;
	}
	if (stream_bytes - at < length)
		return 0;
	r->value = (struct bytes){ stream + at, (size_t)length };
	at += (size_t)length;
	if (at + 1 < stream_bytes && stream[at] == '\r' &&
	    stream[at + 1] == '\n') {
		at += 2;
	} else if (at == stream_bytes ||
	    (at + 1 == stream_bytes && stream[at] == '\r')) {
		at = value;
		return 0;
	} else {
		r->verb = VERB_FAILED;
		r->reply = "CLIENT_ERROR bad data chunk";
		model_skip(0);
	}
	put_request(events, r);
	return 1;
}

static void
model_get(struct events *events, struct bytes line, const struct bytes *words,
    unsigned count, struct request *r)
{
	const uint8_t *end = line.data + line.nbytes;

	r->verb = count > 1 ? VERB_GET : VERB_FAILED;
	r->reply = count > 1 ? NULL : "ERROR";
	r->with_cas = words[0].nbytes == 4;
	if (count > 1)
		r->key = (struct bytes){ words[1].data,
			(size_t)(end - words[1].data) };
	put_request(events, r);
}

static void
model_other(struct events *events, struct bytes *words, unsigned count,
    struct request *r)
{
	static const char *const browsers[] = { "GET", "HEAD", "POST", "PUT",
		"DELETE", "OPTIONS", "Host:" };

	r->verb = VERB_FAILED;
	r->reply = "ERROR";
	r->noreply = count > 1 && count <= 8 && is(words[count - 1], "noreply");
	if (count > 0 && is(words[0], "help"))
		r->reply = PROTOCOL_HELP;
	for (size_t i = 0; count > 0 && i < 7; i++) {
		if (is(words[0], browsers[i])) {
			r->reply = "";
			r->hang_up = 1;
			r->noreply = 0;
		}
	}
	put_request(events, r);
}

/* Verbs with up to two words behind them. */
static void
model_plain(struct events *events, struct bytes *words, unsigned count,
    struct request *r)
{
	unsigned least = 2;

	if (r->verb == VERB_STATS)
		least = 1;
	if (r->verb == VERB_TOUCH)
		least = 3;
	if (r->verb == VERB_VERSION || r->verb == VERB_QUIT ||
	    r->verb == VERB_PING || r->verb == VERB_REDIS_QUIT) {
		r->hang_up = count == 1 && (r->verb == VERB_QUIT ||
		    r->verb == VERB_REDIS_QUIT);
		if (count > 1) {
			r->verb = VERB_FAILED;
			r->reply = "ERROR";
		}
		put_request(events, r);
		return;
	}
	r->noreply = count > (r->verb == VERB_VERBOSITY ? 1 : 2) &&
	    count <= 8 && is(words[count - 1], "noreply");
	count -= (unsigned)r->noreply;
	if (r->verb == VERB_STATS && count == 4 && is(words[1], "cachedump"))
		count = 2;
	if (count > 1)
		r->key = words[1];
	if (count > 2)
		r->value = words[2];
	if (count < least)
		r->reply = "ERROR";
	else if (count > 3)
		r->reply = "CLIENT_ERROR bad command line format";
	else if (count > 1 && words[1].nbytes > key_max)
		r->reply = "CLIENT_ERROR key too long";
	else if (r->verb == VERB_VERBOSITY &&
	    (count > 2 || !digits(words[1], 0)))
		r->reply = "CLIENT_ERROR bad command line format";
	else if (r->verb == VERB_TOUCH && !digits(words[2], 1))
		r->reply = "CLIENT_ERROR invalid exptime argument";
	else if (r->verb == VERB_TOUCH)
		r->time = strtoll((const char *)words[2].data, NULL, 10);
	if (r->reply != NULL)
		r->verb = VERB_FAILED;
	put_request(events, r);
}

/* One request; 0 where the stream ends or the connection does. */
static int
model_request(struct events *events)
{
	static const struct {
		const char *word;
		enum verb verb;
	} verbs[] = { { "set", VERB_SET }, { "add", VERB_ADD },
		{ "replace", VERB_REPLACE }, { "delete", VERB_DELETE },
		{ "stats", VERB_STATS }, { "try", VERB_TRY },
		{ "setmem", VERB_SETMEM }, { "version", VERB_VERSION },
		{ "verbosity", VERB_VERBOSITY }, { "quit", VERB_QUIT },
		{ "touch", VERB_TOUCH }, { "PING", VERB_PING },
		{ "ping", VERB_PING }, { "QUIT", VERB_REDIS_QUIT } };
	static const char *const refused[] = { "append", "prepend", "cas" };
	struct request r = { .verb = VERB_FAILED };
	const size_t start = at;
	struct bytes line, words[512];
	size_t limit = key_max + REST;
	unsigned count;

	if (at == stream_bytes)
		return 0;
	if (stream_bytes - at >= 3 && memcmp(stream + at, "get", 3) == 0)
		limit += value_max;
	if ((!model_line(&line) && stream_bytes - start > limit) ||
	    at - start > limit) {
		r.reply = "CLIENT_ERROR line too long";
		r.hang_up = 1;
		put_request(events, &r);
		return 0;
	}
	if (at == start)
		return 0;
	count = model_words(line, words);
	if (count > 0 && (is(words[0], "get") || is(words[0], "gets"))) {
		model_get(events, line, words, count, &r);
		return 1;
	}
	for (size_t i = 0; count > 0 && i < sizeof verbs / sizeof *verbs; i++) {
		if (!is(words[0], verbs[i].word) ||
		    (verbs[i].verb == VERB_TOUCH && !touch))
			continue;
		r.verb = verbs[i].verb;
		if (i < 3)
			return model_storage(events, words, count, &r);
		model_plain(events, words, count, &r);
		return !r.hang_up;
	}
	for (size_t i = 0; count > 0 && i < 3; i++) {
		if (!is(words[0], refused[i]))
			continue;
		r.reply = "CLIENT_ERROR a filter keeps no values";
		return model_storage(events, words, count, &r);
	}
	model_other(events, words, count, &r);
	return !r.hang_up;
}

static void
model(struct events *events)
{
	at = 0;
	while (model_request(events))
		;
}

/* The parser. */

static struct protocol protocol;

static size_t
parse(struct events *events, const uint8_t *data, size_t nbytes, int *ended)
{
	const struct protocol_limits limits = { key_max, value_max, touch };
	struct request request;
	size_t used = 0;

	do {
		used += protocol_next(&protocol, &limits, data + used,
		    nbytes - used, &request);
		MUST(used <= nbytes);
		if (request.verb != VERB_MORE)
			put_request(events, &request);
	} while (request.verb != VERB_MORE && !request.hang_up);
	*ended = request.hang_up;
	MUST(*ended || nbytes - used <= protocol_bytes_max(&limits));
	return used;
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
	struct input_bytes in = { bytes, nbytes };

	key_max = 1 + take(&in, 1) % 64;
	value_max = take(&in, 1);
	touch = value_max >= 64;
	value_max %= 64;
	protocol = (struct protocol){ 0 };
	compare(&in);
	return 0;
}
