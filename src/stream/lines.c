#include "stream/lines.h"

#include <fcntl.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/signals.h"
#include "bits/loops.h"
#include "key/columns.h"

/* What is read of each file to compare headers; more if one is longer. */
#define HEADER_BYTES 4096
/* As many lines with a trouble are told at once. */
#define NOTICE_LINES 10000
/* Fewer are told if the input pauses for so long: milliseconds. */
#define NOTICE_PAUSE 1000
/* The longest header of an output that is compared. */
#define OUTPUT_HEADER_BYTES ((size_t)1024 * 1024)

void
lines_init(struct lines *l, const struct key_recipe *recipe,
    const struct record_format *format, struct chunk *chunk, size_t room)
{
	*l = (struct lines){ .recipe = recipe, .format = format,
		.chunk = chunk };
	l->starts = memory_or_die(malloc((room + 1) * sizeof *l->starts));
	if (key_has_troubles(recipe))
		l->troubles = memory_or_die(malloc(room));
	if (recipe->csv)
		l->strays = memory_or_die(malloc(room));
	key_scratch_begin(&l->scratch, recipe);
	l->scratch.columns = &chunk->columns;
}

void
lines_free(struct lines *l)
{
	key_scratch_free(&l->scratch);
	free(l->starts);
	free(l->troubles);
	free(l->strays);
}

/* Is line i a header? Most lines have another first byte than it. */
static inline int
is_header(const struct lines *l, size_t i, int first)
{
	const uint8_t *p = l->starts[i];
	const struct key record = { p, (size_t)(l->starts[i + 1] - p) };
	const struct key header = { l->chunk->header,
		l->chunk->header_length };
	const uint8_t byte = p[*p == '"'];

	if (first >= 0 && byte != first && *p != 0xef)
		return 0;
	return columns_are_again(l->recipe, record, header);
}

/* Lines begin after headers that come again, and end before the next one. */
static void
leave_out_headers(struct lines *l)
{
	const uint8_t *from = l->starts[0];
	const int byte = columns_first_byte(l->recipe, (struct key){
		l->chunk->header, l->chunk->header_length });
	size_t first = 0, last;

	while (first < l->count && is_header(l, first, byte))
		first++;
	l->headers = first;
	l->headers_bytes = (uint64_t)(l->starts[first] - from);
	last = first;
	while (last < l->count && !is_header(l, last, byte))
		last++;
	l->count = last - first;
	if (first > 0) {
		memmove(l->starts, l->starts + first, (l->count + 1) *
		    sizeof *l->starts);
		memmove(l->strays, l->strays + first, l->count);
	}
}

static void
split(struct lines *l, const uint8_t *from, size_t limit)
{
	const uint8_t *end = l->chunk->data + l->chunk->nbytes;

	l->count = record_split(l->format, from, end, l->starts, limit,
	    l->strays);
	if (l->recipe->header && l->chunk->header_length > 0)
		leave_out_headers(l);
	l->rest = l->starts[l->count];
	if (l->scratch.step_count > 0)
		key_scratch_reserve(&l->scratch, (size_t)(l->rest - from));
}

void
lines_first(struct lines *l, size_t limit)
{
	split(l, l->chunk->data + l->chunk->header_bytes, limit);
}

int
lines_next(struct lines *l, size_t limit)
{
	if (l->rest == l->chunk->data + l->chunk->nbytes)
		return 0;
	split(l, l->rest, limit);
	return 1;
}

void
lines_replace_by_keys(struct lines *l, size_t first, size_t n,
    struct key *keys)
{
	struct key_scratch *scratch = &l->scratch;

	scratch->used = 0;
	for (size_t i = 0; i < n; i++) {
		keys[i] = key_take(l->recipe, keys[i].data, keys[i].nbytes,
		    scratch);
		if (l->troubles != NULL)
			l->troubles[first + i] = scratch->troubles;
		if (l->strays != NULL)
			l->troubles[first + i] |= (uint8_t)(l->strays[first +
			    i] << KEY_STRAY);
	}
}

int
lines_count_headers(const struct lines *l, struct reading *reading,
    struct key_figures *figures, int strict, struct error *error)
{
	if (l->headers == 0)
		return 0;
	if (strict) {
		key_refuse(l->recipe, (uint8_t)(1 << KEY_HEADER),
		    reading->position, error);
		return -1;
	}
	if (figures->of[KEY_HEADER].lines == 0)
		figures->of[KEY_HEADER].first = reading->position;
	figures->of[KEY_HEADER].lines += l->headers;
	reading->position.number += l->headers;
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
	if (key_figures_wait(figures, 1) &&
	    input_pauses(input, NOTICE_PAUSE))
		key_figures_notice(figures, recipe, 1, notice);
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
