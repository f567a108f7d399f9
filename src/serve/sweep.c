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
#define PARTS 32
/* How often a window of lines may move on in one sweep. */
#define MOVES 8
/* The most that a reply has besides the key; reasons are longer. */
#define REPLY_BYTES 256

/* A filter's share of the sweep. */
struct part {
	struct served *served;
	struct batch *batch;
	struct digest digests[OPERATIONS];
	uint8_t asks[OPERATIONS]; /* ACTION_LOOK */
	int8_t results[OPERATIONS]; /* of enum result */
	/* With leases: */
	uint8_t actions[OPERATIONS];
	uint64_t lengths[OPERATIONS]; /* of leases that are wanted, */
	uint64_t left[OPERATIONS];    /* and of those there were */
	int leases;          /* one of them is or meets a lease */
	size_t count;
	size_t costly;       /* at this count, a client is paused */
	int failed;          /* the whole part, or the filter isn't open */
	struct error error;  /* why, or why there was no room */
};

struct entry {
	struct operation operation;
	struct client *client;
	struct part *part;   /* of the filter; or NULL */
	size_t item;         /* in its batch */
};

struct sweep {
	struct service *service;
	struct entry entries[OPERATIONS];
	size_t count;
	struct part parts[PARTS];
	int part_count;
	uint64_t now;        /* with leases: the time of this one */
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
	for (int i = 0; i < PARTS; i++)
		batch_free(sweep->parts[i].batch);
	free(sweep);
}

size_t
sweep_count(const struct sweep *sweep)
{
	return sweep->count;
}

/* The filter's part of the sweep. There must be room for one more. */
static struct part *
find_part(struct sweep *sweep, struct served *served)
{
	const struct header *header;
	struct part *part;
	uint64_t lines = OPERATIONS;

	if (served->slot >= 0)
		return &sweep->parts[served->slot];
	served->slot = sweep->part_count++;
	part = &sweep->parts[served->slot];
	if (part->batch == NULL) {
		part->batch = batch_new(OPERATIONS);
		part->batch->keep_none = 1;
	}
	part->served = served;
	part->count = 0;
	part->leases = 0;
	part->failed = served->filter == NULL;
	if (part->failed) {
		error_set(&part->error, STATUS_FAILED, "%s", served->reason);
		return part;
	}
	header = filter_header(served->filter);
	if (header->window.kind == WINDOW_LINES)
		lines = MOVES * window_generation_capacity(header->capacity);
	part->costly = lines < OPERATIONS ? (size_t)lines : OPERATIONS;
	return part;
}

void
sweep_add(struct sweep *sweep, struct client *client,
    const struct operation *o)
{
	struct entry *entry;
	struct part *part;

	if (sweep->count == OPERATIONS || sweep->part_count == PARTS)
		sweep_run(sweep);
	entry = &sweep->entries[sweep->count++];
	entry->operation = *o;
	entry->client = client;
	entry->part = NULL;
	client->owed += o->form.key.nbytes + REPLY_BYTES;
	if (o->served == NULL)
		return;
	entry->part = part = find_part(sweep, o->served);
	if (part->failed) {
		client->owed += strlen(part->error.text);
		return;
	}
	entry->item = part->count++;
	part->digests[entry->item] = served_digest(o->served, o->subkey);
	part->asks[entry->item] = o->action == ACTION_LOOK;
	part->actions[entry->item] = (uint8_t)o->action;
	if (o->action > ACTION_SET) {
		part->leases = 1;
		part->lengths[entry->item] = o->length;
	}
	if (part->count == part->costly)
		client_pause(client);
}

/* Like batch_reserve, but within the memory limit of all filters. */
static enum room
reserve_share(struct part *part)
{
	uint64_t room;
	enum room answer = served_reserve(part->served,
	    batch_wanted(part->batch), &room, &part->error);

	if (answer != ROOM_ENOUGH)
		batch_cut(part->batch, room);
	return answer;
}

/*
 * Look up and mark the items from *start on, all or as many as there is room
 * for within the memory limit, and advance *start past them. If the filter is
 * full, the others are only looked up. Returns how many were new, or -1.
 */
static long
look_and_mark(struct part *part, size_t *start, struct filter *filter)
{
	struct batch *batch = part->batch;
	enum room room = ROOM_ENOUGH;

	batch->digests = part->digests + *start;
	batch->asks = part->asks + *start;
	batch->count = part->count - *start;
	if (batch_probe(batch, filter, &part->error) < 0)
		return -1;
	batch_collect(batch, 1);
	if (batch->new_count > 0)
		room = reserve_share(part);
	if (batch_mark(batch, batch->new_count, filter, &part->error) < 0)
		return -1;
	for (size_t i = 0; i < batch->count; i++)
		part->results[*start + i] = batch->seen[i] ? RESULT_SEEN :
		    RESULT_NEW;
	*start += batch->count;
	if (room != ROOM_SHORT)
		return (long)batch->new_count;
	/* `error` says why there is no room, and that is told */
	if (filter_probe(filter, part->digests + *start, part->count - *start,
	    batch->seen, error_ignored()) < 0)
		return -1;
	for (size_t i = 0; *start < part->count; i++, ++*start) {
		part->results[*start] = RESULT_FULL;
		if (batch->seen[i])
			part->results[*start] = RESULT_SEEN;
		else if (part->asks[*start])
			part->results[*start] = RESULT_NEW;
	}
	return (long)batch->new_count;
}

/* All items together. Returns how many were new, or -1. */
static long
carry_out_together(struct part *part, struct filter *filter)
{
	long marked = 0;
	size_t start = 0;

	while (start < part->count) {
		long n = look_and_mark(part, &start, filter);

		if (n < 0)
			return -1;
		marked += n;
	}
	return marked;
}

/* Marks are to survive the power, too; and was the file there all the time? */
static int
finish_marks(struct sweep *sweep, struct part *part, struct filter *filter,
    int marked)
{
	/* marks survive the process without a sync (use.in_place) */
	if (marked && sweep->service->settings->sync &&
	    filter_sync(filter, &part->error) < 0)
		return -1;
	if (!signals_bus_hit(filter_name(filter)))
		return 0;
	return error_set(&part->error, STATUS_FAILED, "%s: the file was cut"
	    " short, or its disk failed, while it was in use",
	    part->served->path);
}

static void
count_marked(struct sweep *sweep, struct part *part, uint64_t marked)
{
	sweep->service->counters.stored += marked;
	served_stored(part->served, marked);
}

/* The same for items one by one, some of which may be leased. */
static int
carry_out_with_leases(struct sweep *sweep, struct part *part,
    struct filter *filter)
{
	struct lessor_share share = { .leases = sweep->service->leases,
		.served = part->served, .now = sweep->now,
		.count = part->count, .digests = part->digests,
		.actions = part->actions, .lengths = part->lengths,
		.found = part->batch->seen, .results = part->results,
		.left = part->left };

	if (lessor_carry_out(&share, &part->error) < 0)
		return -1;
	count_marked(sweep, part, share.marked);
	if (finish_marks(sweep, part, filter, share.marked > 0) == 0)
		return 0;
	lessor_undo(&share);
	return -1;
}

static int
carry_out_share(struct sweep *sweep, struct part *part, struct filter *filter)
{
	long marked;

	part->leases |= served_leases(part->served) > 0;
	if (part->leases)
		return carry_out_with_leases(sweep, part, filter);
	marked = carry_out_together(part, filter);
	if (marked < 0)
		return -1;
	count_marked(sweep, part, (uint64_t)marked);
	return finish_marks(sweep, part, filter, marked > 0);
}

/* An item of a part has failed: why? `text` is room for the reason. */
static void
fill_failure(const struct part *part, enum result result,
    struct outcome *outcome, struct error *text)
{
	struct served *served = part->served;

	if (part->failed || result == RESULT_FULL) {
		outcome->failure = part->error.text;
		outcome->status = part->error.status;
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
answer(struct sweep *sweep, const struct entry *entry)
{
	const struct operation *o = &entry->operation;
	struct counters *counters = &sweep->service->counters;
	const struct part *part = entry->part;
	struct error text; /* large, and seldom used: not cleared */
	struct outcome outcome = { 0 };

	if (part != NULL) {
		enum result result = (enum result)part->results[entry->item];

		if (part->failed || result >= RESULT_FULL)
			fill_failure(part, result, &outcome, &text);
		else if (result == RESULT_SEEN)
			outcome.seen = 1;
		else if (result == RESULT_LEASED)
			outcome = (struct outcome){ .leased = 1,
				.left = part->left[entry->item] };
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
	for (int i = 0; i < sweep->part_count; i++) {
		struct part *part = &sweep->parts[i];
		struct served *served = part->served;

		if (!part->failed &&
		    carry_out_share(sweep, part, served->filter) < 0) {
			part->failed = 1;
			served_break(served, &part->error);
		}
		served->slot = -1;
	}
	for (size_t i = 0; i < sweep->count; i++) {
		answer(sweep, &sweep->entries[i]);
		sweep->entries[i].client->owed = 0;
	}
	for (int i = 0; i < sweep->part_count; i++)
		served_grow_ahead(sweep->parts[i].served);
	sweep->count = 0;
	sweep->part_count = 0;
}
