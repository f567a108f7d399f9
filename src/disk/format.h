/*
 * The filter file's header and slots: structs to bytes and back, with every
 * check that doesn't need the file. bloomdedup(5) is the specification.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/geometry.h"
#include "bits/hash.h"

#define FORMAT_VERSION 1
#define FORMAT_ID_BYTES 16
#define FORMAT_RECIPE_MAX 1024
#define FORMAT_LAYERS_MAX 62

#define FORMAT_SLOTS 2
/* The offset of the serial number in a slot. */
#define FORMAT_SERIAL_OFFSET 8

#define FORMAT_HEADER_BYTES ((1 + FORMAT_SLOTS) * PAGE_BYTES)

/* What happens when the planned capacity is reached; values as in the file. */
enum growth {
	GROWTH_GROW = 0,
	GROWTH_WARN = 1, /* one layer, which is overfilled with a warning */
	GROWTH_FAIL = 2  /* one layer, and an error when it is full */
};

/* "grow", "warn" or "fail" */
const char *format_growth_name(enum growth growth);

/*
 * A filter that forgets on purpose: how long a line is remembered at least.
 * Each layer belongs to a generation, which covers a quarter of the window.
 */
enum window_kind {
	/* values as stored in the file */
	WINDOW_NONE = 0,
	WINDOW_SECONDS = 1, /* by time */
	WINDOW_LINES = 2    /* by new lines; `length` is a multiple of 4 */
};

struct window {
	enum window_kind kind;
	uint64_t length;    /* at most FORMAT_WINDOW_MAX */
};

#define FORMAT_WINDOW_MAX (UINT64_C(1) << 53)
/* Set in the header if there is a window; older programs refuse it. */
#define FORMAT_FEATURE_WINDOW 1u

struct header {
	uint8_t id[FORMAT_ID_BYTES]; /* random; slots and journal repeat it */
	uint64_t created;            /* seconds since 1970 */
	uint64_t capacity;           /* n */
	double error_rate;           /* p */
	enum growth growth;
	struct hash hash;
	uint32_t optional_features;  /* unknown ones make it read only */
	uint16_t version_to_write;
	struct window window;
	/* How a line becomes a key: option names, each ended by \n. */
	char recipe[FORMAT_RECIPE_MAX + 1];
};

struct layer_entry {
	uint64_t offset;    /* of its first byte in the file */
	struct geometry geometry;
	uint64_t capacity;  /* lines it is made for */
	double error_rate;  /* at that number of lines */
	uint64_t lines;     /* marked in it; a hint */
	uint64_t created;   /* seconds since 1970 */
	int sealed;         /* full, never written again; checksum valid */
	uint32_t checksum;  /* CRC-32 of its bytes if sealed */
	unsigned generation; /* with a window: its place in the table */
};

/* With a window; the last one takes new lines. Seconds since 1970. */
struct generation {
	int64_t number;     /* by time: its begin in quarters of the window */
	int64_t begin;
	int64_t end;        /* by time: not before its last line was marked */
};

#define FORMAT_GENERATIONS_MAX 8
#define FORMAT_WINDOW_LAYERS_MAX 56

/* Whether runs were marking when a table was written; values as in the file. */
enum marking {
	MARKING_NONE = 0,
	MARKING_ALONE = 1, /* `lines` may be too low */
	MARKING_SHARED = 2 /* never too low: raised before lines are marked */
};

/* An unfinished checksum, of the first pages of a full layer. */
struct sealing {
	unsigned layer;     /* its number + 1; 0: none */
	uint32_t checksum;
	uint64_t pages;
};

/* The table of layers, as one slot holds it. */
struct table {
	uint64_t serial;    /* one higher in each table written */
	enum marking marking;
	struct sealing sealing;
	unsigned count;     /* 1 to FORMAT_LAYERS_MAX */
	struct layer_entry layers[FORMAT_LAYERS_MAX];

	/* With a window, else 0: layers are in the order of generations, and
	   there may be gaps between them in the file. */
	unsigned generation_count;
	struct generation generations[FORMAT_GENERATIONS_MAX];
	uint64_t file_bytes;
};

void format_header_encode(const struct header *header,
    uint8_t page[PAGE_BYTES]);

/* Are these the first bytes of a filter file? */
int format_is_filter(const uint8_t *data, size_t nbytes);

/*
 * Every field is checked. On failure (STATUS_FAILED) the text says what the
 * page is, or what is wrong with it, without the file's name.
 */
int format_header_decode(struct header *header,
    const uint8_t page[PAGE_BYTES], struct error *error);

void format_table_encode(const struct table *table,
    const uint8_t id[FORMAT_ID_BYTES], uint8_t page[PAGE_BYTES]);

/*
 * Every field is checked, and that the layers are contiguous, or, with a
 * window, don't overlap; not that the file is long enough.
 */
int format_table_decode(struct table *table, const uint8_t id[FORMAT_ID_BYTES],
    const uint8_t page[PAGE_BYTES], struct error *error);

/* The file's length: where the last layer ends, or a gap after it. */
uint64_t format_table_end(const struct table *table);

/* The lines of all layers, as counted; those that they were made for. */
uint64_t format_lines(const struct table *table);
uint64_t format_capacity(const struct table *table);

/*
 * How many more lines layer i takes under this policy of growth; UINT64_MAX if
 * it may be overfilled. In a window, only the last generation takes any.
 */
uint64_t format_layer_room(const struct table *table, unsigned i,
    enum growth growth);

/* The room in all layers; at most UINT64_MAX. */
uint64_t format_room(const struct table *table, enum growth growth);

#endif
