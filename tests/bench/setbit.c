/*
 * A Bloom filter in Redis as it is usually written: SETBIT for each bit of a
 * line, which is new if one of them was 0. For comparison; needs hiredis.
 *
 * setbit PORT KEY BITS HASHES LINES: BITS in the key, HASHES bits a line, and
 * replies are waited for after so many LINES: 1 waits for each line.
 */
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

struct line {
	char *text;
	size_t nbytes;
};

static void
fail(const char *why)
{
	fprintf(stderr, "setbit: %s\n", why);
	exit(1);
}

static void
ask(redisContext *redis, const char *key, uint64_t bits, unsigned hashes,
    const struct line *line)
{
	XXH128_hash_t hash = XXH3_128bits(line->text, line->nbytes);

	for (unsigned i = 0; i < hashes; i++) {
		unsigned long long bit = (hash.low64 + i * hash.high64) % bits;

		redisAppendCommand(redis, "SETBIT %s %llu 1", key, bit);
	}
}

/* Was one of the bits 0? */
static int
is_new(redisContext *redis, unsigned hashes)
{
	int new = 0;

	for (unsigned i = 0; i < hashes; i++) {
		void *got;
		redisReply *reply;

		if (redisGetReply(redis, &got) != REDIS_OK)
			fail(redis->errstr);
		reply = got;
		if (reply->type == REDIS_REPLY_ERROR)
			fail(reply->str);
		new |= reply->integer == 0;
		freeReplyObject(reply);
	}
	return new;
}

static void
finish(redisContext *redis, unsigned hashes, struct line *lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (is_new(redis, hashes))
			fwrite(lines[i].text, 1, lines[i].nbytes, stdout);
		free(lines[i].text);
		lines[i] = (struct line){ 0 };
	}
}

int
main(int argc, char **argv)
{
	redisContext *redis;
	uint64_t bits;
	unsigned hashes;
	size_t at_once, n = 0, room = 0;
	struct line *lines;
	ssize_t length;

	if (argc != 6)
		fail("usage: setbit PORT KEY BITS HASHES LINES");
	redis = redisConnect("127.0.0.1", atoi(argv[1]));
	bits = strtoull(argv[3], NULL, 10);
	hashes = (unsigned)atoi(argv[4]);
	at_once = strtoull(argv[5], NULL, 10);
	lines = calloc(at_once, sizeof *lines);
	if (redis == NULL || redis->err != 0 || lines == NULL)
		fail("no server");
	while ((length = getline(&lines[n].text, &room, stdin)) > 0) {
		lines[n].nbytes = (size_t)length;
		ask(redis, argv[2], bits, hashes, &lines[n]);
		room = 0;
		if (++n == at_once) {
			finish(redis, hashes, lines, n);
			n = 0;
		}
	}
	finish(redis, hashes, lines, n);
	redisFree(redis);
	free(lines);
	return 0;
}
