#include "filter/filter.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/signals.h"
#include "model/operations.h"

/* How many pages are read at a time. */
#define PIECE_PAGES 64

int
filter_close(struct filter *f, struct error *error)
{
	if (f == NULL)
		return 0;
	return f->operations->close(f, error);
}

void
filter_release(struct filter *filter)
{
	filter_close(filter, error_ignored());
}

const struct header *
filter_header(const struct filter *f)
{
	return f->bottom->header;
}

const struct table *
filter_table(const struct filter *f)
{
	return f->bottom->table;
}

const char *
filter_name(const struct filter *f)
{
	return f->bottom->name;
}

const char *
filter_path(const struct filter *f)
{
	return f->bottom->path;
}

enum growth
filter_growth(const struct filter *f)
{
	return f->bottom->growth;
}

size_t
filter_batch_lines(const struct filter *f)
{
	return f->bottom->operations->batch_lines;
}

void
filter_prefetch(const struct filter *f, const struct digest *digests, size_t n)
{
	if (f->bottom->operations->prefetch != NULL)
		f->bottom->operations->prefetch(f->bottom, digests, n);
}

int
filter_probe(struct filter *f, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	memset(found, 0, n);
	return f->operations->probe(f, digests, n, found, error);
}

enum room
filter_reserve(struct filter *f, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	enum room answer;

	*room = 0;
	if (wanted == 0)
		return ROOM_ENOUGH;
	answer = f->operations->reserve(f, wanted, room, error);
	/* A caller looks for the first line without room: there must be one. */
	assert(answer == ROOM_ENOUGH ? *room == wanted : *room < wanted);
	return answer;
}

void
filter_grow_ahead(struct filter *f)
{
	if (f->bottom->operations->grow_ahead != NULL)
		f->bottom->operations->grow_ahead(f->bottom);
}

int
filter_mark(struct filter *f, const struct digest *digests, size_t n,
    struct error *error)
{
	return f->operations->mark(f, digests, n, error);
}

int
filter_claim(struct filter *f, const struct digest *digests, size_t n,
    uint8_t *claims, struct error *error)
{
	return f->bottom->operations->claim(f->bottom, digests, n, claims,
	    error);
}

void
filter_expect(struct filter *f, uint64_t lines)
{
	if (f->bottom->operations->expect != NULL)
		f->bottom->operations->expect(f->bottom, lines);
}

int
filter_idle_after(const struct filter *f)
{
	return f->bottom->operations->idle_after(f->bottom);
}

int
filter_write_back(struct filter *f, int all, struct error *error)
{
	return f->bottom->operations->write_back(f->bottom, all, error);
}

int
filter_sync(struct filter *f, struct error *error)
{
	return f->bottom->operations->sync(f->bottom, error);
}

int
filter_read_pages(struct filter *f, unsigned layer, uint64_t first,
    size_t pages, uint8_t *to, struct error *error)
{
	return f->bottom->operations->read_pages(f->bottom, layer, first,
	    pages, to, error);
}

/* Compare the checksum of layer i; `piece` has room for some of its pages. */
static int
verify_pages(struct filter *f, unsigned i, uint8_t *piece,
    struct error *error)
{
	const struct layer_entry *layer = &filter_table(f)->layers[i];
	uint32_t checksum = (uint32_t)crc32(0, NULL, 0);
	uint64_t total = layer->geometry.pages, pages;

	for (uint64_t page = 0; page < total; page += pages) {
		pages = total - page < PIECE_PAGES ? total - page :
		    PIECE_PAGES;
		if (signals_stop)
			return signals_stopped(NULL, error);
		if (filter_read_pages(f, i, page, (size_t)pages, piece,
		    error) < 0)
			return -1;
		checksum = (uint32_t)crc32(checksum, piece,
		    (uInt)(pages * PAGE_BYTES));
	}
	return checksum == layer->checksum;
}

int
filter_verify_layer(struct filter *f, unsigned i, struct error *error)
{
	uint8_t *piece = memory_or_die(malloc(PIECE_PAGES * PAGE_BYTES));
	int result = verify_pages(f, i, piece, error);

	free(piece);
	return result;
}

uint64_t
filter_waiting(const struct filter *f)
{
	return f->waiting;
}

int
filter_finished_output(const struct filter *f, const struct stat *st)
{
	for (unsigned i = 0; i < FINISHED_OUTPUTS; i++) {
		const struct finished_output *o = &f->bottom->finished[i];

		if (o->exists && o->device == st->st_dev &&
		    o->inode == st->st_ino)
			return 1;
	}
	return 0;
}

uint64_t
filter_bytes(const struct filter *f)
{
	return table_end(filter_table(f));
}

struct filter_costs
filter_costs(const struct filter *f)
{
	return f->bottom->operations->costs(f->bottom);
}

enum filter_state
filter_state(struct filter *f)
{
	if (f->bottom->operations->state == NULL)
		return FILTER_CURRENT;
	return f->bottom->operations->state(f->bottom);
}
