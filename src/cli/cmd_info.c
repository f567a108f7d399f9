/* info: describe filter files. Takes no lock and changes nothing. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/json_print.h"
#include "cli/options.h"
#include "cli/text.h"
#include "disk/file.h"
#include "filter/filter.h"
#include "key/recipe_text.h"
#include "model/estimate.h"

/* At most 16 MiB of a layer are sampled. */
#define SAMPLE_PAGES 4096

#define BAR_WIDTH 20

/* What is computed from the bits of all layers. */
struct facts {
	struct estimate layers[TABLE_LAYERS_MAX];
	double generations[TABLE_GENERATIONS_MAX]; /* lines of each */
	double lines;      /* estimated */
	double error_rate; /* now, of the whole filter */
	uint64_t room;     /* lines until it is full or grows */
	unsigned sealed;   /* layers that have a checksum: the full ones */
	unsigned checked;  /* those of them that were read, and match it */
	unsigned wrong;    /* the first that doesn't, from 1 on */
	uint64_t waiting;  /* lines in a complete journal; counted in `lines` */
};

/* Compare the checksums of all layers that have one. */
static int
verify_layers(struct filter *f, struct facts *facts, struct error *error)
{
	for (unsigned i = 0; i < filter_table(f)->count; i++) {
		int right;

		if (!filter_table(f)->layers[i].sealed)
			continue;
		facts->sealed++;
		right = filter_verify_layer(f, i, error);
		if (right < 0)
			return -1;
		if (right)
			facts->checked++;
		else if (facts->wrong == 0)
			facts->wrong = i + 1;
	}
	return 0;
}

/* The lines that have room until it is full or grows, as it was planned. */
static uint64_t
room_left(struct filter *f)
{
	/* Tell the room as planned, also of a filter that may be overfilled. */
	uint64_t room = table_room(filter_table(f), GROWTH_FAIL);

	if (room < filter_waiting(f))
		return 0;
	return room - filter_waiting(f);
}

static int
gather_facts(struct filter *f, struct facts *facts, int verify,
    struct error *error)
{
	double rates[TABLE_LAYERS_MAX];
	unsigned count = filter_table(f)->count, generation;

	facts->waiting = filter_waiting(f);
	error->status = STATUS_OK;
	for (unsigned i = 0; i < count; i++) {
		struct estimate fill = estimate_layer(f, i,
		    SAMPLE_PAGES, error);

		if (error->status != STATUS_OK)
			return -1;
		fill.lines = fmin(round(fill.lines), TEXT_LINES_MAX);
		facts->layers[i] = fill;
		generation = filter_table(f)->layers[i].generation;
		if (generation < filter_table(f)->generation_count)
			facts->generations[generation] += fill.lines;
		rates[i] = fill.error_rate;
		facts->lines += fill.lines;
	}
	facts->room = room_left(f);
	facts->error_rate = estimate_joined_rate(rates, count);
	facts->lines += (double)facts->waiting;
	if (!verify)
		return 0;
	return verify_layers(f, facts, error);
}

static const char *
date(char text[NUMBER_TEXT], int64_t seconds)
{
	time_t when = (time_t)seconds;
	struct tm tm;

	if (gmtime_r(&when, &tm) == NULL ||
	    strftime(text, NUMBER_TEXT, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
		return "?";
	return text;
}

static void
print_window(const struct filter *f, const struct facts *facts)
{
	const struct window *window = &filter_header(f)->window;
	const struct table *table = filter_table(f);
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	printf("  window        %s%s\n", text_window(a, window),
	    window->kind == WINDOW_LINES ? " new lines" : "");
	for (unsigned i = 0; i < table->generation_count; i++) {
		const struct generation *g = &table->generations[i];

		number_format_count(a, number_whole(facts->generations[i]));
		printf("  generation    %s lines", a);
		if (window->kind == WINDOW_SECONDS)
			printf(", forgotten at %s", date(b,
			    g->end + (int64_t)window->length));
		puts(i + 1 == table->generation_count ? ", the newest" : "");
	}
}

static void
print_window_json(struct json_print *json, const struct filter *f,
    const struct facts *facts)
{
	const struct window *window = &filter_header(f)->window;
	const struct table *table = filter_table(f);

	json_print_count(json, window->kind == WINDOW_LINES ? "window_lines" :
	    "window_seconds", window->length);
	json_print_open(json, "generations", '[');
	for (unsigned i = 0; i < table->generation_count; i++) {
		const struct generation *g = &table->generations[i];

		json_print_open(json, NULL, '{');
		json_print_real(json, "lines", "%.0f", facts->generations[i]);
		if (window->kind == WINDOW_SECONDS) {
			json_print_real(json, "begin", "%.0f",
			    (double)g->begin);
			json_print_real(json, "over", "%.0f",
			    (double)(g->end + (int64_t)window->length));
		}
		json_print_close(json, '}');
	}
	json_print_close(json, ']');
}

static void
print_layers_json(struct json_print *json, const struct table *table,
    const struct facts *facts)
{
	json_print_open(json, "layers", '[');
	for (unsigned i = 0; i < table->count; i++) {
		const struct layer_entry *layer = &table->layers[i];
		const struct geometry *g = &layer->geometry;

		json_print_open(json, NULL, '{');
		json_print_count(json, "capacity", layer->capacity);
		json_print_count(json, "bytes", g->pages * PAGE_BYTES);
		json_print_count(json, "k", g->k);
		json_print_count(json, "cache_lines", g->cache_lines);
		json_print_real(json, "fill", "%.6f", facts->layers[i].share);
		json_print_real(json, "lines", "%.0f", facts->layers[i].lines);
		json_print_close(json, '}');
	}
	json_print_close(json, ']');
}

/* Print the lines of a recipe, which bloomdedup(5) describes. */
static void
print_recipe_json(struct json_print *json, const char *recipe)
{
	char line[KEY_RECIPE_TEXT];

	json_print_open(json, "key", '[');
	for (const char *p = recipe; *p != '\0'; p += *p == '\n') {
		size_t n = strcspn(p, "\n");

		snprintf(line, sizeof line, "%.*s", (int)n, p);
		json_print_text(json, NULL, line);
		p += n;
	}
	json_print_close(json, ']');
}

static void
print_info_json(const struct options *o, const struct filter *f,
    const struct facts *facts)
{
	const struct header *h = filter_header(f);
	struct json_print json = { stdout, 0 };
	const struct filter_costs costs = filter_costs(f);

	json_print_open(&json, NULL, '{');
	json_print_text(&json, "file", filter_name(f));
	json_print_count(&json, "bytes", filter_bytes(f));
	json_print_count(&json, "capacity", h->capacity);
	json_print_real(&json, "error_rate", "%.10g", h->error_rate);
	json_print_real(&json, "error_rate_now", "%.6g", facts->error_rate);
	json_print_real(&json, "lines", "%.0f", facts->lines);
	json_print_count(&json, "room", facts->room);
	print_layers_json(&json, filter_table(f), facts);
	json_print_text(&json, "on_full", growth_name(h->growth));
	json_print_text(&json, "hash", hash_option(h->hash.kind));
	print_recipe_json(&json, h->recipe);
	if (h->window.kind != WINDOW_NONE)
		print_window_json(&json, f, facts);
	if (costs.shards > 0) {
		json_print_count(&json, "shards", costs.shards);
		json_print_count(&json, "own_filters", costs.own_shards != 0);
	}
	if (o->verify)
		json_print_count(&json, "checksums", facts->checked);
	json_print_close(&json, '}');
	putchar('\n');
}

static void
print_layer(const struct filter *f, const struct facts *facts, unsigned i)
{
	const struct layer_entry *layer = &filter_table(f)->layers[i];
	double full = facts->layers[i].lines / (double)layer->capacity;
	char lines[NUMBER_TEXT], bytes[NUMBER_TEXT], bar[BAR_WIDTH + 1] = "";
	int marks;

	/* Full by its counter, even if the estimate is a bit lower. */
	if (layer->lines >= layer->capacity && full < 1)
		full = 1;
	marks = (int)(fmin(full, 1) * BAR_WIDTH + 0.5);
	for (int j = 0; j < BAR_WIDTH; j++)
		bar[j] = j < marks ? '#' : '.';
	printf("  layer %-2u      [%s]", i + 1, bar);
	if (facts->layers[i].lines < TEXT_LINES_MAX)
		printf(" %3.0f %% of", floor(full * 100));
	else
		printf(" all bits are set, made for");
	printf(" %s lines, %s\n",
	    number_format_count(lines, layer->capacity),
	    number_format_bytes(bytes, layer->geometry.pages * PAGE_BYTES));
}

/* The process that holds the lock, if there is one. */
static void
print_holder(const struct filter *f)
{
	char name[FILE_HOLDER_NAME];
	pid_t holder;

	if (filter_path(f) == NULL)
		return;
	holder = file_lock_holder(filter_path(f), name);
	if (holder == 0)
		return;
	printf("  in use by     process %d (", (int)holder);
	text_print_name(name);
	puts(")");
}

/* Return what happens when there is no more room, in words. */
static const char *
what_comes_then(const struct header *header)
{
	if (header->window.kind == WINDOW_LINES)
		return "the next generation begins";
	switch (header->growth) {
	case GROWTH_GROW:
		return "it grows";
	case GROWTH_WARN:
		return "its error rate rises";
	case GROWTH_FAIL:
		break;
	}
	return "it is full";
}

static void
print_checksums(const struct facts *facts)
{
	if (facts->sealed == 0)
		puts("  checksums     none: a layer gets one once the filter"
		    " has grown");
	else
		printf("  checksums     %u of %u full layer%s checked, all"
		    " correct\n", facts->checked, facts->sealed,
		    facts->sealed == 1 ? "" : "s");
}

/* A server's filters have a shape of their own: k is 0. */
static void
print_hash(const struct filter *f)
{
	const struct geometry *g = &filter_table(f)->layers[0].geometry;

	printf("  hash          %s, keyed",
	    hash_name(filter_header(f)->hash.kind));
	if (g->k > 0)
		printf("; %u bits in %u cache line%s", g->k, g->cache_lines,
		    g->cache_lines == 1 ? "" : "s");
	putchar('\n');
}

static void
print_info_text(const struct options *o, const struct filter *f,
    const struct facts *facts)
{
	const struct header *h = filter_header(f);
	const struct filter_costs costs = filter_costs(f);
	char a[NUMBER_TEXT], b[NUMBER_TEXT], key[KEY_OPTIONS];

	text_print_name(filter_name(f));
	printf("\n  size          %s (%s bytes)\n",
	    number_format_bytes(a, filter_bytes(f)),
	    number_format_count(b, filter_bytes(f)));
	printf("  made for      %s lines at an error rate of %s\n",
	    number_format_count(a, h->capacity),
	    number_format_rate(b, h->error_rate));
	printf("  remembers     %s\n", text_lines(a, facts->lines));
	if (facts->waiting > 0)
		printf("  journal       %s of them are still in its journal;"
		    " the\n                next run moves them to the filter\n",
		    number_format_count(a, facts->waiting));
	if (h->window.kind != WINDOW_NONE)
		print_window(f, facts);
	if (facts->room == 0 && h->growth == GROWTH_WARN)
		puts("  room          none: each new line makes its error rate"
		    " rise");
	else
		printf("  room          %s more lines, then %s\n",
		    number_format_count(a, facts->room),
		    what_comes_then(h));
	printf("  error rate    %.2g now\n", facts->error_rate);
	for (unsigned i = 0; i < filter_table(f)->count; i++)
		print_layer(f, facts, i);
	if (o->verify)
		print_checksums(facts);
	if (costs.shards > 0)
		printf("  shards        %u, each %s\n", costs.shards,
		    text_shard(&costs));
	print_hash(f);
	fputs("  key           ", stdout);
	/* The names and pointers of a recipe may contain any bytes. */
	text_print_name(key_recipe_options(h->recipe, key));
	printf("\n  made          %s\n", date(a, (int64_t)h->created));
	print_holder(f);
}

static int
info_one(const struct options *o, const char *path, struct error *error)
{
	struct filter_use use = FILTER_READ;
	struct filter *filter;
	struct facts facts = { 0 };
	int result;

	use.wait = o->run.use.wait;
	result = filter_open(&filter, path, &use, error);
	if (result > 0)
		return filter_missing(path, error);
	if (result < 0)
		return -1;
	if (o->verify && filter_costs(filter).shards > 0)
		result = error_set(error, STATUS_USAGE, "%s: --verify is for a"
		    " filter in a file", path);
	else
		result = gather_facts(filter, &facts, o->verify, error);
	if (result == 0 && o->json)
		print_info_json(o, filter, &facts);
	else if (result == 0)
		print_info_text(o, filter, &facts);
	filter_release(filter);
	if (result == 0 && facts.wrong > 0) {
		return error_set(error, STATUS_FAILED, "%s: layer %u is"
		    " damaged: its checksum is wrong", path, facts.wrong);
	}
	return result;
}

static int
run_info(const struct options *o, struct error *error)
{
	int status = STATUS_OK;

	for (size_t i = 0; i < o->operands.count; i++) {
		if (i > 0 && !o->json)
			putchar('\n');
		if (info_one(o, o->operands.items[i], error) < 0) {
			error_print(error->text);
			status = error->status;
		}
	}
	return status;
}

const struct command command_info = {
	.name = "info", .run = run_info,
	.summary = "describe filters: size, lines, error rate",
	.usage = "info [--json] [--verify] FILTER...",
	.intro = "Print what is in a filter: its size, what it was made for,"
	    " about how many lines it remembers, how full each of its layers"
	    " is, and its error rate now, computed from its bits: the share of"
	    " new lines that it would take for lines seen before.",
	.operands_min = 1, .operands_max = COMMAND_OPERANDS_ANY,
	.takes = "info takes the names of filters: bloomdedup info FILTER",
};
