/*
 * One thread and one loop (libevent). The events of a sweep only read requests;
 * when all ready connections have been read, the sweep is carried out as a
 * whole, and the replies are sent. Only this file knows libevent's events.
 */
#include <errno.h>
#include <event2/event.h>
#include <event2/listener.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/os.h"
#include "base/signals.h"
#include "bits/scan.h"
#include "serve/catalog.h"
#include "serve/client.h"
#include "serve/leases.h"
#include "serve/lessor.h"
#include "serve/resp.h"
#include "serve/sweep.h"

/*
 * Descriptors that a request needs for a moment, besides that of its filter:
 * for a directory, a journal, or a file that gets its name later.
 */
#define MOMENTARY 4
/* Those of the directory and of libevent's loop, and of each listener. */
#define OTHERS 4
#define LISTENER 2
/*
 * Connections beyond the limit that are open at a time: each is told so in the
 * protocol that it speaks, which its first byte shows. Others are told only if
 * that byte is here already.
 */
#define SURPLUS_MAX 8
/* Inherited descriptors are looked for up to this number. */
#define LOOKED_AT 1024
/* Filters that are open: each layer is a mapping, and Linux allows 65,530. */
#define OPEN_FILTERS ((size_t)8192)
/*
 * At the end: how long nothing arrives before those with no more requests are
 * hung up on; and how long to wait for clients that neither send what they
 * began nor read replies, and for all others.
 */
#define QUIET (100 * CLOCK_MILLISECOND)
#define IDLE_FAREWELL CLOCK_SECOND
#define FAREWELL (10 * CLOCK_SECOND)
/*
 * Seconds without a packet before a client is asked whether it is still there,
 * between two such questions, and how many of them remain without an answer: a
 * client whose machine is gone is closed after seven and a half minutes.
 */
#define KEEPALIVE_IDLE 300
#define KEEPALIVE_INTERVAL 50
#define KEEPALIVE_COUNT 3

/*
 * At most so much is read from a client in one sweep, into a buffer that all
 * connections share. A connection keeps only the bytes of an incomplete
 * request, so idle ones have no buffer. A request longer than SMALL_BYTES grows
 * in its connection's own buffer, so that no byte is moved more than a few
 * times, however slowly it arrives.
 */
#define READ_BYTES ((size_t)64 << 10)
#define SMALL_BYTES ((size_t)4 << 10)
/*
 * So many filters are opened for a client in one sweep, then the others come
 * first: with more filters than may be open, each request opens one.
 */
#define OPENINGS_MAX 8
#define INTAKE_BYTES (16 * (READ_BYTES + SMALL_BYTES + LOOPS_PADDING))

/* Reading */

/* Keep the bytes not consumed, which may be in c->kept already. */
static void
keep_rest(struct client *c, const uint8_t *rest, size_t nbytes)
{
	uint8_t *old = c->kept;

	if (!client_goes_on(c))
		nbytes = 0;
	c->kept_bytes = nbytes;
	if (nbytes > SMALL_BYTES &&
	    nbytes + LOOPS_PADDING <= c->kept_capacity) {
		memmove(c->kept, rest, nbytes);
		return;
	}
	c->kept = NULL;
	c->kept_capacity = 0;
	if (nbytes > 0) {
		c->kept_capacity = nbytes + LOOPS_PADDING;
		c->kept = memory_or_die(malloc(c->kept_capacity));
		memcpy(c->kept, rest, nbytes);
	}
	free(old);
}

/* The bytes of replies that a client may leave unread at the moment. */
static uint64_t
unread_limit(const struct client *c)
{
	uint64_t limit = c->service->settings->reply_bytes;

	if (clients_wait_too_much(c->service) && limit > SERVE_UNREAD_LITTLE)
		return SERVE_UNREAD_LITTLE;
	return limit;
}

/* Does the client have at least `limit` bytes of replies that wait? */
static int
is_full(struct client *c, uint64_t limit)
{
	if (buffer_bytes(&c->replies) + c->owed >= limit)
		sweep_run(c->service->sweep);
	return buffer_bytes(&c->replies) >= limit;
}

/* There is no room for a long request until its end has arrived. */
static void
refuse_request(struct client *c)
{
	/* the sweep writes the replies that come before */
	sweep_run(c->service->sweep);
	if (c->resp != NULL)
		buffer_line(&c->replies, "-OOM " SERVE_WAITING_TOO_MUCH);
	else
		buffer_line(&c->replies, "CLIENT_ERROR "
		    SERVE_WAITING_TOO_MUCH);
	c->service->counters.refused++;
	client_end(c);
}

/* Take the requests from the bytes at `data`. */
static void
take_requests(struct client *c, const uint8_t *data, size_t nbytes)
{
	const struct served_pool *pool = &c->service->catalog->pool;
	uint64_t limit = unread_limit(c), until = pool->openings + OPENINGS_MAX;
	size_t at = 0;
	int more = 0;

	c->served = NULL;
	while (!more && c->state == CLIENT_OPEN) {
		if (pool->openings >= until)
			client_pause(c);
		else if (!is_full(c, limit))
			at += c->take(c, data + at, nbytes - at, &more);
		else if (limit == c->service->settings->reply_bytes)
			client_fill(c);
		else
			client_hold(c);
	}
	if (c->state == CLIENT_OPEN && nbytes - at > SMALL_BYTES &&
	    clients_wait_too_much(c->service))
		refuse_request(c);
	/* Requests may point to the bytes that are moved below. */
	if (data == c->kept || c->state == CLIENT_PAUSED)
		sweep_run(c->service->sweep);
	keep_rest(c, data + at, nbytes - at);
	client_count_waiting(c, buffer_bytes(&c->replies) + c->owed);
}

/* A buffer with the kept bytes, and room for READ_BYTES after them. */
static uint8_t *
intake_buffer(struct client *c, struct service *service)
{
	size_t nbytes = c->kept_bytes + READ_BYTES;
	uint8_t *data;

	if (c->kept_bytes > SMALL_BYTES) {
		size_t most = READ_BYTES +
		    protocol_bytes_max(&service->settings->limits);

		if (c->kept_capacity < nbytes + LOOPS_PADDING) {
			c->kept_capacity = LOOPS_PADDING +
			    (2 * nbytes < most ? 2 * nbytes : most);
			c->kept = memory_or_die(realloc(c->kept,
			    c->kept_capacity));
		}
		return c->kept;
	}
	if (service->intake == NULL)
		service->intake = memory_or_die(calloc(1, INTAKE_BYTES));
	if (INTAKE_BYTES - service->intake_used < nbytes + LOOPS_PADDING)
		sweep_run(service->sweep);
	if (sweep_count(service->sweep) == 0)
		service->intake_used = 0;
	data = service->intake + service->intake_used;
	if (c->kept_bytes > 0)
		memcpy(data, c->kept, c->kept_bytes);
	return data;
}

/* There are too many connections: say so, in the protocol of the first byte. */
static void
turn_away(struct buffer *replies, uint8_t first)
{
	if (first == RESP_FIRST_BYTE)
		buffer_line(replies, "-ERR max number of clients reached");
	else
		buffer_line(replies, "ERROR Too many open connections");
}

/*
 * The first byte of a connection tells its protocol. Returns 0 if it is one
 * that isn't spoken here: TLS, or memcached's binary protocol, whose bytes
 * would be carried out where they look like requests.
 */
static int
recognize(struct client *c, uint8_t first)
{
	c->begun = 1;
	if (first == RESP_FIRST_BYTE)
		resp_begin(c);
	return first != 0x16 && first != 0x80;
}

/* Nothing more can be read; earlier requests are still answered. */
static void
stop_reading(struct client *c, int is_broken)
{
	if (is_broken)
		client_break(c);
	else
		client_end(c);
	keep_rest(c, NULL, 0);
}

/*
 * Read what has arrived, at most a buffer, and add the requests in it to the
 * sweep; or, after the client has waited, those that were left over.
 */
static void
read_client(struct client *c)
{
	struct service *service = c->service;
	size_t nbytes = c->kept_bytes;
	int waited = client_waits(c);
	uint8_t *data;
	ssize_t n;

	client_reopen(c);
	if (waited && (nbytes > 0 || c->busy)) {
		take_requests(c, c->kept, nbytes);
		return;
	}
	data = intake_buffer(c, service);
	do
		n = read(c->fd, data + nbytes, READ_BYTES);
	while (n < 0 && errno == EINTR);
	if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return;
	if (n <= 0) {
		stop_reading(c, n < 0);
		return;
	}
	service->counters.bytes_read += (uint64_t)n;
	if (c->surplus) {
		turn_away(&c->replies, data[nbytes]);
		client_end(c);
		return;
	}
	if (!c->begun && !recognize(c, data[nbytes])) {
		stop_reading(c, 0);
		return;
	}
	nbytes += (size_t)n;
	if (data != c->kept)
		service->intake_used += nbytes + LOOPS_PADDING;
	take_requests(c, data, nbytes);
}

/* Events */

/* libevent returns NULL or -1 only if it is out of memory. */
static struct event *
new_event(struct service *service, int fd, short what,
    event_callback_fn callback, void *argument)
{
	return memory_or_die(event_new(service->base, fd, what | EV_PERSIST,
	    callback, argument));
}

static void
add_event(struct event *event, const struct timeval *timeout)
{
	if (event_add(event, timeout) < 0)
		memory_or_die(NULL);
}

/* Wait for it as long as a client may be idle; or don't. */
static void
want(struct event *event, int *waited_for, int wanted,
    const struct timeval *idle)
{
	int limited = idle->tv_sec > 0 || idle->tv_usec > 0;

	if (wanted && (limited || !*waited_for))
		add_event(event, limited ? idle : NULL);
	else if (!wanted && *waited_for && event_del(event) < 0)
		memory_or_die(NULL);
	*waited_for = wanted;
}

static void
touch(struct client *c)
{
	if (c->touched)
		return;
	c->touched = 1;
	c->next_touched = c->service->touched;
	c->service->touched = c;
}

/* Return the counter that counts this client. */
static uint64_t *
count_of(struct client *c)
{
	if (c->surplus)
		return &c->service->surplus;
	return &c->service->counters.curr_connections;
}

/* Called only after sweep_run: the sweep refers to clients. */
static void
end_client(struct client *c)
{
	event_free(c->readable);
	event_free(c->writable);
	close(c->fd);
	buffer_free(&c->replies);
	resp_free(c->resp);
	free(c->kept);
	*c->link = c->next;
	if (c->next != NULL)
		c->next->link = c->link;
	*count_of(c) -= 1;
	c->service->waiting -= c->waiting;
	free(c);
}

static void
on_ready(evutil_socket_t fd, short what, void *argument)
{
	struct client *c = argument;

	(void)fd;
	if (what & EV_READ)
		read_client(c);
	else if (what == EV_TIMEOUT && c->state == CLIENT_ENDED)
		client_break(c); /* the client does not read its last replies */
	else if (what == EV_TIMEOUT)
		client_end(c);
	touch(c);
}

/*
 * Send as many replies as the socket takes. Returns 1 if none is left: all have
 * been sent, or none can be.
 */
static int
send_replies(struct client *c)
{
	long n;

	if (c->state == CLIENT_BROKEN)
		return 1;
	n = buffer_send(&c->replies, c->fd);
	if (n < 0) {
		client_break(c);
		return 1;
	}
	c->service->counters.bytes_written += (uint64_t)n;
	return buffer_bytes(&c->replies) == 0;
}

/* Wait for what the client, which isn't at its end, does next. */
static void
wait_for(struct client *c)
{
	static const struct timeval second = { 1, 0 };
	const struct timeval *idle = c->surplus ? &second : &c->service->idle;
	int sending = buffer_bytes(&c->replies) > 0;
	int reading = client_goes_on(c);

	/* A client that is full is not read until it has taken all replies. */
	if (sending && (c->state == CLIENT_FULL || (c->state == CLIENT_HELD &&
	    clients_wait_too_much(c->service))))
		reading = 0;
	want(c->writable, &c->writing, sending, idle);
	want(c->readable, &c->reading, reading, idle);
	/*
	 * The next requests are here already, so no event would come for them.
	 */
	if (client_waits(c) && reading)
		event_active(c->readable, EV_READ, 0);
}

/* If enough replies have been read, clients that are held go on. */
static void
release_clients(struct service *service)
{
	if (!service->holds_clients || clients_wait_too_much(service))
		return;
	service->holds_clients = 0;
	for (struct client *c = service->clients; c != NULL; c = c->next) {
		if (c->state == CLIENT_HELD)
			wait_for(c);
	}
}

/*
 * All places for leases are taken, perhaps by filters whose files are gone,
 * which nobody has named since: see, so that the next request may find places.
 */
static void
look_for_places(struct service *service)
{
	struct leases *leases = service->leases;

	if (leases != NULL &&
	    leases_counters(leases)->live == leases_most(leases))
		catalog_list(service->catalog);
}

/* Carry it out, send the replies, and close clients or wait for them. */
static void
finish_sweep(struct service *service)
{
	struct client *c, *next;

	sweep_run(service->sweep);
	look_for_places(service);
	for (c = service->touched; c != NULL; c = next) {
		int all_sent = send_replies(c);

		next = c->next_touched;
		c->touched = 0;
		client_count_waiting(c, buffer_bytes(&c->replies));
		if (all_sent && !client_goes_on(c))
			end_client(c);
		else
			wait_for(c);
	}
	service->touched = NULL;
	release_clients(service);
}

/* Replies are small and urgent; clients may vanish without a word. */
static void
set_tcp_options(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	os_keep_alive(fd, KEEPALIVE_IDLE, KEEPALIVE_INTERVAL, KEEPALIVE_COUNT);
}

/* Close a connection that isn't waited for, with a word if it has sent one. */
static void
turn_away_at_once(int fd)
{
	/* read, since unread bytes would reset the connection */
	uint8_t sent[4096];
	struct buffer replies = { 0 };

	if (recv(fd, sent, sizeof sent, MSG_DONTWAIT) > 0) {
		turn_away(&replies, sent[0]);
		buffer_send(&replies, fd);
		buffer_free(&replies);
	}
	close(fd);
}

static void
on_connection(struct evconnlistener *listener, evutil_socket_t fd,
    struct sockaddr *address, int length, void *argument)
{
	struct service *service = argument;
	struct counters *counters = &service->counters;
	int local = address->sa_family == AF_UNIX;
	int surplus = counters->curr_connections >= service->connections;
	struct client *c;

	(void)listener;
	(void)length;
	counters->total_connections++;
	counters->rejected_connections += (uint64_t)surplus;
	if (surplus && service->surplus == service->surplus_max) {
		turn_away_at_once(fd);
		return;
	}
	if (!local)
		set_tcp_options(fd);
	c = memory_or_die(calloc(1, sizeof *c));
	*c = (struct client){ .service = service, .fd = fd, .local = local,
		.surplus = surplus, .take = memcached_take,
		.answer = memcached_answer,
		.next = service->clients, .link = &service->clients };
	c->readable = new_event(service, fd, EV_READ, on_ready, c);
	c->writable = new_event(service, fd, EV_WRITE, on_ready, c);
	if (c->next != NULL)
		c->next->link = &c->next;
	service->clients = c;
	*count_of(c) += 1;
	touch(c);
}

/* There is no descriptor, or no memory: the next tick tries again. */
static void
on_no_connection(struct evconnlistener *listener, void *argument)
{
	(void)argument;
	evconnlistener_disable(listener);
}

static void
on_tick(evutil_socket_t fd, short what, void *argument)
{
	struct service *service = argument;

	(void)fd;
	(void)what;
	service->catalog->pool.second++;
	if (service->leases != NULL)
		lessor_report(service);
	for (size_t i = 0; i < service->listeners.count; i++)
		evconnlistener_enable(service->listeners.items[i].event);
}

/* A signal: to stop, or for figures, which clients get with stats instead. */
static void
on_wake(evutil_socket_t fd, short what, void *argument)
{
	struct service *service = argument;

	(void)fd;
	(void)what;
	signals_take_figures();
	if (signals_stop)
		event_base_loopbreak(service->base);
}

/* Begin to listen; nobody is served yet. */
static int
begin_to_listen(struct service *service, struct error *error)
{
	const struct serve_settings *settings = service->settings;

	service->base = event_base_new();
	if (service->base == NULL)
		return error_system(error, errno, "libevent");
	for (size_t i = 0; i < settings->address_count; i++) {
		if (listener_open(&service->listeners, settings->addresses[i],
		    settings->socket_mode, error) < 0)
			return -1;
	}
	for (size_t i = 0; i < service->listeners.count; i++) {
		struct listener *listener = &service->listeners.items[i];

		listener->event =
		    memory_or_die(evconnlistener_new(service->base,
		    on_connection, service, LEV_OPT_CLOSE_ON_EXEC, 0,
		    listener->fd));
		evconnlistener_set_error_cb(listener->event, on_no_connection);
	}
	service->tick = new_event(service, -1, 0, on_tick, service);
	service->wake = new_event(service, signals_wake_fd(), EV_READ,
	    on_wake, service);
	add_event(service->wake, NULL);
	return 0;
}

static void
stop_listening(struct service *service)
{
	for (size_t i = 0; i < service->listeners.count; i++)
		evconnlistener_free(service->listeners.items[i].event);
	event_free(service->tick);
	event_free(service->wake);
}

/* All is ready: the seconds are counted from now on. */
static void
tell_addresses(struct service *service)
{
	const struct serve_settings *settings = service->settings;
	const struct timeval second = { 1, 0 };

	for (size_t i = 0; i < service->listeners.count; i++) {
		const struct listener *listener = &service->listeners.items[i];
		const char *warning = "";

		if (listener->beyond)
			warning = ": other machines can connect, and the"
			    " protocol has no password";
		error_notify(settings->notice, "serving %s on %s%s",
		    settings->directory, listener->name, warning);
	}
	add_event(service->tick, &second);
}

/*
 * Read from all clients once. If all is quiet, hang up on those that had no
 * more requests.
 */
static void
read_last_requests(struct service *service, int is_quiet)
{
	const uint64_t *bytes_read = &service->counters.bytes_read;

	for (struct client *c = service->clients; c != NULL; c = c->next) {
		uint64_t before = *bytes_read;
		int waited = client_waits(c);

		if (!client_goes_on(c))
			continue;
		on_ready(-1, EV_READ, c);
		if (is_quiet && !waited && *bytes_read == before)
			client_end(c);
	}
	finish_sweep(service);
}

/*
 * Accept no more connections, answer all that the sockets hold, and send the
 * replies to clients that read them in time. A socket that is empty proves
 * nothing by itself: the system may be about to fill it from the client's. So
 * nobody is hung up on until nothing has arrived for a while.
 */
static void
say_farewell(struct service *service)
{
	const struct counters *counters = &service->counters;
	const struct timeval moment = { 0, 50000 };
	uint64_t start = clock_now(), progress = start, now = start;
	uint64_t arrival = start, arrived = counters->bytes_read, moved;

	stop_listening(service);
	while (service->clients != NULL && now - progress < IDLE_FAREWELL &&
	    now - start < FAREWELL) {
		moved = counters->bytes_read + counters->bytes_written;
		event_base_loopexit(service->base, &moment);
		event_base_loop(service->base, EVLOOP_ONCE);
		finish_sweep(service);
		now = clock_now();
		if (counters->bytes_read != arrived)
			arrival = now;
		arrived = counters->bytes_read;
		read_last_requests(service, now - arrival >= QUIET);
		if (moved != counters->bytes_read + counters->bytes_written)
			progress = now;
	}
	while (service->clients != NULL)
		end_client(service->clients);
}

/* How many descriptors are open, inherited ones and our own? */
static uint64_t
count_descriptors(uint64_t allowed)
{
	uint64_t count = 0;

	for (int fd = 0; fd < LOOKED_AT && (uint64_t)fd < allowed; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/*
 * How many descriptors are left for connections and filters, if so many more
 * will be open for something else? Returns -1 if too few for one of each.
 */
static int
spare_descriptors(uint64_t allowed, uint64_t more, uint64_t *left,
    struct error *error)
{
	uint64_t others = count_descriptors(allowed) + more + MOMENTARY;

	if (allowed < others + 3)
		return error_set(error, STATUS_FAILED, "%" PRIu64 " open files"
		    " are allowed (ulimit -n), and for one client and one"
		    " filter serve needs %" PRIu64, allowed, others + 3);
	*left = allowed - others;
	return 0;
}

/*
 * Divide the descriptors that are allowed among connections, connections beyond
 * their limit, and filters, for which at least a quarter is left. To be called
 * when all others are open, but no filter is. Returns 0 with the number of
 * filters that may be open, or -1 if there are too few for one of each.
 */
static int
share_descriptors(struct service *service, size_t *filters,
    struct error *error)
{
	const struct serve_settings *settings = service->settings;
	uint64_t allowed = io_descriptors(), left, most;
	uint64_t *connections = &service->connections;

	*filters = 0;
	if (spare_descriptors(allowed, 0, &left, error) < 0)
		return -1;
	service->surplus_max = 1 + left / 16;
	if (service->surplus_max > SURPLUS_MAX)
		service->surplus_max = SURPLUS_MAX;
	left -= service->surplus_max;
	most = left - (left + 3) / 4;
	*connections = settings->connections;
	if (*connections > most) {
		*connections = most;
		error_notify(settings->notice, "--max-connections=%" PRIu64
		    ": only %" PRIu64 ", since %" PRIu64 " open files are"
		    " allowed (ulimit -n)", settings->connections, most,
		    allowed);
	}
	left -= *connections;
	*filters = left < OPEN_FILTERS ? (size_t)left : OPEN_FILTERS;
	return 0;
}

int
server_run(const struct serve_settings *settings, struct error *error)
{
	struct service service = { .settings = settings, .started = clock_now(),
		.idle = { (time_t)(settings->idle_time / 1000),
		(suseconds_t)(settings->idle_time % 1000 * 1000) } };
	struct error second = { 0 };
	size_t filters;
	uint64_t left;
	int result;

	if (spare_descriptors(io_descriptors(), OTHERS +
	    LISTENER * settings->address_count, &left, error) < 0)
		return -1;
	service.waiting_max = SERVE_QUEUE_VALUES * settings->limits.value;
	if (service.waiting_max < settings->reply_bytes)
		service.waiting_max = settings->reply_bytes;
	if (service.waiting_max > UINT64_MAX / SERVE_WAITING_CLIENTS)
		service.waiting_max = UINT64_MAX / SERVE_WAITING_CLIENTS;
	service.waiting_max *= SERVE_WAITING_CLIENTS;
	if (settings->lease_time > 0) {
		service.leases = leases_new(settings->lease_count, error);
		if (service.leases == NULL)
			return -1;
	}
	service.catalog = catalog_open(settings, service.leases, error);
	if (service.catalog == NULL) {
		leases_free(service.leases);
		return -1;
	}
	signals_bus_survive();
	service.sweep = sweep_new(&service);
	result = begin_to_listen(&service, error);
	if (result == 0 && share_descriptors(&service, &filters, error) < 0) {
		stop_listening(&service);
		result = -1;
	}
	if (result == 0) {
		catalog_open_filters(service.catalog, filters);
		tell_addresses(&service);
		while (!signals_stop) {
			event_base_loop(service.base, EVLOOP_ONCE);
			finish_sweep(&service);
		}
		/*
		 * From now on a signal would only cut short what is still to be
		 * done.
		 */
		signals_too_late();
		say_farewell(&service);
	}
	if (service.base != NULL)
		event_base_free(service.base);
	listeners_close(&service.listeners);
	free(service.intake);
	sweep_free(service.sweep);
	if (catalog_close(service.catalog, &second) < 0 && result == 0) {
		*error = second;
		result = -1;
	}
	leases_free(service.leases);
	return result;
}
