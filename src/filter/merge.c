/*
 * The union of filters that have the same hash with the same secret, the same
 * error rate and the same key recipe.
 *
 * Layers of the same shape are joined by OR where the joined layer stays within
 * the rate that it was made for: then it is the layer that one run over all
 * lines would have made, bit for bit. Others are kept side by side, and their
 * rates add up. With a window by time, that is so for each generation; windows
 * of new lines have no common order, and are refused. So is a filter with a
 * complete journal.
 */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/signals.h"
#include "filter/filter.h"
#include "key/recipe_text.h"
#include "layers/layers.h"
#include "model/estimate.h"

/* How many pages are read from each filter at a time. */
#define PIECE_PAGES 256
/* Pages in a sample: they tell the rate of a joined layer to a few percent. */
#define SAMPLE_PAGES 4096

#define NOWHERE UINT_MAX

/* A layer of an input, and the union's layer that it goes into. */
struct source {
	struct filter *filter;
	unsigned layer;
	const struct layer_entry *entry;
	const struct generation *from; /* its own; NULL without a window, */
	unsigned generation; /* and its place in the union; else 0 */
	unsigned into;       /* or NOWHERE yet */
};

struct plan {
	struct table table;
	struct source *sources; /* all layers of all inputs, in order, and in
	                           that of their generations */
	size_t source_count;
	uint8_t *sample; /* of the layer that is planned: */
	uint8_t *trial;  /* the same, with one more source in it */
	_Alignas(PAGE_BYTES) uint8_t samples[2][SAMPLE_PAGES * PAGE_BYTES];
	uint8_t buffer[2 * PIECE_PAGES * PAGE_BYTES];
};

static int
differ(struct error *error, const struct filter *a, const struct filter *b,
    const char *field, const char *x, const char *y)
{
	return error_set(error, STATUS_USAGE, "%s and %s can't be merged: %s"
	    " is %s in one and %s in the other", filter_name(a),
	    filter_name(b), field, x, y);
}

static const char *
window_name(char text[40], const struct window *window)
{
	switch (window->kind) {
	case WINDOW_NONE:
		return "none";
	case WINDOW_LINES:
		snprintf(text, 40, "%" PRIu64 " new lines", window->length);
		break;
	case WINDOW_SECONDS:
		snprintf(text, 40, "%" PRIu64 " s", window->length);
		break;
	}
	return text;
}

static int
check_mergeable(const struct filter *a, const struct filter *b,
    struct error *error)
{
	const struct header *x = filter_header(a), *y = filter_header(b);
	char p[KEY_OPTIONS], q[KEY_OPTIONS];

	if (filter_waiting(b) > 0) {
		return error_set(error, STATUS_FAILED, "%s: has lines in a"
		    " journal; take them first: bloomdedup add -f %s"
		    " </dev/null", filter_name(b), filter_name(b));
	}
	if (x->hash.kind != y->hash.kind)
		return differ(error, a, b, "the hash",
		    hash_name(x->hash.kind), hash_name(y->hash.kind));
	if (memcmp(x->hash.secret, y->hash.secret,
	    hash_secret_bytes(x->hash.kind)) != 0) {
		return error_set(error, STATUS_USAGE, "%s and %s can never be"
		    " merged: they were made apart, each with a secret of its"
		    " own; make the next ones with create --like=%s",
		    filter_name(a), filter_name(b), filter_name(a));
	}
	if (strcmp(x->recipe, y->recipe) != 0)
		return differ(error, a, b, "the key",
		    key_recipe_options(x->recipe, p),
		    key_recipe_options(y->recipe, q));
	if (x->error_rate < y->error_rate || x->error_rate > y->error_rate)
		return differ(error, a, b, "the error rate",
		    number_format_rate(p, x->error_rate),
		    number_format_rate(q, y->error_rate));
	if (x->window.kind != y->window.kind ||
	    x->window.length != y->window.length)
		return differ(error, a, b, "--window",
		    window_name(p, &x->window), window_name(q, &y->window));
	if (x->window.kind == WINDOW_LINES && a != b) {
		return error_set(error, STATUS_USAGE, "%s and %s can't be"
		    " merged: with a window of lines, a filter does not record"
		    " which of them came first", filter_name(a),
		    filter_name(b));
	}
	if (x->growth != y->growth)
		return differ(error, a, b, "--on-full",
		    growth_name(x->growth),
		    growth_name(y->growth));
	return 0;
}

/* OR the pages [first, first + pages) of layer i's sources into the buffer. */
static int
read_union(struct plan *plan, unsigned i, uint64_t first, size_t pages,
    struct error *error)
{
	uint8_t *more = plan->buffer + PIECE_PAGES * PAGE_BYTES;

	memset(plan->buffer, 0, pages * PAGE_BYTES);
	for (size_t j = 0; j < plan->source_count; j++) {
		const struct source *source = &plan->sources[j];

		if (source->into != i)
			continue;
		if (filter_read_pages(source->filter, source->layer, first,
		    pages, more, error) < 0)
			return -1;
		for (size_t k = 0; k < pages * PAGE_BYTES; k++)
			plan->buffer[k] |= more[k];
	}
	return 0;
}

/*
 * Append the source's layer, and join with it all later ones that fit. So each
 * goes into the first layer that has room for it, with one sample in memory at
 * a time. With a window, only those of one generation are joined.
 */
static int
place(struct plan *plan, struct source *source, struct error *error)
{
	unsigned most = plan->table.generation_count > 0 ?
	    TABLE_WINDOW_LAYERS_MAX : TABLE_LAYERS_MAX;
	struct source *end = plan->sources + plan->source_count;
	struct layer_entry *layer = &plan->table.layers[plan->table.count];
	struct estimate estimate;
	size_t pages;

	if (plan->table.count == most) {
		return error_set(error, STATUS_FULL, "the merged filter"
		    " would need more than %u layers", most);
	}
	*layer = *source->entry;
	layer->generation = source->generation;
	layer->offset = table_end(&plan->table);
	layer->sealed = 0;
	layer->checksum = 0;
	plan->table.count++;
	error->status = STATUS_OK;
	pages = layer->geometry.pages < SAMPLE_PAGES ?
	    (size_t)layer->geometry.pages : SAMPLE_PAGES;
	memset(plan->sample, 0, pages * PAGE_BYTES);
	for (struct source *other = source; other < end; other++) {
		uint8_t *trial = plan->trial;

		if (other->into != NOWHERE ||
		    other->generation != source->generation ||
		    other->entry->capacity != layer->capacity ||
		    !geometry_is_same(&other->entry->geometry,
		    &layer->geometry))
			continue;
		estimate = estimate_union(other->filter, other->layer,
		    pages, plan->sample, plan->trial, error);
		if (error->status != STATUS_OK)
			return -1;
		if (other != source) {
			/* In a full layer, planned and sampled differ a bit. */
			if (estimate.error_rate > 1.02 * layer->error_rate)
				continue;
			layer->lines = estimate_lines(&estimate,
			    layer->capacity);
		}
		plan->trial = plan->sample;
		plan->sample = trial;
		other->into = plan->table.count - 1;
	}
	return 0;
}

static int
write_layers(struct plan *plan, struct filter *out, struct error *error)
{
	for (unsigned i = 0; i < plan->table.count; i++) {
		const struct layer_entry *layer = &plan->table.layers[i];
		uint64_t total = layer->geometry.pages;

		for (uint64_t page = 0; page < total; page += PIECE_PAGES) {
			size_t pages = total - page < PIECE_PAGES ?
			    (size_t)(total - page) : PIECE_PAGES;

			if (signals_stop)
				return signals_stopped(NULL, error);
			if (read_union(plan, i, page, pages, error) < 0 ||
			    layers_write_pages(out, i, page, pages,
			    plan->buffer, error) < 0)
				return -1;
		}
	}
	return 0;
}

static struct plan *
plan_new(struct filter *const *filters, size_t count)
{
	struct plan *plan = memory_or_die(aligned_alloc(PAGE_BYTES,
	    sizeof *plan));

	plan->table = (struct table){ 0 };
	plan->source_count = 0;
	plan->sample = plan->samples[0];
	plan->trial = plan->samples[1];
	plan->sources = memory_or_die(calloc(count * TABLE_LAYERS_MAX,
	    sizeof *plan->sources));
	for (size_t i = 0; i < count; i++) {
		const struct table *table = filter_table(filters[i]);

		for (unsigned j = 0; j < table->count; j++) {
			const struct layer_entry *entry = &table->layers[j];
			const struct generation *from =
			    table->generation_count == 0 ? NULL :
			    &table->generations[entry->generation];
			struct source *s = plan->sources + plan->source_count++;

			for (; from != NULL && s > plan->sources &&
			    s[-1].from->number > from->number; s--)
				s[0] = s[-1];
			*s = (struct source){ filters[i], j, entry, from, 0,
				NOWHERE };
		}
	}
	return plan;
}

/*
 * The union's generations, each with its latest end, and not earlier than that
 * of an older one, which marks may have extended; then the layers.
 */
static int
join_table(struct plan *plan, struct error *error)
{
	struct table *table = &plan->table;
	struct generation *g = table->generations;
	struct source *end = plan->sources + plan->source_count;

	for (struct source *s = plan->sources; s < end && s->from != NULL;
	    s++) {
		unsigned n = table->generation_count;

		if (n == 0 || g[n - 1].number < s->from->number) {
			if (n == TABLE_GENERATIONS_MAX)
				return error_set(error, STATUS_FAILED, "can't"
				    " be merged: they cover more time than a"
				    " window; use each of them first");
			g[n] = *s->from;
			table->generation_count = ++n;
		}
		s->generation = n - 1;
		if (g[n - 1].end < s->from->end)
			g[n - 1].end = s->from->end;
		if (n > 1 && g[n - 1].end < g[n - 2].end)
			g[n - 1].end = g[n - 2].end;
	}
	for (struct source *s = plan->sources; s < end; s++) {
		if (s->into == NOWHERE && place(plan, s, error) < 0)
			return -1;
	}
	return 0;
}

int
filter_merge(struct filter **out, const char *path, int replace,
    struct filter *const *filters, size_t count, struct error *error)
{
	struct header header = *filter_header(filters[0]);
	const struct filter_use use = FILTER_WRITE;
	struct filter *made;
	struct plan *plan;
	int result;

	for (size_t i = 0; i < count; i++) {
		if (check_mergeable(filters[0], filters[i], error) < 0)
			return -1;
		if (filter_header(filters[i])->capacity > header.capacity)
			header.capacity = filter_header(filters[i])->capacity;
	}
	plan = plan_new(filters, count);
	result = join_table(plan, error);
	if (result == 0)
		result = layers_prepare(&made, path, &header, &plan->table,
		    &use, 0, error);
	if (result == 0) {
		result = write_layers(plan, made, error);
		if (result == 0)
			result = layers_complete(made, replace, 0,
			    error);
		if (result == 0)
			*out = made;
		else
			filter_close(made, &(struct error){ 0 });
	}
	free(plan->sources);
	free(plan);
	return result;
}
