#include "filter_options.h"

#include <math.h>
#include <string.h>

#include "hold.h"
#include "num.h"
#include "sizing.h"

/* Two runs can make the same file; who comes second opens the first one's. */
#define CREATE_TRIES 5

/* Two significant digits, upwards: plans are made in round numbers. */
static uint64_t
round_up(uint64_t lines)
{
	uint64_t unit = 1;

	while (lines / unit >= 100)
		unit *= 10;
	return (lines + unit - 1) / unit * unit;
}

/* What to make if there is no filter yet. */
static int
plan_filter(const struct options *o, const struct key_recipe *recipe,
    const struct input_plan *inputs, struct filter_plan *plan,
    struct error *error)
{
	int growth = o->growth < 0 ? GROWTH_GROW : o->growth;
	struct sizing sizing = { .capacity = o->capacity,
		.error_rate = o->error_rate > 0 ? o->error_rate :
		SIZING_RATE_DEFAULT, .fixed = growth != GROWTH_GROW };
	char text[NUM_TEXT], limit[NUM_TEXT];

	if (o->capacity == 0) {
		uint64_t lines = input_estimate(inputs);

		/* The sample's mean is not quite the whole's. */
		sizing.capacity = round_up(lines + lines / 32);
		if (sizing.capacity < SIZING_CAPACITY_DEFAULT)
			sizing.capacity = SIZING_CAPACITY_DEFAULT;
	}
	if (sizing_solve(&sizing, error) < 0)
		return -1;
	if (sizing.bytes > o->max_bytes && o->capacity == 0) {
		/* Nobody asked for so many: as many as are allowed. */
		sizing.capacity = 0;
		sizing.bytes = o->max_bytes;
		sizing.k = 0;
		if (sizing_solve(&sizing, error) < 0) {
			return error_set(error, error->status,
			    "--max-size: %s", error->text);
		}
	} else if (sizing.bytes > o->max_bytes) {
		return error_set(error, STATUS_USAGE, "--capacity=%s needs %s,"
		    " which is more than --max-size allows (%s)",
		    num_format_count(text, o->capacity),
		    num_format_binary((char[NUM_TEXT]){ 0 }, sizing.bytes),
		    num_format_binary(limit, o->max_bytes));
	}
	*plan = (struct filter_plan){ .capacity = sizing.capacity,
		.error_rate = sizing.error_rate, .geometry = sizing.geometry,
		.growth = (enum growth)growth };
	key_recipe_format(recipe, plan->recipe);
	return 0;
}

/* The filter's recipe is this run's, and what was given of it must agree. */
static int
inherit_recipe(struct key_recipe *recipe, const struct filter *filter,
    struct error *error)
{
	struct key_recipe stored;
	const char *path = filter->store.path;

	if (key_recipe_parse(&stored, filter->header.recipe) < 0) {
		return error_set(error, STATUS_FAILED, "%s: its key options"
		    " are unknown to this version of bloomdedup", path);
	}
	if (key_recipe_inherit(recipe, &stored, error) < 0) {
		return error_set(error, error->status, "%s: %s", path,
		    error->text);
	}
	return 0;
}

/* Options that describe the filter must say what the file says. */
int
filter_options_check(const struct options *o, const struct filter *filter,
    struct key_recipe *recipe, struct error *error)
{
	const struct header *h = &filter->header;
	const char *path = filter->store.path;
	char text[NUM_TEXT], other[NUM_TEXT];

	if (o->capacity != 0 && o->capacity != h->capacity) {
		return error_set(error, STATUS_USAGE, "%s: made for"
		    " --capacity=%s, which contradicts --capacity=%s", path,
		    num_format_count(text, h->capacity),
		    num_format_count(other, o->capacity));
	}
	/* 0.1% and 1/1000 may differ in the last digit */
	if (o->error_rate > 0 &&
	    fabs(o->error_rate - h->error_rate) > 1e-9 * h->error_rate) {
		return error_set(error, STATUS_USAGE, "%s: made for"
		    " --error-rate=%s, which contradicts --error-rate=%s",
		    path, num_format_rate(text, h->error_rate),
		    num_format_rate(other, o->error_rate));
	}
	if (o->growth == GROWTH_GROW && h->growth != GROWTH_GROW) {
		return error_set(error, STATUS_USAGE, "%s: made with"
		    " --on-full=%s, which contradicts --on-full=grow", path,
		    format_growth_name(h->growth));
	}
	return inherit_recipe(recipe, filter, error);
}

/*
 * A capacity that was only guessed from the input must not be what the run
 * fails for: where there is no room for it, the smallest guess will do, and the
 * filter grows.
 */
static int
make_filter(struct filter *filter, const struct options *o,
    struct key_recipe *recipe, const struct input_plan *inputs,
    struct error *error)
{
	struct options smaller = *o;
	struct filter_plan plan;
	int result;

	if (key_recipe_complete(recipe, error) < 0 ||
	    plan_filter(o, recipe, inputs, &plan, error) < 0)
		return -1;
	result = filter_create(filter, o->filter, 0, &plan, error);
	if (result >= 0 || o->capacity != 0 ||
	    plan.capacity <= SIZING_CAPACITY_DEFAULT)
		return result;
	smaller.capacity = SIZING_CAPACITY_DEFAULT;
	if (plan_filter(&smaller, recipe, inputs, &plan, error) < 0)
		return -1;
	return filter_create(filter, o->filter, 0, &plan, error);
}

/* Open the filter that the options name, or make it. */
int
filter_options_open(struct filter *filter, const struct options *o,
    struct key_recipe *recipe, const struct input_plan *inputs,
    struct error *error)
{
	const struct store_wait wait = { o->shared, o->lock_timeout,
		inputs->report };
	int result = 1;

	for (int i = 0; result == 1 && i < CREATE_TRIES; i++) {
		if (o->filter != NULL)
			result = filter_open(filter, o->filter, 1, &wait,
			    error);
		if (result == 0 &&
		    filter_options_check(o, filter, recipe,
		    error) < 0) {
			struct error second;
			filter_close(filter, &second);
			return -1;
		}
		if (result == 1) {
			result = make_filter(filter, o, recipe, inputs,
			    error);
		}
	}
	if (result == 1) {
		return error_set(error, STATUS_FAILED, "%s: a link to a file"
		    " that doesn't exist, or a file that comes and goes",
		    o->filter);
	}
	if (result < 0)
		return -1;
	if (o->growth >= 0)
		filter->growth = (enum growth)o->growth;
	filter->max_bytes = o->max_bytes;
	/* A new filter was made with the exclusive lock. */
	result = o->shared && !filter->shared ?
	    filter_share(filter, &wait, error) : 0;
	if (result == 0 && (o->filter == NULL ||
	    hold_recover(filter, inputs->report, error) == 0))
		return 0;
	filter_close(filter, &(struct error){ 0 });
	return -1;
}

