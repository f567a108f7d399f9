/*
 * Goal: the rate that is computed for a shape is the one that its bits show.
 * Simulations with random digests and fixed seeds, so that each run is the
 * same one; a deviation of 4 standard deviations fails.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bits/block.h"
#include "base/error.h"
#include "bits/geometry.h"
#include "random64.h"
#include "tap.h"

#define BATCH 500

static void
mark_lines(const struct block_array *array, uint64_t lines)
{
	struct digest digests[BATCH];

	while (lines > 0) {
		size_t n = lines < BATCH ? (size_t)lines : BATCH;

		draw(digests, n);
		loops()->mark(array, digests, n);
		lines -= n;
	}
}

static uint64_t
count_found(const struct block_array *array, uint64_t probes)
{
	struct digest digests[BATCH];
	uint8_t found[BATCH];
	uint64_t count = 0;

	while (probes > 0) {
		size_t n = probes < BATCH ? (size_t)probes : BATCH;

		draw(digests, n);
		memset(found, 0, sizeof found);
		loops()->probe(array, digests, n, found);
		for (size_t i = 0; i < n; i++)
			count += found[i];
		probes -= n;
	}
	return count;
}

/* The most lines at which the computed rate is at most `rate`. */
static uint64_t
lines_at(const struct geometry *g, double rate)
{
	uint64_t low = 0, high = 1;

	while (geometry_rate(g, high) <= rate)
		high *= 2;
	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;
		if (geometry_rate(g, middle) <= rate)
			low = middle;
		else
			high = middle;
	}
	return low;
}

struct experiment {
	struct geometry geometry;
	double rate;
	unsigned rounds; /* so many filters */
	unsigned probes; /* in each */
};

/*
 * Filters differ by chance, too, so the standard error comes from how the
 * rounds differ.
 */
static void
simulate(const struct experiment *e, uint8_t *pages)
{
	struct block_array array = { pages, e->geometry };
	uint64_t lines = lines_at(&e->geometry, e->rate);
	double predicted = geometry_rate(&e->geometry, lines);
	double sum = 0, squares = 0, mean, error, deviation;

	random_state = e->geometry.pages * 10000 +
	    e->geometry.cache_lines * 100 + e->geometry.k;
	for (unsigned i = 0; i < e->rounds; i++) {
		double rate;

		memset(pages, 0, (size_t)e->geometry.pages * PAGE_BYTES);
		mark_lines(&array, lines);
		rate = (double)count_found(&array, e->probes) / e->probes;
		sum += rate;
		squares += rate * rate;
	}
	mean = sum / e->rounds;
	error = sqrt((squares - sum * mean) / (e->rounds - 1) / e->rounds);
	deviation = (mean - predicted) / error;
	tap_ok(fabs(deviation) < 4, "t = %u, k = %u, %" PRIu64 " pages, %"
	    PRIu64 " lines: %.3e predicted, %.3e +- %.1e measured (%+.1f)",
	    e->geometry.cache_lines, e->geometry.k, e->geometry.pages, lines,
	    predicted, mean, error, deviation);
}

static void
test_simulation(uint8_t *pages)
{
	static const struct experiment special[] = {
		/* the shapes that sizes are found with, at lower rates */
		{ { 1, 8, 1 }, 1e-3, 30, 200000 },
		{ { 7, 8, 1 }, 1e-3, 30, 200000 },
		{ { 500, 8, 1 }, 1e-3, 12, 300000 },
		{ { 7, 16, 2 }, 1e-3, 30, 200000 },
		{ { 500, 14, 2 }, 1e-3, 12, 300000 },
		{ { 7, 20, 3 }, 1e-3, 30, 200000 },
		{ { 500, 24, 3 }, 1e-3, 12, 300000 },
		{ { 1, 7, 1 }, 0.3, 30, 20000 },
		{ { 3, 64, 8 }, 0.5, 30, 20000 },
		{ { 2, 1, 1 }, 0.01, 30, 100000 },
		{ { 500, 1, 1 }, 0.1, 12, 100000 },
	};
	static const unsigned page_counts[] = { 1, 7 };

	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		unsigned ks[] = { t, 3 * t - 1 > t ? 3 * t - 1 : t + 1,
			6 * t + t / 2, 8 * t - 1, 8 * t };

		for (unsigned i = 0; i < 5; i++) {
			struct experiment e = { { page_counts[(t + i) % 2],
				ks[i], t }, 0.02, 25, 16000 };
			if (i == 4)
				e.geometry.pages = 40;
			simulate(&e, pages);
		}
	}
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		simulate(&special[i], pages);
}

/* Given a filter, its bits say at which rate unseen keys are found in it. */
static void
test_page_fill(uint8_t *pages)
{
	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		struct geometry g = { 5, 6 * t + t / 2, t };
		struct block_array array = { pages, g };
		unsigned probes = 400000;
		double rate = 0, found, deviation;

		random_state = 77 + t;
		memset(pages, 0, (size_t)g.pages * PAGE_BYTES);
		mark_lines(&array, lines_at(&g, 0.01));
		for (uint64_t i = 0; i < g.pages; i++)
			rate += block_page_fill(&array.geometry,
			    array.pages + i * PAGE_BYTES).rate /
			    (double)g.pages;
		found = (double)count_found(&array, probes) / probes;
		deviation = (found - rate) / sqrt(rate / probes);
		tap_ok(fabs(deviation) < 4, "t = %u: the bits say %.3e, %.3e"
		    " of unseen keys are found (%+.1f)", t, rate, found,
		    deviation);
	}
}

/* The number of lines, estimated from the bits of a real filter. */
static void
test_estimate(uint8_t *pages)
{
	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		struct geometry g = { 20, 7 * t, t };
		struct block_array array = { pages, g };
		uint64_t lines = lines_at(&g, 0.01), bits = 0;
		double estimate;

		random_state = 177 + t;
		memset(pages, 0, (size_t)g.pages * PAGE_BYTES);
		mark_lines(&array, lines);
		for (uint64_t i = 0; i < g.pages; i++)
			bits += block_page_fill(&array.geometry,
			    array.pages + i * PAGE_BYTES).bits;
		estimate = geometry_lines(&g, (double)bits /
		    ((double)g.pages * PAGE_BYTES * 8));
		tap_ok(fabs(estimate / (double)lines - 1) < 0.01,
		    "t = %u: %" PRIu64 " lines, estimated from the bits: %.0f",
		    t, lines, estimate);
	}
}

static void
test_inverse(void)
{
	static const uint64_t page_counts[] = { 1, 7, 500, 1 << 20,
		UINT64_C(1) << 40 };

	for (unsigned i = 0;
	    i < sizeof page_counts / sizeof *page_counts; i++) {
		double worst = 0;

		for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
			for (unsigned k = t; k <= CACHE_LINE_LANES * t; k++) {
				struct geometry g = { page_counts[i], k, t };
				double most = (double)g.pages * 2e5 / k;

				for (double n = 1; n < most; n *= 9.7) {
					double fill = geometry_fill(&g, n);
					double back = geometry_lines(&g, fill);
					worst = fmax(worst, fabs(back / n - 1));
				}
			}
		}
		tap_ok(worst < 1e-6, "%" PRIu64 " pages: the number of lines"
		    " follows from the fill, to %.1e", page_counts[i], worst);
	}
	tap_ok(geometry_lines(&(struct geometry){ 7, 20, 3 }, 0) <= 0,
	    "no bits, no lines");
	tap_ok(isinf(geometry_lines(&(struct geometry){ 7, 20, 3 }, 1)),
	    "all bits, infinitely many lines");
}

/* Where a formula can be had without a computer. */
static void
test_closed_forms(void)
{
	double worst = 0;

	/* One bit a key is one bit of the whole layer, wherever its page is. */
	for (uint64_t pages = 1; pages <= PAGES_MAX / 2; pages *= 3) {
		struct geometry g = { pages, 1, 1 };

		for (uint64_t lines = 1; lines <= UINT64_C(1) << 53;
		    lines = 5 * lines + 1) {
			double want = -expm1((double)lines *
			    log1p(-1 / (32768.0 * (double)pages)));
			double got = geometry_rate(&g, lines);

			/* rounding of 1e-14 in one page's factor */
			worst = fmax(worst, fabs(got - want) /
			    (want + 1e-3 * fmin(1, (double)lines /
			    (double)pages)));
		}
	}
	tap_ok(worst < 1e-6, "one bit a key, any number of pages and lines:"
	    " right to %.1e", worst);

	worst = 0;
	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		struct geometry g = { 1, t, t };
		double want = 1;

		for (unsigned j = 0; j < t; j++)
			want /= 512.0 * (geometry_group(t, j + 1) -
			    geometry_group(t, j));
		worst = fmax(worst, fabs(geometry_rate(&g, 1) / want - 1));
	}
	tap_ok(worst < 1e-6, "one line in one page, a bit in each cache line:"
	    " right to %.1e", worst);
	tap_ok(geometry_rate(&(struct geometry){ 1, 20, 3 }, 0) <= 0,
	    "an empty filter finds nothing");
	tap_ok(geometry_rate(&(struct geometry){ 1, 20, 3 },
	    UINT64_C(1) << 53) >= 1, "an overfull one finds everything");
}

/* More lines: a higher rate. More pages: a lower one. Never outside [0, 1]. */
static void
test_monotonic(void)
{
	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		unsigned wrong = 0;

		for (unsigned k = t; k <= CACHE_LINE_LANES * t; k += 3) {
			double last = 0;

			for (uint64_t n = 1; n < 1 << 22; n += 1 + n / 4) {
				struct geometry g = { 23, k, t };
				double rate = geometry_rate(&g, n);

				wrong += !(rate >= last * (1 - 1e-9) &&
				    rate >= 0 && rate <= 1 + 1e-9);
				last = rate;
			}
			last = 1;
			for (uint64_t p = 1; p < 1 << 22; p += 1 + p / 4) {
				struct geometry g = { p, k, t };
				double rate = geometry_rate(&g, 100000);

				wrong += !(rate <= last * (1 + 1e-6) + 1e-15);
				last = rate;
			}
		}
		tap_ok(wrong == 0, "t = %u: the rate rises with the lines and"
		    " falls with the pages", t);
	}
}

static void
test_check(void)
{
	int right = 1;

	for (unsigned t = 0; t <= 9; t++) {
		for (unsigned k = 0; k <= 73; k++) {
			struct geometry g = { 1, k, t };
			int allowed = t >= 1 && t <= 8 && k >= t && k <= 8 * t;
			right &= (geometry_check(&g) == 0) == allowed;
		}
	}
	tap_ok(right, "t <= k <= 8t and 1 <= t <= 8, and nothing else");
	tap_ok(geometry_check(&(struct geometry){ 0, 8, 1 }) < 0 &&
	    geometry_check(&(struct geometry){ PAGES_MAX, 8, 1 }) == 0 &&
	    geometry_check(&(struct geometry){ PAGES_MAX + 1, 8, 1 }) < 0 &&
	    geometry_check(&(struct geometry){ UINT64_MAX, 8, 1 }) < 0,
	    "1 to PAGES_MAX pages");
	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		right &= geometry_group(t, 0) == 0 &&
		    geometry_group(t, t) == PAGE_CACHE_LINES;
		for (unsigned k = t; k <= CACHE_LINE_LANES * t; k++) {
			unsigned sum = 0;
			for (unsigned j = 0; j < t; j++)
				sum += geometry_cache_line_bits(k, t, j);
			right &= sum == k;
		}
	}
	tap_ok(right, "groups cover a page, and the bits of lines are k");
}

int
main(void)
{
	uint8_t *pages =
	    memory_or_die(aligned_alloc(PAGE_BYTES, 500 * PAGE_BYTES));

	test_check();
	test_closed_forms();
	test_monotonic();
	test_inverse();
	test_simulation(pages);
	test_page_fill(pages);
	test_estimate(pages);
	free(pages);
	return tap_end();
}
