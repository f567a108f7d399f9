#include "hold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num.h"
#include "sizing.h"

/* So many digests are 6 MiB: what the program may take beside the filter. */
#define LIST_DIGESTS (384 * 1024)
/* Lines that a journal's run finds again at first; twice as many each time. */
#define PENDING_LINES (64 * 1024)
#define PIECE 4096

/*
 * The rates of 62 layers add up to 0.9975 p (sizing.h), so that so much is
 * left of it for the lines that are held.
 */
#define PENDING_RATE 0.0025

/* An empty one, of one layer. */
static int
make_pending(struct hold *hold, uint64_t capacity, struct error *error)
{
	double rate = PENDING_RATE * hold->filter->header.error_rate;
	struct filter_plan plan = { .capacity = capacity, .error_rate = rate,
		.growth = GROWTH_FAIL, .hash = &hold->filter->header.hash };

	filter_close(&hold->pending, error);
	if (sizing_layer(&plan.geometry, plan.capacity, rate, rate, 0,
	    error) < 0)
		return -1;
	if (filter_create(&hold->pending, NULL, 0, &plan, error) < 0)
		return -1;
	hold->pending.team = hold->filter->team;
	return 0;
}

static uint64_t
first_capacity(const struct hold *hold)
{
	return hold->journaled ? PENDING_LINES : LIST_DIGESTS;
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
 * A pending filter twice as large, filled from the journal. More layers would
 * all be looked into for each line, and that costs more.
 */
static int
enlarge_pending(struct hold *hold, struct error *error)
{
	if (make_pending(hold, 2 * hold->pending.header.capacity, error) < 0)
		return -1;
	return journal_replay(&hold->journal, mark_pending, &hold->pending,
	    error);
}

int
hold_start(struct hold *hold, struct filter *filter, int journaled,
    struct error *error)
{
	*hold = (struct hold)HOLD_NONE;
	hold->filter = filter;
	hold->journaled = journaled;
	if (make_pending(hold, first_capacity(hold), error) < 0)
		return -1;
	if (journaled)
		return journal_create(&hold->journal, filter->store.real_path,
		    filter->header.id, error);
	hold->list = memory_or_die(malloc(LIST_DIGESTS * sizeof *hold->list));
	return 0;
}

void
hold_end(struct hold *hold)
{
	struct error ignored;

	if (hold->committed)
		journal_close(&hold->journal);
	else
		journal_remove(&hold->journal, &ignored);
	filter_close(&hold->pending, &ignored);
	free(hold->list);
	*hold = (struct hold)HOLD_NONE;
}

void
hold_prefetch(const struct hold *hold, const struct digest *digests, size_t n)
{
	filter_prefetch(&hold->pending, digests, n);
}

int
hold_probe(struct hold *hold, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	return filter_probe_more(&hold->pending, digests, n, found, error);
}

uint64_t
hold_reserve(struct hold *hold, uint64_t wanted, struct error *error)
{
	uint64_t room = UINT64_MAX;

	/*
	 * With a journal, a filter that may grow is made larger when all is
	 * known. Else what goes out now is remembered whatever comes.
	 */
	if (hold->filter->growth == GROWTH_FAIL || !hold->journaled) {
		room = filter_reserve(hold->filter, hold->count + wanted,
		    error);
		room = room > hold->count ? room - hold->count : 0;
	}
	if (!hold->journaled && room > LIST_DIGESTS - hold->listed)
		room = LIST_DIGESTS - hold->listed;
	wanted = wanted < room ? wanted : room;
	while (hold->journaled &&
	    filter_layer_room(&hold->pending, 0) < wanted) {
		if (enlarge_pending(hold, error) < 0)
			return 0;
	}
	return filter_reserve(&hold->pending, wanted, error);
}

int
hold_mark(struct hold *hold, const struct digest *digests, size_t n,
    struct error *error)
{
	if (hold->journaled) {
		if (journal_add(&hold->journal, digests, n, error) < 0)
			return -1;
	} else {
		memcpy(hold->list + hold->listed, digests,
		    n * sizeof *digests);
		hold->listed += n;
	}
	hold->count += n;
	return filter_mark(&hold->pending, digests, n, error);
}

int
hold_is_full(const struct hold *hold)
{
	/* A batch more must always fit. */
	return !hold->journaled && hold->listed > LIST_DIGESTS - PIECE;
}

int
hold_prepare(struct hold *hold, struct error *error)
{
	/* New layers are on the disk before a journal can name them. */
	if (filter_reserve(hold->filter, hold->count, error) < hold->count ||
	    filter_sync(hold->filter, error) < 0)
		return -1;
	return hold->journaled ? journal_prepare(&hold->journal, error) : 0;
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

		if (layer >= filter->table.count) {
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

int
hold_apply(struct hold *hold, struct error *error)
{
	struct journal_span spans[FORMAT_LAYERS_MAX];
	size_t count = 0;
	uint64_t left = hold->count;

	if (hold->journaled) {
		for (unsigned i = 0; left > 0; i++) {
			uint64_t room = filter_layer_room(hold->filter, i);
			uint64_t n = left < room ? left : room;

			if (n > 0)
				spans[count++] =
				    (struct journal_span){ i, n };
			left -= n;
		}
		if (journal_commit(&hold->journal, spans, count, error) < 0)
			return -1;
		hold->committed = 1;
		if (apply_journal(hold->filter, &hold->journal, error) < 0)
			return -1;
	} else {
		if (filter_mark(hold->filter, hold->list, hold->listed,
		    error) < 0)
			return -1;
		hold->listed = 0;
	}
	hold->count = 0;
	if (filter_sync(hold->filter, error) < 0)
		return -1;
	hold->committed = 0;
	if (hold->journaled && journal_remove(&hold->journal, error) < 0)
		return -1;
	return make_pending(hold, first_capacity(hold), error);
}

/*
 * Its lines may be in the filter already, and counted: what the bits say is
 * right in any case.
 */
static int
finish_journal(struct filter *filter, struct journal *journal,
    struct error *error)
{
	uint64_t lines[FORMAT_LAYERS_MAX];
	unsigned count;

	if (filter_begin_marking(filter, error) < 0)
		return -1;
	count = filter->table.count;
	for (unsigned i = 0; i < count; i++)
		lines[i] = filter->table.layers[i].lines;
	if (apply_journal(filter, journal, error) < 0 ||
	    filter_sync(filter, error) < 0)
		return -1;
	for (unsigned i = 0; i < count; i++)
		filter->table.layers[i].lines = lines[i];
	filter->overfilled = 0;
	return filter_recount(filter, error);
}

int
hold_recover(struct filter *filter, void (*notice)(const char *text),
    struct error *error)
{
	struct journal journal;
	char text[5000], number[NUM_TEXT];
	int result = journal_open(&journal, filter->store.real_path,
	    filter->header.id, error);

	if (result == 1)
		return 0;
	if (result == 0) {
		snprintf(text, sizeof text, "%s: finishing an earlier run: %s"
		    " lines that went out are remembered now",
		    filter->store.path,
		    num_format_count(number, journal.count));
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

/* Mark all that the journal holds and `to` doesn't; *marked counts it. */
static int
mark_journal(struct filter *to, struct filter *known,
    struct journal *journal, uint64_t *marked, struct error *error)
{
	struct digest digests[256];
	uint8_t found[256];
	size_t got, n;

	*marked = 0;
	do {
		if (journal_read(journal, digests, 256, &got, error) < 0 ||
		    filter_probe(known, digests, got, found, error) < 0)
			return -1;
		n = 0;
		for (size_t i = 0; i < got; i++) {
			if (!found[i])
				digests[n++] = digests[i];
		}
		if (filter_reserve(to, n, error) < n ||
		    filter_mark(to, digests, n, error) < 0)
			return -1;
		*marked += n;
	} while (got > 0);
	return 0;
}

int
hold_copy(const struct filter *from, struct filter *to, struct error *error)
{
	struct journal journal;
	uint64_t marked;
	int result = journal_open(&journal, from->store.real_path,
	    from->header.id, error);

	if (result > 0)
		result = 0;
	else if (result == 0)
		result = mark_journal(to, to, &journal, &marked, error);
	journal_close(&journal);
	return result;
}

int
hold_read(struct hold *hold, struct filter *filter, struct error *error)
{
	struct journal journal;
	int result;

	*hold = (struct hold)HOLD_NONE;
	hold->filter = filter;
	result = journal_open(&journal, filter->store.real_path,
	    filter->header.id, error);
	if (result != 0) {
		journal_close(&journal);
		return result < 0 ? -1 : 0;
	}
	result = make_pending(hold, journal.count + 1, error);
	if (result == 0)
		result = mark_journal(&hold->pending, filter, &journal,
		    &hold->count, error);
	journal_close(&journal);
	if (result < 0)
		hold_end(hold);
	return result < 0 ? -1 : 1;
}
