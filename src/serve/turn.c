#include "serve/turn.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "filter/batch.h"
#include "filter/filter.h"
#include "model/window.h"
#include "serve/catalog.h"

#define OPERATIONS 4096
/* Different filters in one turn: each has a batch of its own. */
#define PARTS 32
/* How often a window of lines may move on in one turn. */
#define MOVES 8
/* The most that a reply has besides the key; reasons are longer. */
#define REPLY_BYTES 256

struct entry {
	struct operation operation;
	struct asker *asker;
	int part;            /* of the filter; -1: none */
	size_t item;         /* in its batch */
	char *failure;       /* without a part: why; to be freed; or NULL */
};

/* A filter's share of the turn. */
struct part {
	struct served *served;
	struct batch *batch;
	struct digest *digests;
	uint8_t *asks;
	int8_t *outcomes;    /* 1 seen before, 0 new, -1 failed */
	size_t count;
	size_t costly;       /* from this count on: turn_is_costly */
	int failed;          /* the whole part */
	struct error error;  /* why, or why there was no room */
};

struct turn {
	struct service *service;
	struct entry entries[OPERATIONS];
	size_t count;
	struct part parts[PARTS];
	int part_count;
	int costly;
};

struct turn *
turn_new(struct service *service)
{
	struct turn *turn = memory_or_die(calloc(1, sizeof *turn));

	turn->service = service;
	return turn;
}

void
turn_free(struct turn *turn)
{
	for (int i = 0; i < PARTS; i++) {
		batch_free(turn->parts[i].batch);
		free(turn->parts[i].digests);
		free(turn->parts[i].asks);
		free(turn->parts[i].outcomes);
	}
	free(turn);
}

int
turn_is_costly(const struct turn *turn)
{
	return turn->costly;
}

size_t
turn_count(const struct turn *turn)
{
	return turn->count;
}

/* How many new lines a filter may get in a turn until the others wait. */
static size_t
costly_from(const struct served *served)
{
	const struct header *header = filter_header(served_filter(served));
	uint64_t lines = OPERATIONS;

	if (header->window.kind == WINDOW_LINES)
		lines = MOVES * window_generation_capacity(header->capacity);
	return lines < OPERATIONS ? (size_t)lines : OPERATIONS;
}

/* The filter's part of the turn. There must be room for one more. */
static int
find_part(struct turn *turn, struct served *served)
{
	int *slot = served_slot(served);
	struct part *part;

	if (*slot >= 0)
		return *slot;
	*slot = turn->part_count++;
	part = &turn->parts[*slot];
	if (part->batch == NULL) {
		part->batch = batch_new(OPERATIONS);
		part->batch->keep_none = 1;
		part->digests = memory_or_die(malloc(OPERATIONS *
		    sizeof *part->digests));
		part->asks = memory_or_die(malloc(OPERATIONS));
		part->outcomes = memory_or_die(malloc(OPERATIONS));
	}
	part->served = served;
	part->count = 0;
	part->costly = costly_from(served);
	return *slot;
}

void
turn_add(struct turn *turn, struct asker *asker, const struct operation *o)
{
	struct entry *entry;
	struct part *part;

	if (turn->count == OPERATIONS || turn->part_count == PARTS)
		turn_run(turn);
	entry = &turn->entries[turn->count++];
	*entry = (struct entry){ .operation = *o, .asker = asker, .part = -1 };
	asker->owed += o->key.nbytes + REPLY_BYTES;
	if (o->served == NULL)
		return;
	if (served_filter(o->served) == NULL) {
		entry->failure = memory_or_die(strdup(served_reason(
		    o->served)));
		asker->owed += strlen(entry->failure);
		return;
	}
	entry->part = find_part(turn, o->served);
	part = &turn->parts[entry->part];
	entry->item = part->count++;
	part->digests[entry->item] = served_digest(o->served, o->subkey);
	part->asks[entry->item] = (uint8_t)o->asks;
	turn->costly |= part->count == part->costly;
}

/* Like batch_reserve, but within the memory limit of all filters. */
static int
reserve(struct part *part, struct filter *filter)
{
	struct batch *batch = part->batch;
	uint64_t room;

	if (served_may_grow(part->served, batch->new_count, &part->error) == 0)
		return batch_reserve(batch, filter, &part->error);
	room = served_room(part->served);
	batch->count = batch->new_items[room];
	batch->new_count = (size_t)room;
	return -1;
}

/* There is no room for new ones: from `start` on, items are only looked up. */
static int
only_ask(struct part *part, size_t start, struct filter *filter)
{
	const uint8_t *seen = part->batch->seen;

	if (filter_probe(filter, part->digests + start, part->count - start,
	    part->batch->seen, &(struct error){ 0 }) < 0)
		return -1;
	for (size_t i = start; i < part->count; i++) {
		part->outcomes[i] = seen[i - start] ? 1 :
		    part->asks[i] ? 0 : -1;
	}
	return 0;
}

/*
 * Look up and mark the items from *start on, all or as many as there is room
 * for, and advance *start past them. Returns how many were new, or -1.
 */
static long
look_and_mark(struct part *part, size_t *start, struct filter *filter)
{
	struct batch *batch = part->batch;
	int result = 0;

	batch->digests = part->digests + *start;
	batch->asks = part->asks + *start;
	batch->count = part->count - *start;
	if (batch_probe(batch, filter, &part->error) < 0)
		return -1;
	batch_collect(batch, 1);
	if (batch->new_count > 0)
		result = reserve(part, filter);
	if (batch_mark(batch, batch->new_count, filter, &part->error) < 0)
		return -1;
	for (size_t i = 0; i < batch->count; i++)
		part->outcomes[*start + i] = (int8_t)batch->seen[i];
	*start += batch->count;
	if (result < 0) {
		if (only_ask(part, *start, filter) < 0)
			return -1;
		*start = part->count;
	}
	return (long)batch->new_count;
}

static int
carry_out(struct turn *turn, struct part *part, struct filter *filter)
{
	uint64_t marked = 0;
	size_t start = 0;

	while (start < part->count) {
		long n = look_and_mark(part, &start, filter);

		if (n < 0)
			return -1;
		marked += (uint64_t)n;
	}
	turn->service->counters.stored += marked;
	served_stored(part->served, marked);
	/* marks survive the process without a sync (use.in_place) */
	if (marked > 0 && turn->service->plan->sync &&
	    filter_sync(filter, &part->error) < 0)
		return -1;
	return served_check(part->served, &part->error);
}

static void
run_part(struct turn *turn, struct part *part)
{
	part->failed = carry_out(turn, part,
	    served_filter(part->served)) < 0;
	if (part->failed)
		served_break(part->served, &part->error);
	*served_slot(part->served) = -1;
}

static void
answer(struct turn *turn, const struct entry *entry)
{
	struct outcome outcome = { .failure = entry->failure,
		.status = entry->failure == NULL ? STATUS_OK : STATUS_FAILED };

	if (entry->part >= 0) {
		const struct part *part = &turn->parts[entry->part];

		outcome.seen = part->outcomes[entry->item];
		if (part->failed || outcome.seen < 0) {
			outcome.failure = part->error.text;
			outcome.status = part->error.status;
		}
	}
	if (outcome.failure != NULL) {
		turn->service->counters.refused++;
		served_refuse(entry->operation.served, outcome.failure);
	}
	entry->asker->answer(turn->service, entry->asker, &entry->operation,
	    &outcome);
}

void
turn_run(struct turn *turn)
{
	for (int i = 0; i < turn->part_count; i++)
		run_part(turn, &turn->parts[i]);
	for (size_t i = 0; i < turn->count; i++) {
		struct entry *entry = &turn->entries[i];

		answer(turn, entry);
		entry->asker->owed = 0;
		free(entry->failure);
	}
	for (int i = 0; i < turn->part_count; i++)
		served_grow_ahead(turn->parts[i].served);
	turn->count = 0;
	turn->part_count = 0;
	turn->costly = 0;
}
