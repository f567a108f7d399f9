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

/* Connect to the server; NULL on failure, with `error` filled. */
static struct remote *
attach(const char *location, const struct filter_use *use,
    struct error *error)
{
	struct remote *remote = memory_or_die(calloc(1, sizeof *remote));

	if (stored_open(&remote->stored, location, use, error) < 0) {
		free(remote);
		return NULL;
	}
	remote->filter = (struct filter){ .operations = &bloom,
		.bottom = &remote->filter, .header = &remote->stored.header,
		.table = &remote->table, .name = remote->stored.address.shown };
	remote->claiming = use->claim;
	remote->makes = use->writable;
	return remote;
}

static void
detach(struct remote *remote)
{
	stored_close(&remote->stored);
	free(remote);
}

/* May the filter be used in this way? */
static int
check_use(struct remote *remote, const struct filter_use *use,
    struct error *error)
{
	const struct header *header = &remote->stored.header;

	remote->filter.growth = header->growth;
	if (use->growth >= 0)
		remote->filter.growth = (enum growth)use->growth;
	if (!use->writable)
		return 0;
	return format_check_writable(header, remote->filter.name, error);
}

/* Begin to use the filter that its location has open. */
static int
start_use(struct remote *remote, const struct filter_use *use,
    struct error *error)
{
	if (check_use(remote, use, error) < 0)
		return -1;
	if (remote->stored.shards.layout.kind == SHARDS_BITS)
		remote->filter.operations = &bits;
	generations_begin(&remote->generations, &remote->stored.shards,
	    &remote->stored.header.window);
	/* A window counts its lines when it advances, as it does now. */
	if (remote->generations.quarter > 0)
		return remote_advance(remote, error);
	/* New shards stay from now on, and those that were to be deleted. */
	if (remote->makes &&
	    shards_each(&remote->stored.shards, shards_keep, error) < 0)
		return -1;
	return remote_count(remote, error);
}

/* Open the header's filter. Returns 1 if there is none. */
static int
open_found(struct remote *remote, const struct filter_use *use,
    struct error *error)
{
	struct found found;

	if (stored_find(&remote->stored, &found, error) < 0)
		return -1;
	if (!found.exists)
		return 1;
	stored_take(&remote->stored, &found);
	return start_use(remote, use, error);
}

int
redis_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	struct remote *remote = attach(location, use, error);
	int result;

	*filter = NULL;
	if (remote == NULL)
		return -1;
	result = open_found(remote, use, error);
	if (result == 0)
		*filter = &remote->filter;
	else
		detach(remote);
	return result;
}

int
redis_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	struct remote *remote = attach(location, use, error);
	int result;

	*filter = NULL;
	if (remote == NULL)
		return -1;
	result = stored_make(&remote->stored, replace, design, error);
	if (result == 0)
		result = start_use(remote, use, error);
	if (result == 0)
		*filter = &remote->filter;
	else
		detach(remote);
	return result;
}

static struct filter_costs
costs_of(const struct stored *stored)
{
	const struct layout *layout = &stored->shards.layout;

	return (struct filter_costs){ .shards = layout->shards,
		.own_shards = layout->kind == SHARDS_BLOOM };
}

/* Connect without a filter; NULL and `error` if that fails. */
static struct stored *
connect_stored(const char *location, const struct filter_use *use,
    struct error *error)
{
	struct stored *there = memory_or_die(malloc(sizeof *there));

	if (stored_open(there, location, use, error) == 0)
		return there;
	free(there);
	return NULL;
}

static void
disconnect_stored(struct stored *there)
{
	stored_close(there);
	free(there);
}

int
redis_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error)
{
	const struct filter_use use = FILTER_READ;
	struct stored *there = connect_stored(location, &use, error);
	int result;

	if (there == NULL)
		return -1;
	result = stored_design(there, design, error);
	if (result == 0) {
		*costs = costs_of(there);
		*bytes = layout_bytes(&there->shards.layout, &there->header);
		/* The next generation is made before the oldest expires. */
		if (there->header.window.kind != WINDOW_NONE)
			*bytes *= WINDOW_PLACES + 1;
	}
	disconnect_stored(there);
	return result;
}

int
redis_check_removal(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct stored *there;
	struct found found;
	int result;

	use.wait = *wait;
	there = connect_stored(location, &use, error);
	if (there == NULL)
		return -1;
	result = stored_find(there, &found, error);
	disconnect_stored(there);
	if (result < 0)
		return -1;
	return !found.exists;
}

int
redis_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	struct stored *there;
	int result;

	use.wait = *wait;
	there = connect_stored(location, &use, error);
	if (there == NULL)
		return -1;
	result = stored_remove(there, error);
	disconnect_stored(there);
	return result;
}

/* Lines */

/* Ask all generations for the batch that was sorted. */
static int
redis_ask(struct remote *remote, struct error *error)
{
	struct generations *g = &remote->generations;

	for (unsigned i = 0; i < g->count; i++) {
		if (shards_parts(&g->set[i], g->like.kind->ask, error) < 0)
			return remote_fail(remote, error);
	}
	return remote_finish(remote, error);
}

static int
redis_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct remote *remote = remote_of(filter);
	const struct net *net = remote->stored.net;
	int has_marks = net_is_busy(net);
	uint64_t repeats = net_repeats(net);

	if (remote_has_failed(remote, error) || remote_advance(remote,
	    error) < 0)
		return -1;
	/* A claim is a question, too. */
	if (remote->claiming &&
	    remote->stored.shards.layout.kind == SHARDS_BLOOM &&
	    remote->generations.quarter == 0)
		return 0;
	shards_sort(&remote->stored.shards, digests, n, found);
	if (redis_ask(remote, error) < 0)
		return -1;
	/* A mark that was made again, since its server was busy or its
	   connection lost, may have come after the question. */
	if (has_marks && net_repeats(net) != repeats)
		return redis_ask(remote, error);
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
	struct remote *remote = remote_of(filter);
	struct shards *due;

	if (remote_has_failed(remote, error))
		return -1;
	remote->stored.trouble.unanswered += n;
	remote->unconfirmed = 1;
	if (remote_advance(remote, error) < 0)
		return -1;
	due = remote->generations.due;
	shards_sort(&remote->stored.shards, digests, n, NULL);
	if (shards_note(due, error) < 0 ||
	    shards_parts(due, due->kind->mark, error) < 0 ||
	    net_flush(remote->stored.net, error) < 0)
		return remote_fail(remote, error);
	remote_describe(remote);
	return remote_check(remote, error);
}

/* Claims */

/* Some digests of a batch, apart from the others. */
struct selection {
	struct digest *digests;
	uint32_t *numbers;
	uint8_t *claimed;   /* the answers about them so far */
	size_t count;
};

/* Select those of n digests of which this is known. To be given back. */
static struct selection
take_out(const struct digest *digests, size_t n, const uint8_t *claimed,
    enum claimed which)
{
	struct selection selection = { .count = 0 };

	selection.digests =
	    memory_or_die(malloc(n * sizeof *selection.digests));
	selection.numbers =
	    memory_or_die(malloc(n * sizeof *selection.numbers));
	selection.claimed = memory_or_die(malloc(n));
	memset(selection.claimed, (int)which, n);
	for (size_t i = 0; i < n; i++) {
		if (claimed[i] != which)
			continue;
		selection.digests[selection.count] = digests[i];
		selection.numbers[selection.count++] = (uint32_t)i;
	}
	return selection;
}

/* Store in `claimed` what is known of them now, and free the selection. */
static void
give_back(struct selection *selection, uint8_t *claimed)
{
	for (size_t i = 0; i < selection->count; i++)
		claimed[selection->numbers[i]] = selection->claimed[i];
	free(selection->digests);
	free(selection->numbers);
	free(selection->claimed);
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
	struct selection selection = take_out(digests, n, claimed, CLAIMED_NEW);
	int result = claim_in(shards, selection.digests, selection.count,
	    selection.claimed, error);

	for (size_t i = 0; i < selection.count; i++) {
		/* The generation before has the claim, though not this one. */
		if (selection.claimed[i] == CLAIMED_NOT)
			selection.claimed[i] = CLAIMED_UNCERTAIN;
	}
	give_back(&selection, claimed);
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
ask_all(struct generations *g, const struct selection *selection,
    struct error *error)
{
	uint8_t *found;
	int result = 0;

	if (selection->count == 0)
		return 0;
	found = memory_or_die(calloc(selection->count, 1));
	shards_sort(&g->like, selection->digests, selection->count, found);
	for (unsigned i = 0; i < g->count && result == 0; i++)
		result = shards_parts(&g->set[i], g->like.kind->ask, error);
	result = net_settle(g->like.net, result, error);
	for (size_t i = 0; i < selection->count; i++) {
		if (found[i])
			selection->claimed[i] = CLAIMED_SEEN;
	}
	free(found);
	return result;
}

/*
 * Drop those of the digests that are known. *left becomes how many others were
 * not claimed.
 */
static int
drop_known(struct remote *remote, const struct digest *digests, size_t n,
    uint8_t *claimed, size_t *left, struct error *error)
{
	struct selection selection = take_out(digests, n, claimed, CLAIMED_NOT);
	int result = ask_all(&remote->generations, &selection, error);

	*left = 0;
	for (size_t i = 0; i < selection.count; i++)
		*left += selection.claimed[i] == CLAIMED_NOT;
	give_back(&selection, claimed);
	if (result < 0)
		return remote_fail(remote, error);
	return 0;
}

/* Claim the first `room` of those digests that were not claimed. */
static int
claim_some(struct remote *remote, const struct digest *digests, size_t n,
    size_t room, uint8_t *claimed, struct error *error)
{
	struct selection selection = take_out(digests, n, claimed, CLAIMED_NOT);
	int result = claim_in_turn(&remote->generations, selection.digests,
	    selection.count < room ? selection.count : room, selection.claimed,
	    error);

	give_back(&selection, claimed);
	return result;
}

/* The server took some claims, or none, since its memory is full. */
static int
check_refused(struct remote *remote, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	struct trouble *trouble = &remote->stored.trouble;
	char text[NUMBER_TEXT];
	size_t left;

	if (trouble->refused == 0)
		return 0;
	if (drop_known(remote, digests, n, claimed, &left, error) < 0)
		return -1;
	if (left == 0) {
		trouble->refused = 0;
		return 0;
	}
	return error_set(error, STATUS_FULL, "%s: %s new lines are not printed,"
	    " because they cannot be remembered: the server says: %s",
	    remote->filter.name, number_format_count(text, left), trouble->why);
}

/* Claim what there is room for. */
static int
claim_batch(struct remote *remote, const struct digest *digests, size_t n,
    uint8_t *claimed, struct error *error)
{
	enum room room;
	uint64_t lines;
	size_t left = n;
	struct error full;
	int result;

	if (remote_has_failed(remote, error))
		return -1;
	room = remote_reserve(remote, n, &lines, &full);
	if (remote->failed) {
		*error = full;
		return -1;
	}
	if (room != ROOM_ENOUGH &&
	    drop_known(remote, digests, n, claimed, &left, error) < 0)
		return -1;
	if (shards_note(remote->generations.due, error) < 0)
		return remote_fail(remote, error);
	if (room == ROOM_ENOUGH)
		result = claim_in_turn(&remote->generations, digests, n,
		    claimed, error);
	else
		result = claim_some(remote, digests, n, (size_t)lines, claimed,
		    error);
	if (result < 0)
		return remote_fail(remote, error);
	if (remote_check(remote, error) < 0)
		return -1;
	if (room != ROOM_ENOUGH && left > lines) {
		*error = full;
		return -1;
	}
	return check_refused(remote, digests, n, claimed, error);
}

/*
 * What is known becomes the caller's (enum claim): what is uncertain is
 * printed, and reported at once.
 */
static void
tell_claims(const struct remote *remote, size_t n, uint8_t *taken)
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
	error_notify(remote->stored.notice,
	    "%s: another client may also print %s"
	    " of the next lines: the connection was lost before the server's"
	    " answer", remote->filter.name, number_format_count(text,
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
	struct remote *remote = remote_of(filter);
	int result;

	memset(taken, CLAIMED_NOT, n);
	remote->unconfirmed = 1;
	result = claim_batch(remote, digests, n, taken, error);
	tell_claims(remote, n, taken);
	remote_describe(remote);
	return result;
}

/* At rest, and at the end */

/* For how long it need not be seen whether the filter is still there. */
static uint64_t
until_confirmed(const struct remote *remote)
{
	uint64_t age = clock_now() - remote->confirmed;

	return age < CONFIRM_EVERY ? CONFIRM_EVERY - age : 0;
}

static int
redis_idle_after(const struct filter *filter)
{
	const struct remote *remote = remote_of_const(filter);

	if (net_is_busy(remote->stored.net))
		return IDLE_AFTER;
	if (remote->unconfirmed && !remote->failed)
		return (int)(until_confirmed(remote) / CLOCK_MILLISECOND) + 1;
	return -1;
}

static int
redis_write_back(struct filter *filter, int all, struct error *error)
{
	struct remote *remote = remote_of(filter);

	if (!all || remote->failed)
		return 0;
	if (remote_settle(remote, error) < 0)
		return -1;
	if (until_confirmed(remote) == 0)
		return remote_confirm(remote, error);
	return 0;
}

static int
redis_close(struct filter *filter, struct error *error)
{
	struct remote *remote = remote_of(filter);
	int result = redis_write_back(filter, 1, error);

	if (result == 0 && !remote->failed)
		result = remote_confirm(remote, error);
	remote_tell_losses(remote);
	detach(remote);
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
	struct remote *remote = remote_of(filter);
	struct shards *shards = &remote->stored.shards;

	if (remote_has_failed(remote, error))
		return -1;
	if (shards->kind->read_pages(shards, numbers, n, to, error) < 0)
		return remote_fail(remote, error);
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
