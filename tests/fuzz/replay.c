/*
 * Feed files to a fuzz target, without a fuzzer: replay-TARGET FILE... What
 * must hold and doesn't ends it by abort(), with the name of the file above.
 */
#include "fuzz.h"

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		uint8_t *data;
		long nbytes;

		fprintf(stderr, "%s\n", argv[i]);
		if (file == NULL || fseek(file, 0, SEEK_END) < 0 ||
		    (nbytes = ftell(file)) < 0) {
			perror(argv[i]);
			return 1;
		}
		rewind(file);
		/* exactly as long, so that a sanitizer sees its end */
		data = malloc(nbytes > 0 ? (size_t)nbytes : 1);
		MUST(data != NULL &&
		    fread(data, 1, (size_t)nbytes, file) == (size_t)nbytes);
		fclose(file);
		LLVMFuzzerTestOneInput(data, (size_t)nbytes);
		free(data);
	}
	printf("%d replayed\n", argc - 1);
	return 0;
}
