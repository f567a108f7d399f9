/*
 * gaps: the longest time between two reads of the standard input, which should
 * never pause: in milliseconds, with the number of lines before.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

int
main(void)
{
	static char data[1 << 16];
	double longest = 0, last = 0;
	long long lines = 0, at = 0;
	ssize_t n;

	while ((n = read(0, data, sizeof data)) > 0) {
		double gap = last > 0 ? now() - last : 0;

		if (gap > longest) {
			longest = gap;
			at = lines;
		}
		for (ssize_t i = 0; i < n; i++)
			lines += data[i] == '\n';
		last = now();
	}
	printf("%.1f %lld\n", longest, at);
	return n < 0;
}
