/*
 * What a program without bloomdedup does to remember lines in Redis, for
 * comparison; needs hiredis.
 *
 * redis-client PORT KEY COMMAND LINES DEPTH [BITS HASHES]
 *
 * Sends the lines of standard input, in groups of LINES, of which DEPTH are
 * under way at a time, and prints the new ones. COMMAND is BF.MADD (one for a
 * group), BF.ADD (one for a line) or SETBIT (HASHES for a line, of BITS in the
 * key; a line is new if one of the bits was 0).
 */
#include <hiredis/hiredis.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static redisContext *redis;
static const char *key, *command;
static size_t at_once, depth, bits, hashes = 1;

/* All lines; those from `answered` to `asked` are under way. */
static const char **lines;
static size_t *lengths, count, asked, answered;

static void
fail(const char *why)
{
	fprintf(stderr, "redis-client: %s\n", why);
	exit(1);
}

static void *
checked(void *memory)
{
	if (memory == NULL)
		fail("out of memory");
	return memory;
}

static void
add_line(const char *line, size_t nbytes)
{
	if ((count & (count - 1)) == 0) {
		size_t room = count == 0 ? 1 : 2 * count;

		lines = checked(realloc(lines, room * sizeof *lines));
		lengths = checked(realloc(lengths, room * sizeof *lengths));
	}
	lines[count] = line;
	lengths[count++] = nbytes;
}

static void
read_lines(void)
{
	size_t nbytes = 0, room = 1 << 20, got;
	char *text = checked(malloc(room));

	while ((got = fread(text + nbytes, 1, room - nbytes, stdin)) > 0) {
		nbytes += got;
		if (nbytes == room)
			text = checked(realloc(text, room *= 2));
	}
	for (char *line = text, *end; (end = memchr(line, '\n',
	    (size_t)(text + nbytes - line))) != NULL; line = end + 1)
		add_line(line, (size_t)(end - line));
}

static void
append(size_t words, const char **word, const size_t *nbytes)
{
	if (redisAppendCommandArgv(redis, (int)words, word, nbytes) != REDIS_OK)
		fail(redis->errstr);
}

static void
ask_bits(const char *line, size_t nbytes)
{
	XXH128_hash_t hash = XXH3_128bits(line, nbytes);
	char bit[24];

	for (size_t i = 0; i < hashes; i++) {
		const char *word[] = { command, key, bit, "1" };
		size_t sizes[] = { strlen(command), strlen(key), 0, 1 };

		sizes[2] = (size_t)sprintf(bit, "%llu", (unsigned long long)
		    ((hash.low64 + i * hash.high64) % bits));
		append(4, word, sizes);
	}
}

static void
ask(size_t n)
{
	const char *word[2 + at_once];
	size_t sizes[2 + at_once];
	int sent = 0, many = strcmp(command, "BF.MADD") == 0;

	word[0] = command;
	sizes[0] = strlen(command);
	word[1] = key;
	sizes[1] = strlen(key);
	for (size_t i = 0; i < n; i++) {
		size_t at = many ? 2 + i : 2;

		word[at] = lines[asked + i];
		sizes[at] = lengths[asked + i];
		if (bits > 0)
			ask_bits(word[at], sizes[at]);
		else if (!many)
			append(3, word, sizes);
	}
	if (many)
		append(2 + n, word, sizes);
	asked += n;
	while (!sent) {
		if (redisBufferWrite(redis, &sent) != REDIS_OK)
			fail(redis->errstr);
	}
}

static redisReply *
next_reply(void)
{
	void *reply;

	if (redisGetReply(redis, &reply) != REDIS_OK)
		fail(redis->errstr);
	if (((redisReply *)reply)->type == REDIS_REPLY_ERROR)
		fail(((redisReply *)reply)->str);
	return reply;
}

static void
answer_line(int new)
{
	if (new) {
		fwrite(lines[answered], 1, lengths[answered], stdout);
		putchar('\n');
	}
	answered++;
}

static void
take(size_t n)
{
	while (n > 0) {
		redisReply *reply = next_reply();
		int new = 0;

		if (reply->type == REDIS_REPLY_ARRAY) {
			for (size_t i = 0; i < reply->elements; i++)
				answer_line(reply->element[i]->integer == 1);
			n -= reply->elements;
			freeReplyObject(reply);
			continue;
		}
		/* BF.ADD says 1 of a new line, SETBIT 0 of a new bit. */
		for (size_t i = 0; i < hashes; i++) {
			if (i > 0)
				reply = next_reply();
			new |= reply->integer == (bits == 0);
			freeReplyObject(reply);
		}
		answer_line(new);
		n--;
	}
}

int
main(int argc, char **argv)
{
	if (argc != 6 && argc != 8)
		fail("usage: redis-client PORT KEY COMMAND LINES DEPTH"
		    " [BITS HASHES]");
	redis = redisConnect("127.0.0.1", atoi(argv[1]));
	if (redis == NULL || redis->err != 0)
		fail("no server");
	key = argv[2];
	command = argv[3];
	at_once = strtoull(argv[4], NULL, 10);
	depth = strtoull(argv[5], NULL, 10);
	if (argc == 8) {
		bits = strtoull(argv[6], NULL, 10);
		hashes = strtoull(argv[7], NULL, 10);
	}
	read_lines();
	while (answered < count) {
		if (asked < count && asked - answered < depth * at_once)
			ask(count - asked < at_once ? count - asked : at_once);
		else
			take(asked - answered < at_once ? asked - answered :
			    at_once);
	}
	redisFree(redis);
	return 0;
}
