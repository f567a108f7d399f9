#include "filter.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "fill.h"
#include "memory.h"
#include "num.h"
#include "progress.h"
#include "seal.h"
#include "sizing.h"
#include "slots.h"

/* So large a layer may not be in the page cache, and is worth a question. */
#define LARGE_PAGES ((64 << 20) / PAGE_BYTES)

/* So many pages tell a layer's number of lines to some tenths of a percent. */
#define SAMPLE_PAGES 1000

static int
in_file(const struct filter *f)
{
	return f->store.fd >= 0;
}

uint64_t
filter_bytes(const struct filter *f)
{
	return format_table_end(&f->table);
}

/*
 * Where the filter is large against what the kernel lets be dirty (a tenth of
 * the memory in general), layers are worked on in private memory, of which half
 * of what there is is taken at most. The environment can say otherwise, for
 * tests: BLOOMDEDUP_PRIVATE=FROM[,MAX], in bytes.
 */
static void
plan_memory(struct filter *f)
{
	const uint64_t least = 16 << 20, most = 256 << 20;
	const char *text = getenv("BLOOMDEDUP_PRIVATE");
	uint64_t available = memory_available();
	char *end;

	f->private_max = available / 2;
	f->private_from = available / 64;
	if (f->private_from > most)
		f->private_from = most;
	if (f->private_from < least)
		f->private_from = least;
	if (text == NULL)
		return;
	f->private_from = strtoull(text, &end, 10);
	if (*end == ',')
		f->private_max = strtoull(end + 1, NULL, 10);
}

static int
map_layer(struct filter *f, unsigned i, int fresh, struct error *error)
{
	const struct layer_entry *layer = &f->table.layers[i];
	uint64_t pages = layer->geometry.pages;
	enum pages_kind kind = !in_file(f) ? PAGES_MEMORY :
	    !f->writable || f->shared ?
	    (pages < LARGE_PAGES ? PAGES_SHARED : PAGES_LARGE) :
	    pages * PAGE_BYTES < f->private_from ? PAGES_SHARED :
	    fresh ? PAGES_FRESH : PAGES_PRIVATE;

	if (pages_map(&f->pages[i], &f->store, layer->offset, pages, kind,
	    error) < 0)
		return -1;
	f->arrays[i].geometry = layer->geometry;
	f->arrays[i].pages = f->pages[i].base;
	return 0;
}

static int
map_layers(struct filter *f, int fresh, struct error *error)
{
	if (in_file(f) && f->writable && !f->shared)
		plan_memory(f);
	for (unsigned i = 0; i < f->table.count; i++) {
		if (map_layer(f, i, fresh, error) < 0)
			return -1;
	}
	return 0;
}

static void
unmap_layers(struct filter *f)
{
	for (unsigned i = 0; i < FORMAT_LAYERS_MAX; i++)
		pages_unmap(&f->pages[i]);
}

static void
release(struct filter *f)
{
	unmap_layers(f);
	slots_free(f);
	for (unsigned i = 0; i < TEAM_THREADS_MAX; i++)
		free(f->parts[i]);
	store_close(&f->store);
	*f = (struct filter){ .store = STORE_NONE };
}

/* Under the table's lock: what the file says now. Maps layers that are new. */
static int
update_table(struct filter *f, struct error *error)
{
	unsigned count = f->table.count;

	if (!f->shared)
		return 0;
	if (slots_look(f, error) < 0)
		return -1;
	for (unsigned i = count; i < f->table.count; i++) {
		if (map_layer(f, i, 1, error) < 0)
			return -1;
	}
	return 0;
}

static int
read_header(struct filter *f, struct error *error)
{
	uint8_t page[PAGE_BYTES];
	const char *path = f->store.path;
	struct header *h = &f->header;

	if (f->store.length == 0) {
		return error_set(error, STATUS_FAILED,
		    "%s: not a bloomdedup filter: the file is empty", path);
	}
	memset(page, 0, sizeof page);
	if (store_read(&f->store, page, f->store.length < PAGE_BYTES ?
	    (size_t)f->store.length : PAGE_BYTES, 0, error) < 0)
		return -1;
	if (format_header_decode(h, page, error) < 0) {
		return error_set(error, error->status, "%s: %s", path,
		    error->text);
	}
	if (f->writable && (h->version_to_write > FORMAT_VERSION ||
	    h->optional_features != 0)) {
		return error_set(error, STATUS_FAILED, "%s: made by a newer"
		    " version of bloomdedup: this one can only read it", path);
	}
	if (f->store.length < FORMAT_HEADER_BYTES + PAGE_BYTES) {
		return error_set(error, STATUS_FAILED, "%s: the filter is cut"
		    " short: it has %" PRIu64 " bytes", path, f->store.length);
	}
	return 0;
}

static void
count_again(struct filter *f)
{
	for (unsigned i = 0; i < f->table.count; i++) {
		struct layer_entry *layer = &f->table.layers[i];
		double lines;

		if (layer->lines >= layer->capacity)
			continue;
		lines = fill_of_layer(f, i, SAMPLE_PAGES).lines;
		if (lines >= (double)layer->capacity)
			layer->lines = layer->capacity;
		else if (lines > (double)layer->lines)
			layer->lines = (uint64_t)lines;
	}
}

/*
 * Count anew under the table's lock, and tell those who share it, so that none
 * of them has marked meanwhile. If we `take_over` from a run that was killed,
 * only if it was alone: who shares the filter has told what it claimed.
 */
static int
recount(struct filter *f, int take_over, struct error *error)
{
	int result;

	if (slots_lock(f, error) < 0)
		return -1;
	result = update_table(f, error);
	if (result < 0 || (take_over && f->shared &&
	    f->table.marking != MARKING_ALONE)) {
		slots_unlock(f);
		return result;
	}
	count_again(f);
	if (f->shared) {
		f->table.marking = MARKING_SHARED;
		result = slots_write(f, error);
	}
	slots_unlock(f);
	return result;
}

int
filter_recount(struct filter *f, struct error *error)
{
	return recount(f, 0, error);
}

int
filter_open(struct filter *f, const char *path, int writable,
    const struct store_wait *wait, struct error *error)
{
	int result;

	*f = (struct filter){ .store = STORE_NONE, .writable = writable,
		.max_bytes = UINT64_MAX };
	result = store_open(&f->store, path, writable, wait, error);
	if (result != 0)
		return result;
	f->shared = writable && wait->shared;
	if (read_header(f, error) < 0 || slots_lock(f, error) < 0)
		goto fail;
	result = slots_read(f, error);
	slots_unlock(f);
	if (result < 0)
		goto fail;
	f->growth = f->header.growth;
	if (map_layers(f, 0, error) < 0)
		goto fail;
	if (f->table.marking != MARKING_NONE && recount(f, 1, error) < 0)
		goto fail;
	return 0;

fail:
	release(f);
	return -1;
}

static int
random_bytes(void *data, size_t nbytes, struct error *error)
{
	ssize_t n;

	do {
		n = getrandom(data, nbytes, 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)nbytes) /* up to 256 bytes come whole */
		return error_system(error, errno, "getrandom");
	return 0;
}

static int
prepare(struct filter *f, const char *path, const struct header *header,
    const struct table *table, int fresh, struct error *error)
{
	uint8_t page[PAGE_BYTES];

	*f = (struct filter){ .header = *header, .table = *table,
		.store = STORE_NONE, .writable = 1, .growth = header->growth,
		.max_bytes = UINT64_MAX };
	f->header.created = (uint64_t)time(NULL);
	if (random_bytes(f->header.id, sizeof f->header.id, error) < 0)
		return -1;
	if (path != NULL) {
		format_header_encode(&f->header, page);
		if (store_create(&f->store, path, error) < 0)
			return -1;
		if (store_extend(&f->store, 0, filter_bytes(f), error) < 0 ||
		    store_write(&f->store, page, sizeof page, 0, error) < 0 ||
		    slots_write(f, error) < 0 || slots_write(f, error) < 0)
			goto fail;
	}
	if (map_layers(f, fresh, error) < 0)
		goto fail;
	return 0;

fail:
	release(f);
	return -1;
}

int
filter_prepare(struct filter *f, const char *path, const struct header *header,
    const struct table *table, struct error *error)
{
	return prepare(f, path, header, table, 0, error);
}

int
filter_publish(struct filter *f, int replace, struct error *error)
{
	if (filter_write_back(f, error) < 0)
		return -1;
	return store_publish(&f->store, replace, error);
}

int
filter_create(struct filter *f, const char *path, int replace,
    const struct filter_plan *plan, struct error *error)
{
	struct header header = { .capacity = plan->capacity,
		.error_rate = plan->error_rate, .growth = plan->growth,
		.hash.kind = plan->hash_kind != 0 ?
		(enum hash_kind)plan->hash_kind : HASH_XXH3_128 };
	struct table table = { .count = 1 };
	int result;

	memcpy(header.recipe, plan->recipe, sizeof header.recipe);
	if (plan->hash != NULL)
		header.hash = *plan->hash;
	else if (random_bytes(header.hash.secret,
	    hash_secret_bytes(header.hash.kind), error) < 0)
		return -1;
	table.layers[0] = (struct layer_entry){
		.offset = FORMAT_HEADER_BYTES, .geometry = plan->geometry,
		.capacity = plan->capacity, .created = (uint64_t)time(NULL),
		.error_rate = sizing_layer_rate(plan->error_rate,
		    plan->growth != GROWTH_GROW, 0)
	};
	if (prepare(f, path, &header, &table, 1, error) < 0)
		return -1;
	if (path == NULL)
		return 0;
	result = filter_publish(f, replace, error);
	if (result != 0)
		release(f);
	return result;
}

/*
 * Tell the counters at the end. Who shares the file says that nobody marks any
 * more only if nobody else has it open. To ask that can cost the lock, so that
 * all else is written before.
 */
static int
write_last_table(struct filter *f, struct error *error)
{
	int result;

	if (slots_lock(f, error) < 0)
		return -1;
	result = update_table(f, error);
	for (unsigned i = 0; i < f->table.count; i++)
		f->table.layers[i].lines -= f->claimed[i];
	f->table.marking = f->shared ? MARKING_SHARED : MARKING_NONE;
	if (result == 0)
		result = slots_write(f, error);
	if (result == 0 && f->shared && store_be_alone(&f->store)) {
		f->table.marking = MARKING_NONE;
		result = slots_write(f, error);
	}
	slots_unlock(f);
	return result;
}

int
filter_close(struct filter *f, struct error *error)
{
	int result = filter_write_back(f, error);

	if (result == 0)
		result = slots_finish(f, error);
	if (f->marking && result == 0)
		result = write_last_table(f, error);
	release(f);
	return result;
}

int
filter_share(struct filter *f, const struct store_wait *wait,
    struct error *error)
{
	f->shared = 1;
	unmap_layers(f); /* into the file itself */
	if (map_layers(f, 0, error) < 0)
		return -1;
	store_share(&f->store, wait);
	return 0;
}

int
filter_refresh(struct filter *f, struct error *error)
{
	uint64_t newest;
	int result;

	if (!f->shared)
		return 0;
	if (slots_newest(f, &newest, error) < 0)
		return -1;
	if (newest == f->table.generation)
		return 0;
	if (slots_lock(f, error) < 0)
		return -1;
	result = update_table(f, error);
	slots_unlock(f);
	return result;
}

void
filter_prefetch(const struct filter *f, const struct digest *digests, size_t n)
{
	for (unsigned i = 0; i < f->table.count; i++)
		block_prefetch(&f->arrays[i], digests, n);
}

/* So many digests are dealt with at a time, where their pages are asked for. */
#define PIECE 1024

struct load_task {
	struct pages *pages;
	const uint64_t *numbers;
	size_t n;
};

static void
load_part(void *context, unsigned part, unsigned parts)
{
	struct load_task *t = context;

	/* what fails is tried again by `load`, who tells it */
	pages_load(t->pages, t->numbers, t->n, part, parts,
	    &(struct error){ 0 });
}

static int
load(struct filter *f, unsigned i, const struct digest *digests, size_t n,
    struct error *error)
{
	uint64_t numbers[PIECE];

	while (f->pages[i].absent > 0 && n > 0) {
		size_t some = n < PIECE ? n : PIECE;
		struct load_task task = { &f->pages[i], numbers, some };
		unsigned parts = team_parts(f->team, some);

		block_pages(&f->arrays[i].geometry, digests, some, numbers);
		if (parts > 1)
			team_run(f->team, parts, load_part, &task);
		if (pages_load(&f->pages[i], numbers, some, 0, 1, error) < 0)
			return -1;
		digests += some;
		n -= some;
	}
	return 0;
}

static void
touch(struct filter *f, unsigned i, const struct digest *digests, size_t n)
{
	uint64_t numbers[PIECE];

	while (f->pages[i].dirty != NULL && n > 0) {
		size_t some = n < PIECE ? n : PIECE;

		block_pages(&f->arrays[i].geometry, digests, some, numbers);
		pages_touch(&f->pages[i], numbers, some);
		digests += some;
		n -= some;
	}
}

uint64_t
filter_private_bytes(const struct filter *f)
{
	uint64_t pages = 0;

	for (unsigned i = 0; i < f->table.count; i++) {
		if (f->pages[i].dirty != NULL)
			pages += f->pages[i].count - f->pages[i].absent;
	}
	return pages * PAGE_BYTES;
}

/* Too much private memory: write it back and begin anew. */
static int
trim(struct filter *f, struct error *error)
{
	if (filter_private_bytes(f) <= f->private_max)
		return 0;
	if (filter_write_back(f, error) < 0)
		return -1;
	for (unsigned i = 0; i < f->table.count; i++)
		pages_drop(&f->pages[i]);
	return 0;
}

int
filter_probe(struct filter *f, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	memset(found, 0, n);
	return filter_probe_more(f, digests, n, found, error);
}

/*
 * What a team does in parts: to probe all layers, or to mark in one. The parts
 * are ranges of pages, so that a cache line stays with one processor.
 */
struct task {
	const struct filter *filter;
	const struct block_array *array;
	const struct digest *digests;
	size_t n;
};

struct probed_part {
	size_t n;
	uint16_t numbers[PIECE];      /* of digests in the batch */
	struct digest digests[PIECE];
	uint8_t found[PIECE];
};

static void
probe_part(void *context, unsigned part, unsigned parts)
{
	const struct task *t = context;
	const struct filter *f = t->filter;
	struct probed_part *ours = f->parts[part];
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		ours->digests[n] = t->digests[i];
		ours->numbers[n] = (uint16_t)i;
		n += block_part(t->digests[i], parts) == part;
	}
	ours->n = n;
	memset(ours->found, 0, n);
	filter_prefetch(f, ours->digests, n);
	for (unsigned i = 0; i < f->table.count; i++)
		block_probe(&f->arrays[i], ours->digests, n, ours->found);
}

static void
probe_in_parts(struct filter *f, unsigned parts,
    const struct digest *digests, size_t n, uint8_t *found)
{
	struct task task = { .filter = f, .digests = digests, .n = n };

	for (unsigned i = 0; i < parts; i++) {
		if (f->parts[i] == NULL)
			f->parts[i] = memory_or_die(malloc(sizeof
			    *f->parts[i]));
	}
	team_run(f->team, parts, probe_part, &task);
	for (unsigned i = 0; i < parts; i++) {
		const struct probed_part *part = f->parts[i];

		for (size_t j = 0; j < part->n; j++)
			found[part->numbers[j]] |= part->found[j];
	}
}

static void
mark_part(void *context, unsigned part, unsigned parts)
{
	const struct task *t = context;

	if (parts == 1)
		block_mark(t->array, t->digests, t->n);
	else
		block_mark_part(t->array, t->digests, t->n, part, parts);
}

int
filter_probe_more(struct filter *f, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	unsigned parts = n <= PIECE ? team_parts(f->team, n) : 1;

	if (trim(f, error) < 0)
		return -1;
	for (unsigned i = 0; i < f->table.count; i++) {
		if (load(f, i, digests, n, error) < 0)
			return -1;
	}
	if (parts > 1) {
		probe_in_parts(f, parts, digests, n, found);
		return 0;
	}
	for (unsigned i = 0; i < f->table.count; i++)
		block_probe(&f->arrays[i], digests, n, found);
	return 0;
}

uint64_t
filter_dirty_pages(const struct filter *f)
{
	uint64_t pages = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		pages += f->pages[i].dirty_count;
	return pages;
}

int
filter_write_back(struct filter *f, struct error *error)
{
	uint64_t start;

	if (filter_dirty_pages(f) == 0)
		return 0;
	start = progress_now();
	for (unsigned i = 0; i < f->table.count; i++) {
		if (pages_write_back(&f->pages[i], error) < 0)
			return -1;
	}
	f->written_back = progress_now();
	f->write_back_cost = f->written_back - start;
	return 0;
}

int
filter_write_back_now_and_then(struct filter *f, struct error *error)
{
	const uint64_t second = 1000000000;
	uint64_t pause = 20 * f->write_back_cost;

	if (filter_dirty_pages(f) == 0)
		return 0;
	if (f->written_back == 0)
		f->written_back = progress_now();
	if (progress_now() - f->written_back <
	    (pause > second ? pause : second))
		return 0;
	return filter_write_back(f, error);
}

uint64_t
filter_layer_room(const struct filter *f, unsigned i)
{
	const struct layer_entry *layer = &f->table.layers[i];

	if (layer->sealed)
		return 0;
	if (f->growth == GROWTH_WARN && i + 1 == f->table.count)
		return UINT64_MAX;
	return layer->lines < layer->capacity ?
	    layer->capacity - layer->lines : 0;
}

/* Append a layer, twice as large as the largest one. */
static int
grow(struct filter *f, struct error *error)
{
	struct table *table = &f->table;
	struct layer_entry layer = { .offset = filter_bytes(f),
		.created = (uint64_t)time(NULL) };
	const char *path = in_file(f) ? f->store.path : "the filter";
	char text[NUM_TEXT];
	uint64_t nbytes;

	/* After a merge that need not be the last one. */
	for (unsigned i = 0; i < table->count; i++) {
		if (2 * table->layers[i].capacity > layer.capacity)
			layer.capacity = 2 * table->layers[i].capacity;
	}
	if (table->count == FORMAT_LAYERS_MAX ||
	    layer.capacity > SIZING_CAPACITY_MAX) {
		return error_set(error, STATUS_FULL,
		    "%s: full, and can't grow any further", path);
	}
	layer.error_rate =
	    sizing_layer_rate(f->header.error_rate, 0, table->count);
	if (sizing_layer(&layer.geometry, layer.capacity, layer.error_rate,
	    layer.error_rate, 0, error) < 0)
		return -1;
	nbytes = layer.geometry.pages * PAGE_BYTES;
	if (nbytes > f->max_bytes || layer.offset > f->max_bytes - nbytes) {
		return error_set(error, STATUS_FULL, "%s: full, and with the"
		    " next layer it would be larger than --max-size: %s", path,
		    num_format_binary(text, layer.offset + nbytes));
	}
	if (in_file(f) &&
	    store_extend(&f->store, layer.offset, nbytes, error) < 0)
		return -1;
	table->layers[table->count] = layer;
	if (map_layer(f, table->count, 1, error) < 0)
		return -1;
	table->count++;
	if (in_file(f) && slots_publish(f, error) < 0) {
		table->count--; /* not to be marked in */
		return -1;
	}
	return 0;
}

int
filter_begin_marking(struct filter *f, struct error *error)
{
	int result;

	if (!in_file(f) || f->marking)
		return 0;
	if (slots_lock(f, error) < 0)
		return -1;
	result = update_table(f, error);
	f->table.marking = f->shared ? MARKING_SHARED : MARKING_ALONE;
	if (result == 0)
		result = slots_write(f, error);
	f->marking = result == 0;
	slots_unlock(f);
	return result;
}

static int
is_full(const struct filter *f, struct error *error)
{
	uint64_t capacity = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		capacity += f->table.layers[i].capacity;
	return error_set(error, STATUS_FULL, "%s: the filter's capacity of %"
	    PRIu64 " lines is used up (--on-full=fail)",
	    in_file(f) ? f->store.path : "in memory", capacity);
}

/* The room of all layers, up to `wanted`; grows as far as it must. */
static uint64_t
make_room(struct filter *f, uint64_t wanted, struct error *error)
{
	uint64_t room = 0;

	for (unsigned i = 0; room < wanted; i++) {
		uint64_t more;

		if (i == f->table.count && (f->growth == GROWTH_FAIL ?
		    is_full(f, error) : grow(f, error)) < 0)
			break;
		more = filter_layer_room(f, i);
		room += more < wanted - room ? more : wanted - room;
	}
	return room;
}

static uint64_t
all_claimed(const struct filter *f)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < f->table.count; i++)
		sum += f->claimed[i];
	return sum;
}

/*
 * Beside other runs, room is ours when the file's counters have it: claim what
 * is wanted, and some more where layers are large, so that the table's lock is
 * seldom taken. What is left at the end is given back; a kill wastes it.
 */
static int
claim(struct filter *f, uint64_t wanted, struct error *error)
{
	uint64_t room;
	int result;

	if (slots_lock(f, error) < 0)
		return -1;
	result = update_table(f, error);
	room = result < 0 ? 0 : make_room(f, wanted, error);
	for (unsigned i = 0; i < f->table.count && room > 0; i++) {
		struct layer_entry *layer = &f->table.layers[i];
		uint64_t more = layer->capacity / 128;
		uint64_t free = filter_layer_room(f, i);

		more = more > room ? more : room;
		more = more < free ? more : free;
		f->claimed[i] += more;
		layer->lines += more;
		room -= more < room ? more : room;
	}
	if (result == 0)
		result = slots_write(f, error);
	slots_unlock(f);
	return result;
}

uint64_t
filter_reserve(struct filter *f, uint64_t wanted, struct error *error)
{
	uint64_t have;

	if (wanted == 0 || filter_begin_marking(f, error) < 0)
		return 0;
	if (!f->shared)
		return in_file(f) && seal_step(f, wanted, error) < 0 ? 0 :
		    make_room(f, wanted, error);
	have = all_claimed(f);
	if (have < wanted) {
		if (claim(f, wanted - have, error) < 0)
			return 0;
		have = all_claimed(f);
	}
	return have < wanted ? have : wanted;
}

static int
mark_piece(struct filter *f, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	struct layer_entry *layer = &f->table.layers[i];
	struct task task = { .array = &f->arrays[i], .digests = digests,
		.n = n };

	if (trim(f, error) < 0 || load(f, i, digests, n, error) < 0)
		return -1;
	touch(f, i, digests, n);
	/* Only a journal that somebody made names a layer that is sealed. */
	layer->sealed = 0;
	layer->checksum = 0;
	if (f->shared) {
		block_mark_shared(&f->arrays[i], digests, n);
		f->claimed[i] -= n < f->claimed[i] ? n : f->claimed[i];
	} else {
		team_run(f->team, team_parts(f->team, n), mark_part, &task);
		layer->lines += n;
	}
	if (layer->lines > layer->capacity) {
		uint64_t beyond = layer->lines - layer->capacity;
		f->overfilled += beyond < n ? beyond : n;
	}
	return 0;
}

/* What was held back can be much more than a batch. */
int
filter_mark_layer(struct filter *f, unsigned i, const struct digest *digests,
    size_t n, struct error *error)
{
	while (n > 0) {
		size_t some = n < PIECE ? n : PIECE;

		if (mark_piece(f, i, digests, some, error) < 0)
			return -1;
		digests += some;
		n -= some;
	}
	return 0;
}

int
filter_mark(struct filter *f, const struct digest *digests, size_t n,
    struct error *error)
{
	for (unsigned i = 0; n > 0 && i < f->table.count; i++) {
		uint64_t room = f->shared ? f->claimed[i] :
		    filter_layer_room(f, i);
		size_t some = room < n ? (size_t)room : n;

		if (filter_mark_layer(f, i, digests, some, error) < 0)
			return -1;
		digests += some;
		n -= some;
	}
	return 0;
}

/* On Linux fdatasync writes what was stored through a shared map, too. */
int
filter_sync(struct filter *f, struct error *error)
{
	if (filter_write_back(f, error) < 0 ||
	    slots_finish(f, error) < 0)
		return -1;
	return store_sync(&f->store, error);
}
