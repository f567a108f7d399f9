#include "key/url_order.h"

#include <string.h>

static int
compare_parameters(const uint8_t *a, const uint8_t *b, const uint8_t *end,
    enum url_order order)
{
	return url_compare(a, url_parameter_bytes(a, end, order), b,
	    url_parameter_bytes(b, end, order));
}

/* The end of the parameters from p on that are in order already. */
static const uint8_t *
run_end(const uint8_t *p, const uint8_t *end, enum url_order order)
{
	const uint8_t *stop = url_find(p, end, '&');

	while (stop != end &&
	    compare_parameters(p, stop + 1, end, order) <= 0) {
		p = stop + 1;
		stop = url_find(p, end, '&');
	}
	return stop;
}

/* Merge the runs of [from, end) two by two. */
static void
merge_runs(const uint8_t *from, const uint8_t *end, uint8_t *to,
    enum url_order order)
{
	while (from <= end) {
		const uint8_t *a = from, *a_end = run_end(a, end, order);
		const uint8_t *b = a_end + 1, *b_end = end;

		if (a_end != end)
			b_end = run_end(b, end, order);
		while (a <= a_end || b <= b_end) {
			int first = b > b_end || (a <= a_end &&
			    compare_parameters(a, b, end, order) <= 0);
			const uint8_t **next = first ? &a : &b;
			const uint8_t *stop = url_find(*next, end, '&');

			memcpy(to, *next, (size_t)(stop - *next));
			to += stop - *next;
			*to++ = '&';
			*next = stop + 1;
		}
		from = b_end + 1;
	}
}

/*
 * A natural merge sort of the text itself: a line may have millions of
 * parameters, too many for a table. What is merged is written behind the end.
 */
void
url_sort(uint8_t *start, uint8_t *end, enum url_order order)
{
	while (run_end(start, end, order) != end) {
		merge_runs(start, end, end + 1, order);
		memcpy(start, end + 1, (size_t)(end - start));
	}
}

uint8_t *
url_keep_once(uint8_t *start, uint8_t *end)
{
	uint8_t *last = start, *to = start;
	size_t last_bytes = SIZE_MAX, n;

	for (const uint8_t *p = start; p <= end; p += n + 1) {
		n = url_parameter_bytes(p, end, URL_BY_WHOLE);
		if (n == last_bytes && memcmp(last, p, n) == 0)
			continue;
		memmove(to, p, n);
		last = to;
		last_bytes = n;
		to += n;
		*to++ = '&';
	}
	return to - 1;
}
