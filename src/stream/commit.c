#include "stream/commit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/path.h"
#include "disk/journal.h"
#include "disk/redo.h"
#include "filter/deferred.h"

/* Are marks held back? Only if a promise needs it; in memory none does. */
static int
is_deferred(const struct run_plan *plan)
{
	return plan->filter != NULL && plan->remember &&
	    (plan->atomic || plan->use.sync);
}

/* --- before the first line */

/* --sync: make what was written so far safe. */
static int
sync_output(void *context, struct error *error)
{
	struct run *run = context;

	return output_sync(&run->output, error);
}

/* --atomic: text that is appended to an output in the end. */
static int
divert(void *context, unsigned number, const void *text, size_t nbytes,
    struct error *error)
{
	struct run *run = context;

	if (run->spool.fd >= 0)
		return journal_add_text(&run->spool, number, text, nbytes,
		    error);
	return deferred_add_text(run->filter, number, text, nbytes, error);
}

/* Text for this output is kept until the end. Returns whether it is. */
static int
hold_text(struct run *run, struct output *out, unsigned number)
{
	if (!out->is_redone)
		return 0;
	out->divert = divert;
	out->context = run;
	out->number = number;
	return 1;
}

/* --atomic without a filter: text is kept in a file without a name. */
static int
begin_spool(struct run *run, struct error *error)
{
	const int files[] = { hold_text(run, &run->output, 0),
		hold_text(run, &run->duplicates, 1) };
	const struct output *out = files[0] ? &run->output : &run->duplicates;

	if (!files[0] && !files[1])
		return 0;
	return journal_create_nameless(&run->spool, out->name, error);
}

/* Hold back the marks, and text for outputs that keep what they have. */
static int
defer(struct run *run, struct error *error)
{
	const struct deferred_promise promise = { .keep = sync_output,
		.context = run };
	const int files = hold_text(run, &run->output, 0) +
	    hold_text(run, &run->duplicates, 1);
	enum deferred_how how = DEFERRED_LIST;

	if (run->plan->atomic)
		how = files > 0 ? DEFERRED_TEXT : DEFERRED_JOURNAL;
	return deferred_begin(&run->filter, how, &promise, error);
}

int
commit_prepare(struct run *run, struct error *error)
{
	if (is_deferred(run->plan))
		return defer(run, error);
	return begin_spool(run, error);
}

/* --- after the last line */

/* The output comes last: a failure before it leaves the old file. */
static int
put_in_place(void *context, struct error *error)
{
	struct run *run = context;
	struct output *outputs[] = { &run->duplicates, &run->output };

	if (!run->plan->atomic && !run->plan->use.sync)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (output_secure(outputs[i], error) < 0)
			return -1;
	}
	for (int i = 0; i < 2; i++) {
		if (output_finish(outputs[i], error) < 0)
			return -1;
	}
	return 0;
}

/* For the journal: what becomes of this output? */
static int
describe_output(const struct output *out, struct journal_output *o,
    struct error *error)
{
	char *path = NULL;
	struct stat st;

	memset(o, 0, sizeof *o);
	if (out->fd < 0 || fstat(out->fd, &st) < 0)
		return 0;
	if (out->target != NULL)
		path = path_absolute(out->target);
	else if (out->is_redone && out->nbytes > 0)
		path = path_absolute(out->name);
	if (path == NULL)
		return 0;
	if (strlen(path) >= sizeof o->path) {
		free(path);
		return error_system(error, ENAMETOOLONG, out->name);
	}
	o->kind = out->is_redone ? JOURNAL_APPENDED : JOURNAL_REPLACED;
	o->device = st.st_dev;
	o->inode = st.st_ino;
	strcpy(o->path, path);
	free(path);
	return 0;
}

/* A run that is to be committed, and its outputs as the journal has them. */
struct commitment {
	struct run *run;
	struct journal_output outputs[JOURNAL_OUTPUTS];
};

/* The journal's text is appended to files as they are at this moment. */
static int
keep_outputs(void *context, struct error *error)
{
	struct commitment *c = context;
	struct output *outputs[JOURNAL_OUTPUTS] = { &c->run->output,
		&c->run->duplicates };

	if (put_in_place(c->run, error) < 0)
		return -1;
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct output *out = outputs[i];
		struct stat st;

		if (!out->is_redone)
			continue;
		if (append_end_torn(&out->append, error) < 0)
			return -1;
		if (fstat(out->fd, &st) < 0)
			return error_system(error, errno, out->name);
		c->outputs[i].length = (uint64_t)st.st_size;
		/* It would stand in the way of taking text back. */
		if (output_close(out, error) < 0)
			return -1;
	}
	return 0;
}

/* Without a filter, nobody could finish the append if it stops halfway. */
static int
append_spool(struct commitment *c, struct error *error)
{
	struct run *run = c->run;

	if (keep_outputs(c, error) < 0)
		return -1;
	memcpy(run->spool.outputs, c->outputs, sizeof c->outputs);
	switch (redo_apply(&run->spool, 0, &run->plan->use.wait, error)) {
	case REDO_DONE:
		return 0;
	case REDO_DISCARDED:
		return -1;
	case REDO_UNFINISHED:
		break;
	}
	return error_set(error, error->status, "%s; what was added stays",
	    error->text);
}

int
commit_run(struct run *run, struct error *error)
{
	struct commitment c = { .run = run };
	const struct deferred_promise promise = { .keep = keep_outputs,
		.context = &c, .outputs = c.outputs,
		.wait = &run->plan->use.wait };

	if (!is_deferred(run->plan) && run->spool.fd < 0)
		return put_in_place(run, error);
	/*
	 * Each of these makes room in filter and journal first: a full disk is
	 * an error in time.
	 */
	if (describe_output(&run->output, &c.outputs[0], error) < 0 ||
	    describe_output(&run->duplicates, &c.outputs[1], error) < 0)
		return -1;
	if (run->spool.fd >= 0)
		return append_spool(&c, error);
	return deferred_commit(run->filter, &promise, error);
}
