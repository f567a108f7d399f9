/*
 * The job of a partition (pipeline.h). A worker prepares lines: their keys, and
 * the parts that these are in. In turn, each line is copied to its part's
 * buffer, or with its number to the one buffer of standard output. Full buffers
 * are written. So that nobody waits for a line, all are also written when input
 * pauses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "base/signals.h"
#include "stream/lines.h"
#include "stream/output.h"
#include "stream/pipeline.h"
#include "stream/run.h"

#define BATCH_LINES 8192
/* The keys of so many lines are made together. */
#define GROUP_LINES 64
/* All buffers together, and each of them. */
#define BUFFERS_BYTES ((size_t)32 * 1024 * 1024)
#define BUFFER_BYTES_MAX ((size_t)256 * 1024)

struct sink {
	struct output output;
	char *name;      /* the file's name; NULL: standard output */
	struct output_lines lines;
};

struct number {
	char text[OUTPUT_TEXT]; /* "4096\t" */
	size_t nbytes;
};

struct partition {
	const struct run_plan *plan;
	const struct key_recipe *recipe;
	struct inputs inputs;
	struct partition_figures *figures;
	struct sink *sinks;      /* one for each part, or one */
	size_t sink_count;
	struct number *numbers;  /* the parts' numbers, if there is one sink */
	struct reading reading;
};

/* One thread's lines. */
struct sorter {
	struct partition *partition;
	struct lines lines;
	uint16_t *parts;         /* each line's part, from 0 */
	size_t allowed;          /* the number of lines before the first that is
	                            refused */
	enum { REFUSED_NONE, REFUSED_KEY, REFUSED_NEWLINE } refused;
};

int
partition_check_pattern(const char *pattern, struct error *error)
{
	const char *first = strstr(pattern, "%d");

	if (first != NULL && strstr(first + 1, "%d") == NULL)
		return 0;
	return error_set(error, STATUS_USAGE, "--output=%s: the names of the"
	    " files need one %%d, where the number of the part goes, such as"
	    " 'part-%%d.txt'", pattern);
}

static char *
part_name(const char *pattern, size_t part)
{
	size_t before = (size_t)(strstr(pattern, "%d") - pattern);
	size_t nbytes = strlen(pattern) + 24;
	char *name = memory_or_die(malloc(nbytes));

	snprintf(name, nbytes, "%.*s%zu%s", (int)before, pattern, part,
	    pattern + before + 2);
	return name;
}

/* --- output */

static int
flush_all(struct partition *p, struct error *error)
{
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_flush(&p->sinks[i].output, &p->sinks[i].lines,
		    error) < 0)
			return -1;
	}
	return 0;
}

/* Open what is written to; old files are truncated once all are open. */
static int
open_sinks(struct partition *p, struct error *error)
{
	const struct run_plan *plan = p->plan;
	const struct lock_wait wait = { .notice = plan->notice };
	size_t room = BUFFERS_BYTES / p->sink_count;

	room = room < BUFFER_BYTES_MAX ? room : BUFFER_BYTES_MAX;
	for (size_t i = 0; i < p->sink_count; i++) {
		p->sinks[i].output = (struct output)OUTPUT_NONE;
		p->sinks[i].lines = (struct output_lines){ .room = room,
			.data = memory_or_die(malloc(room + OUTPUT_STEP)) };
		if (plan->output != NULL)
			p->sinks[i].name = part_name(plan->output, i + 1);
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_check(p->sinks[i].name, plan->atomic, &p->inputs,
		    NULL, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_open(&p->sinks[i].output, p->sinks[i].name,
		    plan->atomic ? OUTPUT_ATOMIC : OUTPUT_DIRECT, 0,
		    error) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_begin(&p->sinks[i].output, 1, &wait, error) < 0)
			return -1;
		output_append(&p->sinks[i].output, &p->inputs.format,
		    plan->notice);
		os_widen_pipe(p->sinks[i].output.fd);
	}
	return 0;
}

/* --- lines */

static void *
sorter_new(void *context, struct chunk *chunk, size_t room)
{
	struct partition *p = context;
	struct sorter *sorter = memory_or_die(calloc(1, sizeof *sorter));

	sorter->partition = p;
	lines_init(&sorter->lines, p->recipe, &p->inputs.format, chunk, room);
	sorter->parts = memory_or_die(malloc(room * sizeof *sorter->parts));
	return sorter;
}

static void
sorter_free(void *context)
{
	struct sorter *sorter = context;

	lines_free(&sorter->lines);
	free(sorter->parts);
	free(sorter);
}

/* Which of the lines comes first that may not be printed? */
static void
look_for_refused(struct sorter *sorter)
{
	const struct partition *p = sorter->partition;
	const struct lines *lines = &sorter->lines;
	size_t count = lines->count;

	sorter->allowed = count;
	sorter->refused = REFUSED_NONE;
	if (p->plan->strict_keys && lines->troubles != NULL) {
		sorter->allowed = key_first_refused(lines->troubles, count);
		if (sorter->allowed < count)
			sorter->refused = REFUSED_KEY;
	}
	/* Only files can hold records that have newlines in them. */
	if (!p->recipe->csv || p->recipe->zero_terminated ||
	    p->plan->output != NULL)
		return;
	for (size_t i = 0; i < count && i <= sorter->allowed; i++) {
		const uint8_t *start = lines->starts[i];

		if (memchr(start, '\n', (size_t)(lines->starts[i + 1] -
		    start - 1)) != NULL) {
			sorter->allowed = i;
			sorter->refused = REFUSED_NEWLINE;
			return;
		}
	}
}

/* Find the parts of the lines that were split. */
static void
find_parts(struct sorter *sorter)
{
	const unsigned parts = sorter->partition->plan->parts;
	struct key keys[GROUP_LINES];
	uint64_t hashes[GROUP_LINES];
	size_t n;

	for (size_t i = 0; i < sorter->lines.count; i += n) {
		n = sorter->lines.count - i;
		if (n > GROUP_LINES)
			n = GROUP_LINES;
		lines_keys(&sorter->lines, i, n, keys);
		hash_plain(keys, n, hashes);
		for (size_t j = 0; j < n; j++)
			sorter->parts[i + j] = (uint16_t)(part_of(hashes[j],
			    parts) - 1);
	}
	look_for_refused(sorter);
}

static void
partition_prepare(void *context, size_t limit)
{
	struct sorter *sorter = context;

	lines_first(&sorter->lines, limit);
	find_parts(sorter);
}

/* Copy the lines that may be printed to the buffers of their parts. */
static int
copy_lines(struct sorter *sorter, struct error *error)
{
	const struct partition *p = sorter->partition;
	const uint8_t *const *starts = sorter->lines.starts;

	for (size_t i = 0; i < sorter->allowed; i++) {
		const struct number *number = &p->numbers[sorter->parts[i]];
		struct output_record record = { 0 };
		struct sink *sink = p->sinks;

		if (p->sink_count > 1)
			sink += sorter->parts[i];
		record.line = starts[i];
		record.nbytes = (size_t)(starts[i + 1] - starts[i]);
		if (p->plan->output == NULL) {
			record.front = number->text;
			record.front_bytes = number->nbytes;
		}
		if (output_add_record(&sink->output, &sink->lines, &record,
		    error) < 0)
			return -1;
	}
	return 0;
}

static int
finish_prepared(struct sorter *sorter, struct error *error)
{
	struct partition *p = sorter->partition;
	struct key_position *position = &p->reading.position;
	const uint8_t *troubles = sorter->lines.troubles;

	if (lines_count_headers(&sorter->lines, &p->reading, &p->figures->keys,
	    p->plan->strict_keys, error) < 0)
		return -1;
	p->figures->keys.found |= sorter->lines.scratch.found;
	if (copy_lines(sorter, error) < 0)
		return -1;
	if (troubles != NULL)
		key_figures_count(&p->figures->keys, p->recipe, troubles,
		    sorter->lines.starts, NULL, sorter->allowed, *position);
	lines_notice_many(&p->figures->keys, p->recipe, p->plan->notice);
	position->number += sorter->allowed;
	p->figures->lines += sorter->allowed;
	switch (sorter->refused) {
	case REFUSED_NONE:
		break;
	case REFUSED_KEY:
		key_refuse(p->recipe, troubles[sorter->allowed], *position,
		    error);
		return -1;
	case REFUSED_NEWLINE:
		return error_set(error, STATUS_FAILED, "%s: record %" PRIu64
		    " has a newline in it: write each part to a file, with"
		    " -o 'part-%%d.csv'", position->file, position->number);
	}
	return 0;
}

/* A chunk's header: the first one goes to all files. */
static int
finish_header(struct sorter *sorter, struct error *error)
{
	struct partition *p = sorter->partition;
	const struct chunk *chunk = sorter->lines.chunk;
	int is_first;

	reading_begin(&p->reading, chunk);
	is_first = reading_header(&p->reading, p->recipe, chunk, error);
	for (size_t i = 0; is_first == 1 && i < p->sink_count; i++) {
		if (output_add(&p->sinks[i].output, &p->sinks[i].lines,
		    chunk->data, chunk->header_bytes, error) < 0)
			return -1;
	}
	return is_first < 0 ? -1 : 0;
}

static int
partition_finish(void *context, struct error *error)
{
	struct sorter *sorter = context;

	if (finish_header(sorter, error) < 0 || finish_prepared(sorter,
	    error) < 0)
		return -1;
	while (!signals_stop && lines_next(&sorter->lines, BATCH_LINES)) {
		find_parts(sorter);
		if (finish_prepared(sorter, error) < 0)
			return -1;
	}
	return 0;
}

static int
pause_partition(void *context, const struct input *input, struct error *error)
{
	struct partition *p = context;

	if (flush_all(p, error) < 0)
		return -1;
	lines_notice_at_rest(&p->figures->keys, p->recipe, input,
	    p->plan->notice);
	return 0;
}

/* All are complete and on the disk before one gets its name. */
static int
put_in_place(struct partition *p, struct error *error)
{
	const struct lock_wait wait = { .notice = p->plan->notice };

	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_secure(&p->sinks[i].output, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		struct output *out = &p->sinks[i].output;

		if (output_hold(out, &wait, error) < 0 ||
		    output_claim(out, wait.notice, error) < 0 ||
		    output_finish(out, error) < 0)
			return -1;
	}
	return 0;
}

static int
sort_lines(struct partition *p, struct error *error)
{
	const struct job job = { .context = p, .threads = p->plan->threads,
		.output = p->sinks[0].output.fd,
		.batch_lines = BATCH_LINES, .begin = sorter_new,
		.end = sorter_free, .prepare = partition_prepare,
		.finish = partition_finish, .pause = pause_partition,
		.notice = p->plan->notice };
	struct pipeline_done done;

	if (pipeline_run(&job, &p->inputs, &done, error) < 0) {
		/* Lines before the one that failed are written, if they can. */
		flush_all(p, error_ignored());
		return -1;
	}
	if (flush_all(p, error) < 0)
		return -1;
	if (lines_check_all(&p->figures->keys, p->recipe, p->figures->lines,
	    error) < 0)
		return -1;
	if (p->plan->atomic && !signals_stop && !done.input_failed &&
	    put_in_place(p, error) < 0)
		return -1;
	return done.input_failed ? STATUS_FAILED : STATUS_OK;
}

int
partition_run(const struct run_plan *plan, const struct key_recipe *recipe,
    struct partition_figures *figures, struct error *error)
{
	struct partition p = { .plan = plan, .recipe = recipe,
		.inputs = run_inputs(plan, recipe), .figures = figures,
		.sink_count = plan->output != NULL ? plan->parts : 1 };
	struct error second;
	int result;

	*figures = (struct partition_figures){ 0 };
	p.sinks = memory_or_die(calloc(p.sink_count, sizeof *p.sinks));
	p.numbers = memory_or_die(calloc(plan->parts, sizeof *p.numbers));
	for (size_t i = 0; i < plan->parts; i++)
		p.numbers[i].nbytes = (size_t)snprintf(p.numbers[i].text,
		    OUTPUT_TEXT, "%zu\t", i + 1);
	result = plan->output != NULL && recipe->header ?
	    reading_compare_headers(&p.inputs, error) : 0;
	if (result == 0)
		result = open_sinks(&p, error);
	if (result == 0)
		result = sort_lines(&p, error);
	for (size_t i = 0; i < p.sink_count; i++) {
		if (output_close(&p.sinks[i].output, &second) < 0 &&
		    result >= 0) {
			*error = second;
			result = -1;
		}
		free(p.sinks[i].name);
		free(p.sinks[i].lines.data);
	}
	free(p.sinks);
	free(p.numbers);
	reading_free(&p.reading);
	return result;
}
