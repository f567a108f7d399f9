/* Marking lines: as they come, or from a journal. */
#include "disk/journal.h"
#include "layers/inside.h"
#include "layers/layers.h"
#include "model/window.h"

/* With a window: write the last mark's time to the file, before marking. */
static int
extend(struct layers *f, struct error *error)
{
	return layers_is_windowed(f) && window_extend(&f->table,
	    &f->header.window, layers_now()) && layers_in_file(f) ?
	    tables_write(&f->tables, &f->table, error) : 0;
}

/*
 * Counted first: if it fails half-way, counters are too high rather than too
 * low.
 */
static void
count(struct layers *f, unsigned i, size_t n)
{
	struct layer_entry *layer = &f->table.layers[i];

	f->marked[i] = 1;
	/* Only a journal names a layer that has a checksum. */
	layers_forget_checksum(f, i);
	if (f->shared && !layers_is_windowed(f))
		f->allotted[i] -= n < f->allotted[i] ? n : f->allotted[i];
	else
		layer->lines += n;
}

static int
mark_layer(void *layers, unsigned i, const struct digest *digests, size_t n,
    struct error *error)
{
	struct layers *f = layers;
	/* For absent digests, a chain fetched only one cache line. */
	unsigned how = (f->shared ? ARRAYS_SHARED : 0) |
	    (layers_is_windowed(f) ? ARRAYS_PREFETCH : 0);

	if (n == 0)
		return 0;
	/* After a kill, nobody knows when the lines were printed. */
	if (f->filter.held && extend(f, error) < 0)
		return -1;
	count(f, i, n);
	return arrays_mark(&f->arrays, i, digests, n, how, error);
}

/* In line order, each in the first layer with room. */
static int
mark_in_order(struct layers *f, const struct digest *digests, size_t n,
    struct error *error)
{
	int limited = f->shared && !layers_is_windowed(f);

	for (unsigned i = 0; n > 0 && i < f->table.count; i++) {
		uint64_t room = limited ? f->allotted[i] : layers_room(f, i);
		size_t some = room < n ? (size_t)room : n;

		/* Another run may have moved the window meanwhile. */
		if (layers_is_windowed(f) && i + 1 == f->table.count)
			some = n;
		if (mark_layer(f, i, digests, some, error) < 0)
			return -1;
		digests += some;
		n -= some;
	}
	return 0;
}

/*
 * With a window: the last generation ends no earlier than its last mark, and
 * the file says so before that. The lock keeps other runs from forgetting a
 * layer, and reusing its place, while it is being marked.
 */
static int
mark_in_window(struct layers *f, const struct digest *digests, size_t n,
    struct error *error)
{
	int result;

	/* No line, no mark: the generation doesn't stay for longer. */
	if (n == 0)
		return 0;
	if (layers_lock_table(f, error) < 0)
		return -1;
	result = extend(f, error) < 0 ||
	    mark_in_order(f, digests, n, error) < 0 || (f->shared &&
	    tables_write(&f->tables, &f->table, error) < 0) ? -1 : 0;
	tables_unlock(&f->tables);
	return result;
}

int
layers_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct layers *f = layers_of(filter);

	return layers_is_windowed(f) ? mark_in_window(f, digests, n, error) :
	    mark_in_order(f, digests, n, error);
}

/* On Linux fdatasync also writes changes made through a shared mapping. */
int
layers_sync(struct filter *filter, struct error *error)
{
	struct layers *f = layers_of(filter);

	return arrays_write_back(&f->arrays, 1, error) < 0 ||
	    file_check_length(&f->file, format_table_end(&f->table),
	    error) < 0 ? -1 : file_sync(&f->file, error);
}

int
layers_mark_journal(struct filter *filter, struct journal *journal,
    struct error *error)
{
	struct layers *f = layers_of(filter);

	for (size_t i = 0; i < journal->span_count; i++) {
		if (journal->spans[i].layer >= f->table.count)
			return error_set(error, STATUS_FAILED, "%s: names a"
			    " layer that the filter doesn't have",
			    journal->path);
	}
	return journal_each(journal, mark_layer, f, error);
}

int
layers_recover(struct filter *filter, struct journal *journal,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	uint64_t before[FORMAT_LAYERS_MAX];

	if (layers_begin_marking(f, error) < 0)
		return -1;
	for (unsigned i = 0; i < f->table.count; i++)
		before[i] = f->table.layers[i].lines;
	if (layers_mark_journal(filter, journal, error) < 0)
		return -1;
	for (unsigned i = 0; i < f->table.count; i++)
		f->table.layers[i].lines = before[i];
	/*
	 * A layer that was marked has no checksum any more: the file says so
	 * before the journal is removed, whatever happens to this run.
	 */
	return layers_recount(f, 0, error) < 0 || (!f->shared &&
	    tables_write(&f->tables, &f->table, error) < 0) ? -1 :
	    layers_sync(filter, error);
}
