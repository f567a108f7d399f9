/*
 * Values of a JSON document (RFC 8259) by JSON pointers (RFC 6901). The rest of
 * the document is skipped: only its brackets and strings are checked, while
 * values that are taken are checked completely.
 *
 * If several members have the same name, the last one counts, as in jq.
 *
 * json.c finds values, json_take.c takes them.
 */
#ifndef KEY_JSON_H
#define KEY_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"

#define JSON_POINTERS_MAX 32

/* The depth of nested arrays and objects; a deeper document is not read. */
#define JSON_DEPTH_MAX 1024

/* Is it a pointer: empty, or tokens that each begin with a slash? */
int json_is_pointer(const char *text);

enum json_result {
	JSON_OK,
	JSON_NOT,     /* the line is not a JSON document */
	JSON_TOO_DEEP
};

/*
 * Find values in the document [data, data + nbytes), after which LOOPS_PADDING
 * bytes may be read. values[i] becomes the text of the value that pointers[i]
 * refers to, as a part of the document; its data is NULL if there is no such
 * value. Unless the result is JSON_OK, the values mean nothing.
 */
enum json_result json_find(const char *const *pointers, unsigned count,
    const uint8_t *data, size_t nbytes, struct key *values);

/*
 * Take a value's content from its text: the characters of a string, or the text
 * of anything else without blanks. The result is a part of the text, or was
 * written to `to`, which has value.nbytes bytes. Its data is NULL if the value
 * is not JSON. LOOPS_PADDING bytes after the value may be read.
 */
struct key json_take(struct key value, uint8_t *to);

#endif
