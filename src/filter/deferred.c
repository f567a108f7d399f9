#include "filter/deferred.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/path.h"
#include "bits/sizing.h"
#include "disk/journal.h"
#include "model/operations.h"
#include "filter/filter.h"
#include "layers/layers.h"

/* 6 MiB of digests: what the program may use besides the filter. */
#define LIST_DIGESTS (384 * 1024)
/* The pending filter's first capacity with a journal; doubled when full. */
#define PENDING_LINES (64 * 1024)
#define PIECE 4096

struct deferred {
	struct filter filter;   /* on top of the one to be marked */
	struct filter *pending;
	int reading;            /* nothing is marked: a journal is read */
	int journaled;
	struct journal journal; /* if journaled; else the list */
	struct digest *list;
	size_t listed;
	uint64_t count;         /* digests held */
	int committed;          /* the journal is to be applied */
	struct deferred_promise promise;
};

static const struct filter_operations operations;

static struct deferred *
deferred_of(struct filter *filter)
{
	return (struct deferred *)(void *)filter;
}

static const struct deferred *
const_deferred_of(const struct filter *filter)
{
	return (const struct deferred *)(const void *)filter;
}

/* An empty pending filter, of one layer. */
static int
make_pending(struct deferred *d, uint64_t capacity, struct error *error)
{
	const struct header *h = filter_header(d->filter.under);
	const struct filter_use use = FILTER_WRITE;
	double rate = SIZING_PENDING_SHARE * h->error_rate;
	struct filter_design plan = { .capacity = capacity, .error_rate = rate,
		.growth = GROWTH_FAIL, .hash = &h->hash };

	filter_close(d->pending, error);
	d->pending = NULL;
	if (sizing_layer(&plan.geometry, plan.capacity, rate, rate, 0,
	    error) < 0)
		return -1;
	return layers_create(&d->pending, NULL, 0, &plan, &use, error);
}

static uint64_t
first_capacity(const struct deferred *d)
{
	return d->journaled ? PENDING_LINES : LIST_DIGESTS;
}

static int
mark_pending(void *context, const struct digest *digests, size_t n,
    struct error *error)
{
	struct filter *pending = context;

	filter_prefetch(pending, digests, n);
	return filter_mark(pending, digests, n, error);
}

/*
 * A pending filter twice as large, filled from the journal. Adding a layer
 * would cost more: each line would be looked up in all of them.
 */
static int
enlarge_pending(struct deferred *d, struct error *error)
{
	if (make_pending(d, 2 * filter_header(d->pending)->capacity,
	    error) < 0)
		return -1;
	return journal_replay(&d->journal, mark_pending, d->pending, error);
}

static struct deferred *
new_deferred(struct filter *under)
{
	struct deferred *d = memory_or_die(calloc(1, sizeof *d));

	d->filter = (struct filter){ .operations = &operations,
		.under = under };
	d->journal = (struct journal)JOURNAL_NONE;
	return d;
}

/* Discard what is held; the filter below stays open. */
static void
release(struct deferred *d)
{
	struct error ignored;

	if (d->committed)
		journal_close(&d->journal);
	else
		journal_remove(&d->journal, &ignored);
	filter_close(d->pending, &ignored);
	free(d->list);
	free(d);
}

/* In either case, a file's name is synced to the disk. */
static int
begin_holding(struct deferred *d, struct error *error)
{
	const char *path = filter_path(d->filter.under);

	if (d->journaled)
		return journal_create(&d->journal, path,
		    filter_header(d->filter.under)->id, error);
	d->list = memory_or_die(malloc(LIST_DIGESTS * sizeof *d->list));
	return path == NULL ? 0 : path_sync_folder(path, error);
}

int
deferred_begin(struct filter **filter, int journaled,
    const struct deferred_promise *promise, struct error *error)
{
	struct deferred *d = new_deferred(*filter);

	d->journaled = journaled;
	d->promise = *promise;
	if (make_pending(d, first_capacity(d), error) < 0 ||
	    begin_holding(d, error) < 0) {
		release(d);
		return -1;
	}
	if (journaled)
		layers_hold(d->filter.under);
	*filter = &d->filter;
	return 0;
}

static int
close_deferred(struct filter *filter, struct error *error)
{
	struct filter *under = filter->under;

	release(deferred_of(filter));
	return filter_close(under, error);
}

static int
probe(struct filter *filter, const struct digest *digests, size_t n,
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

/* Set the bits of the journal's digests in the layers that it names. */
static int
apply_journal(struct filter *filter, struct journal *journal,
    struct error *error)
{
	struct digest *digests =
	    memory_or_die(malloc(PIECE * sizeof *digests));
	int result = journal_rewind(journal, error);

	for (size_t i = 0; result == 0 && i < journal->span_count; i++) {
		uint64_t left = journal->spans[i].count;
		unsigned layer = journal->spans[i].layer;

		if (layer >= filter_table(filter)->count) {
			result = error_set(error, STATUS_FAILED, "%s: names a"
			    " layer that the filter doesn't have",
			    journal->path);
			break;
		}
		while (result == 0 && left > 0) {
			size_t got, n = left < PIECE ? (size_t)left : PIECE;

			result = journal_read(journal, digests, n, &got,
			    error);
			if (result == 0 && got < n)
				result = error_set(error, STATUS_FAILED,
				    "%s: ends too early", journal->path);
			if (result == 0)
				result = filter_mark_layer(filter, layer,
				    digests, n, error);
			left -= n;
		}
	}
	free(digests);
	return result;
}

/* Which of the journal's digests go into which layer: the first with room. */
static size_t
make_spans(const struct deferred *d, struct journal_span *spans)
{
	uint64_t left = d->count;
	size_t count = 0;

	for (unsigned i = 0; left > 0; i++) {
		uint64_t room = filter_layer_room(d->filter.under, i);
		uint64_t n = left < room ? left : room;

		if (n > 0)
			spans[count++] = (struct journal_span){ i, n };
		left -= n;
	}
	return count;
}

static int
apply(struct deferred *d, struct error *error)
{
	struct journal_span spans[FORMAT_LAYERS_MAX];

	if (d->journaled) {
		size_t count = make_spans(d, spans);

		if (journal_commit(&d->journal, spans, count, error) < 0)
			return -1;
		d->committed = 1;
		if (apply_journal(d->filter.under, &d->journal, error) < 0)
			return -1;
	} else if (filter_mark(d->filter.under, d->list, d->listed,
	    error) < 0) {
		return -1;
	}
	d->count = d->listed = 0;
	if (filter_sync(d->filter.under, error) < 0)
		return -1;
	d->committed = 0;
	return d->journaled ? journal_remove(&d->journal, error) : 0;
}

int
deferred_commit(struct filter *filter, const struct deferred_promise *promise,
    struct error *error)
{
	struct deferred *d = deferred_of(filter);

	/* New layers are on the disk before a journal can name them. */
	if (filter_reserve(d->filter.under, d->count, error) < d->count ||
	    filter_sync(d->filter.under, error) < 0 ||
	    (d->journaled && journal_prepare(&d->journal, error) < 0) ||
	    promise->keep(promise->context, error) < 0)
		return -1;
	return apply(d, error);
}

/* Without a journal: mark what is in the list. */
static int
flush(struct deferred *d, struct error *error)
{
	return deferred_commit(&d->filter, &d->promise, error) < 0 ? -1 :
	    make_pending(d, first_capacity(d), error);
}

/* What filter_reserve returns if there is room after another probe. */
static uint64_t
ready_again(struct error *error)
{
	error->status = STATUS_OK;
	return 0;
}

static uint64_t
reserve(struct filter *filter, uint64_t wanted, struct error *error)
{
	struct deferred *d = deferred_of(filter);
	uint64_t room = UINT64_MAX, got;
	struct error second;

	error->status = STATUS_OK;
	/*
	 * With a journal, a filter that may grow does so at the end, when the
	 * number of lines is known. Otherwise, lines that go out now must have
	 * room already.
	 */
	if (filter_growth(d->filter.under) == GROWTH_FAIL || !d->journaled) {
		room = filter_reserve(d->filter.under, d->count + wanted,
		    error);
		room = room > d->count ? room - d->count : 0;
		/* What is held fills a generation: mark it, so that it ends. */
		if (room == 0 && d->count > 0 && error->status == STATUS_OK)
			return flush(d, error) < 0 ? 0 : ready_again(error);
	}
	if (!d->journaled && room > LIST_DIGESTS - d->listed)
		room = LIST_DIGESTS - d->listed;
	wanted = wanted < room ? wanted : room;
	while (d->journaled && filter_layer_room(d->pending, 0) < wanted) {
		if (enlarge_pending(d, error) < 0)
			return 0;
	}
	got = filter_reserve(d->pending, wanted, &second);
	if (got < wanted)
		*error = second;
	return got;
}

static int
mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct deferred *d = deferred_of(filter);

	if (d->journaled) {
		if (journal_add(&d->journal, digests, n, error) < 0)
			return -1;
	} else {
		memcpy(d->list + d->listed, digests, n * sizeof *digests);
		d->listed += n;
	}
	d->count += n;
	if (filter_mark(d->pending, digests, n, error) < 0)
		return -1;
	/* There must always be room for another batch. */
	return d->journaled || d->listed <= LIST_DIGESTS - PIECE ? 0 :
	    flush(d, error);
}

/* The journal's lines may be in the filter already. */
static int
finish_journal(struct filter *filter, struct journal *journal,
    struct error *error)
{
	return layers_begin_recovery(filter, error) < 0 ||
	    apply_journal(filter, journal, error) < 0 ? -1 :
	    layers_end_recovery(filter, error);
}

int
deferred_recover(struct filter *filter, void (*notice)(const char *text),
    struct error *error)
{
	struct journal journal;
	char text[5000], number[NUMBER_TEXT];
	int result = journal_open(&journal, filter_path(filter),
	    filter_header(filter)->id, error);

	if (result == 1)
		return 0;
	if (result == 0) {
		snprintf(text, sizeof text, "%s: finishing an earlier run: %s"
		    " lines that it printed are now remembered",
		    filter_name(filter),
		    number_format_count(number, journal.count));
		if (journal.count > 0)
			notice(text);
		if (finish_journal(filter, &journal, error) < 0) {
			journal_close(&journal);
			return -1;
		}
	}
	if (result < 0)
		return -1;
	return journal_remove(&journal, error);
}

static int
mark_all(struct filter *to, const struct digest *digests, size_t n,
    struct error *error)
{
	uint8_t ignored[256];

	while (n > 0) {
		uint64_t room = filter_reserve(to, n, error);

		if (room == 0 && error->status != STATUS_OK)
			return -1;
		if (filter_mark(to, digests, (size_t)room, error) < 0)
			return -1;
		digests += room;
		n -= (size_t)room;
		/* A window of lines moves on when lines are looked up. */
		if (n > 0 && filter_probe(to, digests, n, ignored, error) < 0)
			return -1;
	}
	return 0;
}

/*
 * Mark all that the journal holds and `known` doesn't, except in the first
 * `over` layers, which are over; *marked counts it.
 */
static int
mark_journal(struct filter *to, struct filter *known, unsigned over,
    struct journal *journal, uint64_t *marked, struct error *error)
{
	struct digest digests[256];
	uint8_t found[256];
	size_t got, n, span = 0;
	uint64_t left = journal->span_count > 0 ? journal->spans[0].count : 0;

	*marked = 0;
	do {
		if (journal_read(journal, digests, 256, &got, error) < 0 ||
		    filter_probe(known, digests, got, found, error) < 0)
			return -1;
		n = 0;
		for (size_t i = 0; i < got; i++, left--) {
			while (left == 0 && span + 1 < journal->span_count)
				left = journal->spans[++span].count;
			if (!found[i] && journal->spans[span].layer >= over)
				digests[n++] = digests[i];
		}
		if (mark_all(to, digests, n, error) < 0)
			return -1;
		*marked += n;
	} while (got > 0);
	return 0;
}

int
deferred_copy(const struct filter *from, struct filter *to,
    struct error *error)
{
	struct journal journal;
	uint64_t marked;
	int result;

	if (from->operations != &operations)
		return 0;
	result = journal_open(&journal, filter_path(from),
	    filter_header(from)->id, error);
	if (result > 0)
		result = 0;
	else if (result == 0)
		result = mark_journal(to, to, layers_forgotten(from->under),
		    &journal, &marked, error);
	journal_close(&journal);
	return result;
}

int
deferred_read(struct filter **filter, struct error *error)
{
	struct deferred *d;
	struct journal journal;
	int result = journal_open(&journal, filter_path(*filter),
	    filter_header(*filter)->id, error);

	if (result != 0) {
		journal_close(&journal);
		return result < 0 ? -1 : 0;
	}
	d = new_deferred(*filter);
	d->reading = 1;
	result = make_pending(d, journal.count + 1, error);
	if (result == 0)
		result = mark_journal(d->pending, *filter,
		    layers_forgotten(*filter), &journal, &d->count, error);
	journal_close(&journal);
	if (result < 0)
		release(d);
	else
		*filter = &d->filter;
	return result;
}

static uint64_t
waiting(const struct filter *filter)
{
	const struct deferred *d = const_deferred_of(filter);

	return d->reading ? d->count : 0;
}

static const struct filter_operations operations = {
	.probe = probe,
	.reserve = reserve,
	.mark = mark,
	.waiting = waiting,
	.close = close_deferred
};
