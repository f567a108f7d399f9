#include "disk/slots.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/le.h"

/* A reader without the lock may see a slot that is being written. */
#define READER_TRIES 10
#define SERIAL_BYTES 8

static uint64_t
slot_offset(unsigned slot)
{
	return (uint64_t)(1 + slot) * PAGE_BYTES;
}

static uint64_t
serial_offset(unsigned slot)
{
	return slot_offset(slot) + FORMAT_SERIAL_OFFSET;
}

/* Would a reader take this slot? */
static int
is_readable(const struct slots *slots, const uint8_t *page)
{
	struct slot_head head;
	struct table *table = memory_or_die(malloc(sizeof *table));
	/* Whatever is wrong with a slot, the other one is used. */
	int result = format_slot_decode(&head, table, slots->id, page,
	    error_ignored());

	free(table);
	return result == 0;
}

static int
write_slot(struct slots *slots, unsigned slot, const struct table *table,
    struct error *error)
{
	struct slot_head head = slots->head;
	uint8_t page[PAGE_BYTES];

	head.serial++;
	format_slot_encode(&head, table, slots->id, page);
	/* What its reader would refuse isn't written. */
	if (!is_readable(slots, page)) {
		return error_set(error, STATUS_FAILED, "%s: this is a bug: the"
		    " new table of layers would be unreadable; the filter"
		    " stays as it was", slots->file->path);
	}
	if (file_write(slots->file, page, sizeof page, slot_offset(slot),
	    error) < 0)
		return -1;
	slots->newest = slot;
	slots->head.serial = head.serial;
	return 0;
}

int
slots_write(struct slots *slots, const struct table *table, struct error *error)
{
	return write_slot(slots, slots->newest, table, error);
}

int
slots_publish(struct slots *slots, const struct table *table,
    struct error *error)
{
	/* The file's length and the newer slot may not be on the disk yet. */
	if (file_sync(slots->file, error) < 0 ||
	    write_slot(slots, 1 - slots->newest, table, error) < 0 ||
	    file_sync(slots->file, error) < 0)
		return -1;
	return write_slot(slots, 1 - slots->newest, table, error);
}

int
slots_begin(struct slots *slots, const struct table *table, struct error *error)
{
	if (write_slot(slots, 0, table, error) < 0)
		return -1;
	return write_slot(slots, 1, table, error);
}

void
slots_take_over(struct slots *slots, const struct slots *copy)
{
	slots->newest = copy->newest;
	slots->head.serial = copy->head.serial;
}

int
slots_lock(struct slots *slots, struct error *error)
{
	if (!slots->shared)
		return 0;
	return file_lock_range(slots->file, slot_offset(0),
	    FORMAT_SLOTS * PAGE_BYTES, FILE_RANGE_ONE, error);
}

void
slots_unlock(struct slots *slots)
{
	if (slots->shared)
		file_unlock_range(slots->file, slot_offset(0),
		    FORMAT_SLOTS * PAGE_BYTES);
}

/*
 * The bytes after the slots stand for other things than they hold: the first
 * for all marks, the second for the runs that share the file.
 */
#define MARKS_OFFSET FILTER_HEADER_BYTES
#define RUNS_OFFSET (MARKS_OFFSET + 1)

int
slots_try_first(struct slots *slots)
{
	return file_try_range(slots->file, RUNS_OFFSET, 1);
}

int
slots_join(struct slots *slots, struct error *error)
{
	return file_lock_range(slots->file, RUNS_OFFSET, 1, FILE_RANGE_READERS,
	    error);
}

int
slots_try_turn(struct slots *slots)
{
	return file_try_range(slots->file, slot_offset(0),
	    FORMAT_SLOTS * PAGE_BYTES + 1);
}

int
slots_share_turn(struct slots *slots, struct error *error)
{
	return file_lock_range(slots->file, MARKS_OFFSET, 1, FILE_RANGE_READERS,
	    error);
}

void
slots_end_turn(struct slots *slots)
{
	file_unlock_range(slots->file, slot_offset(0),
	    FORMAT_SLOTS * PAGE_BYTES + 1);
}

/* Are all bytes of the file from `offset` on zero? Returns 1, 0, or -1. */
static int
is_zero(struct file *file, uint64_t offset, struct error *error)
{
	const size_t room = 64 * 1024;
	char *piece = memory_or_die(malloc(room));
	int zero = 1;

	while (zero > 0 && offset < file->length) {
		uint64_t left = file->length - offset;
		size_t n = left < room ? (size_t)left : room;

		if (file_read(file, piece, n, offset, error) < 0) {
			zero = -1;
			break;
		}
		/*
		 * All bytes are zero if the first one is and each equals the
		 * next.
		 */
		zero = piece[0] == 0 && memcmp(piece, piece + 1, n - 1) == 0;
		offset += n;
	}
	free(piece);
	return zero;
}

/* With a window, a layer can go when another is added. */
static int
same_layers(const struct table *a, const struct table *b)
{
	if (a->count != b->count || a->generation_count != b->generation_count)
		return 0;
	for (unsigned i = 0; i < a->count; i++) {
		if (a->layers[i].offset != b->layers[i].offset ||
		    a->layers[i].generation != b->layers[i].generation)
			return 0;
	}
	for (unsigned i = 0; i < a->generation_count; i++) {
		if (a->generations[i].number != b->generations[i].number)
			return 0;
	}
	return 1;
}

/* What was read of the two slots. */
struct slots_read {
	struct {
		int valid; /* else it has no meaning */
		struct slot_head head;
		struct table table;
	} of[FORMAT_SLOTS];
};

/*
 * Read both slots. One that can't be read counts as damaged, unless both can't.
 * Returns -1 then. `error` is filled, too, if a slot is damaged.
 */
static int
read_both(struct slots *slots, struct slots_read *reading, struct error *error)
{
	uint8_t page[PAGE_BYTES];
	unsigned unreadable = 0;
	struct error why;

	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		reading->of[i].valid = 0;
		if (file_read(slots->file, page, sizeof page, slot_offset(i),
		    &why) < 0) {
			unreadable++;
			continue;
		}
		reading->of[i].valid = format_slot_decode(&reading->of[i].head,
		    &reading->of[i].table, slots->id, page, error) == 0;
	}
	if (unreadable == FORMAT_SLOTS) {
		*error = why;
		return -1;
	}
	return 0;
}

/*
 * A power failure can keep a slot without the file's length: it doesn't count.
 * `error` is filled if no other one does.
 */
static void
drop_cut_short(const struct slots *slots, struct slots_read *reading,
    struct error *error)
{
	uint64_t wanted = 0;

	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		uint64_t end;

		if (!reading->of[i].valid)
			continue;
		end = table_end(&reading->of[i].table);
		if (end > slots->file->length) {
			reading->of[i].valid = 0;
			wanted = end > wanted ? end : wanted;
		}
	}
	if (wanted > 0 && !reading->of[0].valid && !reading->of[1].valid) {
		error_set(error, STATUS_FAILED, "the filter is cut short: it"
		    " has %" PRIu64 " bytes and should have %" PRIu64,
		    slots->file->length, wanted);
	}
}

/* Which of the slots, of which at least one is valid, is the newest one? */
static unsigned
newest_of(const struct slots_read *reading)
{
	if (!reading->of[0].valid)
		return 1;
	if (!reading->of[1].valid)
		return 0;
	return reading->of[1].head.serial > reading->of[0].head.serial;
}

/*
 * Read both slots and take the newest valid one. *behind becomes 1 if the other
 * one is invalid or has other layers. Returns 1 if file and slots are
 * inconsistent: `error` says why.
 */
static int
try_table(struct slots *slots, struct slots_read *reading, struct table *table,
    int *behind, struct error *error)
{
	int zero;

	if (read_both(slots, reading, error) < 0)
		return -1;
	/* After the slots: the file is never shorter than they say. */
	if (file_measure(slots->file, error) < 0)
		return -1;
	drop_cut_short(slots, reading, error);
	if (!reading->of[0].valid && !reading->of[1].valid)
		return 1;
	slots->newest = newest_of(reading);
	slots->head = reading->of[slots->newest].head;
	*table = reading->of[slots->newest].table;
	if (reading->of[0].valid && reading->of[1].valid) {
		*behind = !same_layers(&reading->of[0].table,
		    &reading->of[1].table);
		return 0;
	}
	*behind = 1;
	/* A layer that is in no valid table must not have lines. */
	zero = is_zero(slots->file, table_end(table), error);
	if (zero < 0)
		return -1;
	if (!zero) {
		error_set(error, STATUS_FAILED, "the filter is damaged: one of"
		    " its two tables of layers is lost, and the file is longer"
		    " than the other one says");
		return 1;
	}
	return 0;
}

int
slots_read(struct slots *slots, struct table *table, int repair,
    struct error *error)
{
	int tries = slots->file->writable ? 1 : READER_TRIES;
	struct slots_read *reading = memory_or_die(malloc(sizeof *reading));
	int behind, result = try_table(slots, reading, table, &behind, error);

	while (result == 1 && --tries > 0) {
		nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
		result = try_table(slots, reading, table, &behind, error);
	}
	free(reading);
	if (result < 0)
		return -1;
	if (result > 0)
		return error_prefix(error, slots->file->path);
	if (!repair)
		return behind;
	/* No run gets this far, and no numbers would be left for the next. */
	if (slots->head.serial > UINT64_MAX / 2) {
		return error_set(error, STATUS_FAILED, "%s: the filter is"
		    " damaged: wrong serial number in its table of layers",
		    slots->file->path);
	}
	/* Write it to the lost slot, too, once the newer one is on the disk. */
	if (behind && (file_sync(slots->file, error) < 0 ||
	    write_slot(slots, 1 - slots->newest, table, error) < 0))
		return -1;
	return behind;
}

/* The numbers of both slots, each read by itself; 0 where that fails. */
static int
read_serials(struct slots *slots, uint64_t serials[FORMAT_SLOTS],
    struct error *error)
{
	uint8_t bytes[SERIAL_BYTES];
	int unreadable = 0;

	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		serials[i] = 0;
		if (file_read(slots->file, bytes, sizeof bytes,
		    serial_offset(i), error) < 0)
			unreadable++;
		else
			serials[i] = le_get64(bytes);
	}
	return unreadable == FORMAT_SLOTS ? -1 : 0;
}

int
slots_newest_serial(struct slots *slots, uint64_t *serial, struct error *error)
{
	/* From one number to the other: one call costs less than two. */
	uint8_t bytes[PAGE_BYTES + SERIAL_BYTES];
	uint64_t serials[FORMAT_SLOTS];

	*serial = 0;
	if (file_read(slots->file, bytes, sizeof bytes, serial_offset(0),
	    error) == 0) {
		serials[0] = le_get64(bytes);
		serials[1] = le_get64(bytes + PAGE_BYTES);
	} else if (read_serials(slots, serials, error) < 0) {
		return -1;
	}
	*serial = serials[0] > serials[1] ? serials[0] : serials[1];
	return 0;
}
