/*
 * Checksums of full layers. A layer that is full, with another one after it, is
 * never written again, so its checksum can be stored in the table of layers.
 *
 * It is computed while later lines come, a piece at a time, so that neither the
 * stream nor the exit waits for a layer to be read. The table has the progress,
 * too, and the next run goes on from there.
 */
#include <zlib.h>

#include "layers/inside.h"

#define PIECE_PAGES 64
/*
 * What each run reads at least, so that many small runs finish one, too; and
 * bytes to read for each new line. A layer has up to 9 bytes a line, and the
 * next one takes twice as many lines: so a layer has its checksum when the next
 * one is a quarter or half full.
 */
#define LEAST_BUDGET (16 * PAGE_BYTES)
#define LINE_BUDGET 16

/* Add the next pages of layer i to its checksum, as the budget allows. */
static int
add_pages(struct layers *f, unsigned i, struct error *error)
{
	uint8_t piece[PIECE_PAGES * PAGE_BYTES];
	struct layer_entry *layer = &f->table.layers[i];
	struct sealing *s = &f->table.sealing;
	uint64_t pages = f->checksum_budget / PAGE_BYTES, left;

	if (s->layer != i + 1)
		*s = (struct sealing){ .layer = i + 1,
			.checksum = (uint32_t)crc32(0, NULL, 0) };
	left = layer->geometry.pages - s->pages;
	pages = pages < PIECE_PAGES ? pages : PIECE_PAGES;
	pages = pages < left ? pages : left;
	if (file_read(&f->file, piece, (size_t)(pages * PAGE_BYTES),
	    layer->offset + s->pages * PAGE_BYTES, error) < 0)
		return -1;
	s->checksum = (uint32_t)crc32(s->checksum, piece,
	    (uInt)(pages * PAGE_BYTES));
	s->pages += pages;
	f->checksum_budget -= pages * PAGE_BYTES;
	if (pages == left) {
		layer->sealed = 1;
		layer->checksum = s->checksum;
		*s = (struct sealing){ 0 };
	}
	return 0;
}

/* The next layer to get a checksum; the number of layers if there is none. */
static unsigned
next_layer(const struct layers *f)
{
	for (unsigned i = 0; i + 1 < f->table.count; i++) {
		if (!f->table.layers[i].sealed && layers_room(f, i) == 0)
			return i;
	}
	return f->table.count;
}

int
layers_go_on_with_checksums(struct layers *f, uint64_t lines,
    struct error *error)
{
	unsigned i = next_layer(f);

	if (!layers_in_file(f) || layers_is_windowed(f) || i == f->table.count)
		return 0;
	if (f->checksum_budget == 0)
		f->checksum_budget = LEAST_BUDGET;
	f->checksum_budget += lines * LINE_BUDGET;
	for (; i < f->table.count && f->checksum_budget >= PAGE_BYTES;
	    i = next_layer(f)) {
		/* Only what is in the file counts; the rest is written soon. */
		if (f->arrays.pages[i].dirty_count > 0) {
			f->checksum_budget = LEAST_BUDGET;
			break;
		}
		if (add_pages(f, i, error) < 0)
			return -1;
	}
	return 0;
}

void
layers_forget_checksum(struct layers *f, unsigned i)
{
	f->table.layers[i].sealed = 0;
	f->table.layers[i].checksum = 0;
	if (f->table.sealing.layer == i + 1)
		f->table.sealing = (struct sealing){ 0 };
}
