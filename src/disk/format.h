/*
 * The bytes of a filter's file: its header and its slots, from structs to pages
 * and back, with every check that does not need the file. bloomdedup(5) is the
 * specification.
 */
#ifndef DISK_FORMAT_H
#define DISK_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "disk/table.h"

#define FORMAT_VERSION 1
/* Set in the header if there is a window; older programs refuse it. */
#define FORMAT_FEATURE_WINDOW 1u

#define FORMAT_SLOTS 2
/* The offset of the serial number in a slot. */
#define FORMAT_SERIAL_OFFSET 8

/* The begin of every message about a filter of a later version. */
#define FORMAT_NEWER "made by a newer version of bloomdedup"

/* Whether runs were marking when a slot was written; values as in the file. */
enum marking {
	MARKING_NONE = 0,
	/* One run, or several in turn: the counters of lines may be too low. */
	MARKING_IN_TURN = 1,
	/*
	 * Several, and some of them at any time, with atomic operations, as
	 * version 0.1.0 does it. Counters are raised before lines are marked.
	 */
	MARKING_SHARED = 2
};

/* An unfinished checksum, of the first pages of a full layer. */
struct sealing {
	unsigned layer;     /* its number + 1; 0: none */
	uint32_t checksum;
	uint64_t pages;
};

/* The members of a slot besides the table of layers. */
struct slot_head {
	uint64_t serial;    /* one higher in each slot written */
	enum marking marking;
	struct sealing sealing;
};

/* Write the header as the first page of the file, with its checksum. */
void format_header_encode(const struct header *header,
    uint8_t page[PAGE_BYTES]);

/*
 * May this version write to a filter with this header? If not, returns -1 with
 * `error` filled (STATUS_FAILED); the text begins with `name`, the filter's.
 */
int format_check_writable(const struct header *header, const char *name,
    struct error *error);

/* Are these the first bytes of a filter file? */
int format_is_filter(const uint8_t *data, size_t nbytes);

/*
 * Read the header from the first page of a file, and check every field. Returns
 * 0, or -1 with `error` filled (STATUS_FAILED): its text says what the page is,
 * or what is wrong with it, without the file's name.
 */
int format_header_decode(struct header *header,
    const uint8_t page[PAGE_BYTES], struct error *error);

/* Write a slot as a page, with its checksum. `id` is the filter's. */
void format_slot_encode(const struct slot_head *head,
    const struct table *table, const uint8_t id[FILTER_ID_BYTES],
    uint8_t page[PAGE_BYTES]);

/*
 * Read a slot from its page, and check every field, and that the layers are
 * contiguous or, with a window, do not overlap; but not that the file is long
 * enough. The slot must have the filter's `id`. Returns 0, or -1 with `error`
 * filled as by format_header_decode.
 */
int format_slot_decode(struct slot_head *head, struct table *table,
    const uint8_t id[FILTER_ID_BYTES], const uint8_t page[PAGE_BYTES],
    struct error *error);

#endif
