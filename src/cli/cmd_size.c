/* size: two of lines, error rate and memory determine the third. */
#include <math.h>
#include <stdio.h>

#include "base/number.h"
#include "cli/command.h"
#include "cli/filter_options.h"
#include "cli/json_print.h"
#include "cli/text.h"
#include "filter/filter.h"
#include "model/growth.h"

static double
bits_per_line(uint64_t bytes, uint64_t lines)
{
	return 8.0 * (double)bytes / (double)lines;
}

/* The file that create makes: with a window, it has one generation. */
static uint64_t
first_bytes(const struct sizing *sizing)
{
	return SIZING_OVERHEAD_BYTES + sizing->geometry.pages * PAGE_BYTES;
}

/* Is it for a filter that gets a second layer with the first line too many? */
static int
grows(const struct options *o)
{
	return o->run.use.growth <= GROWTH_GROW &&
	    o->window.kind == WINDOW_NONE;
}

static void
print_size_json(const struct sizing *sizing)
{
	const struct figure figures[] = {
		{ "capacity", .count = sizing->capacity },
		{ "error_rate", "%.10g", .real = sizing->error_rate },
		{ "bytes", .count = sizing->bytes },
		{ "bits_per_line", "%.4f",
		    .real = bits_per_line(sizing->bytes, sizing->capacity) },
		{ "k", .count = sizing->k },
		{ "cache_lines", .count = sizing->geometry.cache_lines },
		{ "textbook_bytes", .count = sizing_textbook_bytes(
		    sizing->capacity, sizing->error_rate) },
		{ "textbook_k", .count = sizing_textbook_k(sizing->error_rate)
		    },
		{ "first_bytes", .count = first_bytes(sizing) }
	};

	json_print_object(stdout, figures, sizeof figures / sizeof *figures);
}

static void
print_answer(const struct options *o, const struct sizing *sizing)
{
	static const char row[] = "%-22s%18s%20s\n";
	uint64_t textbook = sizing_textbook_bytes(sizing->capacity,
	    sizing->error_rate);
	unsigned k = sizing_textbook_k(sizing->error_rate);
	uint64_t grown;
	char a[NUMBER_TEXT], b[NUMBER_TEXT];

	printf("%s line%s at an error rate of %s\n", number_format_count(a,
	    sizing->capacity), sizing->capacity == 1 ? "" : "s",
	    number_format_rate(b, sizing->error_rate));
	printf("(1 new line in %s):\n\n",
	    number_format_count(a, number_whole(1 / sizing->error_rate)));
	printf(row, "", "bloomdedup", "textbook optimum");
	if (o->window.kind != WINDOW_NONE)
		printf("%-22s%18s\n", "filter file, at first",
		    number_format_count(a, first_bytes(sizing)));
	printf(row, o->window.kind != WINDOW_NONE ?
	    "filter file, at most" : "filter file, bytes",
	    number_format_count(a, sizing->bytes),
	    number_format_count(b, textbook));
	printf(row, "", number_format_bytes(a, sizing->bytes),
	    number_format_bytes(b, textbook));
	printf(row, "", number_format_binary(a, sizing->bytes),
	    number_format_binary(b, textbook));
	printf("%-22s%18.2f%20.2f\n", "bits per line",
	    bits_per_line(sizing->bytes, sizing->capacity),
	    bits_per_line(textbook, sizing->capacity));
	printf("%-22s%18u%20u\n", "hash functions (k)", sizing->k, k);
	printf("%-22s%18u%20u\n", "cache lines per lookup",
	    sizing->geometry.cache_lines, k);
	/* A filter that cannot grow has no such line. */
	if (grows(o) && growth_second_size(sizing, &grown,
	    error_ignored()) == 0)
		printf("%-22s%18s\n", "bytes once it grows",
		    number_format_count(a, grown));
}

/* Is the operand a server, for which such a filter can be made? */
static int
check_address(const struct options *o, const char *address,
    struct error *error)
{
	if (filter_abilities(address)->is_path) {
		return error_set(error, STATUS_USAGE, "unexpected operand '%s':"
		    " size takes its figures as options, -n, -p and -m, and"
		    " only the address of a server, redis://HOST/NAME, as an"
		    " operand", address);
	}
	return filter_options_check_shape(o, error);
}

/* Print how large such a filter would be on a server. */
static int
print_on_server(const struct options *o, const struct sizing *sizing,
    const char *address, struct error *error)
{
	struct key_recipe recipe = o->recipe;
	struct filter_design design;
	struct filter_costs costs;
	char a[NUMBER_TEXT], b[NUMBER_TEXT], c[NUMBER_TEXT];
	uint64_t bytes;

	if (key_recipe_complete(&recipe, error) < 0)
		return -1;
	design = filter_options_design(o, sizing, &recipe);
	if (filter_foresee(address, &design, &costs, &bytes, error) < 0)
		return -1;
	if (o->json) {
		const struct figure figures[] = {
			{ "capacity", .count = sizing->capacity },
			{ "error_rate", "%.10g", .real = sizing->error_rate },
			{ "bytes", .count = bytes },
			{ "bits_per_line", "%.4f",
			    .real = bits_per_line(bytes, sizing->capacity) },
			{ "shards", .count = costs.shards }
		};

		json_print_object(stdout, figures,
		    sizeof figures / sizeof *figures);
		return STATUS_OK;
	}
	printf("%s line%s at an error rate of %s: %s %s on the server\n",
	    number_format_count(a, sizing->capacity),
	    sizing->capacity == 1 ? "" : "s",
	    number_format_rate(b, sizing->error_rate),
	    o->window.kind != WINDOW_NONE ? "at most" : "about",
	    number_format_bytes(c, bytes));
	printf("shards: %u, each %s\n", costs.shards, text_shard(&costs));
	return STATUS_OK;
}

static int
print_sizes(const struct options *o, struct error *error)
{
	char text[NUMBER_TEXT];

	puts("Size of the filter file, by lines and error rate:\n");
	printf("%-8s", "lines");
	for (int e = 2; e <= 8; e++)
		printf("     1e-%d", e);
	putchar('\n');
	for (int e = 6; e <= 10; e++) {
		printf("1e%-6d", e);
		for (int i = 2; i <= 8; i++) {
			struct sizing sizing = {
				.capacity = number_whole(pow(10, e)),
				.error_rate = pow(10, -i), .k = o->hashes,
				.fixed = o->run.use.growth > GROWTH_GROW };

			if (sizing_solve(&sizing, error) < 0)
				return -1;
			printf("%9s", number_format_bytes(text, sizing.bytes));
		}
		putchar('\n');
	}
	return STATUS_OK;
}

static int
print_rates(void)
{
	char text[NUMBER_TEXT];

	puts("Error rate of a textbook Bloom filter, (1 - e^(-k/b))^k, by bits"
	    " per line (b)\nand number of hash functions (k):\n");
	printf(" b");
	for (unsigned k = 1; k <= 8; k++)
		printf("%7s=%u", "k", k);
	putchar('\n');
	for (int bits = 2; bits <= 32; bits++) {
		printf("%2d", bits);
		for (unsigned k = 1; k <= 8; k++) {
			double rate = sizing_textbook_rate(bits, k);
			/*
			 * Three digits are shown; this is the unit of the last
			 * one.
			 */
			double unit = pow(10, floor(log10(rate)) - 2);

			printf("%9s", number_format_rate(text,
			    round(rate / unit) * unit));
		}
		putchar('\n');
	}
	return STATUS_OK;
}

static int
print_a_table(const struct options *o, struct error *error)
{
	if (o->table == TABLE_SIZES)
		return print_sizes(o, error);
	if (o->hashes != 0 || o->run.use.growth >= 0) {
		return error_set(error, STATUS_USAGE, "--table=k is about"
		    " textbook filters: it cannot be combined with --hashes or"
		    " --on-full");
	}
	return print_rates();
}

static int
run_size(const struct options *o, struct error *error)
{
	const char *address = NULL;
	struct sizing sizing;

	/* Only size has an address as its operand; those of try are figures. */
	if (o->command == COMMAND_SIZE && o->operands.count > 0)
		address = o->operands.items[0];
	if (address != NULL && check_address(o, address, error) < 0)
		return -1;
	if (o->table != TABLE_NONE)
		return print_a_table(o, error);
	if (o->capacity == 0 && o->error_rate <= 0 && o->memory == 0 &&
	    o->window.kind == WINDOW_NONE) {
		return error_set(error, STATUS_USAGE, "size: give"
		    " --capacity, --error-rate or --memory, or --table");
	}
	if (filter_options_solve(&sizing, o, error) < 0)
		return -1;
	if (address != NULL)
		return print_on_server(o, &sizing, address, error);
	if (o->json)
		print_size_json(&sizing);
	else
		print_answer(o, &sizing);
	return STATUS_OK;
}

const struct command command_size = {
	.name = "size", .run = run_size,
	.summary = "compute how large a filter must be",
	.usage = "size [-n N] [-p P] [-m SIZE] [OPTION]... [ADDRESS]",
	.intro = "Print how large a filter must be: give one or two of N, P and"
	    " SIZE, and the rest is computed. The figures are those of the file"
	    " that 'bloomdedup create' makes from the same options, to the"
	    " byte; with --window, that file grows as generations are added."
	    " The textbook optimum is printed beside them. With the ADDRESS of"
	    " a server, redis://HOST/NAME, print what the filter would take"
	    " there.",
	.operands_max = 1,
	.takes = "size takes its figures as options: -n, -p, -m",
};
