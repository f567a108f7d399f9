/*
 * An adversary that knows all of a filter but its secret, and guesses that.
 *
 *   adversary AIM GUESS N FILTER    print N lines, the worst that he finds
 *
 * He fills a filter of the same shape with the same hash and the secret that
 * he believes in, and takes of each SEVERAL lines the worst one:
 *
 *   bits     that sets the most bits which are not set yet
 *   pages    that lies in the first pages
 *
 * His GUESS is `zero`, `default` (the one that hash functions are shipped or
 * tested with), or `known`: the true one, from FILTER.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bits/block.h"
#include "filter/filter.h"

#define SEVERAL 16

/* A line that is looked at: what it would do under his secret. */
struct look {
	const struct geometry *geometry;
	const uint8_t *pages;
	uint64_t new_bits;
	uint64_t page;
};

static void
count_bit(void *context, uint64_t page, unsigned line, unsigned lane,
    unsigned bit)
{
	struct look *look = context;
	const uint8_t *byte = look->pages + page * PAGE_BYTES +
	    line * CACHE_LINE_BYTES + lane * 8 + bit / 8;

	look->page = page;
	look->new_bits += !(*byte >> bit % 8 & 1);
}

/* How much he likes it. */
static uint64_t
worth(const struct look *look, int aims_at_pages)
{
	return aims_at_pages ? look->geometry->pages - look->page :
	    look->new_bits;
}

static void
guess_secret(struct hash *hash, const char *guess)
{
	if (strcmp(guess, "known") == 0)
		return;
	memset(hash->secret, 0, sizeof hash->secret);
	if (strcmp(guess, "zero") == 0)
		return;
	if (hash->kind == HASH_XXH3_128) {
		memcpy(hash->secret, XXH3_kSecret, sizeof XXH3_kSecret);
	} else { /* the key of the reference's test vectors */
		for (unsigned i = 0; i < hash_secret_bytes(hash->kind); i++)
			hash->secret[i] = (uint8_t)i;
	}
}

_Static_assert(sizeof XXH3_kSecret == HASH_SECRET_MAX, "the whole secret");

static void
choose(const struct hash *hash, const struct block_array *array, uint64_t n,
    int aims_at_pages)
{
	char line[] = "https://example.com/?q=000000000000";
	char best_line[sizeof line] = "";

	while (n-- > 0) {
		uint64_t best = 0;
		struct digest best_digest = { 0, 0 };

		for (int i = 0; i < SEVERAL; i++) {
			struct look look = { &array->geometry, array->pages,
				0, 0 };
			struct key key = { (const uint8_t *)line,
				sizeof line - 1 };
			struct digest digest;
			char *digit = line + sizeof line - 2;

			/* the next number; sprintf would be slow */
			for (; *digit == '9'; digit--)
				*digit = '0';
			++*digit;
			loops()->digest(hash, &key, 1, &digest);
			block_visit(&array->geometry, digest, count_bit,
			    &look);
			if (i > 0 && worth(&look, aims_at_pages) <= best)
				continue;
			best = worth(&look, aims_at_pages);
			best_digest = digest;
			memcpy(best_line, line, sizeof line);
		}
		loops()->mark(array, &best_digest, 1);
		puts(best_line);
	}
}

int
main(int argc, char **argv)
{
	const struct filter_use use = FILTER_READ;
	struct filter *filter;
	struct hash hash;
	struct block_array array;
	struct error error;
	size_t nbytes;

	if (argc != 5) {
		fprintf(stderr,
		    "adversary: see the head of tests/adversary.c\n");
		return 2;
	}
	if (filter_open(&filter, argv[4], &use, &error) != 0) {
		fprintf(stderr, "adversary: cannot open %s\n", argv[4]);
		return 1;
	}
	array.geometry = filter_table(filter)->layers[0].geometry;
	nbytes = (size_t)array.geometry.pages * PAGE_BYTES;
	array.pages = aligned_alloc(PAGE_BYTES, nbytes);
	if (array.pages == NULL)
		return 1;
	memset(array.pages, 0, nbytes);
	hash = filter_header(filter)->hash;
	guess_secret(&hash, argv[2]);
	choose(&hash, &array, strtoull(argv[3], NULL, 10),
	    strcmp(argv[1], "pages") == 0);
	free(array.pages);
	filter_close(filter, &error);
	return fflush(stdout) != 0;
}
