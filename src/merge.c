#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fill.h"
#include "hold.h"
#include "num.h"
#include "signals.h"

/* So much is read from each filter at a time. */
#define PIECE_PAGES 256
/* So many pages tell the rate of a joined layer to a few percent. */
#define SAMPLE_PAGES 4096

/* A layer of an input; `joined` is the next one in the union's layer. */
struct source {
	struct filter *filter;
	unsigned layer;
	int placed;
	struct source *joined;
};

struct plan {
	struct table table;
	struct source *sources; /* all layers of all inputs, in order */
	size_t source_count;
	struct source *first[FORMAT_LAYERS_MAX]; /* of each layer */
	uint8_t *buffer; /* 2 * PIECE_PAGES, aligned to a page */
	uint8_t *sample; /* SAMPLE_PAGES of the layer that is planned */
	uint8_t *trial;  /* the same, with one more source in it */
};

static int
differ(struct error *error, const struct filter *a, const struct filter *b,
    const char *field, const char *x, const char *y)
{
	return error_set(error, STATUS_USAGE, "%s and %s can't be merged: %s"
	    " is %s in the one and %s in the other", a->store.path,
	    b->store.path, field, x, y);
}

static const char *
flat_recipe(char text[FORMAT_RECIPE_MAX + 1], const struct filter *f)
{
	if (f->header.recipe[0] == '\0')
		return "the whole line";
	strcpy(text, f->header.recipe);
	for (char *p = text; *p != '\0'; p++) {
		if (*p == '\n')
			*p = p[1] == '\0' ? '\0' : ' ';
	}
	return text;
}

/* Not the secret itself: it is one. */
static void
secret_name(char text[40], const struct hash *hash)
{
	snprintf(text, 40, "one with the checksum %08lx",
	    crc32(crc32(0, NULL, 0), hash->secret,
	    (uInt)hash_secret_bytes(hash->kind)));
}

static int
check_mergeable(const struct filter *a, const struct filter *b,
    struct error *error)
{
	const struct header *x = &a->header, *y = &b->header;
	char p[FORMAT_RECIPE_MAX + 1], q[FORMAT_RECIPE_MAX + 1];

	if (x->hash.kind != y->hash.kind)
		return differ(error, a, b, "the hash",
		    hash_name(x->hash.kind), hash_name(y->hash.kind));
	if (memcmp(x->hash.secret, y->hash.secret,
	    hash_secret_bytes(x->hash.kind)) != 0) {
		secret_name(p, &x->hash);
		secret_name(q, &y->hash);
		return differ(error, a, b, "the hash's secret", p, q);
	}
	if (strcmp(x->recipe, y->recipe) != 0)
		return differ(error, a, b, "the key", flat_recipe(p, a),
		    flat_recipe(q, b));
	if (x->error_rate < y->error_rate || x->error_rate > y->error_rate)
		return differ(error, a, b, "the error rate",
		    num_format_rate(p, x->error_rate),
		    num_format_rate(q, y->error_rate));
	if (x->growth != y->growth)
		return differ(error, a, b, "--on-full",
		    format_growth_name(x->growth),
		    format_growth_name(y->growth));
	return 0;
}

static const struct layer_entry *
entry(const struct source *source)
{
	return &source->filter->table.layers[source->layer];
}

static int
read_pages(const struct source *source, uint64_t first, size_t pages,
    uint8_t *to, struct error *error)
{
	return store_read(&source->filter->store, to, pages * PAGE_BYTES,
	    entry(source)->offset + first * PAGE_BYTES, error);
}

static void
join(uint8_t *to, const uint8_t *from, size_t nbytes)
{
	for (size_t i = 0; i < nbytes; i++)
		to[i] |= from[i];
}

/* OR the pages [first, first + pages) of joined sources into the buffer. */
static int
read_union(const struct plan *plan, const struct source *source,
    uint64_t first, size_t pages, struct error *error)
{
	uint8_t *more = plan->buffer + PIECE_PAGES * PAGE_BYTES;

	if (read_pages(source, first, pages, plan->buffer, error) < 0)
		return -1;
	while ((source = source->joined) != NULL) {
		if (read_pages(source, first, pages, more, error) < 0)
			return -1;
		join(plan->buffer, more, pages * PAGE_BYTES);
	}
	return 0;
}

struct sampling {
	const struct plan *plan;
	const struct source *source;
	struct error *error;
};

static const uint8_t *
trial_page(void *context, uint64_t i, uint64_t page)
{
	const struct sampling *s = context;
	uint8_t *both = s->plan->trial + i * PAGE_BYTES;

	if (read_pages(s->source, page, 1, both, s->error) < 0)
		return NULL;
	join(both, s->plan->sample + i * PAGE_BYTES, PAGE_BYTES);
	return both;
}

/* What the planned layer would say with this source in it, from a sample. */
static int
try_source(const struct plan *plan, const struct source *source,
    struct fill *fill, struct error *error)
{
	struct sampling sampling = { plan, source, error };

	return fill_sample(&entry(source)->geometry, SAMPLE_PAGES,
	    trial_page, &sampling, fill);
}

static void
accept_source(struct plan *plan, struct source *source)
{
	uint8_t *sample = plan->trial;

	plan->trial = plan->sample;
	plan->sample = sample;
	source->placed = 1;
}

static int
same_shape(const struct layer_entry *a, const struct layer_entry *b)
{
	return a->geometry.pages == b->geometry.pages &&
	    a->geometry.k == b->geometry.k &&
	    a->geometry.cache_lines == b->geometry.cache_lines &&
	    a->capacity == b->capacity;
}

/*
 * Append the source's layer, and join with it all that follow and fit. So each
 * goes into the first layer that has room for it, and the bits of one sample
 * at a time are enough to know.
 */
static int
place(struct plan *plan, struct source *source, struct error *error)
{
	struct source *end = plan->sources + plan->source_count;
	struct source **tail = &source->joined;
	struct layer_entry *layer = &plan->table.layers[plan->table.count];
	struct fill fill;

	if (plan->table.count == FORMAT_LAYERS_MAX) {
		return error_set(error, STATUS_FULL, "more than %d layers"
		    " can't be kept side by side", FORMAT_LAYERS_MAX);
	}
	*layer = *entry(source);
	layer->offset = format_table_end(&plan->table);
	layer->sealed = 0;
	layer->checksum = 0;
	plan->first[plan->table.count++] = source;
	memset(plan->sample, 0, SAMPLE_PAGES * PAGE_BYTES);
	if (try_source(plan, source, &fill, error) < 0)
		return -1;
	accept_source(plan, source);
	for (struct source *other = source + 1; other < end; other++) {
		if (other->placed || !same_shape(layer, entry(other)))
			continue;
		if (try_source(plan, other, &fill, error) < 0)
			return -1;
		/* Planned and sampled rate differ a little where it is full. */
		if (fill.error_rate > 1.02 * layer->error_rate)
			continue;
		accept_source(plan, other);
		layer->lines = (uint64_t)fill.lines < layer->capacity ?
		    (uint64_t)fill.lines : layer->capacity;
		*tail = other;
		tail = &other->joined;
	}
	return 0;
}

static int
write_layers(const struct plan *plan, struct filter *out, struct error *error)
{
	for (unsigned i = 0; i < plan->table.count; i++) {
		const struct layer_entry *layer = &plan->table.layers[i];
		uint64_t total = layer->geometry.pages;

		for (uint64_t page = 0; page < total; page += PIECE_PAGES) {
			size_t pages = total - page < PIECE_PAGES ?
			    (size_t)(total - page) : PIECE_PAGES;

			if (signals_stop) {
				return error_set(error, 128 + signals_stop,
				    "stopped by a signal");
			}
			if (read_union(plan, plan->first[i], page, pages,
			    error) < 0 ||
			    store_write(&out->store, plan->buffer,
			    pages * PAGE_BYTES,
			    layer->offset + page * PAGE_BYTES, error) < 0)
				return -1;
		}
	}
	return 0;
}

static struct plan *
plan_new(struct filter *const *filters, size_t count)
{
	struct plan *plan = memory_or_die(calloc(1, sizeof *plan));

	plan->buffer = memory_or_die(aligned_alloc(PAGE_BYTES,
	    2 * PIECE_PAGES * PAGE_BYTES));
	plan->sample = memory_or_die(aligned_alloc(PAGE_BYTES,
	    SAMPLE_PAGES * PAGE_BYTES));
	plan->trial = memory_or_die(aligned_alloc(PAGE_BYTES,
	    SAMPLE_PAGES * PAGE_BYTES));
	plan->sources = memory_or_die(calloc(count * FORMAT_LAYERS_MAX,
	    sizeof *plan->sources));
	for (size_t i = 0; i < count; i++) {
		for (unsigned j = 0; j < filters[i]->table.count; j++) {
			plan->sources[plan->source_count++] =
			    (struct source){ filters[i], j, 0, NULL };
		}
	}
	return plan;
}

static void
plan_free(struct plan *plan)
{
	free(plan->buffer);
	free(plan->sample);
	free(plan->trial);
	free(plan->sources);
	free(plan);
}

int
merge_filters(struct filter *out, const char *path, int replace,
    struct filter *const *filters, size_t count, struct error *error)
{
	struct plan *plan = plan_new(filters, count);
	struct header header = filters[0]->header;
	struct error second;
	int result = -1;

	for (size_t i = 0; i < count; i++) {
		if (check_mergeable(filters[0], filters[i], error) < 0)
			goto done;
		if (filters[i]->header.capacity > header.capacity)
			header.capacity = filters[i]->header.capacity;
	}
	for (size_t i = 0; i < plan->source_count; i++) {
		if (!plan->sources[i].placed &&
		    place(plan, &plan->sources[i], error) < 0)
			goto done;
	}
	if (filter_prepare(out, path, &header, &plan->table, error) < 0)
		goto done;
	result = write_layers(plan, out, error);
	/* Who is written to has none: it was recovered when it was opened. */
	for (size_t i = 0; result == 0 && i < count; i++) {
		if (!filters[i]->writable)
			result = hold_copy(filters[i], out, error);
	}
	if (result == 0)
		result = filter_publish(out, replace, error);
	if (result != 0)
		filter_close(out, &second);
done:
	plan_free(plan);
	return result;
}
