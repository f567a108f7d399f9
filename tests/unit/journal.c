/*
 * Goal: a journal is complete or it doesn't count. What was added comes back in
 * its order; cut anywhere, with any bit flipped, or made on purpose with the
 * checksums right, it is never taken for another complete one.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "disk/journal.h"
#include "base/le.h"
#include "tap.h"

static const uint8_t id[FILTER_ID_BYTES] = "the filter's id";
static const uint8_t other_id[FILTER_ID_BYTES] = "another one's";
static char directory[] = "/tmp/journal-XXXXXX";
static char filter[64], path[80];

static struct digest
digest_number(uint64_t i)
{
	return (struct digest){ i * UINT64_C(0x9E3779B97F4A7C15), ~i };
}

/* Write one with n digests, all for layer 0; committed or not. */
static int
write_journal(size_t n, int commit)
{
	struct journal j;
	struct error error;
	struct journal_span span = { 0, n };

	unlink(path);
	if (journal_create(&j, filter, id, 0, &error) < 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		struct digest d = digest_number(i);

		if (journal_add(&j, &d, 1, &error) < 0)
			return -1;
	}
	if (commit && journal_commit(&j, &span, n > 0, &error) < 0)
		return -1;
	journal_close(&j);
	return 0;
}

/* As journal_open, and closed again. */
static int
open_result(void)
{
	struct journal j;
	struct error error;
	int result = journal_open(&j, filter, id, &error);

	journal_close(&j);
	return result;
}

/* What was read: how many of layers below 10, all digest_numbers in order? */
struct reading {
	size_t counts[10];
	size_t sum;
	int wrong;
};

static int
note(void *context, unsigned layer, const struct digest *digests, size_t n,
    struct error *error)
{
	struct reading *r = context;

	(void)error;
	r->counts[layer] += n;
	r->wrong |= n == 0 || n > JOURNAL_PIECE;
	for (size_t i = 0; i < n; i++) {
		struct digest d = digest_number(r->sum++);

		r->wrong |= digests[i].low != d.low ||
		    digests[i].high != d.high;
	}
	return 0;
}

/* Are all that it has the first n numbers? */
static int
reads_added(struct journal *j, size_t n)
{
	struct reading reading = { .wrong = 0 };
	struct error error;

	return journal_each(j, note, &reading, &error) == 0 &&
	    !reading.wrong && reading.sum == n;
}

static int
reads_back(size_t n)
{
	struct journal j;
	struct error error;
	int good = journal_open(&j, filter, id, &error) == 0 &&
	    j.count == n && reads_added(&j, n) && reads_added(&j, n);

	journal_close(&j);
	return good;
}

static void
test_round_trip(void)
{
	static const size_t counts[] = { 0, 1, 2, 4095, 4096, 4097, 8192,
		30000 };

	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		size_t n = counts[i];

		tap_ok(write_journal(n, 1) == 0 && reads_back(n),
		    "%zu digests come back, twice", n);
		tap_ok(write_journal(n, 0) == 0 && open_result() == 2,
		    "%zu digests without a commit don't count", n);
	}
}

/* Each piece is of one layer. */
static void
test_layers(void)
{
	static const struct journal_span spans[] = { { 3, 5000 }, { 9, 0 },
		{ 4, 7 }, { 5, 0 } };
	struct digest digests[5007];
	struct reading reading = { .wrong = 0 };
	struct error error;
	struct journal j;

	unlink(path);
	for (size_t i = 0; i < 5007; i++)
		digests[i] = digest_number(i);
	tap_ok(journal_create(&j, filter, id, 0, &error) == 0 &&
	    journal_add(&j, digests, 5007, &error) == 0 &&
	    journal_commit(&j, spans, 4, &error) == 0, "several layers");
	journal_close(&j);
	tap_ok(journal_open(&j, filter, id, &error) == 0 &&
	    journal_each(&j, note, &reading, &error) == 0 &&
	    !reading.wrong, "their digests come in order");
	tap_ok(reading.counts[3] == 5000 && reading.counts[4] == 7 &&
	    reading.sum == 5007, "and with the right layers");
	journal_close(&j);
}

/* A commit that says more than there is, by now: the file was changed. */
static void
test_cut_while_open(void)
{
	struct reading reading = { .wrong = 0 };
	struct error error;
	struct journal j;
	int good;

	write_journal(10, 1);
	good = journal_open(&j, filter, id, &error) == 0 &&
	    truncate(path, 40) == 0;
	tap_ok(good && journal_each(&j, note, &reading, &error) == -1 &&
	    strstr(error.text, "too early") != NULL,
	    "cut while it is read, it ends too early");
	journal_close(&j);
}

static int
refuse(void *context, unsigned layer, const struct digest *digests, size_t n,
    struct error *error)
{
	(void)layer, (void)digests, (void)n;
	++*(int *)context;
	return error_set(error, STATUS_FAILED, "enough");
}

static void
test_refused(void)
{
	struct journal j;
	struct error error;
	int calls = 0;

	write_journal(5000, 1);
	tap_ok(journal_open(&j, filter, id, &error) == 0 &&
	    journal_each(&j, refuse, &calls, &error) == -1 && calls == 1 &&
	    strcmp(error.text, "enough") == 0 && reads_added(&j, 5000),
	    "reading ends when it is told to, and can begin again");
	tap_ok(journal_remove(&j, &error) == 0 && access(path, F_OK) < 0 &&
	    open_result() == 1, "removed, there is none");
	tap_ok(journal_remove(&j, &error) == 0,
	    "removing none does nothing");
}

static void
test_names(void)
{
	struct journal j;
	struct error error;
	struct stat st;

	write_journal(10, 1);
	tap_ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600,
	    "its mode is 0600");
	tap_ok(journal_create(&j, filter, id, 0, &error) < 0,
	    "one that is there is not written over");
	tap_ok(journal_open(&j, filter, other_id, &error) == -1 &&
	    strstr(error.text, "another filter") != NULL,
	    "that of another filter is refused");
	tap_ok(access(path, F_OK) == 0 && reads_back(10),
	    "and stays as it is");
	unlink(path);
	tap_ok(symlink(filter, path) == 0 && open_result() == -1 &&
	    journal_create(&j, filter, id, 0, &error) < 0,
	    "a symbolic link is refused");
	unlink(path);
	tap_ok(mkfifo(path, 0600) == 0 && open_result() == -1,
	    "a named pipe is refused, and not waited for");
	unlink(path);
	tap_ok(mkdir(path, 0700) == 0 && open_result() == -1,
	    "a directory is refused");
	rmdir(path);
}

static size_t
load(uint8_t *data, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = read(fd, data, room);

	close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void
save(const uint8_t *data, size_t nbytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (write(fd, data, nbytes) != (ssize_t)nbytes)
		abort();
	close(fd);
}

static void
test_damage(void)
{
	uint8_t data[4000], copy[4000];
	size_t nbytes, wrong = 0;

	write_journal(20, 1);
	nbytes = load(data, sizeof data);
	for (size_t n = 0; n < nbytes; n++) {
		save(data, n);
		wrong += open_result() != 2;
	}
	tap_ok(wrong == 0, "cut to any length it doesn't count");
	save(data, nbytes);
	wrong = 0;
	for (size_t i = 0; i < 8 * nbytes; i++) {
		int result;

		memcpy(copy, data, nbytes);
		copy[i / 8] ^= (uint8_t)(1u << i % 8);
		save(copy, nbytes);
		result = open_result();
		wrong += result != 2 && result != -1;
	}
	tap_ok(wrong == 0, "with any bit flipped it is not complete");
	memcpy(copy, data, nbytes);
	memset(copy + nbytes, 0xab, 100);
	save(copy, nbytes + 100);
	tap_ok(reads_back(20), "what stands behind the commit is not read");
}

/* Append a frame to `to`; returns its length. */
static size_t
frame(uint8_t *to, uint32_t kind, const void *payload, size_t nbytes)
{
	static const uint8_t magic[] = { 0x89, 'b', 'd', 'j' };

	memcpy(to, magic, sizeof magic);
	le_put32(to + 4, kind);
	le_put32(to + 8, (uint32_t)nbytes);
	le_put32(to + 12, 0);
	memcpy(to + 16, payload, nbytes);
	le_put32(to + 12, (uint32_t)crc32(crc32(0, NULL, 0), to,
	    (uInt)(16 + nbytes)));
	return 16 + nbytes;
}

static size_t
begin_frame(uint8_t *to, uint32_t version)
{
	uint8_t payload[4 + FILTER_ID_BYTES];

	le_put32(payload, version);
	memcpy(payload + 4, id, FILTER_ID_BYTES);
	return frame(to, 1, payload, sizeof payload);
}

/*
 * A commit of `total` digests in `spans` spans of `each`, in a journal that has
 * `have` of them, in frames whose payload is `extra` bytes longer.
 */
static int
made_result(size_t have, size_t extra, uint64_t total, size_t spans,
    uint64_t each)
{
	static uint8_t data[100000], payload[70000];
	size_t n = begin_frame(data, 1);

	memset(payload, 7, sizeof payload);
	n += frame(data + n, 2, payload, 16 * have + extra);
	memset(payload, 0, sizeof payload);
	le_put64(payload, total);
	for (size_t i = 0; i < spans; i++)
		le_put64(payload + 8 + 12 * i + 4, each);
	n += frame(data + n, 3, payload, 8 + 12 * spans);
	save(data, n);
	return open_result();
}

static void
test_hostile(void)
{
	uint8_t data[200];
	size_t n;

	tap_ok(made_result(10, 0, 10, 1, 10) == 0, "a right one is complete");
	tap_ok(made_result(10, 0, 10, 5, 2) == 0, "in five layers, too");
	tap_ok(made_result(0, 0, 0, 0, 0) == 0, "without a digest, too");
	tap_ok(made_result(62, 0, 62, 62, 1) == 0, "in 62 layers, too");
	tap_ok(made_result(63, 0, 63, 63, 1) == 2, "not in 63");
	tap_ok(made_result(10, 0, 9, 1, 9) == 2, "fewer than there are");
	tap_ok(made_result(10, 0, 11, 1, 11) == 2, "more than there are");
	tap_ok(made_result(10, 0, 10, 1, 9) == 2, "a span too short");
	tap_ok(made_result(10, 0, 10, 2, 10) == 2, "spans too long");
	tap_ok(made_result(10, 0, 10, 2, UINT64_C(1) << 63) == 2 &&
	    made_result(10, 0, 10, 3, UINT64_MAX) == 2,
	    "spans whose sum overflows");
	tap_ok(made_result(10, 0, UINT64_MAX, 1, UINT64_MAX) == 2,
	    "2^64 - 1 digests");
	tap_ok(made_result(10, 5, 10, 1, 10) == 2, "a digest that is cut");
	tap_ok(made_result(4096, 0, 4096, 1, 4096) == 0, "a full frame");
	tap_ok(made_result(4097, 0, 4097, 1, 4097) == 2,
	    "a frame that is longer than one can be");

	n = begin_frame(data, 3);
	save(data, n);
	tap_ok(open_result() == -1, "another version is refused");
	n = begin_frame(data, 1);
	n += begin_frame(data + n, 1);
	save(data, n);
	tap_ok(open_result() == 2, "two beginnings");
	n = begin_frame(data, 1);
	n += frame(data + n, 9, "", 0);
	save(data, n);
	tap_ok(open_result() == 2, "a frame of an unknown kind");
	n = frame(data, 3, "\0\0\0\0\0\0\0\0", 8);
	memset(data + n, 0, 30);
	save(data, n + 30);
	tap_ok(open_result() == -1, "a commit without a beginning");
	memset(data, 'x', sizeof data);
	save(data, sizeof data);
	tap_ok(open_result() == -1, "what is no journal is refused");
	save((const uint8_t *)"to do\n", 6);
	tap_ok(open_result() == -1, "what is no journal and short, too");
}

/* A multiple of 16 bytes is none, too: at any place, as often as you like. */
static void
test_empty_frames(void)
{
	uint8_t data[1000], payload[64] = { 0 };
	struct journal j;
	struct error error;
	size_t n = begin_frame(data, 1);

	le_put64(payload, digest_number(0).low);
	le_put64(payload + 8, digest_number(0).high);
	le_put64(payload + 16, digest_number(1).low);
	le_put64(payload + 24, digest_number(1).high);
	n += frame(data + n, 2, "", 0);
	n += frame(data + n, 2, payload, 16);
	n += frame(data + n, 2, "", 0);
	n += frame(data + n, 2, "", 0);
	n += frame(data + n, 2, payload + 16, 16);
	n += frame(data + n, 2, "", 0);
	memset(payload, 0, sizeof payload);
	le_put64(payload, 2);
	le_put64(payload + 12, 2);
	n += frame(data + n, 3, payload, 20);
	save(data, n);
	tap_ok(reads_back(2),
	    "frames without a digest change nothing");

	n = begin_frame(data, 1);
	n += frame(data + n, 2, "", 0);
	memset(payload, 0, 8);
	n += frame(data + n, 3, payload, 8);
	save(data, n);
	tap_ok(journal_open(&j, filter, id, &error) == 0 &&
	    reads_added(&j, 0),
	    "of nothing else nothing is read");
	journal_close(&j);
}

int
main(void)
{
	if (mkdtemp(directory) == NULL)
		return 1;
	snprintf(filter, sizeof filter, "%s/filter", directory);
	snprintf(path, sizeof path, "%s.journal", filter);
	close(open(filter, O_WRONLY | O_CREAT, 0600));
	test_round_trip();
	test_layers();
	test_cut_while_open();
	test_refused();
	test_names();
	test_damage();
	test_hostile();
	test_empty_frames();
	unlink(path);
	unlink(filter);
	rmdir(directory);
	return tap_end();
}
