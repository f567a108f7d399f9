#include "team.h"

#include <stdlib.h>

#include "error.h"
#include "worker.h"

/* Fewer items are done before another thread has begun. */
#define LEAST_ITEMS 64

struct member {
	struct team *team;
	struct worker *worker; /* NULL: not started yet */
	unsigned part;
};

struct team {
	unsigned threads, spared;
	struct member members[TEAM_THREADS_MAX - 1];
	/* what is done now */
	void (*work)(void *context, unsigned part, unsigned parts);
	void *context;
	unsigned parts;
	unsigned busy; /* so many members, the first ones, have begun */
};

struct team *
team_new(unsigned threads)
{
	struct team *team = memory_or_die(calloc(1, sizeof *team));

	team->threads = threads < TEAM_THREADS_MAX ? threads :
	    TEAM_THREADS_MAX;
	for (unsigned i = 0; i < TEAM_THREADS_MAX - 1; i++)
		team->members[i].team = team;
	return team;
}

void
team_free(struct team *team)
{
	if (team == NULL)
		return;
	for (unsigned i = 0; i < TEAM_THREADS_MAX - 1; i++)
		worker_free(team->members[i].worker);
	free(team);
}

void
team_spare(struct team *team, unsigned threads)
{
	if (team != NULL)
		team->spared = threads;
}

unsigned
team_parts(const struct team *team, size_t n)
{
	size_t parts = n / LEAST_ITEMS;
	unsigned threads;

	if (team == NULL || team->threads <= team->spared || team->busy > 0)
		return 1;
	threads = team->threads - team->spared;
	return parts > threads ? threads : parts > 1 ? (unsigned)parts : 1;
}

size_t
team_begin(size_t n, unsigned part, unsigned parts)
{
	return n * part / parts;
}

static void
do_part(void *context)
{
	const struct member *member = context;
	const struct team *team = member->team;

	team->work(team->context, member->part, team->parts);
}

/* Let workers do the parts from `first` on, or the caller if there are none. */
static void
start(struct team *team, unsigned first, unsigned parts,
    void (*work)(void *context, unsigned part, unsigned parts), void *context)
{
	team->work = work;
	team->context = context;
	team->parts = parts;
	team->busy = 0;
	for (unsigned part = first; part < parts; part++) {
		struct member *member = &team->members[team->busy];

		if (member->worker == NULL)
			member->worker = worker_new();
		if (member->worker == NULL) {
			/* No more threads can be had, and so it stays. */
			team->threads = 1 + team->busy;
			work(context, part, parts);
			continue;
		}
		member->part = part;
		worker_start(member->worker, do_part, member);
		team->busy++;
	}
}

void
team_start(struct team *team, unsigned parts,
    void (*work)(void *context, unsigned part, unsigned parts), void *context)
{
	start(team, 0, parts, work, context);
}

void
team_wait(struct team *team)
{
	while (team != NULL && team->busy > 0)
		worker_wait(team->members[--team->busy].worker);
}

void
team_run(struct team *team, unsigned parts,
    void (*work)(void *context, unsigned part, unsigned parts), void *context)
{
	if (parts == 1) {
		work(context, 0, 1);
		return;
	}
	start(team, 1, parts, work, context);
	work(context, 0, parts);
	team_wait(team);
}
