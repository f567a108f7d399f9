#include "filter/filter.h"

#include <string.h>

#include "model/operations.h"

/* `f` becomes the topmost filter that has the operation, if any has. */
#define DESCEND(f, operation) \
	while ((f)->operations->operation == 0 && (f)->under != NULL) \
		(f) = (f)->under

static const struct filter *
undermost(const struct filter *f)
{
	while (f->under != NULL)
		f = f->under;
	return f;
}

int
filter_close(struct filter *f, struct error *error)
{
	return f == NULL ? 0 : f->operations->close(f, error);
}

const struct header *
filter_header(const struct filter *f)
{
	return undermost(f)->header;
}

const struct table *
filter_table(const struct filter *f)
{
	return undermost(f)->table;
}

const char *
filter_name(const struct filter *f)
{
	DESCEND(f, name);
	return f->operations->name(f);
}

const char *
filter_path(const struct filter *f)
{
	DESCEND(f, path);
	return f->operations->path == NULL ? NULL : f->operations->path(f);
}

enum growth
filter_growth(const struct filter *f)
{
	return undermost(f)->growth;
}

uint64_t
filter_layer_room(const struct filter *f, unsigned i)
{
	return format_layer_room(filter_table(f), i, filter_growth(f));
}

size_t
filter_batch_lines(const struct filter *f)
{
	DESCEND(f, batch_lines);
	return f->operations->batch_lines;
}

void
filter_prefetch(const struct filter *f, const struct digest *digests, size_t n)
{
	DESCEND(f, prefetch);
	if (f->operations->prefetch != NULL)
		f->operations->prefetch(f, digests, n);
}

int
filter_probe(struct filter *f, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	memset(found, 0, n);
	return f->operations->probe(f, digests, n, found, error);
}

uint64_t
filter_reserve(struct filter *f, uint64_t wanted, struct error *error)
{
	error->status = STATUS_OK;
	return wanted == 0 ? 0 : f->operations->reserve(f, wanted, error);
}

void
filter_grow_ahead(struct filter *f)
{
	DESCEND(f, grow_ahead);
	if (f->operations->grow_ahead != NULL)
		f->operations->grow_ahead(f);
}

int
filter_mark(struct filter *f, const struct digest *digests, size_t n,
    struct error *error)
{
	return f->operations->mark(f, digests, n, error);
}

int
filter_claim(struct filter *f, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	DESCEND(f, claim);
	return f->operations->claim(f, digests, n, taken, error);
}

int
filter_mark_layer(struct filter *f, unsigned layer,
    const struct digest *digests, size_t n, struct error *error)
{
	DESCEND(f, mark_layer);
	return f->operations->mark_layer(f, layer, digests, n, error);
}

void
filter_expect(struct filter *f, uint64_t lines)
{
	DESCEND(f, expect);
	if (f->operations->expect != NULL)
		f->operations->expect(f, lines);
}

int
filter_idle_after(const struct filter *f)
{
	DESCEND(f, idle_after);
	return f->operations->idle_after(f);
}

int
filter_write_back(struct filter *f, int all, struct error *error)
{
	DESCEND(f, write_back);
	return f->operations->write_back(f, all, error);
}

int
filter_sync(struct filter *f, struct error *error)
{
	DESCEND(f, sync);
	return f->operations->sync(f, error);
}

int
filter_read_pages(struct filter *f, unsigned layer, uint64_t first,
    size_t pages, uint8_t *to, struct error *error)
{
	DESCEND(f, read_pages);
	return f->operations->read_pages(f, layer, first, pages, to, error);
}

int
filter_write_pages(struct filter *f, unsigned layer, uint64_t first,
    size_t pages, const uint8_t *from, struct error *error)
{
	DESCEND(f, write_pages);
	return f->operations->write_pages(f, layer, first, pages, from, error);
}

int
filter_publish(struct filter *f, int replace, struct error *error)
{
	DESCEND(f, publish);
	return f->operations->publish(f, replace, error);
}

uint64_t
filter_waiting(const struct filter *f)
{
	DESCEND(f, waiting);
	return f->operations->waiting == NULL ? 0 : f->operations->waiting(f);
}

uint64_t
filter_bytes(const struct filter *f)
{
	return format_table_end(filter_table(f));
}

uint64_t
filter_private_bytes(const struct filter *f)
{
	DESCEND(f, private_bytes);
	return f->operations->private_bytes(f);
}

uint64_t
filter_coming_bytes(const struct filter *f)
{
	DESCEND(f, coming_bytes);
	return f->operations->coming_bytes == NULL ? 0 :
	    f->operations->coming_bytes(f);
}

enum filter_state
filter_state(struct filter *f)
{
	DESCEND(f, state);
	return f->operations->state == NULL ? FILTER_CURRENT :
	    f->operations->state(f);
}

pid_t
filter_holder(const struct filter *f, char name[LOCK_HOLDER_NAME])
{
	DESCEND(f, holder);
	name[0] = '\0';
	return f->operations->holder == NULL ? 0 :
	    f->operations->holder(f, name);
}

int
filter_traffic(const struct filter *f, struct filter_traffic *traffic)
{
	DESCEND(f, traffic);
	if (f->operations->traffic == NULL)
		return 0;
	f->operations->traffic(f, traffic);
	return 1;
}

int
filter_shards(const struct filter *f, struct filter_shards *shards)
{
	DESCEND(f, shards);
	if (f->operations->shards == NULL)
		return 0;
	f->operations->shards(f, shards);
	return 1;
}
