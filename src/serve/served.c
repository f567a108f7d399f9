#include "serve/served.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "bits/loops.h"
#include "filter/filter.h"
#include "model/growth.h"
#include "model/window.h"
#include "serve/leases.h"

/* How often refused requests are reported, in seconds. */
#define REFUSALS 60
/* After room could not be made, nobody tries again for so long. */
#define TRY_AGAIN (CLOCK_SECOND / 10)

struct served *
served_new(struct served_pool *pool, struct bytes name)
{
	struct served *served = memory_or_die(calloc(1, sizeof *served));
	size_t path_bytes = strlen(pool->settings->directory) + name.nbytes +
	    sizeof "/.bloom";

	served->pool = pool;
	memcpy(served->name, name.data, name.nbytes);
	served->name_bytes = name.nbytes;
	served->path = memory_or_die(malloc(path_bytes));
	snprintf(served->path, path_bytes, "%s/%s.bloom",
	    pool->settings->directory, served->name);
	served->slot = -1;
	served->expansion = 2;
	return served;
}

static void
set_reason(struct served *served, const char *reason)
{
	free(served->reason);
	served->reason = NULL;
	if (reason != NULL)
		served->reason = memory_or_die(strdup(reason));
}

static void
count_bytes(struct served *served, uint64_t nbytes)
{
	served->pool->bytes = served->pool->bytes - served->bytes + nbytes;
	served->bytes = nbytes;
}

/* A window moves on in the space that was counted when it was made. */
static uint64_t
bytes_with(const struct served *served, uint64_t more)
{
	uint64_t nbytes = filter_bytes(served->filter) +
	    filter_costs(served->filter).coming_bytes + more;

	return nbytes > served->announced ? nbytes : served->announced;
}

static void
count_again(struct served *served)
{
	count_bytes(served, bytes_with(served, 0));
}

static void
leave_list(struct served *served)
{
	struct served_pool *pool = served->pool;

	if (served->newer != NULL)
		served->newer->older = served->older;
	else
		pool->newest = served->older;
	if (served->older != NULL)
		served->older->newer = served->newer;
	else
		pool->oldest = served->newer;
	served->newer = served->older = NULL;
}

static void
enter_list(struct served *served)
{
	struct served_pool *pool = served->pool;

	served->older = pool->newest;
	if (served->older != NULL)
		served->older->newer = served;
	else
		pool->oldest = served;
	pool->newest = served;
}

/* Note that no room could be made, and why. */
static void
note_no_room(struct served *served, const struct error *why)
{
	if (served->no_room == NULL)
		served->no_room = memory_or_die(
		    malloc(sizeof *served->no_room));
	*served->no_room = *why;
	served->no_room_until = clock_now() + TRY_AGAIN;
}

/* Did an attempt to make room fail a moment ago? */
static int
has_no_room(const struct served *served)
{
	return served->no_room != NULL && clock_now() < served->no_room_until;
}

static int
close_filter(struct served *served, struct error *error)
{
	struct filter *filter = served->filter;

	if (filter == NULL)
		return 0;
	served->filter = NULL;
	free(served->no_room);
	served->no_room = NULL;
	leave_list(served);
	served->pool->open--;
	return filter_close(filter, error);
}

static void
drop_leases(struct served *served)
{
	if (served->lessor != LESSOR_NONE)
		leases_drop_lessor(served->pool->leases, served->lessor);
	served->lessor = LESSOR_NONE;
}

uint32_t
served_lessor(struct served *served)
{
	if (served->lessor == LESSOR_NONE) {
		served->lessor = leases_add_lessor(served->pool->leases,
		    served->path);
		memcpy(served->lessor_id, filter_header(served->filter)->id,
		    sizeof served->lessor_id);
	}
	return served->lessor;
}

uint64_t
served_leases(const struct served *served)
{
	if (served->lessor == LESSOR_NONE)
		return 0;
	return leases_of_lessor(served->pool->leases, served->lessor);
}

int
served_free(struct served *served, struct error *error)
{
	int result = close_filter(served, error);

	drop_leases(served);
	count_bytes(served, 0);
	key_scratch_free(&served->scratch);
	free(served->reason);
	free(served->path);
	free(served);
	return result;
}

/* Close the filter that was not used for the longest time. */
static void
close_oldest(struct served_pool *pool)
{
	struct error error = { 0 };
	struct served *served = pool->oldest;

	while (served != NULL && served->slot >= 0)
		served = served->newer;
	if (served != NULL && close_filter(served, &error) < 0)
		pool->settings->notice(error.text);
}

/* A subkey has no header: with one column, it is that column's value. */
static int
take_recipe(struct served *served, struct error *error)
{
	const char *why;

	if (key_recipe_parse(&served->recipe,
	    filter_header(served->filter)->recipe, error) < 0)
		why = error->text;
	else if (served->recipe.parts > 0)
		why = "it remembers one part of the keys (--part), and cannot"
		    " answer for the others";
	else if (served->recipe.column_count > 1)
		why = "its keys are made of several named columns, which a"
		    " subkey lacks";
	else
		return 0;
	return error_set(error, STATUS_FAILED, "%s: %s", served->path, why);
}

/* How many bytes a filter with a window may need; 0 without a window. */
static uint64_t
bytes_announced(const struct header *header)
{
	struct sizing sizing = { .capacity = header->capacity,
		.error_rate = header->error_rate,
		.fixed = header->growth != GROWTH_GROW };

	/* No size is announced for a header that cannot be solved. */
	if (header->window.kind == WINDOW_NONE ||
	    window_solve(&sizing, &header->window, error_ignored()) < 0)
		return 0;
	return sizing.bytes;
}

/*
 * Open its file, or make one as designed. Returns 1 if there is no file, or one
 * already.
 */
static int
start_served(struct served *served, const struct filter_design *design,
    struct error *error)
{
	/* no_link: a link in the directory must not lead to files elsewhere */
	const struct filter_use use = {
		.writable = !served->pool->settings->read_only, .growth = -1,
		.max_bytes = UINT64_MAX, .no_link = 1, .in_place = 1,
		.unsynced = !served->pool->settings->sync };
	int result;

	served->pool->openings++;
	if (served->pool->open >= served->pool->open_max)
		close_oldest(served->pool);
	if (design == NULL)
		result = filter_open(&served->filter, served->path, &use,
		    error);
	else
		result = filter_create(&served->filter, served->path, 0, design,
		    &use, error);
	if (result != 0) {
		served->filter = NULL;
		return result;
	}
	enter_list(served);
	served->pool->open++;
	served->stored = 0;
	served->next = (struct layer_entry){ 0 };
	if (take_recipe(served, error) < 0) {
		/* The caller is told the first error. */
		close_filter(served, error_ignored());
		return -1;
	}
	if (memcmp(served->lessor_id, filter_header(served->filter)->id,
	    sizeof served->lessor_id) != 0)
		drop_leases(served);
	key_scratch_begin(&served->scratch, &served->recipe);
	served->announced = bytes_announced(filter_header(served->filter));
	count_again(served);
	return 0;
}

int
served_create(struct served *served, const struct filter_design *design,
    struct error *error)
{
	served->looked = served->pool->second;
	return start_served(served, design, error);
}

/* Report that the lines stored since the last look may be lost, and why. */
static void
tell_lost(const struct served *served, enum filter_state state)
{
	const char *why = "was replaced or removed";

	if (state == FILTER_OVERWRITTEN)
		why = "was overwritten or cut short";
	error_notify(served->pool->settings->notice, "%s: the file %s; up to %"
	    PRIu64 " lines stored since the last check are lost", served->path,
	    why, served->stored);
}

/* Was the file of the filter looked at in this second? */
static int
is_known(const struct served *served)
{
	return served->looked == served->pool->second &&
	    (served->filter != NULL || served->reason != NULL);
}

/* Close the filter, unless the file is still the one that was opened. */
static void
close_unless_current(struct served *served)
{
	enum filter_state state = filter_state(served->filter);

	if (state == FILTER_REPLACED || state == FILTER_OVERWRITTEN)
		tell_lost(served, state);
	served->stored = 0;
	/* The log has said which subkeys the new file lacks. */
	if (state != FILTER_CURRENT)
		close_filter(served, error_ignored());
}

int
served_look(struct served *served, int now)
{
	struct error error; /* large, and seldom used: not cleared each time */
	int result;

	if (served->filter != NULL && served->pool->newest != served) {
		leave_list(served);
		enter_list(served);
	}
	if (served->slot >= 0)
		/* This sweep has digests that only this filter knows. */
		return 0;
	if (!now && is_known(served))
		return 0;
	served->looked = served->pool->second;
	if (served->filter != NULL)
		close_unless_current(served);
	if (served->filter != NULL)
		return 0;
	result = start_served(served, NULL, &error);
	set_reason(served, result < 0 ? error.text : NULL);
	served->is_locked = result < 0 && error.status == STATUS_LOCKED;
	if (result != 0)
		count_bytes(served, 0);
	return result > 0;
}

void
served_postpone(struct served *served)
{
	struct stat st;

	if (lstat(served->path, &st) == 0 && S_ISREG(st.st_mode))
		count_bytes(served, (uint64_t)st.st_size);
}

uint64_t
served_bytes(const struct served *served)
{
	if (served->reason != NULL)
		return 0;
	if (served->filter != NULL)
		return filter_bytes(served->filter);
	return served->bytes;
}

void
served_break(struct served *served, const struct error *error)
{
	enum filter_state state = filter_state(served->filter);

	if (state == FILTER_REPLACED || state == FILTER_OVERWRITTEN)
		tell_lost(served, state);
	/* its clients are told why it failed, not what closing it says */
	close_filter(served, error_ignored());
	served->looked = served->pool->second;
	set_reason(served, error->text);
}

void
served_report(struct served_pool *pool, struct refusals *refusals,
    const char *reason)
{
	refusals->count++;
	if (refusals->reported != 0 &&
	    pool->second - refusals->reported < REFUSALS)
		return;
	error_notify(pool->settings->notice, "%s (requests: %" PRIu64 ")",
	    reason, refusals->count);
	*refusals = (struct refusals){ .reported = pool->second };
}

void
served_stored(struct served *served, uint64_t lines)
{
	served->stored += lines;
}

struct digest
served_digest(struct served *served, struct bytes subkey)
{
	struct key key = { subkey.data, subkey.nbytes };
	struct digest digest;

	if (served->scratch.step_count > 0) {
		key_scratch_reserve(&served->scratch, subkey.nbytes);
		key = key_take(&served->recipe, subkey.data, subkey.nbytes,
		    &served->scratch);
	}
	loops()->digest(&filter_header(served->filter)->hash, &key, 1, &digest);
	if (served->recipe.keep_empty)
		key_keep_empty(&key, 1, &digest);
	return digest;
}

uint64_t
served_room(const struct served *served)
{
	return table_room(filter_table(served->filter),
	    filter_growth(served->filter));
}

/* May it grow for so many lines more than there is room for? */
static int
is_within_limit(struct served *served, uint64_t lines)
{
	const struct served_pool *pool = served->pool;
	const struct table *table = filter_table(served->filter);
	uint64_t nbytes;
	const struct layer_entry *last = &table->layers[table->count - 1];
	int known = served->next.capacity >= lines &&
	    served->next_after.offset == last->offset &&
	    served->next_after.created == last->created;

	/* Solving takes long, so it is done ahead; growth tells if it fails. */
	if (!known && growth_layer(served->filter, table, lines, UINT64_MAX,
	    &served->next, error_ignored()) == 0) {
		served->next_after = *last;
		known = 1;
	}
	nbytes = bytes_with(served, known ? served->next.geometry.pages *
	    PAGE_BYTES : 0);
	return nbytes <= served->bytes || (nbytes <= pool->limit &&
	    pool->bytes - served->bytes <= pool->limit - nbytes);
}

/*
 * May it take `wanted` new lines: is there room for them, or may it grow within
 * the memory limit of all filters? Returns 0; or -1, with STATUS_FULL.
 */
static int
may_grow(struct served *served, uint64_t wanted, struct error *error)
{
	uint64_t room = served_room(served);

	if (filter_growth(served->filter) != GROWTH_GROW || room >= wanted ||
	    filter_header(served->filter)->window.kind == WINDOW_LINES)
		return 0;
	if (has_no_room(served)) {
		*error = *served->no_room;
		return -1;
	}
	/*
	 * A layer that is being made is counted: first use that. If it can't
	 * be, the room that is there says so.
	 */
	if (filter_costs(served->filter).coming_bytes > 0) {
		filter_reserve(served->filter, room + 1, &room,
		    error_ignored());
		room = served_room(served);
	}
	if (room >= wanted || is_within_limit(served, wanted - room))
		return 0;
	return error_set(error, STATUS_FULL, "%s: it is full, and growing would"
	    " exceed the memory limit of all filters (setmem)", served->path);
}

enum room
served_reserve(struct served *served, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	enum room answer;

	if (may_grow(served, wanted, error) < 0) {
		/* What there is must be reserved, too, before it is marked;
		   `error` says why it isn't more. */
		filter_reserve(served->filter, served_room(served), room,
		    error_ignored());
		count_again(served);
		return ROOM_SHORT;
	}
	answer = filter_reserve(served->filter, wanted, room, error);
	count_again(served);
	if (answer == ROOM_SHORT)
		note_no_room(served, error);
	return answer;
}

void
served_grow_ahead(struct served *served)
{
	const struct table *table;

	if (served->filter == NULL || served->pool->settings->read_only ||
	    filter_growth(served->filter) != GROWTH_GROW ||
	    filter_header(served->filter)->window.kind != WINDOW_NONE ||
	    has_no_room(served))
		return;
	table = filter_table(served->filter);
	if (served_room(served) > table->layers[table->count - 1].capacity / 10
	    || (filter_costs(served->filter).coming_bytes == 0 &&
	    !is_within_limit(served, 1)))
		return;
	filter_grow_ahead(served->filter);
	count_again(served);
}

int
served_is_fixed(const struct served *served)
{
	return served->filter != NULL &&
	    filter_growth(served->filter) != GROWTH_GROW;
}
