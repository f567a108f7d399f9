/* What clients of Redis send by themselves, and what people try first. */
#include "serve/resp_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "serve/catalog.h"

/* The Redis whose replies these are: clients choose their requests by it. */
#define LIKE_REDIS "7.2.0"
#define WRONG_PASSWORD "WRONGPASS invalid username-password pair or user is" \
	" disabled."

static void
connection_ping(struct resp *resp)
{
	if (resp->kept > 1)
		resp_put_bulk(resp, resp_kept(resp, 1).data,
		    resp_kept(resp, 1).nbytes);
	else
		resp_put_simple(resp, "PONG");
}

static void
connection_select(struct resp *resp)
{
	int64_t number;

	if (bytes_to_integer(resp_kept(resp, 1), 1, &number) < 0)
		resp_refuse(resp,
		    "ERR value is not an integer or out of range");
	else if (number != 0)
		resp_refuse(resp, "ERR DB index is out of range");
	else
		resp_put_simple(resp, "OK");
}

static void
connection_quit(struct resp *resp)
{
	resp_put_simple(resp, "OK");
	client_end(resp->client);
}

/* There is no password: so any is right for the user that all are. */
static void
connection_authenticate(struct resp *resp)
{
	if (resp->kept == 2)
		resp_refuse(resp, "ERR AUTH <password> called without"
		    " any password configured for the default user. Are you"
		    " sure your configuration is correct?");
	else if (resp_is(resp, 1, "DEFAULT"))
		resp_put_simple(resp, "OK");
	else
		resp_refuse(resp, WRONG_PASSWORD);
}

/* Word i is the client's name, of printable ASCII as in Redis. */
static void
set_name(struct resp *resp, unsigned i)
{
	struct bytes name = resp_kept(resp, i);

	for (size_t j = 0; j < name.nbytes; j++) {
		if (name.data[j] < '!' || name.data[j] > '~') {
			resp_refuse(resp,
			    "ERR Client names cannot contain spaces,"
			    " newlines or special characters.");
			return;
		}
	}
	free(resp->name);
	resp->name = memory_or_die(strdup(resp_string(resp, i)));
}

static void
connection_client(struct resp *resp)
{
	if (resp_is(resp, 1, "ID") && resp->kept == 2) {
		resp_put_integer(resp, resp->id);
	} else if (resp_is(resp, 1, "GETNAME") && resp->kept == 2) {
		if (resp->name == NULL || resp->name[0] == '\0')
			resp_put_null(resp);
		else
			resp_put_text(resp, resp->name);
	} else if (resp_is(resp, 1, "SETNAME") && resp->kept == 3) {
		set_name(resp, 2);
		if (resp->refusal == NULL)
			resp_put_simple(resp, "OK");
	} else if (resp_is(resp, 1, "SETINFO") && resp->kept == 4) {
		resp_put_simple(resp, "OK");
	} else {
		resp_refuse(resp, "ERR unknown subcommand '%.128s'",
		    resp_string(resp, 1));
	}
}

/* The version of the protocol that HELLO asks for: that in use if for none. */
static int64_t
take_version(struct resp *resp)
{
	int64_t version = resp->resp3 ? 3 : 2;

	if (resp->kept > 1 && bytes_to_integer(resp_kept(resp, 1), 1,
	    &version) < 0)
		version = 0;
	if (version != 2 && version != 3)
		resp_refuse(resp, "NOPROTO unsupported protocol version");
	return version;
}

/* An option of HELLO, from word i on. Returns its last word. */
static unsigned
take_hello_option(struct resp *resp, unsigned i)
{
	unsigned left = resp->kept - i - 1;

	if (resp_is(resp, i, "AUTH") && left >= 2) {
		if (!resp_is(resp, i + 1, "DEFAULT"))
			resp_refuse(resp, WRONG_PASSWORD);
		return i + 2;
	}
	if (resp_is(resp, i, "SETNAME") && left >= 1) {
		set_name(resp, i + 1);
		return i + 1;
	}
	resp_refuse(resp, "ERR Syntax error in HELLO option '%.128s'",
	    resp_string(resp, i));
	return i;
}

static void
connection_hello(struct resp *resp)
{
	static const char *const texts[] = { "server", "bloomdedup",
		"version", LIKE_REDIS, "mode", "standalone", "role", "master" };
	int64_t version = take_version(resp);

	for (unsigned i = 2; i < resp->kept && resp->refusal == NULL; i++)
		i = take_hello_option(resp, i);
	if (resp->refusal != NULL)
		return;
	resp->resp3 = version == 3;
	resp_put_map(resp, 7);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		resp_put_text(resp, texts[i]);
	resp_put_text(resp, "proto");
	resp_put_integer(resp, (uint64_t)version);
	resp_put_text(resp, "id");
	resp_put_integer(resp, resp->id);
	resp_put_text(resp, "modules");
	resp_put_array(resp, 0);
}

static void
connection_info(struct resp *resp)
{
	const struct service *service = resp->client->service;
	const struct counters *c = &service->counters;
	char text[1024];
	int n = snprintf(text, sizeof text, "# Server\r\n"
	    "redis_version:" LIKE_REDIS "\r\nredis_mode:standalone\r\n"
	    "uptime_in_seconds:%" PRIu64 "\r\nconnected_clients:%" PRIu64
	    "\r\nused_memory:%" PRIu64 "\r\nmaxmemory:%" PRIu64
	    "\r\nloading:0\r\ntotal_connections_received:%" PRIu64
	    "\r\nkeyspace_hits:%" PRIu64 "\r\nkeyspace_misses:%" PRIu64
	    "\r\nrole:master\r\ncluster_enabled:0\r\n\r\n# Keyspace\r\n"
	    "db0:keys=%zu,expires=0,avg_ttl=0\r\n",
	    (clock_now() - service->started) / CLOCK_SECOND,
	    c->curr_connections, service->catalog->pool.bytes,
	    service->catalog->pool.limit, c->total_connections, c->get_hits,
	    c->get_misses, service->catalog->count);

	resp_put_bulk(resp, text, (size_t)n);
}

static size_t
count_commands(const struct resp *resp)
{
	int leases = resp->client->service->leases != NULL;
	struct resp_position position = { 0 };
	size_t count = 0;

	while (resp_command_next(&position, leases) != NULL)
		count++;
	return count;
}

static void
list_commands(struct resp *resp)
{
	int leases = resp->client->service->leases != NULL;
	struct resp_position position = { 0 };
	const struct resp_command *command;

	resp_put_array(resp, count_commands(resp));
	while ((command = resp_command_next(&position, leases)) != NULL)
		resp_put_text(resp, command->name);
}

/*
 * Clients use COMMAND and COMMAND DOCS to help people; without an entry they
 * send what they get.
 */
static void
connection_commands(struct resp *resp)
{
	if (resp_is(resp, 1, "COUNT") && resp->kept == 2)
		resp_put_integer(resp, count_commands(resp));
	else if (resp_is(resp, 1, "LIST") && resp->kept == 2)
		list_commands(resp);
	else if (resp_is(resp, 1, "DOCS"))
		resp_put_map(resp, 0);
	else if (resp->kept == 1 || resp_is(resp, 1, "INFO"))
		resp_put_array(resp, 0);
	else
		resp_refuse(resp, "ERR unknown subcommand '%.128s'",
		    resp_string(resp, 1));
}

const struct resp_command resp_connection_commands[] = {
	{ .name = "ping", .least = 1, .most = 2, .end = connection_ping },
	{ .name = "echo", .least = 2, .most = 2, .end = connection_ping },
	{ .name = "hello", .least = 1, .most = 7, .end = connection_hello },
	{ .name = "auth", .least = 2, .most = 3, .end = connection_authenticate
	    },
	{ .name = "select", .least = 2, .most = 2, .end = connection_select },
	{ .name = "client", .least = 2, .end = connection_client },
	{ .name = "info", .least = 1, .end = connection_info },
	{ .name = "command", .least = 1, .end = connection_commands },
	{ .name = "quit", .at_once = 1, .least = 1, .end = connection_quit },
	{ .name = NULL }
};
