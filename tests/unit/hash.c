/*
 * Goal: a key's way to its bits is the one in bloomdedup(5), for ever. The
 * vectors come from the second reader, tests/reader.py.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bits/block.h"
#include "bits/loops.h"
#include "tap.h"

static void
append(void *context, uint64_t page, unsigned line, unsigned lane, unsigned bit)
{
	char *text = context;
	size_t length = strlen(text);

	if (length == 0)
		length = (size_t)sprintf(text, "%" PRIu64 "\t", page);
	sprintf(text + length, "%s%u:%u:%u",
	    text[length - 1] == '\t' ? "" : " ", line, lane, bit);
}

static size_t
from_hex(const char *hex, size_t digits, uint8_t *bytes)
{
	for (size_t i = 0; i < digits / 2; i++) {
		unsigned byte;
		sscanf(hex + 2 * i, "%2x", &byte);
		bytes[i] = (uint8_t)byte;
	}
	return digits / 2;
}

int
main(int argc, char **argv)
{
	struct hash hash = { .kind = HASH_XXH3_128 };
	struct geometry geometry = { .pages = 1000, .k = 20, .cache_lines = 3 };
	char line[4096], expected[2048], got[2048];
	const char *path = argc > 1 ? argv[1] : "tests/unit/vectors.txt";
	FILE *file = fopen(path, "r");
	int vectors = 0;

	if (file == NULL) {
		perror(path);
		return 1;
	}
	for (unsigned i = 0; i < sizeof hash.secret; i++)
		hash.secret[i] = (uint8_t)i;
	while (fgets(line, sizeof line, file) != NULL) {
		uint8_t key[1024];
		uint64_t low, high;
		char *tab;
		size_t nbytes;
		struct digest digest;

		if (line[0] == '#')
			continue;
		line[strcspn(line, "\n")] = '\0';
		tab = strchr(line, '\t');
		nbytes = from_hex(line, (size_t)(tab - line), key);
		sscanf(tab, "%" SCNx64 "\t%" SCNx64, &low, &high);
		strcpy(expected, tab + 1 + 2 * 17);
		loops()->digest(&hash, &(struct key){ key, nbytes }, 1,
		    &digest);
		tap_ok(digest.low == low && digest.high == high,
		    "digest of a key of %zu bytes", nbytes);
		got[0] = '\0';
		block_visit(&geometry, digest, append, got);
		if (!tap_ok(strcmp(got, expected) == 0,
		    "bits of a key of %zu bytes", nbytes))
			printf("# %s\n# %s\n", got, expected);
		vectors++;
	}
	fclose(file);
	tap_ok(vectors >= 4, "%d vectors", vectors);
	return tap_end();
}
