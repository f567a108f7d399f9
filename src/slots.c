#include "slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

#include "le.h"
#include "worker.h"

/*
 * The table in both slots, so that the loss of one loses no layer: what is left
 * to do of that while the run goes on. It belongs to the thread until
 * slots_finish, and so does `store->unsafe`; else `store` is only read there.
 */
struct publishing {
	struct worker *worker; /* NULL: none can be had */
	struct store *store;
	uint8_t page[PAGE_BYTES];
	uint64_t offset;
	int running;
	int result;
	struct error error;
};

static uint64_t
slot_offset(unsigned slot)
{
	return (uint64_t)(1 + slot) * PAGE_BYTES;
}

/* The first slot and the file's length are on the disk before the second. */
static void
publish_rest(void *context)
{
	struct publishing *p = context;

	p->result = -1;
	if (store_sync(p->store, &p->error) == 0 &&
	    store_write(p->store, p->page, sizeof p->page, p->offset,
	    &p->error) == 0)
		p->result = store_sync(p->store, &p->error);
}

int
slots_finish(struct filter *f, struct error *error)
{
	struct publishing *p = f->publishing;

	if (p == NULL || !p->running)
		return 0;
	if (p->worker != NULL)
		worker_wait(p->worker);
	p->running = 0;
	if (p->result < 0)
		*error = p->error;
	else
		f->slot = 1 - f->slot;
	return p->result;
}

/* Into the slot that is not the newest: a torn write leaves the other one. */
static void
encode_next_table(struct filter *f, uint8_t page[PAGE_BYTES], uint64_t *offset)
{
	f->table.generation++;
	*offset = slot_offset(1 - f->slot);
	format_table_encode(&f->table, f->header.id, page);
}

int
slots_write(struct filter *f, struct error *error)
{
	uint8_t page[PAGE_BYTES];
	uint64_t offset;

	if (slots_finish(f, error) < 0)
		return -1;
	encode_next_table(f, page, &offset);
	if (store_write(&f->store, page, sizeof page, offset, error) < 0)
		return -1;
	f->slot = 1 - f->slot;
	return 0;
}

/* Who shares the file reads, changes and writes the table under this lock. */
int
slots_lock(struct filter *f, struct error *error)
{
	return f->shared ? store_lock_range(&f->store, slot_offset(0),
	    FORMAT_SLOTS * PAGE_BYTES, error) : 0;
}

void
slots_unlock(struct filter *f)
{
	if (f->shared)
		store_unlock_range(&f->store, slot_offset(0),
		    FORMAT_SLOTS * PAGE_BYTES);
}

/*
 * New layers are in one slot at once, and in both when that one is on the disk.
 * A sync can take long, so that a thread does it, but where others write slots,
 * too.
 */
int
slots_publish(struct filter *f, struct error *error)
{
	struct publishing *p;

	if (slots_write(f, error) < 0)
		return -1;
	if (f->publishing == NULL) {
		f->publishing = memory_or_die(calloc(1, sizeof *p));
		f->publishing->worker = f->shared ? NULL : worker_new();
	}
	p = f->publishing;
	p->store = &f->store;
	p->running = 1;
	encode_next_table(f, p->page, &p->offset);
	if (p->worker != NULL) {
		worker_start(p->worker, publish_rest, p);
		return 0;
	}
	publish_rest(p);
	return slots_finish(f, error);
}

/*
 * Read both slots, take the newest valid one; *heal says that the other one
 * lacks something. Returns 1 if what is there does not fit together; `error`
 * says why.
 */
static int
try_table(struct filter *f, int *heal, struct error *error)
{
	uint8_t pages[FORMAT_SLOTS][PAGE_BYTES];
	struct table tables[FORMAT_SLOTS];
	int valid[FORMAT_SLOTS], zero;
	uint64_t length = 0;

	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		if (store_read(&f->store, pages[i], PAGE_BYTES,
		    slot_offset(i), error) < 0)
			return -1;
		valid[i] = format_table_decode(&tables[i], f->header.id,
		    pages[i], error) == 0;
	}
	/* The file is never shorter than its slots say: so ask now. */
	if (store_measure(&f->store, error) < 0)
		return -1;
	if (!valid[0] && !valid[1])
		return 1;
	/* Power can fail when a slot is on the disk and the length is not. */
	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		if (valid[i] && format_table_end(&tables[i]) >
		    f->store.length) {
			length = format_table_end(&tables[i]);
			valid[i] = 0;
		}
	}
	if (!valid[0] && !valid[1]) {
		error_set(error, STATUS_FAILED, "the filter is cut short: it"
		    " has %" PRIu64 " bytes and should have %" PRIu64,
		    f->store.length, length);
		return 1;
	}
	f->slot = valid[1] &&
	    (!valid[0] || tables[1].generation > tables[0].generation);
	f->table = tables[f->slot];
	*heal = !valid[0] || !valid[1] || tables[0].count != tables[1].count;
	/* No run comes there, and the next ones would have no number. */
	if (f->writable && f->table.generation > UINT64_MAX / 2) {
		error_set(error, STATUS_FAILED, "the filter is damaged: wrong"
		    " generation in its table of layers");
		return 1;
	}
	if ((valid[0] && valid[1]) || f->store.length <= filter_bytes(f))
		return 0;
	/* A layer that was not published yet has no bits. */
	if (store_is_zero(&f->store, filter_bytes(f), &zero, error) < 0)
		return -1;
	if (!zero) {
		error_set(error, STATUS_FAILED, "the filter is damaged: one of"
		    " its two tables of layers is lost, and the file is longer"
		    " than the other one says");
		return 1;
	}
	return 0;
}

/* What try_table said is wrong, with the file's name. */
static int
name_file(const struct filter *f, int result, struct error *error)
{
	return result < 0 ? -1 : error_set(error, error->status, "%s: %s",
	    f->store.path, error->text);
}

int
slots_look(struct filter *f, struct error *error)
{
	int heal, result = try_table(f, &heal, error);

	return result == 0 ? 0 : name_file(f, result, error);
}

int
slots_read(struct filter *f, struct error *error)
{
	int heal = 0, result = 1;

	/*
	 * Who reads without the lock may meet a slot that is just being
	 * written: what is wrong may be right a moment later.
	 */
	for (int i = 0; result == 1 && i < (f->writable ? 1 : 10); i++) {
		if (i > 0)
			nanosleep(&(struct timespec){ .tv_nsec = 2000000 },
			    NULL);
		result = try_table(f, &heal, error);
	}
	if (result != 0)
		return name_file(f, result, error);
	if (!heal || !f->writable)
		return 0;
	/* The next table goes into the other slot, and says the same. */
	return store_sync(&f->store, error) < 0 ? -1 : slots_write(f, error);
}

int
slots_newest(struct filter *f, uint64_t *generation, struct error *error)
{
	uint8_t bytes[8];

	*generation = 0;
	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		if (store_read(&f->store, bytes, sizeof bytes, slot_offset(i) +
		    FORMAT_GENERATION_OFFSET, error) < 0)
			return -1;
		if (le_get64(bytes) > *generation)
			*generation = le_get64(bytes);
	}
	return 0;
}

void
slots_free(struct filter *f)
{
	if (f->publishing != NULL)
		worker_free(f->publishing->worker);
	free(f->publishing);
	f->publishing = NULL;
}
