/*
 * The order of a URL's parameters, in their text, where an ampersand separates
 * them: sorting them, and keeping each once. This needs no memory for each of
 * them. The few parameters of most queries are sorted in a table before they
 * are written (url_query.c); this is for queries that are too long for it.
 */
#ifndef KEY_URL_ORDER_H
#define KEY_URL_ORDER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "key/url_text.h"

/* What parameters are sorted by; with values left out, both are the same. */
enum url_order { URL_BY_NAME, URL_BY_WHOLE };

/*
 * Returns the length of what orders the parameter at p: up to its ampersand, or
 * to the end; by name, up to its first equals sign, if it has one.
 */
static inline size_t
url_parameter_bytes(const uint8_t *p, const uint8_t *end,
    enum url_order order)
{
	const uint8_t *stop = url_find(p, end, '&');

	if (order == URL_BY_NAME)
		stop = url_find(p, stop, '=');
	return (size_t)(stop - p);
}

/* Compares m bytes with n bytes, as memcmp does; a beginning is less. */
static inline int
url_compare(const uint8_t *a, size_t m, const uint8_t *b, size_t n)
{
	int result = memcmp(a, b, m < n ? m : n);

	if (result != 0)
		return result;
	return (m > n) - (m < n);
}

/*
 * Sort the parameters in [start, end), behind which an ampersand stands; those
 * that are equal keep their order. URL_MERGED bytes behind the ampersand, or
 * as many as are sorted if those are fewer, are used, too.
 */
#define URL_MERGED (1 << 20)
void url_sort(uint8_t *start, uint8_t *end, enum url_order order);

/*
 * Keep each of the sorted parameters in [start, end) once. Returns the new end.
 * The byte at `end` may be written to.
 */
uint8_t *url_keep_once(uint8_t *start, uint8_t *end);

#endif
