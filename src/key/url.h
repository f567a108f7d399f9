/*
 * URLs in their normal form, so that two spellings of one address are one key:
 * RFC 3986, sections 6.2.2 (case of scheme and host, percent-encoding, dot
 * segments) and 6.2.3 (the default port of http, https, ws, wss and ftp, an
 * empty port, an empty path), without the fragment.
 *
 * Unlike in the RFC, which forbids them, bytes from 0x80 and "<>[]\^`{|},
 * spaces and tabs in path and query count as if they were percent-encoded. Text
 * that even then isn't a URI with a scheme has no normal form.
 */
#ifndef KEY_URL_H
#define KEY_URL_H

#include <stddef.h>
#include <stdint.h>

struct url_rules {
	const char *ignore; /* names of parameters to leave out; "": none */
	int sort;           /* parameters by their names */
};

/* The most bytes that url_normalize writes for a URL of `nbytes`. */
#define URL_ROOM(nbytes) (8 * (nbytes) + 16)

/*
 * Is it certainly a URL in its normal form? It may be one even if this returns
 * 0, as it always does with rules for a URL with a query. LOOPS_PADDING bytes
 * after it may be read, whatever they are.
 */
int url_is_normal(const struct url_rules *rules, const uint8_t *data,
    size_t nbytes);

/*
 * Write the normal form to `to`, which has URL_ROOM(nbytes) bytes. Returns its
 * length, or 0 if it isn't a URL.
 */
size_t url_normalize(const struct url_rules *rules, const uint8_t *data,
    size_t nbytes, uint8_t *to);

/*
 * Normalize the percent-encoding in a list of names, such as "utm_*,gclid",
 * where * stands for any bytes, as that of a URL. `to` has 3 * strlen(list) + 1
 * bytes. Returns -1 if a name is empty or can't be in a URL.
 */
int url_ignore_parse(const char *list, char *to);

#endif
