/*
 * Shards that are bit strings, on a server without BF.*: the pages of one layer
 * as a file has them (bloomdedup(5)), cut into S strings of equal length. They
 * don't grow. After its pages a string has a trailer of 16 bytes: the first bit
 * is set when it is made, and the last eight bytes are the number of lines that
 * were marked, big-endian.
 */
#ifndef REDIS_BITS_H
#define REDIS_BITS_H

#include "redis/shards.h"

extern const struct shard_operations bits_operations;

#endif
