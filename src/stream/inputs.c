#include "stream/inputs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static int
look(const char *path, struct stat *st)
{
	return strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, st) :
	    stat(path, st);
}

uint64_t
input_total(const struct inputs *plan)
{
	uint64_t total = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct stat st;

		if (look(plan->paths[i], &st) < 0)
			continue; /* will be reported, and adds nothing */
		if (!S_ISREG(st.st_mode))
			return 0;
		total += (uint64_t)st.st_size;
	}
	return total;
}

/* Like open_next, but silently, and only for regular files. */
static int
peek_open(const char *path, struct stat *st, off_t *position)
{
	*position = 0;
	if (look(path, st) < 0 || !S_ISREG(st->st_mode))
		return -1;
	if (strcmp(path, "-") != 0)
		return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	*position = lseek(STDIN_FILENO, 0, SEEK_CUR);
	return *position < 0 ? -1 : STDIN_FILENO;
}

static uint64_t
estimate_file(const struct inputs *plan, const char *path, uint8_t *data)
{
	const size_t half = SAMPLE_BYTES;
	const struct format_head *head = NULL;
	uint8_t *p = data;
	double ratio = 1, lines = 0;
	struct stat st;
	off_t position;
	ssize_t n;
	size_t nbytes;
	int unsure, fd = peek_open(path, &st, &position);

	if (fd < 0)
		return 0;
	n = pread(fd, data, half, position);
	if (fd != STDIN_FILENO)
		close(fd);
	if (n <= 0)
		return 0;
	nbytes = (size_t)n;
	if (plan->decompress)
		head = decompress_head(data, nbytes, &unsure);
	if (head != NULL) {
		size_t packed = nbytes;
		p = data + half;
		nbytes = decompress_sample(head, data, &packed, p, half);
		ratio = packed > 0 ? (double)nbytes / (double)packed : 0;
	}
	for (size_t i = 0; i < nbytes; i++)
		lines += p[i] == plan->format.csv.terminator;
	/* files in /proc have a size of 0 */
	if (nbytes == 0 || st.st_size <= position)
		return 0;
	lines = lines > 0 ? lines : 1;
	lines *= (double)(st.st_size - position) * ratio / (double)nbytes;
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

		if (look(plan->paths[i], &other) == 0 &&
		    path_same_file(&other, st))
			return input_name(plan->paths[i]);
	}
	return NULL;
}
