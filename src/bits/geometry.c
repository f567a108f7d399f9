/*
 * Why not the textbook's (1 - e^(-kn/m))^k: the load of a page, of a cache line
 * and of a lane vary around their means, and a rate that is a high power of the
 * load has a mean well above the rate at the mean load. With one cache line a
 * key and p = 1e-6 the textbook is wrong by a factor of hundreds.
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
struct cache_line_rate {
	struct term terms[TERMS_MAX];
	unsigned count;
	unsigned power; /* number of groups of the page with this rate */
};

int
geometry_check(const struct geometry *g)
{
	if (g->pages < 1 || g->pages > PAGES_MAX)
		return -1;
	if (g->cache_lines < 1 || g->cache_lines > CACHE_LINES_MAX)
		return -1;
	if (g->k < g->cache_lines || g->k > CACHE_LINE_LANES * g->cache_lines)
		return -1;
	return 0;
}

/*
 * A query looks at `bits` adjacent lanes of a cache line, which a key hits with
 * probability 1/size. All of its bits are set with probability
 *
 *     sum over S of (-1)^|S| P(no key set the query's bit in any lane of S)
 *
 * and a key leaves those of S alone with probability 1 - 1/size + 1/size *
 * mean over its rotation r of (63/64)^|W_r and S|, W_r being the lanes in
 * which it sets a bit. Sets with the same mean become one term; its base is
 * that mean here, which depends on `bits` alone.
 */
static struct cache_line_rate means[CACHE_LINE_LANES + 1];
static pthread_once_t means_once = PTHREAD_ONCE_INIT;

static void
means_init(void)
{
	double kept[CACHE_LINE_LANES + 1] = { 1 };

	for (unsigned i = 0; i < CACHE_LINE_LANES; i++)
		kept[i + 1] = kept[i] * (63.0 / 64.0);
	for (unsigned bits = 0; bits <= CACHE_LINE_LANES; bits++) {
		struct cache_line_rate *to = &means[bits];

		for (unsigned set = 0; set < 1u << bits; set++) {
			double mean, left = 0;
			unsigned i = 0;

			for (unsigned r = 0; r < CACHE_LINE_LANES; r++) {
				unsigned window = ((1u << bits) - 1) << r;

				window |= window >> CACHE_LINE_LANES;
				left += kept[__builtin_popcount(window & set)];
			}
			mean = left / CACHE_LINE_LANES;
			while (i < to->count &&
			    fabs(to->terms[i].base - mean) >= 1e-12)
				i++;
			if (i == to->count)
				to->terms[to->count++].base = mean;
			to->terms[i].factor += __builtin_parity(set) ? -1 : 1;
		}
	}
}

/*
 * The rate in a page at N, N + step, N + 2 step ...: the different rates of
 * its groups' cache lines, each of whose powers is updated with one
 * multiplication.
 */
struct page_walk {
	struct cache_line_rate rates[CACHE_LINES_MAX];
	unsigned count;
};

static void
page_walk_start(struct page_walk *walk, const struct geometry *g, double first,
    double step)
{
	unsigned bits[CACHE_LINES_MAX], sizes[CACHE_LINES_MAX], i;

	pthread_once(&means_once, means_init);
	walk->count = 0;
	for (unsigned j = 0; j < g->cache_lines; j++) {
		unsigned b = geometry_cache_line_bits(g->k, g->cache_lines, j);
		unsigned size = geometry_group(g->cache_lines, j + 1) -
		    geometry_group(g->cache_lines, j);

		for (i = 0; i < walk->count; i++) {
			if (bits[i] == b && sizes[i] == size)
				break;
		}
		if (i < walk->count) {
			walk->rates[i].power++;
			continue;
		}
		bits[i] = b;
		sizes[i] = size;
		walk->rates[i] = means[b];
		walk->rates[i].power = 1;
		walk->count++;
		for (unsigned l = 0; l < means[b].count; l++) {
			struct term *term = &walk->rates[i].terms[l];

			term->base = 1 - (1 - term->base) / size;
			term->step = pow(term->base, step);
			term->factor *= pow(term->base, first);
		}
	}
}

/* The rate where the walk is; it goes a step on. */
static double
page_walk_rate(struct page_walk *walk)
{
	double product = 1;

	for (unsigned i = 0; i < walk->count; i++) {
		struct cache_line_rate *rate = &walk->rates[i];
		double sum = 0;

		for (unsigned j = 0; j < rate->count; j++) {
			sum += rate->terms[j].factor;
			rate->terms[j].factor *= rate->terms[j].step;
		}
		sum = sum < 0 ? 0 : sum;
		for (unsigned j = 0; j < rate->power; j++)
			product *= sum;
	}
	return product;
}

double
geometry_rate(const struct geometry *g, uint64_t lines)
{
	struct page_walk walk;
	double n = (double)lines, q = 1 / (double)g->pages;
	double mean = n * q, sd = sqrt(mean * (1 - q));
	double last, step, N, weight = 1, sum = 0, total = 0;

	if (lines == 0)
		return 0;
	if (mean > 64.0 * PAGE_BYTES * 8)
		return 1; /* all but a share of e^-64 of the bits are set */
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
	N = fmax(0, floor(mean - 12 * sd - 12));
	last = fmin(n, mean + 12 * sd + 40);

	/*
	 * The ratio of neighbouring weights is exact; the gamma function has no
	 * digits left at n = 1e15. The first weight counts as 1, and none is
	 * more than e^180 times as large.
	 */
	page_walk_start(&walk, g, N, step);
	while (N <= last) {
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
		double share = geometry_cache_line_bits(g->k, t,
		    j) / (512.0 * size * (double)g->pages);
		set += size * -expm1(lines * log1p(-share));
	}
	return set / PAGE_CACHE_LINES;
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
