/*
 * Why not the textbook's (1 - e^(-kn/m))^k: the load of a page, of a line and
 * of a lane vary around their means, and a rate that is a high power of the
 * load has a mean well above the rate at the mean load. With one line a key
 * and p = 1e-6 the textbook is wrong by a factor of hundreds.
 */
#include "bits/geometry.h"

#include <math.h>
#include <pthread.h>

/*
 * One cache line's rate after N keys in the page: the sum of factor * base^N,
 * over groups of equal terms; with six bits there are 13, which is the most.
 */
#define TERMS_MAX 13
struct term {
	double factor, base, step; /* step: base to the power of a walk's */
};
struct line_rate {
	struct term terms[TERMS_MAX];
	unsigned count;
	unsigned power; /* how many groups of the page have this rate */
};

int
geometry_check(const struct geometry *g)
{
	if (g->pages < 1 || g->pages > PAGES_MAX)
		return -1;
	if (g->cache_lines < 1 || g->cache_lines > CACHE_LINES_MAX)
		return -1;
	if (g->k < g->cache_lines || g->k > LINE_LANES * g->cache_lines)
		return -1;
	return 0;
}

/*
 * A query looks at `bits` adjacent lanes of a line, which a key hits with
 * probability 1/size. All of its bits are set with probability
 *
 *     sum over S of (-1)^|S| P(no key set the query's bit in any lane of S)
 *
 * and a key leaves those of S alone with probability 1 - 1/size + 1/size *
 * mean over its rotation r of (63/64)^|W_r and S|, W_r being the lanes in
 * which it sets a bit. Sets with the same mean become one term; its base is
 * that mean here, which depends on `bits` alone.
 */
static struct line_rate means[LINE_LANES + 1];
static pthread_once_t means_once = PTHREAD_ONCE_INIT;

static void
add_term(struct line_rate *to, double factor, double mean)
{
	unsigned i = 0;

	while (i < to->count && fabs(to->terms[i].base - mean) >= 1e-12)
		i++;
	if (i == to->count)
		to->terms[to->count++] = (struct term){ .base = mean };
	to->terms[i].factor += factor;
}

static void
means_init(void)
{
	double kept[LINE_LANES + 1] = { 1 };

	for (unsigned i = 0; i < LINE_LANES; i++)
		kept[i + 1] = kept[i] * (63.0 / 64.0);
	for (unsigned bits = 0; bits <= LINE_LANES; bits++) {
		for (unsigned set = 0; set < 1u << bits; set++) {
			double left = 0;

			for (unsigned r = 0; r < LINE_LANES; r++) {
				unsigned window = ((1u << bits) - 1) << r;

				window |= window >> LINE_LANES;
				left += kept[__builtin_popcount(window & set)];
			}
			add_term(&means[bits], __builtin_parity(set) ? -1 : 1,
			    left / LINE_LANES);
		}
	}
}

/* The different line rates of a page, with how often each occurs. */
static unsigned
page_rates(struct line_rate rates[CACHE_LINES_MAX], const struct geometry *g)
{
	unsigned bits[CACHE_LINES_MAX], sizes[CACHE_LINES_MAX], count = 0;

	pthread_once(&means_once, means_init);
	for (unsigned j = 0; j < g->cache_lines; j++) {
		unsigned b = geometry_line_bits(g->k, g->cache_lines, j);
		unsigned size = geometry_group(g->cache_lines, j + 1) -
		    geometry_group(g->cache_lines, j);
		unsigned i = 0;

		while (i < count && (bits[i] != b || sizes[i] != size))
			i++;
		if (i == count) {
			struct line_rate *rate = &rates[count++];

			bits[i] = b;
			sizes[i] = size;
			*rate = means[b];
			for (unsigned l = 0; l < rate->count; l++)
				rate->terms[l].base = 1 -
				    (1 - rate->terms[l].base) / size;
		}
		rates[i].power++;
	}
	return count;
}

/*
 * The rate in a page at N, N + step, N + 2 step ...: each power is updated with
 * one multiplication per term.
 */
struct page_walk {
	struct line_rate rates[CACHE_LINES_MAX];
	unsigned count;
};

static void
page_walk_start(struct page_walk *walk, const struct geometry *g, double first,
    double step)
{
	walk->count = page_rates(walk->rates, g);
	for (unsigned i = 0; i < walk->count; i++) {
		for (unsigned j = 0; j < walk->rates[i].count; j++) {
			struct term *term = &walk->rates[i].terms[j];
			term->step = pow(term->base, step);
			term->factor *= pow(term->base, first);
		}
	}
}

static double
page_walk_rate(const struct page_walk *walk)
{
	double product = 1;

	for (unsigned i = 0; i < walk->count; i++) {
		const struct line_rate *rate = &walk->rates[i];
		double sum = 0;

		for (unsigned j = 0; j < rate->count; j++)
			sum += rate->terms[j].factor;
		sum = sum < 0 ? 0 : sum;
		for (unsigned j = 0; j < rate->power; j++)
			product *= sum;
	}
	return product;
}

static void
page_walk_step(struct page_walk *walk)
{
	for (unsigned i = 0; i < walk->count; i++) {
		struct line_rate *rate = &walk->rates[i];

		for (unsigned j = 0; j < rate->count; j++)
			rate->terms[j].factor *= rate->terms[j].step;
	}
}

double
geometry_rate(const struct geometry *g, uint64_t lines)
{
	struct page_walk walk;
	double n = (double)lines, q = 1 / (double)g->pages;
	double mean = n * q, sd = sqrt(mean * (1 - q));
	double first, last, step, N, weight = 1, sum = 0, total = 0;

	if (lines == 0)
		return 0;
	if (mean > 64.0 * PAGE_BYTES * 8)
		return 1; /* all bits set, but for e^-64 of them */
	if (g->pages == 1) {
		page_walk_start(&walk, g, n, 1);
		return page_walk_rate(&walk);
	}

	/*
	 * Sum over the binomial distribution of N, to 12 standard deviations. A
	 * wide one is sampled every quarter of a standard deviation, which
	 * gives the same to 1e-12 since the terms are smooth.
	 */
	step = fmax(1, floor(sd / 4));
	first = fmax(0, floor(mean - 12 * sd - 12));
	last = fmin(n, mean + 12 * sd + 40);

	/*
	 * The ratio of neighbouring weights is exact; the gamma function has no
	 * digits left at n = 1e15. The first weight counts as 1, and none is
	 * more than e^180 times as large.
	 */
	page_walk_start(&walk, g, first, step);
	for (N = first; N <= last; page_walk_step(&walk)) {
		sum += weight * page_walk_rate(&walk);
		total += weight;
		for (double i = 0; i < step; i++, N++)
			weight *= (n - N) / (N + 1) * (q / (1 - q));
	}
	return sum / total;
}

double
geometry_fill(const struct geometry *g, double lines)
{
	unsigned t = g->cache_lines;
	double set = 0;

	for (unsigned j = 0; j < t; j++) {
		unsigned size = geometry_group(t, j + 1) - geometry_group(t, j);
		double share = geometry_line_bits(g->k, t, j) /
		    (512.0 * size * (double)g->pages);
		set += size * -expm1(lines * log1p(-share));
	}
	return set / PAGE_LINES;
}

double
geometry_lines(const struct geometry *g, double fill)
{
	double low = 0, high = 1;

	if (fill <= 0)
		return 0;
	if (fill >= 1)
		return INFINITY;
	while (geometry_fill(g, high) < fill && high < 1e30)
		high *= 2;
	for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
		double middle = low + (high - low) / 2;
		if (geometry_fill(g, middle) < fill)
			low = middle;
		else
			high = middle;
	}
	return low + (high - low) / 2;
}
