/*
 * The structure of a filter: its header, which states what it was made for, and
 * its table of layers, which states what it has become. Both are the same for a
 * filter in a file, in memory and on a server. format.h defines their bytes in
 * a file, and slots.h writes the table there.
 */
#ifndef DISK_TABLE_H
#define DISK_TABLE_H

#include <stdint.h>

#include "bits/geometry.h"
#include "bits/hash.h"

#define FILTER_ID_BYTES 16
#define FILTER_RECIPE_MAX 1024
/* In a file, the layers come after the header and two slots, a page each. */
#define FILTER_HEADER_BYTES (3 * PAGE_BYTES)

#define TABLE_LAYERS_MAX 62
/* With a window, generations need some of the place. */
#define TABLE_WINDOW_LAYERS_MAX 56
#define TABLE_GENERATIONS_MAX 8

/*
 * The policies for a filter that has reached its planned capacity; values as in
 * the file.
 */
enum growth {
	GROWTH_GROW = 0,
	GROWTH_WARN = 1, /* one layer, which is overfilled with a warning */
	GROWTH_FAIL = 2  /* one layer, and an error when it is full */
};

/* Returns "grow", "warn" or "fail". */
const char *growth_name(enum growth growth);

/*
 * A filter that forgets on purpose: how long a line is remembered at least.
 * Each layer belongs to a generation, which covers a quarter of the window.
 */
enum window_kind {
	/* values as stored in the file */
	WINDOW_NONE = 0,
	WINDOW_SECONDS = 1, /* the window is a time */
	WINDOW_LINES = 2    /* the window is a number of new lines; `length` is
			     * a multiple of 4 */
};

struct window {
	enum window_kind kind;
	uint64_t length;    /* seconds or lines, at most WINDOW_LENGTH_MAX */
};

#define WINDOW_LENGTH_MAX (UINT64_C(1) << 53)

/* The design of a filter, which never changes. */
struct header {
	uint8_t id[FILTER_ID_BYTES]; /* random; slots and journal repeat it */
	uint64_t created;            /* seconds since 1970 */
	uint64_t capacity;           /* n */
	double error_rate;           /* p */
	enum growth growth;
	struct hash hash;
	uint32_t optional_features;  /* unknown ones make it read only */
	uint16_t version_to_write;
	struct window window;
	/* The recipe of keys: names of options, each ended by \n. */
	char recipe[FILTER_RECIPE_MAX + 1];
};

struct layer_entry {
	uint64_t offset;    /* offset of its first byte in the file */
	struct geometry geometry;
	uint64_t capacity;  /* lines it is made for */
	double error_rate;  /* its error rate when it holds that number of
			     * lines */
	uint64_t lines;     /* marked in it; a hint */
	uint64_t created;   /* seconds since 1970 */
	int sealed;         /* full, never written again; checksum valid */
	uint32_t checksum;  /* CRC-32 of its bytes if sealed */
	unsigned generation; /* index of its generation in the table; 0 without
			      * a window */
};

/*
 * A generation of a window; the last one takes new lines. Times are in seconds
 * since 1970.
 */
struct generation {
	int64_t number;     /* its beginning, in quarters of the window since
			     * 1970; only for a window of time */
	int64_t begin;
	int64_t end;        /* a moment not before its last line was marked;
			     * only for a window of time */
};

/* The layers, oldest first. */
struct table {
	unsigned count;     /* 1 to TABLE_LAYERS_MAX */
	struct layer_entry layers[TABLE_LAYERS_MAX];

	/*
	 * Generations of a window, 0 without one. Layers are in their order,
	 * and there may be gaps between layers in the file.
	 */
	unsigned generation_count;
	struct generation generations[TABLE_GENERATIONS_MAX];
	uint64_t file_bytes;
};

/* Returns the offset in the file at which the layer ends. */
uint64_t table_layer_end(const struct layer_entry *layer);

/* Returns the file's length: where the last layer ends, or a gap after it. */
uint64_t table_end(const struct table *table);

/* Returns the number of lines in all layers, by their counters. */
uint64_t table_lines(const struct table *table);

/* Returns the number of lines that all layers together are made for. */
uint64_t table_capacity(const struct table *table);

/*
 * Returns how many more lines layer i takes under this policy of growth;
 * UINT64_MAX if it may be overfilled. In a window, only the last generation
 * takes any.
 */
uint64_t table_layer_room(const struct table *table, unsigned i,
    enum growth growth);

/* Returns the room in all layers; at most UINT64_MAX. */
uint64_t table_room(const struct table *table, enum growth growth);

#endif
