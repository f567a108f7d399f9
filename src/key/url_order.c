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
static uint8_t *
run_end(uint8_t *p, uint8_t *end, enum url_order order)
{
	uint8_t *stop = p + url_parameter_bytes(p, end, URL_BY_WHOLE);

	while (stop != end &&
	    compare_parameters(p, stop + 1, end, order) <= 0) {
		p = stop + 1;
		stop = p + url_parameter_bytes(p, end, URL_BY_WHOLE);
	}
	return stop;
}

/* The text that is sorted: parameters, each with an ampersand behind it. */
struct text {
	uint8_t *end; /* the last one's ampersand; behind it is other room */
	enum url_order order;
};

/* Two runs, each in order, that follow each other: [a, b) and [b, c). */
struct runs {
	uint8_t *a, *b, *c;
};

/* Merge runs of URL_MERGED bytes at most, in the room behind the text. */
static void
merge_aside(const struct text *text, const struct runs *runs)
{
	const uint8_t *left = runs->a, *right = runs->b;
	uint8_t *to = text->end + 1;

	while (left < runs->b || right < runs->c) {
		int is_left = right == runs->c || (left < runs->b &&
		    compare_parameters(left, right, text->end,
		    text->order) <= 0);
		const uint8_t **next = is_left ? &left : &right;
		const uint8_t *stop = url_find(*next, text->end, '&') + 1;

		memcpy(to, *next, (size_t)(stop - *next));
		to += stop - *next;
		*next = stop;
	}
	memcpy(runs->a, text->end + 1, (size_t)(runs->c - runs->a));
}

/* The beginning of the parameter, in those from `first` on, that has a byte. */
static uint8_t *
parameter_at(uint8_t *byte, const uint8_t *first)
{
	while (byte > first && byte[-1] != '&')
		byte--;
	return byte;
}

/*
 * The first of the sorted parameters in [p, end) that goes behind another one:
 * it is greater, or, if those that are equal go behind it, too, as great.
 */
static uint8_t *
find_behind(const struct text *text, uint8_t *p, uint8_t *end,
    const uint8_t *other, int equal_too)
{
	while (p < end) {
		uint8_t *middle = parameter_at(p + (end - p) / 2, p);
		int result = compare_parameters(middle, other, text->end,
		    text->order);

		if (result > 0 || (result == 0 && equal_too))
			end = middle;
		else
			p = middle + url_parameter_bytes(middle, text->end,
			    URL_BY_WHOLE) + 1;
	}
	return p;
}

static void
reverse(uint8_t *p, uint8_t *end)
{
	while (end - p > 1) {
		uint8_t byte = *p;

		*p++ = *--end;
		*end = byte;
	}
}

/* Let [a, b) and [b, c) change places. Returns where the second one begins. */
static uint8_t *
rotate(uint8_t *a, uint8_t *b, uint8_t *c)
{
	reverse(a, b);
	reverse(b, c);
	reverse(a, c);
	return a + (c - b);
}

/*
 * Divide runs into two pairs that can be merged one after the other: what is
 * before, and what behind, the parameter in the middle of the longer run, which
 * comes to its place between them.
 */
static void
divide_runs(const struct text *text, const struct runs *runs,
    struct runs *before, struct runs *behind)
{
	uint8_t *a = runs->a, *b = runs->b, *c = runs->c;
	uint8_t *from, *to, *border;
	const int left_is_longer = b - a >= c - b;
	uint8_t *pivot = left_is_longer ? parameter_at(a + (b - a) / 2, a) :
	    parameter_at(b + (c - b) / 2, b);
	size_t nbytes = url_parameter_bytes(pivot, text->end, URL_BY_WHOLE) + 1;

	/* Of equal ones, those of the left run come first. */
	if (left_is_longer) {
		from = pivot;
		to = find_behind(text, b, c, pivot, 1);
	} else {
		from = find_behind(text, a, b, pivot, 0);
		to = pivot + nbytes;
	}
	border = rotate(from, b, to);
	*before = (struct runs){ a, from, border };
	*behind = (struct runs){ border, to, c };
	if (left_is_longer)
		behind->a += nbytes;
	else
		before->c -= nbytes;
}

/*
 * Merge two runs. Long ones are merged in place: a line may have hundreds of
 * megabytes, and there is room for its key once. The shorter pair comes first,
 * so that calls are not deeper than the number of bits of a length.
 */
static void
merge(const struct text *text, struct runs runs)
{
	while (runs.a < runs.b && runs.b < runs.c) {
		struct runs before, behind;

		if (runs.c - runs.a <= URL_MERGED) {
			merge_aside(text, &runs);
			return;
		}
		divide_runs(text, &runs, &before, &behind);
		if (before.c - before.a < behind.c - behind.a) {
			merge(text, before);
			runs = behind;
		} else {
			merge(text, behind);
			runs = before;
		}
	}
}

/*
 * A natural merge sort of the text itself: a line may have millions of
 * parameters, too many for a table.
 */
void
url_sort(uint8_t *start, uint8_t *end, enum url_order order)
{
	const struct text text = { end, order };

	while (run_end(start, end, order) != end) {
		struct runs runs;

		for (runs.a = start; runs.a <= end; runs.a = runs.c) {
			runs.b = run_end(runs.a, end, order) + 1;
			runs.c = runs.b;
			if (runs.b <= end)
				runs.c = run_end(runs.b, end, order) + 1;
			merge(&text, runs);
		}
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
