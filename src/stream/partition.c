/*
 * Each chunk of the input is split into lines, a group of lines gets its keys
 * and their parts, and each line is copied to its part's buffer, or with its
 * number to the one buffer of standard output. Full buffers are written. So
 * that nobody waits for a line, all are also written when input pauses.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/signals.h"
#include "stream/input.h"
#include "stream/output.h"
#include "stream/run.h"

#define CHUNK_BYTES (256 * 1024)
#define CHUNK_LINES 8192
#define GROUP_LINES 64
/* All buffers together, and each of them. */
#define BUFFERS_BYTES ((size_t)32 * 1024 * 1024)
#define BUFFER_BYTES_MAX ((size_t)256 * 1024)

struct sink {
	struct output output;
	char *name;      /* of the file; NULL: standard output */
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
	struct input *input;
	struct chunk chunk;
	const uint8_t **starts;
	struct key_scratch scratch;
	struct sink *sinks;      /* one for each part, or one */
	size_t sink_count;
	struct number *numbers;  /* of each part; if there is one sink */
	struct key_place place;  /* of the next line */
	int header_written;
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
name_of(const char *pattern, size_t part)
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
	size_t room = BUFFERS_BYTES / p->sink_count;

	room = room < BUFFER_BYTES_MAX ? room : BUFFER_BYTES_MAX;
	for (size_t i = 0; i < p->sink_count; i++) {
		p->sinks[i].output = (struct output)OUTPUT_NONE;
		p->sinks[i].lines = (struct output_lines){ .room = room,
			.data = memory_or_die(malloc(room + OUTPUT_STEP)) };
		if (plan->output != NULL)
			p->sinks[i].name = name_of(plan->output, i + 1);
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_check(p->sinks[i].name, plan->atomic, &p->inputs,
		    NULL, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_open(&p->sinks[i].output, p->sinks[i].name,
		    plan->atomic, 0, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_begin(&p->sinks[i].output, error) < 0)
			return -1;
		io_widen_pipe(p->sinks[i].output.fd);
	}
	return 0;
}

/* --- lines */

/* The key of line i of a group, in place of the line. */
static int
take_key(struct partition *p, struct key *line, size_t i, struct error *error)
{
	const struct key_place place = { p->place.file, p->place.number + i };
	uint8_t *troubles = &p->scratch.troubles;

	*line = key_take(p->recipe, line->data, line->nbytes, &p->scratch);
	if (*troubles == 0)
		return 0;
	if (p->plan->strict_keys && key_first_refused(troubles, 1) == 0) {
		key_refuse(p->recipe, *troubles, place, error);
		return -1;
	}
	key_figures_count(&p->figures->keys, troubles, NULL, 1, place);
	return 0;
}

/* Lines `first` to first + n of those that were split. */
static int
do_group(struct partition *p, size_t first, size_t n, struct error *error)
{
	const int to_files = p->plan->output != NULL;
	const int has_steps = p->scratch.step_count > 0;
	/* Only files can hold records that have newlines in them. */
	const int is_searched = p->recipe->csv && !to_files &&
	    !p->recipe->zero_terminated;
	const uint8_t *const *starts = p->starts + first;
	struct key keys[GROUP_LINES];
	uint64_t hashes[GROUP_LINES];
	size_t taken = 0;
	int result = 0;

	p->scratch.used = 0;
	for (; taken < n; taken++) {
		struct key *key = &keys[taken];

		*key = (struct key){ starts[taken],
			(size_t)(starts[taken + 1] - starts[taken] - 1) };
		if (is_searched &&
		    memchr(key->data, '\n', key->nbytes) != NULL) {
			result = error_set(error, STATUS_FAILED, "%s: record %"
			    PRIu64 " has a newline in it: write each part to a"
			    " file, with -o 'part-%%d.csv'", p->place.file,
			    p->place.number + taken);
			break;
		}
		if (has_steps && take_key(p, key, taken, error) < 0) {
			result = -1;
			break;
		}
	}
	p->figures->keys.found |= p->scratch.found;
	hash_plain(keys, taken, hashes);
	/* Lines before one that is refused are written. */
	for (size_t i = 0; i < taken; i++) {
		size_t part = part_of(hashes[i], p->plan->parts) - 1;
		struct sink *sink = p->sinks;

		if (to_files)
			sink += part;
		else if (output_add_text(&sink->output, &sink->lines,
		    p->numbers[part].text, p->numbers[part].nbytes, error) < 0)
			return -1;
		if (output_add(&sink->output, &sink->lines, starts[i],
		    (size_t)(starts[i + 1] - starts[i]), error) < 0)
			return -1;
	}
	p->place.number += taken;
	p->figures->lines += taken;
	return result;
}

static int
do_chunk(struct partition *p, struct error *error)
{
	const struct chunk *chunk = &p->chunk;
	const uint8_t *at = chunk->data + chunk->header_bytes;
	const uint8_t *end = chunk->data + chunk->nbytes;

	if (chunk->begins)
		p->place = (struct key_place){ chunk->file, 1 };
	if (chunk->header_bytes > 0) {
		p->place.number++;
		for (size_t i = 0; !p->header_written && i < p->sink_count;
		    i++) {
			if (output_add(&p->sinks[i].output, &p->sinks[i].lines,
			    chunk->data, chunk->header_bytes, error) < 0)
				return -1;
		}
		p->header_written = 1;
	}
	while (at < end && !signals_stop) {
		size_t count = record_split(&p->inputs.format, at, end,
		    p->starts, CHUNK_LINES), n;

		key_scratch_reset(&p->scratch, p->recipe,
		    (size_t)(p->starts[count] - at));
		for (size_t i = 0; i < count; i += n) {
			n = count - i < GROUP_LINES ? count - i : GROUP_LINES;
			if (do_group(p, i, n, error) < 0)
				return -1;
		}
		at = p->starts[count];
	}
	return 0;
}

static int
do_lines(struct partition *p, struct error *error)
{
	while (!signals_stop) {
		if (input_pauses(p->input, 0) && flush_all(p, error) < 0)
			return -1;
		if (!input_next(p->input, &p->chunk, CHUNK_BYTES))
			break;
		if (do_chunk(p, error) < 0) {
			flush_all(p, &(struct error){ 0 });
			return -1;
		}
	}
	if (flush_all(p, error) < 0)
		return -1;
	if (signals_stop || !p->plan->atomic || input_failed(p->input))
		return 0;
	/* All are complete and on the disk before one gets its name. */
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_secure(&p->sinks[i].output, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < p->sink_count; i++) {
		if (output_finish(&p->sinks[i].output, error) < 0)
			return -1;
	}
	return 0;
}

static void
report(void *context, const char *text)
{
	struct partition *p = context;

	p->plan->notice(text);
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
	p.inputs.report = report;
	p.inputs.context = &p;
	p.input = input_new(&p.inputs);
	p.starts = memory_or_die(malloc((CHUNK_LINES + 1) *
	    sizeof *p.starts));
	p.scratch.columns = &p.chunk.columns;
	p.sinks = memory_or_die(calloc(p.sink_count, sizeof *p.sinks));
	p.numbers = memory_or_die(calloc(plan->parts, sizeof *p.numbers));
	for (size_t i = 0; i < plan->parts; i++)
		p.numbers[i].nbytes = (size_t)snprintf(p.numbers[i].text,
		    OUTPUT_TEXT, "%zu\t", i + 1);
	result = open_sinks(&p, error);
	if (result == 0)
		result = do_lines(&p, error);
	if (result == 0 && input_failed(p.input))
		result = STATUS_FAILED;
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
	input_free(p.input);
	chunk_free(&p.chunk);
	key_scratch_free(&p.scratch);
	free(p.starts);
	return result;
}
