#include "model/checksum.h"

#include <zlib.h>

#define PIECE_PAGES 64

/* Add the next pages of layer i, `count` of them, to its checksum. */
static int
add_pages(struct table *table, unsigned i, struct file *file, uint64_t count,
    struct error *error)
{
	uint8_t piece[PIECE_PAGES * PAGE_BYTES];
	struct sealing *s = &table->sealing;

	if (file_read(file, piece, (size_t)(count * PAGE_BYTES),
	    table->layers[i].offset + s->pages * PAGE_BYTES, error) < 0)
		return -1;
	s->checksum = (uint32_t)crc32(s->checksum, piece,
	    (uInt)(count * PAGE_BYTES));
	s->pages += count;
	return 0;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int
checksum_go_on(struct table *table, unsigned i, struct file *file,
    uint64_t *budget, struct error *error)
{
	struct layer_entry *layer = &table->layers[i];
	struct sealing *s = &table->sealing;

	if (s->layer != i + 1)
		*s = (struct sealing){ .layer = i + 1,
			.checksum = (uint32_t)crc32(0, NULL, 0) };
	while (*budget >= PAGE_BYTES) {
		uint64_t pages = smaller(*budget / PAGE_BYTES,
		    smaller(PIECE_PAGES, layer->geometry.pages - s->pages));

		if (add_pages(table, i, file, pages, error) < 0)
			return -1;
		*budget -= pages * PAGE_BYTES;
		if (s->pages < layer->geometry.pages)
			continue;
		layer->sealed = 1;
		layer->checksum = s->checksum;
		*s = (struct sealing){ 0 };
		return 0;
	}
	return 0;
}

void
checksum_forget(struct table *table, unsigned i)
{
	table->layers[i].sealed = 0;
	table->layers[i].checksum = 0;
	if (table->sealing.layer == i + 1)
		table->sealing = (struct sealing){ 0 };
}
