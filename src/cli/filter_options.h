/*
 * Finds the filter that options name: opens it or makes a new one, and checks
 * whether an existing one contradicts the options.
 */
#ifndef CLI_FILTER_OPTIONS_H
#define CLI_FILTER_OPTIONS_H

#include "base/error.h"
#include "bits/sizing.h"
#include "cli/options.h"
#include "disk/file.h"
#include "filter/filter.h"
#include "stream/input.h"

/*
 * Open the plan's filter; in memory if no file is named. One that is missing is
 * made if the plan remembers lines; without a capacity, for the size of the
 * inputs. Refuses (STATUS_USAGE) the filter among the inputs, as in
 * bloomdedup -f seen.bloom *, and options that contradict the filter, naming
 * both values. *recipe holds the key options that were given, and becomes the
 * filter's; *is_new becomes 1 if the filter was made, else 0.
 */
int filter_options_open(struct filter **filter, int *is_new,
    const struct options *options, const struct run_plan *plan,
    struct key_recipe *recipe, const struct inputs *inputs,
    struct error *error);

/*
 * May a filter that this run has made become larger once the input turns out to
 * be large? Only if it was made without a size, since that of the input is
 * unknown; and in a file only if the run has it alone, and marks lines at once.
 */
int filter_options_enlarges(const struct options *options,
    const struct run_plan *plan, const struct inputs *inputs);

/*
 * Compute the size of a filter: two of lines, error rate and memory determine
 * the third. size, try and create all compute it here, so size prints the file
 * that create makes. Defaults apply if fewer than two are given. With a window,
 * `bytes` becomes the maximum size of the file, and a window of lines sets the
 * capacity.
 */
int filter_options_solve(struct sizing *sizing, const struct options *options,
    struct error *error);

/* Returns the filter of this size, with a new secret. */
struct filter_design filter_options_design(const struct options *options,
    const struct sizing *sizing, const struct key_recipe *recipe);

/* Refuse standard input and output (-) in place of a filter (STATUS_USAGE). */
int filter_options_check_name(const char *path, struct error *error);

/* Report a window of few lines, which may have been meant as days. */
void filter_options_tell_window(const struct options *options);

/*
 * Refuse (STATUS_USAGE) options that say how a filter on a server is built: it
 * decides that by itself.
 */
int filter_options_check_shape(const struct options *options,
    struct error *error);

/*
 * Refuse (STATUS_USAGE) options that need another kind of key than the
 * recipe's, which may be the filter's.
 */
int filter_options_check_keys(const struct options *options,
    const struct key_recipe *recipe, struct error *error);

/*
 * A file that create --force or merge is about to replace, and that may be a
 * filter in use: it is locked, but on a server.
 */
struct old_filter {
	struct filter *filter; /* the filter, or NULL; at most one of the two is
			        * open */
	struct file other;
	int found; /* is there one? if not, one that appears later must not be
		    * replaced */
};

#define OLD_FILTER_NONE { .other = FILE_NONE }

/*
 * Lock the file at `path`, if there is one, waiting as use->wait says. Call
 * filter_options_unlock_old in any case.
 */
int filter_options_lock_old(struct old_filter *old, const char *path,
    const struct filter_use *use, struct error *error);
void filter_options_unlock_old(struct old_filter *old);

/* Refuse to replace the file at `path`: returns -1 with `error` filled. */
int filter_options_keep_old(const char *path, struct error *error);

#endif
