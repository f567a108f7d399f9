#include "filter/deferred.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/path.h"
#include "bits/sizing.h"
#include "disk/journal.h"
#include "disk/redo.h"
#include "filter/filter.h"
#include "layers/layers.h"
#include "model/operations.h"

/* 6 MiB of digests: what the program may use besides the filter. */
#define LIST_DIGESTS (384 * 1024)

struct deferred {
	/* stands in front of the filter to be marked, or read */
	struct filter filter;
	struct filter *pending;
	uint64_t count;         /* digests held */
	int journaled;          /* the journal holds them, not the list */
	struct journal journal;
	/* the journal is complete, so it is closed, and not removed */
	int journal_stays;
	struct digest *list;    /* NULL with a journal */
	struct deferred_promise promise;
};

static const struct filter_operations operations, previewing;

static struct deferred *
deferred_of(struct filter *filter)
{
	return (struct deferred *)(void *)filter;
}

/* An empty pending filter: of one layer, or a growing one. */
static int
make_pending(struct deferred *d, uint64_t capacity, enum growth growth,
    struct error *error)
{
	const struct header *h = filter_header(d->filter.under);
	const struct filter_use use = FILTER_WRITE;
	double rate = SIZING_PENDING_SHARE * h->error_rate;
	double first = rate; /* error rate of the first layer of `pending` */
	struct filter_design design = { .capacity = capacity,
		.error_rate = rate, .growth = growth, .hash = &h->hash };

	filter_close(d->pending, error);
	d->pending = NULL;
	if (growth == GROWTH_GROW)
		first = sizing_layer_rate(rate, 0, 0);
	if (sizing_layer(&design.geometry, capacity, first, first, 0,
	    error) < 0)
		return -1;
	return layers_create(&d->pending, NULL, 0, &design, &use, error);
}

static struct deferred *
new_deferred(struct filter *under, const struct filter_operations *kind)
{
	struct deferred *d = memory_or_die(calloc(1, sizeof *d));

	d->filter = (struct filter){ .operations = kind, .under = under,
		.bottom = under->bottom };
	d->journal = (struct journal)JOURNAL_NONE;
	return d;
}

/*
 * Discard what is held; the filter below stays open. A journal that can't be
 * removed was never complete, so that nothing comes of it.
 */
static void
release(struct deferred *d)
{
	if (d->journal_stays)
		journal_close(&d->journal);
	else
		journal_remove(&d->journal, error_ignored());
	filter_release(d->pending);
	free(d->list);
	free(d);
}

int
deferred_begin(struct filter **filter, enum deferred_how how,
    const struct deferred_promise *promise, struct error *error)
{
	const int journaled = how != DEFERRED_LIST;
	struct deferred *d = new_deferred(*filter, &operations);
	const char *path = filter_path(*filter);
	int result;

	d->journaled = journaled;
	d->promise = *promise;
	if (journaled)
		result = make_pending(d, SIZING_CAPACITY_DEFAULT, GROWTH_GROW,
		    error);
	else
		result = make_pending(d, LIST_DIGESTS, GROWTH_FAIL, error);
	/* In either case, a file's name is synced to the disk. */
	if (result == 0 && journaled)
		result = journal_create(&d->journal, path,
		    filter_header(*filter)->id, how == DEFERRED_OUTPUTS, error);
	else if (result == 0 && path != NULL)
		result = path_sync_directory(path, error);
	if (result < 0) {
		release(d);
		return -1;
	}
	if (!journaled)
		d->list = memory_or_die(malloc(LIST_DIGESTS *
		    sizeof *d->list));
	d->filter.under->held = journaled;
	*filter = &d->filter;
	return 0;
}

int
deferred_add_text(struct filter *filter, unsigned output, int is_header,
    const void *text, size_t nbytes, struct error *error)
{
	return journal_add_text(&deferred_of(filter)->journal, output,
	    is_header, text, nbytes, error);
}

static int
deferred_close(struct filter *filter, struct error *error)
{
	struct filter *under = filter->under;

	release(deferred_of(filter));
	return filter_close(under, error);
}

static int
deferred_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct deferred *d = deferred_of(filter);

	if (filter->under->operations->probe(filter->under, digests, n, found,
	    error) < 0)
		return -1;
	filter_prefetch(d->pending, digests, n);
	return d->pending->operations->probe(d->pending, digests, n, found,
	    error);
}

/* Which of the journal's digests go into which layer: the first with room. */
static size_t
make_spans(const struct deferred *d, struct journal_span *spans)
{
	uint64_t left = d->count;
	size_t count = 0;

	for (unsigned i = 0; left > 0; i++) {
		uint64_t room = table_layer_room(
		    filter_table(d->filter.under), i,
		    filter_growth(d->filter.under));
		uint64_t n = left < room ? left : room;

		if (n > 0)
			spans[count++] = (struct journal_span){ i, n };
		left -= n;
	}
	return count;
}

/*
 * The run is committed: give the outputs their names and their text. If that
 * fails, the journal stays only if the next run can finish it.
 */
static int
finish_outputs(struct deferred *d, const struct deferred_promise *promise,
    struct error *error)
{
	if (promise->name(promise->context, error) < 0) {
		/* It counts if the main output has its name all the same. */
		d->journal_stays = journal_is_in_place(&d->journal);
		return -1;
	}
	switch (redo_first(&d->journal, promise->fds, promise->notice, error)) {
	case REDO_DONE:
		return journal_done(&d->journal, error);
	case REDO_DISCARDED:
		/* If it cannot be removed, the next run discards it again. */
		if (journal_remove(&d->journal, error_ignored()) == 0)
			d->journal_stays = 0;
		return -1;
	case REDO_UNFINISHED:
		break;
	}
	return error_set(error, error->status, "%s; the next run of the filter"
	    " adds what is missing there", error->text);
}

/* After the promise was kept: commit the journal, and do what it says. */
static int
commit_journal(struct deferred *d, const struct deferred_promise *promise,
    struct error *error)
{
	struct journal_span spans[TABLE_LAYERS_MAX];

	if (promise->outputs != NULL)
		memcpy(d->journal.outputs, promise->outputs,
		    JOURNAL_OUTPUTS * sizeof *promise->outputs);
	if (journal_commit(&d->journal, spans, make_spans(d, spans),
	    error) < 0)
		return -1;
	d->journal_stays = 1;
	if (d->journal.has_outputs &&
	    finish_outputs(d, promise, error) < 0)
		return -1;
	return layers_mark_journal(d->filter.under, &d->journal, error);
}

int
deferred_commit(struct filter *filter, const struct deferred_promise *promise,
    struct error *error)
{
	struct deferred *d = deferred_of(filter);
	struct filter *under = filter->under;
	uint64_t room;

	if (d->journaled && promise->outputs != NULL)
		memcpy(d->journal.outputs, promise->outputs,
		    JOURNAL_OUTPUTS * sizeof *promise->outputs);
	/* New layers are on the disk before a journal can name them. */
	if (filter_reserve(under, d->count, &room, error) != ROOM_ENOUGH ||
	    filter_sync(under, error) < 0 ||
	    (d->journaled && journal_prepare(&d->journal, error) < 0) ||
	    (d->journaled && layers_check_link(under, error) < 0) ||
	    promise->keep(promise->context, error) < 0)
		return -1;
	if (d->journaled) {
		if (commit_journal(d, promise, error) < 0)
			return -1;
	} else if (filter_mark(under, d->list, (size_t)d->count, error) < 0) {
		return -1;
	}
	d->count = 0;
	if (filter_sync(under, error) < 0)
		return -1;
	d->journal_stays = 0;
	if (!d->journaled)
		return 0;
	return journal_remove(&d->journal, error);
}

/* Mark what is in the list, where there is no journal. */
static int
mark_list(struct deferred *d, struct error *error)
{
	if (deferred_commit(&d->filter, &d->promise, error) < 0)
		return -1;
	return make_pending(d, LIST_DIGESTS, GROWTH_FAIL, error);
}

/*
 * Room in the pending filter for `wanted` lines, which have room in the one
 * below; `below` says whether that has room for all that were asked for.
 */
static enum room
reserve_pending(struct deferred *d, enum room below, uint64_t wanted,
    uint64_t *room, struct error *error)
{
	struct error second; /* `error` may say why there is less room below */
	enum room answer = filter_reserve(d->pending, wanted, room, &second);

	if (answer == ROOM_ENOUGH)
		return below;
	*error = second;
	return answer;
}

static enum room
deferred_reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	struct deferred *d = deferred_of(filter);
	enum room below;
	uint64_t left;

	/*
	 * With a journal, a filter that may grow does so at the end, when the
	 * number of lines is known. Otherwise, lines that go out now must have
	 * room already.
	 */
	if (d->journaled && filter_growth(d->filter.under) != GROWTH_FAIL)
		return reserve_pending(d, ROOM_ENOUGH, wanted, room, error);
	below = filter_reserve(d->filter.under, d->count + wanted, &left,
	    error);
	/* What is held fills a generation: mark it, so that it ends. */
	if (below == ROOM_AGAIN && left <= d->count && d->count > 0)
		return mark_list(d, error) < 0 ? ROOM_SHORT : ROOM_AGAIN;
	left = left > d->count ? left - d->count : 0;
	return reserve_pending(d, below, wanted < left ? wanted : left, room,
	    error);
}

static int
deferred_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct deferred *d = deferred_of(filter);

	if (d->journaled) {
		if (journal_add(&d->journal, digests, n, error) < 0)
			return -1;
	} else if (d->list != NULL) {
		memcpy(d->list + d->count, digests, n * sizeof *digests);
	}
	d->count += n;
	if (filter_mark(d->pending, digests, n, error) < 0)
		return -1;
	/* There must always be room for another batch. */
	if (d->list != NULL && d->count > LIST_DIGESTS - LAYERS_BATCH_LINES)
		return mark_list(d, error);
	return 0;
}

/* Tell the user what was done for an earlier run. */
static void
tell_recovery(const struct filter *filter, const struct journal *journal,
    void (*notice)(const char *text))
{
	const struct journal_output *o = &journal->outputs[0];
	const char *to = o->kind == JOURNAL_NO_OUTPUT ? "" : " to ";
	char number[NUMBER_TEXT];

	if (journal->count == 0)
		return;
	error_notify(notice, "%s: finishing an earlier run: %s lines that it"
	    " printed%s%s are now remembered", filter_name(filter),
	    number_format_count(number, journal->count), to, o->path);
}

/*
 * An output of a run that is finished now: the file that has its name, if it is
 * the same by its inode; the number of its device may be another one since the
 * system has started anew. A file that was moved is known by both.
 */
static struct finished_output
find_finished(const struct journal_output *o)
{
	struct finished_output finished = {
		.exists = o->kind != JOURNAL_NO_OUTPUT,
		.device = o->device, .inode = o->inode };
	struct stat st;

	if (finished.exists && stat(o->path, &st) == 0 &&
	    st.st_ino == o->inode)
		finished.device = st.st_dev;
	return finished;
}

/*
 * Append what the outputs lack, unless the journal says that they have it all,
 * and let it say so.
 */
static enum redo
finish_text(struct journal *journal, const struct lock_wait *wait,
    struct error *error)
{
	enum redo result;

	if (!journal->has_outputs || journal->is_done)
		return REDO_DONE;
	if (journal_check_trust(journal, error) < 0 ||
	    journal_reopen(journal, error) < 0)
		return REDO_UNFINISHED;
	result = redo_again(journal, wait, error);
	if (result == REDO_DONE && journal_done(journal, error) < 0)
		return REDO_UNFINISHED;
	return result;
}

/*
 * The run of this journal had succeeded: append what its outputs lack, and mark
 * what it holds.
 */
static int
recover(struct filter *filter, struct journal *journal,
    const struct lock_wait *wait, struct error *error)
{
	/* Now, before an output gets lines that could not be remembered. */
	if (layers_check_journal(filter, journal, error) < 0) {
		journal_close(journal);
		return -1;
	}
	switch (finish_text(journal, wait, error)) {
	case REDO_DONE:
		break;
	case REDO_DISCARDED:
		/* If it cannot be removed, the next run discards it again. */
		journal_remove(journal, error_ignored());
		return -1;
	case REDO_UNFINISHED:
		journal_close(journal);
		return -1;
	}
	if (layers_recover(filter, journal, error) < 0) {
		journal_close(journal);
		return -1;
	}
	tell_recovery(filter, journal, wait->notice);
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++)
		filter->finished[i] = find_finished(&journal->outputs[i]);
	return journal_remove(journal, error);
}

int
deferred_recover(struct filter *filter, const struct lock_wait *wait,
    struct error *error)
{
	struct journal journal;

	switch (journal_open(&journal, filter_path(filter),
	    filter_header(filter)->id, error)) {
	case JOURNAL_FAILED:
		return -1;
	case JOURNAL_ABSENT:
		return 0;
	case JOURNAL_UNFINISHED:
		break;
	case JOURNAL_COMPLETE:
		return recover(filter, &journal, wait, error);
	}
	return journal_remove(&journal, error);
}

/*
 * A journal_visit: hold the lines that the filter doesn't have, unless the
 * generation of their layer is over.
 */
static int
hold_unknown(void *context, unsigned layer, const struct digest *digests,
    size_t n, struct error *error)
{
	struct deferred *d = context;
	struct digest unknown[JOURNAL_PIECE];
	uint8_t found[JOURNAL_PIECE];
	size_t count = 0;

	if (layer < layers_forgotten(d->filter.under))
		return 0;
	if (filter_probe(d->filter.under, digests, n, found, error) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		unknown[count] = digests[i];
		count += !found[i];
	}
	filter_prefetch(d->pending, unknown, count);
	return filter_mark(d->pending, unknown, count, error);
}

int
deferred_read(struct filter **filter, struct error *error)
{
	struct deferred *d = new_deferred(*filter, &operations);
	enum journal_state state = journal_open(&d->journal,
	    filter_path(*filter), filter_header(*filter)->id, error);

	d->journal_stays = 1;
	if (state != JOURNAL_COMPLETE) {
		release(d);
		return state == JOURNAL_FAILED ? -1 : 0;
	}
	if (make_pending(d, d->journal.count + 1, GROWTH_FAIL, error) < 0 ||
	    journal_each(&d->journal, hold_unknown, d, error) < 0) {
		release(d);
		return -1;
	}
	d->filter.waiting = filter_table(d->pending)->layers[0].lines;
	*filter = &d->filter;
	return 0;
}

/* What is forgotten needs no room in the filter below. */
static enum room
deferred_reserve_preview(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	return reserve_pending(deferred_of(filter), ROOM_ENOUGH, wanted, room,
	    error);
}

int
deferred_preview(struct filter **filter, struct error *error)
{
	struct deferred *d = new_deferred(*filter, &previewing);

	if (make_pending(d, SIZING_CAPACITY_DEFAULT, GROWTH_GROW, error) < 0) {
		release(d);
		return -1;
	}
	*filter = &d->filter;
	return 0;
}

static const struct filter_operations operations = {
	.probe = deferred_probe,
	.reserve = deferred_reserve,
	.mark = deferred_mark,
	.close = deferred_close
};

static const struct filter_operations previewing = {
	.probe = deferred_probe,
	.reserve = deferred_reserve_preview,
	.mark = deferred_mark,
	.close = deferred_close
};
