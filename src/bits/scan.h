/*
 * Scanning of text, in the best version for this machine: one source, scan.c,
 * is compiled for several instruction sets, as loops.c is.
 */
#ifndef BITS_SCAN_H
#define BITS_SCAN_H

#include <stddef.h>
#include <stdint.h>

#include "bits/hash.h"
#include "bits/loops.h"

/*
 * A set of ASCII characters, always without the dot, in two forms. For vectors:
 * character c is in the set if bit c / 16 of columns[c % 16] is set. Without
 * vectors: if classes[c] has one of the bits in `wanted`.
 */
struct characters {
	uint8_t columns[16];
	const uint16_t *classes;
	uint16_t wanted;
};

/* What is at each of 64 bytes of a URL's query: bit i is about byte i. */
struct query_marks {
	uint64_t ampersands, equals;
	uint64_t others; /* neither in the set nor a dot */
};

struct scan {
	/*
	 * Find at most `limit` lines in [data, end), which consists of whole
	 * lines. starts[i] becomes the beginning of line i, starts[result] the
	 * end of the last one, so `starts` has room for limit + 1.
	 */
	size_t (*split)(const uint8_t *data, const uint8_t *end,
	    uint8_t terminator, const uint8_t **starts, size_t limit);
	/* Bit j of bits[i] becomes: is p[j] (j < 64) the byte bytes[i]? */
	void (*equal_three)(const uint8_t *p, const uint8_t bytes[3],
	    uint64_t bits[3]);
	/* Returns how many of the bytes [p, p + nbytes) are `byte`. */
	uint64_t (*count)(const uint8_t *p, size_t nbytes, uint8_t byte);
	/*
	 * Find the fields `first` to `last` (from 1) of [p, end), with the
	 * separators between them; or fewer, if the line ends before. The
	 * result's data is NULL if it ends before the first of them.
	 */
	struct key (*fields)(const uint8_t *p, const uint8_t *end,
	    uint8_t separator, uint32_t first, uint32_t last);
	/*
	 * Find the CSV field `wanted` (from 1) of [p, end), with the quotes
	 * around it. Its data is NULL if there is none, if quotes_place cannot
	 * tell, or if a quote is not closed: then csv_fields_next knows.
	 */
	struct key (*csv_field)(const uint8_t *p, const uint8_t *end,
	    uint8_t separator, uint32_t wanted);
	/* Bit j of the result: is p[j] (j < 64) a space, tab or newline? */
	uint64_t (*blanks)(const uint8_t *p);
	/*
	 * Bit j of *quotes, *escapes and *brackets becomes: is p[j] (j < 64) a
	 * quote, a backslash, a bracket of JSON ([, ], { or })?
	 */
	void (*json)(const uint8_t *p, uint64_t *quotes, uint64_t *escapes,
	    uint64_t *brackets);
	/*
	 * Returns the first quote or backslash in [p, end), else an address >=
	 * end.
	 */
	const uint8_t *(*string_end)(const uint8_t *p, const uint8_t *end);
	/*
	 * Returns the first quote, backslash or control character (which no
	 * string may contain) in [p, end), else `end`.
	 */
	const uint8_t *(*string_stop)(const uint8_t *p, const uint8_t *end);
	/*
	 * Returns the first byte in [p, end) that is not in the set, else
	 * `end`. Dots are taken for members of every set, except after a slash.
	 * Reads p[-1].
	 */
	const uint8_t *(*skip)(const struct characters *set,
	    const uint8_t *p, const uint8_t *end);
	/* The marks of the 64 bytes at p. */
	struct query_marks (*query)(const struct characters *set,
	    const uint8_t *p);
};

/* Returns the version in use, which is that of loops(). */
const struct scan *scan(void);

extern const struct scan *const scan_versions[];

/*
 * Returns a mask of the bytes of CSV or JSON that are in quotes. The number of
 * quotes up to a byte is odd if and only if the byte is in quotes: Langdale and
 * Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 28 (2019),
 * section 3.1.1.
 */

/* Kinds of bytes among 64: bit i is about byte i. */
struct quotes {
	uint64_t quotes;
	uint64_t stops;  /* separators and terminators */
	uint64_t inside; /* bytes in quotes, and the quotes that open them */
};

/*
 * Returns the parities: bit i is whether the number of bits set up to i,
 * included, is odd.
 */
static inline uint64_t
quotes_parity(uint64_t bits)
{
#pragma GCC unroll 6
	for (unsigned i = 1; i < 64; i *= 2)
		bits ^= bits << i;
	return bits;
}

/*
 * Returns the bytes after backslashes that are not escaped themselves. *escaped
 * is bit 0 of the result, and becomes that of the next word.
 */
static inline uint64_t
quotes_escaped(uint64_t backslashes, uint64_t *escaped)
{
	uint64_t result = *escaped, bit;

	*escaped = 0;
	for (backslashes &= ~result; backslashes != 0;
	    backslashes &= ~(bit | bit << 1)) {
		bit = backslashes & -backslashes;
		result |= bit << 1;
		*escaped = bit >> 63;
	}
	return result;
}

/*
 * Compute q->inside from the other two. `in_quotes` says whether the byte
 * before the first one is in quotes, and `begins` whether a quote may open a
 * field (or be the second of two) at the first byte. Returns 0 if the number of
 * quotes does not tell what is inside, because one of them is in a field that
 * does not begin with a quote.
 */
static inline int
quotes_place(struct quotes *q, int in_quotes, int begins)
{
	uint64_t before = (q->quotes | q->stops) << 1 | (unsigned)begins;

	q->inside = quotes_parity(q->quotes);
	if (in_quotes)
		q->inside = ~q->inside;
	return (q->quotes & q->inside & ~before) == 0;
}

#endif
