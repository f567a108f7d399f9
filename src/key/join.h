/*
 * Several values become one key: joined by a separator, each in quotes, so that
 * two lists of values give the same bytes only if they are the same list. Empty
 * values are left empty, and those at the end are left out.
 *
 * --skip-chars and --check-chars cut such a key here: they count the bytes of
 * the values and the separators between them, but not the quotes that are put
 * around values and before quotes in them. What is left of a value is put in
 * quotes, unless nothing is left. With --url, values that are URLs are
 * normalized before they are cut.
 */
#ifndef KEY_JOIN_H
#define KEY_JOIN_H

#include "bits/hash.h"
#include "key/recipe.h"

struct join {
	const struct key_recipe *recipe;
	struct key_scratch *scratch;
	uint8_t separator;
	uint64_t skip;     /* bytes still to be left out at the beginning */
	uint64_t left;     /* bytes that may still be taken after these */
	size_t separators; /* separators due before the next value that is not
			    * empty */
	size_t count;      /* values so far */
};

/* Begin a key of several values at the end of the scratch. */
struct join join_begin(const struct key_recipe *recipe, uint8_t separator,
    struct key_scratch *scratch);

/*
 * Add the next value to the key. If `doubled`, its quotes are doubled already,
 * and each two count as one byte.
 */
void join_value(struct join *join, struct key value, int doubled);

#endif
