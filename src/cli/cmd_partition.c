/* partition: lines, sorted out by the part that their keys are in. */
#include <inttypes.h>
#include <string.h>

#include "base/io.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/options.h"
#include "cli/report.h"
#include "stream/run.h"

/* Descriptors that are needed besides those of the parts. */
#define OTHER_FILES 16

static int
run_partition(const struct options *o, struct error *error)
{
	struct key_recipe recipe = o->recipe;
	struct run_plan plan = o->run;
	struct partition_figures figures;
	unsigned files = plan.parts + OTHER_FILES;
	uint64_t allowed;
	int status;

	plan.notice = report_notice;
	if (plan.output != NULL && strcmp(plan.output, "-") == 0)
		plan.output = NULL;
	if (key_recipe_complete(&recipe, error) < 0)
		return -1;
	if (plan.output == NULL && recipe.header)
		return error_set(error, STATUS_USAGE, "--header needs --output:"
		    " each file of a part gets the header");
	if (plan.output == NULL && plan.atomic)
		return error_set(error, STATUS_USAGE, "--atomic needs"
		    " --output");
	if (filter_options_check_keys(o, &recipe, error) < 0)
		return -1;
	if (plan.output != NULL) {
		if (partition_check_pattern(plan.output, error) < 0)
			return -1;
		/* A file for each part is open at once. */
		allowed = io_descriptors();
		if (allowed < files)
			return error_set(error, STATUS_USAGE, "--parts=%u: %u"
			    " files would be open at once, and %" PRIu64 " are"
			    " allowed (ulimit -n)", plan.parts, files, allowed);
	}
	status = partition_run(&plan, &recipe, &figures, error);
	report_keys(&recipe, &figures.keys, figures.lines);
	return status;
}

const struct command command_partition = {
	.name = "partition", .run = run_partition,
	.summary = "split lines into parts of about equal size, by key",
	.usage = "partition --parts=N [OPTION]... [FILE]...",
	.intro = "Print each line of each FILE, or of standard input, after the"
	    " number of the part that its key is in, from 1 to N, and a tab."
	    " With -o 'part-%d.txt', write each part to a file of its own,"
	    " unchanged and in order. A run with --part=NUMBER/N sees the same"
	    " lines.",
	.operands_max = COMMAND_OPERANDS_ANY, .reads_operands = 1,
	.needs = "parts",
	.takes = "partition needs the number of parts: bloomdedup partition"
	    " --parts=16",
};
