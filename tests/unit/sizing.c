/*
 * Goal: what sizing finds keeps the rate that was asked for, in as little
 * memory as it promises; its three questions (size, lines, rate) answer each
 * other; and the extremes of what people may ask have an answer or a refusal.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bits/sizing.h"
#include "tap.h"

static const uint64_t all_lines[] = {
	1, 2, 3, 7, 10, 100, 999, 5000, 10000, 99999, 100000, 999999, 1000000,
	3333333, 10000000, 100000000, UINT64_C(10000000000),
	UINT64_C(1000000000000), UINT64_C(1) << 50, (UINT64_C(1) << 53) - 1,
	UINT64_C(1) << 53
};
static const double all_rates[] = {
	1e-12, 1.0000001e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3,
	1e-2, 0.0100001, 0.05, 0.1, 0.25, 0.49999, 0.5
};
static const uint64_t all_sizes[] = {
	1, 12288, 16383, 16384, 16385, 20479, 20480, 65536, 1 << 20,
	(1 << 20) + 1, UINT64_C(1) << 30, UINT64_C(1) << 40,
	UINT64_C(1) << 50, UINT64_C(1) << 60, (UINT64_C(1) << 63) - 65537,
	(UINT64_C(1) << 63) - 1, UINT64_C(1) << 63, UINT64_MAX
};
static const unsigned all_ks[] = { 0, 1, 2, 7, 8, 9, 16, 17, 33, 63, 64 };

#define COUNT(array) (sizeof (array) / sizeof *(array))

/* What went wrong, for one line of output each. */
struct faults {
	unsigned solved, refused;
	unsigned shape, rate, size, k, range, minimal, text;
};

static double
rate_with(const struct geometry *g, uint64_t pages, uint64_t lines)
{
	struct geometry other = *g;

	other.pages = pages;
	return geometry_rate(&other, lines);
}

/* Solve, and check all that must hold of any answer. */
static void
try_solve(struct sizing asked, struct faults *f)
{
	struct sizing s = asked;
	struct error error = { 0 };
	double share = sizing_layer_rate(1, asked.fixed, 0), limit;

	if (sizing_solve(&s, &error) < 0) {
		f->refused++;
		f->text += error.status != STATUS_USAGE || !error.text[0] ||
		    strchr(error.text, '\n') != NULL;
		return;
	}
	f->solved++;
	limit = s.error_rate * share;
	f->shape += geometry_check(&s.geometry) < 0 ||
	    s.k != s.geometry.k || s.bytes != SIZING_OVERHEAD_BYTES +
	    s.geometry.pages * PAGE_BYTES;
	f->rate += !(geometry_rate(&s.geometry, s.capacity) <=
	    limit * (1 + 1e-9));
	f->k += asked.k != 0 && (s.k != asked.k ||
	    s.geometry.cache_lines * CACHE_LINE_LANES < asked.k);
	f->range += s.capacity < 1 || s.capacity > SIZING_CAPACITY_MAX ||
	    !(s.error_rate >= SIZING_RATE_MIN &&
	    s.error_rate <= SIZING_RATE_MAX) ||
	    (asked.capacity != 0 && s.capacity != asked.capacity) ||
	    (asked.error_rate > 0 && (s.error_rate < asked.error_rate ||
	    s.error_rate > asked.error_rate));
	if (asked.bytes != 0) {
		/* less is enough for the lowest rate */
		f->size += s.bytes > asked.bytes ||
		    (asked.bytes - s.bytes >= PAGE_BYTES &&
		    s.error_rate > SIZING_RATE_MIN);
		if (asked.capacity == 0)
			f->minimal += s.capacity < SIZING_CAPACITY_MAX - 1 &&
			    geometry_rate(&s.geometry, s.capacity + 1) <=
			    limit;
	} else if (s.geometry.pages > 1) {
		f->minimal += rate_with(&s.geometry, s.geometry.pages - 1,
		    s.capacity) <= limit;
	}
}

static int
is_slow(void)
{
	return getenv("BLOOMDEDUP_SLOW") != NULL;
}

/*
 * Is this one of the cases that are tried: one in n, of which one in `fewer`
 * without BLOOMDEDUP_SLOW?
 */
static int
is_tried(size_t number, size_t round, size_t n, size_t fewer)
{
	if (!is_slow())
		n *= fewer;
	return number % n == round % n;
}

static void
tell(const struct faults *f, const char *what)
{
	tap_ok(f->solved > (is_slow() ? 140 : 70), "%s: %u answers, %u"
	    " refusals", what, f->solved, f->refused);
	tap_ok(f->shape == 0, "%s: shapes are allowed ones, sizes exact (%u"
	    " not)", what, f->shape);
	tap_ok(f->rate == 0, "%s: the rate is kept (%u not)", what, f->rate);
	tap_ok(f->size == 0, "%s: the memory is used, and no more (%u not)",
	    what, f->size);
	tap_ok(f->k == 0, "%s: a given k is kept, in k/8 cache lines at least"
	    " (%u not)", what, f->k);
	tap_ok(f->range == 0, "%s: what was given is kept (%u not)", what,
	    f->range);
	tap_ok(f->minimal == 0, "%s: a page less, or a line more, breaks the"
	    " rate (%u not)", what, f->minimal);
	tap_ok(f->text == 0, "%s: a refusal is a usage error with a reason"
	    " (%u not)", what, f->text);
}

static void
test_all(int fixed)
{
	struct faults for_size = { 0 }, for_rate = { 0 }, for_lines = { 0 };

	for (size_t q = 0; q < COUNT(all_ks); q++) {
		struct sizing s = { .k = all_ks[q], .fixed = fixed };

		for (size_t i = 0; i < COUNT(all_lines); i++) {
			s.capacity = all_lines[i];
			for (size_t j = 0; j < COUNT(all_rates); j++) {
				s.error_rate = all_rates[j];
				if (is_tried(i + j, q, 8, 2))
					try_solve(s, &for_size);
			}
			s.error_rate = 0;
			for (size_t j = 0; j < COUNT(all_sizes); j++) {
				s.bytes = all_sizes[j];
				if (is_tried(i + j, q, 3, 2))
					try_solve(s, &for_rate);
			}
			s.bytes = 0;
		}
		s.capacity = 0;
		for (size_t i = 0; i < COUNT(all_rates); i++) {
			s.error_rate = all_rates[i];
			for (size_t j = 0; j < COUNT(all_sizes); j++) {
				s.bytes = all_sizes[j];
				if (is_tried(i + j, q, 8, 2))
					try_solve(s, &for_lines);
			}
		}
	}
	tell(&for_size, fixed ? "size, not growing" : "size");
	tell(&for_rate, fixed ? "rate, not growing" : "rate");
	tell(&for_lines, fixed ? "lines, not growing" : "lines");
}

static void
test_textbook(void)
{
	static const struct {
		unsigned bits, k;
		double rate;
	} classical[] = { /* the table that Bloom filters are introduced with */
		{ 2, 1, 0.393 }, { 4, 3, 0.147 }, { 5, 3, 0.092 },
		{ 6, 4, 0.0561 }, { 8, 1, 0.118 }, { 8, 4, 0.0240 },
		{ 8, 5, 0.0217 }, { 8, 6, 0.0216 }, { 8, 7, 0.0229 },
		{ 8, 8, 0.0255 }, { 10, 7, 0.00819 }, { 12, 8, 0.00314 },
		{ 16, 8, 0.000574 }, { 32, 8, 5.73e-6 },
	};
	double worst = 0;

	for (size_t i = 0; i < COUNT(classical); i++)
		worst = fmax(worst, fabs(sizing_textbook_rate(
		    classical[i].bits, classical[i].k) / classical[i].rate -
		    1));
	tap_ok(worst < 0.005, "the classical table, to %.4f", worst);
	tap_ok(sizing_textbook_bytes(100000000, 1e-5) == 299533075,
	    "1e8 lines at 1e-5: %" PRIu64 " bytes",
	    sizing_textbook_bytes(100000000, 1e-5));
	tap_ok(sizing_textbook_k(1e-5) == 17 && sizing_textbook_k(1e-2) == 7 &&
	    sizing_textbook_k(1e-3) == 10 && sizing_textbook_k(1e-6) == 20 &&
	    sizing_textbook_k(0.5) == 1 && sizing_textbook_k(1e-12) == 40,
	    "the textbook's k");
	tap_ok(sizing_textbook_bytes(SIZING_CAPACITY_MAX, SIZING_RATE_MIN) >
	    UINT64_C(1) << 55, "the largest of all doesn't overflow");
}

/* 13 % above the textbook at most, in the cache lines that the table says. */
static void
test_slack(void)
{
	static const struct {
		double rate;
		unsigned cache_lines;
	} promised[] = {
		{ 1e-2, 1 }, { 1e-3, 2 }, { 1e-4, 2 }, { 1e-5, 2 },
		{ 1e-6, 2 }, { 1e-7, 3 }, { 1e-8, 3 },
	};
	const double factor = pow(10, -0.4);
	double worst = 0, p = 1e-2;

	for (size_t i = 0; i < COUNT(promised); i++) {
		struct sizing s = { .capacity = 100000000,
			.error_rate = promised[i].rate };
		struct error error;
		int result = sizing_solve(&s, &error);

		tap_ok(result == 0 &&
		    s.geometry.cache_lines == promised[i].cache_lines,
		    "p = %g: %u cache lines (%u)", promised[i].rate,
		    promised[i].cache_lines, s.geometry.cache_lines);
	}
	for (unsigned i = 0; i <= 25; i++, p *= factor) {
		for (uint64_t n = 1000000; n < UINT64_C(1) << 53; n *= 37) {
			struct sizing s = { .capacity = n,
				.error_rate = fmax(p, 1e-12) };
			struct error error;

			if (sizing_solve(&s, &error) < 0) {
				tap_ok(0, "n = %" PRIu64 ", p = %g: %s", n, p,
				    error.text);
				return;
			}
			worst = fmax(worst, (double)s.bytes / (double)
			    sizing_textbook_bytes(n, s.error_rate));
		}
	}
	tap_ok(worst <= 1.13 && worst > 1.05, "n from 1e6, p to 1e-2: at most"
	    " 13 %% above the textbook (%.2f %%)", 100 * (worst - 1));
}

/* The rates of the layers of a growing filter. */
static void
test_layer_rates(void)
{
	int right = 1;

	for (size_t i = 0; i < COUNT(all_rates); i++) {
		double p = all_rates[i], sum = 0;

		for (unsigned j = 0; j < 1000000; j = j < 100 ? j + 1 : j * 2) {
			double rate = sizing_layer_rate(p, 0, j);
			right &= rate > 0 && rate <= p &&
			    fabs(sizing_layer_rate(p, 1, j) / p -
			    (1 - SIZING_PENDING_SHARE)) < 1e-12;
		}
		for (unsigned j = 0; j < 100000; j++)
			sum += sizing_layer_rate(p, 0, j);
		right &= sum <= p && sum > 0.999 * p;
	}
	tap_ok(right, "the rates of 100,000 layers add up to p, and not more");
}

/* The layers that a filter grows by, as long as it can. */
static void
test_layers(void)
{
	unsigned layers = 0, wrong = 0;

	for (size_t i = 0; i < COUNT(all_rates); i++) {
		uint64_t lines = 2;

		if (!is_tried(i, 0, 3, 3))
			continue;
		for (unsigned j = 1; lines <= SIZING_CAPACITY_MAX; j++) {
			double rate = sizing_layer_rate(all_rates[i], 0, j);
			struct geometry g;
			struct error error;

			layers++;
			wrong += sizing_layer(&g, lines, rate, rate, 0,
			    &error) < 0 || geometry_check(&g) < 0 ||
			    !(geometry_rate(&g, lines) <= rate);
			lines *= 2;
		}
	}
	tap_ok(wrong == 0, "%u layers of growing filters keep their rates (%u"
	    " don't)", layers, wrong);
}

/*
 * The rate of a hostile header, far below what anybody may ask for, becomes 0
 * as the filter grows. That this is a refusal, and no cast of infinity, is for
 * the sanitizers to see.
 */
static void
test_rates_near_0(void)
{
	static const double rates[] = { 0, 5e-324, 5e-314, 1e-300 };
	unsigned wrong = 0;

	for (size_t i = 0; i < COUNT(rates); i++) {
		for (size_t j = 0; j < COUNT(all_lines); j++) {
			struct geometry g;
			struct error error = { 0 };
			int result = sizing_layer(&g, all_lines[j], rates[i],
			    rates[i], 0, &error);

			if (result < 0)
				wrong += error.status != STATUS_USAGE;
			else
				wrong += geometry_check(&g) < 0 ||
				    !(geometry_rate(&g, all_lines[j]) <=
				    rates[i]);
			wrong += rates[i] <= 0 && result == 0;
		}
		wrong += sizing_textbook_k(rates[i]) != K_MAX;
	}
	tap_ok(wrong == 0, "a rate near 0 has a layer or none (%u wrong)",
	    wrong);
}

/* Within the slack that is promised for n >= 1e6 and p <= 1e-2. */
static int
near_textbook(const struct sizing *s)
{
	return s->capacity >= 1000000 && s->error_rate <= 1e-2 &&
	    (double)s->bytes <= 1.13 * (double)
	    sizing_textbook_bytes(s->capacity, s->error_rate);
}

/*
 * The answers to the three questions fit together: what memory is found for n
 * and p holds n lines at p. Where fewer cache lines are worth some memory, the
 * shapes may be different ones, each within the slack of the textbook.
 */
static void
test_consistency(int fixed)
{
	unsigned cases = 0, failed = 0, fewer = 0, higher = 0, larger = 0;

	for (size_t i = fixed ? 1 : 0; i < COUNT(all_lines) - 3; i += 2) {
		for (size_t j = 0; j < COUNT(all_rates); j++) {
			if (!is_tried(i / 2 + j, 0, 1, 4))
				continue;
			struct sizing a = { .capacity = all_lines[i],
				.error_rate = all_rates[j], .fixed = fixed };
			struct sizing lines = { .fixed = fixed }, rate = lines;
			struct sizing back = lines;
			struct error error;

			cases++;
			failed += sizing_solve(&a, &error) < 0;
			lines.error_rate = a.error_rate;
			lines.bytes = a.bytes;
			rate.capacity = a.capacity;
			rate.bytes = a.bytes;
			failed += sizing_solve(&lines, &error) < 0;
			failed += sizing_solve(&rate, &error) < 0;
			fewer += lines.capacity < a.capacity &&
			    !near_textbook(&lines);
			higher += rate.error_rate > a.error_rate &&
			    !near_textbook(&rate);
			back.capacity = lines.capacity;
			back.error_rate = lines.error_rate;
			failed += sizing_solve(&back, &error) < 0;
			if (back.bytes > a.bytes && !near_textbook(&back)) {
				larger++;
				printf("# n = %" PRIu64 ", p = %g: %" PRIu64
				    " bytes, where %" PRIu64 " do (k = %u, t ="
				    " %u)\n", back.capacity, back.error_rate,
				    back.bytes, a.bytes, lines.k,
				    lines.geometry.cache_lines);
			}
		}
	}
	tap_ok(failed == 0 && cases > 30, "%s: %u cases, each solved for"
	    " size, lines and rate", fixed ? "not growing" : "growing", cases);
	tap_ok(fewer == 0, "the memory found for n and p holds n lines at p"
	    " (%u don't)", fewer);
	tap_ok(higher == 0, "and has rate p at n lines (%u don't)", higher);
	tap_ok(larger == 0, "and the size for the lines that fit is that"
	    " memory (%u aren't)", larger);
}

/* Below 1e6 lines it is the smallest file that does: no page is wasted. */
static void
test_smallest(void)
{
	unsigned larger = 0, cases = 0;

	for (uint64_t pages = 1; pages <= 20; pages++) {
		if (!is_tried((size_t)pages, 1, 1, 5))
			continue;
		for (double p = 1e-12; p < 0.5; p *= 10) {
			struct sizing lines = { .error_rate = p, .fixed = 1,
				.bytes = SIZING_OVERHEAD_BYTES +
				pages * PAGE_BYTES };
			struct sizing size = { .error_rate = p, .fixed = 1 };
			struct error error;

			cases++;
			larger += sizing_solve(&lines, &error) < 0;
			size.capacity = lines.capacity;
			larger += sizing_solve(&size, &error) < 0 ||
			    size.bytes > lines.bytes;
		}
	}
	tap_ok(larger == 0, "up to 20 pages: as many as are needed and not"
	    " more (%u of %u wrong)", larger, cases);
}

/* Is there no better k than the one found for the same cache lines? */
static void
test_best_k(void)
{
	unsigned worse = 0, cases = 0;

	for (size_t i = 4; i < COUNT(all_lines) - 3; i += 2) {
		for (size_t j = 0; j < COUNT(all_rates); j += 2) {
			struct sizing s = { .capacity = all_lines[i],
				.bytes = SIZING_OVERHEAD_BYTES + PAGE_BYTES *
				(1 + (uint64_t)((double)all_lines[i] *
				-log(all_rates[j]) / 15000)) };
			struct error error;
			double best;

			if (sizing_solve(&s, &error) < 0)
				continue;
			cases++;
			best = geometry_rate(&s.geometry, s.capacity);
			if (s.error_rate <= SIZING_RATE_MIN)
				continue; /* the smallest size is wanted */
			for (unsigned k = s.geometry.cache_lines;
			    k <= CACHE_LINE_LANES * s.geometry.cache_lines;
			    k++) {
				struct geometry g = s.geometry;
				g.k = k;
				if (geometry_rate(&g, s.capacity) <
				    0.999 * best) {
					worse++;
					printf("# n = %" PRIu64 ", %" PRIu64
					    " pages, t = %u: k = %u is better"
					    " than %u\n", s.capacity, g.pages,
					    g.cache_lines, k, s.k);
					break;
				}
			}
		}
	}
	tap_ok(worse == 0 && cases > 50, "no other k has a lower rate in the"
	    " same memory (%u of %u)", worse, cases);
}

static void
refuses(struct sizing s, const char *word, const char *what)
{
	struct error error = { 0 };

	tap_ok(sizing_solve(&s, &error) < 0 && error.status == STATUS_USAGE &&
	    strstr(error.text, word) != NULL, "%s: %s", what, error.text);
}

static void
test_refusals(void)
{
	refuses((struct sizing){ .capacity = 1000, .bytes = 16383 },
	    "16384", "less than the smallest file");
	refuses((struct sizing){ .capacity = 1000000, .bytes = 16384 },
	    "too little", "memory for some of the lines");
	refuses((struct sizing){ .error_rate = 1e-12, .bytes = 16384, .k = 1 },
	    "too little", "memory for no line");
	refuses((struct sizing){ .error_rate = 0.1, .bytes = UINT64_MAX },
	    "too many", "more memory than a file has");
	refuses((struct sizing){ .capacity = UINT64_C(1) << 53,
	    .error_rate = 1e-12, .k = 1 }, "too large",
	    "a filter that is larger than a file");
}

int
main(void)
{
	test_textbook();
	test_slack();
	test_layer_rates();
	test_layers();
	test_rates_near_0();
	test_all(0);
	test_all(1);
	test_consistency(0);
	test_consistency(1);
	test_smallest();
	test_best_k();
	test_refusals();
	return tap_end();
}
