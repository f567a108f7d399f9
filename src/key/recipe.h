/*
 * The recipe of keys, as data. It is stored in the filter file as text
 * (recipe_text.h); the rows in steps.c define what the members do. Also the
 * scratch of a thread that makes keys: the steps of the recipe, and room for
 * keys that are not simply a part of the line.
 */
#ifndef KEY_RECIPE_H
#define KEY_RECIPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bits/hash.h"
#include "key/url_rules.h"

#define KEY_RANGES_MAX 32
#define KEY_POINTERS_MAX 32
#define KEY_FIELD_MAX 1000000000u

/* The longest text of a recipe, with its NUL. */
#define KEY_RECIPE_TEXT 1025

struct key_range {
	uint32_t first, last; /* 1-based fields; last is UINT32_MAX if open */
};

/* A new member must be compared in tests/fuzz/options.c, too. */
struct key_recipe {
	int zero_terminated;
	int strip_cr;
	int trim;
	unsigned range_count; /* 0: the whole line */
	struct key_range ranges[KEY_RANGES_MAX]; /* sorted, not touching */
	int separator;        /* the byte between fields; -1: runs of blanks */
	int csv;
	int csv_backslash;    /* csv_format.backslash of the records */
	int header;           /* each file's first record names its columns */
	unsigned column_count; /* columns in place of ranges; 0: none */
	char columns[KEY_RECIPE_TEXT]; /* their list, from columns_parse */
	unsigned json_count;  /* JSON pointers; 0: the line is not JSON */
	uint16_t json_at[KEY_POINTERS_MAX]; /* offset of each pointer in
					     * `json` */
	char json[KEY_RECIPE_TEXT]; /* all pointers, each with its NUL */
	int trim_fields;      /* blanks around each field or value */
	int url;
	struct url_rules url_rules;
	uint64_t skip;        /* bytes left out; KEY_SKIP_UNSET: not given */
	uint64_t check;       /* bytes to compare; 0: all */
	int ignore_case;
	int keep_empty;       /* lines with an empty key are always new */
	unsigned part, parts; /* only the keys of part I of N; 0: all keys */
};

/* -s 0 is not the same as no -s. */
#define KEY_SKIP_UNSET UINT64_MAX

/* The recipe for whole lines; and the one that options are added to. */
#define KEY_RECIPE_NONE { .separator = -1 }
#define KEY_RECIPE_UNSET { .separator = -1, .skip = KEY_SKIP_UNSET }

/*
 * A part is a share of all keys, I of N. Which part a key is in depends on
 * nothing but its bytes, so that machines agree without a secret. See
 * bloomdedup(5), "Parts".
 */
#define PARTS_MAX 4096

/* Returns the part, from 1 to `parts`, of a key with this hash (hash_plain). */
static inline unsigned
part_of(uint64_t hash, unsigned parts)
{
	uint64_t low = (hash & UINT32_MAX) * parts >> 32;

	/* hash * parts / 2^64, without numbers of 128 bits */
	return 1 + (unsigned)(((hash >> 32) * parts + low) >> 32);
}

/* --- what a thread needs to make keys */

struct columns;
struct key_scratch;

typedef struct key (*key_apply)(const struct key_recipe *recipe,
    struct key key, struct key_scratch *scratch);

#define KEY_STEPS_MAX 24

/* Why a line is compared whole, or its key not normalized as a URL. */
enum key_trouble {
	KEY_NOT_JSON,
	KEY_TOO_DEEP,  /* JSON_DEPTH_MAX */
	KEY_MISSING,   /* a pointer leads to no value */
	KEY_NULL,      /* a pointer leads to null, which is no value */
	KEY_NOT_URL,
	KEY_NO_FIELD,  /* none of the fields is there, so the key is empty */
	KEY_STRAY,     /* there is text after a closing quote: record_split */
	KEY_HEADER,    /* it is the header again, and no line at all */
	KEY_TROUBLES
};

struct key_scratch {
	uint8_t *data;   /* bytes of keys that are not parts of their lines */
	size_t capacity, used;
	size_t factor;   /* bytes there that one of a line needs at most */
	size_t start;    /* offset in `data` at which the key being made
			  * begins */
	int is_whole;    /* is that key the whole line, because of a trouble? */
	unsigned urls;   /* number of that key's values that are URLs */
	uint8_t troubles; /* troubles of the last line: bits 1 << key_trouble */
	uint32_t found;  /* bit i: pointer i led to a value in some line */
	const struct columns *columns; /* columns of the file; the caller sets
				        * it */
	unsigned step_count;
	key_apply steps[KEY_STEPS_MAX];
};

/* Append bytes to the key that is being made; the scratch has room for them. */
static inline void
scratch_append(struct key_scratch *scratch, const void *data, size_t nbytes)
{
	memmove(scratch->data + scratch->used, data, nbytes);
	scratch->used += nbytes;
}

static inline void
scratch_append_byte(struct key_scratch *scratch, uint8_t byte)
{
	scratch->data[scratch->used++] = byte;
}

/* Returns the key that is being made: what was appended since its start. */
static inline struct key
scratch_key(const struct key_scratch *scratch)
{
	return (struct key){ scratch->data + scratch->start,
		scratch->used - scratch->start };
}

static inline void
scratch_note(struct key_scratch *scratch, enum key_trouble trouble)
{
	scratch->troubles |= (uint8_t)(1 << trouble);
}

/*
 * Returns a key without blanks at both ends: those of isspace in the C locale.
 */
static inline struct key
trim_blanks(struct key key)
{
	const uint8_t *p = key.data, *end = p + key.nbytes;

	while (end > p && (end[-1] == ' ' ||
	    (end[-1] >= '\t' && end[-1] <= '\r')))
		end--;
	while (p < end && (*p == ' ' || (*p >= '\t' && *p <= '\r')))
		p++;
	return (struct key){ p, (size_t)(end - p) };
}

#endif
