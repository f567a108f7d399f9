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

#include "base/clock.h"
#include "base/number.h"
#include "base/path.h"
#include "base/signals.h"
#include "bits/loops.h"
#include "bits/sizing.h"
#include "filter/filter.h"
#include "model/window.h"
#include "key/key.h"

#define SUFFIX ".bloom"
/* How long to wait before trying a filter, or reading the folder, again. */
#define PATIENCE CLOCK_SECOND

struct served {
	struct catalog *catalog;
	char name[CATALOG_NAME_MAX + 1];
	size_t name_bytes;
	char *path;
	struct filter *filter;     /* NULL if it isn't open */
	char *reason;              /* why it can't be used, or NULL */
	int broken;                /* for good: it isn't tried again */
	uint64_t tried;            /* when it was opened */
	struct key_recipe recipe;
	struct key_scratch scratch;
	uint32_t expansion;
	int slot;
};

struct catalog {
	char *folder;
	int fd;                    /* holds the lock */
	int read_only;
	uint64_t limit;
	uint64_t looked;           /* when the folder was read */
	struct served **items;     /* sorted by name */
	size_t count, capacity;
	struct served *last;       /* the last one asked for */
};

const char catalog_name_rule[] = "a filter's name has up to 64 letters, digits"
    " and '._-:@+=,%#{}', no dot first";

int
catalog_is_name(struct bytes name)
{
	if (name.nbytes == 0 || name.nbytes > CATALOG_NAME_MAX ||
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

static int
is_named(const struct served *s, struct bytes name)
{
	return s->name_bytes == name.nbytes &&
	    memcmp(s->name, name.data, name.nbytes) == 0;
}

/* The place of the filter with that name, or where to insert it. */
static size_t
find_place(const struct catalog *catalog, struct bytes name)
{
	size_t low = 0, high = catalog->count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		const struct served *s = catalog->items[middle];
		size_t n = s->name_bytes < name.nbytes ? s->name_bytes :
		    name.nbytes;
		int order = memcmp(s->name, name.data, n);

		if (order < 0 || (order == 0 && s->name_bytes < name.nbytes))
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
	struct served *s = memory_or_die(calloc(1, sizeof *s));
	size_t path_bytes = strlen(catalog->folder) + name.nbytes +
	    sizeof "/" SUFFIX;

	s->catalog = catalog;
	memcpy(s->name, name.data, name.nbytes);
	s->name_bytes = name.nbytes;
	s->path = memory_or_die(malloc(path_bytes));
	snprintf(s->path, path_bytes, "%s/%s" SUFFIX, catalog->folder,
	    s->name);
	s->slot = -1;
	s->expansion = 2;
	if (catalog->count == catalog->capacity) {
		catalog->capacity = 2 * catalog->capacity + 16;
		catalog->items = memory_or_die(realloc(catalog->items,
		    catalog->capacity * sizeof *catalog->items));
	}
	memmove(catalog->items + i + 1, catalog->items + i,
	    (catalog->count - i) * sizeof *catalog->items);
	catalog->items[i] = s;
	catalog->count++;
	return s;
}

static void
forget(struct served *s)
{
	struct catalog *catalog = s->catalog;
	size_t i = find_place(catalog, (struct bytes){
	    (const uint8_t *)s->name, s->name_bytes });

	memmove(catalog->items + i, catalog->items + i + 1,
	    (catalog->count - i - 1) * sizeof *catalog->items);
	catalog->count--;
	catalog->last = NULL;
	key_scratch_free(&s->scratch);
	free(s->reason);
	free(s->path);
	free(s);
}

static void
refuse(struct served *s, const char *reason)
{
	free(s->reason);
	s->reason = memory_or_die(strdup(reason));
}

/* How filters are opened and made. */
static struct filter_use
use_of(const struct catalog *catalog)
{
	/* no_link: a link in the folder must not lead to files elsewhere */
	return (struct filter_use){ .writable = !catalog->read_only,
		.growth = -1, .max_bytes = UINT64_MAX, .no_link = 1,
		.in_place = 1 };
}

/*
 * A subkey has no header that says where its columns are. It is the value of
 * the column if there is one.
 */
static int
check_recipe(const struct key_recipe *recipe, struct error *error)
{
	if (recipe->parts > 0)
		return error_set(error, STATUS_FAILED, "it remembers a part of"
		    " the keys, and can't answer for the others");
	if (recipe->column_count < 2)
		return 0;
	return error_set(error, STATUS_FAILED, "its keys are made of several"
	    " named columns, which a subkey doesn't have");
}

/* Open its file. Returns 1 if there is none. */
static int
try_open(struct served *s, struct error *error)
{
	const struct filter_use use = use_of(s->catalog);
	int result;

	s->tried = clock_now();
	result = filter_open(&s->filter, s->path, &use, error);
	if (result != 0) {
		s->filter = NULL;
		return result;
	}
	if (key_recipe_parse(&s->recipe, filter_header(s->filter)->recipe,
	    error) == 0 && check_recipe(&s->recipe, error) == 0)
		return 0;
	filter_close(s->filter, &(struct error){ 0 });
	s->filter = NULL;
	return error_set(error, STATUS_FAILED, "%s: %s", s->path,
	    error->text);
}

/* The same, and keep the reason. Returns 1 if the file is gone: forgotten. */
static int
open_served(struct served *s)
{
	struct error error = { 0 };
	int result = try_open(s, &error);

	if (result > 0) {
		forget(s);
		return 1;
	}
	if (result < 0) {
		refuse(s, error.text);
	} else {
		free(s->reason);
		s->reason = NULL;
	}
	return 0;
}

/* Add the folder's new files to the catalog. */
static int
read_folder(struct catalog *catalog, struct error *error)
{
	DIR *folder = opendir(catalog->folder);
	struct dirent *entry;

	catalog->looked = clock_now();
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
			insert(catalog, name);
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
	if (flock(catalog->fd, (catalog->read_only ? LOCK_SH : LOCK_EX) |
	    LOCK_NB) == 0)
		return 0;
	if (errno != EWOULDBLOCK)
		return error_system(error, errno, catalog->folder);
	return error_set(error, STATUS_LOCKED, "%s: another process serves"
	    " this folder", catalog->folder);
}

int
catalog_open(struct catalog **result, const char *folder, int read_only,
    uint64_t limit, struct error *error)
{
	struct catalog *catalog = memory_or_die(calloc(1, sizeof *catalog));

	*result = catalog;
	catalog->folder = memory_or_die(strdup(folder));
	catalog->read_only = read_only;
	catalog->limit = limit;
	catalog->fd = -1;
	if (lock_folder(catalog, error) < 0 ||
	    read_folder(catalog, error) < 0) {
		catalog_close(catalog, &(struct error){ 0 });
		*result = NULL;
		return -1;
	}
	for (size_t i = 0; i < catalog->count; ) {
		if (open_served(catalog->items[i]) == 0)
			i++;
	}
	return 0;
}

int
catalog_close(struct catalog *catalog, struct error *error)
{
	int result = 0;

	while (catalog->count > 0) {
		struct served *s = catalog->items[catalog->count - 1];
		struct error why = { 0 };

		/* clients were told why a filter is broken */
		if (s->filter != NULL && filter_close(s->filter, &why) < 0 &&
		    !s->broken) {
			*error = why;
			result = -1;
		}
		forget(s);
	}
	if (catalog->fd >= 0)
		close(catalog->fd);
	free(catalog->items);
	free(catalog->folder);
	free(catalog);
	return result;
}

struct served *
catalog_find(struct catalog *catalog, struct bytes name)
{
	struct served *s = catalog->last;

	if (s == NULL || !is_named(s, name))
		s = look_up(catalog, name);
	if (s == NULL && clock_now() - catalog->looked >= PATIENCE) {
		read_folder(catalog, &(struct error){ 0 });
		s = look_up(catalog, name);
	}
	if (s == NULL)
		return NULL;
	if (s->filter == NULL && !s->broken &&
	    (s->tried == 0 || clock_now() - s->tried >= PATIENCE) &&
	    open_served(s) > 0)
		return NULL;
	catalog->last = s;
	return s;
}

int
catalog_add(struct catalog *catalog, struct bytes name, uint64_t capacity,
    double error_rate, const struct window *window, enum growth growth,
    struct error *error)
{
	struct sizing sizing = { .capacity = capacity,
		.error_rate = error_rate, .fixed = growth != GROWTH_GROW };
	const struct filter_use use = use_of(catalog);
	struct filter_plan plan;
	struct served *s;
	int result;

	if (look_up(catalog, name) != NULL)
		return 1;
	if (window_solve(&sizing, window, error) < 0)
		return -1;
	if (sizing.bytes > catalog->limit ||
	    catalog_bytes(catalog) > catalog->limit - sizing.bytes) {
		return error_set(error, STATUS_FULL, "%" PRIu64 " bytes over"
		    " the memory limit of all filters (setmem)", sizing.bytes +
		    catalog_bytes(catalog) - catalog->limit);
	}
	plan = (struct filter_plan){ .capacity = sizing.capacity,
		.error_rate = sizing.error_rate, .geometry = sizing.geometry,
		.growth = growth, .window = *window };
	s = insert(catalog, name);
	s->recipe = (struct key_recipe)KEY_RECIPE_NONE;
	key_recipe_format(&s->recipe, plan.recipe);
	s->tried = clock_now();
	result = filter_create(&s->filter, s->path, 0, &plan, &use, error);
	if (result < 0)
		forget(s);
	else if (result > 0)
		open_served(s);
	return result;
}

int
catalog_remove(struct catalog *catalog, struct bytes name,
    struct error *error)
{
	struct served *s = catalog_find(catalog, name);
	size_t journal_bytes;
	char *journal;
	int result;

	if (s == NULL)
		return 1;
	/* a filter that another run has locked is not ours to remove */
	if (s->filter == NULL && !s->broken) {
		return error_set(error, STATUS_FAILED, "%s", s->reason);
	}
	journal_bytes = strlen(s->path) + sizeof ".journal";
	journal = memory_or_die(malloc(journal_bytes));
	snprintf(journal, journal_bytes, "%s.journal", s->path);
	result = unlink(s->path) < 0 && errno != ENOENT ?
	    error_system(error, errno, s->path) : 0;
	if (result == 0 && unlink(journal) < 0 && errno != ENOENT)
		result = error_system(error, errno, journal);
	free(journal);
	if (result < 0)
		return -1;
	filter_close(s->filter, &(struct error){ 0 });
	forget(s);
	return 0;
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
	return catalog->limit;
}

void
catalog_set_limit(struct catalog *catalog, uint64_t limit)
{
	catalog->limit = limit;
}

uint64_t
catalog_bytes(const struct catalog *catalog)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < catalog->count; i++) {
		if (catalog->items[i]->filter != NULL)
			sum += filter_bytes(catalog->items[i]->filter);
	}
	return sum;
}

const char *
served_name(const struct served *s)
{
	return s->name;
}

struct filter *
served_filter(const struct served *s)
{
	return s->broken ? NULL : s->filter;
}

const char *
served_reason(const struct served *s)
{
	return s->reason;
}

void
served_break(struct served *s, const struct error *error)
{
	s->broken = 1;
	refuse(s, error->text);
}

struct digest
served_digest(struct served *s, struct bytes subkey)
{
	struct key key = { subkey.data, subkey.nbytes };
	struct digest digest;

	if (!key_is_line(&s->recipe)) {
		key_scratch_reset(&s->scratch, &s->recipe, subkey.nbytes);
		key = key_take(&s->recipe, subkey.data, subkey.nbytes,
		    &s->scratch);
	}
	loops()->digest(&filter_header(s->filter)->hash, &key, 1, &digest);
	key_keep_empty(&s->recipe, &key, 1, &digest);
	return digest;
}

int
served_check(const struct served *s, struct error *error)
{
	if (!signals_bus_hit(filter_name(s->filter)))
		return 0;
	return error_set(error, STATUS_FAILED, "%s: the file was cut short, or"
	    " its disk failed, while it was in use", s->path);
}

uint64_t
served_room(const struct served *s)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < filter_table(s->filter)->count; i++) {
		uint64_t more = filter_layer_room(s->filter, i);

		sum = more > UINT64_MAX - sum ? UINT64_MAX : sum + more;
	}
	return sum;
}

int
served_may_grow(const struct served *s, uint64_t wanted, struct error *error)
{
	const struct table *table = filter_table(s->filter);
	const struct catalog *catalog = s->catalog;
	const struct layer_entry *newest;
	uint64_t next;

	if (filter_growth(s->filter) != GROWTH_GROW ||
	    served_room(s) >= wanted)
		return 0;
	/* each layer is made for twice as many lines as the one before */
	newest = &table->layers[table->count - 1];
	next = 2 * newest->geometry.pages * PAGE_BYTES;
	if (next <= catalog->limit &&
	    catalog_bytes(catalog) <= catalog->limit - next)
		return 0;
	return error_set(error, STATUS_FULL, "%s: it is full, and growing would"
	    " exceed the memory limit of all filters (setmem)", s->path);
}

int
served_is_nearly_full(const struct served *s)
{
	const struct table *table = filter_table(s->filter);

	return filter_growth(s->filter) == GROWTH_GROW &&
	    served_room(s) <= table->layers[table->count - 1].capacity / 10;
}

void
served_grow_ahead(struct served *s)
{
	if (served_filter(s) != NULL && !s->catalog->read_only &&
	    served_is_nearly_full(s) &&
	    served_may_grow(s, served_room(s) + 1, &(struct error){ 0 }) == 0)
		filter_grow_ahead(s->filter);
}

int
served_is_fixed(const struct served *s)
{
	return s->filter != NULL && filter_growth(s->filter) != GROWTH_GROW;
}

uint32_t *
served_expansion(struct served *s)
{
	return &s->expansion;
}

int *
served_slot(struct served *s)
{
	return &s->slot;
}
