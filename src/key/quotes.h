/*
 * Which bytes of CSV or JSON are in quotes, 64 at a time. The number of quotes
 * up to a byte is odd if and only if the byte is in quotes: Langdale and
 * Lemire, "Parsing Gigabytes of JSON per Second", VLDB Journal 28 (2019),
 * section 3.1.1.
 */
#ifndef QUOTES_H
#define QUOTES_H

#include <stdint.h>

/* What is at each of 64 bytes: bit i is about byte i. */
struct quotes {
	uint64_t quotes;
	uint64_t stops;  /* separators and terminators */
	uint64_t inside; /* in quotes, or the quote that opens them */
};

/* Bit i: is the number of bits that are set up to it odd? */
static inline uint64_t
quotes_parity(uint64_t bits)
{
#pragma GCC unroll 6
	for (unsigned i = 1; i < 64; i *= 2)
		bits ^= bits << i;
	return bits;
}

/*
 * Find `inside`. Before the first byte: was that in quotes, and could a quote
 * now open a field, or double one? Returns 0 if it can't be told so, since a
 * quote is in a field that doesn't begin with one.
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
