#include "redis/claims.h"

#include <stdlib.h>
#include <string.h>

void
claims_free(struct claims *c)
{
	free(c->digests);
	free(c->numbers);
	free(c->answers);
	*c = (struct claims){ 0 };
}

/* Choose the digests of which this is known, but not more than `most`. */
static void
choose(struct claims *c, const struct digest *digests, size_t n, size_t most,
    const uint8_t *claimed, enum claimed which)
{
	if (c->room < n) {
		claims_free(c);
		c->room = n;
		c->digests = memory_or_die(malloc(n * sizeof *c->digests));
		c->numbers = memory_or_die(malloc(n * sizeof *c->numbers));
		c->answers = memory_or_die(malloc(n));
	}
	c->count = 0;
	for (size_t i = 0; i < n && c->count < most; i++) {
		if (claimed[i] != which)
			continue;
		c->digests[c->count] = digests[i];
		c->numbers[c->count++] = (uint32_t)i;
	}
}

/* Claim what was chosen in one generation. Answers are there after a failure,
 * too. */
static int
claim_in(struct claims *c, struct shards *shards, struct error *error)
{
	memset(c->answers, CLAIMED_NOT, c->count);
	shards_sort(shards, c->digests, c->count, c->answers);
	if (shards_parts(shards, shards->kind->mark, error) == 0 &&
	    net_finish(shards->net, error) == 0)
		return 0;
	net_abandon(shards->net);
	return -1;
}

/*
 * Digests that were new in one generation are claimed in the next one, too:
 * they are ours if they are new there.
 */
static int
claim_next(struct claims *c, struct shards *shards,
    const struct digest *digests, size_t n, uint8_t *claimed,
    struct error *error)
{
	int result;

	choose(c, digests, n, n, claimed, CLAIMED_NEW);
	result = claim_in(c, shards, error);
	for (size_t i = 0; i < c->count; i++) {
		uint8_t answer = c->answers[i];

		/* Then it is remembered already, by us. */
		if (answer == CLAIMED_NOT)
			answer = CLAIMED_UNCERTAIN;
		claimed[c->numbers[i]] = answer;
	}
	return result;
}

int
claims_make(struct claims *c, struct generations *g,
    const struct digest *digests, size_t n, size_t most, uint8_t *claimed,
    struct error *error)
{
	int64_t number = g->first;
	struct shards next;
	int more;

	choose(c, digests, n, most, claimed, CLAIMED_NOT);
	if (c->count == 0)
		return 0;
	more = claim_in(c, g->due, error);
	for (size_t i = 0; i < c->count; i++)
		claimed[c->numbers[i]] = c->answers[i];
	if (more < 0)
		return -1;
	while ((more = generations_next(g, number, &next, error)) > 0) {
		number = next.generation;
		if (claim_next(c, &next, digests, n, claimed, error) < 0)
			return -1;
	}
	if (more == 0)
		return 0;
	/* Another client may have won them in the next generation. */
	for (size_t i = 0; i < n; i++) {
		if (claimed[i] == CLAIMED_NEW)
			claimed[i] = CLAIMED_UNCERTAIN;
	}
	net_abandon(g->like.net);
	return -1;
}

int
claims_look_up(struct claims *c, struct generations *g,
    const struct digest *digests, size_t n, uint8_t *claimed, size_t *left,
    struct error *error)
{
	choose(c, digests, n, n, claimed, CLAIMED_NOT);
	*left = c->count;
	memset(c->answers, 0, c->count);
	if (c->count == 0)
		return 0;
	shards_sort(&g->like, c->digests, c->count, c->answers);
	for (unsigned i = 0; i < g->count; i++) {
		if (shards_parts(&g->set[i], g->like.kind->ask, error) < 0)
			return -1;
	}
	if (net_finish(g->like.net, error) < 0)
		return -1;
	for (size_t i = 0; i < c->count; i++) {
		if (!c->answers[i])
			continue;
		claimed[c->numbers[i]] = CLAIMED_SEEN;
		(*left)--;
	}
	return 0;
}
