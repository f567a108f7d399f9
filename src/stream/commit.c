#include "stream/commit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/path.h"
#include "disk/append.h"
#include "disk/journal.h"
#include "disk/output_lock.h"
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

/* With --sync, bring to the disk what was written so far. */
static int
sync_output(void *context, struct error *error)
{
	struct run *run = context;

	if (output_sync(&run->tee, error) < 0)
		return -1;
	return output_sync(&run->output, error);
}

/* With --atomic, put text aside that is appended to an output in the end. */
static int
divert(void *context, const struct output *out, const void *text,
    size_t nbytes, struct error *error)
{
	struct run *run = context;

	if (run->spool.fd >= 0)
		return journal_add_text(&run->spool, out->number,
		    out->is_header, text, nbytes, error);
	return deferred_add_text(run->filter, out->number, out->is_header, text,
	    nbytes, error);
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

/*
 * With --atomic, but without a filter (and so without --tee), keep text in a
 * file without a name.
 */
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
	int files = hold_text(run, &run->output, 0) +
	    hold_text(run, &run->duplicates, 1) +
	    hold_text(run, &run->tee, 2);
	enum deferred_how how = DEFERRED_LIST;

	files += run->output.target != NULL;
	files += run->duplicates.target != NULL;
	if (run->plan->atomic)
		how = files > 0 ? DEFERRED_OUTPUTS : DEFERRED_JOURNAL;
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

/* A run that is to be committed, and its outputs as the journal has them. */
struct commitment {
	struct run *run;
	struct output *of_run[JOURNAL_OUTPUTS];
	struct journal_output outputs[JOURNAL_OUTPUTS];
	int fds[JOURNAL_OUTPUTS];
};

static void
begin_commitment(struct commitment *c, struct run *run)
{
	*c = (struct commitment){ .run = run, .of_run = { &run->output,
		&run->duplicates, &run->tee } };
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		const struct output *out = c->of_run[i];
		struct journal_output *o = &c->outputs[i];

		c->fds[i] = -1;
		if (out->target != NULL)
			o->kind = JOURNAL_REPLACED;
		else if (out->is_redone && out->nbytes > 0)
			o->kind = JOURNAL_APPENDED;
		else
			continue;
		o->format = out->append.format;
		strcpy(o->path, out->path);
	}
}

/* Describe the output's file, as it is now, for the journal. */
static int
describe_output(const struct output *out, struct journal_output *o,
    struct error *error)
{
	struct stat st;

	if (fstat(out->fd, &st) < 0)
		return error_system(error, errno, out->name);
	o->device = st.st_dev;
	o->inode = st.st_ino;
	o->length = (uint64_t)st.st_size;
	o->changed = os_changed(&st);
	return 0;
}

/* A file that is appended to, and wasn't there, is made before the commit. */
static int
make_missing(struct commitment *c, unsigned i, struct error *error)
{
	struct output *out = c->of_run[i];

	if (out->fd >= 0)
		return 0;
	out->fd = open(out->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC |
	    O_NOCTTY | O_NONBLOCK, 0666);
	if (out->fd < 0)
		return error_system(error, errno, out->name);
	return path_sync_directory(out->path, error);
}

/* Does its name still lead to the file, so that the text will be found? */
static int
check_output_name(const struct output *out, struct error *error)
{
	struct stat st, named;

	if (fstat(out->fd, &st) < 0)
		return error_system(error, errno, out->name);
	if (stat(out->path, &named) < 0) {
		if (errno != ENOENT)
			return error_system(error, errno, out->name);
		return redo_gone(out->name, error);
	}
	if (S_ISREG(st.st_mode) && path_same_file(&st, &named))
		return 0;
	return redo_gone(out->name, error);
}

/*
 * From now on until it is closed, no other run of ours appends to this file,
 * and its end is where the text goes.
 */
static int
reserve_end(struct commitment *c, unsigned i, struct error *error)
{
	const struct run_plan *plan = c->run->plan;
	struct output *out = c->of_run[i];
	const struct record_format format = out->append.format;
	int locked = output_lock_alone(out->fd, OUTPUT_TURN, out->name,
	    &plan->use.wait, error);

	if (locked < 0 || check_output_name(out, error) < 0)
		return -1;
	if (locked > 0)
		output_lock_lacking(OUTPUT_TURN, out->name, plan->notice);
	append_begin(&out->append, out->fd, out->name, &format, plan->notice);
	/*
	 * The journal must not name a length that a power failure takes back:
	 * the file would count as shortened, and the lines be discarded.
	 */
	if (append_end_torn(&out->append, error) < 0 ||
	    output_sync(out, error) < 0)
		return -1;
	c->fds[i] = out->fd;
	if (describe_output(out, &c->outputs[i], error) < 0)
		return -1;
	/* Others may have written since: the text is looked for from here. */
	c->outputs[i].length = out->append.scanned;
	return 0;
}

/* Does the lock of `a` come before that of `b`, in every run? */
static int
comes_first(const struct output *a, const struct output *b)
{
	struct stat x, y;

	if (fstat(a->fd, &x) < 0 || fstat(b->fd, &y) < 0)
		return 0;
	return x.st_dev != y.st_dev ? x.st_dev < y.st_dev :
	    x.st_ino < y.st_ino;
}

/*
 * The numbers of the outputs that are appended to, in the order in which all
 * runs lock their files. Returns how many they are.
 */
static unsigned
order_ends(const struct commitment *c, unsigned numbers[JOURNAL_OUTPUTS])
{
	unsigned count = 0;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		unsigned at = count;

		if (!c->of_run[i]->is_redone)
			continue;
		for (; at > 0 && comes_first(c->of_run[i],
		    c->of_run[numbers[at - 1]]); at--)
			numbers[at] = numbers[at - 1];
		numbers[at] = i;
		count++;
	}
	return count;
}

static int
reserve_ends(struct commitment *c, struct error *error)
{
	unsigned numbers[JOURNAL_OUTPUTS], count;

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		if (c->of_run[i]->is_redone && make_missing(c, i, error) < 0)
			return -1;
	}
	count = order_ends(c, numbers);
	for (unsigned i = 0; i < count; i++) {
		if (reserve_end(c, numbers[i], error) < 0)
			return -1;
	}
	return 0;
}

/*
 * All that can fail is done before the commit: what was written is on the disk,
 * and files that are appended to have a known end.
 */
static int
keep_outputs(void *context, struct error *error)
{
	struct commitment *c = context;

	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		struct output *out = c->of_run[i];

		if (output_secure(out, error) < 0 ||
		    output_hold(out, &c->run->plan->use.wait, error) < 0)
			return -1;
		if (out->target != NULL &&
		    describe_output(out, &c->outputs[i], error) < 0)
			return -1;
	}
	return reserve_ends(c, error);
}

/* The output comes last: a failure before it leaves the old file. */
static int
name_outputs(void *context, struct error *error)
{
	struct commitment *c = context;

	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		if (output_claim(c->of_run[i], c->run->plan->notice,
		    error) < 0)
			return -1;
	}
	for (unsigned i = JOURNAL_OUTPUTS; i-- > 0;) {
		if (output_finish(c->of_run[i], error) < 0)
			return -1;
	}
	return 0;
}

/* Without a filter, nobody could finish the append if it stops halfway. */
static int
append_spool(struct commitment *c, struct error *error)
{
	struct run *run = c->run;

	if (keep_outputs(c, error) < 0 || name_outputs(c, error) < 0)
		return -1;
	memcpy(run->spool.outputs, c->outputs, JOURNAL_OUTPUTS *
	    sizeof *c->outputs);
	switch (redo_first(&run->spool, c->fds, run->plan->notice, error)) {
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
	static struct commitment c; /* too large for a small stack */
	const struct deferred_promise promise = { .keep = keep_outputs,
		.name = name_outputs, .context = &c, .outputs = c.outputs,
		.fds = c.fds, .notice = run->plan->notice };

	begin_commitment(&c, run);
	if (run->spool.fd >= 0)
		return append_spool(&c, error);
	/*
	 * It makes room in filter and journal first: a full disk is an error in
	 * time.
	 */
	if (is_deferred(run->plan))
		return deferred_commit(run->filter, &promise, error);
	if (!run->plan->atomic && !run->plan->use.sync)
		return 0;
	return keep_outputs(&c, error) < 0 ? -1 : name_outputs(&c, error);
}
