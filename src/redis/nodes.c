#include "redis/nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"

size_t
nodes_find(struct nodes *nodes, const char *host, int port)
{
	struct node *node;

	for (size_t i = 0; i < nodes->count; i++) {
		node = &nodes->list[i];
		if (node->port == port && (host == NULL || node->host == NULL ?
		    host == node->host : strcmp(host, node->host) == 0))
			return i;
	}
	nodes->list = memory_or_die(realloc(nodes->list,
	    (nodes->count + 1) * sizeof *nodes->list));
	node = &nodes->list[nodes->count];
	*node = (struct node){ .port = port };
	if (host != NULL)
		node->host = memory_or_die(strdup(host));
	/* Queues that are empty point into the array, which has moved. */
	for (size_t i = 0; i <= nodes->count; i++) {
		if (nodes->list[i].first == NULL)
			nodes->list[i].last = &nodes->list[i].first;
	}
	return nodes->count++;
}

struct node *
nodes_of_slot(struct nodes *nodes, unsigned slot)
{
	return &nodes->list[nodes->cluster ? nodes->map[slot] : 0];
}

void
nodes_free(struct nodes *nodes)
{
	for (size_t i = 0; i < nodes->count; i++) {
		connection_close(nodes->list[i].connection);
		free(nodes->list[i].host);
	}
	free(nodes->list);
	nodes->list = NULL;
	nodes->count = 0;
}

/* The map of slots */

struct map_reading {
	struct nodes *nodes;
	size_t asked; /* the node that sent it */
};

static void
take_range(void *context, unsigned first, unsigned last,
    const struct cluster_address *address)
{
	const struct map_reading *reading = context;
	struct nodes *nodes = reading->nodes;
	const char *host = address->host[0] != '\0' ? address->host :
	    nodes->list[reading->asked].host;
	size_t node = nodes_find(nodes, host, address->port);

	for (unsigned slot = first; slot <= last; slot++)
		nodes->map[slot] = (uint16_t)node;
}

/* An error in place of the map: no cluster, or one that can't be used now. */
static int
take_refusal(const char *name, const char *text, struct error *error)
{
	if (strncmp(text, "NOAUTH", 6) == 0)
		return error_set(error, STATUS_USAGE, "%s: the server wants a"
		    " password (%s): put it into the environment variable"
		    " REDISCLI_AUTH, or into a file for ?password-file=FILE",
		    name, text);
	if (strncmp(text, "LOADING", 7) != 0)
		return 0;
	error_set(error, STATUS_FAILED, "%s: the server says: %s", name,
	    text);
	error->errnum = EAGAIN;
	return -1;
}

/* Ask a node for the map, over a connection of its own. */
static int
load_map_from(struct nodes *nodes, size_t i, struct error *error)
{
	const char *name = nodes->location->shown;
	struct map_reading reading = { nodes, i };
	struct connection *connection;
	redisReply *reply;
	int result = -1;

	if (connection_open(&connection, nodes->location, nodes->list[i].host,
	    nodes->list[i].port, error) < 0)
		return -1;
	reply = connection_slots(connection, error);
	connection_close(connection);
	if (reply == NULL)
		return -1;
	if (reply->type == REDIS_REPLY_ERROR)
		result = take_refusal(name, reply->str, error);
	else if ((result = cluster_read_slots(reply, take_range,
	    &reading)) < 0)
		error_set(error, STATUS_FAILED, "%s: the server's reply to"
		    " CLUSTER SLOTS is invalid", name);
	else
		nodes->cluster = 1;
	freeReplyObject(reply);
	return result;
}

/* From the first node that answers; nodes that were used are asked first. */
int
nodes_load_map(struct nodes *nodes, struct error *error)
{
	size_t count = nodes->count;

	for (int used = 1; used >= 0; used--) {
		for (size_t i = 0; i < count; i++) {
			if (nodes->list[i].used != used)
				continue;
			if (load_map_from(nodes, i, error) == 0) {
				nodes->stale = 0;
				return 0;
			}
			if (error->status == STATUS_USAGE)
				return -1;
		}
	}
	return -1;
}

/* A node's queue */

void
node_append(struct node *node, struct request *request)
{
	request->next = NULL;
	*node->last = request;
	node->last = &request->next;
	if (node->unsent == NULL)
		node->unsent = request;
}

struct request *
node_shift(struct node *node)
{
	struct request *request = node->first;

	node->first = request->next;
	if (node->first == NULL)
		node->last = &node->first;
	return request;
}

struct request *
node_take_all(struct node *node)
{
	struct request *first = node->first;

	node->first = node->unsent = NULL;
	node->last = &node->first;
	return first;
}

int
node_send(struct node *node, size_t *sent, struct error *error)
{
	struct iovec parts[REQUEST_PARTS];
	size_t left;
	int count;

	if (node->unsent == node->first && node->first->sent == 0)
		node->heard = clock_now();
	count = request_gather(node->unsent, parts);
	if (connection_send(node->connection, parts, count, sent, error) < 0)
		return -1;
	left = *sent;
	while (left > 0) {
		struct request *request = node->unsent;
		size_t rest = request_length(request) - request->sent;
		size_t some = left < rest ? left : rest;

		request->sent += some;
		left -= some;
		if (some == rest)
			node->unsent = request->next;
	}
	return 0;
}
