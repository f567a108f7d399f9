#include "stream/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "base/os.h"
#include "base/path.h"
#include "base/signals.h"
#include "disk/journal.h"
#include "filter/early.h"
#include "filter/filter.h"
#include "stream/commit.h"
#include "stream/contents.h"
#include "stream/worker.h"

struct inputs
run_inputs(const struct run_plan *plan, const struct key_recipe *recipe)
{
	static char dash[] = "-", *standard_input[] = { dash };
	struct inputs inputs = plan->input;

	inputs.format = key_record_format(recipe);
	inputs.format.max_bytes = plan->input.format.max_bytes;
	inputs.header = recipe->header ? recipe : NULL;
	if (inputs.paths == NULL) {
		inputs.paths = standard_input;
		inputs.count = 1;
	}
	return inputs;
}

/* Does the run write lines to a file or to standard output? */
static int
has_output(const struct run_plan *plan)
{
	return plan->print != PRINT_NOTHING && plan->to_command == NULL;
}

/* Return the path of --duplicates, or NULL for standard output. */
static const char *
duplicates_path(const struct run_plan *plan)
{
	return strcmp(plan->duplicates, "-") == 0 ? NULL : plan->duplicates;
}

/*
 * With --atomic, a run adds to all of its outputs or replaces them all
 * (disk/journal.h); --tee adds.
 */
static int
adds(const struct run_plan *plan)
{
	return plan->append || (plan->atomic && plan->tee != NULL);
}

/* Standard output is an input. If it is empty, most likely by `<list >list`. */
static void
explain_empty(const struct stat *st, struct error *error)
{
	const int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (st->st_size == 0 && flags >= 0 && !(flags & O_APPEND))
		error_set(error, error->status, "%s, and is empty now: the"
		    " shell empties a file behind > before it starts the"
		    " command", error->text);
}

/*
 * The output was refused. If that is because it is an input, a run without a
 * filter can do what was meant: replace the file by its distinct lines.
 */
static int
advise_atomic(const struct run_plan *plan, const struct inputs *inputs,
    struct error *error)
{
	struct stat st;

	if (path_stat(plan->output, STDOUT_FILENO, &st) < 0 ||
	    input_same_file(inputs, &st) == NULL)
		return -1;
	if (plan->output == NULL)
		explain_empty(&st, error);
	if (plan->filter != NULL || plan->append || plan->atomic ||
	    plan->print == PRINT_KEYS || plan->print == PRINT_SEEN)
		return -1;
	if (plan->output == NULL)
		return error_set(error, error->status, "%s; --atomic -o FILE"
		    " FILE replaces a file by its distinct lines",
		    error->text);
	return error_set(error, error->status, "%s; --atomic -o %s %s replaces"
	    " it by its distinct lines", error->text, plan->output,
	    plan->output);
}

/* Refuse outputs that are inputs, or belong to the filter. */
static int
check_places(const struct run_plan *plan, int atomic,
    const struct inputs *inputs, struct error *error)
{
	if (has_output(plan) && output_check(plan->output, atomic, inputs,
	    plan->filter, error) < 0)
		return advise_atomic(plan, inputs, error);
	if (plan->duplicates == NULL || output_check(duplicates_path(plan),
	    atomic, inputs, plan->filter, error) == 0)
		return 0;
	return error_set(error, error->status, "--duplicates: %s",
	    error->text);
}

/* The file of --tee, which is none of the others. */
static int
check_tee(const struct run_plan *plan, const struct inputs *inputs,
    struct error *error)
{
	const char *other = NULL;

	if (strcmp(plan->tee, "-") == 0)
		return error_set(error, STATUS_USAGE, "--tee=- is standard"
		    " output, where the lines are printed: name a file");
	if (plan->atomic && plan->overwrite)
		return error_set(error, STATUS_USAGE, "--atomic with --tee adds"
		    " to all outputs, and cannot be combined with"
		    " --overwrite");
	if (output_check(plan->tee, 0, inputs, plan->filter, error) < 0)
		return error_prefix(error, "--tee");
	if (has_output(plan) && output_is_same(plan->output, plan->tee))
		other = "the output";
	else if (plan->duplicates != NULL &&
	    output_is_same(duplicates_path(plan), plan->tee))
		other = "that of --duplicates";
	if (other != NULL)
		return error_set(error, STATUS_USAGE, "%s: --tee must be a"
		    " different file from %s", plan->tee, other);
	return plan->use.sync ? output_check_sync(plan->tee, error) : 0;
}

int
run_check_outputs(const struct run_plan *plan,
    const struct inputs *inputs, struct error *error)
{
	/* It would be read while it grows, or have all of its lines twice. */
	const int may_be_input = plan->atomic && !adds(plan);
	const char *copies;

	if (check_places(plan, may_be_input, inputs, error) < 0)
		return -1;
	if (plan->tee != NULL && check_tee(plan, inputs, error) < 0)
		return -1;
	if (!has_output(plan))
		return 0;
	if (plan->use.sync && output_check_sync(plan->output, error) < 0)
		return -1;
	if (plan->duplicates == NULL)
		return 0;
	copies = duplicates_path(plan);
	if (copies == NULL && plan->output == NULL) {
		return error_set(error, STATUS_USAGE, "--duplicates=- is"
		    " standard output, where the lines go: name a file with"
		    " --duplicates or --output");
	}
	if (!output_is_same(plan->output, copies))
		return 0;
	return error_set(error, STATUS_USAGE, "%s: --duplicates must be a"
	    " different file from the output", plan->duplicates);
}

/*
 * Open an output. If the filter was opened by finishing a run that had put this
 * very file in place, it has the only copy of lines that are now remembered: it
 * is continued, even if it was to be replaced.
 */
static int
open_output(struct run *run, struct output *out, const char *path, int append,
    struct error *error)
{
	const struct run_plan *plan = run->plan;
	enum output_how how = OUTPUT_DIRECT;
	struct stat st;

	if (plan->atomic)
		how = OUTPUT_ATOMIC;
	if (!append && path != NULL && stat(path, &st) == 0 &&
	    filter_finished_output(run->filter, &st)) {
		append = 1;
		error_notify(plan->notice, "%s: the earlier run's lines stay"
		    " there, and this run adds to them", path);
	}
	if (output_open(out, path, how, append, error) < 0)
		return -1;
	return plan->use.sync || plan->atomic ?
	    output_sync_name(out, error) : 0;
}

/*
 * --to-command: start `sh -c COMMAND`, with default signal handling, which
 * reads our lines from a pipe. From then on SIGPIPE is ignored here, so that a
 * child that stops reading is an error that can be reported.
 */
static int
start_child(struct run *run, struct error *error)
{
	int ends[2];

	/* If our parent ignored SIGCHLD, waitpid couldn't get a status. */
	signal(SIGCHLD, SIG_DFL);
	if (os_pipe(ends, 0) < 0)
		return error_system(error, errno, "--to-command");
	run->child = fork();
	if (run->child == 0) {
		signal(SIGPIPE, SIG_DFL);
		signal(SIGXFSZ, SIG_DFL);
		/* With it open, the end of its input would never come. */
		close(ends[1]);
		if (dup2(ends[0], STDIN_FILENO) == STDIN_FILENO)
			execl("/bin/sh", "sh", "-c", run->plan->to_command,
			    (char *)NULL);
		_exit(127);
	}
	if (run->child < 0) {
		error_system(error, errno, "--to-command");
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[0]);
	run->output = (struct output){ .fd = ends[1],
		.name = "--to-command" };
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* The filter's file, if no other run uses it meanwhile; else NULL. */
static const char *
own_file(const struct run *run)
{
	if (run->plan->use.wait.shared || !run->plan->use.writable)
		return NULL;
	return filter_path(run->filter);
}

/*
 * Cut off what an earlier run of this filter has left torn, in whichever file.
 * Before outputs are opened, since a file can be cut only if nobody else has it
 * open; standard output is open already.
 */
static int
settle_notes(struct run *run, struct error *error)
{
	const int opened[] = { STDOUT_FILENO };
	const char *path = own_file(run);
	struct note note;
	int found;

	if (path == NULL)
		return 0;
	found = notes_read(path, filter_header(run->filter)->id, &note, error);
	if (found != 1)
		return found;
	if (append_settle(&note, opened, 1, run->plan->notice,
	    &run->settled.whole))
		notes_discard(path);
	run->settled.inode = note.file.inode;
	note_free(&note);
	return 0;
}

/* Note what is written to these outputs, unless others use the filter, too. */
static void
begin_notes(struct run *run, struct output *const outputs[], unsigned count)
{
	const char *path = own_file(run);
	struct notes_file files[NOTES_FILES] = { { 0 } };
	unsigned n = 0;

	if (path == NULL || !run->plan->remember)
		return;
	for (unsigned i = 0; i < count; i++) {
		struct append *a = &outputs[i]->append;

		/* What goes to the journal first is whole there. */
		if (a->fd < 0 || outputs[i]->is_redone ||
		    append_describe(a, &files[n]) < 0)
			continue;
		a->notes = &run->notes;
		a->number = n++;
	}
	/* Without notes, what a kill tears is not cut off, but gets an end. */
	if (n > 0)
		notes_begin(&run->notes, path, filter_header(run->filter)->id,
		    files, n, error_ignored());
	for (unsigned i = 0; i < n; i++)
		free(files[i].path);
}

/* A mark in front of a record of CSV makes it a line, and so is its key. */
static int
prints_lines(const struct run_plan *plan)
{
	return plan->print == PRINT_MARKED || plan->print == PRINT_KEYS;
}

/* Let outputs that are files be kept whole. */
static void
append_to_outputs(struct run *run)
{
	struct output *const outputs[] = { &run->output, &run->duplicates,
		&run->tee };
	const unsigned count = sizeof outputs / sizeof *outputs;
	struct record_format format = run->inputs->format;

	for (unsigned i = 0; i < count; i++) {
		format.is_csv = run->inputs->format.is_csv &&
		    !(i == 0 && prints_lines(run->plan));
		output_append(outputs[i], &format, run->plan->notice);
		if (outputs[i]->append.fd >= 0)
			append_expect(&outputs[i]->append, run->settled.inode,
			    run->settled.whole);
	}
	begin_notes(run, outputs, count);
}

/* Open the output of the lines: a file, a command or standard output. */
static int
open_line_output(struct run *run, struct error *error)
{
	const struct run_plan *plan = run->plan;

	if (plan->print == PRINT_NOTHING)
		return 0;
	if (plan->to_command != NULL)
		return start_child(run, error);
	return open_output(run, &run->output, plan->output, adds(plan),
	    error);
}

/* Open the outputs; truncate old files only after all are open. */
static int
open_outputs(struct run *run, const struct inputs *inputs,
    struct error *error)
{
	const struct run_plan *plan = run->plan;

	if (worker_prints_header(run) && inputs->count > 1 &&
	    reading_compare_headers(inputs, error) < 0)
		return -1;
	/* With --part, lines of other parts would be lost with an input. */
	if (run->recipe.parts > 0 &&
	    check_places(plan, 0, inputs, error) < 0)
		return -1;
	if (contents_check(plan, inputs, run->filter, error) < 0)
		return -1;
	if (settle_notes(run, error) < 0)
		return -1;
	if (open_line_output(run, error) < 0)
		return -1;
	if (plan->duplicates != NULL && open_output(run, &run->duplicates,
	    duplicates_path(plan), adds(plan), error) < 0)
		return -1;
	if (plan->tee != NULL && open_output(run, &run->tee, plan->tee, 1,
	    error) < 0)
		return -1;
	if (output_begin(&run->output, contents_may_go(plan), &plan->use.wait,
	    error) < 0 || output_begin(&run->duplicates, 1, &plan->use.wait,
	    error) < 0 || output_begin(&run->tee, 0, &plan->use.wait,
	    error) < 0)
		return -1;
	append_to_outputs(run);
	return 0;
}

/* Keep the first error in `error`, print a later one that says more. */
static void
join_errors(const struct run *run, int *result, int later,
    struct error *error, const struct error *second)
{
	if (later >= 0)
		return;
	if (*result == 0)
		*error = *second;
	else if (!second->repeated)
		run->plan->notice(second->text);
	*result = -1;
}

/* Did the command exit with 0, and leave nothing unread? */
static int
judge(int status, int unread, struct error *error)
{
	if (WIFSIGNALED(status))
		return error_set(error, 128 + WTERMSIG(status), "--to-command:"
		    " the command was killed by signal %d (%s); nothing is"
		    " remembered", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		return error_set(error, WEXITSTATUS(status), "--to-command:"
		    " the command failed with exit status %d; nothing is"
		    " remembered", WEXITSTATUS(status));
	if (unread) {
		return error_set(error, STATUS_FAILED, "--to-command: the"
		    " command ended before it had read everything; nothing is"
		    " remembered");
	}
	return 0;
}

/*
 * Close the child's input, and wait until it exits. The run fails unless it has
 * read everything and exits with 0; its exit status (128 + n for signal n)
 * becomes ours.
 */
static int
finish_child(struct run *run, int result, struct error *error)
{
	const int broken = run->output.failed;
	struct error second;
	int status, reader, left = 0, failed = 0;
	pid_t ended;

	/*
	 * What the child left unread is still in the pipe after it exits: a
	 * second read end, opened now, keeps it there to be counted.
	 */
	reader = os_reopen(run->output.fd, O_RDONLY | O_NONBLOCK);
	output_close(&run->output, &second);
	do {
		ended = waitpid(run->child, &status, 0);
	} while (ended < 0 && errno == EINTR);
	if (ended < 0)
		failed = error_system(&second, errno, "--to-command");
	if (reader >= 0) {
		ioctl(reader, FIONREAD, &left);
		close(reader);
	}
	if (failed == 0)
		failed = judge(status, (broken && !signals_stop) || left > 0,
		    &second);
	if (failed == 0)
		return result;
	/* The status of the command explains why its pipe was broken. */
	if (broken)
		*error = second;
	else
		join_errors(run, &result, -1, error, &second);
	return -1;
}

/* Take all lines from the input to the output. */
static int
pipe_lines(struct run *run, struct error *error)
{
	const struct job job = worker_job(run);
	struct pipeline_done done;
	int result;

	run->began = 1;
	if (run->plan->enlarges)
		early_begin(&run->filter);
	result = pipeline_run(&job, run->inputs, &done, error);
	run->input_failed = done.input_failed;
	run->threads = done.threads;
	reading_free(&run->reading);
	if (result < 0)
		return -1;
	return lines_check_all(&run->keys, &run->recipe, run->lines_read,
	    error);
}

/* Open the outputs, and hold back what is not to be there before the end. */
static int
prepare_run(struct run *run, struct error *error)
{
	if (open_outputs(run, run->inputs, error) < 0)
		return -1;
	return commit_prepare(run, error);
}

/* Remember what the run has done, as far as its plan and its result allow. */
static int
finish_run(struct run *run, int result, struct error *error)
{
	const struct run_plan *plan = run->plan;
	struct error second;

	if (plan->atomic && (result < 0 || run->input_failed || signals_stop))
		return result;
	if (result == 0) {
		result = commit_run(run, error);
		if (result == 0 && plan->atomic)
			signals_too_late();
		return result;
	}
	/* Lines that were written before the failure are remembered. */
	if (plan->use.sync && run->began)
		join_errors(run, &result, commit_run(run, &second), error,
		    &second);
	return result;
}

static int
stream(struct run *run, struct error *error)
{
	const struct run_plan *plan = run->plan;
	int result = prepare_run(run, error);

	if (result == 0) {
		/*
		 * With a filter the pipe stays small: if its reader exits, the
		 * lines left in it are remembered and were never read.
		 */
		if (run->output.fd >= 0 && plan->filter == NULL)
			os_widen_pipe(run->output.fd);
		plan->report(run, MOMENT_BEGINS);
		result = pipe_lines(run, error);
	}
	if (run->child > 0)
		result = finish_child(run, result, error);
	return finish_run(run, result, error);
}

int
run_lines(struct run *run, const struct run_plan *plan, struct filter *filter,
    const struct key_recipe *recipe, struct error *error)
{
	struct inputs inputs = run_inputs(plan, recipe);
	struct error second;
	int result, is_torn;

	*run = (struct run){ .plan = plan, .filter = filter,
		.recipe = *recipe, .inputs = &inputs, .output = OUTPUT_NONE,
		.duplicates = OUTPUT_NONE, .tee = OUTPUT_NONE,
		.notes = NOTES_NONE,
		.spool = JOURNAL_NONE,
		.settled.whole = APPEND_UNKNOWN };
	result = stream(run, error);
	is_torn = run->output.append.is_torn ||
	    run->duplicates.append.is_torn || run->tee.append.is_torn;
	join_errors(run, &result, output_close(&run->output, &second), error,
	    &second);
	join_errors(run, &result, output_close(&run->duplicates, &second),
	    error, &second);
	join_errors(run, &result, output_close(&run->tee, &second), error,
	    &second);
	journal_close(&run->spool);
	notes_end(&run->notes, is_torn);
	if (run->began)
		plan->report(run, MOMENT_ENDS);
	join_errors(run, &result, filter_close(run->filter, &second), error,
	    &second);
	run->filter = NULL;
	run->inputs = NULL;
	if (result < 0)
		return -1;
	return run->input_failed ? STATUS_FAILED : STATUS_OK;
}
