#include "redis/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned
crc16(const char *at, size_t nbytes)
{
	unsigned crc = 0;

	for (size_t i = 0; i < nbytes; i++) {
		crc ^= (unsigned)(unsigned char)at[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
		crc &= 0xffff;
	}
	return crc;
}

unsigned
cluster_slot(const char *key, size_t nbytes)
{
	const char *open = memchr(key, '{', nbytes), *close;

	if (open != NULL) {
		size_t rest = nbytes - (size_t)(open + 1 - key);

		close = memchr(open + 1, '}', rest);
		if (close != NULL && close > open + 1) {
			key = open + 1;
			nbytes = (size_t)(close - key);
		}
	}
	return crc16(key, nbytes) % CLUSTER_SLOTS;
}

/* [host, port, ...] */
static int
read_node(const redisReply *node, struct cluster_address *address)
{
	const redisReply *host, *port;

	if (node->type != REDIS_REPLY_ARRAY || node->elements < 2)
		return -1;
	host = node->element[0];
	port = node->element[1];
	if (port->type != REDIS_REPLY_INTEGER || port->integer < 1 ||
	    port->integer > 65535)
		return -1;
	address->host[0] = '\0';
	if (host->type == REDIS_REPLY_STRING &&
	    host->len < sizeof address->host && strcmp(host->str, "?") != 0)
		memcpy(address->host, host->str, host->len + 1);
	address->port = (int)port->integer;
	return 0;
}

/* [first, last, master, replica...] */
static int
read_range(const redisReply *range, cluster_visit *visit, void *context)
{
	const redisReply *first, *last;
	struct cluster_address address;

	if (range->type != REDIS_REPLY_ARRAY || range->elements < 3)
		return -1;
	first = range->element[0];
	last = range->element[1];
	if (first->type != REDIS_REPLY_INTEGER ||
	    last->type != REDIS_REPLY_INTEGER || first->integer < 0 ||
	    last->integer < first->integer || last->integer >= CLUSTER_SLOTS)
		return -1;
	for (size_t i = 2; i < range->elements; i++) {
		if (read_node(range->element[i], &address) < 0)
			return -1;
		if (i == 2)
			visit(context, (unsigned)first->integer,
			    (unsigned)last->integer, &address);
		else
			visit(context, 1, 0, &address);
	}
	return 0;
}

int
cluster_read_slots(const redisReply *reply, cluster_visit *visit,
    void *context)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return -1;
	for (size_t i = 0; i < reply->elements; i++) {
		if (read_range(reply->element[i], visit, context) < 0)
			return -1;
	}
	return 0;
}

static int
begins(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 &&
	    (text[n] == ' ' || text[n] == '\0');
}

/* "MOVED SLOT HOST:PORT"; an IPv6 address has colons, too. */
static int
read_redirection(const char *text, struct cluster_address *address)
{
	const char *at = strchr(text, ' '), *colon;
	size_t host;

	at = at == NULL ? NULL : strchr(at + 1, ' ');
	colon = at == NULL ? NULL : strrchr(at, ':');
	if (colon == NULL)
		return -1;
	at++;
	host = (size_t)(colon - at);
	if (host >= sizeof address->host)
		return -1;
	memcpy(address->host, at, host);
	address->host[host] = '\0';
	address->port = atoi(colon + 1);
	return address->port > 0 && address->port <= 65535 ? 0 : -1;
}

enum cluster_advice
cluster_advice(const char *text, struct cluster_address *address)
{
	static const char *const wait[] = { "OOM", "READONLY", "CLUSTERDOWN",
		"NOREPLICAS", "BUSY", "LOADING", "MASTERDOWN", "MISCONF",
		"TRYAGAIN", "ERR max number of clients" };

	for (size_t i = 0; i < sizeof wait / sizeof *wait; i++) {
		if (begins(text, wait[i]))
			return CLUSTER_WAIT;
	}
	if (begins(text, "MOVED") && read_redirection(text, address) == 0)
		return CLUSTER_MOVED;
	if (begins(text, "ASK") && read_redirection(text, address) == 0)
		return CLUSTER_ASK;
	return CLUSTER_FAIL;
}
