#include "redis/nodes.h"

#include <stdlib.h>
#include <string.h>

struct node *
nodes_find(struct nodes *nodes, const char *host, int port)
{
	struct node **at = &nodes->first, *node;

	for (; (node = *at) != NULL; at = &node->next) {
		if (node->port == port && (host == NULL || node->host == NULL ?
		    host == node->host : strcmp(host, node->host) == 0))
			return node;
	}
	node = memory_or_die(malloc(sizeof *node));
	*node = (struct node){ .location = nodes->location, .port = port };
	if (host != NULL)
		node->host = memory_or_die(strdup(host));
	*at = node;
	return node;
}

struct node *
nodes_of_slot(struct nodes *nodes, unsigned slot)
{
	return nodes->cluster ? nodes->map[slot] : nodes->first;
}

void
nodes_free(struct nodes *nodes)
{
	struct node *node, *next;

	for (node = nodes->first; node != NULL; node = next) {
		next = node->next;
		node_close(node);
		free(node->host);
		free(node);
	}
}

/* The map of slots: what node `asked` replied to CLUSTER SLOTS */

/* [host, port, ...]; NULL: invalid. */
static struct node *
read_node(struct nodes *nodes, const struct node *asked,
    const redisReply *reply)
{
	const redisReply *host, *port;
	int known;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements < 2)
		return NULL;
	host = reply->element[0];
	port = reply->element[1];
	if (port->type != REDIS_REPLY_INTEGER || port->integer < 1 ||
	    port->integer > 65535)
		return NULL;
	known = host->type == REDIS_REPLY_STRING && host->len > 0 &&
	    strcmp(host->str, "?") != 0;
	return nodes_find(nodes, known ? host->str : asked->host,
	    (int)port->integer);
}

/* [first, last, master, replica...] */
static int
read_range(struct nodes *nodes, const struct node *asked,
    const redisReply *range)
{
	const redisReply *first, *last;

	if (range->type != REDIS_REPLY_ARRAY || range->elements < 3)
		return -1;
	first = range->element[0];
	last = range->element[1];
	if (first->type != REDIS_REPLY_INTEGER ||
	    last->type != REDIS_REPLY_INTEGER || first->integer < 0 ||
	    last->integer < first->integer || last->integer >= CLUSTER_SLOTS)
		return -1;
	/* Replicas are only added to the list. */
	for (size_t i = range->elements; i-- > 2; ) {
		struct node *node = read_node(nodes, asked, range->element[i]);

		if (node == NULL)
			return -1;
		for (long long slot = first->integer; i == 2 &&
		    slot <= last->integer; slot++)
			nodes->map[slot] = node;
	}
	return 0;
}

static int
read_slots(struct nodes *nodes, const struct node *asked,
    const redisReply *reply)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return -1;
	for (size_t i = 0; i < reply->elements; i++) {
		if (read_range(nodes, asked, reply->element[i]) < 0)
			return -1;
	}
	nodes->cluster = 1;
	return 0;
}

/* An error in place of the map: no cluster, or one that can't be used now. */
static int
take_refusal(const char *name, const char *text, struct error *error)
{
	if (strncmp(text, "NOAUTH", 6) == 0)
		return error_set(error, STATUS_USAGE, "%s: the server wants a"
		    " password (%s): put it into the environment variable"
		    " REDISCLI_AUTH", name, text);
	return strncmp(text, "LOADING", 7) != 0 ? 0 : error_set(error,
	    STATUS_FAILED, "%s: the server says: %s", name, text);
}

/* Ask a node for the map, over a connection of its own. */
static int
load_map_from(struct nodes *nodes, const struct node *node,
    struct error *error)
{
	const char *words[] = { "CLUSTER", "SLOTS" };
	const char *name = nodes->location->shown;
	redisContext *context = node_connect(node, error);
	redisReply *reply;
	int result = 0;

	if (context == NULL)
		return -1;
	reply = node_ask(node, context, words, 2, error);
	redisFree(context);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = take_refusal(name, reply->str, error);
	else if (read_slots(nodes, node, reply) < 0)
		result = error_set(error, STATUS_FAILED, "%s: the server's"
		    " reply to CLUSTER SLOTS is invalid", name);
	freeReplyObject(reply);
	return result;
}

int
nodes_load_map(struct nodes *nodes, struct error *error)
{
	for (const struct node *node = nodes->first; node != NULL;
	    node = node->next) {
		if (load_map_from(nodes, node, error) == 0) {
			nodes->stale = 0;
			return 0;
		}
		if (error->status == STATUS_USAGE)
			return -1;
	}
	return -1;
}
