#include "stream/lines.h"

#include <fcntl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/signals.h"
#include "bits/loops.h"
#include "key/columns.h"

/* What is read of each file to compare headers; more if one is longer. */
#define HEADER_BYTES 4096
/* Once this many lines have a trouble, it is told without a pause. */
#define NOTICE_LINES 10000
/*
 * Fewer are told if the input pauses for this long, or pauses at all this long
 * after its first pause since such a line: milliseconds.
 */
#define NOTICE_PAUSE 1000
/* The longest header of an output that is compared. */
#define OUTPUT_HEADER_BYTES ((size_t)1024 * 1024)

void
lines_init(struct lines *lines, const struct key_recipe *recipe,
    const struct record_format *format, struct chunk *chunk, size_t room)
{
	*lines = (struct lines){ .recipe = recipe, .format = format,
		.chunk = chunk };
	lines->starts = memory_or_die(malloc((room + 1) *
	    sizeof *lines->starts));
	if (key_has_troubles(recipe))
		lines->troubles = memory_or_die(malloc(room));
	if (recipe->csv)
		lines->strays = memory_or_die(malloc(room));
	key_scratch_begin(&lines->scratch, recipe);
	lines->scratch.columns = &chunk->columns;
}

void
lines_free(struct lines *lines)
{
	key_scratch_free(&lines->scratch);
	free(lines->starts);
	free(lines->troubles);
	free(lines->strays);
}

/* Is line i a header? */
static int
is_header(const struct lines *lines, size_t i)
{
	const uint8_t *p = lines->starts[i];
	const struct key record = { p, (size_t)(lines->starts[i + 1] - p) };
	const struct key header = { lines->chunk->header,
		lines->chunk->header_length };

	return columns_are_again(lines->recipe, record, header);
}

/*
 * The first line from i on that may be a header, or the end: most lines begin
 * with another byte, given if it is certain, than the first name in the header.
 */
static size_t
next_candidate(const struct lines *lines, size_t i, int byte)
{
	const uint8_t *const *starts = lines->starts;

	if (byte < 0)
		return i;
	while (i < lines->count && *starts[i] != byte && *starts[i] != 0xef &&
	    (*starts[i] != '"' || starts[i][1] != byte))
		i++;
	return i;
}

/* Lines begin after headers that come again, and end before the next one. */
static void
leave_out_headers(struct lines *lines)
{
	const uint8_t *from = lines->starts[0];
	const int byte = columns_first_byte(lines->recipe, (struct key){
		lines->chunk->header, lines->chunk->header_length });
	size_t first = 0, last;

	while (first < lines->count && is_header(lines, first))
		first++;
	lines->headers = first;
	lines->headers_bytes = (uint64_t)(lines->starts[first] - from);
	last = next_candidate(lines, first, byte);
	while (last < lines->count && !is_header(lines, last))
		last = next_candidate(lines, last + 1, byte);
	lines->count = last - first;
	if (first > 0) {
		memmove(lines->starts, lines->starts + first, (lines->count + 1)
		    * sizeof *lines->starts);
		memmove(lines->strays, lines->strays + first, lines->count);
	}
}

static void
split(struct lines *lines, const uint8_t *from, size_t limit)
{
	const uint8_t *end = lines->chunk->data + lines->chunk->nbytes;

	lines->count = record_split(lines->format, from, end, lines->starts,
	    limit, lines->strays);
	lines->has_strays = lines->strays != NULL &&
	    memchr(lines->strays, 1, lines->count) != NULL;
	if (lines->recipe->header && lines->chunk->header_length > 0)
		leave_out_headers(lines);
	lines->rest = lines->starts[lines->count];
	if (lines->scratch.step_count > 0)
		key_scratch_reserve(&lines->scratch, (size_t)(lines->rest -
		    from));
}

void
lines_first(struct lines *lines, size_t limit)
{
	split(lines, lines->chunk->data + lines->chunk->header_bytes, limit);
}

int
lines_next(struct lines *lines, size_t limit)
{
	if (lines->rest == lines->chunk->data + lines->chunk->nbytes)
		return 0;
	split(lines, lines->rest, limit);
	return 1;
}

void
lines_replace_by_keys(struct lines *lines, size_t first, size_t n,
    struct key *keys)
{
	struct key_scratch *scratch = &lines->scratch;

	scratch->used = 0;
	for (size_t i = 0; i < n; i++) {
		keys[i] = key_take(lines->recipe, keys[i].data, keys[i].nbytes,
		    scratch);
		if (lines->troubles != NULL)
			lines->troubles[first + i] = scratch->troubles;
	}
	for (size_t i = first; i < first + n && lines->has_strays; i++)
		lines->troubles[i] |= (uint8_t)(lines->strays[i] << KEY_STRAY);
}

int
lines_count_headers(const struct lines *lines, struct reading *reading,
    struct key_figures *figures, int strict, struct error *error)
{
	if (lines->headers == 0)
		return 0;
	if (strict) {
		key_refuse(lines->recipe, (uint8_t)(1 << KEY_HEADER),
		    reading->position, error);
		return -1;
	}
	if (figures->of[KEY_HEADER].lines == 0)
		figures->of[KEY_HEADER].first = reading->position;
	figures->of[KEY_HEADER].lines += lines->headers;
	reading->position.number += lines->headers;
	return 0;
}

void
lines_notice_many(struct key_figures *figures,
    const struct key_recipe *recipe, void (*notice)(const char *text))
{
	if (key_figures_wait(figures, NOTICE_LINES))
		key_figures_notice(figures, recipe, NOTICE_LINES, notice);
}

void
lines_notice_at_rest(struct key_figures *figures,
    const struct key_recipe *recipe, const struct input *input,
    void (*notice)(const char *text))
{
	if (!key_figures_wait(figures, 1))
		return;
	if (figures->waiting_since == 0)
		figures->waiting_since = clock_now();
	if (clock_now() - figures->waiting_since <
	    NOTICE_PAUSE * CLOCK_MILLISECOND &&
	    !input_pauses(input, NOTICE_PAUSE))
		return;
	key_figures_notice(figures, recipe, 1, notice);
	figures->waiting_since = 0;
}

int
lines_check_all(const struct key_figures *figures,
    const struct key_recipe *recipe, uint64_t count, struct error *error)
{
	if (signals_stop || !key_figures_lack_all(figures, recipe, count))
		return 0;
	return key_refuse_all(recipe, NULL, 0, error);
}

void
reading_free(struct reading *reading)
{
	free(reading->header);
	reading->header = NULL;
}

void
reading_begin(struct reading *reading, const struct chunk *chunk)
{
	if (chunk->begins)
		reading->position = (struct key_position){ chunk->file, 1 };
	if (chunk->header_bytes > 0)
		reading->position.number++;
}

int
reading_header(struct reading *reading, const struct key_recipe *recipe,
    const struct chunk *chunk, struct error *error)
{
	const struct key header = { chunk->data, chunk->header_bytes };
	struct key first;
	struct error differs;

	if (header.nbytes == 0)
		return 0;
	if (reading->header == NULL) {
		reading->header_bytes = header.nbytes;
		reading->header_file = chunk->file;
		reading->header = memory_or_die(malloc(header.nbytes));
		memcpy(reading->header, header.data, header.nbytes);
		return 1;
	}
	first = (struct key){ reading->header, reading->header_bytes };
	if (columns_compare(recipe, header, first, reading->header_file,
	    &differs) == 0)
		return 0;
	return error_set(error, STATUS_FAILED, "%s: %s", chunk->file,
	    differs.text);
}

/* Read the first record of a file to `data`; 0 if it isn't whole. */
static size_t
first_record(int fd, const struct record_format *format, uint8_t *data)
{
	struct csv_state state = { 0 };
	const uint8_t *starts[2];
	ssize_t n = io_pread(fd, data, OUTPUT_HEADER_BYTES, 0);
	size_t whole = n <= 0 ? 0 : record_scan(format, &state, data,
	    (size_t)n);

	if (whole == 0)
		return 0;
	record_split(format, data, data + whole, starts, 1, NULL);
	return (size_t)(starts[1] - data);
}

int
reading_compare_output(const struct reading *reading,
    const struct key_recipe *recipe, const struct record_format *format,
    int fd, const char *name, struct error *error)
{
	const struct key header = { reading->header, reading->header_bytes };
	struct key first;
	struct error differs;
	uint8_t *data;
	int reader = io_begin_reading(fd), result = 0;

	if (reader < 0)
		return error_set(error, STATUS_FAILED, "%s: its header cannot"
		    " be read, to compare it: %s", name, strerror(errno));
	data = memory_or_die(malloc(OUTPUT_HEADER_BYTES + LOOPS_PADDING));
	first = (struct key){ data, first_record(reader, format, data) };
	if (first.nbytes > 0 && columns_compare(recipe, header, first, name,
	    &differs) < 0)
		result = error_set(error, STATUS_FAILED, "%s: %s",
		    reading->header_file, differs.text);
	free(data);
	io_end_reading(fd, reader);
	return result;
}

static void
ignore(void *context, const char *text)
{
	(void)context;
	(void)text;
}

int
reading_compare_headers(const struct inputs *inputs, struct error *error)
{
	struct reading reading = { 0 };
	struct inputs one = *inputs;
	int result = 0;

	one.count = 1;
	one.notice = ignore;
	one.interrupted = NULL;
	for (size_t i = 0; i < inputs->count && result >= 0; i++) {
		struct chunk chunk = { 0 };
		struct input *input;
		struct stat st;

		one.paths = inputs->paths + i;
		/* Standard input can be read only once. */
		if (strcmp(*one.paths, "-") == 0 ||
		    stat(*one.paths, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		input = input_new(&one);
		if (input_next(input, &chunk, HEADER_BYTES))
			result = reading_header(&reading, inputs->header,
			    &chunk, error);
		input_free(input);
		chunk_free(&chunk);
	}
	reading_free(&reading);
	return result < 0 ? -1 : 0;
}
