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

/* Files of up to this many pages are so small that all shapes are tried. */
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

	/* It is infinite for a rate that has become 0. */
	if (k > K_MAX)
		return K_MAX;
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
	uint64_t low = 0, high;

	/* It is infinite for a rate that has become 0. */
	if (!(guess < (double)PAGES_MAX / 4))
		return 0;
	high = guess < 1 ? 1 : (uint64_t)guess;
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

/* Two of lines, rate and pages are given; the third is what is asked for. */
struct goal {
	enum question { FEWEST_PAGES, MOST_LINES, LOWEST_RATE } question;
	uint64_t lines;
	double rate;
	uint64_t pages;
};

/* A shape without its number of pages, and the answer that it gives. */
struct shape {
	unsigned k, t;
	double answer; /* pages, lines or a rate; infinite: too many pages */
};

static struct shape
shape_of(const struct goal *goal, unsigned k, unsigned t)
{
	struct shape shape = { .k = k, .t = t };
	uint64_t pages;

	switch (goal->question) {
	case FEWEST_PAGES:
		pages = fewest_pages(k, t, goal->lines, goal->rate);
		shape.answer = pages == 0 ? INFINITY : (double)pages;
		break;
	case MOST_LINES:
		shape.answer = (double)most_lines(goal->pages, k, t,
		    goal->rate);
		break;
	case LOWEST_RATE:
		shape.answer = rate_of(goal->pages, k, t, goal->lines);
		break;
	}
	return shape;
}

/* An answer that is worse than any that a shape gives. */
static double
worst_answer(const struct goal *goal)
{
	return goal->question == MOST_LINES ? -1 : INFINITY;
}

static int
is_better(const struct goal *goal, double answer, double other)
{
	if (goal->question == MOST_LINES)
		return answer > other;
	return answer < other;
}

/* Is the answer as good as the best one, but for the slack? */
static int
is_within_slack(const struct goal *goal, double answer, double best)
{
	if (goal->question == MOST_LINES)
		return answer >= best / SLACK;
	return answer <= best * SLACK;
}

/*
 * Is the shape better than another with as many cache lines? With the same
 * number of pages it is if its rate is lower, which costs nothing more.
 */
static int
is_better_shape(const struct goal *goal, const struct shape *shape,
    const struct shape *other)
{
	uint64_t pages;

	if (is_better(goal, shape->answer, other->answer))
		return 1;
	if (goal->question != FEWEST_PAGES || !isfinite(other->answer) ||
	    shape->answer > other->answer)
		return 0;
	pages = (uint64_t)other->answer;
	return rate_of(pages, shape->k, shape->t,
	    goal->lines) < rate_of(pages, other->k, other->t, goal->lines);
}

/* Change k by steps of 1 or -1, up to `last`, while that makes it better. */
static struct shape
walk(const struct goal *goal, struct shape shape, int step, unsigned last)
{
	while (shape.k != last) {
		struct shape next = shape_of(goal, shape.k + (unsigned)step,
		    shape.t);

		if (!is_better_shape(goal, &next, &shape))
			break;
		shape = next;
	}
	return shape;
}

/* With few pages the answer is a staircase, and a walk may stop early. */
static struct shape
try_each_k(const struct goal *goal, struct shape shape, unsigned low,
    unsigned high)
{
	for (unsigned k = low; k <= high; k++) {
		while (shape.answer > 1 && rate_of((uint64_t)shape.answer - 1,
		    k, shape.t, goal->lines) <= goal->rate) {
			shape.answer--;
			shape.k = k;
		}
	}
	return shape;
}

/*
 * The best shape with t cache lines: the answers have one valley (or summit),
 * so walk from the textbook's k to one side, or else to the other.
 */
static struct shape
best_k(const struct goal *goal, unsigned t)
{
	unsigned low = t, high = t * CACHE_LINE_LANES, k;
	struct shape start, best;

	if (goal->question == LOWEST_RATE)
		k = (unsigned)fmin(K_MAX, LN2 * 8 * PAGE_BYTES *
		    (double)goal->pages / (double)goal->lines);
	else
		k = sizing_textbook_k(goal->rate);
	if (k < low)
		k = low;
	if (k > high)
		k = high;
	start = shape_of(goal, k, t);
	best = walk(goal, start, -1, low);
	if (best.k == start.k)
		best = walk(goal, start, 1, high);
	if (goal->question == FEWEST_PAGES && best.answer <= SMALL_PAGES)
		best = try_each_k(goal, best, low, high);
	return best;
}

/* The shape with this k and the smallest t within the slack of the best. */
static struct shape
choose_cache_lines(const struct goal *goal, unsigned k)
{
	unsigned first = (k + CACHE_LINE_LANES - 1) / CACHE_LINE_LANES;
	unsigned last = k < CACHE_LINES_MAX ? k : CACHE_LINES_MAX, t;
	struct shape shapes[CACHE_LINES_MAX + 1];
	double best = worst_answer(goal);

	for (t = first; t <= last; t++) {
		shapes[t] = shape_of(goal, k, t);
		if (is_better(goal, shapes[t].answer, best))
			best = shapes[t].answer;
	}
	t = first;
	while (!is_within_slack(goal, shapes[t].answer, best))
		t++;
	return shapes[t];
}

/*
 * Is a file of this shape within the slack of the textbook's optimum, for lines
 * and a rate where that matters? `scale` is the textbook's rate in units of the
 * layer's own, since a part of p is reserved for growth.
 */
static int
is_near_textbook(const struct goal *goal, double answer, double scale)
{
	double pages = (double)goal->pages, lines = (double)goal->lines;
	double rate = goal->rate, bytes;

	switch (goal->question) {
	case FEWEST_PAGES:
		pages = answer;
		break;
	case MOST_LINES:
		lines = answer;
		break;
	case LOWEST_RATE:
		rate = answer;
		break;
	}
	rate *= scale;
	if (lines < 1000000 || !(rate > 0 && rate <= 1e-2))
		return 0;
	bytes = pages * PAGE_BYTES + SIZING_OVERHEAD_BYTES;
	return bytes * 8 <= SLACK * lines * textbook_bits(rate);
}

/*
 * A mask of all eight lanes is cheaper to make than one of some: the shape with
 * k = 8t instead, if it is within the slack as well.
 */
static struct shape
prefer_all_lanes(const struct goal *goal, struct shape shape, double scale)
{
	const unsigned k = CACHE_LINE_LANES * shape.t;
	struct shape all;

	if (goal->question != FEWEST_PAGES || shape.k == k)
		return shape;
	all = shape_of(goal, k, shape.t);
	return is_near_textbook(goal, all.answer, scale) ? all : shape;
}

/*
 * Choose t and, unless it is given (not 0), k: the rules are in sizing.h.
 * `scale` is as for is_near_textbook.
 */
static struct shape
choose(const struct goal *goal, unsigned given_k, double scale)
{
	struct shape best = { .answer = worst_answer(goal) };

	if (given_k != 0)
		return choose_cache_lines(goal, given_k);
	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		struct shape shape = best_k(goal, t);

		if (is_better(goal, shape.answer, best.answer))
			best = shape;
		if (is_near_textbook(goal, shape.answer, scale))
			return prefer_all_lanes(goal, shape, scale);
	}
	return best;
}

int
sizing_layer(struct geometry *g, uint64_t capacity, double rate,
    double textbook_rate, unsigned k, struct error *error)
{
	const struct goal goal = { .question = FEWEST_PAGES, .lines = capacity,
		.rate = rate };
	struct shape shape = choose(&goal, k, textbook_rate / rate);

	if (!isfinite(shape.answer)) {
		return error_set(error, STATUS_USAGE, "a filter for %" PRIu64
		    " lines at an error rate of %g is too large for any file",
		    capacity, textbook_rate);
	}
	*g = (struct geometry){ .pages = (uint64_t)shape.answer, .k = shape.k,
		.cache_lines = shape.t };
	return 0;
}

/* The best layer in a file of s->bytes, and the lines or the rate it has. */
static int
solve_within_bytes(struct sizing *sizing, struct error *error)
{
	const double share = sizing_layer_rate(1, sizing->fixed, 0);
	struct goal goal = { .lines = sizing->capacity,
		.rate = sizing->error_rate * share };
	struct geometry smaller;
	struct shape shape;

	if (sizing->bytes < SIZING_OVERHEAD_BYTES + PAGE_BYTES)
		return error_set(error, STATUS_USAGE, "%" PRIu64 " bytes are"
		    " too few for a filter: the smallest takes %u",
		    sizing->bytes, SIZING_OVERHEAD_BYTES + PAGE_BYTES);
	goal.pages = (sizing->bytes - SIZING_OVERHEAD_BYTES) / PAGE_BYTES;
	if (goal.pages > PAGES_MAX)
		return error_set(error, STATUS_USAGE, "%" PRIu64 " bytes are"
		    " too many for a filter: the largest takes %" PRIu64,
		    sizing->bytes, SIZING_OVERHEAD_BYTES + PAGES_MAX *
		    PAGE_BYTES);
	goal.question = sizing->capacity == 0 ? MOST_LINES : LOWEST_RATE;
	shape = choose(&goal, sizing->k, 1 / share);
	sizing->geometry = (struct geometry){ .pages = goal.pages, .k = shape.k,
		.cache_lines = shape.t };
	if (goal.question == MOST_LINES) {
		sizing->capacity = (uint64_t)shape.answer;
		return 0;
	}
	sizing->error_rate = shape.answer / share;
	if (sizing->error_rate >= SIZING_RATE_MIN)
		return 0;
	/* Nobody can ask for a lower rate: a smaller file may do as well. */
	sizing->error_rate = SIZING_RATE_MIN;
	if (sizing_layer(&smaller, sizing->capacity, SIZING_RATE_MIN * share,
	    SIZING_RATE_MIN, sizing->k, error) == 0 &&
	    smaller.pages < goal.pages)
		sizing->geometry = smaller;
	return 0;
}

int
sizing_solve(struct sizing *sizing, struct error *error)
{
	char text[NUMBER_TEXT];
	int result;

	if (sizing->bytes == 0)
		result = sizing_layer(&sizing->geometry, sizing->capacity,
		    sizing->error_rate * sizing_layer_rate(1, sizing->fixed, 0),
		    sizing->error_rate, sizing->k, error);
	else
		result = solve_within_bytes(sizing, error);
	if (result < 0)
		return -1;
	if (sizing->capacity == 0) {
		return error_set(error, STATUS_USAGE, "%s is too little for"
		    " a single line at an error rate of %g",
		    number_format_bytes(text, sizing->bytes),
		    sizing->error_rate);
	}
	if (sizing->error_rate > SIZING_RATE_MAX) {
		return error_set(error, STATUS_USAGE, "%s is too little for"
		    " %" PRIu64 " lines: the error rate would be above %g",
		    number_format_bytes(text, sizing->bytes), sizing->capacity,
		    SIZING_RATE_MAX);
	}
	sizing->k = sizing->geometry.k;
	sizing->bytes = sizing->geometry.pages * PAGE_BYTES +
	    SIZING_OVERHEAD_BYTES;
	return 0;
}
