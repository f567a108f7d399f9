/*
 * Sizing: from what people know (lines, error rate, memory, k) to the shape of
 * a filter, for `size`, `try`, `create` and each layer that a filter grows by.
 * One solver for all, so that the sizes reported are the sizes made, to the
 * byte.
 */
#ifndef BITS_SIZING_H
#define BITS_SIZING_H

#include <stdint.h>

#include "base/error.h"
#include "bits/geometry.h"

/* Spelled as people write them: help shows them so. */
#define SIZING_RATE_MIN 1e-12
#define SIZING_RATE_MAX 0.5
#define SIZING_RATE_DEFAULT 1e-6
#define SIZING_CAPACITY_WRITTEN 1e6
#define SIZING_CAPACITY_DEFAULT ((uint64_t)SIZING_CAPACITY_WRITTEN)
#define SIZING_CAPACITY_MAX ((uint64_t)1 << 53) /* exact as a double */

/* The header and two slots come before the first layer (format.h). */
#define SIZING_OVERHEAD_BYTES (3u * PAGE_BYTES)

struct sizing {
	uint64_t capacity;  /* n: lines planned for; 0 if to be found */
	double error_rate;  /* p, over the filter's life; 0 if to be found */
	uint64_t bytes;     /* size of the whole file; 0 if to be found */
	unsigned k;         /* bits per key; 0 if to be found */
	int fixed;          /* the filter has one layer, and does not grow */
	struct geometry geometry; /* result: the first layer */
};

/*
 * Find what is 0 in `sizing`; two of capacity, error_rate and bytes must be
 * given (in range), k may be. On success all of them are set: `bytes` to the
 * file's exact size (at most the size that was given, and less if that is
 * enough for SIZING_RATE_MIN), and `error_rate` to the given one or the one
 * that is reached.
 *
 * The number of cache lines per key is the smallest for which the file stays
 * within 13 % of the textbook's optimum, for n >= 1e6 and p <= 1e-2; otherwise,
 * or if none does, the one with the smallest file. With a given k: the smallest
 * number, k/8 at least, within 13 % of the best for this k.
 *
 * Fails (STATUS_USAGE) where there is no answer in the ranges above; the text
 * says what was asked for and what is possible, without an option's name.
 */
int sizing_solve(struct sizing *sizing, struct error *error);

/*
 * The share of p reserved for lines that are held back (filter/deferred.h). The
 * rates of 62 layers add up to 0.9975 p, and a fixed filter gets as much.
 */
#define SIZING_PENDING_SHARE 0.0025

/*
 * Returns the rate that layer i of a growing filter of rate p is made for: 0.75
 * p for the first, then 0.25 p * 6 / (pi^2 i^2). They sum up to p (after
 * Almeida, Baquero, Preguica, Hutchison 2007, Scalable Bloom Filters, section
 * 3; its geometric series costs more from the fifth layer on). A fixed filter
 * has one layer at p, but for SIZING_PENDING_SHARE.
 */
double sizing_layer_rate(double error_rate, int fixed, unsigned i);

/*
 * Find the smallest layer for `capacity` lines at `rate`, its shape chosen as
 * above; `textbook_rate` is the rate of the textbook's optimum. A rate may be
 * any that a header can lead to, down to 0, for which there is no layer.
 * Returns 0, or -1 with `error` filled (STATUS_USAGE) if there is none.
 */
int sizing_layer(struct geometry *geometry, uint64_t capacity, double rate,
    double textbook_rate, unsigned k, struct error *error);

/*
 * Returns the textbook's optimum, m = -n ln p / (ln 2)^2 bits, in bytes rounded
 * up.
 */
uint64_t sizing_textbook_bytes(uint64_t capacity, double error_rate);

/* Returns the textbook's k = m/n ln 2, rounded; at most K_MAX. */
unsigned sizing_textbook_k(double error_rate);

/* Returns the textbook's rate for k and b bits per line: (1 - e^(-k/b))^k. */
double sizing_textbook_rate(double bits_per_line, unsigned k);

#endif
