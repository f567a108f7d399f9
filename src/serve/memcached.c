/*
 * Carries out memcached's requests (protocol.h), and writes the replies. Those
 * about the server or a whole filter are in admin.c.
 */
#include <string.h>

#include "serve/admin.h"
#include "serve/catalog.h"
#include "serve/client.h"
#include "serve/sweep.h"

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

/*
 * Is it about the server or a whole filter? Then it is carried out by itself.
 */
static int
is_alone(const struct request *r)
{
	if (r->verb == VERB_ADD) /* of a filter */
		return memchr(r->key.data, '|', r->key.nbytes) == NULL;
	return r->verb != VERB_SET && r->verb != VERB_REPLACE &&
	    r->verb != VERB_FAILED;
}

/* Why the request can't be carried out; NULL if it can. */
static const char *
refusal(struct service *service, const struct request *r, struct bytes name,
    int divided, struct served **served)
{
	if (service->plan->read_only &&
	    (r->verb == VERB_SET || r->verb == VERB_ADD))
		return "CLIENT_ERROR this server is read-only";
	if (r->key.nbytes > service->plan->limits.key)
		return "CLIENT_ERROR key too long";
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

/* Add a request about a subkey to the sweep. */
static void
add(struct client *client, const struct request *r)
{
	struct service *service = client->service;
	struct operation o = { .request = *r, .reply = r->reply,
		.asks = r->verb != VERB_SET && r->verb != VERB_ADD };
	struct bytes name;
	int divided;

	if (r->verb != VERB_GET_END && r->verb != VERB_FAILED) {
		divided = divide(r->key, &name, &o.subkey);
		if (o.subkey.nbytes == 0 && r->verb != VERB_GET)
			o.subkey = r->value;
		o.reply = refusal(service, r, name, divided, &o.served);
	}
	sweep_add(service->sweep, client, &o);
}

/* Add each key of a get line, and its end. */
static void
add_get(struct client *client, const struct request *r)
{
	struct request one = *r;
	struct bytes keys = r->key;

	while ((one.key = bytes_next_word(&keys)).nbytes > 0)
		add(client, &one);
	one.verb = VERB_GET_END;
	add(client, &one);
}

size_t
memcached_take(struct client *client, const uint8_t *data, size_t nbytes,
    int *more)
{
	struct service *service = client->service;
	struct request request;
	size_t n = protocol_next(&client->protocol, &service->plan->limits,
	    data, nbytes, &request);

	*more = request.verb == VERB_MORE;
	if (*more)
		return n;
	if (request.verb == VERB_GET) {
		add_get(client, &request);
	} else if (is_alone(&request)) {
		sweep_run(service->sweep);
		admin_answer(client, &request);
		client->paused = 1;
	} else {
		add(client, &request);
	}
	client->hang_up |= request.hang_up;
	return n;
}

/*
 * "CLIENT_ERROR" and a reason, on one line. After SERVER_ERROR, many clients
 * drop the server, with all of its filters.
 */
static void
put_failure(struct buffer *replies, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->reply != NULL)
		buffer_line(replies, o->reply);
	else
		buffer_reason(replies, "CLIENT_ERROR ", outcome->failure);
}
static void
answer_get(struct client *client, const struct operation *o, int seen)
{
	static const char values[][16] = { " 0 1\r\n1\r\n", " 0 1 0\r\n1\r\n" };
	struct buffer *replies = &client->replies;
	const char *value = values[o->request.with_cas];
	struct bytes key = o->request.key;

	if (!seen)
		return;
	buffer_put(replies, "VALUE ", 6);
	buffer_put(replies, key.data, key.nbytes);
	buffer_put(replies, value, strlen(value));
}

static void
answer_storage(struct client *client, const struct request *r, int seen)
{
	if (r->noreply)
		return;
	if (r->verb == VERB_SET || seen == (r->verb == VERB_REPLACE))
		buffer_put(&client->replies, "STORED\r\n", 8);
	else
		buffer_put(&client->replies, "NOT_STORED\r\n", 12);
}

/* A get line ends with END or, before the other keys, with an error. */
static void
answer_in_get(struct client *client, const struct operation *o,
    const struct outcome *outcome, int failed)
{
	int ends = o->request.verb == VERB_GET_END;

	if (!client->get_failed && failed)
		put_failure(&client->replies, o, outcome);
	else if (!client->get_failed && ends)
		buffer_put(&client->replies, "END\r\n", 5);
	else if (!client->get_failed)
		answer_get(client, o, outcome->seen);
	client->get_failed = !ends && (client->get_failed || failed);
}

void
memcached_answer(struct client *client, const struct operation *o,
    const struct outcome *outcome)
{
	const struct request *r = &o->request;
	int failed = o->reply != NULL || outcome->failure != NULL;

	if (r->verb == VERB_GET || r->verb == VERB_GET_END)
		answer_in_get(client, o, outcome, failed);
	else if (!failed)
		answer_storage(client, r, outcome->seen);
	else if (!r->noreply && (o->reply == NULL || o->reply[0] != '\0'))
		put_failure(&client->replies, o, outcome);
}
