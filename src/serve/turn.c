#include "serve/turn.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "filter/batch.h"
#include "filter/filter.h"
#include "serve/catalog.h"

#define OPERATIONS 4096
/* Different filters in one turn: each has a batch of its own. */
#define PARTS 32
/* The most that a reply has besides the key; reasons are longer. */
#define REPLY_BYTES 256

struct operation {
	struct asker *asker;
	enum verb verb;
	int noreply, with_cas;
	int part;            /* of the filter; -1: `reply` is the answer */
	size_t item;         /* in its batch */
	struct bytes key;
	const char *reply;
	char *owned;         /* `reply`, if it must be freed; or NULL */
};

/* A filter's share of the turn. */
struct part {
	struct served *served;
	struct batch *batch;
	struct digest *digests;
	uint8_t *asks;
	int8_t *outcomes;    /* 1 seen before, 0 new, -1 failed */
	size_t count;
	int failed;          /* the whole part */
	struct error error;  /* why, or why there was no room */
};

struct turn {
	struct service *service;
	struct operation operations[OPERATIONS];
	size_t count;
	struct part parts[PARTS];
	int part_count;
	int nearly_full;     /* some filter is; for turn_idle */
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

size_t
turn_count(const struct turn *turn)
{
	return turn->count;
}

/* Split "NAME|SUBKEY" at its bar. Returns 0 if there is no bar. */
static int
divide(struct bytes key, struct bytes *name, struct bytes *subkey)
{
	const uint8_t *bar = memchr(key.data, '|', key.nbytes);

	*name = key;
	*subkey = (struct bytes){ key.data, 0 };
	if (bar == NULL)
		return 0;
	name->nbytes = (size_t)(bar - key.data);
	subkey->data = bar + 1;
	subkey->nbytes = key.nbytes - name->nbytes - 1;
	return 1;
}

int
turn_is_alone(const struct request *r)
{
	switch (r->verb) {
	case VERB_GET:
	case VERB_GET_END:
	case VERB_SET:
	case VERB_REPLACE:
	case VERB_FAILED:
		return 0;
	case VERB_ADD: /* of a filter */
		return memchr(r->key.data, '|', r->key.nbytes) == NULL;
	default:
		return 1;
	}
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
		part->digests = memory_or_die(malloc(OPERATIONS *
		    sizeof *part->digests));
		part->asks = memory_or_die(malloc(OPERATIONS));
		part->outcomes = memory_or_die(malloc(OPERATIONS));
	}
	part->served = served;
	part->count = 0;
	return *slot;
}

/* Why the request can't be carried out; NULL if it can. */
static const char *
refusal(struct turn *turn, const struct request *r, struct bytes name,
    int divided, struct served **served)
{
	if (turn->service->plan->read_only &&
	    (r->verb == VERB_SET || r->verb == VERB_ADD))
		return "CLIENT_ERROR this server is read-only";
	if (!divided && r->verb != VERB_SET)
		return "CLIENT_ERROR a key is FILTER|SUBKEY";
	if (!catalog_is_name(name))
		return "CLIENT_ERROR not a filter's name";
	*served = catalog_find(turn->service->catalog, name);
	if (*served == NULL)
		return "CLIENT_ERROR no such filter";
	return NULL;
}

/*
 * "CLIENT_ERROR" and a reason, on one line; to be freed. After SERVER_ERROR,
 * many clients drop the server, with all of its filters.
 */
static char *
error_reply(const char *reason)
{
	static const char head[] = "CLIENT_ERROR ";
	size_t n = strlen(reason);
	char *text = memory_or_die(malloc(sizeof head + n)), *p;

	memcpy(text, head, sizeof head - 1);
	memcpy(text + sizeof head - 1, reason, n + 1);
	for (p = text; *p != '\0'; p++) {
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	}
	return text;
}

size_t
turn_add(struct turn *turn, struct asker *asker, const struct request *r)
{
	struct bytes name, subkey;
	struct served *served;
	struct operation *o;
	struct part *part;
	int divided;

	if (turn->count == OPERATIONS || turn->part_count == PARTS)
		turn_run(turn);
	o = &turn->operations[turn->count++];
	*o = (struct operation){ .asker = asker, .verb = r->verb,
		.noreply = r->noreply, .with_cas = r->with_cas, .part = -1,
		.key = r->key, .reply = r->reply };
	if (r->verb == VERB_GET_END || r->verb == VERB_FAILED)
		return REPLY_BYTES;
	divided = divide(r->key, &name, &subkey);
	if (subkey.nbytes == 0 && r->verb != VERB_GET)
		subkey = r->value;
	o->reply = refusal(turn, r, name, divided, &served);
	if (o->reply != NULL)
		return REPLY_BYTES;
	if (served_filter(served) == NULL) {
		o->reply = o->owned = error_reply(served_reason(served));
		return strlen(o->reply) + REPLY_BYTES;
	}
	o->part = find_part(turn, served);
	part = &turn->parts[o->part];
	o->item = part->count++;
	part->digests[o->item] = served_digest(served, subkey);
	part->asks[o->item] = r->verb != VERB_SET && r->verb != VERB_ADD;
	return r->key.nbytes + REPLY_BYTES;
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
	else if (served_is_nearly_full(part->served))
		turn->nearly_full = 1;
	*served_slot(part->served) = -1;
}

/* The operation's outcome: 1 seen before, 0 new, -1 failed. */
static int
outcome(const struct turn *turn, const struct operation *o)
{
	const struct part *part = &turn->parts[o->part];

	return part->failed ? -1 : part->outcomes[o->item];
}

/* The error replaces the replies to the get line, or follows those sent. */
static void
fail_get(struct asker *asker, const char *text)
{
	replies_withdraw(&asker->replies);
	replies_line(&asker->replies, text);
	asker->get_failed = 1;
}

static void
answer_get(struct turn *turn, const struct operation *o, int result)
{
	static const char values[][16] = { " 0 1\r\n1\r\n", " 0 1 0\r\n1\r\n" };
	struct counters *counters = &turn->service->counters;
	struct replies *replies = &o->asker->replies;
	const char *value = values[o->with_cas];

	counters->cmd_get++;
	if (result > 0) {
		counters->get_hits++;
		replies_put(replies, "VALUE ", 6);
		replies_put(replies, o->key.data, o->key.nbytes);
		replies_put(replies, value, strlen(value));
	} else {
		counters->get_misses++;
	}
}

static void
answer_storage(struct turn *turn, const struct operation *o, int result)
{
	struct counters *counters = &turn->service->counters;
	int stored = 1;

	if (o->verb == VERB_SET) {
		counters->cmd_set++;
	} else if (o->verb == VERB_ADD) {
		counters->cmd_add++;
		stored = !result;
	} else {
		counters->cmd_replace++;
		stored = result;
	}
	if (o->noreply)
		return;
	if (stored)
		replies_put(&o->asker->replies, "STORED\r\n", 8);
	else
		replies_put(&o->asker->replies, "NOT_STORED\r\n", 12);
}

/* A get line begins with its first key, and ends with END or an error. */
static void
answer_in_get(struct turn *turn, const struct operation *o, int result,
    const char *failure)
{
	struct asker *asker = o->asker;

	if (!asker->in_get) {
		asker->in_get = 1;
		asker->get_failed = 0;
		replies_hold(&asker->replies);
	}
	if (o->verb != VERB_GET) {
		if (!asker->get_failed && failure != NULL)
			fail_get(asker, failure);
		else if (!asker->get_failed)
			replies_put(&asker->replies, "END\r\n", 5);
		replies_let_go(&asker->replies);
		asker->in_get = 0;
	} else if (!asker->get_failed && failure != NULL) {
		fail_get(asker, failure);
	} else if (!asker->get_failed) {
		answer_get(turn, o, result);
	}
}

static void
answer(struct turn *turn, const struct operation *o)
{
	int result = o->part < 0 ? 0 : outcome(turn, o);
	const char *failure = o->reply;
	char *owned = NULL;

	if (result < 0) {
		owned = error_reply(turn->parts[o->part].error.text);
		failure = owned;
	}
	if (o->verb == VERB_GET || o->verb == VERB_GET_END ||
	    o->asker->in_get)
		answer_in_get(turn, o, result, failure);
	else if (failure == NULL)
		answer_storage(turn, o, result);
	else if (!o->noreply && failure[0] != '\0')
		replies_line(&o->asker->replies, failure);
	free(owned);
}

void
turn_run(struct turn *turn)
{
	for (int i = 0; i < turn->part_count; i++)
		run_part(turn, &turn->parts[i]);
	for (size_t i = 0; i < turn->count; i++) {
		struct operation *o = &turn->operations[i];

		answer(turn, o);
		o->asker->owed = 0;
		free(o->owned);
	}
	turn->count = 0;
	turn->part_count = 0;
}

void
turn_idle(struct turn *turn)
{
	struct catalog *catalog = turn->service->catalog;

	if (!turn->nearly_full)
		return;
	turn->nearly_full = 0;
	for (size_t i = 0; i < catalog_count(catalog); i++)
		served_grow_ahead(catalog_at(catalog, i));
}
