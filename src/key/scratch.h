/*
 * What a thread needs to make keys: the steps of the recipe, and room for keys
 * that are not simply a part of the line.
 */
#ifndef SCRATCH_H
#define SCRATCH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "bits/hash.h"

struct columns;
struct key_recipe;
struct key_scratch;

typedef struct key (*key_apply)(const struct key_recipe *recipe,
    struct key key, struct key_scratch *scratch);

#define KEY_STEPS_MAX 24

/* Why a line is compared whole, or its key not normalized as a URL. */
enum key_trouble {
	KEY_NOT_JSON,
	KEY_TOO_DEEP,  /* JSON_DEPTH_MAX */
	KEY_MISSING,   /* a pointer leads to no value */
	KEY_NOT_URL,
	KEY_NO_FIELD,  /* none of the fields is there, so the key is empty */
	KEY_TROUBLES
};

struct key_scratch {
	uint8_t *data;
	size_t capacity, used;
	size_t start; /* of the key that is being made */
	int is_whole; /* it is the whole line, because of a key_trouble */
	const struct columns *columns; /* of the file; the caller sets it */
	unsigned urls; /* how many of its values are URLs */
	uint8_t troubles; /* of the last line: bits 1 << key_trouble */
	uint32_t found; /* bit i: pointer i led to a value in some line */
	unsigned step_count;
	key_apply steps[KEY_STEPS_MAX]; /* those that the recipe has */
};

/* The caller has made room for it. */
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

/* The key: what was appended since its start. */
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

/* Without blanks at both ends, which are those of isspace in the C locale. */
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
