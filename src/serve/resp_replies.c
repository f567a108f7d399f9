#include "serve/resp_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "serve/catalog.h"

static void
put_line(struct asker *asker, char kind, const char *text)
{
	replies_put(&asker->replies, &kind, 1);
	replies_text(&asker->replies, text);
	replies_put(&asker->replies, "\r\n", 2);
}

static void
put_number(struct asker *asker, char kind, uint64_t value)
{
	char line[32];
	int n = snprintf(line, sizeof line, "%c%" PRIu64 "\r\n", kind, value);

	replies_put(&asker->replies, line, (size_t)n);
}

void
resp_put_simple(struct asker *asker, const char *text)
{
	put_line(asker, '+', text);
}

void
resp_put_error(struct asker *asker, const char *text)
{
	put_line(asker, '-', text);
}

void
resp_put_integer(struct asker *asker, uint64_t value)
{
	put_number(asker, ':', value);
}

static void
put_boolean(struct asker *asker, int value)
{
	static const char lines[2][2][5] = {
		{ ":0\r\n", ":1\r\n" }, { "#f\r\n", "#t\r\n" } };

	replies_put(&asker->replies, lines[asker->resp3][value], 4);
}

void
resp_put_bulk(struct asker *asker, const void *data, size_t nbytes)
{
	put_number(asker, '$', nbytes);
	replies_put(&asker->replies, data, nbytes);
	replies_put(&asker->replies, "\r\n", 2);
}

void
resp_put_text(struct asker *asker, const char *text)
{
	resp_put_bulk(asker, text, strlen(text));
}

void
resp_put_null(struct asker *asker)
{
	replies_line(&asker->replies, asker->resp3 ? "_" : "$-1");
}

void
resp_put_array(struct asker *asker, size_t count)
{
	put_number(asker, '*', count);
}

void
resp_put_map(struct asker *asker, size_t count)
{
	put_number(asker, asker->resp3 ? '%' : '*',
	    asker->resp3 ? count : 2 * count);
}

/*
 * The array ends with its first error, as in RedisBloom, so its head is
 * replaced. If the head has been sent, each item that is left is an error.
 */
static void
fail_array(struct asker *asker)
{
	char head[32], shorter[32];
	uint32_t done = asker->items - asker->left;

	if (!asker->replies.holding)
		return;
	replies_exchange(&asker->replies,
	    (size_t)snprintf(head, sizeof head, "*%" PRIu32 "\r\n",
	    asker->items), shorter, (size_t)snprintf(shorter, sizeof shorter,
	    "*%" PRIu32 "\r\n", done + 1));
	asker->cut = 1;
}

static void
put_failure(struct asker *asker, const struct operation *o,
    const struct outcome *outcome)
{
	if (o->reply != NULL) {
		resp_put_error(asker, o->reply);
	} else if (outcome->status == STATUS_FULL && o->served != NULL &&
	    served_is_fixed(o->served)) {
		resp_put_error(asker, "ERR non scaling filter is full");
	} else {
		replies_put(&asker->replies, "-ERR ", 5);
		replies_text(&asker->replies, outcome->failure);
		replies_put(&asker->replies, "\r\n", 2);
	}
}

static void
count(struct counters *counters, int asks, int seen)
{
	if (!asks) {
		counters->cmd_set++;
		return;
	}
	counters->cmd_get++;
	if (seen)
		counters->get_hits++;
	else
		counters->get_misses++;
}

void
resp_answer(struct service *service, struct asker *asker,
    const struct operation *o, const struct outcome *outcome)
{
	if (o->items > 0) {
		asker->items = asker->left = o->items;
		asker->cut = asker->failed = 0;
		replies_hold(&asker->replies);
		resp_put_array(asker, o->items);
	}
	if (asker->left > 0 && asker->cut) {
		asker->left--;
		return;
	}
	if (o->reply != NULL || outcome->failure != NULL) {
		if (asker->left > 0)
			fail_array(asker);
		asker->failed = 1;
		put_failure(asker, o, outcome);
	} else {
		count(&service->counters, o->asks, outcome->seen);
		put_boolean(asker, outcome->seen == o->asks);
	}
	if (asker->left > 0 && (--asker->left == 0 || asker->cut))
		replies_let_go(&asker->replies);
}
