/* Marks, and waiting until they are as safe as promised. */
#include "redis/filter.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/signals.h"
#include "bits/block.h"
#include "redis/call.h"
#include "redis/chunks.h"
#include "model/window.h"

/* How long a server may take to write marks to its disk. */
#define SYNC_MS "10000"

/* Milliseconds without input until replies to marks are waited for. */
#define IDLE_AFTER 5

/*
 * WAIT and WAITAOF cover only what their own connection wrote: after a
 * reconnect, nothing is known about earlier writes.
 */
static int
check_connection(struct redis *r, const char *option, struct error *error)
{
	if (redis_net_losses(r->server.net) == r->marked_losses)
		return 0;
	error_set(error, STATUS_FAILED, "%s: the connection was lost before"
	    " the server could confirm what %s asks for", redis_name(r),
	    option);
	return redis_failed(r, error);
}

/* Before marks are sent. */
void
redis_mark_begin(struct redis *r)
{
	if (!r->unconfirmed)
		r->marked_losses = redis_net_losses(r->server.net);
	r->unconfirmed = 1;
}

void
redis_mark_mirror(struct mirror *mirror, const struct digest *digests, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t page;

		block_pages(&mirror->array.geometry, digests + i, 1, &page);
		mirror_page(mirror, page);
	}
	block_mark(&mirror->array, digests, n);
}

int
redis_mark_layer(struct filter *filter, unsigned i,
    const struct digest *digests,
    size_t n, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct layer_entry *layer = &r->table.layers[i];
	struct redis_layer place = chunks_layer(&r->server, &r->table, i);

	redis_mark_begin(r);
	if (redis_net_finish(r->server.net, error) < 0 ||
	    marks_send(&r->marks, &r->server, &layer->geometry, &place,
	    digests, n, error) < 0)
		return redis_failed(r, error);
	redis_mark_mirror(&r->mirrors[i], digests, n);
	layer->lines += n;
	return 0;
}

int
redis_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct redis *r = redis_of(filter);

	/* The window may have moved on since room was reserved. */
	if (redis_is_windowed(r) && (redis_window_prepare(r, error) < 0 ||
	    redis_room_renew(r, n, error) < 0))
		return -1;
	for (unsigned i = window_first_layer(&r->table); n > 0 &&
	    i < r->table.count; i++) {
		size_t some = r->reserved[i] < n ? (size_t)r->reserved[i] : n;

		if (some == 0)
			continue;
		if (redis_mark_layer(filter, i, digests, some, error) < 0)
			return -1;
		redis_room_use(r, i, some);
		digests += some;
		n -= some;
	}
	return redis_net_flush(r->server.net, error) < 0 ?
	    redis_failed(r, error) : 0;
}

/* How many nodes have not done what WAIT or WAITAOF waits for. */
struct waiting {
	int missing;
	long long least; /* copies that a node must have made */
};

/* WAIT says how many replicas; WAITAOF, first, whether the node itself. */
static long long
copies_of(const redisReply *reply)
{
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements > 0)
		reply = reply->element[0];
	return reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
}

static int
take_copies(void *context, size_t node, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct waiting *w = context;

	(void)node;
	(void)count;
	(void)error;
	w->missing += outcome == REDIS_LOST ||
	    copies_of(replies[0]) < w->least;
	return 0;
}

int
redis_mark_settle(struct redis *r, struct error *error)
{
	struct waiting w = { 0, (long long)r->replicas };
	uint64_t end = clock_now() + r->wait_ms * CLOCK_MILLISECOND;
	char command[64];

	if (redis_net_finish(r->server.net, error) < 0)
		return redis_failed(r, error);
	if (r->replicas == 0 || !r->unconfirmed)
		return 0;
	snprintf(command, sizeof command, "WAIT %u 1000", r->replicas);
	do {
		w.missing = 0;
		if (redis_call_all(r->server.net, take_copies, &w,
		    error, command) < 0)
			return redis_failed(r, error);
		if (check_connection(r, "--wait", error) < 0)
			return -1;
		if (w.missing == 0) {
			r->unconfirmed = 0;
			return 0;
		}
	} while (clock_now() < end && !signals_stop);
	error_set(error, STATUS_FAILED, "%s: fewer than %u replicas confirmed"
	    " (--wait=%u)", redis_name(r), r->replicas,
	    r->replicas);
	return redis_failed(r, error);
}

int
redis_mark_idle_after(const struct filter *filter)
{
	return redis_net_is_busy(const_redis_of(filter)->server.net) ?
	    IDLE_AFTER : -1;
}

int
redis_mark_write_back(struct filter *filter, int all, struct error *error)
{
	struct redis *r = redis_of(filter);

	return all && !r->failed ? redis_mark_settle(r, error) : 0;
}

int
redis_mark_sync(struct filter *filter, struct error *error)
{
	struct redis *r = redis_of(filter);
	struct waiting w = { 0, 1 };

	if (redis_mark_write_back(filter, 1, error) < 0)
		return -1;
	if (redis_call_all(r->server.net, take_copies, &w, error,
	    "WAITAOF 1 0 " SYNC_MS) < 0)
		return redis_failed(r, error);
	if (r->unconfirmed && check_connection(r, "--sync", error) < 0)
		return -1;
	if (w.missing == 0) {
		r->unconfirmed = 0;
		return 0;
	}
	return error_set(error, STATUS_FAILED, "%s: what was remembered is"
	    " not on the server's disk after " SYNC_MS " ms", redis_name(r));
}

/* Refuse --sync at once if it would fail at the end. */
int
redis_mark_check_sync(struct redis *r, struct error *error)
{
	redisReply *reply = redis_call(r->server.net, r->server.slot,
	    REQUEST_ERRORS, error, "WAITAOF 1 0 " SYNC_MS);
	int result = 0;

	if (reply == NULL)
		return redis_failed(r, error);
	if (reply->type == REDIS_REPLY_ERROR)
		result = error_set(error, STATUS_USAGE, "%s: --sync needs a"
		    " server that knows WAITAOF (Redis 7.2) and has appendonly"
		    " set; it says: %s", redis_name(r), reply->str);
	freeReplyObject(reply);
	return result;
}
