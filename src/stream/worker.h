/*
 * A worker is the state of one thread of a run: a chunk of the input, whose
 * lines it prepares (finds where they end, makes keys and digests, and
 * prefetches cache lines of the filter) and finishes (looks them up, writes,
 * and marks).
 */
#ifndef WORKER_H
#define WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "filter/batch.h"
#include "key/key.h"
#include "stream/input.h"
#include "stream/run_plan.h"

struct worker {
	struct flow *flow;      /* of pipeline.c */
	struct run *run;
	const struct record_format *format; /* of the lines; not owned */
	struct chunk chunk;
	size_t limit;           /* room for lines in the arrays below */
	const uint8_t **starts; /* of prepared lines, and the last one's end */
	struct digest *digests;
	uint8_t *troubles;      /* of their keys; NULL if there can be none */
	size_t prepared;
	const uint8_t *rest;    /* where the lines begin that come next */
	/* With --part, `prepared` are those of this part; */
	uint32_t *numbers;      /* which line each of them was; else NULL */
	size_t passed;          /* lines of other parts among them, */
	uint64_t passed_bytes;
	int is_foreign;         /* with --strict-part: so is the next line */
	struct batch *batch;
	const uint8_t **lines;  /* starts of the batch's lines */
	struct key_scratch scratch;
	struct output_lines copies; /* on their way to an output */
};

/* With room for `limit` prepared lines, and a batch of the filter's size. */
struct worker *worker_new(struct run *run,
    const struct record_format *format, size_t limit);
void worker_free(struct worker *w);

/* Prepare lines of the chunk, up to `limit` from `data` on. */
void worker_prepare(struct worker *w, const uint8_t *data, size_t limit);

/*
 * Finish these lines, then the rest of the chunk, batch by batch: in turn, one
 * thread at a time. Ends early, with 0, when a signal asks to stop.
 */
int worker_finish(struct worker *w, struct error *error);

/*
 * Write what the run prints of the batch's lines. *fresh becomes the number of
 * new lines to mark: if writing fails partway, those that were written, so
 * that they are not printed again.
 */
int worker_write(struct worker *w, size_t *fresh, struct error *error);

/*
 * Take all lines from input to output, with plan->threads workers (pipeline.c):
 * to the end, or until a signal asks to stop. Fails if output or filter fail;
 * lines that were written before are still remembered.
 */
int pipeline_run(struct run *run, const struct inputs *inputs,
    struct error *error);

#endif
