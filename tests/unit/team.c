/*
 * Goal: a team does each part of a work once, with as many threads as it may
 * have or can get; and few items are not shared out.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "no_memory.h"
#include "tap.h"
#include "team.h"

#define MANY 100000
#define ROUNDS 5000

struct sum {
	size_t n;
	unsigned done[TEAM_THREADS_MAX]; /* how often each part was done */
	uint64_t sums[TEAM_THREADS_MAX];
};

static void
add(void *context, unsigned part, unsigned parts)
{
	struct sum *sum = context;

	sum->done[part]++;
	sum->sums[part] = 0;
	for (size_t i = team_begin(sum->n, part, parts);
	    i < team_begin(sum->n, part + 1, parts); i++)
		sum->sums[part] += i;
}

/* Every item once, and every part once a round? */
static int
adds_up(const struct sum *sum, unsigned parts, unsigned rounds)
{
	uint64_t all = 0;

	for (unsigned i = 0; i < TEAM_THREADS_MAX; i++) {
		if (sum->done[i] != (i < parts ? rounds : 0))
			return 0;
		all += sum->sums[i];
	}
	return all == (uint64_t)sum->n * (sum->n - 1) / 2;
}

static void
test_rounds(unsigned threads)
{
	struct team *team = team_new(threads);
	struct sum sum = { .n = 1001 };
	unsigned parts = team_parts(team, MANY);

	tap_ok(parts == (threads < TEAM_THREADS_MAX ? threads :
	    TEAM_THREADS_MAX), "%u threads: %u parts", threads, parts);
	for (unsigned i = 0; i < ROUNDS; i++)
		team_run(team, parts, add, &sum);
	tap_ok(adds_up(&sum, parts, ROUNDS), "each part once");
	if (parts > 1) {
		memset(&sum, 0, sizeof sum);
		sum.n = 1001;
		for (unsigned i = 0; i < ROUNDS; i++) {
			team_start(team, parts - 1, add, &sum);
			team_wait(team);
		}
		tap_ok(adds_up(&sum, parts - 1, ROUNDS),
		    "each part once, without the caller");
	}
	team_wait(team);
	team_free(team);
}

static void
test_few(void)
{
	struct team *team = team_new(4);
	struct sum sum = { .n = 10 }, both = { .n = 10 };

	tap_ok(team_parts(NULL, MANY) == 1, "no team: one part");
	tap_ok(team_parts(team, 0) == 1 && team_parts(team, 100) == 1,
	    "few items: one part");
	tap_ok(team_parts(team, 200) == 3, "some items: fewer parts");
	team_spare(team, 1);
	tap_ok(team_parts(team, MANY) == 3, "one thread is busy elsewhere");
	team_spare(team, 7);
	tap_ok(team_parts(team, MANY) == 1, "all are: the caller is left");
	team_spare(team, 0);
	tap_ok(team_parts(team, MANY) == 4, "and they are back");
	team_start(team, 2, add, &both);
	tap_ok(team_parts(team, MANY) == 1, "the team is at work: one part");
	team_wait(team);
	tap_ok(team_parts(team, MANY) == 4, "no more");
	team_run(team, 1, add, &sum);
	tap_ok(adds_up(&sum, 1, 1), "one part");
	team_wait(NULL);
	team_spare(NULL, 1);
	team_free(NULL);
	team_free(team);
}

static int
does_all(void *context)
{
	struct sum sum = { .n = 1001 };

	team_run(context, team_parts(context, MANY), add, &sum);
	return adds_up(&sum, 4, 1) && team_parts(context, MANY) == 1;
}

static void
test_no_threads(void)
{
	struct team *team = team_new(4);

	without_memory(does_all, team,
	    "where no thread can be had, the caller does all of it");
	team_free(team);
}

int
main(void)
{
	/* What waits for ever is a failure and not a long test. */
	alarm(300);
	/* First: the memory of a thread that ended is used for the next one. */
	test_no_threads();
	test_few();
	test_rounds(1);
	test_rounds(2);
	test_rounds(3);
	test_rounds(TEAM_THREADS_MAX);
	test_rounds(TEAM_THREADS_MAX + 1);
	return tap_end();
}
