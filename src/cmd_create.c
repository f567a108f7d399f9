/* create: an empty filter file. */
#include <errno.h>
#include <stdio.h>

#include "cmd_create.h"
#include "cmd_size.h"
#include "command.h"
#include "filter.h"
#include "hold.h"
#include "journal.h"
#include "num.h"

static int
check_size(const struct options *o, const struct sizing *sizing,
    struct error *error)
{
	char size[NUM_TEXT], limit[NUM_TEXT];

	if (sizing->bytes <= o->max_bytes)
		return 0;
	return error_set(error, STATUS_USAGE, "the filter would take %s,"
	    " which is more than --max-size allows (%s)",
	    num_format_binary(size, sizing->bytes),
	    num_format_binary(limit, o->max_bytes));
}

int
lock_replaced(struct replaced *old, const struct options *o, const char *path,
    struct error *error)
{
	const struct store_wait wait = { 0, o->lock_timeout, error_print };
	int result;

	*old = (struct replaced){ .filter.store = STORE_NONE,
		.other = STORE_NONE };
	result = filter_open(&old->filter, path, 1, &wait, error);
	if (result == 0)
		return hold_recover(&old->filter, error_print, error);
	if (result > 0)
		return 0;
	if (error->status == STATUS_LOCKED)
		return -1;
	/* No filter: what is wrong with it doesn't matter, its lock does. */
	result = store_open(&old->other, path, 1, &wait, error);
	if (result != 0)
		return result < 0 ? -1 : 0;
	return journal_discard(old->other.real_path, error);
}

int
is_replaced(const struct replaced *old)
{
	return old->filter.store.fd >= 0 || old->other.fd >= 0;
}

int
refuse_to_replace(const char *path, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: there is a file of this"
	    " name already; --force replaces it", path);
}

void
unlock_replaced(struct replaced *old)
{
	struct error ignored;

	filter_close(&old->filter, &ignored);
	store_close(&old->other);
}

/*
 * Take from another filter what must be equal for merging: error rate, growth,
 * key options and the hash with its secret; and the capacity, if none is given,
 * so that the layers have the same shape.
 */
static int
take_like(struct options *o, struct key_recipe *recipe, struct hash *hash,
    struct geometry *shape, struct error *error)
{
	struct filter like;
	struct key_recipe stored;
	struct error second;
	int result = filter_open(&like, o->like, 0, NULL, error);

	if (result > 0)
		return error_system(error, ENOENT, o->like);
	if (result < 0)
		return -1;
	*hash = like.header.hash;
	if (o->memory != 0 || o->hashes != 0 || o->error_rate > 0 ||
	    o->growth >= 0) {
		result = error_set(error, STATUS_USAGE, "--like takes the"
		    " error rate and the shape from %s: of the figures only"
		    " --capacity may be given", o->like);
	} else if (key_recipe_parse(&stored, like.header.recipe) < 0) {
		result = error_set(error, STATUS_FAILED, "%s: its key options"
		    " are unknown to this version of bloomdedup", o->like);
	} else if (key_recipe_inherit(recipe, &stored, error) < 0) {
		result = error_set(error, error->status, "%s: %s", o->like,
		    error->text);
	}
	o->error_rate = like.header.error_rate;
	o->growth = (int)like.header.growth;
	if (o->capacity == 0) {
		o->capacity = like.table.layers[0].capacity;
		*shape = like.table.layers[0].geometry;
	}
	filter_close(&like, &second);
	return result;
}

/*
 * The hash with a secret that several filters share: a file of at least as
 * many bytes as it takes, of which the first ones are taken.
 */
static int
read_secret(const struct options *o, struct hash *hash, struct error *error)
{
	size_t n, wanted;
	FILE *file = fopen(o->secret_file, "re");

	*hash = (struct hash){ .kind = o->hash != 0 ?
		(enum hash_kind)o->hash : HASH_XXH3_128 };
	wanted = hash_secret_bytes(hash->kind);
	if (file == NULL)
		return error_system(error, errno, o->secret_file);
	n = fread(hash->secret, 1, wanted, file);
	if (ferror(file)) {
		error_system(error, errno, o->secret_file);
	} else if (n < wanted) {
		error_set(error, STATUS_USAGE, "%s: a secret for %s has %zu"
		    " bytes, and this file %zu; make one with: head -c %zu"
		    " /dev/urandom", o->secret_file, hash_name(hash->kind),
		    wanted, n, wanted);
		n = 0;
	}
	fclose(file);
	return n == wanted ? 0 : -1;
}

/* Where the hash comes from, if it is not made anew. */
static int
given_hash(struct options *o, struct key_recipe *recipe, struct hash *hash,
    struct geometry *shape, const struct hash **given, struct error *error)
{
	*given = NULL;
	if (o->like != NULL && (o->hash != 0 || o->secret_file != NULL)) {
		return error_set(error, STATUS_USAGE, "--like takes the hash"
		    " and its secret from %s: --hash and --secret-file can't"
		    " be given", o->like);
	}
	if (o->like != NULL) {
		*given = hash;
		return take_like(o, recipe, hash, shape, error);
	}
	if (o->secret_file != NULL) {
		*given = hash;
		return read_secret(o, hash, error);
	}
	return 0;
}

static int
run_create(const struct options *given, struct error *error)
{
	struct options options = *given, *o = &options;
	struct filter filter;
	struct replaced old = REPLACED_NONE;
	struct sizing sizing;
	struct filter_plan plan;
	struct key_recipe recipe = o->recipe;
	struct hash hash;
	const struct hash *given_secret;
	struct geometry shape = { 0 };
	const char *path;
	int result;

	if (o->operand_count != 1) {
		return error_set(error, STATUS_USAGE, "create takes"
		    " the name of one filter: bloomdedup create -n 1e8"
		    " FILTER");
	}
	path = o->operands[0];
	if (given_hash(o, &recipe, &hash, &shape, &given_secret, error) < 0 ||
	    key_recipe_complete(&recipe, error) < 0 ||
	    solve_from_options(o, &sizing, error) < 0)
		return -1;
	if (shape.pages != 0) {
		sizing.geometry = shape;
		sizing.bytes = shape.pages * PAGE_BYTES +
		    SIZING_OVERHEAD_BYTES;
	}
	if (check_size(o, &sizing, error) < 0)
		return -1;
	if (o->force && lock_replaced(&old, o, path, error) < 0) {
		unlock_replaced(&old);
		return -1;
	}
	plan = (struct filter_plan){ .capacity = sizing.capacity,
		.error_rate = sizing.error_rate, .geometry = sizing.geometry,
		.growth = o->growth < 0 ? GROWTH_GROW : (enum growth)o->growth,
		.hash = given_secret, .hash_kind = o->hash };
	key_recipe_format(&recipe, plan.recipe);
	result = filter_create(&filter, path, is_replaced(&old), &plan, error);
	unlock_replaced(&old);
	if (result > 0)
		return refuse_to_replace(path, error);
	if (result < 0 || filter_close(&filter, error) < 0)
		return -1;
	return STATUS_OK;
}

const struct command_entry command_create = { .run = run_create, .help =
"Usage: bloomdedup create [-n N] [-p P] [OPTION]... FILTER\n"
"\n"
"Make an empty filter file, of the size that 'bloomdedup size' states for the\n"
"same options. A file of that name is not overwritten.\n"
"\n"
"  -n, --capacity=N        how many lines to plan for, such as 1e8 [1e6]\n"
"  -p, --error-rate=P      share of new lines that may be dropped by mistake\n"
"                          [1e-6]\n"
"  -m, --memory=SIZE       or how large: two of N, P and SIZE are enough\n"
"      --hashes=K          use K hash functions, 1 to 64\n"
"  -z, --zero-terminated and all key options, which later runs with FILTER take\n"
"                          over; see bloomdedup --help\n"
"      --on-full=WHAT      beyond N: grow, warn or fail [grow]\n"
"      --max-size=SIZE     refuse to make it larger than this\n"
"      --like=OTHER        with the shape and the secret of the filter OTHER, so\n"
"                          that both can be merged\n"
"      --hash=NAME         xxh3 or, for lines that an adversary writes who sees\n"
"                          what comes out, siphash [xxh3]\n"
"      --secret-file=FILE  take the hash's secret from FILE, not at random: 192\n"
"                          bytes, or 16 for siphash\n"
"      --force             overwrite FILTER\n"
"      --lock-timeout=SEC  how long to wait for a run that uses it [60]\n"
"  -h, --help              this help\n"
};
