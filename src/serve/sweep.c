#include "serve/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/signals.h"
#include "filter/batch.h"
#include "filter/filter.h"
#include "model/window.h"
#include "serve/client.h"
#include "serve/leases.h"
#include "serve/lessor.h"
#include "serve/served.h"

#define OPERATIONS 4096
/* Different filters in one sweep: each has a batch of its own. */
#define SHARES 32
/* How often a window of lines may move on in one sweep. */
#define MOVES 8
/* The most that a reply has besides the key; reasons are longer. */
#define REPLY_BYTES 256

/* A filter's share of the sweep. */
struct share {
	struct served *served;
	struct batch *batch;
	struct digest digests[OPERATIONS];
	uint8_t asks[OPERATIONS]; /* ACTION_LOOK */
	int8_t results[OPERATIONS]; /* values of enum result */
	/* The next four are used where subkeys are leased. */
	uint8_t actions[OPERATIONS];
	uint64_t lengths[OPERATIONS]; /* lengths of leases that are wanted */
	uint64_t left[OPERATIONS];    /* time left of leases that there were */
	int leases;          /* one of them is or meets a lease */
	size_t count;
	size_t costly;       /* the count at which a client is paused */
	int failed;          /* the whole share, or the filter isn't open */
	struct error error;  /* why, or why there was no room */
};

struct sweep_entry {
	struct operation operation;
	struct client *client;
	struct share *share;   /* the filter's share; or NULL */
	size_t item;         /* its index in the share's batch */
};

struct sweep {
	struct service *service;
	struct sweep_entry entries[OPERATIONS];
	size_t count;
	struct share shares[SHARES];
	int share_count;
	uint64_t now;        /* the time of this one, where there are leases */
};

struct sweep *
sweep_new(struct service *service)
{
	/* large: the kernel gives what is used of it, when it is used */
	struct sweep *sweep = memory_or_die(calloc(1, sizeof *sweep));

	sweep->service = service;
	return sweep;
}

void
sweep_free(struct sweep *sweep)
{
	for (int i = 0; i < SHARES; i++)
		batch_free(sweep->shares[i].batch);
	free(sweep);
}

size_t
sweep_count(const struct sweep *sweep)
{
	return sweep->count;
}

/* The filter's share of the sweep. There must be room for one more. */
static struct share *
find_share(struct sweep *sweep, struct served *served)
{
	const struct header *header;
	struct share *share;
	uint64_t lines = OPERATIONS;

	if (served->slot >= 0)
		return &sweep->shares[served->slot];
	served->slot = sweep->share_count++;
	share = &sweep->shares[served->slot];
	if (share->batch == NULL) {
		share->batch = batch_new(OPERATIONS);
		share->batch->keep_none = 1;
	}
	share->served = served;
	share->count = 0;
	share->leases = 0;
	share->failed = served->filter == NULL;
	if (share->failed) {
		error_set(&share->error, STATUS_FAILED, "%s", served->reason);
		return share;
	}
	header = filter_header(served->filter);
	if (header->window.kind == WINDOW_LINES)
		lines = MOVES * window_generation_capacity(header->capacity);
	share->costly = lines < OPERATIONS ? (size_t)lines : OPERATIONS;
	return share;
}

void
sweep_add(struct sweep *sweep, struct client *client,
    const struct operation *o)
{
	struct sweep_entry *entry;
	struct share *share;

	if (sweep->count == OPERATIONS || sweep->share_count == SHARES)
		sweep_run(sweep);
	entry = &sweep->entries[sweep->count++];
	entry->operation = *o;
	entry->client = client;
	entry->share = NULL;
	client->owed += o->form.key.nbytes + REPLY_BYTES;
	if (o->served == NULL)
		return;
	entry->share = share = find_share(sweep, o->served);
	if (share->failed) {
		client->owed += strlen(share->error.text);
		return;
	}
	entry->item = share->count++;
	share->digests[entry->item] = served_digest(o->served, o->subkey);
	share->asks[entry->item] = o->action == ACTION_LOOK;
	share->actions[entry->item] = (uint8_t)o->action;
	if (o->action > ACTION_SET) {
		share->leases = 1;
		share->lengths[entry->item] = o->length;
	}
	if (share->count == share->costly)
		client_pause(client);
}

/* Like batch_reserve, but within the memory limit of all filters. */
static enum room
reserve_share(struct share *share)
{
	uint64_t room;
	enum room answer = served_reserve(share->served,
	    batch_wanted(share->batch), &room, &share->error);

	if (answer != ROOM_ENOUGH)
		batch_cut(share->batch, room);
	return answer;
}

/*
 * Look up and mark the items from *start on, all or as many as there is room
 * for within the memory limit, and advance *start past them. If the filter is
 * full, the others are only looked up. Returns how many were new, or -1.
 */
static long
look_and_mark(struct share *share, size_t *start, struct filter *filter)
{
	struct batch *batch = share->batch;
	enum room room = ROOM_ENOUGH;

	batch->digests = share->digests + *start;
	batch->asks = share->asks + *start;
	batch->count = share->count - *start;
	if (batch_probe(batch, filter, &share->error) < 0)
		return -1;
	batch_collect(batch, 1);
	if (batch->new_count > 0)
		room = reserve_share(share);
	if (batch_mark(batch, batch->new_count, filter, &share->error) < 0)
		return -1;
	for (size_t i = 0; i < batch->count; i++)
		share->results[*start + i] = batch->seen[i] ? RESULT_SEEN :
		    RESULT_NEW;
	*start += batch->count;
	if (room != ROOM_SHORT)
		return (long)batch->new_count;
	/* `error` says why there is no room, and that is told */
	if (filter_probe(filter, share->digests + *start, share->count - *start,
	    batch->seen, error_ignored()) < 0)
		return -1;
	for (size_t i = 0; *start < share->count; i++, ++*start) {
		share->results[*start] = RESULT_FULL;
		if (batch->seen[i])
			share->results[*start] = RESULT_SEEN;
		else if (share->asks[*start])
			share->results[*start] = RESULT_NEW;
	}
	return (long)batch->new_count;
}

/* All items together. Returns how many were new, or -1. */
static long
carry_out_together(struct share *share, struct filter *filter)
{
	long marked = 0;
	size_t start = 0;

	while (start < share->count) {
		long n = look_and_mark(share, &start, filter);

		if (n < 0)
			return -1;
		marked += n;
	}
	return marked;
}

/* Marks are to survive the power, too; and was the file there all the time? */
static int
finish_marks(struct sweep *sweep, struct share *share, struct filter *filter,
    int marked)
{
	/* Without a sync, too, marks survive the process (use.in_place). */
	if (marked && sweep->service->settings->sync &&
	    filter_sync(filter, &share->error) < 0)
		return -1;
	if (!signals_bus_hit(filter_name(filter)))
		return 0;
	return error_set(&share->error, STATUS_FAILED, "%s: the file was cut"
	    " short, or its disk failed, while it was in use",
	    share->served->path);
}

static void
count_marked(struct sweep *sweep, struct share *share, uint64_t marked)
{
	sweep->service->counters.stored += marked;
	served_stored(share->served, marked);
}

/* Carry out the items of a share one by one, as some may be leased. */
static int
carry_out_with_leases(struct sweep *sweep, struct share *share,
    struct filter *filter)
{
	struct lessor_share leased = { .leases = sweep->service->leases,
		.served = share->served, .now = sweep->now,
		.count = share->count, .digests = share->digests,
		.actions = share->actions, .lengths = share->lengths,
		.found = share->batch->seen, .results = share->results,
		.left = share->left };

	if (lessor_carry_out(&leased, &share->error) < 0)
		return -1;
	count_marked(sweep, share, leased.marked);
	if (finish_marks(sweep, share, filter, leased.marked > 0) == 0)
		return 0;
	lessor_undo(&leased);
	return -1;
}

static int
carry_out_share(struct sweep *sweep, struct share *share, struct filter *filter)
{
	long marked;

	share->leases |= served_leases(share->served) > 0;
	if (share->leases)
		return carry_out_with_leases(sweep, share, filter);
	marked = carry_out_together(share, filter);
	if (marked < 0)
		return -1;
	count_marked(sweep, share, (uint64_t)marked);
	return finish_marks(sweep, share, filter, marked > 0);
}

/* An item of a share has failed: why? `text` is room for the reason. */
static void
fill_failure(const struct share *share, enum result result,
    struct outcome *outcome, struct error *text)
{
	struct served *served = share->served;

	if (share->failed || result == RESULT_FULL) {
		outcome->failure = share->error.text;
		outcome->status = share->error.status;
	} else {
		if (result == RESULT_NO_PLACE)
			error_set(text, STATUS_FULL, "all leases that the"
			    " server has room for are taken (--max-leases)");
		else
			error_set(text, STATUS_FULL, "%s: it has half of the"
			    " leases that the server has room for"
			    " (--max-leases)", served->path);
		outcome->failure = text->text;
		outcome->status = STATUS_FULL;
		outcome->no_lease = 1;
	}
	served_report(served->pool, &served->refusals, outcome->failure);
}

static void
count_operation(struct counters *counters, enum action action,
    const struct outcome *outcome)
{
	switch (action) {
	case ACTION_ADD:
	case ACTION_SET:
	case ACTION_LEASE:
		counters->cmd_set++;
		return;
	case ACTION_LOOK:
		counters->cmd_get++;
		counters->get_hits += (uint64_t)outcome->seen;
		counters->get_misses += !outcome->seen;
		return;
	case ACTION_RETURN:
		counters->delete_hits += (uint64_t)outcome->leased;
		counters->delete_misses += !outcome->leased;
		return;
	case ACTION_RENEW:
		counters->touch_hits += (uint64_t)outcome->leased;
		counters->touch_misses += !outcome->leased;
		return;
	}
}

static void
answer(struct sweep *sweep, const struct sweep_entry *entry)
{
	const struct operation *o = &entry->operation;
	struct counters *counters = &sweep->service->counters;
	const struct share *share = entry->share;
	struct error text; /* large, and seldom used: not cleared */
	struct outcome outcome = { 0 };

	if (share != NULL) {
		enum result result = (enum result)share->results[entry->item];

		if (share->failed || result >= RESULT_FULL)
			fill_failure(share, result, &outcome, &text);
		else if (result == RESULT_SEEN)
			outcome.seen = 1;
		else if (result == RESULT_LEASED)
			outcome = (struct outcome){ .leased = 1,
				.left = share->left[entry->item] };
	}
	if (outcome_is_settled(o, &outcome))
		counters->refused++;
	else if (o->subkey.data != NULL)
		count_operation(counters, o->action, &outcome);
	entry->client->answer(entry->client, o, &outcome);
}

void
sweep_run(struct sweep *sweep)
{
	struct leases *leases = sweep->service->leases;

	if (leases != NULL) {
		sweep->now = clock_now();
		leases_sweep(leases, sweep->now);
	}
	for (int i = 0; i < sweep->share_count; i++) {
		struct share *share = &sweep->shares[i];
		struct served *served = share->served;

		if (!share->failed &&
		    carry_out_share(sweep, share, served->filter) < 0) {
			share->failed = 1;
			served_break(served, &share->error);
		}
		served->slot = -1;
	}
	for (size_t i = 0; i < sweep->count; i++) {
		answer(sweep, &sweep->entries[i]);
		sweep->entries[i].client->owed = 0;
	}
	for (int i = 0; i < sweep->share_count; i++)
		served_grow_ahead(sweep->shares[i].served);
	sweep->count = 0;
	sweep->share_count = 0;
}
