/*
 * The benchmark's inputs, the same on every machine:
 *
 *   generate urls N DISTINCT SEED   N URLs of 64 bytes on average, DISTINCT
 *                                   of them different, in random order
 *   generate queries N DISTINCT SEED  the same, each with one to six
 *                                   parameters, some of which have a space
 *                                   or an escape
 *   generate ids N DISTINCT SEED    the same, decimal numbers of up to ten digits
 *   generate new N FIRST            N different URLs; those from another FIRST
 *                                   on are different ones
 *   generate corpus N DISTINCT SEED   N lines of JSON with texts of 100 bytes
 *                                   to 20 KB, DISTINCT of them different
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* splitmix64: a permutation of the 64-bit numbers. */
static uint64_t
mix(uint64_t x)
{
	x += UINT64_C(0x9E3779B97F4A7C15);
	x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
	return x ^ x >> 31;
}

/* Output of our own: the program under test must not wait for printf. */
static char buffer[1 << 20];
static size_t filled;

static void
flush(void)
{
	if (fwrite(buffer, 1, filled, stdout) != filled)
		exit(1);
	filled = 0;
}

static char *
append(char *to, const char *text)
{
	size_t nbytes = strlen(text);

	memcpy(to, text, nbytes);
	return to + nbytes;
}

static char *
append_number(char *to, uint64_t n, unsigned base)
{
	char digits[64], *first = digits + sizeof digits;

	do {
		*--first = "0123456789abcdef"[n % base];
		n /= base;
	} while (n > 0);
	memcpy(to, first, (size_t)(digits + sizeof digits - first));
	return to + (digits + sizeof digits - first);
}

static char *
append_parameters(char *to, uint64_t random)
{
	static const char *const names[] = { "id", "page", "q", "utm_source",
		"lang", "sort", "ref", "category", "v", "session" };
	static const char *const texts[] = { "new+york", "caf%C3%A9",
		"%2Fhome%2Findex", "a,b", "en", "2026-11-26", "newest", "title",
		"aGVsbG8", "news.example.com", "search_box", "1" };

	for (uint64_t i = 0, n = 1 + random % 6; i < n; i++) {
		random = mix(random);
		*to++ = i == 0 ? '?' : '&';
		to = append(to, names[random % 10]);
		*to++ = '=';
		if (random >> 32 & 1)
			to = append_number(to, random >> 40, 10);
		else
			to = append(to, texts[random / 10 % 12]);
	}
	return to;
}

static void
print_url(uint64_t id, int has_query)
{
	static const char *const hosts[] = { "www.example.org",
		"news.example.com", "shop.example.net", "example.edu",
		"static.cdn.example.com", "blog.example.io" };
	static const char *const words[] = { "articles", "2024", "products",
		"index", "reviews", "images", "archive", "user", "tag", "q" };
	uint64_t h = mix(id);
	char *to;

	if (sizeof buffer - filled < 512)
		flush();
	to = append(buffer + filled, "https://");
	to = append(to, hosts[h % 6]);
	*to++ = '/';
	to = append(to, words[h / 6 % 10]);
	*to++ = '/';
	to = append(to, words[h / 60 % 10]);
	*to++ = '/';
	h = mix(h);
	/* the id, so that no two are the same, and a tail of up to 32 */
	to = append_number(to, id, 16);
	*to++ = '-';
	for (uint64_t i = h % 33; i > 0; i--) {
		h = h * UINT64_C(6364136223846793005) + 1442695040888963407u;
		*to++ = "abcdefghijklmnopqrstuvwxyz012345"[h >> 59];
	}
	if (has_query)
		to = append_parameters(to, mix(h));
	*to++ = '\n';
	filled = (size_t)(to - buffer);
}

static void
print_number(uint64_t n)
{
	char *to;

	if (sizeof buffer - filled < 256)
		flush();
	to = append_number(buffer + filled, n, 10);
	*to++ = '\n';
	filled = (size_t)(to - buffer);
}

/*
 * Words as in a natural text: the word of rank r comes 1/r as often as the
 * first, and the frequent ones are short.
 */
#define WORDS 65536
static char words[WORDS][16];
static unsigned char word_bytes[WORDS];

static void
make_words(void)
{
	for (unsigned i = 0; i < WORDS; i++) {
		unsigned rank = (unsigned)pow(30000, i / (double)WORDS);
		uint64_t random = mix(rank);
		unsigned n = 2 + (unsigned)(log2(rank) / 2 + random % 4);

		for (unsigned j = 0; j < n; j++) {
			random = mix(random);
			words[i][j] = "etaoinshrdlucmfw"[random % 16];
		}
		words[i][n] = ' ';
		word_bytes[i] = (unsigned char)(n + 1);
	}
}

/* A line whose text follows from the id; its lengths are log-uniform. */
static void
print_document(uint64_t number, uint64_t id)
{
	uint64_t random = mix(id);
	size_t nbytes = (size_t)(100 * pow(200, (double)(random >> 11) /
	    (double)(UINT64_C(1) << 53)));
	char *to, *end;

	if (sizeof buffer - filled < 32 * 1024)
		flush();
	to = append(buffer + filled, "{\"id\": ");
	to = append_number(to, number, 10);
	to = append(to, ", \"source\": \"crawl\", \"text\": \"");
	for (end = to + nbytes; to < end; random = mix(random)) {
		for (unsigned i = 0; i < 4; i++) {
			unsigned word = random >> 16 * i & (WORDS - 1);

			memcpy(to, words[word], sizeof words[word]);
			to += word_bytes[word];
		}
		if (random % 64 == 0)
			to = append(to, "\\n");
	}
	to = append(to, "\"}\n");
	filled = (size_t)(to - buffer);
}

int
main(int argc, char **argv)
{
	uint64_t n, distinct, seed;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 4 && strcmp(argv[1], "new") == 0) {
		n = strtoull(argv[2], NULL, 10);
		seed = strtoull(argv[3], NULL, 10);
		for (uint64_t i = 0; i < n; i++)
			print_url(seed + i, 0);
		flush();
		return 0;
	}
	if (argc != 5)
		return 2;
	n = strtoull(argv[2], NULL, 10);
	distinct = strtoull(argv[3], NULL, 10);
	seed = strtoull(argv[4], NULL, 10);
	make_words();
	/*
	 * Each of the distinct ids comes at least once: so many steps of the
	 * way are left, so many ids are left.
	 */
	uint64_t next = 0, random = mix(seed);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t id;

		random = mix(random);
		if (next == 0 || random % (n - i) < distinct - next)
			id = next++;
		else
			id = mix(random) % next;
		if (strcmp(argv[1], "ids") == 0)
			print_number(mix(id ^ seed) % 10000000000u);
		else if (strcmp(argv[1], "corpus") == 0)
			print_document(i, id ^ seed << 40);
		else
			print_url(id, strcmp(argv[1], "queries") == 0);
	}
	flush();
	return 0;
}
