/*
 * The filter file's header and slots: between bytes and structs, with every
 * check that needs no file. bloomdedup(5) is the specification.
 */
#ifndef FORMAT_H
#define FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "geometry.h"
#include "hash.h"

#define FORMAT_VERSION 1
#define FORMAT_ID_BYTES 16
#define FORMAT_RECIPE_MAX 1024
#define FORMAT_LAYERS_MAX 62

#define FORMAT_SLOTS 2
/* Where in a slot its generation stands. */
#define FORMAT_GENERATION_OFFSET 8

#define FORMAT_HEADER_BYTES ((1 + FORMAT_SLOTS) * PAGE_BYTES)

/* What is done when the planned capacity is reached; as in the file. */
enum growth {
	GROWTH_GROW = 0,
	GROWTH_WARN = 1, /* one layer, which is overfilled with a warning */
	GROWTH_FAIL = 2  /* one layer, and an error when it is full */
};

/* "grow", "warn" or "fail" */
const char *format_growth_name(enum growth growth);

struct header {
	uint8_t id[FORMAT_ID_BYTES]; /* random; slots and journal repeat it */
	uint64_t created;            /* seconds since 1970 */
	uint64_t capacity;           /* n */
	double error_rate;           /* p */
	enum growth growth;
	struct hash hash;
	uint32_t optional_features;  /* unknown ones make it read only */
	uint16_t version_to_write;
	/* How a line becomes a key: option names, each ended by \n. */
	char recipe[FORMAT_RECIPE_MAX + 1];
};

struct layer_entry {
	uint64_t offset;    /* of its first byte in the file */
	struct geometry geometry;
	uint64_t capacity;  /* lines that it was made for */
	double error_rate;  /* at that number of lines */
	uint64_t lines;     /* marked in it; a hint */
	uint64_t created;   /* seconds since 1970 */
	int sealed;         /* full and never written again: checksum holds */
	uint32_t checksum;  /* CRC-32 of its bytes if sealed */
};

/* Whether runs were marking when a table was written; as in the file. */
enum marking {
	MARKING_NONE = 0,
	MARKING_ALONE = 1, /* `lines` may be too low */
	MARKING_SHARED = 2 /* no: they are raised before lines are marked */
};

/* A checksum that is not ready: of the first pages of a full layer. */
struct sealing {
	unsigned layer;     /* its number + 1; 0: none */
	uint32_t checksum;
	uint64_t pages;
};

/* The table of layers, as one slot holds it. */
struct table {
	uint64_t generation;
	enum marking marking;
	struct sealing sealing;
	unsigned count;     /* 1 to FORMAT_LAYERS_MAX */
	struct layer_entry layers[FORMAT_LAYERS_MAX];
};

void format_header_encode(const struct header *header,
    uint8_t page[PAGE_BYTES]);

/*
 * Every field is checked. On failure (STATUS_FAILED) the text says what the
 * page is, or what is wrong with it, without the file's name.
 */
int format_header_decode(struct header *header,
    const uint8_t page[PAGE_BYTES], struct error *error);

void format_table_encode(const struct table *table,
    const uint8_t id[FORMAT_ID_BYTES], uint8_t page[PAGE_BYTES]);

/*
 * Every field is checked, and that the layers follow each other without a gap;
 * not that the file is as long as that.
 */
int format_table_decode(struct table *table, const uint8_t id[FORMAT_ID_BYTES],
    const uint8_t page[PAGE_BYTES], struct error *error);

/* Where the last layer ends: the file's length. */
uint64_t format_table_end(const struct table *table);

#endif
