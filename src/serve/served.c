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
	struct served *s = memory_or_die(calloc(1, sizeof *s));
	size_t path_bytes = strlen(pool->settings->directory) + name.nbytes +
	    sizeof "/.bloom";

	s->pool = pool;
	memcpy(s->name, name.data, name.nbytes);
	s->name_bytes = name.nbytes;
	s->path = memory_or_die(malloc(path_bytes));
	snprintf(s->path, path_bytes, "%s/%s.bloom", pool->settings->directory,
	    s->name);
	s->slot = -1;
	s->expansion = 2;
	return s;
}

static void
set_reason(struct served *s, const char *reason)
{
	free(s->reason);
	s->reason = NULL;
	if (reason != NULL)
		s->reason = memory_or_die(strdup(reason));
}

static void
count_bytes(struct served *s, uint64_t nbytes)
{
	s->pool->bytes = s->pool->bytes - s->bytes + nbytes;
	s->bytes = nbytes;
}

/* A window moves on in the space that was counted when it was made. */
static uint64_t
bytes_with(const struct served *s, uint64_t more)
{
	uint64_t nbytes = filter_bytes(s->filter) +
	    filter_costs(s->filter).coming_bytes + more;

	return nbytes > s->announced ? nbytes : s->announced;
}

static void
count_again(struct served *s)
{
	count_bytes(s, bytes_with(s, 0));
}

static void
leave_list(struct served *s)
{
	struct served_pool *pool = s->pool;

	if (s->newer != NULL)
		s->newer->older = s->older;
	else
		pool->newest = s->older;
	if (s->older != NULL)
		s->older->newer = s->newer;
	else
		pool->oldest = s->newer;
	s->newer = s->older = NULL;
}

static void
enter_list(struct served *s)
{
	struct served_pool *pool = s->pool;

	s->older = pool->newest;
	if (s->older != NULL)
		s->older->newer = s;
	else
		pool->oldest = s;
	pool->newest = s;
}

/* No room could be made. */
static void
note_no_room(struct served *s, const struct error *why)
{
	if (s->no_room == NULL)
		s->no_room = memory_or_die(malloc(sizeof *s->no_room));
	*s->no_room = *why;
	s->no_room_until = clock_now() + TRY_AGAIN;
}

/* Could no room be made a moment ago? */
static int
has_no_room(const struct served *s)
{
	return s->no_room != NULL && clock_now() < s->no_room_until;
}

static int
close_filter(struct served *s, struct error *error)
{
	struct filter *filter = s->filter;

	if (filter == NULL)
		return 0;
	s->filter = NULL;
	free(s->no_room);
	s->no_room = NULL;
	leave_list(s);
	s->pool->open--;
	return filter_close(filter, error);
}

static void
drop_leases(struct served *s)
{
	if (s->lessor != LESSOR_NONE)
		leases_drop_lessor(s->pool->leases, s->lessor);
	s->lessor = LESSOR_NONE;
}

uint32_t
served_lessor(struct served *s)
{
	if (s->lessor == LESSOR_NONE) {
		s->lessor = leases_add_lessor(s->pool->leases, s->path);
		memcpy(s->lessor_id, filter_header(s->filter)->id,
		    sizeof s->lessor_id);
	}
	return s->lessor;
}

uint64_t
served_leases(const struct served *s)
{
	if (s->lessor == LESSOR_NONE)
		return 0;
	return leases_of_lessor(s->pool->leases, s->lessor);
}

int
served_free(struct served *s, struct error *error)
{
	int result = close_filter(s, error);

	drop_leases(s);
	count_bytes(s, 0);
	key_scratch_free(&s->scratch);
	free(s->reason);
	free(s->path);
	free(s);
	return result;
}

/* Close the filter that was not used for the longest time. */
static void
close_oldest(struct served_pool *pool)
{
	struct error error = { 0 };
	struct served *s = pool->oldest;

	while (s != NULL && s->slot >= 0)
		s = s->newer;
	if (s != NULL && close_filter(s, &error) < 0)
		pool->settings->notice(error.text);
}

/* A subkey has no header: with one column, it is that column's value. */
static int
take_recipe(struct served *s, struct error *error)
{
	const char *why;

	if (key_recipe_parse(&s->recipe, filter_header(s->filter)->recipe,
	    error) < 0)
		why = error->text;
	else if (s->recipe.parts > 0)
		why = "it remembers one part of the keys (--part), and cannot"
		    " answer for the others";
	else if (s->recipe.column_count > 1)
		why = "its keys are made of several named columns, which a"
		    " subkey lacks";
	else
		return 0;
	return error_set(error, STATUS_FAILED, "%s: %s", s->path, why);
}

/* How many bytes a filter with a window may need; 0 without a window. */
static uint64_t
bytes_announced(const struct header *header)
{
	struct sizing sizing = { .capacity = header->capacity,
		.error_rate = header->error_rate,
		.fixed = header->growth != GROWTH_GROW };

	/* a header that can't be solved announces nothing */
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
start_served(struct served *s, const struct filter_design *design,
    struct error *error)
{
	/* no_link: a link in the directory must not lead to files elsewhere */
	const struct filter_use use = {
		.writable = !s->pool->settings->read_only, .growth = -1,
		.max_bytes = UINT64_MAX, .no_link = 1, .in_place = 1,
		.unsynced = !s->pool->settings->sync };
	int result;

	if (s->pool->open >= s->pool->open_max)
		close_oldest(s->pool);
	if (design == NULL)
		result = filter_open(&s->filter, s->path, &use, error);
	else
		result = filter_create(&s->filter, s->path, 0, design, &use,
		    error);
	if (result != 0) {
		s->filter = NULL;
		return result;
	}
	enter_list(s);
	s->pool->open++;
	s->stored = 0;
	s->next = (struct layer_entry){ 0 };
	if (take_recipe(s, error) < 0) {
		/* the first error is the one to be told */
		close_filter(s, error_ignored());
		return -1;
	}
	if (memcmp(s->lessor_id, filter_header(s->filter)->id,
	    sizeof s->lessor_id) != 0)
		drop_leases(s);
	key_scratch_begin(&s->scratch, &s->recipe);
	s->announced = bytes_announced(filter_header(s->filter));
	count_again(s);
	return 0;
}

int
served_create(struct served *s, const struct filter_design *design,
    struct error *error)
{
	s->looked = s->pool->second;
	return start_served(s, design, error);
}

/* Report that the lines stored since the last look may be lost, and why. */
static void
tell_lost(const struct served *s, enum filter_state state)
{
	const char *why = "was replaced or removed";

	if (state == FILTER_OVERWRITTEN)
		why = "was overwritten or cut short";
	error_notify(s->pool->settings->notice, "%s: the file %s; up to %"
	    PRIu64 " lines stored since the last check are lost", s->path,
	    why, s->stored);
}

/* Was its file looked at in this second? */
static int
is_known(const struct served *s)
{
	return s->looked == s->pool->second &&
	    (s->filter != NULL || s->reason != NULL);
}

/* Close the filter, unless the file is still the one that was opened. */
static void
close_unless_current(struct served *s)
{
	enum filter_state state = filter_state(s->filter);

	if (state == FILTER_REPLACED || state == FILTER_OVERWRITTEN)
		tell_lost(s, state);
	s->stored = 0;
	/* what its new file lacks was told */
	if (state != FILTER_CURRENT)
		close_filter(s, error_ignored());
}

int
served_look(struct served *s, int now)
{
	struct error error; /* large, and seldom used: not cleared each time */
	int result;

	if (s->filter != NULL && s->pool->newest != s) {
		leave_list(s);
		enter_list(s);
	}
	if (s->slot >= 0)
		return 0; /* a sweep has digests that only this filter knows */
	if (!now && is_known(s))
		return 0;
	s->looked = s->pool->second;
	if (s->filter != NULL)
		close_unless_current(s);
	if (s->filter != NULL)
		return 0;
	result = start_served(s, NULL, &error);
	set_reason(s, result < 0 ? error.text : NULL);
	s->is_locked = result < 0 && error.status == STATUS_LOCKED;
	if (result != 0)
		count_bytes(s, 0);
	return result > 0;
}

void
served_postpone(struct served *s)
{
	struct stat st;

	if (lstat(s->path, &st) == 0 && S_ISREG(st.st_mode))
		count_bytes(s, (uint64_t)st.st_size);
}

uint64_t
served_bytes(const struct served *s)
{
	if (s->reason != NULL)
		return 0;
	if (s->filter != NULL)
		return filter_bytes(s->filter);
	return s->bytes;
}

void
served_break(struct served *s, const struct error *error)
{
	enum filter_state state = filter_state(s->filter);

	if (state == FILTER_REPLACED || state == FILTER_OVERWRITTEN)
		tell_lost(s, state);
	/* its clients are told why it failed, not what closing it says */
	close_filter(s, error_ignored());
	s->looked = s->pool->second;
	set_reason(s, error->text);
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
served_stored(struct served *s, uint64_t lines)
{
	s->stored += lines;
}

struct digest
served_digest(struct served *s, struct bytes subkey)
{
	struct key key = { subkey.data, subkey.nbytes };
	struct digest digest;

	if (s->scratch.step_count > 0) {
		key_scratch_reserve(&s->scratch, subkey.nbytes);
		key = key_take(&s->recipe, subkey.data, subkey.nbytes,
		    &s->scratch);
	}
	loops()->digest(&filter_header(s->filter)->hash, &key, 1, &digest);
	if (s->recipe.keep_empty)
		key_keep_empty(&key, 1, &digest);
	return digest;
}

uint64_t
served_room(const struct served *s)
{
	return table_room(filter_table(s->filter), filter_growth(s->filter));
}

/* May it grow for so many lines more than there is room for? */
static int
is_within_limit(struct served *s, uint64_t lines)
{
	const struct served_pool *pool = s->pool;
	const struct table *table = filter_table(s->filter);
	uint64_t nbytes;
	const struct layer_entry *last = &table->layers[table->count - 1];
	int known = s->next.capacity >= lines &&
	    s->next_after.offset == last->offset &&
	    s->next_after.created == last->created;

	/* takes long; if it fails, growth says why */
	if (!known && growth_layer(s->filter, table, lines, UINT64_MAX,
	    &s->next, error_ignored()) == 0) {
		s->next_after = *last;
		known = 1;
	}
	nbytes = bytes_with(s, known ? s->next.geometry.pages * PAGE_BYTES : 0);
	return nbytes <= s->bytes || (nbytes <= pool->limit &&
	    pool->bytes - s->bytes <= pool->limit - nbytes);
}

/*
 * May it take `wanted` new lines: is there room for them, or may it grow within
 * the memory limit of all filters? Returns 0; or -1, with STATUS_FULL.
 */
static int
may_grow(struct served *s, uint64_t wanted, struct error *error)
{
	uint64_t room = served_room(s);

	if (filter_growth(s->filter) != GROWTH_GROW || room >= wanted ||
	    filter_header(s->filter)->window.kind == WINDOW_LINES)
		return 0;
	if (has_no_room(s)) {
		*error = *s->no_room;
		return -1;
	}
	/*
	 * A layer that is being made is counted: first use that. If it can't
	 * be, the room that is there says so.
	 */
	if (filter_costs(s->filter).coming_bytes > 0) {
		filter_reserve(s->filter, room + 1, &room, error_ignored());
		room = served_room(s);
	}
	if (room >= wanted || is_within_limit(s, wanted - room))
		return 0;
	return error_set(error, STATUS_FULL, "%s: it is full, and growing would"
	    " exceed the memory limit of all filters (setmem)", s->path);
}

enum room
served_reserve(struct served *s, uint64_t wanted, uint64_t *room,
    struct error *error)
{
	enum room answer;

	if (may_grow(s, wanted, error) < 0) {
		/* What there is must be reserved, too, before it is marked;
		   `error` says why it isn't more. */
		filter_reserve(s->filter, served_room(s), room,
		    error_ignored());
		count_again(s);
		return ROOM_SHORT;
	}
	answer = filter_reserve(s->filter, wanted, room, error);
	count_again(s);
	if (answer == ROOM_SHORT)
		note_no_room(s, error);
	return answer;
}

void
served_grow_ahead(struct served *s)
{
	const struct table *table;

	if (s->filter == NULL || s->pool->settings->read_only ||
	    filter_growth(s->filter) != GROWTH_GROW ||
	    filter_header(s->filter)->window.kind != WINDOW_NONE ||
	    has_no_room(s))
		return;
	table = filter_table(s->filter);
	if (served_room(s) > table->layers[table->count - 1].capacity / 10 ||
	    (filter_costs(s->filter).coming_bytes == 0 &&
	    !is_within_limit(s, 1)))
		return;
	filter_grow_ahead(s->filter);
	count_again(s);
}

int
served_is_fixed(const struct served *s)
{
	return s->filter != NULL && filter_growth(s->filter) != GROWTH_GROW;
}
