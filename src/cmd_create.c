/* create: an empty filter file. */
#include <errno.h>

#include "cmd_size.h"
#include "command.h"
#include "filter.h"
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

/*
 * To replace a filter, have its lock: a run that uses it ends first. What is
 * replaced may be anything, so what is wrong with it doesn't matter.
 */
static int
lock_old(struct store *old, const struct options *o, const char *path,
    struct error *error)
{
	const struct store_wait wait = { o->lock_timeout, error_print };
	int result = store_open(old, path, 1, &wait, error);

	return result < 0 ? -1 : 0;
}

static int
run_create(const struct options *o, struct error *error)
{
	struct filter filter;
	struct store old = STORE_NONE;
	struct sizing sizing;
	struct filter_plan plan;
	const char *path;
	int result;

	if (o->operand_count != 1) {
		return error_set(error, STATUS_USAGE, "bloomdedup create takes"
		    " the name of one filter: bloomdedup create -n 1e8"
		    " FILTER");
	}
	path = o->operands[0];
	if (solve_from_options(o, &sizing, error) < 0 ||
	    check_size(o, &sizing, error) < 0)
		return -1;
	if (o->force && lock_old(&old, o, path, error) < 0)
		return -1;
	plan = (struct filter_plan){ .capacity = sizing.capacity,
		.error_rate = sizing.error_rate, .geometry = sizing.geometry,
		.growth = o->growth < 0 ? GROWTH_GROW : (enum growth)o->growth,
		.recipe = o->zero_terminated ? "zero-terminated\n" : "" };
	result = filter_create(&filter, path, o->force, &plan, error);
	store_close(&old);
	if (result > 0) {
		return error_set(error, STATUS_FAILED, "%s: there is a file of"
		    " this name already; --force replaces it", path);
	}
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
"  -p, --error-rate=P      share of new lines that may be lost by mistake\n"
"                          [1e-6]\n"
"  -m, --memory=SIZE       or how large: two of N, P and SIZE are enough\n"
"      --hashes=K          use K hash functions, 1 to 64\n"
"  -z, --zero-terminated   lines end in NUL, not in newline; later runs with\n"
"                          this filter know\n"
"      --on-full=WHAT      beyond N: grow, warn or fail [grow]\n"
"      --max-size=SIZE     refuse to make it larger than this\n"
"      --force             overwrite FILTER\n"
"      --lock-timeout=SEC  how long to wait for a run that uses it [60]\n"
"  -h, --help              this help\n"
};
