/* merge: the union of several filters, in a new file or in place of one. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/number.h"
#include "base/path.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/options.h"
#include "cli/text.h"
#include "filter/filter.h"
#include "model/estimate.h"

#define SAMPLE_PAGES 4096

static int
same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 &&
	    path_same_file(&x, &y);
}

/*
 * Open the inputs, each file once. The one that is replaced is locked, so that
 * no run continues with the old file; the others are only read.
 */
static int
open_inputs(const struct options *o, struct filter **list, size_t *count,
    struct error *error)
{
	for (size_t i = 0; i < o->operands.count; i++) {
		const char *path = o->operands.items[i];
		struct filter_use use = o->run.use;
		size_t same = 0;
		int result;

		use.writable = same_file(path, o->run.output);
		while (same < i && !same_file(o->operands.items[same], path))
			same++;
		if (same < i)
			continue;
		result = filter_open(&list[*count], path, &use, error);
		if (result > 0)
			return filter_missing(path, error);
		if (result < 0)
			return -1;
		(*count)++;
	}
	return 0;
}

/* Describe the result, and warn if it exceeds the promised error rate. */
static void
describe_merge(struct filter *out, const char *path, size_t count)
{
	char a[NUMBER_TEXT], b[NUMBER_TEXT];
	double rates[TABLE_LAYERS_MAX], lines = 0, planned = 0, rate;
	const struct table *table = filter_table(out);
	double p = filter_header(out)->error_rate;

	for (unsigned i = 0; i < table->count; i++) {
		/* a page that can't be read counts as empty */
		struct estimate fill = estimate_layer(out, i,
		    SAMPLE_PAGES, error_ignored());
		lines += fill.lines;
		rates[i] = fill.error_rate;
		planned += table->layers[i].error_rate;
	}
	rate = estimate_joined_rate(rates, table->count);
	text_print_name(path);
	printf(": %zu filter%s, %s in %u layer%s; error rate now %.3g\n",
	    count, count == 1 ? "" : "s", text_lines(a, lines),
	    table->count, table->count == 1 ? "" : "s", rate);
	/* Layers that were not joined have a higher rate, and full ones. */
	if (rate > p || planned > p * (1 + 1e-9))
		error_printf("%s: the error rate can reach %.3g, above the %s"
		    " that the filters were made for", path,
		    rate > planned ? rate : planned, number_format_rate(b, p));
}

/* A server's filters can be neither read nor written but by their lines. */
static int
check_file(const char *path, struct error *error)
{
	if (filter_abilities(path)->is_path)
		return 0;
	return error_set(error, STATUS_USAGE, "merge is for filters in files;"
	    " to put lines into one on a server, add them: bloomdedup add -f"
	    " redis://HOST/NAME FILE");
}

/* Are all of them files? *in_place becomes 1 if the output is an input. */
static int
check_files(const struct options *o, int *in_place, struct error *error)
{
	*in_place = 0;
	if (filter_options_check_name(o->run.output, error) < 0 ||
	    check_file(o->run.output, error) < 0)
		return -1;
	for (size_t i = 0; i < o->operands.count; i++) {
		if (check_file(o->operands.items[i], error) < 0)
			return -1;
		*in_place |= same_file(o->operands.items[i], o->run.output);
	}
	return 0;
}

/* Merge the open inputs into the output, and report it. */
static int
make_output(const struct options *o, struct filter *const *inputs,
    size_t count, int replace, struct error *error)
{
	struct filter *out;
	int result = filter_merge(&out, o->run.output, replace, inputs, count,
	    error);

	if (result < 0)
		return -1;
	if (result > 0)
		return filter_options_keep_old(o->run.output, error);
	describe_merge(out, o->run.output, count);
	return filter_close(out, error);
}

static int
run_merge(const struct options *o, struct error *error)
{
	struct filter **inputs;
	struct old_filter old = OLD_FILTER_NONE;
	size_t count = 0;
	int result, in_place;

	if (check_files(o, &in_place, error) < 0)
		return -1;
	if (!in_place && !o->force && access(o->run.output, F_OK) == 0)
		return filter_options_keep_old(o->run.output, error);
	inputs = memory_or_die(calloc(o->operands.count, sizeof *inputs));
	io_descriptors(); /* all inputs are open at once */
	result = open_inputs(o, inputs, &count, error);
	if (result == 0 && !in_place && o->force)
		result = filter_options_lock_old(&old, o->run.output,
		    &o->run.use, error);
	if (result == 0)
		result = make_output(o, inputs, count, in_place || old.found,
		    error);
	for (size_t i = 0; i < count; i++)
		filter_release(inputs[i]);
	filter_options_unlock_old(&old);
	free(inputs);
	return result < 0 ? -1 : STATUS_OK;
}

const struct command command_merge = {
	.name = "merge", .run = run_merge,
	.summary = "merge several filters into one",
	.usage = "merge -o OUT [OPTION]... FILTER...",
	.intro = "Make OUT the union of the FILTERs: all that any of them"
	    " remembers. They must have the same hash, secret, error rate,"
	    " --on-full and key options: make the second one with 'bloomdedup"
	    " create --like=FIRST SECOND'. OUT may be one of them.",
	.operands_min = 1, .operands_max = COMMAND_OPERANDS_ANY,
	.needs = "output",
	.takes = "merge needs an output and filters: bloomdedup merge -o OUT"
	    " FILTER...",
};
