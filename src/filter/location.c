/*
 * Finds the kind of a filter by its location. Implements the functions of
 * filter.h that open and create one.
 */
#include "base/parts.h"
#include "redis/address.h"
#include "filter/deferred.h"
#include "filter/filter.h"
#include "layers/layers.h"
#ifdef WITH_REDIS
#include "redis/redis.h"
#endif

/* A kind of filter, and which locations are its own. */
struct kind {
	int (*has)(const char *location);
	int (*open)(struct filter **filter, const char *location,
	    const struct filter_use *use, struct error *error);
	int (*create)(struct filter **filter, const char *location,
	    int replace, const struct filter_plan *plan,
	    const struct filter_use *use, struct error *error);
	int (*prepare)(struct filter **filter, const char *location,
	    const struct header *header, const struct table *table,
	    struct error *error);
	int (*remove)(const char *location, const struct lock_wait *wait,
	    struct error *error); /* NULL for files */
};

/* A file, with its journal. */
static int
open_file(struct filter **filter, const char *path,
    const struct filter_use *use, struct error *error)
{
	int result = layers_open(filter, path, use, error);

	if (result != 0)
		return result;
	result = use->writable ?
	    deferred_recover(*filter, use->wait.notice, error) :
	    deferred_read(filter, error);
	if (result < 0) {
		filter_close(*filter, &(struct error){ 0 });
		*filter = NULL;
	}
	return result;
}

static int
is_server(const char *location)
{
	return location != NULL && address_is_server(location);
}

static int
is_file_or_memory(const char *location)
{
	return !is_server(location);
}

static const struct kind kinds[] = {
	{ is_file_or_memory, open_file, layers_create, layers_prepare,
	    NULL },
#ifdef WITH_REDIS
	{ is_server, redis_open, redis_create, redis_prepare,
	    redis_remove },
#endif
};

static const struct kind *
kind_of(const char *location, struct error *error)
{
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		if (kinds[i].has(location))
			return &kinds[i];
	}
	/* Not the location itself, which may have a password. */
	parts_need(PART_REDIS, "a filter at redis://", error);
	return NULL;
}

int
filter_open(struct filter **filter, const char *location,
    const struct filter_use *use, struct error *error)
{
	const struct kind *kind = kind_of(location, error);

	return kind == NULL ? -1 : kind->open(filter, location, use, error);
}

int
filter_create(struct filter **filter, const char *location, int replace,
    const struct filter_plan *plan, const struct filter_use *use,
    struct error *error)
{
	const struct kind *kind = kind_of(location, error);

	return kind == NULL ? -1 : kind->create(filter, location, replace,
	    plan, use, error);
}

int
filter_prepare(struct filter **filter, const char *location,
    const struct header *header, const struct table *table,
    struct error *error)
{
	const struct kind *kind = kind_of(location, error);

	return kind == NULL ? -1 : kind->prepare(filter, location, header,
	    table, error);
}

int
filter_remove(const char *location, const struct lock_wait *wait,
    struct error *error)
{
	const struct kind *kind = kind_of(location, error);

	return kind == NULL ? -1 : kind->remove(location, wait, error);
}
