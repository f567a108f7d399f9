/*
 * The lines of a chunk, as a job's worker prepares them: where they begin, and
 * their keys. What a job has read so far: where the next line is, and the
 * header that the others must equal.
 */
#ifndef STREAM_LINES_H
#define STREAM_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "key/key.h"
#include "stream/input.h"

struct lines {
	const struct key_recipe *recipe;    /* recipe of the keys; not owned, as
					     * are the next two */
	const struct record_format *format;
	struct chunk *chunk;
	const uint8_t **starts; /* start of each line, and the end of the last
				 * one */
	uint8_t *troubles;      /* troubles of their keys; NULL if there can be
				 * none */
	uint8_t *strays;        /* record_split's; NULL without CSV */
	int has_strays;         /* is one of them set? */
	size_t count;
	size_t headers;         /* headers before them that come again */
	uint64_t headers_bytes;
	const uint8_t *rest;    /* start of the first line that is not yet
				 * prepared */
	struct key_scratch scratch;
};

/*
 * Make lines with room for `room` of them. The pointers must live as long as
 * the lines.
 */
void lines_init(struct lines *lines, const struct key_recipe *recipe,
    const struct record_format *format, struct chunk *chunk, size_t room);
void lines_free(struct lines *lines);

/*
 * Split the first lines of the chunk, after its header, up to `limit`. If the
 * header comes again, lines end before it, and the next ones begin behind it;
 * so there may be none.
 */
void lines_first(struct lines *lines, size_t limit);

/* Split the lines after those, up to `limit`. Returns 0 if there are none. */
int lines_next(struct lines *lines, size_t limit);

/* Replace n lines from `first` on by their keys, and note their troubles. */
void lines_replace_by_keys(struct lines *lines, size_t first, size_t n,
    struct key *keys);

/*
 * Make the keys of n lines from `first` on. They are valid until the next call,
 * and as long as the chunk.
 */
static inline void
lines_keys(struct lines *lines, size_t first, size_t n, struct key *keys)
{
	for (size_t i = 0; i < n; i++)
		keys[i] = (struct key){ lines->starts[first + i],
			(size_t)(lines->starts[first + i + 1] -
			lines->starts[first + i] - 1) };
	if (lines->scratch.step_count > 0)
		lines_replace_by_keys(lines, first, n, keys);
}

/*
 * Tell the troubles of keys while a run goes on, because its end may never
 * come: lines_notice_many after the lines of a batch have been counted, and
 * lines_notice_at_rest when the input pauses, which waits whether it does for
 * long enough, unless a trouble has waited for that long. Each trouble is told
 * once so.
 */
void lines_notice_many(struct key_figures *figures,
    const struct key_recipe *recipe, void (*notice)(const char *text));
void lines_notice_at_rest(struct key_figures *figures,
    const struct key_recipe *recipe, const struct input *input,
    void (*notice)(const char *text));

/*
 * At the end of a job, unless a signal has ended it: fails (STATUS_FAILED) if
 * none of the `count` lines that were read had what makes a key.
 */
int lines_check_all(const struct key_figures *figures,
    const struct key_recipe *recipe, uint64_t count, struct error *error);

/* The state of a job's reading; all zero at its beginning. */
struct reading {
	struct key_position position; /* the line that is finished next */
	uint8_t *header;        /* header of the first file; NULL: none yet */
	size_t header_bytes;
	const char *header_file;  /* its name; the input's */
};
void reading_free(struct reading *reading);

/*
 * Begin the turn of lines: count the headers before them that come again. Fails
 * (STATUS_FAILED) if there is one, and `strict` does not allow it.
 */
int lines_count_headers(const struct lines *lines, struct reading *reading,
    struct key_figures *figures, int strict, struct error *error);

/*
 * Begin the turn of a chunk: note the position of its first line, after its
 * header.
 */
void reading_begin(struct reading *reading, const struct chunk *chunk);

/*
 * Take the chunk's header, in a run that prints headers. Returns 1 if it is the
 * first one, or 0 if there is none or if it names the same columns as the first
 * one; fails (STATUS_FAILED) if it names others, because records under the
 * wrong header mislead.
 */
int reading_header(struct reading *reading, const struct key_recipe *recipe,
    const struct chunk *chunk, struct error *error);

/*
 * Compare the first header with the first record of the file `fd`, called
 * `name`, before records are appended to it: fails if that names other columns.
 * If the file cannot be read, nothing is compared.
 */
int reading_compare_output(const struct reading *reading,
    const struct key_recipe *recipe, const struct record_format *format,
    int fd, const char *name, struct error *error);

/*
 * Check, before anything is printed, that all input files that can be read
 * twice, which are the regular ones, have headers with the same columns. Files
 * that cannot be read are passed over, because the input reports them. Fails as
 * reading_header.
 */
int reading_compare_headers(const struct inputs *inputs,
    struct error *error);

#endif
