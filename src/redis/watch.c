/*
 * The server forgets what is watched when the connection is lost. So nothing is
 * set if one was lost since, and the transaction isn't sent on another one
 * (REQUEST_WATCHED).
 */
#include "redis/watch.h"

#include <poll.h>

#include "base/clock.h"
#include "redis/call.h"

struct outcome {
	int changed;         /* a key, or that is unknown */
	int refused;
	struct error reason;
};

int
watch_begin(struct watch *w, struct server *s, struct error *error)
{
	w->losses = redis_net_losses(s->net);
	for (size_t i = 0; i < w->count; i++) {
		redisReply *reply = redis_call(s->net, s->slot, 0, error,
		    "WATCH %s", w->keys[i]);

		if (reply == NULL)
			return -1;
		freeReplyObject(reply);
	}
	return 0;
}

static int
take_exec(void *context, size_t tag, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	struct outcome *o = context;

	(void)tag;
	(void)error;
	o->changed = outcome != REDIS_ANSWERED || count == 0 ||
	    replies[count - 1]->type != REDIS_REPLY_ARRAY;
	for (size_t i = 0; i < count && !o->refused; i++) {
		o->refused = replies[i]->type == REDIS_REPLY_ERROR;
		if (o->refused)
			error_set(&o->reason, STATUS_FAILED, "the server says:"
			    " %s", replies[i]->str);
	}
	return 0;
}

/* The server refuses it for the moment: wait, or fail after a while. */
static int
pause_after(struct watch *w, struct server *s, const struct error *why,
    struct error *error)
{
	struct error reason;
	uint64_t now = clock_now();

	error_set(&reason, STATUS_FAILED, "%s: %s", s->address.shown,
	    why->text);
	if (w->retry.failing_since == 0)
		w->retry = redis_net_retry(s->net);
	if (retry_pause(&w->retry, &reason, error) < 0)
		return -1;
	poll(NULL, 0, (int)((w->retry.next - now) / CLOCK_MILLISECOND));
	return 1;
}

int
watch_set(struct watch *w, struct server *s, struct error *error)
{
	struct outcome outcome = { .changed = 1 };

	if (redis_net_losses(s->net) != w->losses)
		return 1;
	redis_net_begin(s->net, s->slot, REQUEST_ONCE | REQUEST_WATCHED,
	    take_exec, &outcome, 0);
	redis_net_command(s->net, 1);
	redis_net_text(s->net, "MULTI");
	for (size_t i = 0; i < w->count; i++) {
		redis_net_command(s->net, 3);
		redis_net_text(s->net, "SET");
		redis_net_text(s->net, w->keys[i]);
		redis_net_word(s->net, w->values[i], w->lengths[i]);
	}
	redis_net_command(s->net, 1);
	redis_net_text(s->net, "EXEC");
	if (redis_net_end(s->net, 64, error) < 0 ||
	    redis_net_finish(s->net, error) < 0)
		return -1;
	return outcome.refused ? pause_after(w, s, &outcome.reason, error) :
	    outcome.changed;
}

int
watch_end(struct server *s, struct error *error)
{
	redisReply *reply = redis_call(s->net, s->slot, 0, error,
	    "UNWATCH");

	if (reply == NULL)
		return -1;
	freeReplyObject(reply);
	return 0;
}
