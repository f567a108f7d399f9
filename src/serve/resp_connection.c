/* What clients of Redis send by themselves, and what people try first. */
#include "serve/resp_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "serve/catalog.h"

/* The Redis whose replies these are: clients choose their requests by it. */
#define LIKE_REDIS "7.2.0"
#define WRONG_PASSWORD "WRONGPASS invalid username-password pair or user is" \
	" disabled."

static void
ping(struct resp *r)
{
	if (r->kept > 1)
		resp_put_bulk(r->client, resp_kept(r, 1).data,
		    resp_kept(r, 1).nbytes);
	else
		resp_put_simple(r->client, "PONG");
}

static void
select_database(struct resp *r)
{
	int64_t number;

	if (resp_integer(r, 1, &number) < 0)
		resp_refuse(r, "ERR value is not an integer or out of range");
	else if (number != 0)
		resp_refuse(r, "ERR DB index is out of range");
	else
		resp_put_simple(r->client, "OK");
}

static void
quit(struct resp *r)
{
	resp_put_simple(r->client, "OK");
	r->client->hang_up = 1;
}

/* There is no password: so any is right for the user that all are. */
static void
authenticate(struct resp *r)
{
	if (r->kept == 2)
		resp_refuse(r, "ERR AUTH <password> called without"
		    " any password configured for the default user. Are you"
		    " sure your configuration is correct?");
	else if (resp_is(r, 1, "DEFAULT"))
		resp_put_simple(r->client, "OK");
	else
		resp_refuse(r, WRONG_PASSWORD);
}

/* Word i is the client's name; -1 if it can't be, and is refused. */
static int
set_name(struct resp *r, unsigned i)
{
	struct bytes name = resp_kept(r, i);

	for (size_t j = 0; j < name.nbytes; j++) {
		if (name.data[j] >= '!' && name.data[j] <= '~')
			continue;
		resp_refuse(r, "ERR Client names cannot contain spaces,"
		    " newlines or special characters.");
		return -1;
	}
	free(r->name);
	r->name = name.nbytes == 0 ? NULL :
	    memory_or_die(strdup(resp_string(r, i)));
	return 0;
}

static void
client(struct resp *r)
{
	if (resp_is(r, 1, "ID") && r->kept == 2) {
		resp_put_integer(r->client, r->id);
	} else if (resp_is(r, 1, "GETNAME") && r->kept == 2) {
		if (r->name == NULL)
			resp_put_null(r->client);
		else
			resp_put_text(r->client, r->name);
	} else if (resp_is(r, 1, "SETNAME") && r->kept == 3) {
		if (set_name(r, 2) == 0)
			resp_put_simple(r->client, "OK");
	} else if (resp_is(r, 1, "SETINFO") && r->kept == 4) {
		resp_put_simple(r->client, "OK");
	} else {
		resp_refuse(r, "ERR unknown subcommand '%.128s'. Try CLIENT"
		    " HELP.", resp_string(r, 1));
	}
}

static void
say_hello(struct resp *r)
{
	struct client *client = r->client;

	resp_put_map(client, 7);
	resp_put_text(client, "server");
	resp_put_text(client, "bloomdedup");
	resp_put_text(client, "version");
	resp_put_text(client, LIKE_REDIS);
	resp_put_text(client, "proto");
	resp_put_integer(client, client->resp3 ? 3 : 2);
	resp_put_text(client, "id");
	resp_put_integer(client, r->id);
	resp_put_text(client, "mode");
	resp_put_text(client, "standalone");
	resp_put_text(client, "role");
	resp_put_text(client, "master");
	resp_put_text(client, "modules");
	resp_put_array(client, 0);
}

/* Options of HELLO. Returns the place of SETNAME's name, 0, or -1. */
static int
parse_hello(struct resp *r)
{
	int name = 0;

	for (unsigned i = 2; i < r->kept; i++) {
		unsigned left = r->kept - i - 1;

		if (resp_is(r, i, "AUTH") && left >= 2) {
			if (!resp_is(r, i + 1, "DEFAULT")) {
				resp_refuse(r, WRONG_PASSWORD);
				return -1;
			}
			i += 2;
		} else if (resp_is(r, i, "SETNAME") && left >= 1) {
			name = (int)++i;
		} else {
			resp_refuse(r, "ERR Syntax error in HELLO option"
			    " '%.128s'", resp_string(r, i));
			return -1;
		}
	}
	return name;
}

static void
hello(struct resp *r)
{
	int64_t version = r->client->resp3 ? 3 : 2;
	int name = parse_hello(r);

	if (r->kept > 1 && resp_integer(r, 1, &version) < 0)
		resp_refuse(r, "ERR Protocol version is not an integer or out"
		    " of range");
	else if (version != 2 && version != 3)
		resp_refuse(r, "NOPROTO unsupported protocol version");
	if (r->refusal != NULL || (name > 0 && set_name(r, (unsigned)name) < 0))
		return;
	r->client->resp3 = version == 3;
	say_hello(r);
}

static void
info(struct resp *r)
{
	const struct service *service = r->client->service;
	const struct counters *c = &service->counters;
	char text[1024];
	int n = snprintf(text, sizeof text, "# Server\r\n"
	    "redis_version:" LIKE_REDIS "\r\nredis_mode:standalone\r\n"
	    "bloomdedup_version:%s\r\narch_bits:%zu\r\nprocess_id:%ld\r\n"
	    "uptime_in_seconds:%" PRIu64 "\r\n\r\n# Clients\r\n"
	    "connected_clients:%" PRIu64 "\r\nmaxclients:%" PRIu64 "\r\n\r\n"
	    "# Memory\r\nused_memory:%" PRIu64 "\r\nmaxmemory:%" PRIu64
	    "\r\n\r\n# Persistence\r\nloading:0\r\n\r\n# Stats\r\n"
	    "total_connections_received:%" PRIu64 "\r\nkeyspace_hits:%" PRIu64
	    "\r\nkeyspace_misses:%" PRIu64 "\r\n\r\n# Replication\r\n"
	    "role:master\r\nconnected_slaves:0\r\n\r\n# Cluster\r\n"
	    "cluster_enabled:0\r\n\r\n# Keyspace\r\n"
	    "db0:keys=%zu,expires=0,avg_ttl=0\r\n",
	    strrchr(service->plan->version, '-') + 1, 8 * sizeof(void *),
	    (long)getpid(), (clock_now() - service->started) / CLOCK_SECOND,
	    c->curr_connections, service->plan->connections,
	    service->catalog->pool.bytes, service->catalog->pool.limit,
	    c->total_connections, c->get_hits, c->get_misses,
	    service->catalog->count);

	if (r->client->resp3) {
		replies_format(&r->client->replies, "=%d\r\ntxt:", n + 4);
		replies_put(&r->client->replies, text, (size_t)n);
		replies_put(&r->client->replies, "\r\n", 2);
	} else {
		resp_put_bulk(r->client, text, (size_t)n);
	}
}

const struct resp_command resp_connection_commands[] = {
	{ .name = "ping", .least = 1, .most = 2, .end = ping },
	{ .name = "echo", .least = 2, .most = 2, .end = ping },
	{ .name = "hello", .least = 1, .most = 7, .end = hello },
	{ .name = "auth", .least = 2, .most = 3, .end = authenticate },
	{ .name = "select", .least = 2, .most = 2, .end = select_database },
	{ .name = "client", .least = 2, .end = client },
	{ .name = "info", .least = 1, .end = info },
	{ .name = "quit", .at_once = 1, .least = 1, .end = quit },
	{ .name = NULL }
};
