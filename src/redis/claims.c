/*
 * Until the end, taken[i] is an enum claimed: what is known of digest i. It is
 * true after a failure, too.
 */
#include "redis/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "redis/room.h"

/* Some digests of a batch, apart from the others. */
struct selection {
	struct digest *digests;
	uint32_t *numbers;  /* their numbers in the batch */
	uint8_t *claimed;   /* what is known of each */
	size_t count;       /* how many there are */
};

/* Select those of n digests of which this is known. To be given back. */
static struct selection
take_out(const struct digest *digests, size_t n, const uint8_t *claimed,
    enum claimed which)
{
	struct selection s = { .count = 0 };

	s.digests = memory_or_die(malloc(n * sizeof *s.digests));
	s.numbers = memory_or_die(malloc(n * sizeof *s.numbers));
	s.claimed = memory_or_die(malloc(n));
	memset(s.claimed, (int)which, n);
	for (size_t i = 0; i < n; i++) {
		if (claimed[i] != which)
			continue;
		s.digests[s.count] = digests[i];
		s.numbers[s.count++] = (uint32_t)i;
	}
	return s;
}

/* Store in `claimed` what is known of them now, and free the selection. */
static void
give_back(struct selection *s, uint8_t *claimed)
{
	for (size_t i = 0; i < s->count; i++)
		claimed[s->numbers[i]] = s->claimed[i];
	free(s->digests);
	free(s->numbers);
	free(s->claimed);
}

/* Claiming */

/* Claim digests in one generation. claimed[i] is filled in in any case. */
static int
claim_in(struct shards *shards, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	memset(claimed, CLAIMED_NOT, n);
	shards_sort(shards, digests, n, claimed);
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
claim_next(struct shards *shards, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	struct selection s = take_out(digests, n, claimed, CLAIMED_NEW);
	int result = claim_in(shards, s.digests, s.count, s.claimed, error);

	for (size_t i = 0; i < s.count; i++) {
		/* The generation before remembers it already, for us. */
		if (s.claimed[i] == CLAIMED_NOT)
			s.claimed[i] = CLAIMED_UNCERTAIN;
	}
	give_back(&s, claimed);
	return result;
}

/* Claim digests in all generations that turn.h says. */
static int
claim(struct generations *g, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	int64_t number = g->first;
	struct shards next;
	int more;

	if (n == 0)
		return 0;
	if (claim_in(g->due, digests, n, claimed, error) < 0)
		return -1;
	while ((more = generations_next(g, number, &next, error)) > 0) {
		number = next.generation;
		if (claim_next(&next, digests, n, claimed, error) < 0)
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

/* Where there is no room */

/* Ask for digests in all generations: claimed[i] is CLAIMED_SEEN then, or as it
 * was. */
static int
look_up(struct generations *g, const struct selection *s, struct error *error)
{
	uint8_t *found;
	int result = 0;

	if (s->count == 0)
		return 0;
	found = memory_or_die(calloc(s->count, 1));
	shards_sort(&g->like, s->digests, s->count, found);
	for (unsigned i = 0; i < g->count && result == 0; i++)
		result = shards_parts(&g->set[i], g->like.kind->ask, error);
	if (result == 0)
		result = net_finish(g->like.net, error);
	/* Answers come before `found` is gone. */
	if (result < 0)
		net_abandon(g->like.net);
	for (size_t i = 0; i < s->count; i++) {
		if (found[i])
			s->claimed[i] = CLAIMED_SEEN;
	}
	free(found);
	return result;
}

/*
 * Drop those of the digests that are known. *left becomes how many others were
 * not claimed.
 */
static int
drop_known(struct remote *r, const struct digest *digests, size_t n,
    uint8_t *claimed, size_t *left, struct error *error)
{
	struct selection s = take_out(digests, n, claimed, CLAIMED_NOT);
	int result = look_up(&r->generations, &s, error);

	*left = 0;
	for (size_t i = 0; i < s.count; i++)
		*left += s.claimed[i] == CLAIMED_NOT;
	give_back(&s, claimed);
	if (result < 0)
		return remote_fail(r, error);
	return 0;
}

/* Claim the first `room` of those digests that were not claimed. */
static int
claim_some(struct remote *r, const struct digest *digests, size_t n,
    size_t room, uint8_t *claimed, struct error *error)
{
	struct selection s = take_out(digests, n, claimed, CLAIMED_NOT);
	int result = claim(&r->generations, s.digests,
	    s.count < room ? s.count : room, s.claimed, error);

	give_back(&s, claimed);
	return result;
}

/* The server took some claims, or none, since its memory is full. */
static int
check_refused(struct remote *r, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	struct trouble *trouble = &r->location.trouble;
	char text[NUMBER_TEXT];
	size_t left;

	if (trouble->refused == 0)
		return 0;
	if (drop_known(r, digests, n, claimed, &left, error) < 0)
		return -1;
	if (left == 0) {
		trouble->refused = 0;
		return 0;
	}
	return error_set(error, STATUS_FULL, "%s: %s new lines are not printed,"
	    " because they cannot be remembered: the server says: %s",
	    r->filter.name, number_format_count(text, left), trouble->why);
}

/* Claim what there is room for. */
static int
claim_batch(struct remote *r, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	enum room room;
	uint64_t lines;
	size_t left = n;
	struct error full;
	int result;

	if (remote_has_failed(r, error))
		return -1;
	room = room_reserve(r, n, &lines, &full);
	if (r->failed) {
		*error = full;
		return -1;
	}
	if (room != ROOM_ENOUGH &&
	    drop_known(r, digests, n, claimed, &left, error) < 0)
		return -1;
	if (shards_note(r->generations.due, error) < 0)
		return remote_fail(r, error);
	if (room == ROOM_ENOUGH)
		result = claim(&r->generations, digests, n, claimed, error);
	else
		result = claim_some(r, digests, n, (size_t)lines, claimed,
		    error);
	if (result < 0)
		return remote_fail(r, error);
	if (remote_check(r, error) < 0)
		return -1;
	if (room != ROOM_ENOUGH && left > lines) {
		*error = full;
		return -1;
	}
	return check_refused(r, digests, n, claimed, error);
}

/*
 * What is known becomes the caller's (enum claim): what is uncertain is
 * printed, and reported at once.
 */
static void
tell_claims(const struct remote *r, size_t n, uint8_t *taken)
{
	static const uint8_t claims[] = {
		[CLAIMED_NEW] = CLAIM_OURS, [CLAIMED_SEEN] = CLAIM_TAKEN,
		[CLAIMED_NOT] = CLAIM_UNDONE, [CLAIMED_UNCERTAIN] = CLAIM_OURS
	};
	uint64_t uncertain = 0;
	char text[NUMBER_TEXT];

	for (size_t i = 0; i < n; i++) {
		uncertain += taken[i] == CLAIMED_UNCERTAIN;
		taken[i] = claims[taken[i]];
	}
	if (uncertain == 0)
		return;
	error_notify(r->location.notice, "%s: another client may also print %s"
	    " of the next lines: the connection was lost before the server's"
	    " answer", r->filter.name, number_format_count(text,
	    uncertain));
}

int
claims_make(struct remote *r, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	int result;

	memset(taken, CLAIMED_NOT, n);
	r->unconfirmed = 1;
	result = claim_batch(r, digests, n, taken, error);
	tell_claims(r, n, taken);
	remote_describe(r);
	return result;
}
