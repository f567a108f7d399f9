/* size and try: from any two of lines, error rate and memory to the rest. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cmd_size.h"
#include "command.h"
#include "num.h"

int
solve_from_options(const struct options *o, struct sizing *sizing,
    struct error *error)
{
	*sizing = (struct sizing){ .capacity = o->capacity,
		.error_rate = o->error_rate, .bytes = o->memory,
		.k = o->hashes, .fixed = o->growth > GROWTH_GROW };
	if (o->capacity != 0 && o->error_rate > 0 && o->memory != 0) {
		return error_set(error, STATUS_USAGE, "of --capacity,"
		    " --error-rate and --memory give two: the third follows");
	}
	if (o->error_rate <= 0 && (o->capacity == 0 || o->memory == 0))
		sizing->error_rate = SIZING_RATE_DEFAULT;
	if (o->capacity == 0 && o->memory == 0)
		sizing->capacity = SIZING_CAPACITY_DEFAULT;
	if (sizing_solve(sizing, error) == 0)
		return 0;
	return o->memory == 0 ? -1 : error_set(error, error->status,
	    "--memory: %s", error->text);
}

static double
bits_per_line(uint64_t bytes, uint64_t lines)
{
	return 8.0 * (double)bytes / (double)lines;
}

static void
print_json(const struct sizing *s)
{
	printf("{\"capacity\": %" PRIu64 ", \"error_rate\": %.10g,"
	    " \"bytes\": %" PRIu64 ", \"bits_per_line\": %.4f, \"k\": %u,"
	    " \"cache_lines\": %u, \"textbook_bytes\": %" PRIu64 ","
	    " \"textbook_k\": %u}\n",
	    s->capacity, s->error_rate, s->bytes,
	    bits_per_line(s->bytes, s->capacity), s->k,
	    s->geometry.cache_lines,
	    sizing_textbook_bytes(s->capacity, s->error_rate),
	    sizing_textbook_k(s->error_rate));
}

static void
print_row(const char *name, const char *ours, const char *textbook)
{
	printf("%-22s%18s%20s\n", name, ours, textbook);
}

/* The command that makes it: the figures that were given, not the answers. */
static void
print_create(const struct options *o, const struct sizing *s)
{
	char text[NUM_TEXT];

	fputs("\nMake it: bloomdedup create", stdout);
	if (o->capacity != 0 || o->memory == 0)
		printf(" -n %" PRIu64, s->capacity);
	if (o->memory != 0)
		printf(" -m %" PRIu64, o->memory);
	if (o->error_rate > 0 || o->memory == 0)
		printf(" -p %s", num_format_exact(text, s->error_rate));
	if (o->hashes != 0)
		printf(" --hashes=%u", o->hashes);
	if (o->growth > GROWTH_GROW)
		printf(" --on-full=%s",
		    format_growth_name((enum growth)o->growth));
	puts(" FILTER");
}

static void
print_answer(const struct options *o, const struct sizing *s)
{
	uint64_t textbook = sizing_textbook_bytes(s->capacity, s->error_rate);
	char a[NUM_TEXT], b[NUM_TEXT];

	printf("%s line%s, of which a share of %s may be dropped by mistake",
	    num_format_count(a, s->capacity), s->capacity == 1 ? "" : "s",
	    num_format_rate(b, s->error_rate));
	printf("\n(1 new line in %s):\n\n",
	    num_format_count(a, (uint64_t)(1 / s->error_rate + 0.5)));
	print_row("", "bloomdedup", "textbook optimum");
	print_row("filter file, bytes", num_format_count(a, s->bytes),
	    num_format_count(b, textbook));
	print_row("", num_format_bytes(a, s->bytes),
	    num_format_bytes(b, textbook));
	print_row("", num_format_binary(a, s->bytes),
	    num_format_binary(b, textbook));
	snprintf(a, sizeof a, "%.2f", bits_per_line(s->bytes, s->capacity));
	snprintf(b, sizeof b, "%.2f", bits_per_line(textbook, s->capacity));
	print_row("bits a line", a, b);
	snprintf(a, sizeof a, "%u", s->k);
	snprintf(b, sizeof b, "%u", sizing_textbook_k(s->error_rate));
	print_row("hash functions (k)", a, b);
	snprintf(a, sizeof a, "%u", s->geometry.cache_lines);
	print_row("cache lines a lookup", a, b);
	print_create(o, s);
}

/* The whole file's bytes for n and p, by the same solver as everything. */
static int
print_cell(uint64_t capacity, double error_rate, const struct options *o,
    struct error *error)
{
	struct sizing s = { .capacity = capacity, .error_rate = error_rate,
		.k = o->hashes, .fixed = o->growth > GROWTH_GROW };
	char text[NUM_TEXT];

	if (sizing_solve(&s, error) < 0)
		return -1;
	printf("%9s", num_format_bytes(text, s.bytes));
	return 0;
}

static int
print_sizes(const struct options *o, struct error *error)
{
	puts("Size of the filter file, by lines and error rate:\n");
	printf("%-8s", "lines");
	for (int e = 2; e <= 8; e++)
		printf("     1e-%d", e);
	putchar('\n');
	for (int e = 6; e <= 10; e++) {
		printf("1e%-6d", e);
		for (int i = 2; i <= 8; i++) {
			if (print_cell((uint64_t)(pow(10, e) + 0.5),
			    pow(10, -i), o, error) < 0)
				return -1;
		}
		putchar('\n');
	}
	return STATUS_OK;
}

/* Three significant digits. */
static double
round_digits(double value)
{
	double unit = pow(10, floor(log10(value)) - 2);

	return round(value / unit) * unit;
}

static void
print_rates(void)
{
	char text[NUM_TEXT];

	puts("Error rate of a textbook Bloom filter, (1 - e^(-k/b))^k, by bits"
	    " a line (b)\nand number of hash functions (k):\n");
	printf(" b");
	for (unsigned k = 1; k <= 8; k++)
		printf("%7s=%u", "k", k);
	putchar('\n');
	for (int bits = 2; bits <= 32; bits++) {
		printf("%2d", bits);
		for (unsigned k = 1; k <= 8; k++)
			printf("%9s", num_format_rate(text,
			    round_digits(sizing_textbook_rate(bits, k))));
		putchar('\n');
	}
}

static int
print_solution(const struct options *o, struct error *error)
{
	struct sizing sizing;

	if (solve_from_options(o, &sizing, error) < 0)
		return -1;
	if (o->json)
		print_json(&sizing);
	else
		print_answer(o, &sizing);
	return STATUS_OK;
}

static int
run_size(const struct options *o, struct error *error)
{
	if (o->operand_count > 0) {
		return error_set(error, STATUS_USAGE, "size: '%s'"
		    " is too much; the figures are options: -n, -p, -m",
		    o->operands[0]);
	}
	if (o->json && o->table != TABLE_NONE) {
		return error_set(error, STATUS_USAGE,
		    "--table is for people: there is none with --json");
	}
	if (o->table != TABLE_NONE && (o->capacity != 0 ||
	    o->error_rate > 0 || o->memory != 0)) {
		return error_set(error, STATUS_USAGE, "--table is for many"
		    " figures: it can't be together with --capacity,"
		    " --error-rate or --memory");
	}
	if (o->table == TABLE_RATES && (o->hashes != 0 || o->growth >= 0)) {
		return error_set(error, STATUS_USAGE, "--table=k is the"
		    " textbook's: it can't be together with --hashes or"
		    " --on-full");
	}
	if (o->table == TABLE_SIZES)
		return print_sizes(o, error);
	if (o->table == TABLE_RATES) {
		print_rates();
		return STATUS_OK;
	}
	if (o->capacity == 0 && o->error_rate <= 0 && o->memory == 0) {
		return error_set(error, STATUS_USAGE, "size: give"
		    " two of --capacity, --error-rate and --memory, or"
		    " --table");
	}
	return print_solution(o, error);
}

static int
run_try(const struct options *o, struct error *error)
{
	struct options figures = *o;

	if (o->operand_count != 2) {
		return error_set(error, STATUS_USAGE, "try takes a"
		    " number of lines and an error rate: bloomdedup try 1e8"
		    " 0.00001");
	}
	if (options_capacity(o->operands[0], &figures.capacity, error) < 0 ||
	    options_error_rate(o->operands[1], &figures.error_rate, error) < 0)
		return -1;
	if (o->measure) {
		struct sizing sizing;
		if (solve_from_options(&figures, &sizing, error) < 0)
			return -1;
		return measure(o, &sizing, error);
	}
	return print_solution(&figures, error);
}

const struct command_entry command_size = { .run = run_size, .help =
"Usage: bloomdedup size [-n N] [-p P] [-m SIZE] [OPTION]...\n"
"\n"
"How large a filter must be: give two of N, P and SIZE, the third is computed.\n"
"The figures are those of the file that 'bloomdedup create' makes from the\n"
"same options, to the byte; beside them stands the textbook's optimum.\n"
"\n"
"  -n, --capacity=N     number of lines, such as 1e8 or 100M\n"
"  -p, --error-rate=P   share of new lines that may be dropped by mistake, such\n"
"                       as 1e-6, 0.1% or 1/1000 [1e-6]\n"
"  -m, --memory=SIZE    size of the file or memory, such as 512M or 2G\n"
"      --hashes=K       use K hash functions, 1 to 64\n"
"      --on-full=WHAT   a filter that doesn't grow (warn, fail) is smaller\n"
"      --json           one line for programs\n"
"      --table          sizes for many N and P\n"
"      --table=k        the textbook's rates by bits a line and K\n"
"  -h, --help           this help\n"
};

const struct command_entry command_try = { .run = run_try, .help =
"Usage: bloomdedup try N P [OPTION]...\n"
"\n"
"How much memory N lines at an error rate of P need, and how many hash\n"
"functions: bloomdedup try 1e8 0.00001\n"
"\n"
"      --measure        make such a filter in memory, fill it, and measure its\n"
"                       error rate and speed\n"
"      --hashes=K       use K hash functions, 1 to 64\n"
"      --on-full=WHAT   a filter that doesn't grow (warn, fail) is smaller\n"
"      --json           one line for programs\n"
"  -h, --help           this help\n"
};
