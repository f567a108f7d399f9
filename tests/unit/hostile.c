/*
 * Goal: damage that no checksum was repaired for. Every bit of header and
 * slots is flipped, of a filter of one layer and of one of several: in the
 * header it is detected, in a slot the other one counts and heals it, and no
 * line is forgotten. A file that is cut to any length is refused. What is
 * refused, or only read, is not written to.
 *
 * All bits and lengths with BLOOMDEDUP_SLOW, else one in 21, which is no
 * multiple of two: so each bit of a byte has its turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "growing.h"
#include "random64.h"
#include "tap.h"

#define LINES 300

static char path[4096];
static uint8_t whole[1 << 20]; /* the file as it was made */
static size_t whole_bytes;
static struct digest digests[LINES];
static unsigned step = 21;

/* The file as it should be now, of which nothing may change. */
static uint8_t expected[sizeof whole];
static int fd = -1;

static int
die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	exit(1);
}

static void
notice(const char *text)
{
	(void)text;
}

static int
open_filter(struct filter **f, int writable, struct error *error)
{
	const struct filter_use use = { .writable = writable,
		.wait = { 0, 0, notice }, .growth = -1,
		.max_bytes = UINT64_MAX };

	return filter_open(f, path, &use, error);
}

/* A filter for so many lines, with LINES lines in it; its bytes in `whole`. */
static unsigned
make(uint64_t capacity)
{
	struct filter *f;
	struct error error;
	unsigned layers;
	uint64_t room;
	struct stat st;

	random_state = capacity;
	draw(digests, LINES);
	if (create_growing(&f, path, capacity, 1e-3, &error) < 0 ||
	    filter_reserve(f, LINES, &room, &error) != ROOM_ENOUGH ||
	    filter_mark(f, digests, LINES, &error) < 0)
		die("no filter");
	layers = filter_table(f)->count;
	if (filter_close(f, &error) < 0)
		die("no filter");
	if (fd >= 0)
		close(fd);
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st) < 0 ||
	    (size_t)st.st_size > sizeof whole ||
	    pread(fd, whole, (size_t)st.st_size, 0) != st.st_size)
		die(path);
	whole_bytes = (size_t)st.st_size;
	return layers;
}

static void
put(const void *data, size_t nbytes, size_t offset)
{
	if (pwrite(fd, data, nbytes, (off_t)offset) != (ssize_t)nbytes)
		die(path);
	memcpy(expected + offset, data, nbytes);
}

/* Are the first bytes, all that could be repaired, and the length the same? */
static int
untouched(size_t length)
{
	static uint8_t now[FILTER_HEADER_BYTES];
	size_t nbytes = length < sizeof now ? length : sizeof now;
	struct stat st;

	return fstat(fd, &st) == 0 && (size_t)st.st_size == length &&
	    pread(fd, now, nbytes, 0) == (ssize_t)nbytes &&
	    memcmp(now, expected, nbytes) == 0;
}

static int
knows_all(struct filter *f)
{
	uint8_t found[LINES];
	struct error error;

	if (filter_probe(f, digests, LINES, found, &error) < 0)
		return 0;
	return memchr(found, 0, sizeof found) == NULL;
}

/* Open it, close it: is it refused, with a message that names the file? */
static int
is_refused(int writable)
{
	struct filter *f;
	struct error error;

	if (open_filter(&f, writable, &error) == 0) {
		filter_close(f, &error);
		return 0;
	}
	return error.status == STATUS_FAILED &&
	    strncmp(error.text, path, strlen(path)) == 0;
}

/* Open it, close it: is every line that went in still found? */
static int
is_whole(int writable)
{
	struct filter *f;
	struct error error;
	int result;

	if (open_filter(&f, writable, &error) != 0)
		return 0;
	result = knows_all(f);
	return filter_close(f, &error) == 0 && result;
}

static int
header_bit(size_t at, unsigned bit)
{
	uint8_t byte = (uint8_t)(whole[at] ^ 1u << bit);
	int result;

	put(&byte, 1, at);
	result = is_refused(0) && is_refused(1) && untouched(whole_bytes);
	put(whole + at, 1, at);
	return result;
}

/* Healed: then the other slot may be lost. */
static int
slot_bit(size_t at, unsigned bit)
{
	static const uint8_t zeros[PAGE_BYTES];
	uint8_t byte = (uint8_t)(whole[at] ^ 1u << bit);
	size_t other = at < 2 * PAGE_BYTES ? 2 * PAGE_BYTES : PAGE_BYTES;
	int result;

	put(&byte, 1, at);
	result = is_whole(0) && untouched(whole_bytes) && is_whole(1);
	put(zeros, sizeof zeros, other);
	result = result && is_whole(0);
	put(whole, FILTER_HEADER_BYTES, 0);
	return result;
}

static void
every_bit(const char *name)
{
	uint64_t tried = 0, wrong = 0;

	for (size_t i = 0; i < FILTER_HEADER_BYTES * 8; i += step) {
		size_t at = i / 8;
		unsigned bit = i % 8;

		if (!(at < PAGE_BYTES ? header_bit : slot_bit)(at, bit)) {
			printf("# bit %u of byte %zu\n", bit, at);
			wrong++;
		}
		tried++;
	}
	tap_ok(wrong == 0 && untouched(whole_bytes), "%s: %" PRIu64
	    " flipped bits are detected or healed", name, tried);
}

/* From its length down to nothing. */
static void
every_length(const char *name)
{
	size_t length = whole_bytes, below = FILTER_HEADER_BYTES + PAGE_BYTES;
	uint64_t tried = 0, wrong = 0;

	while (length > 0) {
		/* In the layers only about each page's end. */
		if (length > below)
			length -= length % PAGE_BYTES < 2 ? 1 :
			    length % PAGE_BYTES - 1;
		else
			length -= length < step ? length : step;
		if (ftruncate(fd, (off_t)length) < 0)
			die(path);
		if (!is_refused(0) || !is_refused(1) || !untouched(length)) {
			printf("# cut to %zu bytes\n", length);
			wrong++;
		}
		tried++;
	}
	tap_ok(wrong == 0, "%s: cut to %" PRIu64 " lengths it is refused",
	    name, tried);
}

int
main(void)
{
	const char *directory = getenv("TMPDIR");
	const char *slow = getenv("BLOOMDEDUP_SLOW");

	if (slow != NULL && *slow != '\0')
		step = 1;
	snprintf(path, sizeof path, "%s/hostile-XXXXXX",
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" :
	    directory != NULL ? directory : "/tmp");
	if (mkdtemp(path) == NULL)
		die(path);
	strcat(path, "/seen");

	tap_ok(make(1000) == 1 && is_whole(0), "a filter of one layer");
	memcpy(expected, whole, whole_bytes);
	every_bit("one layer");
	every_length("one layer");
	tap_ok(make(20) >= 2 && is_whole(0), "a filter of several layers");
	memcpy(expected, whole, whole_bytes);
	every_bit("several layers");
	every_length("several layers");

	close(fd);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	return tap_end();
}
