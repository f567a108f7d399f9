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

static int
begins(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 &&
	    (text[n] == ' ' || text[n] == '\0');
}

/* "MOVED SLOT HOST:PORT"; an IPv6 address has colons, too. */
static int
read_redirection(const char *text, char host[256], int *port)
{
	const char *at = strchr(text, ' '), *colon;

	at = at == NULL ? NULL : strchr(at + 1, ' ');
	colon = at == NULL ? NULL : strrchr(at, ':');
	if (colon == NULL || colon - at > 256)
		return -1;
	snprintf(host, 256, "%.*s", (int)(colon - at - 1), at + 1);
	*port = atoi(colon + 1);
	return *port > 0 && *port <= 65535 ? 0 : -1;
}

enum cluster_advice
cluster_advice(const char *text, char host[256], int *port)
{
	static const char *const wait[] = { "READONLY", "CLUSTERDOWN",
		"NOREPLICAS", "BUSY", "LOADING", "MASTERDOWN", "MISCONF",
		"TRYAGAIN", "ERR max number of clients" };

	for (size_t i = 0; i < sizeof wait / sizeof *wait; i++) {
		if (begins(text, wait[i]))
			return CLUSTER_WAIT;
	}
	if (begins(text, "MOVED") && read_redirection(text, host, port) == 0)
		return CLUSTER_MOVED;
	if (begins(text, "ASK") && read_redirection(text, host, port) == 0)
		return CLUSTER_ASK;
	return CLUSTER_FAIL;
}
