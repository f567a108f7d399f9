/*
 * The neighbour to beat: what anybody would write in forty lines, with getline
 * and libbloom (https://github.com/jvirkki/libbloom).
 *
 *     libbloom N P <lines >new-lines
 *
 * Compiled with -DBLOOM_INIT=bloom_init2 for version 2 of the library.
 */
#define _GNU_SOURCE
#include <bloom.h>
#include <stdio.h>
#include <stdlib.h>

#ifndef BLOOM_INIT
#define BLOOM_INIT bloom_init
#endif

int
main(int argc, char **argv)
{
	struct bloom bloom;
	char *line = NULL;
	size_t capacity = 0;
	ssize_t length;

	if (argc != 3 || BLOOM_INIT(&bloom, atoi(argv[1]), atof(argv[2])) != 0) {
		fprintf(stderr, "usage: libbloom N P (libbloom %s)\n",
		    bloom_version());
		return 2;
	}
	while ((length = getline(&line, &capacity, stdin)) >= 0) {
		int text = (int)length;

		if (text > 0 && line[text - 1] == '\n')
			text--;
		if (bloom_add(&bloom, line, text) == 0)
			fwrite_unlocked(line, 1, (size_t)length, stdout);
	}
	free(line);
	bloom_free(&bloom);
	return fflush(stdout) != 0;
}
