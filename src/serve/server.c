/*
 * One thread and one loop (libevent). The events of a sweep only read requests;
 * when all ready connections have been read, the sweep is carried out as a
 * whole, and the replies are sent. Only this file knows libevent.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/signals.h"
#include "serve/catalog.h"
#include "serve/client.h"
#include "serve/listener.h"

/* At most this many connections are accepted in one sweep. */
#define ACCEPT_MAX 64
/* Descriptors for neither connections nor filters. */
#define SPARE 20
/* Filters that are open: each layer is a mapping, and Linux allows 65,530. */
#define OPEN_FILTERS ((size_t)8192)
/*
 * How long to wait at the end for clients that neither send what they began nor
 * read replies, and for all others, in milliseconds.
 */
#define IDLE_FAREWELL_MS 1000
#define FAREWELL_MS 10000

struct connection {
	struct client client;
	struct server *server;
	struct event *readable, *writable;
	uint64_t active;           /* in seconds of server->tick */
	int reading, writing;      /* these events are waited for */
	int touched;               /* in this sweep */
	struct connection *next_touched;
	struct connection *next, **link; /* of all */
};

struct door {
	struct server *server;
	struct listener *listener;
	struct event *event;
};

struct server {
	const struct serve_settings *plan;
	struct service service;
	struct event_base *base;
	struct sweep *sweep;
	struct intake *intake;
	struct listeners listeners;
	struct door *doors;
	struct event *tick, *wake;
	uint64_t seconds;          /* since the start, by ticks */
	struct connection *connections, *touched;
};

static void
no_memory_for(const void *event)
{
	/* libevent returns NULL or -1 if it is out of memory */
	if (event == NULL)
		memory_or_die(NULL);
}

static void
touch(struct connection *c)
{
	if (c->touched)
		return;
	c->touched = 1;
	c->next_touched = c->server->touched;
	c->server->touched = c;
}

static void
want(struct event *event, int *waited_for, int wanted)
{
	if (*waited_for == wanted)
		return;
	if ((wanted ? event_add(event, NULL) : event_del(event)) < 0)
		no_memory_for(NULL);
	*waited_for = wanted;
}

static void
close_connection(struct connection *c)
{
	event_free(c->readable);
	event_free(c->writable);
	client_end(&c->client);
	*c->link = c->next;
	if (c->next != NULL)
		c->next->link = c->link;
	c->server->service.counters.curr_connections--;
	free(c);
}

static void
on_ready(evutil_socket_t fd, short what, void *argument)
{
	struct connection *c = argument;

	(void)fd;
	c->active = c->server->seconds;
	if (what & EV_READ)
		client_read(&c->client, c->server->intake);
	touch(c);
}

/* After the sweep: send, and decide what to wait for. */
static void
send_replies(struct connection *c)
{
	struct client *client = &c->client;

	client_send(client, &c->server->service);
	if (client->hang_up && !client_is_sending(client)) {
		close_connection(c);
		return;
	}
	want(c->writable, &c->writing, client_is_sending(client));
	/* a client that is full isn't read until it took all replies */
	want(c->readable, &c->reading, !client->hang_up &&
	    !(client->full && client_is_sending(client)));
	/* its next requests are here already: no event will come */
	if ((client->full || client->paused) && c->reading)
		event_active(c->readable, EV_READ, 0);
}

static void
finish_sweep(struct server *server)
{
	struct connection *c, *next;

	sweep_run(server->sweep);
	for (c = server->touched; c != NULL; c = next) {
		next = c->next_touched;
		c->touched = 0;
		send_replies(c);
	}
	server->touched = NULL;
}

static void
sweep_away(int fd)
{
	static const char text[] = "ERROR Too many open connections\r\n";

	if (send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		errno = 0;
	close(fd);
}

static void
begin_connection(struct server *server, int fd, int local)
{
	struct counters *counters = &server->service.counters;
	struct connection *c;
	const int on = 1;

	counters->total_connections++;
	if (counters->curr_connections >= server->service.connections) {
		counters->rejected_connections++;
		sweep_away(fd);
		return;
	}
	evutil_make_socket_nonblocking(fd);
	evutil_make_socket_closeonexec(fd);
	if (!local)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	c = memory_or_die(calloc(1, sizeof *c));
	client_begin(&c->client, fd, local);
	c->server = server;
	c->active = server->seconds;
	c->readable = event_new(server->base, fd, EV_READ | EV_PERSIST,
	    on_ready, c);
	no_memory_for(c->readable);
	c->writable = event_new(server->base, fd, EV_WRITE | EV_PERSIST,
	    on_ready, c);
	no_memory_for(c->writable);
	c->next = server->connections;
	c->link = &server->connections;
	if (c->next != NULL)
		c->next->link = &c->next;
	server->connections = c;
	counters->curr_connections++;
	want(c->readable, &c->reading, 1);
}

static void
on_connection(evutil_socket_t fd, short what, void *argument)
{
	struct door *door = argument;

	(void)what;
	for (int i = 0; i < ACCEPT_MAX; i++) {
		int client = accept(fd, NULL, NULL);

		if (client >= 0) {
			begin_connection(door->server, client,
			    door->listener->local);
		} else if (errno == EMFILE || errno == ENFILE ||
		    errno == ENOBUFS || errno == ENOMEM) {
			/* until the next tick: a second at most */
			event_del(door->event);
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			return;
		}
	}
}

/* Every second: accept connections again, and close idle ones. */
static void
on_tick(evutil_socket_t fd, short what, void *argument)
{
	struct server *server = argument;
	uint64_t patience = (server->plan->idle_time + 999) / 1000;
	struct connection *c, *next;

	(void)fd;
	(void)what;
	server->seconds++;
	catalog_tick(server->service.catalog);
	for (size_t i = 0; i < server->listeners.count; i++)
		event_add(server->doors[i].event, NULL);
	for (c = server->connections; c != NULL; c = next) {
		next = c->next;
		if (patience > 0 && !c->touched &&
		    server->seconds - c->active > patience)
			close_connection(c);
	}
}

/* A signal: to stop, or for figures, which clients get with stats instead. */
static void
on_wake(evutil_socket_t fd, short what, void *argument)
{
	struct server *server = argument;

	(void)fd;
	(void)what;
	signals_take_figures();
	if (signals_stop)
		event_base_loopbreak(server->base);
}

static int
begin_listening(struct server *server, struct error *error)
{
	const struct serve_settings *plan = server->plan;
	char text[512];

	for (size_t i = 0; i < plan->address_count; i++) {
		if (listener_open(&server->listeners, plan->addresses[i],
		    plan->socket_mode, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < server->listeners.count; i++) {
		const struct listener *l = &server->listeners.items[i];

		snprintf(text, sizeof text, "serving %s on %s%s", plan->folder,
		    l->name, l->beyond ? ": other machines can connect, and"
		    " the protocol has no password" : "");
		plan->tell(text);
	}
	return 0;
}

static int
begin_events(struct server *server, struct error *error)
{
	const struct timeval second = { 1, 0 };

	server->base = event_base_new();
	if (server->base == NULL)
		return error_system(error, errno, "libevent");
	server->doors = memory_or_die(calloc(server->listeners.count,
	    sizeof *server->doors));
	for (size_t i = 0; i < server->listeners.count; i++) {
		struct door *door = &server->doors[i];

		door->server = server;
		door->listener = &server->listeners.items[i];
		door->event = event_new(server->base, door->listener->fd,
		    EV_READ | EV_PERSIST, on_connection, door);
		no_memory_for(door->event);
		event_add(door->event, NULL);
	}
	server->tick = event_new(server->base, -1, EV_PERSIST, on_tick,
	    server);
	no_memory_for(server->tick);
	event_add(server->tick, &second);
	server->wake = event_new(server->base, signals_wake_fd(),
	    EV_READ | EV_PERSIST, on_wake, server);
	no_memory_for(server->wake);
	event_add(server->wake, NULL);
	return 0;
}

static void
end_events(struct server *server)
{
	for (size_t i = 0; server->doors != NULL &&
	    i < server->listeners.count; i++)
		event_free(server->doors[i].event);
	free(server->doors);
	server->doors = NULL;
	if (server->tick != NULL)
		event_free(server->tick);
	if (server->wake != NULL)
		event_free(server->wake);
	server->tick = server->wake = NULL;
}

static void
loop(struct server *server)
{
	while (!signals_stop) {
		event_base_loop(server->base, EVLOOP_ONCE);
		finish_sweep(server);
	}
}

/* Read from all clients once; hang up on those that had no more requests. */
static void
read_last_requests(struct server *server)
{
	const uint64_t *bytes_read = &server->service.counters.bytes_read;

	for (struct connection *c = server->connections; c != NULL;
	    c = c->next) {
		struct client *client = &c->client;
		uint64_t before = *bytes_read;
		int waiting = client->full || client->paused;

		if (client->hang_up)
			continue;
		on_ready(-1, EV_READ, c);
		client->hang_up |= !waiting && *bytes_read == before;
	}
	finish_sweep(server);
}

/*
 * Accept no more connections, answer all that the sockets hold, and send the
 * replies to clients that read them in time.
 */
static void
say_farewell(struct server *server)
{
	const struct counters *counters = &server->service.counters;
	uint64_t start = clock_now(), progress = start, now = start, moved;

	end_events(server);
	read_last_requests(server);
	while (server->connections != NULL &&
	    now - progress < IDLE_FAREWELL_MS * CLOCK_MILLISECOND &&
	    now - start < FAREWELL_MS * CLOCK_MILLISECOND) {
		const struct timeval moment = { 0, 50000 };

		moved = counters->bytes_read + counters->bytes_written;
		event_base_loopexit(server->base, &moment);
		event_base_loop(server->base, EVLOOP_ONCE);
		finish_sweep(server);
		read_last_requests(server);
		now = clock_now();
		if (moved != counters->bytes_read + counters->bytes_written)
			progress = now;
	}
	while (server->connections != NULL)
		close_connection(server->connections);
}

/*
 * Each connection has a descriptor, and filters have the rest, at least a
 * quarter: returns how many may be open.
 */
static size_t
share_descriptors(struct server *server)
{
	uint64_t all = io_descriptors(), filters;
	uint64_t *connections = &server->service.connections;
	char text[200];

	all = all > 2 * SPARE ? all - SPARE : SPARE;
	*connections = server->plan->connections;
	if (*connections > all - all / 4) {
		*connections = all - all / 4;
		snprintf(text, sizeof text, "--max-connections=%" PRIu64
		    ": only %" PRIu64 ", since few descriptors are allowed"
		    " (ulimit -n)", server->plan->connections, *connections);
		server->plan->tell(text);
	}
	filters = all - *connections;
	return filters < OPEN_FILTERS ? (size_t)filters : OPEN_FILTERS;
}

int
server_run(const struct serve_settings *plan, struct error *error)
{
	struct server server = { .plan = plan, .service = { .plan = plan,
		.started = clock_now() } };
	struct error second = { 0 };
	int result;

	if (catalog_open(&server.service.catalog, plan,
	    share_descriptors(&server), error) < 0)
		return -1;
	signals_bus_survive();
	server.sweep = sweep_new(&server.service);
	server.intake = intake_new(&server.service, server.sweep);
	result = begin_listening(&server, error) < 0 ||
	    begin_events(&server, error) < 0 ? -1 : 0;
	if (result == 0) {
		loop(&server);
		/* else the signal would end what is still to be done */
		signals_too_late();
		say_farewell(&server);
	}
	end_events(&server);
	if (server.base != NULL)
		event_base_free(server.base);
	listeners_close(&server.listeners);
	intake_free(server.intake);
	sweep_free(server.sweep);
	if (catalog_close(server.service.catalog, &second) < 0 &&
	    result == 0) {
		*error = second;
		result = -1;
	}
	return result;
}
