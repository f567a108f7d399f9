#include "redis/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "base/number.h"
#include "redis/connect.h"

unsigned
cluster_slot(const char *key, size_t nbytes)
{
	const char *open = memchr(key, '{', nbytes), *close = NULL;
	unsigned crc = 0;

	if (open != NULL)
		close = memchr(open + 1, '}',
		    nbytes - (size_t)(open + 1 - key));
	if (close != NULL && close > open + 1) {
		key = open + 1;
		nbytes = (size_t)(close - key);
	}
	for (size_t i = 0; i < nbytes; i++) {
		crc ^= (unsigned)(unsigned char)key[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
		crc &= 0xffff;
	}
	return crc % CLUSTER_SLOTS;
}

/* Are these the same host? NULL stands for the socket of the location. */
static int
same_host(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

struct node *
cluster_node(struct cluster *c, const char *host, int port)
{
	struct node **at = &c->first, *node;

	for (; (node = *at) != NULL; at = &node->next) {
		if (node->port == port && same_host(host, node->host))
			return node;
	}
	node = memory_or_die(malloc(sizeof *node));
	*node = (struct node){ .location = c->location, .port = port,
		.window = NODE_WINDOW };
	if (host != NULL)
		node->host = memory_or_die(strdup(host));
	*at = node;
	return node;
}

void
cluster_append(struct cluster *c, struct net_request *request)
{
	struct node *node = request->node;

	if (node == NULL && c->has_map)
		node = c->map[request->slot];
	/* Without a map, it has all slots; else it says that nobody has it. */
	if (node == NULL)
		node = c->home;
	node_append(node, request);
}

void
cluster_free(struct cluster *c)
{
	struct node *node, *next;

	for (node = c->first; node != NULL; node = next) {
		next = node->next;
		queue_free(node_close(node));
		free(node->host);
		free(node);
	}
}

/* The map of slots */

/* The node that [host, port, ...] names, or NULL. One without a host's name is
 * at that of the node that was asked. */
static struct node *
read_node(struct cluster *c, const struct node *asked,
    const redisReply *reply)
{
	const redisReply *host, *port;
	const char *name = asked->host;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
		return NULL;
	host = reply->element[0];
	port = reply->element[1];
	if (port->type != REDIS_REPLY_INTEGER || port->integer < 1 ||
	    port->integer > 65535)
		return NULL;
	if (host->type == REDIS_REPLY_STRING && host->len > 0 &&
	    strcmp(host->str, "?") != 0)
		name = host->str;
	return cluster_node(c, name, (int)port->integer);
}

/*
 * Read a range of slots, [first, last, master, replica...]: the master has the
 * slots from `first` to `last`. Replicas are only added to the list of nodes.
 */
static int
read_range(struct cluster *c, const struct node *asked,
    const redisReply *range)
{
	const redisReply *first, *last;
	struct node *master;

	if (range->type != REDIS_REPLY_ARRAY || range->elements < 3)
		return -1;
	first = range->element[0];
	last = range->element[1];
	if (first->type != REDIS_REPLY_INTEGER ||
	    last->type != REDIS_REPLY_INTEGER || first->integer < 0 ||
	    last->integer < first->integer || last->integer >= CLUSTER_SLOTS)
		return -1;
	for (size_t i = 3; i < range->elements; i++) {
		if (read_node(c, asked, range->element[i]) == NULL)
			return -1;
	}
	master = read_node(c, asked, range->element[2]);
	if (master == NULL)
		return -1;
	for (long long slot = first->integer; slot <= last->integer; slot++)
		c->map[slot] = master;
	return 0;
}

static int
begins_with(const char *text, const char *word)
{
	return strncmp(text, word, strlen(word)) == 0;
}

/*
 * A node has no map. Most errors come from a server that is no cluster, or one
 * that can't be used now. Returns 0 if this may be a single server.
 */
static int
no_map(const struct cluster *c, const char *text, struct error *error)
{
	const char *name = c->location->shown;

	if (begins_with(text, "NOAUTH"))
		return error_set(error, STATUS_USAGE, "%s: the server requires"
		    " a password (%s): set the environment variable"
		    " REDISCLI_AUTH", name, text);
	if (begins_with(text, "LOADING"))
		return error_set(error, STATUS_FAILED, "%s: the server says:"
		    " %s", name, text);
	/* A single server has all keys: nobody asks it where they are. */
	if (begins_with(text, "NOPERM") && (c->stale || c->location->count >
	    1))
		return error_set(error, STATUS_USAGE, "%s: this is a cluster,"
		    " and the user lacks the right to ask where its keys are:"
		    " give it +cluster|slots (the server says: %s)", name,
		    text);
	if (c->location->count > 1)
		return error_set(error, STATUS_USAGE, "%s: several hosts are"
		    " for a cluster, but one of them is a single server (it"
		    " says: %s)", name, text);
	return 0;
}

/* Ask a node for the map, over a connection of its own. */
static int
load_map_from(struct cluster *c, const struct node *node, uint64_t patience,
    struct error *error)
{
	const char *words[] = { "CLUSTER", "SLOTS" };
	redisContext *context = connect_to(c->location, node->host, node->port,
	    patience, error);
	redisReply *reply;
	int result = 0;

	if (context == NULL)
		return -1;
	reply = connect_ask(c->location, context, words, 2, patience, error);
	redisFree(context);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR) {
		result = no_map(c, reply->str, error);
		freeReplyObject(reply);
		return result;
	}
	if (reply->type != REDIS_REPLY_ARRAY)
		result = -1;
	for (size_t i = 0; result == 0 && i < reply->elements; i++)
		result = read_range(c, node, reply->element[i]);
	freeReplyObject(reply);
	if (result < 0)
		return error_set(error, STATUS_FAILED, "%s: the server's reply"
		    " to CLUSTER SLOTS is invalid", c->location->shown);
	c->has_map = 1;
	return 0;
}

int
cluster_load_map(struct cluster *c, uint64_t patience, struct error *error)
{
	for (struct node *node = c->first; node != NULL;
	    node = node->next) {
		if (load_map_from(c, node, patience, error) == 0) {
			c->home = node;
			c->stale = 0;
			return 0;
		}
		if (error->status == STATUS_USAGE)
			return -1;
	}
	return -1;
}

/* Errors */

/* "MOVED SLOT HOST:PORT", where an IPv6 address has no brackets (so it isn't
 * what base/host.h divides). */
static int
read_redirection(const char *text, char host[256], int *port)
{
	const char *at = strchr(text, ' '), *colon, *port_at;
	uint64_t number;

	if (at != NULL)
		at = strchr(at + 1, ' ');
	if (at == NULL)
		return -1;
	colon = strrchr(at, ':');
	if (colon == NULL || colon - at > 256)
		return -1;
	snprintf(host, 256, "%.*s", (int)(colon - at - 1), at + 1);
	port_at = colon + 1;
	if (number_digits(&port_at, NULL, HOST_PORT_MAX, &number) < 0 ||
	    number == 0)
		return -1;
	*port = (int)number;
	return 0;
}

/*
 * What a server answers instead of carrying out a request: the row whose word
 * the error begins with, or NULL.
 */
static const struct refusal {
	const char *word;
	enum cluster_advice advice;
} *
refusal_of(const char *text)
{
	static const struct refusal refusals[] = {
		{ "MOVED", CLUSTER_MOVED },
		{ "ASK", CLUSTER_ASK },
		{ "READONLY", CLUSTER_WAIT },
		{ "CLUSTERDOWN", CLUSTER_WAIT },
		{ "NOREPLICAS", CLUSTER_WAIT },
		{ "BUSY", CLUSTER_WAIT },
		{ "LOADING", CLUSTER_WAIT },
		{ "MASTERDOWN", CLUSTER_WAIT },
		{ "MISCONF", CLUSTER_WAIT },
		{ "TRYAGAIN", CLUSTER_WAIT },
		{ "ERR max number of clients", CLUSTER_WAIT },
		{ "OOM", CLUSTER_FAIL },
		{ "NOPERM", CLUSTER_FAIL },
		{ "NOAUTH", CLUSTER_FAIL },
		{ "WRONGTYPE", CLUSTER_FAIL },
		{ "EXECABORT", CLUSTER_FAIL }
	};

	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		size_t n = strlen(refusals[i].word);

		if (strncmp(text, refusals[i].word, n) == 0 &&
		    (text[n] == ' ' || text[n] == '\0'))
			return &refusals[i];
	}
	return NULL;
}

enum cluster_advice
cluster_advice(const char *text, char host[256], int *port)
{
	const struct refusal *refusal = refusal_of(text);

	if (refusal == NULL)
		return CLUSTER_FAIL;
	if ((refusal->advice == CLUSTER_MOVED ||
	    refusal->advice == CLUSTER_ASK) &&
	    read_redirection(text, host, port) < 0)
		return CLUSTER_FAIL;
	return refusal->advice;
}

int
cluster_refuses(const char *text)
{
	return refusal_of(text) != NULL;
}
