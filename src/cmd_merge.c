/* merge: the union of several filters, in a new file or in place of one. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd_create.h"
#include "command.h"
#include "fill.h"
#include "hold.h"
#include "json.h"
#include "merge.h"
#include "num.h"

#define SAMPLE_PAGES 4096

static int
same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 &&
	    store_same_file(&x, &y);
}

/* Has an operand before this one named the same file? */
static int
is_repeated(const struct options *o, size_t i)
{
	for (size_t j = 0; j < i; j++) {
		if (same_file(o->operands[j], o->operands[i]))
			return 1;
	}
	return 0;
}

/*
 * Open the inputs. The one that is replaced is locked, so that no run goes on
 * with the old file; the others are read as they are.
 */
static int
open_inputs(const struct options *o, struct filter *inputs,
    struct filter **list, size_t *count, struct error *error)
{
	const struct store_wait wait = { 0, o->lock_timeout, error_print };

	for (size_t i = 0; i < o->operand_count; i++) {
		const char *path = o->operands[i];
		int write = same_file(path, o->output);
		int result;

		if (is_repeated(o, i))
			continue;
		result = filter_open(&inputs[*count], path, write, &wait,
		    error);
		if (result > 0)
			return error_system(error, ENOENT, path);
		if (result < 0)
			return -1;
		list[*count] = &inputs[*count];
		(*count)++;
		if (write && hold_recover(list[*count - 1], error_print,
		    error) < 0)
			return -1;
	}
	return 0;
}

/* What came out, and whether it still keeps the promised rate. */
static void
report(struct filter *out, const char *path, size_t count)
{
	char a[NUM_TEXT], b[NUM_TEXT];
	double lines = 0, rate = 0, planned = 0;
	double p = out->header.error_rate;

	for (unsigned i = 0; i < out->table.count; i++) {
		struct fill fill = fill_of_layer(out, i, SAMPLE_PAGES);
		lines += fill.lines;
		rate += fill.error_rate;
		planned += out->table.layers[i].error_rate;
	}
	json_print_name(path);
	printf(": %zu filter%s, about %s lines in %u layer%s; error rate now"
	    " %.3g\n", count, count == 1 ? "" : "s",
	    num_format_count(a, (uint64_t)(lines + 0.5)),
	    out->table.count, out->table.count == 1 ? "" : "s", rate);
	if (rate > p)
		error_printf("%s: the error rate is %.3g, above the %s that"
		    " the filters were made for", path, rate,
		    num_format_rate(b, p));
	else if (planned > p * (1 + 1e-9))
		error_printf("%s: layers that could not be joined stand side"
		    " by side: when all are full, the error rate is %.3g,"
		    " above the %s that the filters were made for", path,
		    planned, num_format_rate(b, p));
}

/* All inputs are open at once; some systems allow but 256 at first. */
static void
allow_many_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
		limit.rlim_cur = limit.rlim_max;
		setrlimit(RLIMIT_NOFILE, &limit);
	}
}

static int
run_merge(const struct options *o, struct error *error)
{
	struct filter out, *inputs, **list;
	struct replaced old = REPLACED_NONE;
	struct error second;
	size_t count = 0;
	int result, in_place = 0;

	if (o->output == NULL || o->operand_count == 0) {
		return error_set(error, STATUS_USAGE, "merge needs"
		    " an output and filters: bloomdedup merge -o OUT"
		    " FILTER...");
	}
	for (size_t i = 0; i < o->operand_count; i++)
		in_place |= same_file(o->operands[i], o->output);
	if (!in_place && !o->force && access(o->output, F_OK) == 0)
		return refuse_to_replace(o->output, error);
	inputs = memory_or_die(calloc(o->operand_count, sizeof *inputs));
	list = memory_or_die(calloc(o->operand_count, sizeof *list));
	allow_many_files();
	result = open_inputs(o, inputs, list, &count, error);
	if (result == 0 && !in_place && o->force)
		result = lock_replaced(&old, o, o->output, error);
	if (result == 0)
		result = merge_filters(&out, o->output, in_place ||
		    is_replaced(&old), list, count, error);
	if (result > 0) {
		result = refuse_to_replace(o->output, error);
	} else if (result == 0) {
		report(&out, o->output, count);
		result = filter_close(&out, error);
	}
	for (size_t i = 0; i < count; i++)
		filter_close(list[i], &second);
	unlock_replaced(&old);
	free(list);
	free(inputs);
	return result < 0 ? -1 : STATUS_OK;
}

const struct command_entry command_merge = { .run = run_merge, .help =
"Usage: bloomdedup merge -o OUT [OPTION]... FILTER...\n"
"\n"
"Make OUT the union of the FILTERs: all that any of them remembers. They must\n"
"have the same hash, secret, error rate, --on-full and key options: make the\n"
"second one with 'bloomdedup create --like=FIRST SECOND'. OUT may be one of\n"
"them.\n"
"\n"
"  -o, --output=OUT        the filter to make\n"
"      --force             overwrite OUT\n"
"      --lock-timeout=SEC  how long to wait for a run that uses OUT [60]\n"
"  -h, --help              this help\n"
};
