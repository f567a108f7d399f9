/* window.h: the arithmetic of windows, to the second and to the line. */
#include "model/window.h"

#include "tap.h"

static const struct window days = { WINDOW_SECONDS, 4000 };
static const struct window uneven = { WINDOW_SECONDS, 4001 };
static const struct window lines = { WINDOW_LINES, 400 };

/* A table whose last generation has a layer with so many lines. */
static void
fill(struct table *table, uint64_t marked)
{
	struct layer_entry layer = { .capacity = 100, .lines = marked,
		.generation = table->generation_count - 1,
		.geometry = { .pages = 1 } };

	layer.offset = window_place(table, table, PAGE_BYTES);
	table->layers[table->count++] = layer;
}

/* The first generation of a new filter. */
static void
start(struct table *t, const struct window *window, int64_t now)
{
	t->generation_count = 0;
	window_begin(t, window, now);
}

static void
test_time(void)
{
	struct table t = { 0 };

	start(&t, &days, 10500);
	tap_ok(t.generation_count == 1 && t.generations[0].number == 10 &&
	    t.generations[0].begin == 10000 && t.generations[0].end == 11000,
	    "a generation covers its quarter since 1970");
	tap_ok(!window_is_due(&t, &days, 10999) &&
	    window_is_due(&t, &days, 11000), "the next one begins there");
	tap_ok(window_over(&t, &days, 14999) == 0 &&
	    window_over(&t, &days, 15000) == 1,
	    "it is over a window after its end");
	tap_ok(!window_extend(&t, &days, 11000) &&
	    window_extend(&t, &days, 11001) && t.generations[0].end == 11001 &&
	    window_over(&t, &days, 15000) == 0 &&
	    window_over(&t, &days, 15001) == 1, "a late mark makes it longer");
	start(&t, &days, -1);
	tap_ok(t.generations[0].number == -1 &&
	    t.generations[0].begin == -1000 && t.generations[0].end == 0,
	    "before 1970, too");
	start(&t, &days, 10500);
	window_extend(&t, &days, 12500);
	tap_ok(window_next_step(&t, &days, 11999) == WINDOW_BEGIN &&
	    window_begin_next(&t, &days, 11999) == 0 &&
	    t.generations[1].number == 11 && t.generations[1].end == 12500,
	    "no generation ends before the one before it");
	start(&t, &uneven, 1001);
	tap_ok(t.generations[0].number == 1 &&
	    t.generations[0].begin == 1001 && t.generations[0].end == 2002,
	    "a quarter is rounded up");
}

static void
test_turns(void)
{
	struct table t = { 0 };
	int all_over;

	start(&t, &days, 10500);
	fill(&t, 3);
	tap_ok(window_next_step(&t, &days, 10999) == WINDOW_STAY,
	    "no step before its time");
	tap_ok(window_next_step(&t, &days, 12000) == WINDOW_BEGIN &&
	    window_begin_next(&t, &days, 12000) == 0 &&
	    t.generation_count == 2 &&
	    !window_is_due(&t, &days, 12999) &&
	    window_is_due(&t, &days, 13000) && window_first_layer(&t) == 1,
	    "then the generation of the time that it is begins");
	fill(&t, 5);
	tap_ok(window_first_layer(&t) == 1, "its layer is the first of it");
	tap_ok(window_next_step(&t, &days, 15000) == WINDOW_BEGIN &&
	    window_begin_next(&t, &days, 15000) == 1 &&
	    t.generation_count == 2 && t.count == 1 && t.layers[0].lines == 5,
	    "what is over is dropped in the same step");
	fill(&t, 7);
	tap_ok(window_forget(&t, &days, 16999, &all_over) == 0 && !all_over &&
	    window_forget(&t, &days, 17000, &all_over) == 1 && !all_over &&
	    t.layers[0].lines == 7, "a reader leaves out the same");
	tap_ok(window_forget(&t, &days, 20000, &all_over) == 0 && all_over &&
	    t.generation_count == 1 && t.layers[0].lines == 0,
	    "and keeps the last one, empty");
}

/* Late marks made generations last until the next one had begun. */
static void
test_drop(void)
{
	struct table t = { 0 };

	start(&t, &days, 10500);
	fill(&t, 1);
	for (int64_t now = 11000; now < 16000; now += 1000) {
		window_begin(&t, &days, now);
		fill(&t, 2);
	}
	tap_ok(t.generation_count == 6 && window_next_step(&t, &days, 15500) ==
	    WINDOW_DROP && window_drop_over(&t, &days, 15500) == 1 &&
	    t.generation_count == 5 && t.layers[0].lines == 2 &&
	    window_next_step(&t, &days, 15500) == WINDOW_STAY,
	    "what is over is dropped, too, if no generation begins");
	tap_ok(window_drop_over(&t, &days, 99999) == 4 &&
	    t.generation_count == 1, "but the last one stays");
	start(&t, &days, 10500);
	for (int64_t now = 11000; now < 16000; now += 1000)
		window_begin(&t, &days, now);
	for (unsigned i = 0; i < t.generation_count; i++)
		t.generations[i].end = 15999;
	tap_ok(window_next_step(&t, &days, 16500) == WINDOW_STAY,
	    "there is no place for a seventh beside six");
}

static void
test_clock(void)
{
	struct table t = { 0 };

	start(&t, &days, 10500);
	window_begin(&t, &days, 11500);
	tap_ok(window_dates_are_right(&t, &days, 10001) &&
	    !window_dates_are_right(&t, &days, 9999) &&
	    window_put_dates_right(&t, &days, 11000) == 0 &&
	    window_put_dates_right(&t, &days, 10001) == 0 &&
	    t.generations[1].begin == 11000,
	    "less than a quarter back shifts nothing");
	tap_ok(window_put_dates_right(&t, &days, 9999) == 1001 &&
	    t.generations[0].number == 9 && t.generations[0].begin == 9000 &&
	    t.generations[0].end == 10000 && t.generations[1].number == 10 &&
	    t.generations[1].begin == 10000,
	    "else whole quarters, rounded down");
	tap_ok(window_put_dates_right(&t, &days, 9999) == 0, "and once");
	start(&t, &days, 10500);
	window_begin(&t, &days, 11500);
	window_extend(&t, &days, 13001);
	tap_ok(window_dates_are_right(&t, &days, 12001) &&
	    !window_dates_are_right(&t, &days, 12000),
	    "an end a quarter ahead can be right, a later one can't");
	window_extend(&t, &days, 99999);
	window_begin(&t, &days, 12500);
	tap_ok(window_put_dates_right(&t, &days, 12600) == 0 &&
	    t.generations[0].end == 11000 && t.generations[1].end == 12600 &&
	    t.generations[2].end == 13000 &&
	    window_dates_are_right(&t, &days, 12600),
	    "each then ends with its quarter, or now");
	tap_ok(window_put_dates_right(&t, &lines, 0) == 0,
	    "lines have nothing to do with the clock");
}

/*
 * Feeds with pauses of up to the window, and a clock that is set back now and
 * then. The model knows of each line when it came in real time, and by how much
 * it may stay longer than five quarters: what bloomdedup(1) says.
 */
#define FEED_LINES 300

struct feed {
	struct table table;
	int64_t now, ahead;  /* the real time; by how much the clock is ahead */
	unsigned dropped;    /* generations so far */
	unsigned count;
	struct {
		int64_t when, longer;
		unsigned generation; /* counted from the first one of all */
		int is_forgotten;
	} lines[FEED_LINES];
};

/* Of all feeds of a kind. */
struct ages {
	int64_t most;        /* the greatest age of a line that was known */
	int is_early, is_late;
};

static int64_t
below(uint64_t *state, int64_t n)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (int64_t)(*state >> 33) % n;
}

/* For how long has the newest quarter begun, by the clock? */
static int64_t
since_newest(const struct feed *f)
{
	unsigned newest = f->table.generation_count - 1;

	return f->now + f->ahead - f->table.generations[newest].begin;
}

static void
set_back(struct feed *f, int64_t back)
{
	int64_t most = since_newest(f) + 999;

	for (unsigned i = 0; i < f->count; i++)
		f->lines[i].longer += back < most ? back : most;
	f->ahead -= back;
}

/* Look at all lines, as the next run does. */
static void
check_ages(struct feed *f, struct ages *ages)
{
	unsigned over = window_over(&f->table, &days, f->now + f->ahead);

	for (unsigned i = 0; i < f->count; i++) {
		int64_t age = f->now - f->lines[i].when;

		if (f->lines[i].is_forgotten)
			continue;
		if (f->lines[i].generation < f->dropped + over) {
			f->lines[i].is_forgotten = 1;
			ages->is_early |= age < 4000;
			continue;
		}
		ages->is_late |= age >= 5000 + f->lines[i].longer;
		if (age > ages->most)
			ages->most = age;
	}
}

static void
add_line(struct feed *f, struct ages *ages)
{
	int64_t clock = f->now + f->ahead, since;
	enum window_step step;

	window_put_dates_right(&f->table, &days, clock);
	check_ages(f, ages);
	while ((step = window_next_step(&f->table, &days, clock)) !=
	    WINDOW_STAY) {
		f->dropped += f->table.generation_count;
		if (step == WINDOW_BEGIN) {
			window_begin_next(&f->table, &days, clock);
			f->dropped++;
		} else {
			window_drop_over(&f->table, &days, clock);
		}
		f->dropped -= f->table.generation_count;
	}
	since = since_newest(f);
	f->lines[f->count].when = f->now;
	f->lines[f->count].longer = since < 0 ? -since : 0;
	f->lines[f->count].generation = f->dropped + f->table.generation_count -
	    1;
	f->count++;
}

static void
feed(uint64_t state, int setbacks, int has_pauses, struct ages *ages)
{
	struct feed f = { .now = INT64_C(1800000000) };

	start(&f.table, &days, f.now);
	for (int i = 0; i < FEED_LINES; i++) {
		int is_pause = has_pauses && below(&state, 8) == 0;

		f.now += below(&state, is_pause ? 4000 : 300);
		if (setbacks > 0 && below(&state, 30) == 0) {
			setbacks--;
			set_back(&f, 1 + below(&state, 8000));
		}
		add_line(&f, ages);
	}
}

static void
test_ages(void)
{
	struct ages ages[4] = { { 0 } };
	int is_early = 0, is_late = 0;

	for (int kind = 0; kind < 4; kind++) {
		for (uint64_t seed = 1; seed <= 200; seed++)
			feed(seed, 3 * (kind & 1), kind & 2, &ages[kind]);
		is_early |= ages[kind].is_early;
		is_late |= ages[kind].is_late;
	}
	tap_ok(!is_early, "nothing is forgotten within the window, also if the"
	    " clock is set back");
	tap_ok(!is_late, "nothing stays for longer than the manual says");
	tap_ok(ages[0].most > 4900 && ages[2].most > 4900 &&
	    ages[0].most < 5000 && ages[2].most < 5000,
	    "five quarters at most, while nobody sets the clock back");
	tap_ok(ages[1].most > 6000 && ages[3].most > 8000,
	    "if it is set back after a pause, the pause counts, too");
}

static void
test_lines(void)
{
	struct table t = { 0 }, other;

	start(&t, &lines, 5);
	fill(&t, 99);
	tap_ok(!window_is_due(&t, &lines, 0), "99 lines of 100");
	t.layers[0].lines = 100;
	tap_ok(window_is_due(&t, &lines, 0), "100 lines of 100");
	for (int i = 1; i < 5; i++) {
		window_begin(&t, &lines, 0);
		fill(&t, i < 4 ? 100 : 99);
	}
	tap_ok(t.generations[4].number == 4 && window_over(&t, &lines, 0) == 0,
	    "five are alive");
	t.layers[4].lines = 100;
	other = t;
	tap_ok(window_next_step(&other, &lines, 0) == WINDOW_BEGIN &&
	    window_begin_next(&other, &lines, 0) == 1 &&
	    other.generation_count == 5, "and five when the next one begins");
	window_begin(&t, &lines, 0);
	fill(&t, 0);
	tap_ok(window_over(&t, &lines, 0) == 1, "not a sixth one");
	tap_ok(window_drop(&t, 1) == 1 && t.count == 5 &&
	    t.generation_count == 5 && t.generations[0].number == 1 &&
	    t.layers[0].generation == 0 && t.layers[4].generation == 4,
	    "the oldest goes with its layer");
}

static void
test_place(void)
{
	struct table t = { .count = 2, .layers = {
		{ .offset = FILTER_HEADER_BYTES, .geometry = { .pages = 2 } },
		{ .offset = FILTER_HEADER_BYTES + 5 * PAGE_BYTES,
		    .geometry = { .pages = 1 } } } };
	struct table also = { .count = 1, .layers = {
		{ .offset = FILTER_HEADER_BYTES + 2 * PAGE_BYTES,
		    .geometry = { .pages = 1 } } } };
	const struct table none = { 0 };

	tap_ok(window_place(&t, &none, 3 * PAGE_BYTES) ==
	    FILTER_HEADER_BYTES + 2 * PAGE_BYTES, "the first gap that fits");
	tap_ok(window_place(&t, &none, 4 * PAGE_BYTES) ==
	    FILTER_HEADER_BYTES + 6 * PAGE_BYTES, "or the end");
	tap_ok(window_place(&t, &also, 2 * PAGE_BYTES) ==
	    FILTER_HEADER_BYTES + 3 * PAGE_BYTES,
	    "not where the older table has a layer");
	tap_ok(window_place(&none, &none, PAGE_BYTES) == FILTER_HEADER_BYTES,
	    "behind the slots in an empty file");
}

static void
test_sizes(void)
{
	struct sizing sizing = { .capacity = 1000000, .error_rate = 1e-6 };
	struct layer_entry layer = { .capacity = 250000 };
	struct error error;

	tap_ok(window_generation_capacity(400) == 100 &&
	    window_generation_capacity(401) == 101, "a quarter, rounded up");
	tap_ok(window_solve(&sizing, &days, &error) == 0 &&
	    sizing.bytes == FILTER_HEADER_BYTES +
	    WINDOW_PLACES * sizing.geometry.pages * PAGE_BYTES,
	    "the bound is six places");
	tap_ok(window_layer(&layer, 1e-6, 1, 0, &error) == 0 &&
	    WINDOW_PLACES * layer.error_rate <= 1e-6 * (1 + 1e-9),
	    "the shares of six generations are within the rate");
}

int
main(void)
{
	test_time();
	test_turns();
	test_drop();
	test_clock();
	test_ages();
	test_lines();
	test_place();
	test_sizes();
	return tap_end();
}
