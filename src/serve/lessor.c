#include "serve/lessor.h"

#include <inttypes.h>
#include <time.h>

#include "base/clock.h"
#include "filter/filter.h"
#include "model/window.h"
#include "serve/action.h"
#include "serve/catalog.h"
#include "serve/leases.h"
#include "serve/served.h"

/* In seconds: a greater expiration time is a date. */
#define THIRTY_DAYS (30 * 86400)
/* So does memcached read a negative time that a client sends without a sign. */
#define TIMES_END ((int64_t)1 << 31)

/* Look items up in the filter, from item `first` on. */
static int
look_items_up(struct lessor_share *share, size_t first, size_t count,
    struct error *error)
{
	const struct digest *digests = share->digests + first;
	uint8_t *found = share->found + first;

	if (filter_probe(share->served->filter, digests, count, found,
	    error) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (digest_is_none(digests[i]))
			found[i] = 0;
	}
	return 0;
}

/* Remember item i, which is new. Returns its result, or -1. */
static int
remember(struct lessor_share *share, size_t i, struct error *error)
{
	struct filter *filter = share->served->filter;
	const struct digest *digest = &share->digests[i];
	enum room answer;
	uint64_t room;

	share->marked++;
	if (digest_is_none(*digest))
		return RESULT_NEW;
	/*
	 * A window that moves on forgets lines, which can make room for this
	 * one.
	 */
	while ((answer = served_reserve(share->served, 1, &room,
	    error)) == ROOM_AGAIN) {
		if (look_items_up(share, i, share->count - i, error) < 0)
			return -1;
	}
	if (answer == ROOM_SHORT) {
		share->marked--;
		return RESULT_FULL;
	}
	if (filter_mark(filter, digest, 1, error) < 0)
		return -1;
	return RESULT_NEW;
}

/*
 * Whoever has a lease must be able to commit it: so there is room for all live
 * leases of the filter and one more. A window of lines always finds some.
 */
static int
has_room_for_a_lease(struct served *served, struct error *error)
{
	uint64_t wanted = served_leases(served) + 1, room;

	if (filter_header(served->filter)->window.kind == WINDOW_LINES ||
	    served_room(served) >= wanted)
		return 1;
	return served_reserve(served, wanted, &room, error) != ROOM_SHORT;
}

/* Lease item i, which is unknown. */
static enum result
lease(struct lessor_share *share, size_t i, struct error *error)
{
	if (!has_room_for_a_lease(share->served, error)) {
		leases_counters(share->leases)->refused++;
		return RESULT_FULL;
	}
	switch (leases_grant(share->leases,
	    served_lessor(share->served), share->digests[i], share->now,
	    share->lengths[i])) {
	case LEASE_NO_PLACE:
		return RESULT_NO_PLACE;
	case LEASE_NO_SHARE:
		return RESULT_NO_SHARE;
	case LEASE_GRANTED:
		break;
	}
	return RESULT_NEW;
}

/* Has the filter item i? What was marked since they were looked up counts. */
static int
is_remembered(struct lessor_share *share, size_t i, struct error *error)
{
	if (!share->found[i] && share->marked > 0 &&
	    look_items_up(share, i, 1, error) < 0)
		return -1;
	return share->found[i];
}

/* An item that is to be remembered or leased. Returns its result, or -1. */
static int
add_item(struct lessor_share *share, size_t i, struct error *error)
{
	enum action action = share->actions[i];
	int result = is_remembered(share, i, error);

	if (result < 0)
		return -1;
	if (result > 0)
		result = RESULT_SEEN;
	else if (action == ACTION_LEASE)
		result = (int)lease(share, i, error);
	else
		result = remember(share, i, error);
	/* A commit that fails leaves the lease as it was. */
	if (share->left[i] > 0 && (result == RESULT_NEW ||
	    result == RESULT_SEEN))
		leases_end(share->leases, share->served->lessor,
		    share->digests[i], share->now, LEASE_COMMITTED);
	return result;
}

/* Returns the item's result, or -1. */
static int
carry_out_item(struct lessor_share *share, size_t i, struct error *error)
{
	const struct digest digest = share->digests[i];
	uint32_t lessor = share->served->lessor;
	uint64_t now = share->now;
	int remembered;

	share->left[i] = leases_left(share->leases, lessor, digest, now);
	switch ((enum action)share->actions[i]) {
	case ACTION_SET:
		return add_item(share, i, error);
	case ACTION_ADD:
	case ACTION_LEASE:
		return share->left[i] > 0 ? RESULT_LEASED :
		    add_item(share, i, error);
	case ACTION_LOOK:
		if (share->left[i] > 0)
			return RESULT_LEASED;
		remembered = is_remembered(share, i, error);
		if (remembered < 0)
			return -1;
		return remembered ? RESULT_SEEN : RESULT_NEW;
	case ACTION_RETURN:
		return leases_end(share->leases, lessor, digest, now,
		    LEASE_RETURNED) ? RESULT_LEASED : RESULT_NEW;
	case ACTION_RENEW:
		return leases_renew(share->leases, lessor, digest, now,
		    share->lengths[i]) ? RESULT_LEASED : RESULT_NEW;
	}
	return -1;
}

int
lessor_carry_out(struct lessor_share *share, struct error *error)
{
	int result;

	leases_prefetch(share->leases, share->digests, share->count);
	if (look_items_up(share, 0, share->count, error) < 0)
		return -1;
	for (size_t i = 0; i < share->count; i++) {
		result = carry_out_item(share, i, error);
		if (result < 0) {
			share->count = i;
			lessor_undo(share);
			return -1;
		}
		share->results[i] = (int8_t)result;
	}
	return 0;
}

/* Undo what item i did to a lease. */
static void
undo(struct lessor_share *share, size_t i)
{
	const struct digest digest = share->digests[i];
	uint32_t lessor = share->served->lessor;
	uint64_t now = share->now, left = share->left[i];
	enum result result = (enum result)share->results[i];

	switch ((enum action)share->actions[i]) {
	case ACTION_SET:
		if (left > 0 && result != RESULT_FULL)
			leases_restore(share->leases, lessor, digest, now,
			    left, LEASE_COMMITTED);
		return;
	case ACTION_RETURN:
		if (result == RESULT_LEASED)
			leases_restore(share->leases, lessor, digest, now,
			    left, LEASE_RETURNED);
		return;
	case ACTION_LEASE:
		if (result == RESULT_NEW)
			leases_end(share->leases, lessor, digest, now,
			    LEASE_RETURNED);
		return;
	case ACTION_RENEW:
	case ACTION_ADD:
	case ACTION_LOOK:
		return;
	}
}

void
lessor_undo(struct lessor_share *share)
{
	/*
	 * The last item is undone first, so that each lease gets its place
	 * back.
	 */
	for (size_t i = share->count; i-- > 0; )
		undo(share, i);
}

uint64_t
lessor_length(struct service *service, uint64_t milliseconds)
{
	uint64_t most = service->settings->lease_time;

	if (milliseconds > most && !service->told_lease_time) {
		service->told_lease_time = 1;
		error_notify(service->settings->notice, "a client wants a lease"
		    " of %" PRIu64 " seconds: none is longer than %g here"
		    " (--lease)", milliseconds / 1000, (double)most / 1000);
	}
	if (milliseconds > most)
		milliseconds = most;
	return milliseconds * CLOCK_MILLISECOND;
}

uint64_t
lessor_length_of_time(struct service *service, int64_t seconds)
{
	if (seconds == 0)
		return service->settings->lease_time * CLOCK_MILLISECOND;
	if (seconds >= TIMES_END)
		return 0;
	if (seconds > THIRTY_DAYS)
		seconds -= (int64_t)time(NULL);
	if (seconds < 0)
		return 0;
	return lessor_length(service, (uint64_t)seconds * 1000);
}

void
lessor_report(struct service *service)
{
	uint64_t expired = 0;
	uint32_t at = 0;
	const char *path;

	while ((path = leases_report(service->leases, &at,
	    service->catalog->pool.second, &expired)) != NULL) {
		error_notify(service->settings->notice, "%s: leases that have"
		    " expired: %" PRIu64 "; their subkeys are unknown again",
		    path, expired);
	}
}
