#include "redis/redis.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/number.h"
#include "model/window.h"
#include "redis/remote.h"

/*
 * The more lines of a batch are in a shard, the fewer commands they take; a
 * batch of this size waits for the server as long as it is read.
 */
#define BATCH_LINES (64 * 1024)

/* Marks are answered while input is waited for: milliseconds. */
#define IDLE_AFTER 5

/* How often a run that rests sees whether the filter is still there. */
#define CONFIRM_EVERY CLOCK_SECOND

/* The most pages for an estimate: 1 MiB, a few milliseconds of the server's
 * time. */
#define SAMPLE_PAGES 256

static const struct filter_operations bloom, bits;

/* Opening */

/* Connect; NULL on failure, with `error` filled. */
static struct remote *
attach(const char *location, const struct filter_use *use,
    struct error *error)
{
	struct remote *r = memory_or_die(calloc(1, sizeof *r));

	if (stored_open(&r->stored, location, use, error) < 0) {
		free(r);
		return NULL;
	}
	r->filter = (struct filter){ .operations = &bloom,
		.bottom = &r->filter, .header = &r->stored.header,
		.table = &r->table, .name = r->stored.address.shown };
	r->claiming = use->claim;
	r->makes = use->writable;
	return r;
}

static void
detach(struct remote *r)
{
	stored_close(&r->stored);
	free(r);
}

/* May the filter be used so? */
static int
check_use(struct remote *r, const struct filter_use *use,
    struct error *error)
{
	const struct header *header = &r->stored.header;

	r->filter.growth = header->growth;
	if (use->growth >= 0)
		r->filter.growth = (enum growth)use->growth;
	if (!use->writable)
		return 0;
	return format_check_writable(header, r->filter.name, error);
}

/* Begin to use the filter that its location has open. */
static int
start_use(struct remote *r, const struct filter_use *use, struct error *error)
{
	if (check_use(r, use, error) < 0)
		return -1;
	if (r->stored.shards.layout.kind == SHARDS_BITS)
		r->filter.operations = &bits;
	generations_begin(&r->generations, &r->stored.shards,
	    &r->stored.header.window);
	/* A window counts its lines when it advances, as it does now. */
	if (r->generations.quarter > 0)
		return remote_advance(r, error);
	/* New shards stay from now on, and those that were to be deleted. */
	if (r->makes &&
	    shards_each(&r->stored.shards, shards_keep, error) < 0)
		return -1;
	return remote_count(r, error);
}

/* Open the header's filter. Returns 1 if there is none. */
static int
open_found(struct remote *r, const struct filter_use *use,
    struct error *error)
{
	struct found found;

	if (stored_find(&r->stored, &found, error) < 0)
		return -1;
	if (!found.exists)
		return 1;
	stored_take(&r->stored, &found);
	return start_use(r, use, error);
}

int
redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	struct remote *r = attach(location, use, error);
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	result = open_found(r, use, error);
	if (result == 0)
		*filter = &r->filter;
	else
		detach(r);
	return result;
}

int
redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	struct remote *r = attach(location, use, error);
	int result;

	*filter = NULL;
	if (r == NULL)
		return -1;
	result = stored_make(&r->stored, replace, design, error);
	if (result == 0)
		result = start_use(r, use, error);
	if (result == 0)
		*filter = &r->filter;
	else
		detach(r);
	return result;
}

static struct filter_costs
costs_of(const struct stored *stored)
{
	const struct layout *layout = &stored->shards.layout;

	return (struct filter_costs){ .shards = layout->shards,
		.own_shards = layout->kind == SHARDS_BLOOM };
}

int
redis_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error)
{
	const struct filter_use use = FILTER_READ;
	struct stored there;
	int result;

	if (stored_open(&there, location, &use, error) < 0)
		return -1;
	result = stored_design(&there, design, error);
	if (result == 0) {
		*costs = costs_of(&there);
		*bytes = layout_bytes(&there.shards.layout, &there.header);
		/* The next generation is made before the oldest expires. */
		if (there.header.window.kind != WINDOW_NONE)
			*bytes *= WINDOW_PLACES + 1;
	}
	stored_close(&there);
	return result;
}

int
redis_check_removal(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct stored there;
	struct found found;
	int result;

	use.wait = *wait;
	if (stored_open(&there, location, &use, error) < 0)
		return -1;
	result = stored_find(&there, &found, error);
	stored_close(&there);
	if (result < 0)
		return -1;
	return !found.exists;
}

int
redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct stored there;
	int result;

	use.wait = *wait;
	if (stored_open(&there, location, &use, error) < 0)
		return -1;
	result = stored_remove(&there, error);
	stored_close(&there);
	return result;
}

/* Lines */

/* Ask all generations for the batch that was sorted. */
static int
redis_ask(struct remote *r, struct error *error)
{
	struct generations *g = &r->generations;

	for (unsigned i = 0; i < g->count; i++) {
		if (shards_parts(&g->set[i], g->like.kind->ask, error) < 0)
			return remote_fail(r, error);
	}
	return remote_finish(r, error);
}

static int
redis_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct remote *r = remote_of(filter);
	const struct net *net = r->stored.net;
	int has_marks = net_is_busy(net);
	uint64_t repeats = net_repeats(net);

	if (remote_has_failed(r, error) || remote_advance(r, error) < 0)
		return -1;
	/* A claim is a question, too. */
	if (r->claiming && r->stored.shards.layout.kind == SHARDS_BLOOM &&
	    r->generations.quarter == 0)
		return 0;
	shards_sort(&r->stored.shards, digests, n, found);
	if (redis_ask(r, error) < 0)
		return -1;
	/* A mark that was made again, since its server was busy or its
	   connection lost, may have come after the question. */
	if (has_marks && net_repeats(net) != repeats)
		return redis_ask(r, error);
	return 0;
}

static enum room
redis_reserve(struct filter *filter, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	return remote_reserve(remote_of(filter), wanted, room, error);
}

static int
redis_mark(struct filter *filter, const struct digest *digests, size_t n,
    struct error *error)
{
	struct remote *r = remote_of(filter);
	struct shards *due;

	if (remote_has_failed(r, error))
		return -1;
	r->stored.trouble.unanswered += n;
	r->unconfirmed = 1;
	if (remote_advance(r, error) < 0)
		return -1;
	due = r->generations.due;
	shards_sort(&r->stored.shards, digests, n, NULL);
	if (shards_note(due, error) < 0 ||
	    shards_parts(due, due->kind->mark, error) < 0 ||
	    net_flush(r->stored.net, error) < 0)
		return remote_fail(r, error);
	remote_describe(r);
	return remote_check(r, error);
}

/* Claims */

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

/* Claim digests in one generation. claimed[i] is filled in in any case. */
static int
claim_in(struct shards *shards, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	memset(claimed, CLAIMED_NOT, n);
	shards_sort(shards, digests, n, claimed);
	return net_settle(shards->net, shards_parts(shards,
	    shards->kind->mark, error), error);
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
		/* Our claim stands in the generation before. */
		if (s.claimed[i] == CLAIMED_NOT)
			s.claimed[i] = CLAIMED_UNCERTAIN;
	}
	give_back(&s, claimed);
	return result;
}

/* Claim digests in all generations that turn.h says. */
static int
claim_in_turn(struct generations *g, const struct digest *digests, size_t n,
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

/* Ask for digests in all generations: claimed[i] is CLAIMED_SEEN then, or as it
 * was. */
static int
ask_all(struct generations *g, const struct selection *s, struct error *error)
{
	uint8_t *found;
	int result = 0;

	if (s->count == 0)
		return 0;
	found = memory_or_die(calloc(s->count, 1));
	shards_sort(&g->like, s->digests, s->count, found);
	for (unsigned i = 0; i < g->count && result == 0; i++)
		result = shards_parts(&g->set[i], g->like.kind->ask, error);
	result = net_settle(g->like.net, result, error);
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
	int result = ask_all(&r->generations, &s, error);

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
	int result = claim_in_turn(&r->generations, s.digests,
	    s.count < room ? s.count : room, s.claimed, error);

	give_back(&s, claimed);
	return result;
}

/* The server took some claims, or none, since its memory is full. */
static int
check_refused(struct remote *r, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	struct trouble *trouble = &r->stored.trouble;
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
	room = remote_reserve(r, n, &lines, &full);
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
		result = claim_in_turn(&r->generations, digests, n, claimed,
		    error);
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
	error_notify(r->stored.notice, "%s: another client may also print %s"
	    " of the next lines: the connection was lost before the server's"
	    " answer", r->filter.name, number_format_count(text,
	    uncertain));
}

/*
 * Claims mark lines before they are printed, and the answers say which of them
 * were new. With a window, a claim may go to several generations (turn.h). If
 * there is no room for all of the lines, they are looked up first, and those
 * that were seen before need none. Lines whose claim is uncertain are reported
 * before this returns, and so before they are printed.
 *
 * Until the end, taken[i] is an enum claimed: what is known of digest i. It is
 * true after a failure, too.
 */
static int
redis_claim(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *taken, struct error *error)
{
	struct remote *r = remote_of(filter);
	int result;

	memset(taken, CLAIMED_NOT, n);
	r->unconfirmed = 1;
	result = claim_batch(r, digests, n, taken, error);
	tell_claims(r, n, taken);
	remote_describe(r);
	return result;
}

/* At rest, and at the end */

/* For how long it need not be seen whether the filter is still there. */
static uint64_t
until_confirmed(const struct remote *r)
{
	uint64_t age = clock_now() - r->confirmed;

	return age < CONFIRM_EVERY ? CONFIRM_EVERY - age : 0;
}

static int
redis_idle_after(const struct filter *filter)
{
	const struct remote *r = remote_of_const(filter);

	if (net_is_busy(r->stored.net))
		return IDLE_AFTER;
	if (r->unconfirmed && !r->failed)
		return (int)(until_confirmed(r) / CLOCK_MILLISECOND) + 1;
	return -1;
}

static int
redis_write_back(struct filter *filter, int all, struct error *error)
{
	struct remote *r = remote_of(filter);

	if (!all || r->failed)
		return 0;
	if (remote_settle(r, error) < 0)
		return -1;
	if (until_confirmed(r) == 0)
		return remote_confirm(r, error);
	return 0;
}

static int
redis_close(struct filter *filter, struct error *error)
{
	struct remote *r = remote_of(filter);
	int result = redis_write_back(filter, 1, error);

	if (result == 0 && !r->failed)
		result = remote_confirm(r, error);
	remote_tell_losses(r);
	detach(r);
	return result;
}

/* What it says of itself */

static struct filter_costs
redis_costs(const struct filter *filter)
{
	return costs_of(&remote_of_const(filter)->stored);
}

static int
redis_sample(struct filter *filter, const uint64_t *numbers, size_t n,
    uint8_t *to, struct error *error)
{
	struct remote *r = remote_of(filter);
	struct shards *shards = &r->stored.shards;

	if (remote_has_failed(r, error))
		return -1;
	if (shards->kind->read_pages(shards, numbers, n, to, error) < 0)
		return remote_fail(r, error);
	return 0;
}

#define OPERATIONS \
	.batch_lines = BATCH_LINES, \
	.probe = redis_probe, \
	.reserve = redis_reserve, \
	.mark = redis_mark, \
	.claim = redis_claim, \
	.idle_after = redis_idle_after, \
	.write_back = redis_write_back, \
	.costs = redis_costs, \
	.close = redis_close

static const struct filter_operations bloom = { OPERATIONS };

static const struct filter_operations bits = { OPERATIONS,
	.sample = redis_sample, .sample_pages = SAMPLE_PAGES };
