#include "run.h"

#include <string.h>

#include "report.h"
#include "signals.h"
#include "worker.h"

/* Without -j as many as there are processors, but not very many. */
static unsigned
thread_count(const struct options *o)
{
	const unsigned most = 8;
	unsigned processors = worker_processors();

	if (o->threads > 0)
		return o->threads;
	return processors < most ? processors : most;
}

struct input_plan
run_inputs(const struct options *o, const struct key_recipe *recipe)
{
	static char dash[] = "-", *standard_input[] = { dash };
	struct input_plan plan = { .paths = standard_input, .count = 1,
		.terminator = recipe->zero_terminated ? '\0' : '\n',
		.csv = recipe->csv, .separator = (uint8_t)recipe->separator,
		.gunzip = o->gunzip, .threads = thread_count(o),
		.report = report_notice, .interrupted = report_interrupted };

	if (o->operand_count > 0) {
		plan.paths = o->operands;
		plan.count = o->operand_count;
	}
	return plan;
}

static int
check_duplicates(const struct options *o, struct error *error)
{
	if (!output_is_same(o->output, o->duplicates))
		return 0;
	return error_set(error, STATUS_USAGE, "%s: --duplicates must be"
	    " another file than the output", o->duplicates);
}

int
run_check_outputs(const struct options *o, const struct input_plan *inputs,
    enum pipeline_print print, struct error *error)
{
	int prints = print != PRINT_NOTHING && !o->quiet &&
	    o->to_command == NULL;

	if (prints &&
	    output_check(o->output, o->atomic, inputs, o->filter, error) < 0)
		return -1;
	if (prints && o->sync && output_check_sync(o->output, error) < 0)
		return -1;
	if (o->duplicates == NULL)
		return 0;
	if (prints && check_duplicates(o, error) < 0)
		return -1;
	return output_check(o->duplicates, o->atomic, inputs, o->filter,
	    error);
}

/* Where the lines go: a file, standard output, or a command. */
static int
open_output(struct run *run, const struct input_plan *inputs,
    struct error *error)
{
	const struct options *o = run->options;
	struct output *out = &run->output;

	if (o->to_command != NULL) {
		if (child_start(&run->child, o->to_command, error) < 0)
			return -1;
		*out = (struct output){ .fd = run->child.fd,
			.name = "--to-command" };
		return 0;
	}
	if (output_open(out, o->output, o->atomic, inputs, o->filter,
	    error) < 0)
		return -1;
	if (o->sync && output_sync_name(out, error) < 0)
		return -1;
	return 0;
}

/* Open what is written to; old files are cut off only when all is well. */
static int
open_outputs(struct run *run, const struct input_plan *inputs,
    struct error *error)
{
	const struct options *o = run->options;
	struct pipeline *p = &run->pipeline;

	if (p->print != PRINT_NOTHING && open_output(run, inputs, error) < 0)
		return -1;
	if (o->duplicates != NULL) {
		p->duplicates = &run->duplicates;
		if (output_open(p->duplicates, o->duplicates, o->atomic,
		    inputs, o->filter, error) < 0)
			return -1;
		/* Both are there now, where names differ only in case, too. */
		if (run->output.fd >= 0 && o->to_command == NULL &&
		    check_duplicates(o, error) < 0)
			return -1;
	}
	if (output_begin(&run->output, error) < 0 ||
	    output_begin(&run->duplicates, error) < 0)
		return -1;
	if (o->filter == NULL || !p->remember || p->print == PRINT_NOTHING)
		return 0;
	return output_mend(&run->output, inputs->terminator, report_notice,
	    error);
}

/* Marks are held back where a promise needs it; in memory none does. */
static int
start_hold(struct run *run, struct error *error)
{
	const struct options *o = run->options;
	struct pipeline *p = &run->pipeline;
	int result = 0;

	if (o->filter == NULL)
		return 0;
	if (!p->remember)
		result = hold_read(&run->hold, &run->filter, error);
	else if (o->atomic || o->sync)
		result = hold_start(&run->hold, &run->filter, o->atomic,
		    error) < 0 ? -1 : 1;
	if (result > 0)
		p->hold = &run->hold;
	return result < 0 ? -1 : 0;
}

/* Keep the first error in `error`, print a later one that says more. */
static void
join_errors(int *result, int later, struct error *error,
    const struct error *second)
{
	if (later >= 0)
		return;
	if (*result == 0)
		*error = *second;
	else if (strcmp(error->text, second->text) != 0)
		report_notice(second->text);
	*result = -1;
}

/* The command has read all there is and ended well, or the run has not. */
static int
finish_child(struct run *run, int result, struct error *error)
{
	struct error second;
	int broken = result < 0 && strncmp(error->text, run->output.name,
	    strlen(run->output.name)) == 0;

	run->output.fd = -1;
	if (child_finish(&run->child, broken && !signals_stop, &second) == 0)
		return result;
	/* A pipe that broke is explained by how the command ended. */
	if (broken)
		*error = second;
	else
		join_errors(&result, -1, error, &second);
	return -1;
}

/* The new lines last: what fails before leaves the old file. */
static int
put_in_place(struct run *run, struct error *error)
{
	struct output *outputs[] = { &run->duplicates, &run->output };

	for (int i = 0; i < 2; i++) {
		if (outputs[i]->fd >= 0 &&
		    output_settle(outputs[i], error) < 0)
			return -1;
	}
	for (int i = 0; i < 2; i++) {
		if (outputs[i]->fd >= 0 &&
		    output_finish(outputs[i], error) < 0)
			return -1;
	}
	return 0;
}

/*
 * The run ended well: outputs in place, then the marks that were held. Room in
 * filter and journal comes first, so that a full disk is an error in time.
 */
static int
commit(struct run *run, struct error *error)
{
	struct hold *hold = run->pipeline.hold;
	int write = hold != NULL && run->pipeline.remember;

	if (write && hold_prepare(hold, error) < 0)
		return -1;
	if ((run->options->atomic || run->options->sync) &&
	    put_in_place(run, error) < 0)
		return -1;
	return write ? hold_apply(hold, error) : 0;
}

/* Does the run count as failed though its pipeline came to the end? */
static int
failed_input(const struct run *run)
{
	return input_failed(run->pipeline.input) || signals_stop;
}

static int
stream(struct run *run, const struct input_plan *inputs, struct error *error)
{
	const struct options *o = run->options;
	struct pipeline *p = &run->pipeline;
	int result = open_outputs(run, inputs, error);

	run->output.interrupted = report_interrupted;
	if (run->output.fd >= 0)
		store_widen_pipe(run->output.fd);
	if (result == 0)
		result = start_hold(run, error);
	if (result == 0) {
		report_begin(o, p, o->progress ? input_total(inputs) : 0);
		p->input = input_new(inputs);
		result = pipeline_run(p, error);
	}
	if (run->child.pid > 0)
		result = finish_child(run, result, error);
	/* --sync keeps what went out before a file was missing. */
	if (o->atomic && (result < 0 || failed_input(run)))
		return result;
	if (result < 0) {
		/* --sync: what went out before it failed is remembered. */
		struct error second;
		join_errors(&result, o->sync ? commit(run, &second) : 0,
		    error, &second);
		return result;
	}
	result = commit(run, error);
	if (result == 0 && o->atomic)
		signals_too_late();
	return result;
}

static void
close_outputs(struct run *run, int *result, struct error *error)
{
	struct error second;

	join_errors(result, output_close(&run->output, &second), error,
	    &second);
	join_errors(result, output_close(&run->duplicates, &second), error,
	    &second);
}

int
run_lines(struct run *run, struct error *error)
{
	struct input_plan inputs = run_inputs(run->options, &run->recipe);
	struct pipeline *p = &run->pipeline;
	struct error second;
	int result, failed = 0;

	run->output = run->duplicates = (struct output)OUTPUT_NONE;
	run->hold = (struct hold)HOLD_NONE;
	p->filter = &run->filter;
	inputs.team = p->team = run->filter.team = team_new(inputs.threads);
	p->recipe = &run->recipe;
	p->output = &run->output;
	p->watch = report_watch;
	if (run->options->quiet)
		p->print = PRINT_NOTHING;
	result = stream(run, &inputs, error);
	close_outputs(run, &result, error);
	if (p->input != NULL) {
		failed = input_failed(p->input);
		if (!signals_stop && p->remember)
			report_filter_warnings();
		report_stats();
		report_end();
	}
	hold_end(&run->hold);
	join_errors(&result, filter_close(&run->filter, &second), error,
	    &second);
	input_free(p->input);
	p->input = NULL;
	team_free(p->team);
	return result < 0 ? -1 : failed ? STATUS_FAILED : STATUS_OK;
}
