/*
 * Goal: the part of a key is the one in bloomdedup(5), for ever: files that
 * were partitioned and filters of parts are of no use with another one. The
 * vectors come from the second reader, tests/format/reader.py.
 */
#include <inttypes.h>
#include <string.h>

#include "key/key.h"
#include "random64.h"
#include "tap.h"

static uint64_t
hash_of(const char *text)
{
	struct key key = { (const uint8_t *)text, strlen(text) };
	uint64_t hash;

	hash_plain(&key, 1, &hash);
	return hash;
}

static void
check_vectors(void)
{
	char x300[301];
	const struct {
		const char *key;
		uint64_t hash;
		unsigned of16, of1000, of4096;
	} vectors[] = {
		{ "", 0x2d06800538d394c2, 3, 176, 721 },
		{ "a", 0xe6c632b61e964e1f, 15, 902, 3693 },
		{ "https://www.debian.org/", 0xe039a5d0f2dfe5a4,
		    15, 876, 3588 },
		{ x300, 0xa5d1b4607dc83554, 11, 648, 2654 },
	};

	memset(x300, 'x', 300);
	x300[300] = '\0';
	for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
		uint64_t hash = hash_of(vectors[i].key);

		tap_ok(hash == vectors[i].hash &&
		    part_of(hash, 16) == vectors[i].of16 &&
		    part_of(hash, 1000) == vectors[i].of1000 &&
		    part_of(hash, 4096) == vectors[i].of4096 &&
		    part_of(hash, 1) == 1, "the parts of '%.30s'",
		    vectors[i].key);
	}
}

/* floor(h * n / 2^64), by adding up h shifted by each bit of n. */
static unsigned
model_part(uint64_t h, unsigned n)
{
	uint64_t low = 0, high = 0;

	for (unsigned bit = 0; bit < 13; bit++) {
		uint64_t more = bit == 0 ? h : h << bit;

		if (!(n >> bit & 1))
			continue;
		high += bit == 0 ? 0 : h >> (64 - bit);
		low += more;
		high += low < more;
	}
	return 1 + (unsigned)high;
}

static void
check_model(void)
{
	static const uint64_t ends[] = { 0, 1, UINT32_MAX,
		(uint64_t)UINT32_MAX + 1, UINT64_MAX - 1, UINT64_MAX };
	int same = 1;

	for (unsigned n = 1; n <= PARTS_MAX; n++) {
		for (size_t i = 0; i < 40; i++) {
			uint64_t h = i < 6 ? ends[i] : random64();

			same &= part_of(h, n) == model_part(h, n);
		}
	}
	tap_ok(same, "parts are those of long multiplication");
}

static void
check_texts(void)
{
	static const char *const refused[] = { "", "1", "/", "1/", "/2", "0/2",
		"3/2", "1/0", "1/4097", "01/2", "1/02", "1/2/", "1/2 ", " 1/2",
		"+1/2", "-1/2", "1//2", "1-2", "99999999999/99999999999",
		"1/4294967298" };
	struct key_recipe r = { .part = 7, .parts = 9 };

	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		tap_ok(key_option(&r, "part", refused[i]) < 0 && r.part == 7 &&
		    r.parts == 9, "'%s' is refused", refused[i]);
	tap_ok(key_option(&r, "part", "1/1") == 0 && r.part == 1 &&
	    r.parts == 1, "1/1");
	tap_ok(key_option(&r, "part", "4096/4096") == 0 && r.part == 4096 &&
	    r.parts == 4096, "4096/4096");
}

int
main(void)
{
	check_vectors();
	check_model();
	check_texts();
	return tap_end();
}
