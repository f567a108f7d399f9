#include "cli/solve.h"

#include "model/window.h"

struct sizing
solve_given(const struct options *o)
{
	return (struct sizing){ .capacity = o->capacity,
		.error_rate = o->error_rate, .bytes = o->memory,
		.k = o->hashes, .fixed = o->run.use.growth > GROWTH_GROW };
}

int
solve(struct sizing *s, const struct window *window, struct error *error)
{
	int from_memory = s->bytes != 0;

	if (window->kind == WINDOW_LINES && s->capacity != 0 &&
	    s->capacity != window->length) {
		return error_set(error, STATUS_USAGE, "--capacity: a window of"
		    " lines is its filter's capacity; leave --capacity out");
	}
	if (window->kind == WINDOW_LINES)
		s->capacity = window->length;
	if (s->capacity != 0 && s->error_rate > 0 && from_memory) {
		return error_set(error, STATUS_USAGE, "give two of"
		    " --capacity, --error-rate and --memory: the third"
		    " follows");
	}
	if (s->error_rate <= 0 && (s->capacity == 0 || !from_memory))
		s->error_rate = SIZING_RATE_DEFAULT;
	if (s->capacity == 0 && !from_memory)
		s->capacity = SIZING_CAPACITY_DEFAULT;
	if (window_solve(s, window, error) == 0)
		return 0;
	return !from_memory ? -1 : error_set(error, error->status,
	    "--memory: %s", error->text);
}

struct filter_design
solve_design(const struct sizing *sizing, const struct window *window,
    int growth, const struct key_recipe *recipe)
{
	struct filter_design design = { .capacity = sizing->capacity,
		.error_rate = sizing->error_rate,
		.geometry = sizing->geometry, .window = *window,
		.growth = growth < 0 ? GROWTH_GROW : (enum growth)growth };

	key_recipe_format(recipe, design.recipe);
	return design;
}
