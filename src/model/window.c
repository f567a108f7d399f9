#include "model/window.h"

#include <string.h>

#include "base/number.h"

/* Five are alive by lines: four full ones, and the last. */
#define ALIVE 5

/* In seconds, rounded up: never less than the window is remembered. */
static int64_t
quarter(const struct window *window)
{
	return (int64_t)window_generation_capacity(window->length);
}

/* floor(a / b), b > 0 */
static int64_t
divide(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

int
window_parse(struct window *window, const char *text)
{
	uint64_t n;

	if (number_duration(text, &n) == 0)
		*window = (struct window){ WINDOW_SECONDS, n };
	else if (strspn(text, "0123456789e.kKMGT") == strlen(text) &&
	    number_count(text, &n) == 0 && n >= 4 && n <= WINDOW_LENGTH_MAX)
		*window = (struct window){ WINDOW_LINES,
		    4 * window_generation_capacity(n) };
	else
		return -1;
	return 0;
}

int
window_layer(struct layer_entry *layer, double error_rate, int fixed,
    unsigned j, struct error *error)
{
	double share = error_rate * WINDOW_SHARE;
	double rate = sizing_layer_rate(share, fixed, j);
	double textbook = j == 0 ? share : rate;

	layer->error_rate = rate;
	/* k and cache lines are chosen as without a window. */
	if (sizing_layer(&layer->geometry, 4 * layer->capacity, rate, textbook,
	    0, error) < 0)
		return -1;
	return sizing_layer(&layer->geometry, layer->capacity, rate, textbook,
	    layer->geometry.k, error);
}

uint64_t
window_generation_capacity(uint64_t capacity)
{
	return (capacity + 3) / 4;
}

int
window_solve(struct sizing *sizing, const struct window *window,
    struct error *error)
{
	struct layer_entry layer = {
		.capacity = window_generation_capacity(sizing->capacity) };

	if (window->kind == WINDOW_NONE)
		return sizing_solve(sizing, error);
	if (window_layer(&layer, sizing->error_rate, sizing->fixed, 0,
	    error) < 0)
		return -1;
	if (layer.geometry.pages > PAGES_MAX / WINDOW_PLACES - 1) {
		return error_set(error, STATUS_USAGE, "a filter with a window"
		    " for so many lines is too large for any file");
	}
	sizing->geometry = layer.geometry;
	sizing->k = layer.geometry.k;
	sizing->bytes = FILTER_HEADER_BYTES +
	    WINDOW_PLACES * layer.geometry.pages * PAGE_BYTES;
	return 0;
}

static const struct generation *
last(const struct table *table)
{
	return &table->generations[table->generation_count - 1];
}

/* Can a program that writes such files have written this table? */
static int
is_possible(const struct table *table, const struct window *window,
    uint64_t capacity)
{
	int64_t most = INT64_MAX / 4;

	if (window->kind == WINDOW_NONE)
		return table->generation_count == 0;
	if (table->generation_count == 0)
		return 0;
	/* The last generation must have layers. */
	if (table->layers[table->count - 1].generation + 1 !=
	    table->generation_count)
		return 0;
	/* Numbers, and times made of them, that no sum can overflow. */
	if (window->kind == WINDOW_SECONDS)
		most /= quarter(window);
	for (unsigned i = 0; i < table->generation_count; i++) {
		if (table->generations[i].number < -most ||
		    table->generations[i].number > most)
			return 0;
	}
	return window->kind != WINDOW_LINES || window->length == capacity;
}

int
window_check(const struct table *table, const struct window *window,
    uint64_t capacity, struct error *error)
{
	if (is_possible(table, window, capacity))
		return 0;
	return error_set(error, STATUS_FAILED, "the filter is damaged: its"
	    " header and its table of layers disagree about the window");
}

void
window_begin(struct table *table, const struct window *window, int64_t now)
{
	struct generation *next = &table->generations[table->generation_count];
	const struct generation *before = NULL;

	if (table->generation_count > 0)
		before = next - 1;
	table->generation_count++;
	*next = (struct generation){ 0 };
	if (window->kind == WINDOW_SECONDS) {
		next->number = divide(now, quarter(window));
		next->begin = next->number * quarter(window);
		next->end = next->begin + quarter(window);
		/* A late mark can have moved the end before beyond it. */
		if (before != NULL && next->end < before->end)
			next->end = before->end;
	} else if (before != NULL) {
		next->number = before->number + 1;
	}
}

unsigned
window_over(const struct table *table, const struct window *window,
    int64_t now)
{
	unsigned over = 0;

	if (window->kind == WINDOW_LINES) {
		if (table->generation_count > ALIVE)
			over = table->generation_count - ALIVE;
		return over;
	}
	while (over < table->generation_count &&
	    table->generations[over].end + (int64_t)window->length <= now)
		over++;
	return over;
}

uint64_t
window_lines_left(const struct table *table, const struct window *window)
{
	uint64_t lines = 0;

	/* All layers: lines that were held back may have made it grow. */
	for (unsigned i = window_first_layer(table); i < table->count; i++)
		lines += table->layers[i].lines;
	if (lines >= window->length / 4)
		return 0;
	return window->length / 4 - lines;
}

int
window_is_due(const struct table *table, const struct window *window,
    int64_t now)
{
	if (window->kind == WINDOW_LINES)
		return window_lines_left(table, window) == 0;
	return now >= (last(table)->number + 1) * quarter(window);
}

unsigned
window_drop(struct table *table, unsigned count)
{
	unsigned layers = 0;

	while (layers < table->count &&
	    table->layers[layers].generation < count)
		layers++;
	table->count -= layers;
	memmove(table->layers, table->layers + layers,
	    table->count * sizeof *table->layers);
	for (unsigned i = 0; i < table->count; i++)
		table->layers[i].generation -= count;
	table->generation_count -= count;
	memmove(table->generations, table->generations + count,
	    table->generation_count * sizeof *table->generations);
	return layers;
}

unsigned
window_forget(struct table *table, const struct window *window, int64_t now,
    int *all_over)
{
	unsigned over = window_over(table, window, now), dropped;

	*all_over = over == table->generation_count;
	if (!*all_over)
		return window_drop(table, over);
	dropped = window_drop(table, over - 1);
	for (unsigned i = 0; i < table->count; i++)
		table->layers[i].lines = 0;
	return dropped;
}

/* How many are over, or will be when the one that is due begins? */
static unsigned
over_in_turn(const struct table *table, const struct window *window,
    int64_t now, int due)
{
	unsigned over = window_over(table, window, now);

	if (due && window->kind == WINDOW_LINES &&
	    table->generation_count >= ALIVE)
		over++;
	return over;
}

enum window_step
window_next_step(const struct table *table, const struct window *window,
    int64_t now)
{
	int due = window_is_due(table, window, now);
	unsigned over = over_in_turn(table, window, now, due);

	if (due && table->generation_count - over < WINDOW_PLACES)
		return WINDOW_BEGIN;
	/* The last one stays until there is another to take new lines. */
	if (over == 0 || table->generation_count == 1)
		return WINDOW_STAY;
	return WINDOW_DROP;
}

unsigned
window_drop_over(struct table *table, const struct window *window,
    int64_t now)
{
	int due = window_is_due(table, window, now);
	unsigned over = over_in_turn(table, window, now, due);

	if (over == table->generation_count)
		over--;
	return window_drop(table, over);
}

unsigned
window_begin_next(struct table *table, const struct window *window,
    int64_t now)
{
	unsigned over = over_in_turn(table, window, now, 1);
	unsigned dropped = window_drop(table, over);

	window_begin(table, window, now);
	return dropped;
}

unsigned
window_first_layer(const struct table *table)
{
	unsigned i = table->generation_count == 0 ? 0 : table->count;

	while (i > 0 &&
	    table->layers[i - 1].generation + 1 == table->generation_count)
		i--;
	return i;
}

int
window_extend(struct table *table, const struct window *window, int64_t now)
{
	if (window->kind != WINDOW_SECONDS || now <= last(table)->end)
		return 0;
	table->generations[table->generation_count - 1].end = now;
	return 1;
}

int64_t
window_now(const struct table *table, const struct window *window,
    int64_t clock)
{
	const struct generation *newest = last(table);
	int64_t noted = newest->begin;

	if (window->kind != WINDOW_SECONDS || clock >= WINDOW_CLOCK_LEAST)
		return clock;
	/*
	 * The end is beyond the quarter only if a late mark has moved it there.
	 */
	if (newest->end > newest->begin + quarter(window))
		noted = newest->end;
	return clock < noted ? noted : clock;
}

/* By how many seconds the clock is before the last generation began. */
static int64_t
seconds_back(const struct table *table, const struct window *window,
    int64_t now)
{
	int64_t back = last(table)->begin - now;

	/* For less than a quarter, no date changes. */
	return back < quarter(window) ? 0 : back;
}

/*
 * Does it end later than its own quarter, and more than a quarter from now? A
 * mark that was that late was made by a clock that was ahead.
 */
static int
ends_ahead(const struct generation *g, const struct window *window,
    int64_t now)
{
	return g->end > g->begin + quarter(window) &&
	    g->end > now + quarter(window);
}

int
window_dates_are_right(const struct table *table, const struct window *window,
    int64_t now)
{
	return window->kind != WINDOW_SECONDS ||
	    (seconds_back(table, window, now) == 0 &&
	    !ends_ahead(last(table), window, now));
}

/*
 * Shift all dates by whole quarters. They are rounded down, so that nothing is
 * forgotten too early.
 */
static void
shift(struct table *table, const struct window *window, int64_t back)
{
	int64_t quarters = divide(back, quarter(window));

	for (unsigned i = 0; i < table->generation_count; i++) {
		struct generation *g = &table->generations[i];

		g->number -= quarters;
		g->begin -= quarters * quarter(window);
		g->end -= quarters * quarter(window);
	}
}

/* Each ends with its quarter or now; still none before an earlier one. */
static void
trim_ends(struct table *table, const struct window *window, int64_t now)
{
	for (unsigned i = 0; i < table->generation_count; i++) {
		struct generation *g = &table->generations[i];
		int64_t latest = g->begin + quarter(window);

		if (latest < now)
			latest = now;
		if (g->end > latest)
			g->end = latest;
	}
}

int64_t
window_put_dates_right(struct table *table, const struct window *window,
    int64_t now)
{
	int64_t back;

	if (window->kind != WINDOW_SECONDS)
		return 0;
	back = seconds_back(table, window, now);
	if (back > 0)
		shift(table, window, back);
	if (ends_ahead(last(table), window, now))
		trim_ends(table, window, now);
	return back;
}

/* Does a layer overlap the range? If so, *behind becomes where it ends. */
static int
overlaps(const struct table *table, uint64_t offset, uint64_t nbytes,
    uint64_t *behind)
{
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		uint64_t end = table_layer_end(layer);

		if (offset < end && layer->offset < offset + nbytes) {
			*behind = end;
			return 1;
		}
	}
	return 0;
}

uint64_t
window_place(const struct table *table, const struct table *also,
    uint64_t nbytes)
{
	uint64_t offset = FILTER_HEADER_BYTES;

	while (overlaps(table, offset, nbytes, &offset) ||
	    overlaps(also, offset, nbytes, &offset))
		continue;
	return offset;
}
