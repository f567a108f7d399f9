#include "seal.h"

#include <zlib.h>

#include "signals.h"

#define PIECE_PAGES 64
/* What each run does at least, so that many small ones come to an end, too. */
#define PAGES_A_RUN 16
/*
 * A layer has up to 9 bytes a line, and the next one is for twice as many
 * lines: so a quarter of those, or half, and the one before is sealed.
 */
#define BYTES_A_LINE 16

/* Add up to `pages` pages of layer i, from `first` on, to its checksum. */
static int
add_pages(struct filter *f, unsigned i, uint64_t first, uint64_t pages,
    uint32_t *checksum, struct error *error)
{
	uint8_t piece[PIECE_PAGES * PAGE_BYTES];
	uint64_t offset = f->table.layers[i].offset;

	if (store_read(&f->store, piece, (size_t)(pages * PAGE_BYTES),
	    offset + first * PAGE_BYTES, error) < 0)
		return -1;
	*checksum = (uint32_t)crc32(*checksum, piece,
	    (uInt)(pages * PAGE_BYTES));
	return 0;
}

/* How many pages to read at `first`, at most `limit`. */
static uint64_t
piece_at(const struct layer_entry *layer, uint64_t first, uint64_t limit)
{
	uint64_t left = layer->geometry.pages - first;

	left = left < PIECE_PAGES ? left : PIECE_PAGES;
	return left < limit ? left : limit;
}

/* Which layer is next; the number of layers if none is. */
static unsigned
next_layer(const struct filter *f)
{
	for (unsigned i = 0; i + 1 < f->table.count; i++) {
		if (!f->table.layers[i].sealed &&
		    filter_layer_room(f, i) == 0)
			return i;
	}
	return f->table.count;
}

int
seal_step(struct filter *f, uint64_t lines, struct error *error)
{
	struct sealing *s = &f->table.sealing;
	unsigned i = next_layer(f);

	if (i == f->table.count)
		return 0;
	if (f->seal_bytes == 0)
		f->seal_bytes = PAGES_A_RUN * PAGE_BYTES;
	f->seal_bytes += lines * BYTES_A_LINE;
	while (f->seal_bytes >= PAGE_BYTES) {
		struct layer_entry *layer = &f->table.layers[i];
		uint64_t pages;

		/* What is in the file counts; the rest comes soon. */
		if (f->pages[i].dirty_count > 0) {
			f->seal_bytes = PAGES_A_RUN * PAGE_BYTES;
			return 0;
		}
		if (s->layer != i + 1)
			*s = (struct sealing){ .layer = i + 1,
				.checksum = (uint32_t)crc32(0, NULL, 0) };
		pages = piece_at(layer, s->pages, f->seal_bytes / PAGE_BYTES);
		if (add_pages(f, i, s->pages, pages, &s->checksum, error) < 0)
			return -1;
		s->pages += pages;
		f->seal_bytes -= pages * PAGE_BYTES;
		if (s->pages < layer->geometry.pages)
			continue;
		layer->sealed = 1;
		layer->checksum = s->checksum;
		*s = (struct sealing){ 0 };
		i = next_layer(f);
		if (i == f->table.count)
			break;
	}
	return 0;
}

int
seal_verify(struct filter *f, unsigned i, struct error *error)
{
	const struct layer_entry *layer = &f->table.layers[i];
	uint32_t checksum = (uint32_t)crc32(0, NULL, 0);
	uint64_t pages;

	for (uint64_t page = 0; page < layer->geometry.pages; page += pages) {
		if (signals_stop) {
			return error_set(error, 128 + signals_stop,
			    "stopped by a signal");
		}
		pages = piece_at(layer, page, PIECE_PAGES);
		if (add_pages(f, i, page, pages, &checksum, error) < 0)
			return -1;
	}
	return checksum == layer->checksum;
}
