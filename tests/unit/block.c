/*
 * Goal: marking and probing do what block_visit says, for every number of
 * cache lines and bits, in every version of the hot loops that this machine
 * can run; and block_visit gives exactly k bits, in t cache lines, at most one
 * a lane.
 */
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bits/block.h"
#include "base/error.h"
#include "bits/loops.h"
#include "bits/version.h"
#include "random64.h"
#include "tap.h"

#define PAGES 3
#define KEYS 1500 /* leaves some bits unset and others not, also for k = 64 */

/* What block_visit said of one digest. */
struct visits {
	unsigned count;
	struct bit {
		uint64_t page;
		unsigned line, lane, bit;
	} bits[K_MAX + 1];
};

static void
visit(void *context, uint64_t page, unsigned line, unsigned lane, unsigned bit)
{
	struct visits *v = context;

	if (v->count <= K_MAX)
		v->bits[v->count++] = (struct bit){ page, line, lane, bit };
}

/* Little-endian words: bit b of a word is bit b % 8 of its byte b / 8. */
static size_t
byte_of(const struct bit *b)
{
	return (size_t)b->page * PAGE_BYTES + b->line * CACHE_LINE_BYTES +
	    b->lane * 8 + b->bit / 8;
}

static void
mark_bit(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	uint8_t *model = context;

	model[byte_of(&(struct bit){ page, line, lane, bit })] |=
	    (uint8_t)(1u << bit % 8);
}

static void
naive_mark(uint8_t *model, const struct geometry *g, struct digest d)
{
	block_visit(g, d, mark_bit, model);
}

struct probe {
	const uint8_t *model;
	int found;
};

static void
probe_bit(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	struct probe *probe = context;

	probe->found &= probe->model[byte_of(&(struct bit){ page, line, lane,
		bit })] >> bit % 8;
}

static int
naive_probe(const uint8_t *model, const struct geometry *g, struct digest d)
{
	struct probe probe = { model, 1 };

	block_visit(g, d, probe_bit, &probe);
	return probe.found;
}

/*
 * Are these k bits of one page, in t cache lines, the j-th in the j-th group,
 * with as many bits as it should have, one a lane, in neighbouring lanes?
 */
static int
is_well_placed(const struct visits *v, const struct geometry *g)
{
	uint8_t lanes[PAGE_CACHE_LINES] = { 0 };
	unsigned lines = 0;

	if (v->count != g->k)
		return 0;
	for (unsigned i = 0; i < v->count; i++) {
		const struct bit *b = &v->bits[i];

		if (b->page != v->bits[0].page || b->page >= g->pages ||
		    b->line >= PAGE_CACHE_LINES ||
		    b->lane >= CACHE_LINE_LANES ||
		    b->bit >= 64 || (lanes[b->line] >> b->lane & 1))
			return 0;
		lines += lanes[b->line] == 0;
		lanes[b->line] |= (uint8_t)(1u << b->lane);
	}
	for (unsigned j = 0; j < g->cache_lines; j++) {
		unsigned bits = geometry_cache_line_bits(g->k, g->cache_lines,
		    j);
		unsigned row = (1u << bits) - 1, used = 0;

		for (unsigned i = geometry_group(g->cache_lines, j);
		    i < geometry_group(g->cache_lines, j + 1); i++)
			used |= lanes[i];
		for (unsigned r = 0; r < CACHE_LINE_LANES; r++) {
			if (used == ((row << r | row << r >> 8) & 0xff))
				row = 0;
		}
		if (row != 0)
			return 0;
	}
	return lines == g->cache_lines;
}

static void
test_visit(void)
{
	static const uint64_t pages[] = { 1, 2, 1000, (1 << 20) + 7,
		PAGES_MAX };

	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		int right = 1;

		random_state = t;
		for (unsigned k = t; k <= CACHE_LINE_LANES * t; k++) {
			for (unsigned i = 0; i < 500; i++) {
				struct geometry g = { pages[i % 5], k, t };
				struct visits v;
				struct digest d;

				v.count = 0;
				draw(&d, 1);
				block_visit(&g, d, visit, &v);
				right &= is_well_placed(&v, &g);
			}
		}
		tap_ok(right, "k bits in %u cache lines, at most one a lane,"
		    " for all k", t);
	}
}

static void
count_bit(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	unsigned *counts = context;

	counts[byte_of(&(struct bit){ page, line, lane, bit }) * 8 +
	    bit % 8]++;
}

/* Every bit of a page is used, each about as often as the others. */
static void
test_spread(void)
{
	static unsigned counts[PAGE_CACHE_LINES * 512];

	for (unsigned t = 1; t <= CACHE_LINES_MAX; t++) {
		struct geometry g = { 1, CACHE_LINE_LANES * t - (t > 1), t };
		double worst = 0;
		unsigned keys = 400000;

		random_state = 100 + t;
		memset(counts, 0, sizeof counts);
		for (unsigned i = 0; i < keys; i++) {
			struct digest d;

			draw(&d, 1);
			block_visit(&g, d, count_bit, counts);
		}
		for (unsigned j = 0; j < t; j++) {
			unsigned first = geometry_group(t, j);
			unsigned end = geometry_group(t, j + 1);
			unsigned bits = geometry_cache_line_bits(g.k, t, j);
			double mean = keys * (double)bits /
			    (512.0 * (end - first));

			for (unsigned i = first * 512; i < end * 512; i++)
				worst = fmax(worst, fabs(counts[i] - mean) /
				    sqrt(mean));
		}
		/* of 32,768 deviates one is beyond 6.5 in 300,000 runs */
		tap_ok(worst < 6.5, "t = %u: no bit is used more often than"
		    " others (%.2f standard deviations)", t, worst);
	}
}

struct bench {
	uint8_t *pages, *model; /* guards around the pages */
	struct digest keys[KEYS], others[KEYS];
	uint8_t found[KEYS];
};

/* Is what is found what the model has, and what was 1 still 1? */
static int
agrees(const struct loops *kernel, const struct block_array *array,
    struct bench *b, const struct digest *digests, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b->found[i] = i % 5 == 0;
	kernel->prefetch(array, digests, n);
	kernel->probe(array, digests, n, b->found);
	for (size_t i = 0; i < n; i++) {
		int want = i % 5 == 0 ||
		    naive_probe(b->model, &array->geometry, digests[i]);
		if (b->found[i] != want)
			return 0;
	}
	return 1;
}

static int
test_geometry(const struct loops *kernel, struct bench *b, unsigned t,
    unsigned k)
{
	/* odd numbers of keys, none too, so that tails of loops are met */
	static const size_t steps[] = { 1, 0, 2, 3, 7, 16, 31, 64, 200, 1176 };
	struct block_array array = { b->pages + PAGE_BYTES, { PAGES, k, t } };
	size_t done = 0;
	int right = 1;

	random_state = 1000 * t + k;
	draw(b->keys, KEYS);
	draw(b->others, KEYS);
	memset(b->pages, 0, (PAGES + 2) * PAGE_BYTES);
	memset(b->model, 0, PAGES * PAGE_BYTES);
	for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
		size_t n = steps[s];

		kernel->mark(&array, b->keys + done, n);
		for (size_t i = 0; i < n; i++)
			naive_mark(b->model, &array.geometry,
			    b->keys[done + i]);
		right &= memcmp(array.pages, b->model,
		    PAGES * PAGE_BYTES) == 0;
		right &= agrees(kernel, &array, b, b->keys + done, n);
		done += n;
	}
	right &= agrees(kernel, &array, b, b->keys, KEYS);
	right &= agrees(kernel, &array, b, b->others, KEYS);
	/* nothing was written besides */
	for (size_t i = 0; i < PAGE_BYTES; i++) {
		right &= b->pages[i] == 0;
		right &= b->pages[(PAGES + 1) * PAGE_BYTES + i] == 0;
	}
	return right && done == KEYS;
}

static void
test_kernels(void)
{
	struct bench *b =
	    memory_or_die(calloc(1, sizeof *b));

	b->pages = memory_or_die(aligned_alloc(PAGE_BYTES,
	    (PAGES + 2) * PAGE_BYTES));
	b->model = memory_or_die(malloc(PAGES * PAGE_BYTES));
	for (unsigned i = 0; i < VERSIONS; i++) {
		for (unsigned t = 1; version_runs(i) &&
		    t <= CACHE_LINES_MAX; t++) {
			unsigned wrong = 0;

			for (unsigned k = CACHE_LINE_LANES * t; k >= t; k--) {
				if (!test_geometry(loops_versions[i], b, t, k))
					wrong = k;
			}
			if (!tap_ok(wrong == 0, "%s, t = %u: mark and probe do"
			    " as the model does, for all k",
			    loops_versions[i]->name, t))
				printf("# not for k = %u\n", wrong);
		}
	}
	free(b->model);
	free(b->pages);
	free(b);
}

#define CHAIN 4
#define CHAIN_MAX 300

/* Keys are in one of the arrays or in none; a chain finds what each finds. */
static int
test_chain_of(const struct loops *kernel, struct block_array *arrays,
    struct digest *keys, size_t n)
{
	const struct block_array *chain[CHAIN];
	uint8_t found[CHAIN_MAX], want[CHAIN_MAX];

	for (unsigned a = 0; a < CHAIN; a++) {
		chain[a] = &arrays[a];
		memset(arrays[a].pages, 0, PAGES * PAGE_BYTES);
	}
	draw(keys, n);
	for (size_t i = 0; i < n; i++) {
		found[i] = want[i] = i % 7 == 0;
		if (i % (CHAIN + 2) < CHAIN)
			kernel->mark(&arrays[i % (CHAIN + 2)], keys + i, 1);
	}
	for (unsigned a = 0; a < CHAIN; a++)
		kernel->probe(&arrays[a], keys, n, want);
	kernel->probe_chain(chain, CHAIN, keys, n, found);
	return memcmp(found, want, n) == 0;
}

static void
test_chain(void)
{
	static const size_t counts[] = { 0, 1, 7, 100, CHAIN_MAX };
	static struct digest keys[CHAIN_MAX];
	struct block_array arrays[CHAIN];
	uint8_t *pages = memory_or_die(aligned_alloc(PAGE_BYTES,
	    CHAIN * PAGES * PAGE_BYTES));
	unsigned rounds = 0;

	random_state = 17;
	for (unsigned i = 0; i < VERSIONS; i++) {
		int right = 1;

		if (!version_runs(i))
			continue;
		for (unsigned k = 1; k <= K_MAX; k++) {
			unsigned least = (k + CACHE_LINE_LANES - 1) /
			    CACHE_LINE_LANES;
			unsigned t = least + k % (CACHE_LINES_MAX - least + 1);

			t = t < k ? t : k;
			for (unsigned a = 0; a < CHAIN; a++)
				arrays[a] = (struct block_array){ pages +
				    a * PAGES * PAGE_BYTES, { PAGES, k, t } };
			right &= test_chain_of(loops_versions[i], arrays, keys,
			    counts[rounds++ % 5]);
		}
		tap_ok(right, "%s: a chain finds what its arrays have",
		    loops_versions[i]->name);
	}
	free(pages);
}

/* What block_page_fill counts, counted bit by bit. */
static void
test_page_fill(void)
{
	uint8_t *pages =
	    memory_or_die(aligned_alloc(PAGE_BYTES, PAGES * PAGE_BYTES));
	static struct digest keys[KEYS];
	struct block_array array = { pages, { PAGES, 20, 3 } };
	struct block_page_fill fill;
	int right = 1;

	memset(pages, 0, PAGES * PAGE_BYTES);
	fill = block_page_fill(&array.geometry, array.pages + PAGE_BYTES);
	tap_ok(fill.bits == 0 && fill.rate <= 0,
	    "an empty page has no bits and finds nothing");
	random_state = 7;
	draw(keys, KEYS);
	loops()->mark(&array, keys, KEYS);
	for (uint64_t page = 0; page < PAGES; page++) {
		uint64_t bits = 0;

		for (size_t i = 0; i < PAGE_BYTES; i++)
			bits += (unsigned)__builtin_popcount(
			    pages[page * PAGE_BYTES + i]);
		fill = block_page_fill(&array.geometry,
		    array.pages + page * PAGE_BYTES);
		right &= fill.bits == bits && bits > 0;
	}
	tap_ok(right, "the bits of each page are counted");
	memset(pages, 0xff, PAGES * PAGE_BYTES);
	fill = block_page_fill(&array.geometry, array.pages + 2 * PAGE_BYTES);
	tap_ok(fill.bits == PAGE_BYTES * 8 && fabs(fill.rate - 1) < 1e-12,
	    "a page of ones finds everything");
	free(pages);
}

/*
 * Two threads mark in one cache line at the same time, round after round. Next
 * to it each sets bits of `control`, by a load and a store: some of them get
 * lost when, and only when, the threads really run at the same time. So many
 * rounds must lose some, or nothing is known.
 */
#define RACE_KEYS 32
#define RACE_LOSSES 50
#define RACE_SECONDS 60

struct race {
	struct block_array array;
	struct digest keys[2][RACE_KEYS];
	uint64_t control[CACHE_LINE_LANES];
	atomic_uint arrived;
	atomic_int over;
};

struct racer {
	struct race *race;
	unsigned number;
};

/* Wait until both are here, for the n-th time. */
static void
meet(struct race *race, unsigned n)
{
	unsigned tries = 0;

	atomic_fetch_add(&race->arrived, 1);
	while (atomic_load(&race->arrived) < 2 * n) {
		if (++tries % 1000 == 0)
			sched_yield();
	}
}

static void
run_round(struct race *race, unsigned number)
{
	for (unsigned i = 0; i < RACE_KEYS; i++) {
		uint64_t *word = &race->control[i % CACHE_LINE_LANES];
		uint64_t bit = UINT64_C(1) <<
		    (2 * (i / CACHE_LINE_LANES) + number);

		block_mark_shared(&race->array, &race->keys[number][i], 1);
		__atomic_store_n(word, __atomic_load_n(word,
		    __ATOMIC_RELAXED) | bit, __ATOMIC_RELAXED);
	}
}

static void *
race_along(void *context)
{
	struct racer *racer = context;
	struct race *race = racer->race;

	for (unsigned n = 1; ; n += 2) {
		meet(race, n);
		if (race->over)
			return NULL;
		run_round(race, racer->number);
		meet(race, n + 1);
	}
}

/* Digests whose bits are all in the first cache line. */
static void
draw_in_line(const struct geometry *g, struct digest *digests, size_t n)
{
	for (size_t i = 0; i < n; ) {
		struct visits v = { 0 };

		draw(&digests[i], 1);
		block_visit(g, digests[i], visit, &v);
		i += v.bits[0].line == 0;
	}
}

static int
lost_control(const struct race *race)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < RACE_KEYS; i += CACHE_LINE_LANES)
		all |= UINT64_C(3) << 2 * (i / CACHE_LINE_LANES);
	for (unsigned lane = 0; lane < CACHE_LINE_LANES; lane++) {
		if (race->control[lane] != all)
			return 1;
	}
	return 0;
}

static void
test_shared(void)
{
	static uint8_t model[PAGE_BYTES];
	struct race race = { .array.geometry = { 1, CACHE_LINE_LANES, 1 } };
	struct racer other = { &race, 1 };
	unsigned rounds = 0, losses = 0, wrong = 0;
	time_t end = time(NULL) + RACE_SECONDS;
	pthread_t thread;

	race.array.pages = memory_or_die(aligned_alloc(PAGE_BYTES,
	    PAGE_BYTES));
	random_state = 77;
	for (unsigned i = 0; i < 2; i++) {
		draw_in_line(&race.array.geometry, race.keys[i], RACE_KEYS);
		for (unsigned j = 0; j < RACE_KEYS; j++)
			naive_mark(model, &race.array.geometry,
			    race.keys[i][j]);
	}
	if (pthread_create(&thread, NULL, race_along, &other) != 0)
		abort();
	while (!race.over) {
		memset(race.array.pages, 0, PAGE_BYTES);
		memset(race.control, 0, sizeof race.control);
		meet(&race, 2 * rounds + 1);
		run_round(&race, 0);
		meet(&race, 2 * rounds + 2);
		rounds++;
		wrong += memcmp(race.array.pages, model, PAGE_BYTES) != 0;
		losses += lost_control(&race) != 0;
		if (losses == RACE_LOSSES || wrong > 0 ||
		    (rounds % 1000 == 0 && time(NULL) > end))
			race.over = 1;
	}
	meet(&race, 2 * rounds + 1);
	pthread_join(thread, NULL);
	tap_ok(wrong == 0, "what two threads mark in the same words is all"
	    " there, in %u rounds of which %u were at once%s", rounds, losses,
	    wrong == 0 && losses == 0 ? " # skip one processor" : "");
	free(race.array.pages);
}

int
main(void)
{
	test_shared();
	test_visit();
	test_spread();
	test_kernels();
	test_chain();
	test_page_fill();
	return tap_end();
}
