#include "redis/layout.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/le.h"

static const uint8_t magic[8] = { 'b', 'd', 'c', 'h', 'u', 'n', 'k', '\n' };

uint64_t
chunk_count(uint64_t pages)
{
	return pages / CHUNK_PAGES + (pages % CHUNK_PAGES != 0);
}

size_t
chunk_bytes(uint64_t pages, uint64_t chunk)
{
	uint64_t rest = pages - chunk * CHUNK_PAGES;

	return rest < CHUNK_PAGES ? (size_t)rest * PAGE_BYTES : CHUNK_BYTES;
}

static void
id_text(char text[17], const struct redis_keys *keys)
{
	for (int i = 0; i < 8; i++)
		snprintf(text + 2 * i, 3, "%02x", keys->id[i]);
}

size_t
key_header(char key[REDIS_KEY_MAX], const struct redis_keys *keys)
{
	return (size_t)snprintf(key, REDIS_KEY_MAX, "bloomdedup:{%s}:header",
	    keys->name);
}

size_t
key_table(char key[REDIS_KEY_MAX], const struct redis_keys *keys)
{
	return (size_t)snprintf(key, REDIS_KEY_MAX, "bloomdedup:{%s}:table",
	    keys->name);
}

size_t
key_lines(char key[REDIS_KEY_MAX], const struct redis_keys *keys,
    uint64_t layer)
{
	char id[17];

	id_text(id, keys);
	return (size_t)snprintf(key, REDIS_KEY_MAX,
	    "bloomdedup:{%s}:lines:%" PRIu64 ":%s", keys->name, layer, id);
}

size_t
key_chunk(char key[REDIS_KEY_MAX], const struct redis_keys *keys,
    uint64_t layer, uint64_t chunk)
{
	char id[17];

	id_text(id, keys);
	return (size_t)snprintf(key, REDIS_KEY_MAX,
	    "bloomdedup:{%s:L%" PRIu64 ":%" PRIu64 ":%s}", keys->name, layer,
	    chunk, id);
}

void
trailer_encode(const struct redis_keys *keys, uint64_t layer, uint64_t chunk,
    uint8_t trailer[TRAILER_BYTES])
{
	memset(trailer, 0, TRAILER_BYTES);
	memcpy(trailer + TRAILER_REST, magic, sizeof magic);
	memcpy(trailer + 16, keys->id, sizeof keys->id);
	le_put64(trailer + 32, layer);
	le_put64(trailer + 40, chunk);
}

int
trailer_check(const struct redis_keys *keys, uint64_t layer, uint64_t chunk,
    const void *trailer, size_t nbytes)
{
	uint8_t right[TRAILER_BYTES];

	trailer_encode(keys, layer, chunk, right);
	return nbytes == TRAILER_BYTES &&
	    memcmp((const uint8_t *)trailer + TRAILER_REST,
	    right + TRAILER_REST, TRAILER_BYTES - TRAILER_REST) == 0;
}
