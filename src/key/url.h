/*
 * The keys of URLs: two spellings of one address are one key. Their normal form
 * is that of RFC 3986, sections 6.2.2 (case of scheme and host,
 * percent-encoding, dot segments) and 6.2.3 (the default port of http, https,
 * ws, wss and ftp, an empty port, an empty path), without the fragment. IPv6
 * addresses are written as in RFC 5952, section 4, so always in hexadecimal
 * digits. Rules ignore more of it.
 *
 * Unlike in the RFC, which forbids them, bytes from 0x80 and "<>[]\^`{|},
 * spaces and tabs in path and query count as if they were percent-encoded, and
 * a percent sign without two hexadecimal digits after it stays as it is. Bytes
 * up to 0x20 at both ends, and a byte order mark (UTF-8) in front, do not
 * belong to the URL. Text that even then is not a URI with a scheme has no
 * normal form.
 */
#ifndef KEY_URL_H
#define KEY_URL_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"
#include "key/url_rules.h"

/* The most bytes that url_key and url_normalize use for a URL of `nbytes`. */
#define URL_ROOM(nbytes) (8 * (nbytes) + 96)

/*
 * Returns the key of a URL: a part of it if it is written as in its key
 * already, which most are; else bytes in `to`, which has URL_ROOM(url.nbytes)
 * bytes. Its data is NULL if it is not a URL. LOOPS_PADDING bytes after the URL
 * may be read, whatever they are; so may they by url_normalize.
 */
struct key url_key(const struct url_rules *rules, struct key url, uint8_t *to);

/*
 * Write the key of a URL to `to` without checking whether it is in its normal
 * form already. Returns its length, or 0 if it is not a URL. url_key has the
 * same bytes.
 */
size_t url_normalize(const struct url_rules *rules, struct key url,
    uint8_t *to);

#endif
