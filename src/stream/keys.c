/*
 * The job of printing keys (pipeline.h). A worker prepares lines: it makes
 * their keys. In turn, the keys are copied to one buffer, which is written when
 * it is full, and when input pauses, so that nobody waits for a key.
 */
#include "stream/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/signals.h"
#include "stream/lines.h"
#include "stream/output.h"
#include "stream/pipeline.h"
#include "stream/run.h"

#define BATCH_LINES 8192
#define BUFFER_BYTES ((size_t)256 * 1024)

struct printing {
	const struct run_plan *plan;
	const struct key_recipe *recipe;
	struct inputs inputs;
	struct keys_figures *figures;
	struct output output;
	struct output_lines buffer;
	struct reading reading;
};

/* One thread's lines. */
struct maker {
	struct printing *printing;
	struct lines lines;
	struct key *keys;
};

static void *
maker_new(void *context, struct chunk *chunk, size_t room)
{
	struct printing *p = context;
	struct maker *m = memory_or_die(calloc(1, sizeof *m));

	m->printing = p;
	lines_init(&m->lines, p->recipe, &p->inputs.format, chunk, room);
	m->keys = memory_or_die(malloc(room * sizeof *m->keys));
	return m;
}

static void
maker_free(void *maker)
{
	struct maker *m = maker;

	lines_free(&m->lines);
	free(m->keys);
	free(m);
}

static void
keys_prepare(void *maker, size_t limit)
{
	struct maker *m = maker;

	lines_first(&m->lines, limit);
	lines_keys(&m->lines, 0, m->lines.count, m->keys);
}

/* Print the keys of the lines that were split, up to one that is refused. */
static int
print_keys(struct maker *m, struct error *error)
{
	struct printing *p = m->printing;
	const char end[OUTPUT_TEXT] = { (char)p->inputs.format.csv.terminator };
	const uint8_t *troubles = m->lines.troubles;
	struct key_position *position = &p->reading.position;
	const size_t count = m->lines.count;
	size_t allowed = count;

	if (lines_count_headers(&m->lines, &p->reading, &p->figures->keys,
	    p->plan->strict_keys, error) < 0)
		return -1;
	if (p->plan->strict_keys && troubles != NULL)
		allowed = key_first_refused(troubles, count);
	for (size_t i = 0; i < allowed; i++) {
		const struct key *key = &m->keys[i];

		const struct output_record record = { .line = key->data,
			.nbytes = key->nbytes, .back = end, .back_bytes = 1 };

		if (output_add_record(&p->output, &p->buffer, &record,
		    error) < 0)
			return -1;
		if (memchr(key->data, end[0], key->nbytes) != NULL &&
		    p->figures->several++ == 0)
			p->figures->first = (struct key_position){
				position->file, position->number + i };
	}
	if (troubles != NULL)
		key_figures_count(&p->figures->keys, p->recipe, troubles,
		    m->lines.starts, NULL, allowed, *position);
	lines_notice_many(&p->figures->keys, p->recipe, p->plan->notice);
	p->figures->keys.found |= m->lines.scratch.found;
	p->figures->lines += allowed;
	position->number += allowed;
	if (allowed < count) {
		key_refuse(p->recipe, troubles[allowed], *position, error);
		return -1;
	}
	return 0;
}

static int
keys_finish(void *maker, struct error *error)
{
	struct maker *m = maker;

	reading_begin(&m->printing->reading, m->lines.chunk);
	if (print_keys(m, error) < 0)
		return -1;
	while (!signals_stop && lines_next(&m->lines, BATCH_LINES)) {
		lines_keys(&m->lines, 0, m->lines.count, m->keys);
		if (print_keys(m, error) < 0)
			return -1;
	}
	return 0;
}

static int
pause_printing(void *context, const struct input *input, struct error *error)
{
	struct printing *p = context;

	if (output_flush(&p->output, &p->buffer, error) < 0)
		return -1;
	lines_notice_at_rest(&p->figures->keys, p->recipe, input,
	    p->plan->notice);
	return 0;
}

static int
print_all(struct printing *p, struct error *error)
{
	struct job job = { .context = p, .threads = p->plan->threads,
		.batch_lines = BATCH_LINES, .begin = maker_new,
		.end = maker_free, .prepare = keys_prepare,
		.finish = keys_finish, .pause = pause_printing,
		.notice = p->plan->notice };
	struct record_format format = p->inputs.format;
	struct pipeline_done done;

	if (output_check(NULL, 0, &p->inputs, NULL, error) < 0 ||
	    output_open(&p->output, NULL, 0, 0, error) < 0)
		return -1;
	/* The output has lines, also where the input has records of CSV. */
	format.is_csv = 0;
	output_append(&p->output, &format, p->plan->notice);
	os_widen_pipe(p->output.fd);
	job.output = p->output.fd;
	if (pipeline_run(&job, &p->inputs, &done, error) < 0) {
		/*
		 * The keys before the line that failed are printed
		 * nevertheless.
		 */
		output_flush(&p->output, &p->buffer, error_ignored());
		return -1;
	}
	if (output_flush(&p->output, &p->buffer, error) < 0)
		return -1;
	if (lines_check_all(&p->figures->keys, p->recipe, p->figures->lines,
	    error) < 0)
		return -1;
	return done.input_failed ? STATUS_FAILED : STATUS_OK;
}

int
keys_print(const struct run_plan *plan, const struct key_recipe *recipe,
    struct keys_figures *figures, struct error *error)
{
	struct printing p = { .plan = plan, .recipe = recipe,
		.inputs = run_inputs(plan, recipe), .figures = figures,
		.output = OUTPUT_NONE, .buffer = { .room = BUFFER_BYTES } };
	struct error second;
	int result;

	*figures = (struct keys_figures){ 0 };
	p.buffer.data = memory_or_die(malloc(BUFFER_BYTES + OUTPUT_STEP));
	result = print_all(&p, error);
	if (output_close(&p.output, &second) < 0 && result >= 0) {
		*error = second;
		result = -1;
	}
	free(p.buffer.data);
	reading_free(&p.reading);
	return result;
}
