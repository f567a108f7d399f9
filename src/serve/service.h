/* What serve was asked to do, and what all of its parts share. */
#ifndef SERVE_SERVICE_H
#define SERVE_SERVICE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/time.h>
#include <sys/types.h>

#include "base/error.h"
#include "bits/sizing.h"
#include "serve/listener.h"
#include "serve/protocol.h"

/* Who may remove filters, make them and set the memory limit. */
enum admin {
	ADMIN_DEFAULT, /* all may; removing needs a unix socket */
	ADMIN_ALL,
	ADMIN_NONE
};

struct serve_settings {
	const char *folder;
	char *const *addresses; /* as listener_open takes them */
	size_t address_count;
	mode_t socket_mode;
	enum admin admin;
	int read_only;
	int sync;               /* what is STORED survives a power cut */
	uint64_t memory_bytes;  /* of all filters together */
	uint64_t capacity;      /* of filters that BF.ADD makes, */
	double error_rate;      /* and their rate */
	uint64_t connections;
	struct protocol_limits limits;
	uint64_t reply_bytes;   /* that a client has not read */
	uint64_t idle_time;     /* milliseconds; 0: no limit */
	uint64_t lease_time;    /* the longest, milliseconds; 0: no leases */
	uint64_t lease_count;   /* of all filters together */
	const char *version;    /* for clients */
	void (*tell)(const char *text); /* one line for the user */
};

#define SERVE_MODE_DEFAULT 0600
#define SERVE_CONNECTIONS_DEFAULT 1024
#define SERVE_KEY_DEFAULT (64 << 10)
#define SERVE_VALUE_DEFAULT (1 << 20)
#define SERVE_REPLIES_DEFAULT (1 << 20)
#define SERVE_LEASES_DEFAULT 1000000

#define SERVE_SETTINGS_DEFAULT { .socket_mode = SERVE_MODE_DEFAULT, \
	.capacity = SIZING_CAPACITY_DEFAULT, \
	.error_rate = SIZING_RATE_DEFAULT, \
	.connections = SERVE_CONNECTIONS_DEFAULT, \
	.limits = { .key = SERVE_KEY_DEFAULT, .value = SERVE_VALUE_DEFAULT }, \
	.reply_bytes = SERVE_REPLIES_DEFAULT, \
	.lease_count = SERVE_LEASES_DEFAULT }

/* Since the start, under memcached's names. */
struct counters {
	uint64_t refused;       /* requests */
	uint64_t curr_connections, total_connections, rejected_connections;
	uint64_t cmd_get, get_hits, get_misses;
	uint64_t cmd_set;       /* and add, of filters, too */
	uint64_t delete_hits, delete_misses;
	uint64_t touch_hits, touch_misses; /* of leases */
	uint64_t stored;        /* subkeys that were new */
	uint64_t bytes_read, bytes_written;
};

struct service {
	const struct serve_settings *plan;
	struct catalog *catalog;
	struct sweep *sweep;
	struct leases *leases;  /* NULL without --lease */
	int told_lease_time;    /* it was told that a client wants more */
	struct counters counters;
	uint64_t started;       /* clock_now */
	uint64_t connections;   /* as many as there are descriptors for */
	/* Of intake.c: a buffer for the requests of a sweep, of all clients. */
	uint8_t *intake;
	size_t intake_used;
	/* Of server.c: */
	struct listeners listeners;
	struct event_base *base;
	struct event *tick, *wake;
	struct timeval idle;    /* how long to wait for clients; 0: for ever */
	struct client *clients, *touched;
};

/*
 * Serve until SIGTERM, SIGINT or SIGHUP; then answer what has arrived, write
 * the filters back and return 0. Returns -1 with `error` filled if it can't
 * start, or if what is remembered could not be written at the end.
 */
int server_run(const struct serve_settings *plan, struct error *error);

#endif
