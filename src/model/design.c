#include "model/design.h"

#include <string.h>
#include <time.h>

#include "base/os.h"
#include "bits/sizing.h"
#include "model/window.h"

int
design_header(const struct filter_design *design, struct header *header,
    struct error *error)
{
	*header = (struct header){ .capacity = design->capacity,
		.error_rate = design->error_rate, .growth = design->growth,
		.window = design->window };
	memcpy(header->recipe, design->recipe, sizeof header->recipe);
	if (design->hash != NULL) {
		header->hash = *design->hash;
		return 0;
	}
	header->hash.kind = HASH_XXH3_128;
	if (design->hash_kind != 0)
		header->hash.kind = (enum hash_kind)design->hash_kind;
	return os_random(header->hash.secret,
	    hash_secret_bytes(header->hash.kind), error);
}

int
design_table(const struct filter_design *design, struct table *table,
    struct error *error)
{
	int fixed = design->growth != GROWTH_GROW;
	struct layer_entry *first = &table->layers[0];

	*table = (struct table){ .count = 1 };
	*first = (struct layer_entry){ .offset = FILTER_HEADER_BYTES,
		.geometry = design->geometry, .capacity = design->capacity,
		.created = (uint64_t)time(NULL),
		.error_rate = sizing_layer_rate(design->error_rate, fixed, 0) };
	if (design->window.kind == WINDOW_NONE)
		return 0;
	if (design->window.kind == WINDOW_SECONDS &&
	    time(NULL) < WINDOW_CLOCK_LEAST)
		return error_set(error, STATUS_FAILED, "a window of time needs"
		    " a clock, and the machine's is wrong: it is before 2026");
	window_begin(table, &design->window, time(NULL));
	first->capacity = window_generation_capacity(design->capacity);
	return window_layer(first, design->error_rate, fixed, 0, error);
}
