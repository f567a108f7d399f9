#include "serve/catalog.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bits/sizing.h"
#include "disk/journal.h"
#include "key/key.h"
#include "model/window.h"

#define SUFFIX ".bloom"
/* How long a server that was killed may take to give up its locks. */
#define PATIENCE CLOCK_SECOND
static const struct timespec moment = { 0, 10 * (long)CLOCK_MILLISECOND };

int
catalog_is_name(struct bytes name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-:@+=,%#{}";

	if (name.nbytes == 0 || name.nbytes > SERVED_NAME_MAX ||
	    name.data[0] == '.')
		return 0;
	for (size_t i = 0; i < name.nbytes; i++) {
		if (name.data[i] == '\0' ||
		    strchr(allowed, name.data[i]) == NULL)
			return 0;
	}
	return 1;
}

static int
is_named(const struct served *served, struct bytes name)
{
	return served->name_bytes == name.nbytes &&
	    memcmp(served->name, name.data, name.nbytes) == 0;
}

/* The place of the filter with that name, or where to insert it. */
static size_t
find_place(const struct catalog *catalog, struct bytes name)
{
	size_t low = 0, high = catalog->count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (strncmp(catalog->items[middle]->name,
		    (const char *)name.data, name.nbytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct served *
served_by_name(struct catalog *catalog, struct bytes name)
{
	size_t i = find_place(catalog, name);

	if (i == catalog->count || !is_named(catalog->items[i], name))
		return NULL;
	return catalog->items[i];
}

/* Insert a name that isn't in the catalog. */
static struct served *
insert_name(struct catalog *catalog, struct bytes name)
{
	size_t i = find_place(catalog, name);

	catalog->items = memory_grow(catalog->items, &catalog->capacity,
	    catalog->count + 1, sizeof *catalog->items);
	memmove(catalog->items + i + 1, catalog->items + i,
	    (catalog->count - i) * sizeof *catalog->items);
	catalog->items[i] = served_new(&catalog->pool, name);
	catalog->count++;
	return catalog->items[i];
}

/* A filter whose file is gone, or was never made: nothing of it is kept. */
static void
forget(struct catalog *catalog, struct served *served)
{
	size_t i = find_place(catalog, (struct bytes){
	    (const uint8_t *)served->name, served->name_bytes });

	memmove(catalog->items + i, catalog->items + i + 1,
	    (catalog->count - i - 1) * sizeof *catalog->items);
	catalog->count--;
	catalog->last = NULL;
	/* It is dropped: what could not be written to it is not missed. */
	served_free(served, error_ignored());
}

/* Add the directory's new files to the catalog. */
static int
read_directory(struct catalog *catalog, struct error *error)
{
	const char *path = catalog->pool.settings->directory;
	DIR *directory = opendir(path);
	struct dirent *entry;

	if (directory == NULL)
		return error_system(error, errno, path);
	while ((entry = readdir(directory)) != NULL) {
		size_t n = strlen(entry->d_name);
		struct bytes name = { (const uint8_t *)entry->d_name, n };

		if (n < strlen(SUFFIX) || strcmp(entry->d_name + n -
		    strlen(SUFFIX), SUFFIX) != 0)
			continue;
		name.nbytes -= strlen(SUFFIX);
		if (catalog_is_name(name) && served_by_name(catalog,
		    name) == NULL)
			served_postpone(insert_name(catalog, name));
	}
	closedir(directory);
	return 0;
}

/*
 * Lock the directory, and wait for that until clock_now is `until`. Servers
 * that only read may share a directory.
 */
static int
lock_directory(const struct catalog *catalog, uint64_t until,
    struct error *error)
{
	const struct serve_settings *settings = catalog->pool.settings;
	int mode = settings->read_only ? LOCK_SH : LOCK_EX;

	while (flock(catalog->fd, mode | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK) {
			return error_set(error, STATUS_FAILED, "%s: the"
			    " directory cannot be locked: %s; serve one on a"
			    " local disk", settings->directory,
			    strerror(errno));
		}
		if (clock_now() >= until)
			return error_set(error, STATUS_LOCKED, "%s: another"
			    " process serves this directory",
			    settings->directory);
		nanosleep(&moment, NULL);
	}
	return 0;
}

/* Open the filters, as many as may be open. */
static void
open_filters(struct catalog *catalog)
{
	const struct served_pool *pool = &catalog->pool;
	size_t i = 0;

	while (i < catalog->count && pool->open < pool->open_max) {
		struct served *served = catalog->items[i];

		if (served_look(served, 0) > 0)
			forget(catalog, served);
		else
			i++;
	}
}

/* Look again at the filters that are locked. Returns whether one still is. */
static int
open_locked_filters(struct catalog *catalog)
{
	int locked = 0;

	for (size_t i = 0; i < catalog->count; i++) {
		struct served *served = catalog->items[i];

		if (served->is_locked && served_look(served, 1) == 0)
			locked |= served->is_locked;
	}
	return locked;
}

static void
report_reasons(const struct catalog *catalog)
{
	for (size_t i = 0; i < catalog->count; i++) {
		const char *reason = catalog->items[i]->reason;

		if (reason != NULL)
			catalog->pool.settings->notice(reason);
	}
}

struct catalog *
catalog_open(const struct serve_settings *settings, struct leases *leases,
    struct error *error)
{
	struct catalog *catalog = memory_or_die(calloc(1, sizeof *catalog));
	struct served_pool *pool = &catalog->pool;

	*pool = (struct served_pool){ .settings = settings, .second = 1,
		.limit = settings->memory_bytes, .leases = leases };
	catalog->fd = open(settings->directory, O_RDONLY | O_DIRECTORY |
	    O_CLOEXEC);
	if (catalog->fd < 0) {
		error_system(error, errno, settings->directory);
		goto fail;
	}
	if (lock_directory(catalog, clock_now() + PATIENCE, error) < 0 ||
	    read_directory(catalog, error) < 0)
		goto fail;
	return catalog;
fail:
	/* The caller is told why the catalog could not be opened. */
	catalog_close(catalog, error_ignored());
	return NULL;
}

void
catalog_open_filters(struct catalog *catalog, size_t open_max)
{
	uint64_t until = clock_now() + PATIENCE;

	catalog->pool.open_max = open_max;
	open_filters(catalog);
	while (open_locked_filters(catalog) && clock_now() < until)
		nanosleep(&moment, NULL);
	report_reasons(catalog);
}

int
catalog_close(struct catalog *catalog, struct error *error)
{
	int result = 0;

	while (catalog->count > 0) {
		if (served_free(catalog->items[--catalog->count], error) < 0)
			result = -1;
	}
	if (catalog->fd >= 0)
		close(catalog->fd);
	free(catalog->items);
	free(catalog);
	return result;
}

struct served *
catalog_find(struct catalog *catalog, struct bytes name)
{
	struct served *served = catalog->last;
	char file[SERVED_NAME_MAX + sizeof SUFFIX];
	struct stat st;

	if (name.nbytes == 0)
		return NULL;
	if (served == NULL || !is_named(served, name))
		served = served_by_name(catalog, name);
	if (served == NULL && catalog_is_name(name)) {
		/* The file may be new in the directory. */
		snprintf(file, sizeof file, "%.*s" SUFFIX, (int)name.nbytes,
		    (const char *)name.data);
		if (fstatat(catalog->fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
			served = insert_name(catalog, name);
	}
	if (served == NULL)
		return NULL;
	if (served_look(served, 0) > 0) {
		forget(catalog, served);
		return NULL;
	}
	catalog->last = served;
	return served;
}

void
catalog_report_missing(struct catalog *catalog, struct bytes name)
{
	struct error text;

	error_set(&text, STATUS_OK, "%s: no such filter: %.*s",
	    catalog->pool.settings->directory, (int)name.nbytes,
	    (const char *)name.data);
	served_report(&catalog->pool, &catalog->unknown, text.text);
}

int
catalog_window(struct filter_design *wanted, const char *text)
{
	if (window_parse(&wanted->window, text) < 0)
		return -1;
	if (wanted->window.kind != WINDOW_LINES)
		return 0;
	if (4 * window_generation_capacity(wanted->capacity) !=
	    wanted->window.length)
		return -1;
	wanted->capacity = wanted->window.length;
	return 0;
}

int
catalog_add(struct catalog *catalog, struct bytes name,
    const struct filter_design *wanted, struct error *error)
{
	const struct key_recipe lines = KEY_RECIPE_NONE;
	const struct served_pool *pool = &catalog->pool;
	struct filter_design design = *wanted;
	struct sizing sizing = { .capacity = design.capacity,
		.error_rate = design.error_rate,
		.fixed = design.growth != GROWTH_GROW };
	struct served *served;
	int result;

	if (!catalog_is_name(name))
		return error_set(error, STATUS_USAGE, "%s", CATALOG_NAMES);
	if (catalog_find(catalog, name) != NULL)
		return 1;
	if (window_solve(&sizing, &design.window, error) < 0)
		return -1;
	if (sizing.bytes > pool->limit ||
	    pool->bytes > pool->limit - sizing.bytes)
		return error_set(error, STATUS_FULL, "%" PRIu64 " bytes over"
		    " the memory limit of all filters (setmem)", sizing.bytes +
		    pool->bytes - pool->limit);
	design.capacity = sizing.capacity;
	design.error_rate = sizing.error_rate;
	design.geometry = sizing.geometry;
	key_recipe_format(&lines, design.recipe);
	served = insert_name(catalog, name);
	result = served_create(served, &design, error);
	if (result != 0)
		forget(catalog, served);
	return result;
}

int
catalog_remove(struct catalog *catalog, struct bytes name,
    struct error *error)
{
	struct served *served = catalog_find(catalog, name);
	char *journal;
	int result = 0;

	if (served == NULL || served_look(served, 1) > 0)
		return 1;
	/*
	 * A file that another run has locked, or that is no filter, is not
	 * ours.
	 */
	if (served->filter == NULL)
		return error_set(error, STATUS_FAILED, "%s", served->reason);
	journal = journal_name(served->path);
	if (unlink(served->path) < 0 && errno != ENOENT)
		result = error_system(error, errno, served->path);
	else if (unlink(journal) < 0 && errno != ENOENT)
		result = error_system(error, errno, journal);
	else
		forget(catalog, served);
	free(journal);
	return result;
}

/*
 * Has the filter's file perhaps gone? One with leases may also have been
 * replaced, and has none then.
 */
static int
may_be_gone(const struct served *served)
{
	struct stat st;

	if (lstat(served->path, &st) < 0)
		return errno == ENOENT;
	return served->filter != NULL && served_leases(served) > 0;
}

void
catalog_list(struct catalog *catalog)
{
	if (catalog->listed == catalog->pool.second)
		return;
	catalog->listed = catalog->pool.second;
	for (size_t i = 0; i < catalog->count; ) {
		struct served *served = catalog->items[i];

		if (may_be_gone(served) && served_look(served, 1) > 0)
			forget(catalog, served);
		else
			i++;
	}
	/* What cannot be read now stays in the catalog as it was. */
	read_directory(catalog, error_ignored());
}
