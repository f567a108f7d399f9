/* The settings of serve, and the state that all of its parts share. */
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

/* The clients that may remove filters, make them and set the memory limit. */
enum admin {
	ADMIN_DEFAULT, /* all; only removing needs a unix socket */
	ADMIN_ALL,
	ADMIN_NONE
};

/* The options of serve. They do not change, and outlive the server. */
struct serve_settings {
	const char *directory;
	char *const *addresses; /* addresses to listen on, as listener_open
				 * takes them */
	size_t address_count;
	mode_t socket_mode;
	enum admin admin;
	int read_only;          /* does it never change a filter? */
	int sync;               /* are filters synced before a reply? */
	uint64_t memory_bytes;  /* the limit of all filters together at first */
	uint64_t capacity;      /* the lines that filters of BF.ADD are for */
	double error_rate;
	uint64_t connections;   /* the greatest number of connections */
	struct protocol_limits limits;
	uint64_t reply_bytes;   /* the bytes of replies that a client may leave
	                         * unread before no more requests are read */
	uint64_t idle_time;     /* milliseconds after which an idle client is
	                         * hung up; 0: never */
	uint64_t lease_time;    /* milliseconds that a lease has at most; 0:
	                         * there are no leases */
	uint64_t lease_count;   /* the most leases of all filters together */
	const char *version;    /* the version that clients are told */
	void (*notice)(const char *text); /* prints one line for the user */
};

#define SERVE_MODE_DEFAULT 0600
#define SERVE_CONNECTIONS_DEFAULT 1024
#define SERVE_KEY_DEFAULT (64 << 10)
#define SERVE_VALUE_DEFAULT (1 << 20)
/* The replies to 16 million BF.ADDs: clients may write all before they read. */
#define SERVE_REPLIES_DEFAULT (64 << 20)
/*
 * For all clients together, so many times as much may wait as for one: the
 * replies that it may leave unread, or its requests after MULTI. Beyond that,
 * one may leave only so many bytes unread, which a client that reads does not
 * need, and no request may wait for its end or for EXEC.
 */
#define SERVE_WAITING_CLIENTS 4
#define SERVE_UNREAD_LITTLE ((uint64_t)64 << 10)
/* The bytes of requests after MULTI, in the longest values. */
#define SERVE_QUEUE_VALUES 8
#define SERVE_WAITING_TOO_MUCH "out of memory: too much waits for all clients" \
	" together (--max-unread)"
#define SERVE_LEASES_DEFAULT 1000000

#define SERVE_SETTINGS_DEFAULT { .socket_mode = SERVE_MODE_DEFAULT, \
	.capacity = SIZING_CAPACITY_DEFAULT, \
	.error_rate = SIZING_RATE_DEFAULT, \
	.connections = SERVE_CONNECTIONS_DEFAULT, \
	.limits = { .key = SERVE_KEY_DEFAULT, .value = SERVE_VALUE_DEFAULT }, \
	.reply_bytes = SERVE_REPLIES_DEFAULT, \
	.lease_count = SERVE_LEASES_DEFAULT }

/* Counts since the start or since `stats reset`, under memcached's names. */
struct counters {
	uint64_t refused;       /* requests answered with an error */
	uint64_t curr_connections, total_connections, rejected_connections;
	uint64_t cmd_get, get_hits, get_misses;
	uint64_t cmd_set;       /* set and add, also add of a filter */
	uint64_t delete_hits, delete_misses;
	uint64_t touch_hits, touch_misses; /* hits and misses of touch, which
					    * renews leases */
	uint64_t stored;        /* subkeys that were new */
	uint64_t bytes_read, bytes_written;
};

/* The state of a server; server_run owns it and all that it points to. */
struct service {
	const struct serve_settings *settings;
	struct catalog *catalog;
	struct sweep *sweep;
	struct leases *leases;  /* NULL without --lease */
	int told_lease_time;    /* it was told that a client wants more */
	struct counters counters;
	uint64_t waiting;       /* the bytes of replies and requests that wait
	                         * for all clients: the sum of theirs */
	uint64_t waiting_max;   /* the bound beyond which no more may wait */
	int holds_clients;      /* may some of them be held for that? */
	uint64_t started;       /* clock_now at the start */
	uint64_t connections;   /* limit on connections, as given or as many as
	                         * there are descriptors for */
	/* Only for server.c: */
	uint8_t *intake;        /* the requests of a sweep, of all clients */
	size_t intake_used;     /* the bytes of it that are taken */
	struct listeners listeners;
	struct event_base *base;
	struct event *tick;     /* each second */
	struct event *wake;     /* signals */
	uint64_t surplus;       /* connections beyond the limit */
	uint64_t surplus_max;   /* the greatest number of those that wait */
	struct timeval idle;    /* idle_time; 0: no limit */
	struct client *clients; /* all */
	struct client *touched; /* those with an event in this sweep */
};

/*
 * Serve until SIGTERM, SIGINT or SIGHUP; then answer the requests that have
 * arrived, write the filters back and return 0. Returns -1 with `error` filled
 * if it cannot start, or if changes could not be written at the end.
 */
int server_run(const struct serve_settings *settings, struct error *error);

#endif
