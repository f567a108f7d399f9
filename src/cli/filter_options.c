#include "cli/filter_options.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/number.h"
#include "base/quote.h"
#include "bits/sizing.h"
#include "cli/text.h"
#include "filter/deferred.h"
#include "model/window.h"
#include "stream/contents.h"

/* A window of so few lines may have been meant as days. */
#define DAYS_MAX 400

/* Two runs may create the same file; then the second opens it. */
#define CREATE_TRIES 5

/* The capacity that the options ask for: a window of lines is one. */
static int
take_capacity(uint64_t *capacity, const struct options *o, struct error *error)
{
	*capacity = o->capacity;
	if (o->window.kind != WINDOW_LINES)
		return 0;
	if (o->capacity != 0 && o->capacity != o->window.length) {
		return error_set(error, STATUS_USAGE, "--capacity: a window of"
		    " lines is its filter's capacity; leave --capacity out");
	}
	*capacity = o->window.length;
	return 0;
}

/* Two of the three must be known: where fewer are given, take defaults. */
static void
take_defaults(struct sizing *sizing)
{
	if (sizing->error_rate <= 0 && (sizing->capacity == 0 ||
	    sizing->bytes == 0))
		sizing->error_rate = SIZING_RATE_DEFAULT;
	if (sizing->capacity == 0 && sizing->bytes == 0)
		sizing->capacity = SIZING_CAPACITY_DEFAULT;
}

int
filter_options_solve(struct sizing *sizing, const struct options *o,
    struct error *error)
{
	*sizing = (struct sizing){ .error_rate = o->error_rate,
		.bytes = o->memory, .k = o->hashes,
		.fixed = o->run.use.growth > GROWTH_GROW };
	if (take_capacity(&sizing->capacity, o, error) < 0)
		return -1;
	if (sizing->capacity != 0 && sizing->error_rate > 0 &&
	    sizing->bytes != 0) {
		return error_set(error, STATUS_USAGE, "give two of"
		    " --capacity, --error-rate and --memory: the third"
		    " follows");
	}
	take_defaults(sizing);
	if (window_solve(sizing, &o->window, error) == 0)
		return 0;
	if (o->memory != 0)
		error_prefix(error, "--memory");
	return -1;
}

struct filter_design
filter_options_design(const struct options *o, const struct sizing *sizing,
    const struct key_recipe *recipe)
{
	int growth = o->run.use.growth;
	struct filter_design design = { .capacity = sizing->capacity,
		.error_rate = sizing->error_rate,
		.geometry = sizing->geometry, .window = o->window,
		.growth = growth < 0 ? GROWTH_GROW : (enum growth)growth };

	key_recipe_format(recipe, design.recipe);
	return design;
}

/* Estimate the number of input lines, as a round number. */
static uint64_t
guess_capacity(const struct inputs *inputs, unsigned parts)
{
	uint64_t lines = input_estimate(inputs), unit = 1;

	if (parts > 0)
		lines = lines / parts + 1;
	/* Lines elsewhere may be a little shorter than those of the sample. */
	lines += lines / 32;
	if (lines <= SIZING_CAPACITY_DEFAULT)
		return SIZING_CAPACITY_DEFAULT;
	/* Keep two significant digits, rounded up. */
	while (lines / unit >= 100)
		unit *= 10;
	return (lines + unit - 1) / unit * unit;
}

/*
 * Solve, within --max-size: a capacity that was only guessed becomes what that
 * allows, also in the options.
 */
static int
solve_within(struct sizing *sizing, struct options *o, int guessed,
    struct error *error)
{
	int windowed = o->window.kind != WINDOW_NONE;
	uint64_t most = o->run.use.max_bytes, needs;
	char text[NUMBER_TEXT], limit[NUMBER_TEXT];

	for (;;) {
		if (filter_options_solve(sizing, o, error) < 0)
			return -1;
		needs = sizing->bytes;
		/* Within the limit, one generation may find no room yet. */
		if (windowed)
			needs -= sizing->geometry.pages * PAGE_BYTES;
		if (needs <= most)
			return 0;
		if (!guessed || !windowed || sizing->capacity < 8)
			break;
		o->capacity = sizing->capacity / 2;
	}
	if (!guessed || windowed) {
		return error_set(error, STATUS_USAGE, "--max-size=%s is too"
		    " small: the filter needs %s",
		    number_format_binary(limit, most),
		    number_format_binary(text, needs));
	}
	*sizing = (struct sizing){ .error_rate = sizing->error_rate,
		.bytes = most, .fixed = sizing->fixed };
	if (sizing_solve(sizing, error) == 0)
		return 0;
	return error_prefix(error, "--max-size");
}

int
filter_options_check_name(const char *path, struct error *error)
{
	if (path == NULL || strcmp(path, "-") != 0)
		return 0;
	return error_set(error, STATUS_USAGE, "-: a filter is a file; for one"
	    " of this name, write ./-");
}

/*
 * Complete the text of a contradiction with the filter's name and with what to
 * do. Only a filter that holds something is worth another one beside it.
 */
static int
advise(const struct filter *filter, struct error *error)
{
	const char *name = filter_name(filter);
	char *word;

	if (table_lines(filter_table(filter)) > 0 || filter_waiting(filter) > 0)
		return error_set(error, error->status, "%s: %s: leave the"
		    " option out, or use another filter", name, error->text);
	word = quote_word(name);
	error_set(error, error->status, "%s: %s: leave the option out,"
	    " or remove the filter, which is still empty: bloomdedup remove %s",
	    name, error->text, word);
	free(word);
	return -1;
}

/* `made` and `given` are the option's values; `made` is "" if it had none. */
static int
contradiction(const struct filter *filter, const char *option,
    const char *made, const char *given, struct error *error)
{
	if (*made == '\0')
		error_set(error, STATUS_USAGE, "made without --%s, which"
		    " contradicts --%s=%s", option, option, given);
	else
		error_set(error, STATUS_USAGE, "made with --%s=%s, which"
		    " contradicts --%s=%s", option, made, option, given);
	return advise(filter, error);
}

/*
 * Check the options that say what a filter is made for. The capacity is only a
 * hint. A run may end where the filter would go on (--on-full=fail), but not
 * the other way round.
 */
static int
check_design(const struct options *o, const struct filter *filter,
    struct error *error)
{
	const struct header *h = filter_header(filter);
	int growth = o->run.use.growth;
	char made[NUMBER_TEXT], given[NUMBER_TEXT];

	if (o->capacity != 0 && o->capacity != h->capacity &&
	    isatty(STDERR_FILENO)) {
		error_printf("%s: planned for %s lines when it was made;"
		    " --capacity=%s changes nothing", filter_name(filter),
		    number_format_count(made, h->capacity),
		    number_format_count(given, o->capacity));
	}
	/* Spellings such as 0.1% and 1/1000 may differ in the last bit. */
	if (o->error_rate > 0 &&
	    fabs(o->error_rate - h->error_rate) > 1e-9 * h->error_rate)
		return contradiction(filter, "error-rate",
		    number_format_rate(made, h->error_rate),
		    number_format_rate(given, o->error_rate), error);
	if (o->window.kind != WINDOW_NONE &&
	    (o->window.kind != h->window.kind ||
	    o->window.length != h->window.length))
		return contradiction(filter, "window",
		    text_window(made, &h->window), o->window_text, error);
	if (growth >= 0 && growth != GROWTH_FAIL && growth != (int)h->growth)
		return contradiction(filter, "on-full", growth_name(h->growth),
		    growth_name((enum growth)growth), error);
	return 0;
}

/*
 * Check the options that describe a filter against the open one, and take over
 * its key recipe.
 */
static int
check_filter(const struct options *o, const struct filter *filter,
    struct key_recipe *recipe, struct error *error)
{
	struct key_recipe stored;

	if (check_design(o, filter, error) < 0)
		return -1;
	if (key_recipe_parse(&stored, filter_header(filter)->recipe,
	    error) < 0)
		return error_prefix(error, filter_name(filter));
	if (key_recipe_inherit(recipe, &stored, error) < 0)
		return advise(filter, error);
	return filter_options_check_keys(o, recipe, error);
}

void
filter_options_tell_window(const struct options *o)
{
	char text[NUMBER_TEXT];
	uint64_t n;

	if (o->window.kind != WINDOW_LINES ||
	    o->window.length > DAYS_MAX ||
	    number_count(o->window_text, &n) < 0)
		return;
	number_format_count(text, n);
	error_printf("--window=%s: %s lines; for %s days write %sd",
	    o->window_text, text, text, text);
}

/*
 * "; uniq's -f 1 is -k 2-": a name of one or two digits may have been meant as
 * that many fields, which uniq skips.
 */
static const char *
say_uniq(const char *name, char text[80])
{
	size_t digits = strspn(name, "0123456789");

	text[0] = '\0';
	if (digits > 0 && digits <= 2 && name[digits] == '\0')
		snprintf(text, 80, "; uniq's -f %s is -k %d-", name,
		    atoi(name) + 1);
	return text;
}

/*
 * On a terminal, and for a server: the name may be a typing error, or an input,
 * as in uniq.
 */
static void
tell_new(const struct filter *filter, const struct options *o)
{
	const struct header *h = filter_header(filter);
	const char *forgets = "";
	char lines[NUMBER_TEXT], window[TEXT_WINDOW] = "", uniq[80];

	filter_options_tell_window(o);
	if (!isatty(STDERR_FILENO) &&
	    filter_abilities(o->run.filter)->is_path)
		return;
	/*
	 * The window is told in words, since 1M may have been meant as a month.
	 */
	if (h->window.kind != WINDOW_NONE) {
		forgets = "; forgets after ";
		text_window_words(window, &h->window);
	}
	error_printf("%s: new filter, for %s lines%s%s%s",
	    filter_name(filter), number_format_count(lines, h->capacity),
	    forgets, window, say_uniq(o->run.filter, uniq));
}

/*
 * Create the filter. A capacity that was only estimated must not make the run
 * fail: if there is no room for it, start with the default; the filter grows.
 */
static int
make_filter(struct filter **filter, const struct options *o,
    struct key_recipe *recipe, const struct inputs *inputs,
    struct error *error)
{
	uint64_t capacity = o->capacity;
	struct sizing sizing;
	struct filter_design design;
	int guessed = o->capacity == 0 && o->window.kind != WINDOW_LINES;
	int result, again;

	if (key_recipe_complete(recipe, error) < 0 ||
	    filter_options_check_keys(o, recipe, error) < 0)
		return -1;
	if (guessed)
		capacity = guess_capacity(inputs, recipe->parts);
	do {
		struct options asked = *o;

		asked.capacity = capacity;
		result = solve_within(&sizing, &asked, guessed, error);
		if (result == 0) {
			design = filter_options_design(o, &sizing, recipe);
			result = filter_create(filter, o->run.filter, 0,
			    &design, &o->run.use, error);
		}
		again = result < 0 && guessed &&
		    capacity > SIZING_CAPACITY_DEFAULT;
		capacity = SIZING_CAPACITY_DEFAULT;
	} while (again);
	if (result == 0 && o->run.filter != NULL)
		tell_new(*filter, o);
	return result;
}

/* The name of an option that was given and needs a file; NULL if none is. */
static const char *
option_for_files(const struct run_plan *plan, const struct abilities *abilities)
{
	if (!abilities->has_journal) {
		if (plan->to_command != NULL)
			return "to-command";
		if (plan->atomic)
			return "atomic";
	}
	if (!abilities->is_path) {
		if (plan->use.sync)
			return "sync";
		if (plan->use.max_bytes != UINT64_MAX)
			return "max-size";
		if (plan->use.growth == GROWTH_WARN)
			return "on-full=warn";
	}
	return NULL;
}

/* Refuse options that need a filter in a file, or one on a server. */
static int
check_location(const struct options *o, struct error *error)
{
	const struct abilities *abilities = filter_abilities(o->run.filter);
	const char *for_files = option_for_files(&o->run, abilities);

	if (o->window.kind != WINDOW_NONE && o->run.filter == NULL) {
		return error_set(error, STATUS_USAGE, "--window needs --filter:"
		    " without one, nothing outlives the run");
	}
	if (for_files != NULL) {
		return error_set(error, STATUS_USAGE, "%s: --%s is for filters"
		    " in files", o->run.filter, for_files);
	}
	if (o->run.use.claim && !abilities->has_claims) {
		return error_set(error, STATUS_USAGE, "--claim needs a filter"
		    " in Redis: -f redis://HOST/NAME");
	}
	return 0;
}

int
filter_options_check_shape(const struct options *o, struct error *error)
{
	const char *name = "memory";

	if (o->memory == 0 && o->hashes == 0)
		return 0;
	if (o->memory == 0)
		name = "hashes";
	return error_set(error, STATUS_USAGE, "--%s is for filters in files; a"
	    " filter in Redis is made for --capacity and --error-rate", name);
}

int
filter_options_check_keys(const struct options *o,
    const struct key_recipe *recipe, struct error *error)
{
	if (o->run.strict_keys && !key_has_troubles(recipe))
		return error_set(error, STATUS_USAGE, "--strict-keys is for"
		    " --json, --url, --csv and -k");
	if (o->run.strict_part && recipe->parts == 0)
		return error_set(error, STATUS_USAGE, "--strict-part is for"
		    " --part");
	if (o->mark && recipe->csv)
		return error_set(error, STATUS_USAGE, "--mark cannot be used"
		    " for a filter of --csv: the mark would become part of a"
		    " field");
	if (o->run.input.format.max_bytes != RECORD_MAX_BYTES && !recipe->csv)
		return error_set(error, STATUS_USAGE, "--max-record is for"
		    " --csv: other lines may be of any length");
	return 0;
}

/* Refuse a filter that is one of the inputs. */
static int
check_inputs(const char *path, const struct inputs *inputs,
    struct error *error)
{
	const char *input;
	struct stat st;

	if (path == NULL || stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	input = input_same_file(inputs, &st);
	if (input == NULL)
		return 0;
	return error_set(error, STATUS_USAGE, "%s: it is the filter (-f %s),"
	    " not an input", input, path);
}

/* Append formatted text to a string, as far as there is room. */
static void
add_text(char *text, size_t room, const char *format, ...)
{
	const size_t used = strlen(text);
	va_list values;

	va_start(values, format);
	vsnprintf(text + used, room - used, format, values);
	va_end(values);
}

/*
 * The options, as on the command line, with which another command makes the
 * filter that this run would make, a blank in front of each.
 */
static void
options_of_filter(const struct options *o, const struct key_recipe *given,
    char *text, size_t room)
{
	struct key_recipe recipe = *given;
	char keys[KEY_RECIPE_TEXT] = "", options[KEY_OPTIONS];
	char number[NUMBER_TEXT];

	*text = '\0';
	/* Options that contradict each other are refused elsewhere. */
	if (key_recipe_complete(&recipe, error_ignored()) == 0)
		key_recipe_format(&recipe, keys);
	if (*keys != '\0')
		add_text(text, room, " %s", key_recipe_options(keys, options));
	if (o->capacity != 0)
		add_text(text, room, " -n %" PRIu64, o->capacity);
	if (o->error_rate > 0)
		add_text(text, room, " -p %s", number_format_rate(number,
		    o->error_rate));
	if (o->window.kind != WINDOW_NONE)
		add_text(text, room, " --window=%s", o->window_text);
	if (o->run.use.growth >= 0)
		add_text(text, room, " --on-full=%s", growth_name(
		    (enum growth)o->run.use.growth));
}

/*
 * Refuse to make a filter beside a list of --tee that has lines: it would print
 * them again, and add them once more. Most likely the filter was lost, or its
 * name was mistyped.
 */
static int
check_list_of_tee(const struct options *o, const struct run_plan *plan,
    const struct key_recipe *recipe, struct error *error)
{
	static char options[KEY_OPTIONS]; /* too large for a small stack */
	char *filter, *list;

	if (plan->tee == NULL || !contents_exist(plan->tee))
		return 0;
	options_of_filter(o, recipe, options, sizeof options);
	filter = quote_word(plan->filter);
	list = quote_word(plan->tee);
	error_set(error, STATUS_USAGE, "--tee: %s is not empty, and %s"
	    " does not exist yet: to fill it with these lines first,"
	    " bloomdedup add -f %s%s %s", plan->tee, plan->filter,
	    filter, options, list);
	free(filter);
	free(list);
	return -1;
}

/* There is no filter at `path`: may this run make one? */
static int
check_may_make(const struct options *o, const struct run_plan *plan,
    const struct key_recipe *recipe, const struct inputs *inputs,
    struct error *error)
{
	const char *path = o->run.filter;

	if (path == NULL)
		return 0;
	if (plan->dry_run)
		return error_set(error, STATUS_FAILED, "%s: there is no such"
		    " filter, and --dry-run makes none", path);
	if (!plan->remember || o->no_create)
		return filter_missing(path, error);
	/* A filter whose name was mistyped must not cost old lines. */
	if (contents_check(plan, inputs, NULL, error) < 0)
		return -1;
	return check_list_of_tee(o, plan, recipe, error);
}

/* Returns 0, 1 if there is none and none may be made now, or -1. */
static int
open_or_make(struct filter **filter, int *is_new, const struct options *o,
    const struct run_plan *plan, struct key_recipe *recipe,
    const struct inputs *inputs, struct error *error)
{
	int result = 1;

	*is_new = 0;
	if (o->run.filter != NULL)
		result = filter_open(filter, o->run.filter, &plan->use, error);
	if (result == 0 && check_filter(o, *filter, recipe, error) < 0) {
		filter_release(*filter);
		return -1;
	}
	if (result <= 0)
		return result;
	if (check_may_make(o, plan, recipe, inputs, error) < 0)
		return -1;
	*is_new = 1;
	return make_filter(filter, o, recipe, inputs, error);
}

int
filter_options_open(struct filter **filter, int *is_new,
    const struct options *o, const struct run_plan *plan,
    struct key_recipe *recipe, const struct inputs *inputs,
    struct error *error)
{
	const char *path = o->run.filter;
	int result = 1;

	if (filter_options_check_name(path, error) < 0 ||
	    check_inputs(path, inputs, error) < 0 ||
	    check_location(o, error) < 0)
		return -1;
	/* Another run may make or remove the filter at the same time. */
	for (int i = 0; result == 1 && i < CREATE_TRIES; i++)
		result = open_or_make(filter, is_new, o, plan, recipe, inputs,
		    error);
	if (result == 1)
		return error_set(error, STATUS_FAILED, "%s: a symbolic link to"
		    " a missing file, or another process keeps removing the"
		    " file", path);
	if (result == 0 && plan->dry_run &&
	    deferred_preview(filter, error) < 0) {
		filter_release(*filter);
		return -1;
	}
	return result;
}

int
filter_options_enlarges(const struct options *o, const struct run_plan *plan,
    const struct inputs *inputs)
{
	const struct filter_use *use = &plan->use;

	if (plan->filter != NULL &&
	    (!filter_abilities(plan->filter)->is_path || use->wait.shared ||
	    use->sync || plan->atomic || o->window.kind != WINDOW_NONE))
		return 0;
	return !plan->dry_run && o->capacity == 0 &&
	    use->growth <= GROWTH_GROW && use->max_bytes == UINT64_MAX &&
	    input_total(inputs) == 0;
}

int
filter_options_lock_old(struct old_filter *old, const char *path,
    const struct filter_use *use, struct error *error)
{
	int result = 0;

	*old = (struct old_filter)OLD_FILTER_NONE;
	if (filter_abilities(path)->is_path)
		result = filter_open(&old->filter, path, use, error);
	/* Not a filter, no matter why: lock the file itself. */
	if (result < 0 && error->status != STATUS_LOCKED)
		result = file_open(&old->other, path, FILE_WRITE, &use->wait,
		    error);
	old->found = result == 0;
	return result < 0 ? -1 : 0;
}

void
filter_options_unlock_old(struct old_filter *old)
{
	filter_release(old->filter);
	file_close(&old->other);
}

int
filter_options_keep_old(const char *path, struct error *error)
{
	struct stat st;

	/* A link keeps its name, and a new file does not follow it. */
	if (filter_abilities(path)->is_path && lstat(path, &st) == 0 &&
	    S_ISLNK(st.st_mode) && access(path, F_OK) < 0) {
		return error_set(error, STATUS_FAILED, "%s: a symbolic link to"
		    " a missing file; remove the link", path);
	}
	return error_set(error, STATUS_FAILED, "%s: the %s exists; --force"
	    " replaces it", path, filter_abilities(path)->noun);
}
