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
#include <unistd.h>

#include "bits/sizing.h"
#include "key/key.h"
#include "model/window.h"

#define SUFFIX ".bloom"
/* Names that had no file when they were last asked for; a power of two. */
#define ABSENT 1024
/* How often requests for unknown filters are reported, in seconds. */
#define REPORTS 60

struct absent {
	char name[SERVED_NAME_MAX + 1];
	uint64_t looked;           /* in which second, or 0 */
};

struct catalog {
	struct served_pool pool;
	char *folder;
	int fd;                    /* holds the lock */
	uint64_t listed;           /* in which second */
	struct served **items;     /* sorted by name */
	size_t count, capacity;
	struct served *last;       /* the last one asked for */
	struct absent absent[ABSENT]; /* each name has its place */
	uint64_t unknown;          /* requests, since they were reported, */
	uint64_t reported;         /* in this second, or 0 */
};

const char catalog_name_rule[] = "a filter's name has up to 64 letters, digits"
    " and '._-:@+=,%#{}', no dot first";

int
catalog_is_name(struct bytes name)
{
	if (name.nbytes == 0 || name.nbytes > SERVED_NAME_MAX ||
	    name.data[0] == '.')
		return 0;
	for (size_t i = 0; i < name.nbytes; i++) {
		uint8_t c = name.data[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
		    (c >= '0' && c <= '9') ||
		    (c != '\0' && strchr("._-:@+=,%#{}", c) != NULL)))
			return 0;
	}
	return 1;
}

static struct bytes
name_of(const struct served *s)
{
	return (struct bytes){ (const uint8_t *)served_name(s),
		served_name_bytes(s) };
}

static int
is_named(const struct served *s, struct bytes name)
{
	return served_name_bytes(s) == name.nbytes &&
	    memcmp(served_name(s), name.data, name.nbytes) == 0;
}

/* The place of the filter with that name, or where to insert it. */
static size_t
find_place(const struct catalog *catalog, struct bytes name)
{
	size_t low = 0, high = catalog->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		struct bytes other = name_of(catalog->items[middle]);
		size_t n = other.nbytes < name.nbytes ? other.nbytes :
		    name.nbytes;
		int order = memcmp(other.data, name.data, n);

		if (order < 0 || (order == 0 && other.nbytes < name.nbytes))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct served *
look_up(struct catalog *catalog, struct bytes name)
{
	size_t i = find_place(catalog, name);

	return i < catalog->count && is_named(catalog->items[i], name) ?
	    catalog->items[i] : NULL;
}

/* Insert a name that isn't in the catalog. */
static struct served *
insert(struct catalog *catalog, struct bytes name)
{
	size_t i = find_place(catalog, name);

	if (catalog->count == catalog->capacity) {
		catalog->capacity = 2 * catalog->capacity + 16;
		catalog->items = memory_or_die(realloc(catalog->items,
		    catalog->capacity * sizeof *catalog->items));
	}
	memmove(catalog->items + i + 1, catalog->items + i,
	    (catalog->count - i) * sizeof *catalog->items);
	catalog->items[i] = served_new(&catalog->pool, name);
	catalog->count++;
	return catalog->items[i];
}

static int
forget(struct catalog *catalog, struct served *s, struct error *error)
{
	size_t i = find_place(catalog, name_of(s));

	memmove(catalog->items + i, catalog->items + i + 1,
	    (catalog->count - i - 1) * sizeof *catalog->items);
	catalog->count--;
	catalog->last = NULL;
	return served_free(s, error);
}

/* Add the folder's new files to the catalog. */
static int
read_folder(struct catalog *catalog, struct error *error)
{
	DIR *folder = opendir(catalog->folder);
	struct dirent *entry;

	if (folder == NULL)
		return error_system(error, errno, catalog->folder);
	while ((entry = readdir(folder)) != NULL) {
		size_t n = strlen(entry->d_name);
		struct bytes name = { (const uint8_t *)entry->d_name, n };

		if (n < strlen(SUFFIX) || strcmp(entry->d_name + n -
		    strlen(SUFFIX), SUFFIX) != 0)
			continue;
		name.nbytes -= strlen(SUFFIX);
		if (catalog_is_name(name) && look_up(catalog, name) == NULL)
			served_postpone(insert(catalog, name));
	}
	closedir(folder);
	return 0;
}

static int
lock_folder(struct catalog *catalog, struct error *error)
{
	catalog->fd = open(catalog->folder,
	    O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (catalog->fd < 0)
		return error_system(error, errno, catalog->folder);
	if (flock(catalog->fd, (catalog->pool.read_only ? LOCK_SH : LOCK_EX) |
	    LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return error_system(error, errno, catalog->folder);
	return error_set(error, STATUS_LOCKED, "%s: another process serves"
	    " this folder", catalog->folder);
}

int
catalog_open(struct catalog **result, const struct catalog_settings *plan,
    struct error *error)
{
	struct catalog *catalog = memory_or_die(calloc(1, sizeof *catalog));
	struct served_pool *pool = &catalog->pool;

	*result = catalog;
	catalog->folder = memory_or_die(strdup(plan->folder));
	catalog->fd = -1;
	*pool = (struct served_pool){ .folder = catalog->folder,
		.read_only = plan->read_only, .tell = plan->tell,
		.limit = plan->limit, .second = 1,
		.open_max = plan->open_max };
	if (lock_folder(catalog, error) < 0 ||
	    read_folder(catalog, error) < 0) {
		catalog_close(catalog, &(struct error){ 0 });
		*result = NULL;
		return -1;
	}
	for (size_t i = 0; i < catalog->count &&
	    pool->open < pool->open_max; ) {
		if (served_look(catalog->items[i], 0) > 0)
			forget(catalog, catalog->items[i],
			    &(struct error){ 0 });
		else
			i++;
	}
	return 0;
}

int
catalog_close(struct catalog *catalog, struct error *error)
{
	int result = 0;

	while (catalog->count > 0) {
		if (forget(catalog, catalog->items[catalog->count - 1],
		    error) < 0)
			result = -1;
	}
	if (catalog->fd >= 0)
		close(catalog->fd);
	free(catalog->items);
	free(catalog->folder);
	free(catalog);
	return result;
}

void
catalog_tick(struct catalog *catalog)
{
	catalog->pool.second++;
}

/* The place of a name in the list of those without a file. */
static struct absent *
absent_place(struct catalog *catalog, struct bytes name)
{
	uint32_t hash = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < name.nbytes; i++)
		hash = (hash ^ name.data[i]) * 16777619u;
	return &catalog->absent[(hash ^ hash >> 16) % ABSENT];
}

static void
note_absent(struct catalog *catalog, struct bytes name)
{
	struct absent *absent = absent_place(catalog, name);

	memcpy(absent->name, name.data, name.nbytes);
	absent->name[name.nbytes] = '\0';
	absent->looked = catalog->pool.second;
}

/* A file that is new in the folder; NULL if there is none. */
static struct served *
find_new(struct catalog *catalog, struct bytes name)
{
	const struct absent *absent = absent_place(catalog, name);
	char file[SERVED_NAME_MAX + sizeof SUFFIX];
	struct stat st;

	if (absent->looked == catalog->pool.second &&
	    strlen(absent->name) == name.nbytes &&
	    memcmp(absent->name, name.data, name.nbytes) == 0)
		return NULL;
	snprintf(file, sizeof file, "%.*s" SUFFIX, (int)name.nbytes,
	    (const char *)name.data);
	if (fstatat(catalog->fd, file, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return insert(catalog, name);
	note_absent(catalog, name);
	return NULL;
}

static struct served *
find(struct catalog *catalog, struct bytes name, int now)
{
	struct served *s = catalog->last;

	if (s == NULL || !is_named(s, name))
		s = look_up(catalog, name);
	if (s == NULL)
		s = find_new(catalog, name);
	if (s == NULL)
		return NULL;
	if (served_look(s, now) > 0) {
		forget(catalog, s, &(struct error){ 0 });
		note_absent(catalog, name);
		return NULL;
	}
	catalog->last = s;
	return s;
}

void
catalog_refuse(struct catalog *catalog, struct bytes name)
{
	const struct served_pool *pool = &catalog->pool;
	struct error text;

	catalog->unknown++;
	if (catalog->reported != 0 &&
	    pool->second - catalog->reported < REPORTS)
		return;
	error_set(&text, STATUS_OK, "%s: no such filter: %.*s (requests"
	    " refused: %" PRIu64 ")", catalog->folder, (int)name.nbytes,
	    (const char *)name.data, catalog->unknown);
	pool->tell(text.text);
	catalog->reported = pool->second;
	catalog->unknown = 0;
}

struct served *
catalog_find(struct catalog *catalog, struct bytes name)
{
	return find(catalog, name, 0);
}

static int
check_limit(const struct catalog *catalog, uint64_t nbytes,
    struct error *error)
{
	const struct served_pool *pool = &catalog->pool;

	if (nbytes <= pool->limit && pool->bytes <= pool->limit - nbytes)
		return 0;
	return error_set(error, STATUS_FULL, "%" PRIu64 " bytes over the"
	    " memory limit of all filters (setmem)", nbytes + pool->bytes -
	    pool->limit);
}

int
catalog_add(struct catalog *catalog, struct bytes name, uint64_t capacity,
    double error_rate, const struct window *window, enum growth growth,
    struct error *error)
{
	const struct key_recipe lines = KEY_RECIPE_NONE;
	struct sizing sizing = { .capacity = capacity,
		.error_rate = error_rate, .fixed = growth != GROWTH_GROW };
	struct filter_design plan;
	struct served *s;
	int result;

	if (find(catalog, name, 0) != NULL)
		return 1;
	if (window_solve(&sizing, window, error) < 0 ||
	    check_limit(catalog, sizing.bytes, error) < 0)
		return -1;
	plan = (struct filter_design){ .capacity = sizing.capacity,
		.error_rate = sizing.error_rate, .geometry = sizing.geometry,
		.growth = growth, .window = *window };
	key_recipe_format(&lines, plan.recipe);
	s = insert(catalog, name);
	result = served_create(s, &plan, error);
	if (result != 0)
		forget(catalog, s, &(struct error){ 0 });
	return result;
}

int
catalog_remove(struct catalog *catalog, struct bytes name,
    struct error *error)
{
	struct served *s = find(catalog, name, 1);
	size_t journal_bytes;
	char *journal;
	int result;

	if (s == NULL)
		return 1;
	/* a filter that another run has locked is not ours to remove */
	if (served_is_foreign(s))
		return error_set(error, STATUS_FAILED, "%s", served_reason(s));
	journal_bytes = strlen(served_path(s)) + sizeof ".journal";
	journal = memory_or_die(malloc(journal_bytes));
	snprintf(journal, journal_bytes, "%s.journal", served_path(s));
	result = unlink(served_path(s)) < 0 && errno != ENOENT ?
	    error_system(error, errno, served_path(s)) : 0;
	if (result == 0 && unlink(journal) < 0 && errno != ENOENT)
		result = error_system(error, errno, journal);
	free(journal);
	if (result < 0)
		return -1;
	forget(catalog, s, &(struct error){ 0 });
	return 0;
}

void
catalog_list(struct catalog *catalog)
{
	if (catalog->listed == catalog->pool.second)
		return;
	catalog->listed = catalog->pool.second;
	for (size_t i = 0; i < catalog->count; ) {
		struct served *s = catalog->items[i];

		if (served_is_gone(s) && served_look(s, 1) > 0)
			forget(catalog, s, &(struct error){ 0 });
		else
			i++;
	}
	read_folder(catalog, &(struct error){ 0 });
}

size_t
catalog_count(const struct catalog *catalog)
{
	return catalog->count;
}

struct served *
catalog_at(const struct catalog *catalog, size_t i)
{
	return catalog->items[i];
}

uint64_t
catalog_limit(const struct catalog *catalog)
{
	return catalog->pool.limit;
}

void
catalog_set_limit(struct catalog *catalog, uint64_t limit)
{
	catalog->pool.limit = limit;
}

uint64_t
catalog_bytes(const struct catalog *catalog)
{
	return catalog->pool.bytes;
}
