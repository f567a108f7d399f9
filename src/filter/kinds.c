/*
 * The kinds of locations, a row each. Implements the functions of filter.h that
 * take a location.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/components.h"
#include "base/io.h"
#include "disk/format.h"
#include "disk/journal.h"
#include "filter/deferred.h"
#include "filter/filter.h"
#include "layers/layers.h"
#include "redis/address.h"
#ifdef WITH_REDIS
#include "redis/redis.h"
#define REDIS(operation) redis_##operation
#else
#define REDIS(operation) NULL
#endif

struct location_kind {
	struct abilities can;
	enum component component; /* the operations are NULL without it */
	const char *needs;     /* purpose of the component, in messages */
	int (*has)(const char *location);
	int (*open)(struct filter **filter, const char *location,
	    const struct filter_use *use, struct error *error);
	int (*create)(struct filter **filter, const char *location,
	    int replace, const struct filter_design *design,
	    const struct filter_use *use, struct error *error);
	int (*check_removal)(const char *location,
	    const struct lock_wait *wait, struct error *error);
	int (*remove)(const char *location, const struct lock_wait *wait,
	    struct error *error);
	/* NULL for files, whose size is known without one. */
	int (*foresee)(const char *location, const struct filter_design *design,
	    struct filter_costs *costs, uint64_t *bytes,
	    struct error *error);
	/* NULL for servers: another client may use what seems unused. */
	void (*discard)(const char *location,
	    const uint8_t id[FILTER_ID_BYTES], uint64_t lines);
};

/* Open a filter in a file, and what its journal has. */
static int
open_with_journal(struct filter **filter, const char *path,
    const struct filter_use *use, struct error *error)
{
	int result = layers_open(filter, path, use, error);

	if (result != 0)
		return result;
	if (use->writable)
		result = deferred_recover(*filter, &use->wait, error);
	else
		result = deferred_read(filter, error);
	if (result < 0) {
		filter_release(*filter);
		*filter = NULL;
	}
	return result;
}

/* A file that is to be removed, locked: one of the two is open. */
struct doomed {
	struct filter *filter;
	struct file damaged; /* it begins like a filter, and is none */
};

/* The file can't be opened as a filter: lock it if it begins like one. */
static int
open_damaged(struct file *file, const char *path,
    const struct lock_wait *wait, struct error *error)
{
	uint8_t begin[PAGE_BYTES];
	int result = file_open(file, path, FILE_WRITE, wait, error);
	ssize_t n;

	if (result != 0)
		return result;
	n = io_pread(file->fd, begin, sizeof begin, 0);
	if (n >= 0 && format_is_filter(begin, (size_t)n))
		return 0;
	if (n < 0)
		error_system(error, errno, path);
	else
		error_set(error, STATUS_FAILED, "%s: not a bloomdedup filter;"
		    " remove the file with rm", path);
	file_close(file);
	return -1;
}

/* Returns 1 if there is no such file. A filter's journal is finished. */
static int
open_doomed(struct doomed *d, const char *path, const struct lock_wait *wait,
    struct error *error)
{
	struct filter_use use = FILTER_WRITE;
	int result;

	use.wait = *wait;
	*d = (struct doomed){ .damaged = FILE_NONE };
	result = layers_open(&d->filter, path, &use, error);
	if (result < 0 && error->status != STATUS_LOCKED && error->errnum == 0)
		return open_damaged(&d->damaged, path, wait, error);
	if (result != 0)
		return result;
	if (deferred_recover(d->filter, wait, error) == 0)
		return 0;
	filter_release(d->filter);
	return -1;
}

static void
close_doomed(struct doomed *d)
{
	/*
	 * The filter is removed, so it does not matter what could not be
	 * written.
	 */
	filter_release(d->filter);
	file_close(&d->damaged);
}

static int
check_removal_of_file(const char *path, const struct lock_wait *wait,
    struct error *error)
{
	struct doomed d;
	int result = open_doomed(&d, path, wait, error);

	if (result == 0)
		close_doomed(&d);
	return result;
}

/* The file, and the symbolic link to it, once no run uses it. */
static int
remove_file(const char *path, const struct lock_wait *wait,
    struct error *error)
{
	const char *real;
	struct doomed d;
	int result = open_doomed(&d, path, wait, error);

	if (result != 0)
		return result;
	real = d.damaged.real_path;
	if (d.filter != NULL)
		real = filter_path(d.filter);
	/* Notes of a run that was killed are still there. */
	if (journal_discard(real, error) < 0)
		result = -1;
	else if (unlink(real) < 0 || (unlink(path) < 0 && errno != ENOENT))
		result = error_system(error, errno, path);
	close_doomed(&d);
	return result;
}

static void
say_nothing(const char *text)
{
	(void)text;
}

static void
discard_file(const char *path, const uint8_t id[FILTER_ID_BYTES],
    uint64_t lines)
{
	struct filter_use use = FILTER_WRITE; /* it waits for nobody */
	struct filter *filter;

	use.wait.notice = say_nothing;
	/* A file that cannot be opened stays, and does no harm. */
	if (open_with_journal(&filter, path, &use, error_ignored()) != 0)
		return;
	if (memcmp(filter_header(filter)->id, id, FILTER_ID_BYTES) == 0 &&
	    table_lines(filter_table(filter)) <= lines)
		unlink(filter_path(filter));
	filter_release(filter);
}

static const struct location_kind kinds[] = {
	{ { .noun = "filter", .has_claims = 1 },
	    COMPONENT_REDIS, "a filter at redis://", address_is_server,
	    REDIS(open), REDIS(create), REDIS(check_removal), REDIS(remove),
	    REDIS(foresee), NULL },
	/* All other locations are names of files, or NULL for memory. */
	{ { .noun = "file", .is_path = 1, .has_journal = 1 },
	    COMPONENT_NONE, NULL, NULL, open_with_journal, layers_create,
	    check_removal_of_file, remove_file, NULL, discard_file },
};

static const struct location_kind *
kind_of(const char *location)
{
	const struct location_kind *kind = kinds;

	while (kind->has != NULL && (location == NULL || !kind->has(location)))
		kind++;
	return kind;
}

/* Return the kind, or NULL, with `error` filled, if it is not built in. */
static const struct location_kind *
usable(const char *location, struct error *error)
{
	const struct location_kind *kind = kind_of(location);

	if (location != NULL && address_is_foreign(location)) {
		address_refuse(location, error);
		return NULL;
	}
	if (component_need(kind->component, kind->needs, error) < 0)
		return NULL;
	return kind;
}

const struct abilities *
filter_abilities(const char *location)
{
	return &kind_of(location)->can;
}

int
filter_missing(const char *location, struct error *error)
{
	if (filter_abilities(location)->is_path)
		return error_system(error, ENOENT, location);
	return error_set(error, STATUS_FAILED, "%s: there is no such filter",
	    location);
}

int
filter_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	const struct location_kind *kind = usable(location, error);

	if (kind == NULL)
		return -1;
	return kind->open(filter, location, use, error);
}

int
filter_create(struct filter **filter, const char *location, int replace,
    const struct filter_design *design, const struct filter_use *use,
    struct error *error)
{
	const struct location_kind *kind = usable(location, error);

	if (kind == NULL)
		return -1;
	return kind->create(filter, location, replace, design, use, error);
}

int
filter_foresee(const char *location, const struct filter_design *design,
    struct filter_costs *costs, uint64_t *bytes, struct error *error)
{
	const struct location_kind *kind = usable(location, error);

	if (kind == NULL)
		return -1;
	return kind->foresee(location, design, costs, bytes, error);
}

int
filter_check_removal(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	const struct location_kind *kind = usable(location, error);

	if (kind == NULL)
		return -1;
	return kind->check_removal(location, wait, error);
}

int
filter_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	const struct location_kind *kind = usable(location, error);

	if (kind == NULL)
		return -1;
	return kind->remove(location, wait, error);
}

void
filter_discard(const char *location, const uint8_t id[FILTER_ID_BYTES],
    uint64_t lines)
{
	const struct location_kind *kind = kind_of(location);

	if (kind->discard != NULL)
		kind->discard(location, id, lines);
}
