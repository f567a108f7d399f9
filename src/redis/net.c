#include "redis/net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/exchange.h"
#include "redis/request.h"

/* Bytes in flight at a time, including the expected replies. */
#define IN_FLIGHT_BYTES (4u << 20)

struct redis_net {
	struct exchange exchange;
	struct request *making; /* between begin and end */
};

int
redis_net_flush(struct redis_net *net, struct error *error)
{
	return exchange_flush(&net->exchange, error);
}

int
redis_net_finish(struct redis_net *net, struct error *error)
{
	if (net->exchange.unanswered > 0)
		net->exchange.figures.round_trips++;
	while (net->exchange.unanswered > 0) {
		if (exchange_go_on(&net->exchange, 0, 0, error) < 0)
			return -1;
	}
	return 0;
}

int
redis_net_is_busy(const struct redis_net *net)
{
	return net->exchange.unanswered > 0;
}

/* Making requests */

void
redis_net_begin(struct redis_net *net, unsigned slot, unsigned flags,
    redis_answer *function, void *context, size_t tag)
{
	net->making = request_new(slot, flags, function, context, tag);
}

void
redis_net_command(struct redis_net *net, size_t words)
{
	request_add_command(net->making, words);
}

void
redis_net_word(struct redis_net *net, const void *data, size_t nbytes)
{
	request_add_word(net->making, data, nbytes);
}

int
redis_net_begin_at(struct redis_net *net, size_t node, redis_answer *function,
    void *context)
{
	if (net->exchange.nodes.list[node].connection == NULL)
		return 0;
	redis_net_begin(net, 0, REQUEST_ONCE, function, context, node);
	net->making->node = (int)node;
	return 1;
}

void
redis_net_formatted(struct redis_net *net, const char *command,
    size_t nbytes)
{
	net->making->commands++;
	request_add_bytes(net->making, command, nbytes);
}

void
redis_net_text(struct redis_net *net, const char *word)
{
	redis_net_word(net, word, strlen(word));
}

void
redis_net_number(struct redis_net *net, int64_t number)
{
	char text[24];

	redis_net_word(net, text, (size_t)snprintf(text, sizeof text, "%lld",
	    (long long)number));
}

int
redis_net_end(struct redis_net *net, size_t reply_bytes, struct error *error)
{
	struct request *request = net->making;

	net->making = NULL;
	request_end(request, reply_bytes);
	exchange_add(&net->exchange, request);
	return exchange_go_on(&net->exchange, IN_FLIGHT_BYTES, 0, error);
}

/* Opening and closing */

int
redis_net_open(struct redis_net **result, const struct address *location,
    uint64_t retry_ms, void (*notice)(const char *text), struct error *error)
{
	struct redis_net *net = memory_or_die(calloc(1, sizeof *net));

	if (exchange_open(&net->exchange, location, retry_ms, notice,
	    error) < 0) {
		redis_net_close(net);
		return -1;
	}
	*result = net;
	return 0;
}

void
redis_net_close(struct redis_net *net)
{
	if (net == NULL)
		return;
	exchange_free(&net->exchange);
	free(net);
}

size_t
redis_net_nodes(const struct redis_net *net)
{
	return net->exchange.nodes.count;
}

uint64_t
redis_net_losses(const struct redis_net *net)
{
	return net->exchange.losses;
}

struct retry
redis_net_retry(const struct redis_net *net)
{
	return (struct retry){ .limit_ms = net->exchange.retry.limit_ms,
		.notice = net->exchange.retry.notice,
		.cluster = net->exchange.nodes.cluster };
}

const struct redis_figures *
redis_net_figures(const struct redis_net *net)
{
	return &net->exchange.figures;
}
