/* create: an empty filter file. */
#include <errno.h>
#include <stdio.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/options.h"
#include "cli/text.h"
#include "filter/filter.h"

/*
 * Take as options what merging with another filter requires to be equal: error
 * rate, growth, key options and window; and the capacity if none was given, so
 * that the layers have the same shape. Its hash and secret become *hash.
 */
static int
take_like(struct options *o, struct geometry *shape, struct hash *hash,
    struct error *error)
{
	struct filter_use use = FILTER_READ;
	const struct header *h;
	const struct layer_entry *first;
	struct key_recipe stored;
	struct filter *like;
	int result;

	use.wait = o->run.use.wait;
	result = filter_open(&like, o->like, &use, error);
	if (result > 0)
		return filter_missing(o->like, error);
	if (result < 0)
		return -1;
	h = filter_header(like);
	first = &filter_table(like)->layers[0];
	result = key_recipe_parse(&stored, h->recipe, error);
	/* All parts of a filter may have one secret: --part may differ. */
	if (result == 0 && o->recipe.parts > 0) {
		stored.part = o->recipe.part;
		stored.parts = o->recipe.parts;
	}
	if (result < 0 || key_recipe_inherit(&o->recipe, &stored, error) < 0)
		result = error_prefix(error, o->like);
	*hash = h->hash;
	o->run.use.growth = (int)h->growth;
	o->error_rate = h->error_rate;
	o->window = h->window;
	/* A window's generations, and a server's filters, have other shapes. */
	if (o->capacity == 0 && (h->window.kind != WINDOW_NONE ||
	    first->geometry.k == 0)) {
		o->capacity = h->capacity;
	} else if (o->capacity == 0) {
		o->capacity = first->capacity;
		*shape = first->geometry;
	}
	filter_release(like);
	return result;
}

/*
 * Read a secret that several filters share: the first bytes of a file, which
 * may be longer.
 */
static int
read_secret(struct hash *hash, const struct options *o, struct error *error)
{
	size_t n, wanted;
	FILE *file = fopen(o->secret_file, "re");
	int result = 0;

	*hash = (struct hash){ .kind = HASH_XXH3_128 };
	if (o->hash != 0)
		hash->kind = (enum hash_kind)o->hash;
	wanted = hash_secret_bytes(hash->kind);
	if (file == NULL)
		return error_system(error, errno, o->secret_file);
	n = fread(hash->secret, 1, wanted, file);
	if (ferror(file))
		result = error_system(error, errno, o->secret_file);
	else if (n < wanted)
		result = error_set(error, STATUS_USAGE, "%s: a secret for %s"
		    " has %zu bytes, this file only %zu; make one with: head"
		    " -c %zu /dev/urandom", o->secret_file,
		    hash_name(hash->kind), wanted, n, wanted);
	fclose(file);
	return result;
}

/* Decide from the options what to make; *hash is a part of it. */
static int
make_design(struct filter_design *design, struct hash *hash,
    const struct options *given, struct error *error)
{
	static struct options o; /* too large for a small stack */
	struct geometry shape = { 0 };
	struct sizing sizing;

	o = *given;
	if (o.like != NULL && take_like(&o, &shape, hash, error) < 0)
		return -1;
	if (o.secret_file != NULL && read_secret(hash, &o, error) < 0)
		return -1;
	if (key_recipe_complete(&o.recipe, error) < 0 ||
	    filter_options_solve(&sizing, &o, error) < 0)
		return -1;
	*design = filter_options_design(&o, &sizing, &o.recipe);
	if (shape.pages != 0)
		design->geometry = shape;
	if (o.like != NULL || o.secret_file != NULL)
		design->hash = hash;
	design->hash_kind = (uint32_t)o.hash;
	return 0;
}

/* There is such a file: if it is a filter, that may be all that is needed. */
static int
refuse_existing(const char *path, struct error *error)
{
	const struct filter_use use = FILTER_READ;
	char text[NUMBER_TEXT];
	struct filter *filter;
	const char *grows = "";

	/*
	 * A file that cannot be opened may be no filter, so the reason is not
	 * told.
	 */
	if (filter_open(&filter, path, &use, error_ignored()) != 0)
		return filter_options_keep_old(path, error);
	if (filter_growth(filter) == GROWTH_GROW)
		grows = " and grows by itself";
	error_set(error, STATUS_FAILED, "%s: the filter exists: it remembers"
	    " %s%s; --force would forget them", path,
	    text_lines(text, (double)table_lines(filter_table(filter))),
	    grows);
	filter_release(filter);
	return -1;
}

static int
run_create(const struct options *o, struct error *error)
{
	const char *path = o->operands.items[0];
	struct old_filter old = OLD_FILTER_NONE;
	struct filter *filter;
	struct filter_design design;
	struct hash hash;
	int result = 0;

	if (filter_options_check_name(path, error) < 0)
		return -1;
	if (!filter_abilities(path)->is_path &&
	    filter_options_check_shape(o, error) < 0)
		return -1;
	if (make_design(&design, &hash, o, error) < 0)
		return -1;
	if (o->force)
		result = filter_options_lock_old(&old, path, &o->run.use,
		    error);
	if (result == 0)
		result = filter_create(&filter, path, old.found, &design,
		    &o->run.use, error);
	filter_options_unlock_old(&old);
	if (result > 0)
		return refuse_existing(path, error);
	if (result < 0 || filter_close(filter, error) < 0)
		return -1;
	filter_options_tell_window(o);
	return STATUS_OK;
}

const struct command command_create = {
	.name = "create", .run = run_create,
	.summary = "make an empty filter",
	.usage = "create [-n N] [-p P] [OPTION]... FILTER",
	.intro = "Make an empty filter file, of the size that 'bloomdedup"
	    " size' prints for the same options. An existing file is"
	    " replaced only with --force. Later runs with FILTER need none of"
	    " the key options: the filter keeps them.",
	.operands_min = 1, .operands_max = 1,
	.takes = "create takes the name of one filter: bloomdedup create -n"
	    " 1e8 FILTER",
};
