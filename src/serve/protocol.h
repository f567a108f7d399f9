/*
 * The part of memcached's text protocol that serve speaks: turns bytes, as they
 * arrive, into requests. Knows nothing of sockets and filters.
 *
 * Lines have a maximum length, those of `get` about that of a value. A line
 * that is too long ends the connection. Lines end in \r\n, or in \n, so that
 * people can type them; a value ends in \r\n alone, or one that is sent a byte
 * too short would end with its own \r. A request has one answer: the value of
 * one that has failed is skipped, whatever was wrong with it, if its line has a
 * length.
 *
 * Source: doc/protocol.txt of memcached 1.6; what it leaves open is done as in
 * memcached 1.6.18, except that a value with a wrong length is skipped to the
 * end of its line, so that its rest is not taken for a request.
 */
#ifndef SERVE_PROTOCOL_H
#define SERVE_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "serve/buffer.h"

/* The requests. */
enum verb {
	VERB_MORE,    /* no whole request yet: call again with more bytes */
	VERB_GET,     /* get or gets: `key` has all keys, with blanks between */
	VERB_SET,
	VERB_ADD,
	VERB_REPLACE,
	VERB_DELETE,
	VERB_TOUCH,
	VERB_STATS,     /* key and value: up to two words, or empty */
	VERB_TRY,
	VERB_SETMEM,
	VERB_VERSION,
	VERB_VERBOSITY,
	VERB_QUIT,
	VERB_PING,    /* Redis' PING as a line, which health checks send */
	VERB_REDIS_QUIT, /* Redis' QUIT as a line */
	VERB_FAILED,  /* `reply` is the answer */
	VERB_GET_END  /* only in a sweep: the end of a get of several keys */
};

struct request {
	enum verb verb;
	struct bytes key;   /* the word after the verb */
	struct bytes value; /* the value of set, add or replace */
	int64_t time;       /* the expiration time of set, add, replace or
	                     * touch, as it was sent */
	int with_cas;       /* does VERB_GET stand for gets? */
	int noreply;        /* is no answer wanted, not even an error? */
	int hang_up;        /* is the connection closed after the answer? */
	const char *reply;  /* the answer to VERB_FAILED, a line without its
	                     * end; "" is none */
};

/* What a client may send. */
struct protocol_limits {
	size_t key, value; /* bytes of the longest key, and of the longest
			    * value */
	int touch;         /* is touch a request? otherwise it is an unknown
			    * word, as without leases */
};

/* The answer to help, which memcached does not know. */
#define PROTOCOL_HELP "CLIENT_ERROR requests: add, set, get, gets, replace," \
	" delete, touch (with --lease), stats, try, setmem, version," \
	" verbosity, quit, PING; see bloomdedup-serve(1)"

/* The state of parsing a connection; all zero at its beginning. */
struct protocol {
	enum {
		PROTOCOL_LINE,  /* a request begins */
		PROTOCOL_SKIP_LINE,
		PROTOCOL_SKIP_VALUE
	} state;
	size_t searched;  /* bytes of an unfinished line that have no \n */
	uint64_t skip;    /* bytes of a value that are still to be skipped */
};

/*
 * Take the next request from the bytes that arrived and are not consumed yet.
 * Returns how many bytes it consumed, also with VERB_MORE; the next call begins
 * after them. The request points into `data`.
 *
 * After VERB_MORE, the caller must keep the bytes not consumed, and pass them
 * again at the beginning of `data` with more after them: at most
 * protocol_bytes_max().
 */
size_t protocol_next(struct protocol *protocol,
    const struct protocol_limits *limits, const uint8_t *data, size_t nbytes,
    struct request *request);

/* Returns the greatest number of bytes that a caller must keep. */
size_t protocol_bytes_max(const struct protocol_limits *limits);

#endif
