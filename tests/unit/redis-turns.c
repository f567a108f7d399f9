/*
 * Goal: with a window, a line that several clients claim is won by exactly one
 * of them, whatever the server's clock says while their requests are on their
 * way.
 *
 * A search through all states: a clock that may go on at any moment, clients
 * that take one step at a time (read the clock, look the line up in one
 * generation, claim it in one), and what each of them knows. The clock is read
 * as two bounds, each wrong by up to `error` ticks. The rule is that of the
 * source (redis/turn.h); two simpler ones, which were tried before, fail in the
 * same search, so it can see what it looks for.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "redis/turn.h"
#include "tap.h"

#define CLIENTS_MAX 3

enum rule {
	RULE_TURN,   /* redis/turn.h */
	RULE_NEWEST, /* only in the generation that is due when it begins */
	RULE_BOTH    /* in all that may be due, in any order */
};

enum step {
	STEP_BEGIN,  /* reads the clock */
	STEP_LOOK,   /* looks the line up in `at`, then in those before it */
	STEP_CLAIM,  /* claims it in `at` */
	STEP_AFTER,  /* was told "new": reads the clock again */
	STEP_WON,
	STEP_LOST
};

struct client {
	enum step step;
	int at, first; /* generations, up to 7 */
	int down;      /* RULE_BOTH: from the newest to the oldest */
};

struct state {
	int time;
	unsigned marks; /* bit g: the line is in generation g */
	struct client clients[CLIENTS_MAX];
};

struct search {
	enum rule rule;
	int clients, quarter, last, error; /* `last` tick of the clock */
	uint64_t *seen;                    /* a hash table of states */
	uint64_t room, count, wins_wrong;
	struct state *stack;
	size_t depth, depth_room;
};

static uint64_t
encode(const struct search *s, const struct state *state)
{
	uint64_t code = (uint64_t)state->time << 8 | state->marks;

	for (int i = 0; i < s->clients; i++) {
		const struct client *c = &state->clients[i];

		code = code << 10 | (uint64_t)c->step << 7 |
		    (uint64_t)c->at << 4 | (uint64_t)c->first << 1 |
		    (uint64_t)c->down;
	}
	return code + 1; /* 0 is an empty place */
}

/* Is this state new? Then it is remembered. */
static int
insert(struct search *s, const struct state *state)
{
	uint64_t code = encode(s, state);
	uint64_t at = code * UINT64_C(0x9e3779b97f4a7c15) >> 20;

	for (at &= s->room - 1; s->seen[at] != 0; at = (at + 1) & (s->room - 1))
		if (s->seen[at] == code)
			return 0;
	s->seen[at] = code;
	s->count++;
	return 1;
}

static void
grow_table(struct search *s)
{
	uint64_t *old = s->seen, room = s->room;

	s->room *= 2;
	s->seen = calloc(s->room, sizeof *s->seen);
	for (uint64_t i = 0; i < room; i++) {
		uint64_t at = old[i] * UINT64_C(0x9e3779b97f4a7c15) >> 20;

		if (old[i] == 0)
			continue;
		for (at &= s->room - 1; s->seen[at] != 0; )
			at = (at + 1) & (s->room - 1);
		s->seen[at] = old[i];
	}
	free(old);
}

static void
push(struct search *s, const struct state *state)
{
	if (2 * s->count >= s->room)
		grow_table(s);
	if (!insert(s, state))
		return;
	if (s->depth == s->depth_room) {
		s->depth_room *= 2;
		s->stack = realloc(s->stack, s->depth_room *
		    sizeof *s->stack);
	}
	s->stack[s->depth++] = *state;
}

/* The clock is read before the lookup: all that it may say. */
static void
begin(struct search *s, const struct state *from, int i)
{
	for (int low = 0; low <= s->error; low++) {
		for (int high = 0; high <= s->error; high++) {
			struct state to = *from;
			struct client *c = &to.clients[i];
			struct turn_time time = { from->time - low,
				from->time + high };

			if (time.lower < 0)
				continue;
			c->step = STEP_LOOK;
			c->first = (int)turn_first(time, s->quarter);
			c->at = (int)(time.upper / s->quarter);
			/* A simple client rounds to what it saw last. */
			if (s->rule == RULE_NEWEST)
				c->first = c->at;
			push(s, &to);
			if (s->rule == RULE_BOTH) {
				c->down = 1;
				push(s, &to);
			}
		}
	}
}

static void
look(struct search *s, const struct state *from, int i)
{
	struct state to = *from;
	struct client *c = &to.clients[i];

	if (from->marks >> c->at & 1) {
		c->step = STEP_LOST;
	} else if (c->at > 0) {
		c->at--;
	} else {
		c->step = STEP_CLAIM;
		c->at = c->first;
		if (c->down)
			c->at = c->first + 1;
	}
	push(s, &to);
}

static void
claim(struct search *s, const struct state *from, int i)
{
	struct state to = *from;
	struct client *c = &to.clients[i];

	to.marks |= 1u << c->at;
	if (from->marks >> c->at & 1)
		c->step = STEP_LOST;
	else if (s->rule == RULE_NEWEST)
		c->step = STEP_WON;
	else if (s->rule == RULE_TURN)
		c->step = STEP_AFTER;
	else if (c->down && c->at > c->first)
		c->at--;
	else if (!c->down && c->at == c->first)
		c->at++;
	else
		c->step = STEP_WON;
	push(s, &to);
}

static void
read_again(struct search *s, const struct state *from, int i)
{
	for (int high = 0; high <= s->error; high++) {
		struct state to = *from;
		struct client *c = &to.clients[i];
		struct turn_time time = { from->time, from->time + high };

		if (turn_goes_on(time, s->quarter, c->at)) {
			c->step = STEP_CLAIM;
			c->at++;
		} else {
			c->step = STEP_WON;
		}
		push(s, &to);
	}
}

static void
go_on(struct search *s, const struct state *from)
{
	static void (*const steps[])(struct search *, const struct state *,
	    int) = {
		[STEP_BEGIN] = begin, [STEP_LOOK] = look,
		[STEP_CLAIM] = claim, [STEP_AFTER] = read_again
	};
	int won = 0, ended = 0;

	for (int i = 0; i < s->clients; i++) {
		enum step step = from->clients[i].step;

		won += step == STEP_WON;
		ended += step >= STEP_WON;
		if (step < STEP_WON)
			steps[step](s, from, i);
	}
	if (won > 1 || (ended == s->clients && won != 1))
		s->wins_wrong++;
	if (from->time < s->last && ended < s->clients) {
		struct state to = *from;

		to.time++;
		push(s, &to);
	}
}

/* Returns how many states there are in which the line is not won by one. */
static uint64_t
try_all(enum rule rule, int clients, int quarter, int last, int error,
    uint64_t *count)
{
	struct search s = { .rule = rule, .clients = clients,
		.quarter = quarter, .last = last, .error = error,
		.room = 1 << 16, .depth_room = 1 << 16 };
	struct state start = { 0 };

	s.seen = calloc(s.room, sizeof *s.seen);
	s.stack = malloc(s.depth_room * sizeof *s.stack);
	push(&s, &start);
	while (s.depth > 0) {
		struct state state = s.stack[--s.depth];

		go_on(&s, &state);
	}
	free(s.seen);
	free(s.stack);
	*count = s.count;
	return s.wins_wrong;
}

int
main(void)
{
	int is_slow = getenv("BLOOMDEDUP_SLOW") != NULL;
	uint64_t count, all = 0, wrong;

	for (int error = 0; error <= 2; error++) {
		wrong = try_all(RULE_TURN, 2, 3, is_slow ? 14 : 9, error,
		    &count);
		all += count;
		tap_ok(wrong == 0, "two clients, bounds wrong by %d: %llu"
		    " states", error, (unsigned long long)count);
	}
	for (int error = 0; error <= 2; error++) {
		wrong = try_all(RULE_TURN, 3, 3, is_slow ? 18 : 10, error,
		    &count);
		all += count;
		tap_ok(wrong == 0, "three clients, bounds wrong by %d: %llu"
		    " states", error, (unsigned long long)count);
	}
	tap_ok(all >= (is_slow ? 8000000u : 400000u), "%llu states in sum",
	    (unsigned long long)all);
	tap_ok(try_all(RULE_NEWEST, 2, 3, 6, 1, &count) > 0,
	    "claims in one generation only are not enough");
	tap_ok(try_all(RULE_BOTH, 2, 3, 6, 1, &count) > 0,
	    "nor are claims in both, in any order");
	return tap_end();
}
