#include "layers/layers.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/os.h"
#include "disk/file.h"
#include "disk/journal.h"
#include "layers/inside.h"
#include "model/window.h"

/* Nanoseconds between two looks at whether the file is still there. */
#define NAME_PAUSE (10 * CLOCK_MILLISECOND)

static const struct filter_operations plain, windowed;

static struct layers *
new_layers(void)
{
	struct layers *f = memory_or_die(calloc(1, sizeof *f));

	f->filter = (struct filter){ .operations = &plain,
		.bottom = &f->filter, .header = &f->header,
		.table = &f->table };
	f->file = (struct file)FILE_NONE;
	return f;
}

static void
release(struct layers *f)
{
	arrays_drop(&f->arrays, f->arrays.count);
	file_close(&f->file);
	free(f);
}

/* Called once the file is open and the header is known. */
static void
begin_use(struct layers *f, const struct filter_use *use)
{
	f->filter.name = "the filter in memory";
	if (layers_in_file(f))
		f->filter.name = f->file.path;
	f->filter.path = f->file.real_path;
	if (layers_is_windowed(f))
		f->filter.operations = &windowed;
	f->writable = use->writable;
	f->shared = use->writable && use->wait.shared && layers_in_file(f);
	f->filter.growth = f->header.growth;
	if (use->growth >= 0)
		f->filter.growth = (enum growth)use->growth;
	f->max_bytes = use->max_bytes;
	f->slots.file = &f->file;
	f->slots.shared = f->shared;
	memcpy(f->slots.id, f->header.id, sizeof f->slots.id);
	arrays_init(&f->arrays, layers_in_file(f) ? &f->file : NULL,
	    !f->writable || f->shared || use->in_place);
}

static int
read_file_header(struct layers *f, int writable, struct error *error)
{
	uint8_t page[PAGE_BYTES] = { 0 };
	const char *path = f->file.path;
	uint64_t length = f->file.length;
	struct header *h = &f->header;
	size_t nbytes = PAGE_BYTES;

	if (length == 0) {
		return error_set(error, STATUS_FAILED,
		    "%s: not a bloomdedup filter: the file is empty; once it"
		    " is removed, a run makes a new filter", path);
	}
	if (length < PAGE_BYTES)
		nbytes = (size_t)length;
	if (file_read(&f->file, page, nbytes, 0, error) < 0)
		return -1;
	if (format_header_decode(h, page, error) < 0)
		return error_prefix(error, path);
	if (writable && format_check_writable(h, path, error) < 0)
		return -1;
	if (length < FILTER_HEADER_BYTES + PAGE_BYTES) {
		return error_set(error, STATUS_FAILED, "%s: the filter is cut"
		    " short: it has %" PRIu64 " bytes", path, length);
	}
	return 0;
}

int
layers_open(struct filter **filter, const char *path,
    const struct filter_use *use, struct error *error)
{
	struct layers *f = new_layers();
	int result = file_open(&f->file, path,
	    (use->writable ? FILE_WRITE : FILE_READ) |
	    (use->no_link ? FILE_NO_LINK : 0), &use->wait, error);

	*filter = NULL;
	if (result == 0)
		result = read_file_header(f, use->writable, error);
	if (result == 0) {
		begin_use(f, use);
		result = layers_take_table(f, error);
	}
	if (result == 0)
		*filter = &f->filter;
	else
		release(f);
	return result;
}

int
layers_prepare(struct filter **filter, const char *path,
    const struct header *header, const struct table *table,
    const struct filter_use *use, int fresh, struct error *error)
{
	struct layers *f = new_layers();
	uint8_t page[PAGE_BYTES];

	*filter = NULL;
	f->header = *header;
	f->table = *table;
	f->header.created = (uint64_t)time(NULL);
	f->header.version_to_write = FORMAT_VERSION;
	f->header.optional_features = 0;
	if (os_random(f->header.id, sizeof f->header.id, error) < 0)
		goto fail;
	format_header_encode(&f->header, page);
	if (path != NULL && (file_create(&f->file, path, error) < 0 ||
	    journal_check_new(f->file.real_path, error) < 0 ||
	    file_extend(&f->file, 0, table_end(&f->table), error) < 0 ||
	    file_write(&f->file, page, sizeof page, 0, error) < 0))
		goto fail;
	begin_use(f, use);
	if ((path != NULL && slots_begin(&f->slots, &f->table, error) < 0) ||
	    layers_map(f, fresh, error) < 0)
		goto fail;
	*filter = &f->filter;
	return 0;

fail:
	release(f);
	return -1;
}

/*
 * Is the file of a run that marks still there? A look takes as long as a dozen
 * lines, so most batches do without; end_marking looks in any case.
 */
static int
check_still_there(struct layers *f, int all, struct error *error)
{
	uint64_t now;

	if (!f->marking)
		return 0;
	now = clock_now();
	f->name_is_due = !all && now - f->had_name < NAME_PAUSE;
	if (f->name_is_due)
		return 0;
	if (file_check_link(&f->file, error) < 0)
		return -1;
	f->had_name = now;
	return 0;
}

/* Write changes back between the chunks of a run, if it is time. */
static int
layers_write_back(struct filter *filter, int all, struct error *error)
{
	struct layers *f = layers_of(filter);

	if (check_still_there(f, all, error) < 0)
		return -1;
	return arrays_write_back(&f->arrays, all, error);
}

int
layers_complete(struct filter *filter, int replace, int unsynced,
    struct error *error)
{
	struct file *file = &layers_of(filter)->file;

	/* The journal of the old file must not be taken for the new one's. */
	if (layers_write_back(filter, 1, error) < 0 ||
	    (replace && journal_discard(file->real_path, error) < 0))
		return -1;
	return file_publish(file, replace, unsynced, error);
}

int
layers_create(struct filter **filter, const char *path, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	struct table table;
	struct header header;
	struct layers *f;
	int result = 0;

	*filter = NULL;
	if (design_header(design, &header, error) < 0 ||
	    design_table(design, &table, error) < 0 ||
	    layers_prepare(filter, path, &header, &table, use, 1, error) < 0)
		return -1;
	f = layers_of(*filter);
	if (path != NULL)
		result = layers_complete(*filter, replace, use->unsynced,
		    error);
	if (result != 0) {
		release(f);
		*filter = NULL;
		return result;
	}
	/* The file was made locked; only from now on locks are waited for. */
	f->file.wait = use->wait;
	if (!f->shared)
		return 0;
	file_share_lock(&f->file);
	if (slots_join(&f->slots, error) == 0)
		return 0;
	release(f);
	*filter = NULL;
	return -1;
}

/*
 * Write the counters at the end. A run that shares the file says that nobody
 * marks any more only if nobody else has it open. Checking that can lose the
 * lock, so all else is written before.
 */
static int
write_last_table(struct layers *f, struct error *error)
{
	int result;

	if (layers_lock_table(f, error) < 0)
		return -1;
	for (unsigned i = 0; i < f->table.count; i++)
		f->table.layers[i].lines -= f->allotted[i];
	if (!f->shared)
		f->slots.head.marking = MARKING_NONE;
	result = slots_write(&f->slots, &f->table, error);
	if (result == 0 && f->shared && file_lock_alone(&f->file)) {
		f->slots.head.marking = MARKING_NONE;
		result = slots_write(&f->slots, &f->table, error);
	}
	slots_unlock(&f->slots);
	return result;
}

/* All that a run that marks leaves in the file at its end. */
static int
end_marking(struct layers *f, struct error *error)
{
	if (file_check_length(&f->file, table_end(&f->table), error) < 0 ||
	    write_last_table(f, error) < 0)
		return -1;
	return file_check_link(&f->file, error);
}

static int
layers_close(struct filter *filter, struct error *error)
{
	struct layers *f = layers_of(filter);
	int result;

	if (f->overwritten) {
		/*
		 * The file is another filter's now, which must not get the
		 * layer.
		 */
		plain_take_ahead(f, 1, error_ignored());
		release(f);
		return 0;
	}
	result = plain_take_ahead(f, 1, error);
	if (result == 0)
		result = arrays_write_back(&f->arrays, 1, error);
	if (result == 0 && f->marking)
		result = end_marking(f, error);
	release(f);
	return result;
}

static int
layers_sync(struct filter *filter, struct error *error)
{
	struct layers *f = layers_of(filter);

	if (arrays_write_back(&f->arrays, 1, error) < 0 ||
	    file_check_length(&f->file, table_end(&f->table), error) < 0)
		return -1;
	return file_sync(&f->file, error);
}

int
layers_check_link(struct filter *filter, struct error *error)
{
	return file_check_link(&layers_of(filter)->file, error);
}

int
layers_check_journal(const struct filter *filter,
    const struct journal *journal, struct error *error)
{
	const struct layers *f = layers_of_const(filter);

	for (size_t i = 0; i < journal->span_count; i++) {
		if (journal->spans[i].layer >= f->table.count) {
			return error_set(error, STATUS_FAILED, "%s: has lines"
			    " for a layer that %s lacks, which seems to be an"
			    " older copy; move the journal away, and these"
			    " lines count as new again", journal->path,
			    f->filter.name);
		}
	}
	return 0;
}

int
layers_mark_journal(struct filter *filter, struct journal *journal,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	journal_visit *mark = layers_is_windowed(f) ? windowed_mark_layer :
	    plain_mark_layer;

	if (layers_check_journal(filter, journal, error) < 0)
		return -1;
	return journal_each(journal, mark, f, error);
}

int
layers_recover(struct filter *filter, struct journal *journal,
    struct error *error)
{
	struct layers *f = layers_of(filter);
	uint64_t before[TABLE_LAYERS_MAX];

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
	 * before the journal is removed, whatever happens to this run. If it is
	 * shared, layers_recount has written the table.
	 */
	if (layers_recount(f, 0, error) < 0)
		return -1;
	if (!f->shared && slots_write(&f->slots, &f->table, error) < 0)
		return -1;
	return layers_sync(filter, error);
}

unsigned
layers_forgotten(const struct filter *filter)
{
	const struct layers *f = layers_of_const(filter);

	return f->all_over ? UINT_MAX : f->forgotten;
}

static int
layers_read_pages(struct filter *filter, unsigned layer, uint64_t first,
    size_t pages, uint8_t *to, struct error *error)
{
	struct layers *f = layers_of(filter);

	if (f->all_over) {
		memset(to, 0, pages * PAGE_BYTES);
		return 0;
	}
	return arrays_read(&f->arrays, layer, first, pages, to, error);
}

int
layers_write_pages(struct filter *filter, unsigned layer, uint64_t first,
    size_t pages, const uint8_t *from, struct error *error)
{
	struct layers *f = layers_of(filter);

	return file_write(&f->file, from, pages * PAGE_BYTES,
	    f->table.layers[layer].offset + first * PAGE_BYTES, error);
}

static void
layers_expect(struct filter *filter, uint64_t lines)
{
	layers_of(filter)->arrays.expected = lines;
}

static int
layers_idle_after(const struct filter *filter)
{
	const struct layers *f = layers_of_const(filter);
	int after = arrays_idle_after(&f->arrays);

	if (after < 0 && f->name_is_due)
		return (int)(NAME_PAUSE / CLOCK_MILLISECOND);
	return after;
}

static struct filter_costs
layers_costs(const struct filter *filter)
{
	const struct layers *f = layers_of_const(filter);

	return (struct filter_costs){
		.private_bytes = arrays_private_bytes(&f->arrays),
		.coming_bytes = f->coming_bytes };
}

/*
 * Has the file still the header with the filter's id, and all layers? What
 * can't be read says no.
 */
static int
is_intact(struct layers *f)
{
	struct error *ignored = error_ignored();
	uint8_t page[PAGE_BYTES];
	struct header header;

	if (file_check_length(&f->file, table_end(&f->table), ignored) < 0 ||
	    file_read(&f->file, page, sizeof page, 0, ignored) < 0 ||
	    format_header_decode(&header, page, ignored) < 0)
		return 0;
	return memcmp(header.id, f->header.id, sizeof header.id) == 0;
}

static enum filter_state
layers_state(struct filter *filter)
{
	struct layers *f = layers_of(filter);
	uint64_t newest;

	if (!layers_in_file(f))
		return FILTER_CURRENT;
	if (!file_has_name(&f->file))
		return FILTER_REPLACED;
	f->overwritten |= !is_intact(f);
	if (f->overwritten)
		return FILTER_OVERWRITTEN;
	/*
	 * Others that share the file, and a thread, write tables, too. If the
	 * slots can't be read, the next look-up says so.
	 */
	if (f->shared || f->ahead != NULL ||
	    slots_newest_serial(&f->slots, &newest, error_ignored()) < 0 ||
	    newest == f->slots.head.serial)
		return FILTER_CURRENT;
	if (!f->writable)
		return FILTER_OUTDATED;
	f->overwritten = 1; /* an older copy was written over it */
	return FILTER_OVERWRITTEN;
}

/* The operations that are the same with and without a window. */
#define COMMON_OPERATIONS \
	.batch_lines = LAYERS_BATCH_LINES, \
	.expect = layers_expect, \
	.idle_after = layers_idle_after, \
	.write_back = layers_write_back, \
	.sync = layers_sync, \
	.read_pages = layers_read_pages, \
	.costs = layers_costs, \
	.state = layers_state, \
	.close = layers_close

static const struct filter_operations plain = {
	COMMON_OPERATIONS,
	.prefetch = plain_prefetch,
	.probe = plain_probe,
	.reserve = plain_reserve,
	.grow_ahead = plain_grow_ahead,
	.mark = plain_mark
};

/*
 * No prefetch: other threads must not use layers that probe may unmap. No
 * growth ahead: drop and begin are one table, which only the run writes.
 */
static const struct filter_operations windowed = {
	COMMON_OPERATIONS,
	.probe = windowed_probe,
	.reserve = windowed_reserve,
	.mark = windowed_mark
};
