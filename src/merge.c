#include "merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "hold.h"
#include "num.h"
#include "signals.h"

/* So much is read from each filter at a time. */
#define PIECE_PAGES 256
/* So many pages tell the rate of a joined layer to a few percent. */
#define SAMPLE_PAGES 4096

struct source {
	struct filter *filter;
	unsigned layer;
	struct source *next;
};

struct plan {
	struct table table;
	struct source *sources[FORMAT_LAYERS_MAX]; /* of each layer */
	uint8_t *buffer; /* 2 * PIECE_PAGES, aligned to a page */
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

/* OR the pages [first, first + pages) of all sources into the buffer. */
static int
read_union(const struct plan *plan, const struct source *source,
    uint64_t first, size_t pages, struct error *error)
{
	uint8_t *to = plan->buffer, *from = to + PIECE_PAGES * PAGE_BYTES;
	int begun = 0;

	for (; source != NULL; source = source->next) {
		const struct layer_entry *layer =
		    &source->filter->table.layers[source->layer];

		if (store_read(&source->filter->store, begun ? from : to,
		    pages * PAGE_BYTES, layer->offset + first * PAGE_BYTES,
		    error) < 0)
			return -1;
		for (size_t i = 0; begun && i < pages * PAGE_BYTES; i++)
			to[i] |= from[i];
		begun = 1;
	}
	return 0;
}

/* What a layer of these sources would say, from a sample of its pages. */
static int
union_fill(const struct plan *plan, const struct source *sources,
    const struct geometry *geometry, struct filter_fill *fill,
    struct error *error)
{
	struct block_array array = { plan->buffer, *geometry };
	uint64_t total = geometry->pages, bits = 0;
	uint64_t pages = total < SAMPLE_PAGES ? total : SAMPLE_PAGES;

	*fill = (struct filter_fill){ 0 };
	for (uint64_t i = 0; i < pages; i++) {
		uint64_t page = (uint64_t)
		    ((unsigned __int128)total * i / pages);
		struct block_page_fill one;

		if (read_union(plan, sources, page, 1, error) < 0)
			return -1;
		one = block_page_fill(&array, 0);
		bits += one.bits;
		fill->error_rate += one.rate / (double)pages;
	}
	fill->share = (double)bits / (8.0 * PAGE_BYTES * (double)pages);
	fill->lines = geometry_lines(geometry, fill->share);
	return 0;
}

static int
same_shape(const struct layer_entry *a, const struct layer_entry *b)
{
	return a->geometry.pages == b->geometry.pages &&
	    a->geometry.k == b->geometry.k &&
	    a->geometry.cache_lines == b->geometry.cache_lines &&
	    a->capacity == b->capacity;
}

/* Join the layer with the first one where it fits, or append it. */
static int
place_layer(struct plan *plan, struct filter *filter, unsigned number,
    struct error *error)
{
	struct layer_entry layer = filter->table.layers[number];
	struct source *source = memory_or_die(malloc(sizeof *source));
	unsigned i;

	*source = (struct source){ filter, number, NULL };
	for (i = 0; i < plan->table.count; i++) {
		struct layer_entry *other = &plan->table.layers[i];
		struct filter_fill fill;

		if (!same_shape(other, &layer))
			continue;
		source->next = plan->sources[i];
		if (union_fill(plan, source, &layer.geometry, &fill,
		    error) < 0)
			goto fail;
		/* Planned and sampled rate differ a little where it is full. */
		if (fill.error_rate > 1.02 * other->error_rate)
			continue;
		other->lines = (uint64_t)fill.lines < other->capacity ?
		    (uint64_t)fill.lines : other->capacity;
		plan->sources[i] = source;
		return 0;
	}
	if (i == FORMAT_LAYERS_MAX) {
		error_set(error, STATUS_FULL, "more than %d layers can't be"
		    " kept side by side", FORMAT_LAYERS_MAX);
		goto fail;
	}
	layer.offset = format_table_end(&plan->table);
	layer.sealed = 0;
	layer.checksum = 0;
	source->next = NULL;
	plan->table.layers[i] = layer;
	plan->sources[i] = source;
	plan->table.count++;
	return 0;

fail:
	free(source);
	return -1;
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
			if (read_union(plan, plan->sources[i], page, pages,
			    error) < 0 ||
			    store_write(&out->store, plan->buffer,
			    pages * PAGE_BYTES,
			    layer->offset + page * PAGE_BYTES, error) < 0)
				return -1;
		}
	}
	return 0;
}

static void
plan_free(struct plan *plan)
{
	for (unsigned i = 0; i < plan->table.count; i++) {
		while (plan->sources[i] != NULL) {
			struct source *next = plan->sources[i]->next;
			free(plan->sources[i]);
			plan->sources[i] = next;
		}
	}
	free(plan->buffer);
	free(plan);
}

int
merge_filters(struct filter *out, const char *path, int replace,
    struct filter *const *filters, size_t count, struct error *error)
{
	struct plan *plan = memory_or_die(calloc(1, sizeof *plan));
	struct header header = filters[0]->header;
	struct error second;
	int result = -1;

	plan->buffer = memory_or_die(aligned_alloc(PAGE_BYTES,
	    2 * PIECE_PAGES * PAGE_BYTES));
	for (size_t i = 0; i < count; i++) {
		if (check_mergeable(filters[0], filters[i], error) < 0)
			goto done;
		if (filters[i]->header.capacity > header.capacity)
			header.capacity = filters[i]->header.capacity;
		for (unsigned j = 0; j < filters[i]->table.count; j++) {
			if (place_layer(plan, filters[i], j, error) < 0)
				goto done;
		}
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
