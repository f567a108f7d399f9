#include "model/plan.h"

#include <string.h>
#include <time.h>

#include "base/io.h"
#include "bits/sizing.h"
#include "model/window.h"

int
plan_header(const struct filter_design *plan, struct header *header,
    struct error *error)
{
	*header = (struct header){ .capacity = plan->capacity,
		.error_rate = plan->error_rate, .growth = plan->growth,
		.window = plan->window };
	memcpy(header->recipe, plan->recipe, sizeof header->recipe);
	if (plan->hash != NULL) {
		header->hash = *plan->hash;
		return 0;
	}
	header->hash.kind = HASH_XXH3_128;
	if (plan->hash_kind != 0)
		header->hash.kind = (enum hash_kind)plan->hash_kind;
	return io_random(header->hash.secret,
	    hash_secret_bytes(header->hash.kind), error);
}

int
plan_table(const struct filter_design *plan, struct table *table,
    struct error *error)
{
	int fixed = plan->growth != GROWTH_GROW;
	struct layer_entry *first = &table->layers[0];

	*table = (struct table){ .count = 1 };
	*first = (struct layer_entry){ .offset = FILTER_HEADER_BYTES,
		.geometry = plan->geometry, .capacity = plan->capacity,
		.created = (uint64_t)time(NULL),
		.error_rate = sizing_layer_rate(plan->error_rate, fixed, 0) };
	if (plan->window.kind == WINDOW_NONE)
		return 0;
	window_begin(table, &plan->window, time(NULL));
	first->capacity = window_generation_capacity(plan->capacity);
	return window_layer(first, plan->error_rate, fixed, 0, error);
}
