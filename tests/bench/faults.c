/*
 * What a cold filter costs who touches its pages one after the other:
 *
 *     faults FILE N       read a byte of N random pages of the mapped file
 *     faults FILE drop    take the file out of the page cache
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	int fd = argc == 3 ? open(argv[1], O_RDONLY) : -1;
	struct stat status;
	uint64_t x = 1, pages;
	volatile const uint8_t *p;

	if (fd < 0 || fstat(fd, &status) < 0 || status.st_size < 4096) {
		fputs("usage: faults FILE (N | drop)\n", stderr);
		return 2;
	}
	if (strcmp(argv[2], "drop") == 0) {
		return fdatasync(fd) != 0 ||
		    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0;
	}
	pages = (uint64_t)status.st_size / 4096;
	p = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED ||
	    madvise((void *)(uintptr_t)p, (size_t)status.st_size,
	    MADV_RANDOM) < 0) {
		perror(argv[1]);
		return 1;
	}
	for (unsigned long i = strtoul(argv[2], NULL, 10); i > 0; i--) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		(void)p[(x >> 20) % pages * 4096];
	}
	return 0;
}
