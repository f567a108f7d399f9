/* What is known of the files of the input before they are read. */
#include "stream/input.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "stream/decompress.h"

/* This much of each file is read to estimate its number of lines. */
#define SAMPLE_BYTES DECOMPRESS_BYTES
/* More lines than a filter can be planned for; twice as many don't overflow. */
#define ESTIMATE_MAX ((uint64_t)1 << 62)

const char *
input_name(const char *path)
{
	return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Look at an input; that with the name - is standard input. */
static int
stat_input(const char *path, struct stat *st)
{
	return path_stat(strcmp(path, "-") == 0 ? NULL : path, STDIN_FILENO,
	    st);
}

uint64_t
input_total(const struct inputs *plan)
{
	uint64_t total = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct stat st;

		if (stat_input(plan->paths[i], &st) < 0)
			continue; /* It will be reported when it is opened. */
		if (!S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}

/*
 * Read the beginning of a regular file that hasn't been read to its end yet.
 * Returns the number of bytes read, with the size of all that is left in
 * *nbytes; or 0, also for anything else.
 */
static size_t
read_beginning(const char *path, uint8_t *data, size_t room, uint64_t *nbytes)
{
	struct stat st;
	off_t position = 0;
	ssize_t n = -1;
	int fd = STDIN_FILENO;

	if (stat_input(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if (strcmp(path, "-") == 0)
		position = lseek(fd, 0, SEEK_CUR);
	else
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && position >= 0)
		n = pread(fd, data, room, position);
	if (fd > STDIN_FILENO)
		close(fd);
	/* Files in /proc have a size of 0, which tells nothing. */
	if (n <= 0 || st.st_size <= position)
		return 0;
	*nbytes = (uint64_t)(st.st_size - position);
	return (size_t)n;
}

static uint64_t
estimate_file(const struct inputs *plan, const char *path, uint8_t *data)
{
	const struct format_head *head = NULL;
	const uint8_t *text = data;
	uint64_t size;
	size_t nbytes = read_beginning(path, data, SAMPLE_BYTES, &size);
	double ratio = 1, lines = 0;
	int unsure;

	if (plan->decompress && nbytes > 0)
		head = decompress_head(data, nbytes, &unsure);
	if (head != NULL) {
		size_t packed = nbytes;

		nbytes = decompress_sample(head, data, &packed,
		    data + SAMPLE_BYTES, SAMPLE_BYTES);
		text = data + SAMPLE_BYTES;
		ratio = packed > 0 ? (double)nbytes / (double)packed : 0;
	}
	if (nbytes == 0)
		return 0;
	for (size_t i = 0; i < nbytes; i++)
		lines += text[i] == plan->format.csv.terminator;
	if (lines < 1)
		lines = 1;
	lines *= (double)size * ratio / (double)nbytes;
	return lines < (double)ESTIMATE_MAX ? (uint64_t)lines : ESTIMATE_MAX;
}

uint64_t
input_estimate(const struct inputs *plan)
{
	uint8_t *data = memory_or_die(malloc(2 * SAMPLE_BYTES));
	uint64_t lines = 0;

	for (size_t i = 0; i < plan->count && lines < ESTIMATE_MAX; i++)
		lines += estimate_file(plan, plan->paths[i], data);
	free(data);
	return lines;
}

const char *
input_same_file(const struct inputs *plan, const struct stat *st)
{
	for (size_t i = 0; i < plan->count; i++) {
		struct stat other;

		if (stat_input(plan->paths[i], &other) == 0 &&
		    path_same_file(&other, st))
			return input_name(plan->paths[i]);
	}
	return NULL;
}
