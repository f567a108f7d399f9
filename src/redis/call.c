#include "redis/call.h"

#include <stdarg.h>
#include <stdlib.h>

int
redis_ignore(void *context, size_t tag, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	(void)context;
	(void)tag;
	(void)outcome;
	(void)replies;
	(void)count;
	(void)error;
	return 0;
}

/* Keep the reply for the caller. */
static int
keep_reply(void *context, size_t tag, enum redis_outcome outcome,
    redisReply *const *replies, size_t count, struct error *error)
{
	redisReply *reply, **kept = context;

	(void)tag;
	(void)error;
	if (outcome != REDIS_ANSWERED || count == 0)
		return 0;
	reply = replies[0];
	*kept = memory_or_die(malloc(sizeof **kept));
	**kept = *reply;
	/* Leave a reply that has nothing to free. */
	*reply = (redisReply){ .type = REDIS_REPLY_NIL };
	return 0;
}

redisReply *
redis_call(struct redis_net *net, unsigned slot, unsigned flags,
    struct error *error, const char *format, ...)
{
	redisReply *reply = NULL;
	va_list args;
	char *bytes;
	int n;

	va_start(args, format);
	n = redisvFormatCommand(&bytes, format, args);
	va_end(args);
	if (n < 0)
		memory_or_die(NULL);
	error->status = STATUS_OK;
	redis_net_begin(net, slot, flags, keep_reply, &reply, 0);
	redis_net_formatted(net, bytes, (size_t)n);
	redisFreeCommand(bytes);
	if (redis_net_end(net, 0, error) < 0 ||
	    redis_net_finish(net, error) < 0) {
		if (reply != NULL)
			freeReplyObject(reply);
		return NULL;
	}
	return reply;
}

int
redis_call_all(struct redis_net *net, redis_answer *function,
    void *context, struct error *error, const char *command)
{
	char *bytes;
	int n = redisFormatCommand(&bytes, command), result = 0;

	if (n < 0)
		memory_or_die(NULL);
	for (size_t i = 0; i < redis_net_nodes(net) && result == 0; i++) {
		if (!redis_net_begin_at(net, i, function, context))
			continue;
		redis_net_formatted(net, bytes, (size_t)n);
		result = redis_net_end(net, 0, error);
	}
	redisFreeCommand(bytes);
	return result < 0 ? -1 : redis_net_finish(net, error);
}
