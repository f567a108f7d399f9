/*
 * Requests in Redis' protocol (RESP 2 and 3), each an array of bulk strings.
 * Turns bytes, as they arrive, into the words of requests (resp_session.c).
 * Knows nothing of sockets and filters.
 *
 * Words are handed out one by one, so that a request with very many of them may
 * be longer than any buffer. A word that is too long is skipped, and handed out
 * without its bytes. Bytes that cannot be a request are an error after which
 * nothing can be read.
 *
 * Source: "Redis serialization protocol specification".
 */
#ifndef SERVE_RESP_H
#define SERVE_RESP_H

#include <stddef.h>
#include <stdint.h>

#include "serve/buffer.h"

/* The longest line with a number: a mark, 20 digits, \r\n. */
#define RESP_HEAD_MAX 32
/* The most words of a request, as in Redis; resp_session.c says so. */
#define RESP_WORDS_MAX 1048576

enum resp_event {
	RESP_MORE,   /* no whole word yet: call again with more bytes */
	RESP_WORD,   /* a word, in `bytes` */
	RESP_LONG,   /* a word that is too long: its bytes were skipped */
	RESP_BROKEN, /* this is no request: nothing more can be read */
	RESP_TOO_MANY /* it has too many words: nothing more can be read */
};

struct resp_word {
	enum resp_event event;
	struct bytes bytes; /* the word, as a part of the data that was read */
	uint32_t index; /* its number in the request, from 0 */
	uint32_t count; /* the number of words that the request has */
};

/* The state of parsing a connection; all zero at its beginning. */
struct resp_parser {
	enum {
		RESP_AT_ARRAY,  /* a request begins */
		RESP_AT_LENGTH, /* the length of a word is next */
		RESP_AT_BYTES,  /* the bytes of a word are next */
		RESP_AT_SKIP    /* the rest of a word that is too long */
	} state;
	uint32_t index, count; /* `index` and `count` of the next resp_word */
	uint64_t nbytes;       /* bytes of the next word, or bytes still to
			        * skip */
};

/*
 * Take the next word, of at most `longest` bytes, from the bytes that arrived
 * and are not consumed yet. Returns how many bytes it consumed, also with
 * RESP_MORE; the next call begins after them. The word points into `data`.
 *
 * After RESP_MORE, the caller must keep the bytes not consumed, and pass them
 * again at the beginning of `data` with more after them: fewer than `longest` +
 * 2, or than RESP_HEAD_MAX if that is more.
 */
size_t resp_next(struct resp_parser *parser, size_t longest,
    const uint8_t *data, size_t nbytes, struct resp_word *word);

/* Does a connection whose first byte this is speak RESP? */
#define RESP_FIRST_BYTE '*'

#endif
