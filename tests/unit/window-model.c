/*
 * Goal: a filter with a window keeps its promise whatever happens to it. A
 * model that cannot be wrong, a list of lines and when they were marked, fights
 * a real file through random marks, late marks, clocks that jump, runs that
 * begin and end, merges, and calls that fail. After each step, whoever opens
 * the file can read it; what was marked is found for the window, and not for
 * longer than the manual says.
 *
 * Usage: window-model.test [STEPS [SEED]]
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bits/sizing.h"
#include "filter/filter.h"
#include "model/window.h"
#include "random64.h"
#include "tap.h"

#define QUARTER 1000
#define LINES_MAX 4096
#define EPISODE 400 /* steps with one filter */

struct line {
	struct digest digest;
	int64_t marked;  /* by the clock; by lines, after so many others */
	int64_t reached; /* its greatest age, before the clock went back */
	int unsure;      /* its mark failed: it may be found or not */
};

static struct line lines[LINES_MAX];
static size_t line_count;
static int64_t now;      /* the clock, or how many lines were marked */
static int64_t late;     /* the most that a mark was late, so far */
static int64_t mishap;   /* when a mark's clock was years ahead; or 0 */
static int64_t behind;   /* how far the clock was before a generation began */
static int steady;       /* the clock never goes back */
static int fails_every;  /* allocations fail with this chance; 0: none do */
static int failed_calls;
static int64_t mended;   /* the real clock when calls no longer fail, and */
static int64_t in_time;  /* lines marked since then are forgotten in time */
static int merging; /* another filter is being marked, to be merged */
static int merged; /* the layers of both filters can be side by side */
static char path[100], other[120];
static struct error error;
static const struct window seconds = { WINDOW_SECONDS, 4 * QUARTER };
static const struct window by_lines = { WINDOW_LINES, 4 * QUARTER };
static const struct window *window;
static int64_t real_clock; /* with a window of lines the clock stands still */

/* In place of libc's: the program's clock, and a disk that can be full. */

time_t
time(time_t *to)
{
	if (to != NULL)
		*to = (time_t)real_clock;
	return (time_t)real_clock;
}

int
posix_fallocate(int fd, off_t offset, off_t nbytes)
{
	if (fails_every > 0 && below((uint64_t)fails_every) == 0) {
		failed_calls++;
		return ENOSPC;
	}
	return ftruncate(fd, offset + nbytes > lseek(fd, 0, SEEK_END) ?
	    offset + nbytes : lseek(fd, 0, SEEK_END)) < 0 ? errno : 0;
}

/* To choose a shape takes a millisecond, most of the time of the test. */
struct shape {
	uint64_t capacity;
	double rate, textbook_rate;
	uint64_t k; /* no padding: shapes are compared by their bytes */
	struct geometry geometry;
};

int __real_sizing_layer(struct geometry *geometry, uint64_t capacity,
    double rate, double textbook_rate, unsigned k, struct error *e);
int __wrap_sizing_layer(struct geometry *geometry, uint64_t capacity,
    double rate, double textbook_rate, unsigned k, struct error *e);

int
__wrap_sizing_layer(struct geometry *geometry, uint64_t capacity, double rate,
    double textbook_rate, unsigned k, struct error *e)
{
	static struct shape known[1 << 16];
	struct shape wanted = { .capacity = capacity, .rate = rate,
		.textbook_rate = textbook_rate, .k = k };
	const size_t key = offsetof(struct shape, geometry);
	struct shape *shape;
	uint64_t at, bits;

	memcpy(&bits, &rate, sizeof bits);
	at = (capacity * 64 + k) * 0x9e3779b97f4a7c15 ^
	    bits * 0xff51afd7ed558ccd;
	shape = &known[at >> 48];
	if (memcmp(shape, &wanted, key) != 0) {
		if (__real_sizing_layer(geometry, capacity, rate,
		    textbook_rate, k, e) < 0)
			return -1;
		wanted.geometry = *geometry;
		*shape = wanted;
	}
	*geometry = shape->geometry;
	return 0;
}

static void
die(const char *what, uint64_t step)
{
	tap_ok(0, "step %" PRIu64 ": %s: %s", step, what, error.text);
	unlink(path);
	unlink(other);
	exit(1);
}

/* The clock was or is wrong, so that the filter changes its dates. */
static void
notice(const char *text)
{
	const char *back = strstr(text, "the clock went back by ");
	int64_t seconds_back = 0;

	if (back == NULL && strstr(text, "the clock was ahead") == NULL)
		return;
	if (back != NULL)
		seconds_back = strtoll(back + strlen("the clock went back by "),
		    NULL, 10);
	for (size_t i = 0; i < line_count; i++) {
		lines[i].marked -= seconds_back / QUARTER * QUARTER;
		if (lines[i].marked > now)
			lines[i].marked = now;
	}
}

static struct filter_use
use_now(void)
{
	return (struct filter_use){ .writable = 1, .growth = -1,
		.max_bytes = UINT64_MAX, .wait = { .notice = notice } };
}

static struct filter *
open_filter(uint64_t step)
{
	struct filter_use use = use_now();
	struct filter *f = NULL;

	if (filter_open(&f, path, &use, &error) != 0)
		die("not opened", step);
	return f;
}

static struct filter *
create_filter(const char *name, uint64_t capacity)
{
	struct filter_design design = { .capacity = capacity,
		.error_rate = 1e-12, .growth = GROWTH_GROW, .window = *window,
		.hash_kind = HASH_XXH3_128 };
	static struct hash hash = { .kind = HASH_XXH3_128 };
	struct filter_use use = use_now();
	struct filter *f = NULL;

	design.hash = &hash;
	if (filter_create(&f, name, 1, &design, &use, &error) != 0)
		die("not created", 0);
	return f;
}

static int64_t
age(const struct line *line)
{
	return now - line->marked;
}

/* May it still be found, and must it? */
static int
must(const struct line *line)
{
	return !line->unsure && age(line) < (int64_t)window->length &&
	    line->reached < (int64_t)window->length;
}

static int
may(const struct line *line)
{
	return line->unsure || age(line) <=
	    (int64_t)window->length + QUARTER + late + behind;
}

/*
 * A run looks lines up: what was marked by a clock that was ahead counts as
 * marked now. Until then, readers find it.
 */
static void
settle_mishap(void)
{
	if (mishap > 0 && now - mishap > late)
		late = now - mishap;
	mishap = 0;
}

static void
describe(struct filter *f, const struct line *line)
{
	const struct table *t = filter_table(f);

	printf("# now %" PRId64 ", marked %" PRId64 ", age %" PRId64
	    ", late %" PRId64 ", %s, %d calls failed\n", now, line->marked,
	    age(line), late, window->kind == WINDOW_LINES ? "lines" :
	    "seconds", failed_calls);
	for (unsigned i = 0; i < t->generation_count; i++)
		printf("# generation %" PRId64 ": %" PRId64 " to %" PRId64
		    "\n", t->generations[i].number, t->generations[i].begin,
		    t->generations[i].end);
}

/* Look all lines up; those that may not be found any more are forgotten. */
static void
look_up(struct filter *f, int writable, uint64_t step)
{
	size_t kept = 0;
	int too_long;

	if (writable)
		settle_mishap();
	for (size_t i = 0; i < line_count; i++) {
		uint8_t found = 0;

		if (filter_probe(f, &lines[i].digest, 1, &found, &error) < 0) {
			if (failed_calls == 0)
				die("not looked up", step);
			return;
		}
		/* A call that failed can keep a generation open. */
		too_long = found && !may(&lines[i]) && mishap == 0 &&
		    (failed_calls == 0 || lines[i].marked >= in_time);
		if (found ? too_long : must(&lines[i]))
			describe(f, &lines[i]);
		if (!found && must(&lines[i]))
			die(writable ? "a line was forgotten" :
			    "a reader misses a line", step);
		if (too_long)
			die("a line was remembered for too long", step);
	}
	for (size_t i = 0; i < line_count; i++) {
		if (may(&lines[i]) || mishap > 0)
			lines[kept++] = lines[i];
	}
	line_count = kept;
}

/* Whoever opens the file can read it. */
static void
read_it(uint64_t step)
{
	const struct filter_use use = FILTER_READ;
	struct filter *f = NULL;

	if (filter_open(&f, path, &use, &error) != 0)
		die("unreadable", step);
	if (filter_table(f)->count > (merged ? 24 : 12))
		die("too many layers", step);
	look_up(f, 0, step);
	filter_close(f, &error);
}

static void
move_clock(int64_t by)
{
	for (size_t i = 0; i < line_count && by < 0; i++) {
		if (age(&lines[i]) > lines[i].reached)
			lines[i].reached = age(&lines[i]);
	}
	real_clock += by;
	if (window->kind == WINDOW_SECONDS)
		now += by;
}

/* Some new lines, sometimes long after room was made for them. */
static void
mark(struct filter *f, uint64_t step)
{
	uint64_t wanted = below(20) == 0 ? 1 + below(2000) : 1 + below(40);
	struct digest digests[2000];
	uint8_t found = 0;
	enum room answer;
	uint64_t room = 0;
	int64_t wait = below(6) == 0 ? below(3 * QUARTER) : 0, ahead = 0;
	int result;

	if (line_count + wanted > LINES_MAX)
		return;
	if (!merging)
		settle_mishap();
	draw(digests, (size_t)wanted);
	result = filter_probe(f, digests, 1, &found, &error);
	/*
	 * A place for the next generation is looked for each minute. A clock
	 * that goes back finds ends that were moved beyond it meanwhile.
	 */
	if (steady && in_time == INT64_MAX && real_clock >= mended + 60)
		in_time = now;
	answer = result < 0 ? ROOM_SHORT :
	    filter_reserve(f, wanted, &room, &error);
	if (answer == ROOM_SHORT &&
	    (failed_calls == 0 || error.errnum != ENOSPC))
		die("no room", step);
	if (answer == ROOM_ENOUGH && room != wanted)
		die("not enough room", step);
	move_clock(wait);
	if (wait > late)
		late = wait;
	if (window->kind == WINDOW_SECONDS && below(100) == 0) {
		if (mishap == 0)
			mishap = now;
		ahead = 3650 * INT64_C(86400);
	}
	real_clock += ahead;
	if (room > 0)
		result = filter_mark(f, digests, (size_t)room, &error);
	real_clock -= ahead;
	if (result < 0 && failed_calls == 0)
		die("not marked", step);
	for (uint64_t i = 0; i < room; i++) {
		if (window->kind == WINDOW_LINES)
			now++;
		lines[line_count++] = (struct line){ digests[i], now, 0,
			result < 0 };
	}
}

/* Was it last used before the clock went back? Only a run shifts its dates. */
static int
is_ahead(const struct filter *f)
{
	const struct table *t = filter_table(f);

	return window->kind == WINDOW_SECONDS &&
	    t->generations[t->generation_count - 1].begin > now;
}

/*
 * Merge it with another filter, of which some lines are older. What is refused
 * leaves the first one as it was.
 */
static struct filter *
merge(struct filter *f, uint64_t step)
{
	const struct filter_use use = FILTER_READ;
	struct filter *inputs[2], *out = NULL, *made;
	const size_t lines_before = line_count;
	int chance = fails_every;

	merged = 1;
	if (filter_close(f, &error) < 0 && failed_calls == 0)
		die("not closed", step);
	if (filter_open(&inputs[0], path, &use, &error) != 0)
		die("not opened for a merge", step);
	fails_every = 0;
	/* Only filters with one secret can be merged. */
	made = create_filter(other, filter_header(inputs[0])->capacity);
	merging = 1;
	for (uint64_t i = below(8); i > 0; i--) {
		move_clock(below(2 * QUARTER));
		mark(made, step);
	}
	merging = 0;
	filter_close(made, &error);
	fails_every = chance;
	filter_close(inputs[0], &error);
	if (filter_open(&inputs[0], path, &use, &error) != 0 ||
	    filter_open(&inputs[1], other, &use, &error) != 0)
		die("not opened for a merge", step);
	if (filter_merge(&out, path, 1, inputs, 2, &error) == 0)
		filter_close(out, &error);
	else if (failed_calls > 0) /* those of the other one are lost */
		line_count = 0;
	else if (is_ahead(inputs[0]))
		line_count = lines_before;
	else
		die("not merged", step);
	filter_close(inputs[0], &error);
	filter_close(inputs[1], &error);
	return open_filter(step);
}

/*
 * The clock never goes back beyond 2026, which is another promise: of that,
 * tests/behaviour/window.py has a model.
 */
static int64_t
jump(void)
{
	const int64_t year = 365 * 86400;

	switch (below(40)) {
	case 0:
		return steady || real_clock < WINDOW_CLOCK_LEAST + 2 * year ?
		    0 : -year;
	case 1:
		return steady ? 0 : -(int64_t)below(5 * QUARTER);
	case 2:
		return steady ? 0 : -(int64_t)below(20);
	case 3:
		return below(10 * QUARTER);
	default:
		return below(3) == 0 ? below(QUARTER) : below(40);
	}
}

static void
begin_episode(struct filter **f)
{
	line_count = 0;
	late = 0;
	mishap = 0;
	steady = below(2) == 0;
	/* Less than a quarter is not worth a shift of all dates. */
	behind = steady ? 0 : QUARTER;
	now = 0;
	failed_calls = 0;
	merged = 0;
	window = below(3) == 0 ? &by_lines : &seconds;
	/* some years after the least clock, so that it can go back */
	real_clock = WINDOW_CLOCK_LEAST + INT64_C(200000000) +
	    (int64_t)below(1000000);
	if (window->kind == WINDOW_SECONDS)
		now = real_clock;
	fails_every = 0;
	*f = create_filter(path, window->kind == WINDOW_LINES ?
	    window->length : 1 + below(below(2) == 0 ? 20 : 8000));
	fails_every = below(3) == 0 ? 1 + (int)below(4) : 0;
	mended = INT64_MAX / 2;
	in_time = INT64_MAX;
}

/* A run begins, or ends and another one begins. */
static struct filter *
next_run(struct filter *f, uint64_t step)
{
	if (filter_close(f, &error) < 0) {
		if (failed_calls == 0)
			die("not closed", step);
		for (size_t i = 0; i < line_count; i++)
			lines[i].unsure = 1;
	}
	read_it(step);
	return open_filter(step);
}

static void
fight(uint64_t steps)
{
	struct filter *f = NULL;

	for (uint64_t i = 0; i < steps; i++) {
		if (i % EPISODE == 0) {
			filter_close(f, &error);
			begin_episode(&f);
		} else if (i % EPISODE == EPISODE / 2 && fails_every > 0) {
			fails_every = 0;
			mended = real_clock;
		}
		switch (below(50)) {
		case 0:
			f = next_run(f, i);
			break;
		case 1:
			if (window->kind == WINDOW_SECONDS && below(4) == 0)
				f = merge(f, i);
			break;
		case 2:
			look_up(f, 1, i);
			break;
		default:
			move_clock(jump());
			mark(f, i);
		}
	}
	filter_close(f, &error);
}

int
main(int argc, char **argv)
{
	const char *slow = getenv("BLOOMDEDUP_SLOW");
	const char *directory = getenv("TMPDIR");
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) :
	    slow != NULL && *slow != '\0' ? 10000000 : 100000;

#ifdef M_TRIM_THRESHOLD
	/* Most steps open a filter: what they free is not given back. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
#endif
	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	snprintf(path, sizeof path, "%s/window-model-%d",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" :
	    directory != NULL && strlen(directory) < 60 ? directory : "/tmp",
	    (int)getpid());
	snprintf(other, sizeof other, "%s-other", path);
	fight(steps);
	unlink(path);
	unlink(other);
	tap_ok(1, "%" PRIu64 " steps, and the promise holds", steps);
	return tap_end();
}
