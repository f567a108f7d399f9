/*
 * Goal: keys, chunks and slots are where the manual says, for ever; each bit of
 * a page has the number that Redis gives it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits/block.h"
#include "redis/cluster.h"
#include "redis/group.h"
#include "redis/layout.h"
#include "random64.h"
#include "tap.h"

static char name[] = "seen";
static const struct redis_keys keys = { name, { 0x01, 0x23, 0x45, 0x67, 0x89,
	0xab, 0xcd, 0xef, 0xff, 0xff } };

static void
key_names(void)
{
	char key[REDIS_KEY_MAX];
	size_t n;

	n = key_header(key, &keys);
	tap_ok(strcmp(key, "bloomdedup:{seen}:header") == 0 &&
	    n == strlen(key), "the header's key");
	n = key_table(key, &keys);
	tap_ok(strcmp(key, "bloomdedup:{seen}:table") == 0 &&
	    n == strlen(key), "the table's key");
	n = key_lines(key, &keys, 3);
	tap_ok(strcmp(key, "bloomdedup:{seen}:lines:3:0123456789abcdef") == 0
	    && n == strlen(key), "a counter's key");
	n = key_chunk(key, &keys, 0, 17);
	tap_ok(strcmp(key, "bloomdedup:{seen:L0:17:0123456789abcdef}") == 0 &&
	    n == strlen(key), "a chunk's key");
}

static void
longest_names(void)
{
	char longest[ADDRESS_NAME_MAX + 1], key[REDIS_KEY_MAX];
	struct redis_keys same = keys;

	memset(longest, 'x', ADDRESS_NAME_MAX);
	longest[ADDRESS_NAME_MAX] = '\0';
	same.name = longest;
	tap_ok(key_chunk(key, &same, UINT64_MAX, UINT64_MAX) ==
	    strlen(key), "the longest key has room");
}

static void
chunks(void)
{
	tap_ok(chunk_count(1) == 1 && chunk_count(63) == 1 &&
	    chunk_count(64) == 2 && chunk_count(126) == 2, "63 pages a chunk");
	tap_ok(chunk_bytes(1, 0) == 4096 && chunk_bytes(63, 0) == 258048 &&
	    chunk_bytes(64, 0) == 258048 && chunk_bytes(64, 1) == 4096,
	    "the last one has what is left");
	tap_ok(CHUNK_BYTES + TRAILER_BYTES + 64 <= 256 * 1024,
	    "a chunk fits in an allocation of 256 KiB");
}

static void
trailers(void)
{
	uint8_t trailer[TRAILER_BYTES];
	struct redis_keys other = keys;

	trailer_encode(&keys, 2, 5, trailer);
	trailer_encode(&keys, UINT64_C(1) << 40, 5, trailer);
	tap_ok(trailer_check(&keys, UINT64_C(1) << 40, 5, trailer,
	    sizeof trailer) && !trailer_check(&keys, 0, 5, trailer,
	    sizeof trailer), "a layer's number has 64 bits");
	trailer_encode(&keys, 2, 5, trailer);
	tap_ok(trailer_check(&keys, 2, 5, trailer, sizeof trailer),
	    "a trailer is known again");
	trailer[0] = 1;
	tap_ok(trailer_check(&keys, 2, 5, trailer, sizeof trailer),
	    "also if the chunk is closed");
	tap_ok(!trailer_check(&keys, 1, 5, trailer, sizeof trailer) &&
	    !trailer_check(&keys, 2, 4, trailer, sizeof trailer),
	    "that of another chunk is not");
	tap_ok(!trailer_check(&keys, 2, 5, trailer, sizeof trailer - 1),
	    "one that is cut short is not");
	other.id[15] ^= 1;
	tap_ok(!trailer_check(&other, 2, 5, trailer, sizeof trailer),
	    "that of another filter is not");
}

/* The vectors are those of `redis-cli cluster keyslot`. */
static void
slots(void)
{
	static const struct { const char *key; unsigned slot; } vectors[] = {
		{ "123456789", 12739 }, { "", 0 }, { "foo", 12182 },
		{ "{foo}bar", 12182 }, { "x{foo}{bar}", 12182 },
		{ "{}foo", 9500 }
	};

	for (size_t i = 0; i < 6; i++)
		tap_ok(cluster_slot(vectors[i].key, strlen(vectors[i].key)) ==
		    vectors[i].slot, "the slot of \"%s\"", vectors[i].key);
}

static void
advice(void)
{
	struct cluster_address a;

	tap_ok(cluster_advice("MOVED 3999 127.0.0.1:6381", &a) ==
	    CLUSTER_MOVED && strcmp(a.host, "127.0.0.1") == 0 &&
	    a.port == 6381, "MOVED");
	tap_ok(cluster_advice("ASK 3999 ::1:6381", &a) == CLUSTER_ASK &&
	    strcmp(a.host, "::1") == 0 && a.port == 6381, "ASK, with IPv6");
	tap_ok(cluster_advice("MOVED 1 :7000", &a) == CLUSTER_MOVED &&
	    a.host[0] == '\0' && a.port == 7000, "MOVED on the same host");
	tap_ok(cluster_advice("TRYAGAIN Multiple keys", &a) ==
	    CLUSTER_MIGRATING, "TRYAGAIN");
	tap_ok(cluster_advice("LOADING Redis is loading", &a) == CLUSTER_WAIT
	    && cluster_advice("OOM command not allowed", &a) == CLUSTER_WAIT &&
	    cluster_advice("CLUSTERDOWN The cluster is down", &a) ==
	    CLUSTER_WAIT, "what passes is waited for");
	tap_ok(cluster_advice("NOAUTH Authentication required.", &a) ==
	    CLUSTER_FAIL && cluster_advice("WRONGTYPE x", &a) == CLUSTER_FAIL
	    && cluster_advice("NOPERM x", &a) == CLUSTER_FAIL &&
	    cluster_advice("MOVED", &a) == CLUSTER_FAIL &&
	    cluster_advice("MOVED 1 h:x", &a) == CLUSTER_FAIL &&
	    cluster_advice("BUSYKEY x", &a) == CLUSTER_FAIL, "the rest fails");
}

static void
bit_numbers(void)
{
	tap_ok(redis_bit(0, 7) == 0 && redis_bit(0, 0) == 7 &&
	    redis_bit(3, 2) == 29, "bits count from the high end of a byte");
}

static int
is_grouped(const struct group *g, const struct geometry *geometry,
    const struct digest *digests, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t page;

		block_pages(geometry, &digests[group_item(g, i)], 1, &page);
		if (page / CHUNK_PAGES != group_chunk(g, i))
			return 0;
		if (i > 0 && (group_chunk(g, i) < group_chunk(g, i - 1) ||
		    (group_chunk(g, i) == group_chunk(g, i - 1) &&
		    group_item(g, i) < group_item(g, i - 1))))
			return 0;
	}
	return 1;
}

static void
groups(void)
{
	static const uint64_t pages[] = { 1, 63, 64, 5000, 200000, 1u << 30 };
	static const size_t counts[] = { 1, 2, 50, 3000 };
	static struct digest digests[3000];
	struct group g = { 0 };
	int right = 1;

	for (size_t p = 0; p < 6; p++) {
		struct geometry geometry = { pages[p], 20, 3 };

		for (size_t c = 0; c < 4; c++) {
			for (size_t i = 0; i < counts[c]; i++)
				digests[i] = random_digest();
			group_sort(&g, &geometry, digests, counts[c]);
			right &= is_grouped(&g, &geometry, digests,
			    counts[c]);
			right &= group_end(&g, 0, counts[c]) > 0;
		}
	}
	tap_ok(right, "digests are in the order of chunks, and of their own");
	group_free(&g);
}

int
main(void)
{
	key_names();
	longest_names();
	chunks();
	trailers();
	slots();
	advice();
	bit_numbers();
	groups();
	return tap_end();
}
