#include "serve/memcached.h"

#include <string.h>

#include "serve/catalog.h"

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
memcached_is_alone(const struct request *r)
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

/* Why the request can't be carried out; NULL if it can. */
static const char *
refusal(struct service *service, const struct request *r, struct bytes name,
    int divided, struct served **served)
{
	if (service->plan->read_only &&
	    (r->verb == VERB_SET || r->verb == VERB_ADD))
		return "CLIENT_ERROR this server is read-only";
	if (!divided && r->verb != VERB_SET)
		return "CLIENT_ERROR a key is FILTER|SUBKEY";
	*served = catalog_find(service->catalog, name);
	if (*served != NULL)
		return NULL;
	if (!catalog_is_name(name))
		return "CLIENT_ERROR not a filter's name";
	catalog_refuse(service->catalog, name);
	return "CLIENT_ERROR no such filter";
}

void
memcached_add(struct service *service, struct sweep *sweep,
    struct asker *asker, const struct request *r)
{
	struct operation o = { .verb = r->verb, .noreply = r->noreply,
		.with_cas = r->with_cas, .key = r->key, .reply = r->reply,
		.asks = r->verb != VERB_SET && r->verb != VERB_ADD };
	struct bytes name;
	int divided;

	if (r->verb != VERB_GET_END && r->verb != VERB_FAILED) {
		divided = divide(r->key, &name, &o.subkey);
		if (o.subkey.nbytes == 0 && r->verb != VERB_GET)
			o.subkey = r->value;
		o.reply = refusal(service, r, name, divided, &o.served);
	}
	service->counters.refused += o.reply != NULL;
	sweep_add(sweep, asker, &o);
}

/*
 * "CLIENT_ERROR" and a reason, on one line. After SERVER_ERROR, many clients
 * drop the server, with all of its filters.
 */
static void
put_failure(struct replies *replies, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->reply != NULL) {
		replies_line(replies, o->reply);
	} else {
		replies_put(replies, "CLIENT_ERROR ", 13);
		replies_text(replies, outcome->failure);
		replies_put(replies, "\r\n", 2);
	}
}

/* The error replaces the replies to the get line, or follows those sent. */
static void
fail_get(struct asker *asker, const struct operation *o,
    const struct outcome *outcome)
{
	replies_withdraw(&asker->replies);
	put_failure(&asker->replies, o, outcome);
	asker->get_failed = 1;
}

static void
answer_get(struct service *service, struct asker *asker,
    const struct operation *o, int seen)
{
	static const char values[][16] = { " 0 1\r\n1\r\n", " 0 1 0\r\n1\r\n" };
	struct counters *counters = &service->counters;
	struct replies *replies = &asker->replies;
	const char *value = values[o->with_cas];

	counters->cmd_get++;
	if (seen) {
		counters->get_hits++;
		replies_put(replies, "VALUE ", 6);
		replies_put(replies, o->key.data, o->key.nbytes);
		replies_put(replies, value, strlen(value));
	} else {
		counters->get_misses++;
	}
}

static void
answer_storage(struct service *service, struct asker *asker,
    const struct operation *o, int seen)
{
	service->counters.cmd_set++;
	if (o->noreply)
		return;
	if (o->verb == VERB_SET || seen == (o->verb == VERB_REPLACE))
		replies_put(&asker->replies, "STORED\r\n", 8);
	else
		replies_put(&asker->replies, "NOT_STORED\r\n", 12);
}

/* A get line begins with its first key, and ends with END or an error. */
static void
answer_in_get(struct service *service, struct asker *asker,
    const struct operation *o, const struct outcome *outcome, int failed)
{
	if (!asker->in_get) {
		asker->in_get = 1;
		asker->get_failed = 0;
		replies_hold(&asker->replies);
	}
	if (failed && !asker->get_failed)
		fail_get(asker, o, outcome);
	else if (!asker->get_failed && o->verb == VERB_GET)
		answer_get(service, asker, o, outcome->seen);
	else if (!asker->get_failed)
		replies_put(&asker->replies, "END\r\n", 5);
	if (o->verb != VERB_GET) {
		replies_let_go(&asker->replies);
		asker->in_get = 0;
	}
}

void
memcached_answer(struct service *service, struct asker *asker,
    const struct operation *o, const struct outcome *outcome)
{
	int failed = o->reply != NULL || outcome->failure != NULL;

	if (o->verb == VERB_GET || o->verb == VERB_GET_END || asker->in_get)
		answer_in_get(service, asker, o, outcome, failed);
	else if (!failed)
		answer_storage(service, asker, o, outcome->seen);
	else if (!o->noreply && (o->reply == NULL || o->reply[0] != '\0'))
		put_failure(&asker->replies, o, outcome);
}
