/*
 * Goal: the table of leases always says what a model says that cannot be wrong,
 * a list of subkeys with their deadlines, whatever is granted, renewed, ended
 * and dropped, and however far the clock goes on. Places are free again in
 * time, at most so many in a sweep, and no lessor gets more than its half.
 *
 * Usage: serve-leases.test [STEPS [SEED]]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "serve/leases.h"
#include "random64.h"
#include "tap.h"

#define SUBKEYS 200
#define LESSORS 3
#define MOST 150
#define EPISODE 3000
#define HOUR (3600 * CLOCK_SECOND)

static const char *const names[LESSORS] = { "a", "b", "c" };
static struct error error;

/* The model: which subkeys of each lessor have a lease, and until when. */
static struct {
	int granted;
	uint64_t deadline;
} model[LESSORS][SUBKEYS];
static struct lease_counters counts;
/* Leases whose lessor was dropped. */
static uint64_t dropped_live;
/* Of those, had ended before: swept, and counted as expired, or not. */
static uint64_t unsure;

static struct leases *leases;
static uint32_t lessors[LESSORS];
static struct digest digests[SUBKEYS];
static uint64_t now;

static int
is_live(unsigned lessor, unsigned subkey)
{
	return model[lessor][subkey].granted &&
	    model[lessor][subkey].deadline > now;
}

static uint64_t
some_length(void)
{
	static const uint64_t lengths[] = { 0, 1, CLOCK_MILLISECOND,
		LEASES_LATE, CLOCK_SECOND, 300 * CLOCK_SECOND, HOUR,
		48 * HOUR };

	return lengths[below(8)] + below(2) * (uint64_t)below(1000000);
}

static int
grant(unsigned lessor, unsigned subkey)
{
	uint64_t length = some_length();
	uint64_t places = leases_counters(leases)->live;
	uint64_t share = leases_of_lessor(leases, lessors[lessor]);
	enum lease_grant result = leases_grant(leases, lessors[lessor],
	    digests[subkey], now, length);

	model[lessor][subkey].granted = result == LEASE_GRANTED;
	model[lessor][subkey].deadline = now + length;
	if (result == LEASE_GRANTED)
		counts.granted++;
	else
		counts.refused++;
	switch (result) {
	case LEASE_GRANTED:
		return leases_counters(leases)->live <= MOST &&
		    leases_of_lessor(leases, lessors[lessor]) <= MOST / 2;
	case LEASE_NO_PLACE:
		return places == MOST;
	case LEASE_NO_SHARE:
		return share == MOST / 2;
	}
	return 0;
}

/* One look or change; 0 if the table and the model don't agree. */
static int
use_a_lease(void)
{
	unsigned lessor = below(LESSORS), subkey = below(SUBKEYS);
	struct digest digest = digests[subkey];
	uint32_t number = lessors[lessor];
	int live = is_live(lessor, subkey);
	enum lease_end how = below(2) ? LEASE_COMMITTED : LEASE_RETURNED;
	uint64_t length = some_length();

	switch (below(6)) {
	case 0:
		return leases_left(leases, number, digest, now) == (live ?
		    model[lessor][subkey].deadline - now : 0);
	case 1:
		counts.renewed += (uint64_t)live;
		if (live)
			model[lessor][subkey].deadline = now + length;
		return leases_renew(leases, number, digest, now, length) ==
		    live;
	case 2:
		if (live && below(4) == 0) {
			leases_end(leases, number, digest, now, how);
			leases_restore(leases, number, digest, now,
			    model[lessor][subkey].deadline - now, how);
			return leases_left(leases, number, digest, now) > 0;
		}
		*(how == LEASE_COMMITTED ? &counts.committed :
		    &counts.returned) += (uint64_t)live;
		if (live)
			model[lessor][subkey].granted = 0;
		return leases_end(leases, number, digest, now, how) == live;
	default:
		return live ? leases_left(leases, number, digest, now) > 0 :
		    grant(lessor, subkey);
	}
}

/* How many leases have a deadline after `since`. */
static uint64_t
places_since(uint64_t since)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < LESSORS * SUBKEYS; i++)
		n += model[i / SUBKEYS][i % SUBKEYS].granted &&
		    model[i / SUBKEYS][i % SUBKEYS].deadline > since;
	return n;
}

/* Every place belongs to a lease that is live, or was until a moment ago. */
static int
sweep(void)
{
	uint64_t live;

	leases_sweep(leases, now);
	live = leases_counters(leases)->live;
	return live >= places_since(now) &&
	    live <= places_since(now - LEASES_LATE);
}

/* Its places are free at once. */
static int
drop_a_lessor(void)
{
	unsigned i = below(LESSORS);
	uint64_t others = leases_counters(leases)->live -
	    leases_of_lessor(leases, lessors[i]);

	leases_drop_lessor(leases, lessors[i]);
	for (unsigned j = 0; j < SUBKEYS; j++) {
		if (!model[i][j].granted)
			continue;
		*(is_live(i, j) ? &dropped_live : &unsure) += 1;
		model[i][j].granted = 0;
	}
	lessors[i] = leases_add_lessor(leases, names[i]);
	return leases_counters(leases)->live == others &&
	    leases_of_lessor(leases, lessors[i]) == 0;
}

/* When all have ended, the counters say what became of each. */
static int
check_end(int drops)
{
	const struct lease_counters *c = leases_counters(leases);
	uint64_t ended = counts.granted - counts.committed - counts.returned -
	    dropped_live, reported = 0, n;
	uint32_t at = 0;

	now += 100 * HOUR;
	while (c->live > 0)
		leases_sweep(leases, now);
	while (leases_report(leases, &at, now / CLOCK_SECOND, &n) != NULL)
		reported += n;
	at = 0;
	return c->granted == counts.granted && c->renewed == counts.renewed &&
	    c->committed == counts.committed &&
	    c->returned == counts.returned && c->refused == counts.refused &&
	    c->expired <= ended && c->expired + unsure >= ended &&
	    (drops || reported == c->expired) &&
	    leases_report(leases, &at, now / CLOCK_SECOND + 59, &n) == NULL;
}

static int
episode(void)
{
	int drops = (int)below(2), steps = EPISODE, agreed = 1;

	leases = leases_new(MOST, &error);
	memset(model, 0, sizeof model);
	counts = (struct lease_counters){ 0 };
	dropped_live = unsure = 0;
	draw(digests, SUBKEYS);
	/* some share a chain, and some only differ in their other half */
	for (unsigned i = 1; i < SUBKEYS; i += 2) {
		digests[i].low = digests[i - 1].low;
		if (below(2))
			digests[i].high = digests[i - 1].high ^ 1;
	}
	now = CLOCK_SECOND + random64() % (1000 * HOUR);
	for (unsigned i = 0; i < LESSORS; i++)
		lessors[i] = leases_add_lessor(leases, names[i]);
	while (agreed && steps-- > 0) {
		agreed = use_a_lease();
		if (below(10) == 0) {
			now += some_length() / (1 + below(100));
			agreed &= sweep();
		}
		if (drops && below(50) == 0)
			agreed &= drop_a_lessor();
	}
	agreed = agreed && check_end(drops);
	leases_free(leases);
	return agreed;
}

static void
test_model(uint64_t steps)
{
	uint64_t n = 0, seed = random_state;

	while (n * EPISODE < steps && episode())
		n++;
	tap_ok(n * EPISODE >= steps, "the table and the model agree (seed %"
	    PRIu64 ", %" PRIu64 " steps)", seed, n * EPISODE);
}

static void
test_sweeps(void)
{
	enum { LEASES = 2 * LEASES_A_SWEEP + LEASES_A_SWEEP / 2 };
	const struct lease_counters *c;
	uint32_t lessor;

	leases = leases_new(4 * LEASES, &error);
	c = leases_counters(leases);
	lessor = leases_add_lessor(leases, "a");
	leases_sweep(leases, HOUR);
	for (int i = 0; i < LEASES; i++)
		leases_grant(leases, lessor, random_digest(), HOUR,
		    CLOCK_SECOND);
	leases_sweep(leases, HOUR + CLOCK_SECOND / 2);
	tap_ok(c->live == LEASES, "none is swept before its time");
	leases_sweep(leases, HOUR + CLOCK_SECOND + LEASES_LATE);
	tap_ok(c->live == LEASES - LEASES_A_SWEEP, "so many in one sweep");
	leases_sweep(leases, HOUR + CLOCK_SECOND + LEASES_LATE);
	leases_sweep(leases, HOUR + CLOCK_SECOND + LEASES_LATE);
	tap_ok(c->live == 0 && c->expired == LEASES, "and then the others");
	leases_free(leases);
}

static void
test_shares(void)
{
	uint32_t one, other;
	int granted = 0;

	leases = leases_new(9, &error);
	one = leases_add_lessor(leases, "a");
	other = leases_add_lessor(leases, "b");
	while (leases_grant(leases, one, random_digest(), HOUR, HOUR) ==
	    LEASE_GRANTED)
		granted++;
	tap_ok(granted == 5 && leases_grant(leases, one, random_digest(),
	    HOUR, HOUR) == LEASE_NO_SHARE, "a lessor gets half, rounded up");
	for (granted = 0; leases_grant(leases, other, random_digest(), HOUR,
	    HOUR) == LEASE_GRANTED; )
		granted++;
	tap_ok(granted == 4 && leases_grant(leases, other, random_digest(),
	    HOUR, HOUR) == LEASE_NO_PLACE, "the other one gets the rest");
	leases_free(leases);
}

/* A lessor that comes again and again never meets what it left behind. */
static void
test_places(void)
{
	int granted = 0;
	uint32_t one, other;

	leases = leases_new(8, &error);
	other = leases_add_lessor(leases, "b");
	for (int i = 0; i < 4; i++)
		leases_grant(leases, other, random_digest(), HOUR, HOUR);
	for (int i = 0; i < 100; i++) {
		one = leases_add_lessor(leases, "a");
		while (leases_grant(leases, one, random_digest(), HOUR,
		    HOUR) == LEASE_GRANTED)
			granted++;
		leases_drop_lessor(leases, one);
	}
	tap_ok(granted == 400 && leases_counters(leases)->live == 4 &&
	    leases_of_lessor(leases, other) == 4,
	    "the places of a dropped lessor are free at once");
	leases_free(leases);
}

static void
test_lessors(void)
{
	struct digest digest = random_digest();
	uint32_t one, next;

	leases = leases_new(10, &error);
	one = leases_add_lessor(leases, "a");
	leases_grant(leases, one, digest, HOUR, HOUR);
	leases_drop_lessor(leases, one);
	next = leases_add_lessor(leases, "a");
	tap_ok(leases_left(leases, next, digest, HOUR) == 0 &&
	    leases_of_lessor(leases, next) == 0,
	    "a new lessor has no leases of the one before");
	leases_drop_lessor(leases, next);
	tap_ok(leases_add_lessor(leases, "b") == next,
	    "a number is used again when it has no leases");
	leases_sweep(leases, HOUR);
	tap_ok(leases_counters(leases)->live == 0 &&
	    leases_add_lessor(leases, "c") == one,
	    "or when their places are free");
	leases_free(leases);
}

static void
test_none(void)
{
	uint32_t lessor;

	leases = leases_new(1, &error);
	lessor = leases_add_lessor(leases, "a");
	tap_ok(leases_grant(leases, lessor, DIGEST_NONE, HOUR, HOUR) ==
	    LEASE_GRANTED && leases_left(leases, lessor, DIGEST_NONE, HOUR) ==
	    0 && leases_counters(leases)->live == 0,
	    "a subkey without a key is never leased");
	leases_free(leases);
}

static void
test_too_many(void)
{
	error = (struct error){ 0 };
	if (sizeof(void *) > 4)
		return;
	tap_ok(leases_new(LEASES_MAX, &error) == NULL &&
	    error.text[0] != '\0', "more than there are addresses for");
}

int
main(int argc, char **argv)
{
	uint64_t steps = argc > 1 ? strtoull(argv[1], NULL, 10) : 100000;

	random_state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	test_model(steps);
	test_sweeps();
	test_shares();
	test_places();
	test_lessors();
	test_none();
	test_too_many();
	return tap_end();
}
