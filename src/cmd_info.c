/* info: what is in a filter file. Takes no lock and changes nothing. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "command.h"
#include "fill.h"
#include "filter.h"
#include "hold.h"
#include "json.h"
#include "num.h"
#include "seal.h"

/* 16 MiB of a layer are read; a smaller one is read whole. */
#define SAMPLE_PAGES 4096

#define BAR_WIDTH 20

/* What is computed from the bits, for all layers. */
struct facts {
	struct fill layers[FORMAT_LAYERS_MAX];
	double lines;      /* estimated */
	double error_rate; /* now, of the whole filter */
	uint64_t room;     /* lines until it is full or grows */
	unsigned checked;  /* layers whose checksum was read and is right */
	uint64_t waiting;  /* lines in a complete journal; counted in `lines` */
};

static double
whole_lines(double lines)
{
	return isfinite(lines) && lines < 1e18 ? round(lines) : 1e18;
}

static void
gather(struct filter *f, uint64_t waiting, struct facts *facts)
{
	*facts = (struct facts){ 0 };
	for (unsigned i = 0; i < f->table.count; i++) {
		const struct layer_entry *layer = &f->table.layers[i];
		struct fill fill = fill_of_layer(f, i, SAMPLE_PAGES);

		fill.lines = whole_lines(fill.lines);
		facts->layers[i] = fill;
		facts->lines += fill.lines;
		if (layer->lines < layer->capacity)
			facts->room += layer->capacity - layer->lines;
	}
	facts->error_rate = fill_error_rate(f, SAMPLE_PAGES);
	facts->waiting = waiting;
	facts->lines += (double)waiting;
	facts->room -= waiting < facts->room ? waiting : facts->room;
}

static void
print_json(const struct options *o, const struct filter *f,
    const struct facts *facts)
{
	const struct header *h = &f->header;

	printf("{\"file\": ");
	json_print_string(f->store.path);
	printf(", \"bytes\": %" PRIu64 ", \"capacity\": %" PRIu64 ","
	    " \"error_rate\": %.10g, \"error_rate_now\": %.6g,"
	    " \"lines\": %.0f, \"room\": %" PRIu64 ", \"layers\": [",
	    filter_bytes(f), h->capacity, h->error_rate, facts->error_rate,
	    facts->lines, facts->room);
	for (unsigned i = 0; i < f->table.count; i++) {
		const struct layer_entry *layer = &f->table.layers[i];

		printf("%s{\"capacity\": %" PRIu64 ", \"bytes\": %" PRIu64 ","
		    " \"k\": %u, \"cache_lines\": %u, \"fill\": %.6f,"
		    " \"lines\": %.0f}", i == 0 ? "" : ", ", layer->capacity,
		    layer->geometry.pages * PAGE_BYTES, layer->geometry.k,
		    layer->geometry.cache_lines, facts->layers[i].share,
		    facts->layers[i].lines);
	}
	putchar(']');
	if (o->verify)
		printf(", \"checksums\": %u", facts->checked);
	puts("}");
}

static void
print_bar(double share)
{
	int full = (int)(share * BAR_WIDTH + 0.5);

	putchar('[');
	for (int i = 0; i < BAR_WIDTH; i++)
		putchar(i < full ? '#' : '.');
	putchar(']');
}

static void
print_layer(const struct filter *f, const struct facts *facts, unsigned i)
{
	const struct layer_entry *layer = &f->table.layers[i];
	double full = facts->layers[i].lines / (double)layer->capacity;
	char lines[NUM_TEXT], bytes[NUM_TEXT];

	/* The counter knows when it is full; the estimate is an estimate. */
	if (layer->lines >= layer->capacity && full < 1)
		full = 1;
	printf("  layer %-2u      ", i + 1);
	print_bar(full < 1 ? full : 1);
	printf(" %3.0f %% of %s lines, %s\n", floor(full * 100),
	    num_format_count(lines, layer->capacity),
	    num_format_bytes(bytes, layer->geometry.pages * PAGE_BYTES));
}

/* "trim, key=1-2": the recipe's lines, as options are written. */
static void
print_recipe(const char *recipe)
{
	fputs("  key           ", stdout);
	if (*recipe == '\0')
		fputs("the whole line", stdout);
	for (; *recipe != '\0'; recipe++) {
		if (*recipe != '\n')
			putchar(*recipe);
		else if (recipe[1] != '\0')
			fputs(", ", stdout);
	}
	putchar('\n');
}

static void
print_text(const struct options *o, const struct filter *f,
    const struct facts *facts)
{
	const struct header *h = &f->header;
	const struct geometry *g = &f->table.layers[0].geometry;
	time_t created = (time_t)h->created;
	char a[NUM_TEXT], b[NUM_TEXT], name[STORE_HOLDER_NAME], when[40] = "?";
	struct tm tm;
	pid_t holder;

	json_print_name(f->store.path);
	printf("\n  size          %s (%s bytes)\n",
	    num_format_bytes(a, filter_bytes(f)),
	    num_format_count(b, filter_bytes(f)));
	printf("  made for      %s lines at an error rate of %s\n",
	    num_format_count(a, h->capacity),
	    num_format_rate(b, h->error_rate));
	printf("  remembers     about %s lines\n",
	    num_format_count(a, (uint64_t)facts->lines));
	if (facts->waiting > 0)
		printf("  journal       %s of them wait in %s.journal; the next"
		    "\n                run takes them over\n",
		    num_format_count(a, facts->waiting), f->store.path);
	printf("  room          %s more lines, then %s\n",
	    num_format_count(a, facts->room),
	    h->growth == GROWTH_GROW ? "it grows" :
	    h->growth == GROWTH_WARN ? "it is overfilled with a warning" :
	    "it is full");
	if (facts->lines < 0.5)
		printf("  error rate    0 now\n");
	else if (facts->error_rate < 1e-12)
		printf("  error rate    below 1e-12 now\n");
	else
		printf("  error rate    %.2g now\n", facts->error_rate);
	for (unsigned i = 0; i < f->table.count; i++)
		print_layer(f, facts, i);
	if (o->verify && f->table.count == 1)
		printf("  checksums     none: a layer gets one when the next"
		    " one is in use\n");
	else if (o->verify)
		printf("  checksums     right in %u of %u layers%s\n",
		    facts->checked, f->table.count, facts->checked + 1 ==
		    f->table.count ? "" : "; full ones get theirs in time");
	printf("  hash          %s, keyed; %u bits in %u cache line%s\n",
	    hash_name(h->hash.kind), g->k, g->cache_lines,
	    g->cache_lines == 1 ? "" : "s");
	print_recipe(h->recipe);
	if (gmtime_r(&created, &tm) != NULL)
		strftime(when, sizeof when, "%Y-%m-%d %H:%M:%S UTC", &tm);
	printf("  made          %s\n", when);
	holder = store_holder(&f->store, name);
	if (holder != 0)
		printf("  in use by     process %d (%s)\n", (int)holder, name);
}

/* Read the layers that have a checksum; *wrong is one where it is, from 1. */
static int
verify(struct filter *f, unsigned *checked, unsigned *wrong,
    struct error *error)
{
	for (unsigned i = 0; i < f->table.count; i++) {
		int right;

		if (!f->table.layers[i].sealed)
			continue;
		right = seal_verify(f, i, error);
		if (right < 0)
			return -1;
		if (right)
			(*checked)++;
		else if (*wrong == 0)
			*wrong = i + 1;
	}
	return 0;
}

static int
info_one(const struct options *o, const char *path, struct error *error)
{
	struct filter filter;
	struct facts facts;
	struct hold hold = HOLD_NONE;
	unsigned wrong = 0;
	int result = filter_open(&filter, path, 0, NULL, error);

	if (result > 0) {
		return error_set(error, STATUS_FAILED, "%s: there is no such"
		    " file", path);
	}
	if (result < 0)
		return -1;
	if (hold_read(&hold, &filter, error) < 0) {
		filter_close(&filter, &(struct error){ 0 });
		return -1;
	}
	gather(&filter, hold.count, &facts);
	hold_end(&hold);
	if (o->verify && verify(&filter, &facts.checked, &wrong, error) < 0) {
		filter_close(&filter, &(struct error){ 0 });
		return -1;
	}
	if (o->json)
		print_json(o, &filter, &facts);
	else
		print_text(o, &filter, &facts);
	filter_close(&filter, &(struct error){ 0 });
	return wrong == 0 ? 0 : error_set(error, STATUS_FAILED, "%s: layer %u"
	    " is damaged: its checksum is wrong", path, wrong);
}

static int
run_info(const struct options *o, struct error *error)
{
	int status = STATUS_OK;

	if (o->operand_count == 0) {
		return error_set(error, STATUS_USAGE, "info takes"
		    " the names of filters: bloomdedup info FILTER");
	}
	for (size_t i = 0; i < o->operand_count; i++) {
		if (i > 0 && !o->json)
			putchar('\n');
		if (info_one(o, o->operands[i], error) < 0) {
			error_print(error->text);
			status = error->status;
		}
	}
	return status;
}

const struct command_entry command_info = { .run = run_info, .help =
"Usage: bloomdedup info [--json] [--verify] FILTER...\n"
"\n"
"What is in a filter: its size, what it was made for, about how many lines it\n"
"remembers, how full each of its layers is, and the share of new lines that\n"
"would be dropped by mistake now, computed from its bits.\n"
"\n"
"      --json     one line a filter, for programs\n"
"      --verify   read all of it: is any full layer damaged?\n"
"  -h, --help     this help\n"
};
