/*
 * Shards that are the server's own Bloom filters: BF.* of RedisBloom (Redis 8,
 * Redis Stack, and the module before it) and valkey-bloom. An item is a digest,
 * 16 bytes. BF.MEXISTS of a missing key answers zeros, so each shard is born
 * with an item that every question asks for last. Nothing makes a shard but
 * BF.RESERVE.
 */
#ifndef REDIS_BLOOM_H
#define REDIS_BLOOM_H

#include "redis/shards.h"

extern const struct shard_operations bloom_operations;

#endif
