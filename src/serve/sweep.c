#include "serve/sweep.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/signals.h"
#include "filter/batch.h"
#include "filter/filter.h"
#include "model/window.h"
#include "serve/client.h"
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
	uint8_t asks[OPERATIONS];
	int8_t outcomes[OPERATIONS]; /* 1 seen before, 0 new, -1 failed */
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
	*entry = (struct entry){ .operation = *o, .client = client };
	client->owed += o->request.key.nbytes + REPLY_BYTES;
	if (o->served == NULL)
		return;
	entry->part = part = find_part(sweep, o->served);
	if (part->failed) {
		client->owed += strlen(part->error.text);
		return;
	}
	entry->item = part->count++;
	part->digests[entry->item] = served_digest(o->served, o->subkey);
	part->asks[entry->item] = (uint8_t)o->asks;
	if (part->count == part->costly)
		client_pause(client);
}

/* Like batch_reserve, but within the memory limit of all filters. */
static enum room
reserve(struct part *part, struct filter *filter)
{
	struct batch *batch = part->batch;
	uint64_t room;

	if (served_may_grow(part->served, batch->new_count, &part->error) == 0)
		return batch_reserve(batch, filter, &part->error);
	/* What there is must be reserved, too, before it is marked. */
	filter_reserve(filter, served_room(part->served), &room,
	    &(struct error){ 0 });
	batch->count = batch->new_items[room];
	batch->new_count = (size_t)room;
	return ROOM_SHORT;
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
		room = reserve(part, filter);
	if (batch_mark(batch, batch->new_count, filter, &part->error) < 0)
		return -1;
	for (size_t i = 0; i < batch->count; i++)
		part->outcomes[*start + i] = (int8_t)batch->seen[i];
	*start += batch->count;
	if (room != ROOM_SHORT)
		return (long)batch->new_count;
	if (filter_probe(filter, part->digests + *start, part->count - *start,
	    batch->seen, &(struct error){ 0 }) < 0)
		return -1;
	for (size_t i = 0; *start < part->count; i++, ++*start)
		part->outcomes[*start] = batch->seen[i] ? 1 :
		    part->asks[*start] ? 0 : -1;
	return (long)batch->new_count;
}

static int
carry_out(struct sweep *sweep, struct part *part, struct filter *filter)
{
	uint64_t marked = 0;
	size_t start = 0;

	while (start < part->count) {
		long n = look_and_mark(part, &start, filter);

		if (n < 0)
			return -1;
		marked += (uint64_t)n;
	}
	sweep->service->counters.stored += marked;
	served_stored(part->served, marked);
	/* marks survive the process without a sync (use.in_place) */
	if (marked > 0 && sweep->service->plan->sync &&
	    filter_sync(filter, &part->error) < 0)
		return -1;
	if (!signals_bus_hit(filter_name(filter)))
		return 0;
	return error_set(&part->error, STATUS_FAILED, "%s: the file was cut"
	    " short, or its disk failed, while it was in use",
	    part->served->path);
}

static void
answer(struct sweep *sweep, const struct entry *entry)
{
	const struct operation *o = &entry->operation;
	struct counters *counters = &sweep->service->counters;
	const struct part *part = entry->part;
	struct outcome outcome = { 0 };

	if (part != NULL && !part->failed)
		outcome.seen = part->outcomes[entry->item];
	if (part != NULL && (part->failed || outcome.seen < 0)) {
		outcome.failure = part->error.text;
		outcome.status = part->error.status;
		served_report(part->served->pool, &part->served->refusals,
		    outcome.failure);
	}
	if (o->reply != NULL || outcome.failure != NULL) {
		counters->refused++;
	} else if (o->subkey.data != NULL && !o->asks) {
		counters->cmd_set++;
	} else if (o->subkey.data != NULL) {
		counters->cmd_get++;
		*(outcome.seen ? &counters->get_hits :
		    &counters->get_misses) += 1;
	}
	entry->client->answer(entry->client, o, &outcome);
}

void
sweep_run(struct sweep *sweep)
{
	for (int i = 0; i < sweep->part_count; i++) {
		struct part *part = &sweep->parts[i];
		struct served *served = part->served;

		if (!part->failed &&
		    carry_out(sweep, part, served->filter) < 0) {
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
