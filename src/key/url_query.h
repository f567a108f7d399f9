/* The query of a URL: its parameters, as the rules want them. */
#ifndef KEY_URL_QUERY_H
#define KEY_URL_QUERY_H

#include "key/url_rules.h"
#include "key/url_text.h"

/*
 * Copy the query [in->p, in->end), by the rules, to `to`, just behind the
 * question mark, which is removed if no parameter is left. Returns the end;
 * in->p becomes the first byte that is in no query, or the end. For a query of
 * q bytes, `to` needs twice URL_QUERY_ROOM(q) bytes. LOOPS_PADDING bytes after
 * the query may be read.
 */
#define URL_STEP 32 /* as many bytes are copied at once, or more */
#define URL_QUERY_ROOM(q) (3 * (q) + 3 + URL_STEP)
uint8_t *url_copy_query(struct reader *in, const struct url_rules *rules,
    uint8_t *to);

#endif
