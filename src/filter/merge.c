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
#include "base/quote.h"
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
	const struct generation *from; /* its own; NULL without a window */
	unsigned generation; /* the index of that in the union; else 0 */
	unsigned into;       /* the index of the union's; or NOWHERE yet */
};

/* A union that is being made. */
struct merger {
	struct table table;
	struct source *sources; /* all layers of all inputs, in order, and in
	                           that of their generations */
	size_t source_count;
	uint8_t *sample; /* a sample of the layer that is being made */
	uint8_t *trial;  /* the sample, with one more source in it */
	_Alignas(PAGE_BYTES) uint8_t samples[2][SAMPLE_PAGES * PAGE_BYTES];
	uint8_t buffer[2 * PIECE_PAGES * PAGE_BYTES];
};

/* Pages in the sample of a layer. */
static size_t
sample_pages(const struct layer_entry *layer)
{
	if (layer->geometry.pages < SAMPLE_PAGES)
		return (size_t)layer->geometry.pages;
	return SAMPLE_PAGES;
}

static int
differ(struct error *error, const struct filter *a, const struct filter *b,
    const char *field, const char *x, const char *y)
{
	return error_set(error, STATUS_USAGE, "%s and %s cannot be merged: %s"
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
	char p[KEY_OPTIONS], q[KEY_OPTIONS], *word;

	if (filter_waiting(b) > 0) {
		word = quote_word(filter_name(b));
		error_set(error, STATUS_FAILED, "%s: has lines in a"
		    " journal; apply it first: bloomdedup add -f %s"
		    " </dev/null", filter_name(b), word);
		free(word);
		return -1;
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
		return error_set(error, STATUS_USAGE, "%s and %s cannot be"
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
read_union(struct merger *m, unsigned i, uint64_t first, size_t pages,
    struct error *error)
{
	uint8_t *more = m->buffer + PIECE_PAGES * PAGE_BYTES;

	memset(m->buffer, 0, pages * PAGE_BYTES);
	for (size_t j = 0; j < m->source_count; j++) {
		const struct source *source = &m->sources[j];

		if (source->into != i)
			continue;
		if (filter_read_pages(source->filter, source->layer, first,
		    pages, more, error) < 0)
			return -1;
		for (size_t k = 0; k < pages * PAGE_BYTES; k++)
			m->buffer[k] |= more[k];
	}
	return 0;
}

/*
 * Append the source's layer to the table, empty, with a sample of zeros.
 * Returns it, or NULL with `error` filled if there are too many.
 */
static struct layer_entry *
append_source(struct merger *m, const struct source *source,
    struct error *error)
{
	unsigned most = m->table.generation_count > 0 ?
	    TABLE_WINDOW_LAYERS_MAX : TABLE_LAYERS_MAX;
	struct layer_entry *layer = &m->table.layers[m->table.count];

	if (m->table.count == most) {
		error_set(error, STATUS_FULL, "the merged filter would need"
		    " more than %u layers", most);
		return NULL;
	}
	*layer = *source->entry;
	layer->generation = source->generation;
	layer->offset = table_end(&m->table);
	layer->sealed = 0;
	layer->checksum = 0;
	m->table.count++;
	memset(m->sample, 0, sample_pages(layer) * PAGE_BYTES);
	return layer;
}

/* May the source's layer be joined with this one? */
static int
is_like(const struct source *source, const struct layer_entry *layer)
{
	return source->generation == layer->generation &&
	    source->entry->capacity == layer->capacity &&
	    geometry_is_same(&source->entry->geometry, &layer->geometry);
}

/*
 * Join a source with the last layer of the table: always if it is the `first`
 * one there, else if the layer then keeps to its rate. The sample becomes that
 * of all that are in it. Returns 0, also if it doesn't fit, or -1.
 */
static int
try_join(struct merger *m, struct layer_entry *layer, struct source *source,
    int first, struct error *error)
{
	uint8_t *trial = m->trial;
	struct estimate estimate;

	error->status = STATUS_OK;
	estimate = estimate_union(source->filter, source->layer,
	    sample_pages(layer), m->sample, trial, error);
	if (error->status != STATUS_OK)
		return -1;
	if (!first) {
		/* In a full layer, planned and sampled differ a bit. */
		if (estimate.error_rate > 1.02 * layer->error_rate)
			return 0;
		layer->lines = estimate_lines(&estimate, layer->capacity);
	}
	m->trial = m->sample;
	m->sample = trial;
	source->into = m->table.count - 1;
	return 0;
}

/*
 * Append the source's layer, and join with it all later ones that fit. So each
 * goes into the first layer that has room for it, with one sample in memory at
 * a time. With a window, only those of one generation are joined.
 */
static int
make_layer(struct merger *m, struct source *source, struct error *error)
{
	struct source *end = m->sources + m->source_count;
	struct layer_entry *layer = append_source(m, source, error);

	if (layer == NULL)
		return -1;
	for (struct source *other = source; other < end; other++) {
		if (other->into != NOWHERE || !is_like(other, layer))
			continue;
		if (try_join(m, layer, other, other == source, error) < 0)
			return -1;
	}
	return 0;
}

static int
write_layers(struct merger *m, struct filter *out, struct error *error)
{
	for (unsigned i = 0; i < m->table.count; i++) {
		const struct layer_entry *layer = &m->table.layers[i];
		uint64_t total = layer->geometry.pages;

		for (uint64_t page = 0; page < total; page += PIECE_PAGES) {
			size_t pages = total - page < PIECE_PAGES ?
			    (size_t)(total - page) : PIECE_PAGES;

			if (signals_stop)
				return signals_stopped(NULL, error);
			if (read_union(m, i, page, pages, error) < 0 ||
			    layers_write_pages(out, i, page, pages,
			    m->buffer, error) < 0)
				return -1;
		}
	}
	return 0;
}

static struct merger *
merger_new(struct filter *const *filters, size_t count)
{
	struct merger *m = memory_or_die(aligned_alloc(PAGE_BYTES,
	    sizeof *m));

	m->table = (struct table){ 0 };
	m->source_count = 0;
	m->sample = m->samples[0];
	m->trial = m->samples[1];
	m->sources = memory_or_die(calloc(count * TABLE_LAYERS_MAX,
	    sizeof *m->sources));
	for (size_t i = 0; i < count; i++) {
		const struct table *table = filter_table(filters[i]);

		for (unsigned j = 0; j < table->count; j++) {
			const struct layer_entry *entry = &table->layers[j];
			const struct generation *from = NULL;
			struct source *source = m->sources + m->source_count++;

			if (table->generation_count > 0)
				from = &table->generations[entry->generation];
			/*
			 * Insert it in the order of generations, behind which
			 * later ones move on.
			 */
			for (; from != NULL && source > m->sources &&
			    source[-1].from->number > from->number; source--)
				source[0] = source[-1];
			*source = (struct source){ .filter = filters[i],
				.layer = j, .entry = entry, .from = from,
				.into = NOWHERE };
		}
	}
	return m;
}

/*
 * The generation that this one becomes a part of, appended if it is a new one.
 * Returns NULL, with `error` filled, if there are too many.
 */
static struct generation *
join_generation(struct table *table, const struct generation *from,
    struct error *error)
{
	struct generation *next = &table->generations[table->generation_count];

	if (table->generation_count > 0 && next[-1].number == from->number)
		return next - 1;
	if (table->generation_count == TABLE_GENERATIONS_MAX) {
		error_set(error, STATUS_FAILED, "cannot be merged: together"
		    " they cover more time than a window; add lines to each of"
		    " them first, which drops what has expired");
		return NULL;
	}
	*next = *from;
	table->generation_count++;
	return next;
}

/*
 * The union's generations, each with its latest end, and not earlier than that
 * of an older one, which marks may have extended; then the layers.
 */
static int
join_table(struct merger *m, struct error *error)
{
	struct table *table = &m->table;
	struct source *end = m->sources + m->source_count;

	for (struct source *source = m->sources; source < end &&
	    source->from != NULL; source++) {
		struct generation *g = join_generation(table, source->from,
		    error);

		if (g == NULL)
			return -1;
		source->generation = table->generation_count - 1;
		if (g->end < source->from->end)
			g->end = source->from->end;
		if (g > table->generations && g->end < g[-1].end)
			g->end = g[-1].end;
	}
	for (struct source *source = m->sources; source < end; source++) {
		if (source->into == NOWHERE && make_layer(m, source, error) < 0)
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
	struct merger *m;
	int result;

	for (size_t i = 0; i < count; i++) {
		if (check_mergeable(filters[0], filters[i], error) < 0)
			return -1;
		if (filter_header(filters[i])->capacity > header.capacity)
			header.capacity = filter_header(filters[i])->capacity;
	}
	m = merger_new(filters, count);
	result = join_table(m, error);
	if (result == 0)
		result = layers_prepare(&made, path, &header, &m->table,
		    &use, 0, error);
	if (result == 0) {
		result = write_layers(m, made, error);
		if (result == 0)
			result = layers_complete(made, replace, 0,
			    error);
		if (result == 0)
			*out = made;
		else
			filter_release(made);
	}
	free(m->sources);
	free(m);
	return result;
}
