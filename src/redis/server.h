/* A filter's place on a server: what all parts of redis.h need. */
#ifndef REDIS_SERVER_H
#define REDIS_SERVER_H

#include "disk/format.h"
#include "redis/address.h"
#include "redis/layout.h"
#include "redis/net.h"

struct server {
	struct address address;
	struct redis_net *net;
	struct redis_keys keys;
	unsigned slot; /* of all keys but chunks */
	struct window window;
	int finished;  /* the header says that there was a table */
};

#endif
