/*
 * The benchmark's inputs, the same on every machine:
 *
 *   generate urls N DISTINCT SEED   N URLs of 64 bytes on average, DISTINCT
 *                                   of them different, in random order
 *   generate ids N DISTINCT SEED    the same, decimal numbers of up to ten digits
 *   generate new N FIRST            N different URLs; those from another FIRST
 *                                   on are different ones
 */
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

static void
print_url(uint64_t id)
{
	static const char *const hosts[] = { "www.example.org",
		"news.example.com", "shop.example.net", "example.edu",
		"static.cdn.example.com", "blog.example.io" };
	static const char *const words[] = { "articles", "2024", "products",
		"index", "reviews", "images", "archive", "user", "tag", "q" };
	uint64_t h = mix(id);
	char *to;

	if (sizeof buffer - filled < 256)
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

int
main(int argc, char **argv)
{
	uint64_t n, distinct, seed;

	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 4 && strcmp(argv[1], "new") == 0) {
		n = strtoull(argv[2], NULL, 10);
		seed = strtoull(argv[3], NULL, 10);
		for (uint64_t i = 0; i < n; i++)
			print_url(seed + i);
		flush();
		return 0;
	}
	if (argc != 5)
		return 2;
	n = strtoull(argv[2], NULL, 10);
	distinct = strtoull(argv[3], NULL, 10);
	seed = strtoull(argv[4], NULL, 10);
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
		else
			print_url(id);
	}
	flush();
	return 0;
}
