/*
 * Goal: keys, header and slots are where the manual says, for ever; shards are
 * as large as the server's hash needs, and each line has one.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/le.h"
#include "bits/block.h"
#include "redis/cluster.h"
#include "redis/layout.h"
#include "redis/shards.h"
#include "random64.h"
#include "tap.h"

static const uint8_t id[FILTER_ID_BYTES] = { 0x01, 0x23, 0x45, 0x67, 0x89,
	0xab, 0xcd, 0xef, 0xff, 0xff };

static void
key_names(void)
{
	char key[LAYOUT_KEY_MAX], longest[ADDRESS_NAME_MAX + 1];
	size_t n;

	n = layout_header_key(key, "seen");
	tap_ok(strcmp(key, "bloomdedup:{seen}") == 0 && n == strlen(key),
	    "the header's key");
	n = layout_generation_key(key, "seen", id, 77);
	tap_ok(strcmp(key, "bloomdedup:{seen:0123456789abcdef:77}") == 0 &&
	    n == strlen(key), "a generation's key");
	layout_shard_key(key, "seen", id, 77, 17);
	tap_ok(strcmp(key, "bloomdedup-shard:{seen:0123456789abcdef:77:17}")
	    == 0, "the key of a shard of it");
	n = layout_shard_key(key, "seen", id, LAYOUT_NO_GENERATION, 17);
	tap_ok(strcmp(key, "bloomdedup-shard:{seen:0123456789abcdef:17}") == 0
	    && n == strlen(key), "a shard's key");
	memset(longest, 'x', ADDRESS_NAME_MAX);
	longest[ADDRESS_NAME_MAX] = '\0';
	tap_ok(layout_shard_key(key, longest, id, INT64_MIN + 1, 1023) ==
	    strlen(key), "the longest key has room");
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
	static const char *const permanent[] = {
		"NOAUTH Authentication required.", "WRONGTYPE x", "NOPERM x",
		"MOVED", "MOVED 1 h:x", "BUSYKEY x", "OOM command not allowed"
	};
	char host[256];
	int port;

	tap_ok(cluster_advice("MOVED 3999 127.0.0.1:6381", host, &port) ==
	    CLUSTER_MOVED && strcmp(host, "127.0.0.1") == 0 &&
	    port == 6381, "MOVED");
	tap_ok(cluster_advice("ASK 3999 ::1:6381", host, &port) ==
	    CLUSTER_ASK && strcmp(host, "::1") == 0 && port == 6381,
	    "ASK, with IPv6");
	tap_ok(cluster_advice("MOVED 1 :7000", host, &port) == CLUSTER_MOVED &&
	    host[0] == '\0' && port == 7000, "MOVED on the same host");
	tap_ok(cluster_advice("LOADING Redis is loading", host, &port) ==
	    CLUSTER_WAIT && cluster_advice("TRYAGAIN Multiple keys", host,
	    &port) == CLUSTER_WAIT && cluster_advice("CLUSTERDOWN The cluster"
	    " is down", host, &port) == CLUSTER_WAIT,
	    "what passes is waited for");
	for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
		tap_ok(cluster_advice(permanent[i], host, &port) ==
		    CLUSTER_FAIL, "not waited for: %s", permanent[i]);
}

/* Bits of a shard's first layer, at half of the rate. */
static double
first_bits(const struct layout *l, double rate)
{
	return (double)l->capacity * -log(rate / 2) / (M_LN2 * M_LN2);
}

static void
own_filters(void)
{
	static const double rates[] = { 1e-2, 1e-3, 1e-6, 1e-8 };
	int enough = 1, holds = 1, largest = 1;
	struct layout l;

	for (size_t i = 0; i < 4; i++) {
		for (double n = 1; n < 1e15; n *= 3) {
			layout_bloom(&l, (uint64_t)n, rates[i], GROWTH_GROW,
			    1);
			enough &= first_bits(&l, rates[i]) >= 4 / rates[i];
			holds &= (double)l.capacity * l.shards >= n;
			layout_bloom(&l, (uint64_t)n, rates[i], GROWTH_GROW,
			    0);
			largest &= l.shards == LAYOUT_SHARDS_MAX ||
			    first_bits(&l, rates[i]) / 2.2 < 4 / rates[i] ||
			    first_bits(&l, rates[i]) / 2.2 < 1 << 19;
		}
	}
	tap_ok(enough, "a shard has at least 4/p bits, for the server's hash");
	tap_ok(holds, "all shards together hold the capacity");
	tap_ok(largest, "there are as many shards as that allows");
	layout_bloom(&l, 1000000, 1e-6, GROWTH_GROW, 1);
	tap_ok(l.rate == 1e-6 && l.shards == 4, "RedisBloom halves the rate");
	layout_bloom(&l, 1000000, 1e-6, GROWTH_GROW, 0);
	tap_ok(l.rate == 5e-7, "valkey-bloom doesn't");
	layout_bloom(&l, 1000000, 1e-6, GROWTH_FAIL, 1);
	tap_ok(l.rate == 5e-7, "nor does RedisBloom if it can't grow");
}

static void
bit_strings(void)
{
	struct error error;
	struct layout l;

	tap_ok(layout_bits(&l, 10000000, 1e-6, &error) == 0 &&
	    l.geometry.pages % l.shards == 0 && l.shards > 1 &&
	    l.shard_pages >= 128 &&
	    geometry_rate(&l.geometry, 10000000) <= 1e-6,
	    "strings of whole pages keep the rate");
	tap_ok(layout_bits(&l, 1, 1e-6, &error) == 0 && l.shards == 1,
	    "a small filter has one");
	tap_ok(layout_bits(&l, (uint64_t)1 << 52, 1e-6, &error) < 0,
	    "one that is too large is refused: %s", error.text);
}

static void
tables(void)
{
	struct header header = { .error_rate = 1e-6, .growth = GROWTH_GROW };
	struct table t = { 0 };
	struct layout l;

	layout_bloom(&l, 1000000, 1e-6, GROWTH_GROW, 1);
	layout_table(&l, &header, 1000, &t);
	tap_ok(t.count == 1 && t.layers[0].lines == 1000, "one layer");
	t.count = 0;
	layout_table(&l, &header, 10 * l.capacity * l.shards, &t);
	tap_ok(t.count == 4 && t.layers[3].lines == 3 * l.capacity * l.shards
	    && t.layers[1].capacity == 2 * t.layers[0].capacity,
	    "ten times the capacity: four, each twice as large");
	t.count = 0;
	for (int i = 0; i < 5; i++)
		layout_table(&l, &header, UINT64_MAX, &t);
	tap_ok(t.count <= TABLE_LAYERS_MAX, "and never too many");
	header.growth = GROWTH_WARN;
	t.count = 0;
	layout_table(&l, &header, 10 * l.capacity * l.shards, &t);
	tap_ok(t.count == 1, "one that doesn't grow has one");
}

/*
 * A hostile header has any rate above 0. That its sizes are no casts of
 * infinity is for the sanitizers to see.
 */
static void
rates_near_0(void)
{
	struct header header = { .error_rate = 5e-324, .growth = GROWTH_GROW };
	struct layout l = { .kind = SHARDS_BLOOM, .shards = LAYOUT_SHARDS_MAX,
		.shard_pages = 1, .capacity = UINT64_C(1) << 53 };
	struct table t = { 0 };
	uint64_t pages = 0;

	layout_table(&l, &header, UINT64_MAX, &t);
	for (unsigned i = 0; i < t.count; i++)
		pages += t.layers[i].geometry.pages;
	tap_ok(pages > 0 && pages <= PAGES_MAX, "a rate near 0: the layers fit"
	    " a filter's largest size");
	tap_ok(layout_bytes(&l, &header) == PAGES_MAX * PAGE_BYTES,
	    "and so do all shards");
}

static int
decodes(const uint8_t *bytes, size_t nbytes)
{
	struct header header;
	struct layout l;

	return layout_decode(&l, &header, "seen", bytes, nbytes,
	    &(struct error){ 0 }) == 0;
}

/* A field that is out of range, with a right checksum. */
static int
refuses(const uint8_t *right, size_t at, uint64_t value, unsigned size)
{
	uint8_t bytes[LAYOUT_HEADER_BYTES];

	memcpy(bytes, right, sizeof bytes);
	le_put(bytes + PAGE_BYTES + at, value, size);
	le_put32(bytes + sizeof bytes - 4, (uint32_t)crc32(0, bytes,
	    sizeof bytes - 4));
	return !decodes(bytes, sizeof bytes);
}

static void
headers(void)
{
	struct header header = { .capacity = 1000, .error_rate = 1e-6,
		.hash.kind = HASH_XXH3_128, .version_to_write = 1 }, got;
	uint8_t bytes[LAYOUT_HEADER_BYTES];
	struct layout l, back;
	int all = 1;

	memcpy(header.id, id, sizeof id);
	for (int bits = 0; bits < 2; bits++) {
		if (bits)
			layout_bits(&l, 1000000, 1e-6, &(struct error){ 0 });
		else
			layout_bloom(&l, 1000000, 1e-6, GROWTH_GROW, 1);
		layout_encode(&l, &header, "seen", bytes);
		tap_ok(layout_decode(&back, &got, "other", bytes, sizeof bytes,
		    &(struct error){ 0 }) < 0, "no header of another name");
		tap_ok(layout_decode(&back, &got, "seen", bytes, sizeof bytes,
		    &(struct error){ 0 }) == 0 && back.kind == l.kind &&
		    back.shards == l.shards && back.rate == l.rate &&
		    back.capacity == l.capacity &&
		    geometry_is_same(&back.geometry, &l.geometry) &&
		    memcmp(got.id, id, sizeof id) == 0,
		    "a header comes back");
		for (size_t i = 0; i < sizeof bytes; i++) {
			bytes[i] ^= 1;
			all &= !decodes(bytes, sizeof bytes);
			bytes[i] ^= 1;
		}
		tap_ok(all, "and any byte that is changed is seen");
		tap_ok(!decodes(bytes, sizeof bytes - 1) &&
		    refuses(bytes, 8, 2, 4) && refuses(bytes, 12, 3, 4) &&
		    refuses(bytes, 16, 0, 4) && refuses(bytes, 16, 3, 4) &&
		    refuses(bytes, 16, 2048, 4) && refuses(bytes, 32, 0, 8) &&
		    refuses(bytes, 32, UINT64_MAX, 8),
		    "what is out of range is refused");
	}
	tap_ok(refuses(bytes, 20, 100, 4) && refuses(bytes, 24, 0, 4) &&
	    refuses(bytes, 40, 0, 8) && refuses(bytes, 40, UINT64_MAX, 8),
	    "of bit strings, too");
}

static void
sorting(void)
{
	static struct digest digests[3000];
	struct shard_batch b = { 0 };
	struct shards s = { .name = "seen", .batch = &b };
	int right = 1, spread = 1;

	for (size_t i = 0; i < 3000; i++)
		digests[i] = random_digest();
	for (int bits = 0; bits < 2; bits++) {
		if (bits)
			layout_bits(&s.layout, 10000000, 1e-6,
			    &(struct error){ 0 });
		else
			layout_bloom(&s.layout, 10000000, 1e-6, GROWTH_GROW,
			    1);
		shards_sort(&s, digests, 3000, NULL);
		for (unsigned i = 0; i < s.layout.shards; i++) {
			spread &= b.starts[i + 1] > b.starts[i];
			for (size_t j = b.starts[i]; j < b.starts[i + 1];
			    j++) {
				uint64_t page;

				block_pages(&s.layout.geometry,
				    &digests[b.order[j]], 1, &page);
				right &= page / s.layout.shard_pages == i &&
				    shards_of(&s, j) == i;
			}
		}
		right &= b.starts[s.layout.shards] == 3000;
	}
	tap_ok(right && spread, "each digest is in the shard of its page");
	shards_free_batch(&b);
}

int
main(void)
{
	key_names();
	slots();
	advice();
	own_filters();
	bit_strings();
	tables();
	rates_near_0();
	headers();
	sorting();
	return tap_end();
}
