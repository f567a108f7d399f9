/*
 * Digests found in the mirror were seen. For the rest, the server is asked in
 * one exchange: for the head of the table, which says if the filter is still
 * the same and has grown, and for what the digests need of each layer.
 */
#include "redis/filter.h"

#include <stdlib.h>
#include <string.h>

#include "bits/block.h"

/* The counters of a table just read include reserved room, also our own. */
void
redis_probe_count(struct redis *r)
{
	for (unsigned i = 0; i < r->table.count; i++) {
		struct layer_entry *layer = &r->table.layers[i];
		uint64_t ours = r->reserved[i];

		/* Clients give back what was too much, but not at once. */
		if (layer->lines > layer->capacity &&
		    r->header.growth != GROWTH_WARN)
			layer->lines = layer->capacity;
		layer->lines -= ours < layer->lines ? ours : layer->lines;
	}
}

int
redis_probe_map(struct redis *r, struct error *error)
{
	for (; r->mirror_count < r->table.count; r->mirror_count++) {
		const struct layer_entry *layer =
		    &r->table.layers[r->mirror_count];

		if (chunk_count(layer->geometry.pages) > GROUP_CHUNKS_MAX) {
			return error_set(error, STATUS_FAILED, "%s: a layer"
			    " with so many pages can't be kept on a server",
			    redis_name(r));
		}
		if (mirror_map(&r->mirrors[r->mirror_count], &layer->geometry,
		    error) < 0)
			return -1;
	}
	return 0;
}

void
redis_probe_drop(struct redis *r)
{
	for (unsigned i = 0; i < r->mirror_count; i++)
		mirror_drop(&r->mirrors[i]);
}

/* After a failover the server may know less than the mirror. */
static int
was_lost(struct redis *r)
{
	uint64_t losses = redis_net_losses(r->server.net);

	if (losses == r->losses)
		return 0;
	r->losses = losses;
	redis_probe_drop(r);
	return 1;
}

static void
trim(struct redis *r)
{
	uint64_t pages = 0;

	for (unsigned i = 0; i < r->mirror_count; i++)
		pages += r->mirrors[i].pages;
	if (pages * PAGE_BYTES > r->mirror_max)
		redis_probe_drop(r);
}

static void
probe_mirrors(const struct redis *r, const struct digest *digests, size_t n,
    uint8_t *found)
{
	for (unsigned i = 0; i < r->mirror_count; i++)
		block_probe(&r->mirrors[i].array, digests, n, found);
}

static size_t
collect_unknown(struct redis *r, const struct digest *digests, size_t n,
    const uint8_t *found)
{
	size_t count = 0;

	if (n > r->room) {
		free(r->unknown);
		free(r->items);
		free(r->found);
		r->room = n;
		r->unknown = memory_or_die(malloc(n * sizeof *r->unknown));
		r->items = memory_or_die(malloc(n * sizeof *r->items));
		r->found = memory_or_die(malloc(n));
	}
	for (size_t i = 0; i < n; i++) {
		r->unknown[count] = digests[i];
		r->items[count] = (uint32_t)i;
		count += !found[i];
	}
	return count;
}

/* Is the filter still the one that was opened? Its table may have grown. */
static int
check_filter(struct redis *r, const struct table_question *answer,
    struct error *error)
{
	if (!answer->is_there)
		return error_set(error, STATUS_FAILED, "%s: the filter is no"
		    " longer there", redis_name(r));
	if (memcmp(answer->id, r->header.id, sizeof answer->id) != 0)
		return error_set(error, STATUS_FAILED, "%s: the filter was"
		    " replaced by another one during the run", redis_name(r));
	return answer->generation == r->table.generation ? 0 :
	    redis_window_reload(r, error);
}

/* Damage: but the chunks of a generation that is over by now may be gone. */
static int
check_damage(struct redis *r, const struct error *damage, struct error *error)
{
	unsigned dropped = r->dropped;

	if (redis_window_move(r, error) < 0)
		return -1;
	if (r->dropped != dropped || r->all_over)
		return 1;
	*error = *damage;
	return -1;
}

/*
 * Get what `n` unknown digests need of the layers from `first` on. Returns 1 if
 * all layers must be asked again.
 */
static int
fetch(struct redis *r, unsigned first, size_t n, struct error *error)
{
	struct table_question question = { 0 };
	struct error damage = { .status = STATUS_OK };

	if (table_ask(&r->server, &question, error) < 0)
		return -1;
	for (unsigned i = first; i < r->mirror_count && !r->all_over; i++) {
		if (fetch_lines(&r->fetches[i], &r->server, &r->mirrors[i],
		    r->table.layers[i].number, r->unknown, n, &damage,
		    error) < 0)
			return -1;
	}
	if (redis_net_finish(r->server.net, error) < 0)
		return -1;
	/* A chunk may be missing because the filter was replaced meanwhile. */
	if (damage.status != STATUS_OK && question.is_there &&
	    (table_ask(&r->server, &question, error) < 0 ||
	    redis_net_finish(r->server.net, error) < 0))
		return -1;
	if (check_filter(r, &question, error) < 0)
		return -1;
	return damage.status == STATUS_OK ? 0 :
	    check_damage(r, &damage, error);
}

/* Repeated until all layers were read without losing a connection. */
static int
ask_server(struct redis *r, size_t n, struct error *error)
{
	unsigned first = 0;

	do {
		unsigned count = r->mirror_count, dropped = r->dropped;
		int result;

		/* Older layers are closed before the table has a new one. */
		if (first == 0)
			r->settled = count - 1;
		result = fetch(r, first, n, error);
		if (result < 0)
			return -1;
		/* The first layers may be over by now. */
		first = was_lost(r) || result > 0 ? 0 :
		    count - (r->dropped - dropped);
	} while (first < r->mirror_count);
	return 0;
}

int
redis_probe(struct filter *filter, const struct digest *digests, size_t n,
    uint8_t *found, struct error *error)
{
	struct redis *r = redis_of(filter);
	size_t unknown;

	/* Marks still under way would be missing from the server's answer. */
	if (redis_mark_settle(r, error) < 0)
		return -1;
	was_lost(r);
	if (redis_window_move(r, error) < 0)
		return -1;
	trim(r);
	probe_mirrors(r, digests, n, found);
	unknown = collect_unknown(r, digests, n, found);
	r->mirrored += n - unknown;
	if (ask_server(r, unknown, error) < 0)
		return redis_failed(r, error);
	memset(r->found, 0, unknown);
	probe_mirrors(r, r->unknown, unknown, r->found);
	for (size_t i = 0; i < unknown; i++)
		found[r->items[i]] |= r->found[i];
	return 0;
}
