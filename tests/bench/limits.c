/*
 * What the machine needs for the parts of a line, each alone and as well as it
 * can: limits FILE BYTES prints nanoseconds a line.
 *
 *   read     the lines of FILE with read(2) into 256 KiB
 *   split    the same, and to find the ends of lines with memchr(3)
 *   hash     XXH3-128 of each line, in the cache
 *   probe    two random cache lines in a page of a file of BYTES that is
 *            mapped, tested; prefetched well ahead
 *   mark     the same, changed, while they are in the cache
 *   write    to copy the line, in the cache
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define PIECE (256 * 1024)
#define BATCH 1024
#define ROUNDS 2000

static char data[PIECE + 64], copy[PIECE + 64];
static volatile uint64_t sink;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static size_t
count_lines(const char *p, size_t nbytes)
{
	const char *end = p + nbytes;
	size_t lines = 0;

	while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		p++;
		lines++;
	}
	return lines;
}

/* Read the file; the lines in it if `count`, else 0. */
static size_t
read_all(int fd, int count)
{
	size_t lines = 0;
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	while ((n = read(fd, data, PIECE)) > 0) {
		if (count)
			lines += count_lines(data, (size_t)n);
	}
	return lines;
}

static void
hash_and_copy(void)
{
	const char *starts[PIECE / 4 + 1];
	size_t lines = 0, rounds = ROUNDS / 10;
	double start;

	starts[0] = data;
	for (const char *p = data; lines < PIECE / 4 &&
	    (p = memchr(p, '\n', (size_t)(data + PIECE - p))) != NULL; )
		starts[++lines] = ++p;
	start = now();
	for (size_t r = 0; r < rounds; r++) {
		for (size_t i = 0; i < lines; i++)
			sink += XXH3_128bits_withSeed(starts[i], (size_t)
			    (starts[i + 1] - starts[i] - 1), r).low64;
	}
	printf("hash %.1f\n", (now() - start) / (double)(rounds * lines));
	start = now();
	for (size_t r = 0; r < rounds; r++) {
		char *to = copy;

		for (size_t i = 0; i < lines; i++) {
			size_t n = (size_t)(starts[i + 1] - starts[i]);

			memcpy(to, starts[i], n);
			to += n;
		}
		sink += (uint64_t)copy[r];
	}
	printf("write %.1f\n", (now() - start) / (double)(rounds * lines));
}

/* The eight lanes of a cache line, as the filter has them. */
typedef uint64_t lanes __attribute__((vector_size(64), aligned(64)));

static void
probe_and_mark(size_t nbytes)
{
	char name[] = "limits-XXXXXX";
	int fd = mkstemp(name);
	uint64_t pages = nbytes / 4096, x = 1, found = 0;
	double probing = 0, marking = 0;
	lanes *map, one = { 1, 2, 4, 8, 16, 32, 64, 128 };

	if (fd < 0 || ftruncate(fd, (off_t)nbytes) < 0)
		exit(1);
	unlink(name);
	map = mmap(NULL, nbytes, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_POPULATE, fd, 0);
	if (map == MAP_FAILED)
		exit(1);
	for (size_t i = 0; i < nbytes; i += 4096)
		map[i / 64][0] = 1;
	for (int r = 0; r < ROUNDS; r++) {
		size_t at[2 * BATCH];
		double start = now(), middle;

		for (size_t i = 0; i < BATCH; i++) {
			x = x * UINT64_C(6364136223846793005) + 1;
			at[2 * i] = (x >> 32) * pages / (UINT64_C(1) << 32) *
			    64 + (x >> 20 & 31);
			at[2 * i + 1] = (at[2 * i] & ~(size_t)63) + 32 +
			    (x >> 12 & 31);
			__builtin_prefetch(&map[at[2 * i]], 0, 2);
			__builtin_prefetch(&map[at[2 * i + 1]], 0, 2);
		}
		for (size_t i = 0; i < 2 * BATCH; i++) {
			lanes missing = one & ~map[at[i]];

			found += (missing[0] | missing[7]) == 0;
		}
		middle = now();
		for (size_t i = 0; i < 2 * BATCH; i++)
			map[at[i]] |= one;
		probing += middle - start;
		marking += now() - middle;
	}
	sink += found;
	printf("probe %.1f\nmark %.1f\n", probing / ROUNDS / BATCH,
	    marking / ROUNDS / BATCH);
	munmap(map, nbytes);
	close(fd);
}

int
main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	double start, reading;
	size_t lines;

	if (fd < 0) {
		fputs("usage: limits FILE BYTES\n", stderr);
		return 2;
	}
	lines = read_all(fd, 1);
	start = now();
	read_all(fd, 0);
	reading = now() - start;
	start = now();
	read_all(fd, 1);
	printf("read %.1f\nsplit %.1f\n", reading / (double)lines,
	    (now() - start - reading) / (double)lines);
	lseek(fd, 0, SEEK_SET);
	if (read(fd, data, PIECE) != PIECE)
		return 1;
	hash_and_copy();
	probe_and_mark(strtoull(argv[2], NULL, 10) & ~UINT64_C(4095));
	return 0;
}
