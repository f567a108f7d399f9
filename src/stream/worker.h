/*
 * The job of a run (pipeline.h). A worker is the state of one thread: the lines
 * of a chunk, which it prepares (finds where they end, makes keys and digests,
 * and prefetches cache lines of the filter) and finishes (looks them up,
 * writes, and marks).
 */
#ifndef STREAM_WORKER_H
#define STREAM_WORKER_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "bits/hash.h"
#include "filter/batch.h"
#include "key/key.h"
#include "stream/lines.h"
#include "stream/pipeline.h"
#include "stream/run_plan.h"

struct worker {
	struct run *run;
	struct lines lines;     /* lines that are prepared; with --part
				 * (`numbers`), only those of this part */
	struct digest *digests; /* digests of their keys */
	uint32_t *numbers;      /* index of each of them among the lines that
				 * were split; NULL without --part */
	size_t passed;          /* lines of other parts among those that were
				 * split */
	uint64_t passed_bytes;
	int is_foreign;         /* is the next line of another part, with
				 * --strict-part? */
	struct batch *batch;
	const uint8_t **starts; /* starts of the batch's lines, a part of
				 * lines.starts */
	struct output_lines copies; /* copies of lines on their way to an
				     * output */
};

/* Does the run print the header of its input, if that has one? */
int worker_prints_header(const struct run *run);

/* Returns the job of `run`, which must live as long as the job is done. */
struct job worker_job(struct run *run);

/* Make digests of the lines that were split, and prefetch (prepare.c). */
void worker_prepare(struct worker *w);

/*
 * Write what the run prints of the batch's lines. *written becomes the number
 * of new lines to mark: if writing fails partway, those that were written, so
 * that they are not printed again.
 */
int worker_write(struct worker *w, size_t *written, struct error *error);

#endif
