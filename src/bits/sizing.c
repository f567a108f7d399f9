/*
 * Everything is found by bisection over geometry_rate, which falls with the
 * number of pages and rises with the number of lines. One rate takes some
 * microseconds, so that the shape for the default filter is found in less than
 * a millisecond: `bloomdedup` without options does it at every start.
 */
#include "bits/sizing.h"

#include <inttypes.h>
#include <math.h>

#include "base/number.h"

#define LN2 0.69314718055994530942

/* How much more than the optimum a file may take for fewer cache lines. */
#define SLACK 1.13

/* For files this small, all shapes are tried. */
#define SMALL_PAGES 64

static double
textbook_bits(double error_rate)
{
	return -log(error_rate) / (LN2 * LN2);
}

uint64_t
sizing_textbook_bytes(uint64_t capacity, double error_rate)
{
	return (uint64_t)ceil((double)capacity * textbook_bits(error_rate) / 8);
}

unsigned
sizing_textbook_k(double error_rate)
{
	double k = round(textbook_bits(error_rate) * LN2);

	return k < 1 ? 1 : (unsigned)k;
}

double
sizing_textbook_rate(double bits_per_line, unsigned k)
{
	return pow(-expm1(-(double)k / bits_per_line), k);
}

double
sizing_layer_rate(double error_rate, int fixed, unsigned i)
{
	const double pi = 3.14159265358979323846;

	if (fixed)
		return (1 - SIZING_PENDING_SHARE) * error_rate;
	if (i == 0)
		return 0.75 * error_rate;
	return 0.25 * error_rate * 6 / (pi * pi * (double)i * (double)i);
}

static double
rate_of(uint64_t pages, unsigned k, unsigned t, uint64_t lines)
{
	struct geometry g = { .pages = pages, .k = k, .cache_lines = t };

	return geometry_rate(&g, lines);
}

/* The fewest pages with at most `rate` for `lines` keys; 0 if too many. */
static uint64_t
fewest_pages(unsigned k, unsigned t, uint64_t lines, double rate)
{
	/* The textbook's size is a lower bound: start there and grow. */
	double guess = (double)lines * textbook_bits(rate) / (8 * PAGE_BYTES);
	uint64_t low = 0, high = guess < 1 ? 1 : (uint64_t)guess;

	if (!(guess < (double)PAGES_MAX / 4))
		return 0;
	while (rate_of(high, k, t, lines) > rate) {
		low = high;
		high += 1 + high / 4;
		if (high > PAGES_MAX)
			return 0;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (rate_of(middle, k, t, lines) > rate)
			low = middle;
		else
			high = middle;
	}
	return high;
}

/* The most lines that `pages` hold at `rate`; 0 if not even one. */
static uint64_t
most_lines(uint64_t pages, unsigned k, unsigned t, double rate)
{
	uint64_t low = 0, high = 1;

	while (high < SIZING_CAPACITY_MAX &&
	    rate_of(pages, k, t, high) <= rate) {
		low = high;
		high *= 2;
	}
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (rate_of(pages, k, t, middle) > rate)
			high = middle;
		else
			low = middle;
	}
	return low;
}

/*
 * What a search over shapes compares, smaller is better: pages for n and p,
 * -lines for p and memory, the rate for n and memory.
 */
struct goal {
	uint64_t lines;
	double rate;
	uint64_t pages;
};

static double
cost(const struct goal *goal, unsigned k, unsigned t)
{
	if (goal->pages == 0) {
		uint64_t pages = fewest_pages(k, t, goal->lines, goal->rate);
		return pages == 0 ? INFINITY : (double)pages;
	}
	if (goal->lines == 0)
		return -(double)most_lines(goal->pages, k, t, goal->rate);
	return rate_of(goal->pages, k, t, goal->lines);
}

/*
 * The best k for t cache lines: the cost has one valley, so walk downhill from
 * the textbook's k. Among those with the same number of pages, the one with the
 * lowest rate, which costs nothing more.
 */
static unsigned
best_k(const struct goal *goal, unsigned t, double *best)
{
	unsigned k = goal->rate > 0 ? sizing_textbook_k(goal->rate) :
	    (unsigned)fmin(K_MAX, LN2 * 8 * PAGE_BYTES *
	    (double)goal->pages / (double)goal->lines);
	unsigned low = t, high = t * CACHE_LINE_LANES, start;
	double here, there;

	k = start = k < low ? low : k > high ? high : k;
	here = cost(goal, k, t);
	for (int step = -1; step <= 1 && k == start; step += 2) {
		while (step < 0 ? k > low : k < high) {
			unsigned next = step < 0 ? k - 1 : k + 1;
			there = cost(goal, next, t);
			if (!(there < here) && !(there == here &&
			    goal->pages == 0 && isfinite(here) &&
			    rate_of((uint64_t)here, next, t, goal->lines) <
			    rate_of((uint64_t)here, k, t, goal->lines)))
				break;
			k = next;
			here = there;
		}
	}
	/* With few pages the cost is a staircase: the walk may stop early. */
	if (goal->pages == 0 && here <= SMALL_PAGES) {
		for (unsigned i = low; i <= high; i++) {
			while (here > 1 && rate_of((uint64_t)here - 1, i, t,
			    goal->lines) <= goal->rate) {
				here--;
				k = i;
			}
		}
	}
	*best = here;
	return k;
}

/* Is what was found within the slack of the textbook's optimum? */
static int
near_textbook(uint64_t pages, uint64_t lines, double rate)
{
	double bytes = (double)pages * PAGE_BYTES + SIZING_OVERHEAD_BYTES;

	return bytes * 8 <= SLACK * (double)lines * textbook_bits(rate);
}

/* The smallest t within the slack of the best for this k. */
static double
choose_lines(const struct goal *goal, unsigned k, unsigned *t)
{
	unsigned first = (k + CACHE_LINE_LANES - 1) / CACHE_LINE_LANES;
	unsigned last = k < CACHE_LINES_MAX ? k : CACHE_LINES_MAX;
	double costs[CACHE_LINES_MAX + 1], best = INFINITY;

	for (unsigned i = first; i <= last; i++) {
		costs[i] = cost(goal, k, i);
		best = fmin(best, costs[i]);
	}
	/* costs are negative where more is better */
	best = best < 0 ? best / SLACK : best * SLACK;
	*t = first;
	while (costs[*t] > best)
		++*t;
	return costs[*t];
}

/*
 * Choose k, unless it is given, and t for the goal, and return the cost.
 * `scale` is the textbook's rate by the layer's own: a part of p is for growth.
 */
static double
choose(const struct goal *goal, unsigned given_k, double scale, unsigned *k,
    unsigned *t)
{
	double best = INFINITY, here, all;

	*k = given_k;
	if (given_k != 0)
		return choose_lines(goal, given_k, t);
	*t = 1;
	for (unsigned i = 1; i <= CACHE_LINES_MAX; i++) {
		uint64_t pages = goal->pages, lines = goal->lines;
		double rate = goal->rate;
		unsigned here_k = best_k(goal, i, &here);

		if (here < best) {
			best = here;
			*k = here_k;
			*t = i;
		}
		if (!isfinite(here))
			continue;
		if (pages == 0)
			pages = (uint64_t)here;
		else if (lines == 0)
			lines = (uint64_t)-here;
		else
			rate = here;
		rate *= scale;
		if (lines < 1000000 || !(rate > 0 && rate <= 1e-2) ||
		    !near_textbook(pages, lines, rate))
			continue;
		/*
		 * A mask of all eight lanes is cheaper to make than one of
		 * some: k = 8t is preferred if it is within the slack, too.
		 */
		*t = i;
		*k = CACHE_LINE_LANES * i;
		if (here_k == *k)
			return here;
		all = goal->pages == 0 ? cost(goal, *k, i) : INFINITY;
		if (isfinite(all) && near_textbook((uint64_t)all, lines, rate))
			return all;
		*k = here_k;
		return here;
	}
	return best;
}

int
sizing_layer(struct geometry *g, uint64_t capacity, double rate,
    double textbook_rate, unsigned k, struct error *error)
{
	struct goal goal = { .lines = capacity, .rate = rate };
	double pages = choose(&goal, k, textbook_rate / rate, &g->k,
	    &g->cache_lines);

	if (!isfinite(pages)) {
		return error_set(error, STATUS_USAGE, "a filter for %" PRIu64
		    " lines at an error rate of %g is too large for any file",
		    capacity, textbook_rate);
	}
	g->pages = (uint64_t)pages;
	return 0;
}

int
sizing_solve(struct sizing *s, struct error *error)
{
	double share = sizing_layer_rate(1, s->fixed, 0);
	struct geometry *g = &s->geometry;
	struct goal goal = { .lines = s->capacity,
		.rate = s->error_rate * share };
	char text[NUMBER_TEXT];
	double found;

	if (s->bytes == 0) {
		if (sizing_layer(g, s->capacity, goal.rate, s->error_rate,
		    s->k, error) < 0)
			return -1;
	} else if (s->bytes < SIZING_OVERHEAD_BYTES + PAGE_BYTES) {
		return error_set(error, STATUS_USAGE, "%" PRIu64 " bytes are"
		    " too few for a filter: the smallest takes %u", s->bytes,
		    SIZING_OVERHEAD_BYTES + PAGE_BYTES);
	} else {
		goal.pages = (s->bytes - SIZING_OVERHEAD_BYTES) / PAGE_BYTES;
		if (goal.pages > PAGES_MAX)
			return error_set(error, STATUS_USAGE, "%" PRIu64
			    " bytes are too many for a filter: the largest"
			    " takes %" PRIu64, s->bytes, SIZING_OVERHEAD_BYTES
			    + PAGES_MAX * PAGE_BYTES);
		found = choose(&goal, s->k, 1 / share, &g->k, &g->cache_lines);
		g->pages = goal.pages;
		if (s->capacity == 0)
			s->capacity = (uint64_t)-found;
		else
			s->error_rate = found / share;
	}
	if (s->capacity == 0) {
		return error_set(error, STATUS_USAGE, "%s is too little for"
		    " a single line at an error rate of %g",
		    number_format_bytes(text, s->bytes), s->error_rate);
	}
	if (s->error_rate > SIZING_RATE_MAX) {
		return error_set(error, STATUS_USAGE, "%s is too little for"
		    " %" PRIu64 " lines: the error rate would be above %g",
		    number_format_bytes(text, s->bytes), s->capacity,
		    SIZING_RATE_MAX);
	}
	/* A rate below the minimum counts as the minimum. */
	if (s->error_rate < SIZING_RATE_MIN)
		s->error_rate = SIZING_RATE_MIN;
	s->k = g->k;
	s->bytes = g->pages * PAGE_BYTES + SIZING_OVERHEAD_BYTES;
	return 0;
}
