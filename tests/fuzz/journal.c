/*
 * Journals beside a filter, against bloomdedup(5), "Journal", done the slow
 * way: what is complete, which digests are in it, and what becomes of the file
 * and of the filter when it is read and recovered.
 *
 *     a number: is a reader tried, too? Then pieces of the file:
 *     0                       the frame that begins it
 *     1, n                    a frame of n digests; 255: of 4096
 *     2, n, n times: layer, what (0: all that are left), count (2 bytes)
 *                             the commit of what came so far
 *     3, n, n bytes           as they are
 *     4, kind, n, n bytes     a frame of any kind, its checksum right
 *     5, n (2 bytes)          cut off so many bytes
 *     6, where (2 bytes), xor change a byte
 *     7, n (one of take_evil) a commit that says n, its sum right modulo 2^64
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "fuzz.h"
#include "bits/block.h"
#include "disk/journal.h"
#include "model/operations.h"
#include "filter/deferred.h"
#include "filter/filter.h"
#include "layers/layers.h"
#include "base/le.h"
#include "bits/sizing.h"

enum {
	LAYERS = 2,
	LAYER_CAPACITY = 1000000, /* so that it doesn't grow */
	PAYLOAD_MAX = 65536,
	BYTES_MAX = (1 << 18) + (1 << 17),
	DIGESTS_MAX = BYTES_MAX / 16
};

static uint8_t bytes[BYTES_MAX];
static size_t nbytes;
static struct header header;
static uint8_t *filter;     /* the file that is right, and its length */
static size_t filter_length;
static uint64_t written;    /* digests in frames of 1 so far */

/* What the file holds, by the model. */
static struct digest digests[DIGESTS_MAX];
static unsigned layers[DIGESTS_MAX]; /* that they belong to */
static size_t count;
static int names_no_layer;

static void
notice(const char *text)
{
	MUST(text[0] != '\0' && strchr(text, '\n') == NULL);
}

/* A filter of two layers with wide pages, that is small all the same. */
static void
make_filter(void)
{
	const struct filter_use use = FILTER_READ, write = FILTER_WRITE;
	struct table table = { .count = LAYERS };
	struct filter *f;
	struct error error;
	FILE *file;

	header = (struct header){ .capacity = LAYER_CAPACITY,
		.error_rate = 1e-3, .hash = { HASH_XXH3_128, { 1 } } };
	for (unsigned i = 0; i < LAYERS; i++) {
		table.layers[i] = (struct layer_entry){
			.offset = FILTER_HEADER_BYTES + 4 * i * PAGE_BYTES,
			.geometry = { 4, 16, 2 }, .capacity = LAYER_CAPACITY,
			.error_rate = 1e-3 };
	}
	MUST(layers_prepare(&f, fuzz_file(), &header, &table, &write, 0,
	    &error) == 0 && layers_complete(f, 1, 0, &error) == 0 &&
	    filter_close(f, &error) == 0);
	MUST(filter_open(&f, fuzz_path, &use, &error) == 0);
	header = *filter_header(f);
	filter_length = (size_t)filter_bytes(f);
	filter_close(f, &error);
	filter = malloc(filter_length);
	file = fopen(fuzz_path, "rb");
	MUST(filter != NULL && file != NULL &&
	    fread(filter, 1, filter_length, file) == filter_length);
	fclose(file);
}

static void
write_file(const char *path, const uint8_t *data, size_t length)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	MUST(fd >= 0 && write(fd, data, length) == (ssize_t)length);
	close(fd);
}

static int
is_file(const char *path, const uint8_t *data, size_t length)
{
	static uint8_t now[BYTES_MAX];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return 0;
	n = read(fd, now, sizeof now);
	close(fd);
	return n == (ssize_t)length && memcmp(data, now, length) == 0;
}

/* Append a frame around the payload, which is in its place already. */
static void
add_frame(uint32_t kind, size_t payload)
{
	uint8_t *p = bytes + nbytes;

	memcpy(p, "\x89" "bdj", 4);
	le_put32(p + 4, kind);
	le_put32(p + 8, (uint32_t)payload);
	le_put32(p + 12, 0);
	le_put32(p + 12, (uint32_t)crc32(crc32(0, NULL, 0), p,
	    (uInt)(16 + payload)));
	nbytes += 16 + payload;
}

static size_t
add_commit(struct input_bytes *in, uint8_t *payload)
{
	size_t n = (size_t)take(in, 1) % (TABLE_LAYERS_MAX + 2);
	uint64_t left = written;

	le_put64(payload, written);
	for (size_t i = 0; i < n; i++) {
		uint64_t layer = take(in, 1), some;

		some = take(in, 1) == 0 ? left : take(in, 2);
		le_put32(payload + 8 + 12 * i, (uint32_t)layer);
		le_put64(payload + 12 + 12 * i, some);
		left -= some;
	}
	return 8 + 12 * n;
}

static size_t
add_evil_commit(struct input_bytes *in, uint8_t *payload)
{
	uint64_t some = take_evil(in);

	le_put64(payload, written);
	le_put32(payload + 8, 0);
	le_put64(payload + 12, some);
	le_put32(payload + 20, 1);
	le_put64(payload + 24, written - some);
	return 32;
}

static void
add_piece(struct input_bytes *in)
{
	uint8_t *payload = bytes + nbytes + 16;
	unsigned what = (unsigned)take(in, 1) % 8;
	const uint8_t *data;
	size_t n;
	uint32_t kind;

	switch (what) {
	case 0:
		le_put32(payload, 1);
		memcpy(payload + 4, header.id, FILTER_ID_BYTES);
		add_frame(1, 4 + FILTER_ID_BYTES);
		break;
	case 1:
		n = (size_t)take(in, 1);
		n = n == 255 ? PAYLOAD_MAX / 16 : n;
		for (size_t i = 0; i < n; i++) {
			written++;
			le_put64(payload + 16 * i, written *
			    UINT64_C(0x9E3779B97F4A7C15));
			le_put64(payload + 16 * i + 8, written *
			    UINT64_C(0xD1B54A32D192ED03));
		}
		add_frame(2, 16 * n);
		break;
	case 2:
		add_frame(3, add_commit(in, payload));
		break;
	case 3:
		n = (size_t)take(in, 1);
		data = take_bytes(in, &n);
		memcpy(bytes + nbytes, data, n);
		nbytes += n;
		break;
	case 4:
		kind = (uint32_t)take(in, 1);
		n = (size_t)take(in, 1);
		data = take_bytes(in, &n);
		memcpy(payload, data, n);
		add_frame(kind, n);
		break;
	case 5:
		n = (size_t)take(in, 2);
		nbytes -= n < nbytes ? n : nbytes;
		break;
	case 6:
		n = (size_t)take(in, 2);
		if (nbytes > 0)
			bytes[n % nbytes] ^= (uint8_t)take(in, 1);
		break;
	default:
		add_frame(3, add_evil_commit(in, payload));
		break;
	}
}

/* The length of the frame at `at`, its header included; 0 if it isn't whole. */
static size_t
right_frame(size_t at)
{
	static const uint8_t no_crc[4];
	const uint8_t *p = bytes + at;
	size_t payload;
	uLong crc;

	if (nbytes - at < 16 || memcmp(p, "\x89" "bdj", 4) != 0)
		return 0;
	payload = le_get32(p + 8);
	if (payload > PAYLOAD_MAX || payload > nbytes - at - 16)
		return 0;
	crc = crc32(crc32(0, NULL, 0), p, 12);
	crc = crc32(crc32(crc, no_crc, 4), p + 16, (uInt)payload);
	return crc == le_get32(p + 12) ? 16 + payload : 0;
}

/* The commit's entries: is each digest in one of them? */
static int
right_commit(const uint8_t *p, size_t payload)
{
	uint64_t sum = 0;
	size_t n = (payload - 8) / 12, next = 0;

	if (payload < 8 || payload != 8 + 12 * n || n > 62 ||
	    le_get64(p) != count)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (__builtin_add_overflow(sum, le_get64(p + 12 + 12 * i),
		    &sum))
			return 0;
	if (sum != count)
		return 0;
	names_no_layer = 0;
	for (size_t i = 0; i < n; i++) {
		uint64_t some = le_get64(p + 12 + 12 * i);

		names_no_layer |= le_get32(p + 8 + 12 * i) >= LAYERS;
		for (; some > 0; some--)
			layers[next++] = le_get32(p + 8 + 12 * i);
	}
	return 1;
}

/* What the frames from `at` on say, behind the one that begins. */
static int
model_frames(size_t at)
{
	size_t length;

	for (;; at += length) {
		const uint8_t *p = bytes + at;

		length = right_frame(at);
		if (length == 0)
			return 2;
		if (le_get32(p + 4) == 3)
			return right_commit(p + 16, length - 16) ? 0 : 2;
		if (le_get32(p + 4) != 2 || length % 16 != 0)
			return 2;
		for (size_t i = 16; i < length; i += 16)
			digests[count++] = (struct digest){ le_get64(p + i),
				le_get64(p + i + 8) };
	}
}

/* As journal_open's result. */
static int
model(void)
{
	size_t at = right_frame(0);
	size_t magic = nbytes < 4 ? nbytes : 4;
	int result;

	count = 0;
	if (at == 0)
		return nbytes < 36 && memcmp(bytes, "\x89" "bdj", magic) == 0 ?
		    2 : -1;
	if (le_get32(bytes + 4) != 1 || at != 36 ||
	    le_get32(bytes + 16) < 1 || le_get32(bytes + 16) > 2)
		return -1;
	result = model_frames(at);
	/* Of another filter, only what is complete matters. */
	if (result == 0 &&
	    memcmp(bytes + 20, header.id, FILTER_ID_BYTES) != 0)
		return -1;
	return result;
}

static int
check_piece(void *context, unsigned layer, const struct digest *some, size_t n,
    struct error *error)
{
	size_t *sum = context;

	(void)error;
	MUST(n > 0 && n <= JOURNAL_PIECE && n <= count - *sum &&
	    memcmp(some, digests + *sum, n * sizeof *some) == 0);
	for (size_t i = 0; i < n; i++)
		MUST(layers[*sum + i] == layer);
	*sum += n;
	return 0;
}

/* Read it, twice. */
static void
check_reading(int want)
{
	struct journal j;
	struct error error;
	int result = journal_open(&j, fuzz_path, header.id, &error);

	MUST(result == want);
	if (result < 0)
		MUST(error.status == STATUS_FAILED && j.fd < 0);
	for (int pass = 0; pass < 2 && result == 0; pass++) {
		size_t sum = 0;

		MUST(j.count == count);
		MUST(journal_each(&j, check_piece, &sum, &error) == 0);
		MUST(sum == count);
	}
	journal_close(&j);
}

/* A reader finds what is in it, and changes nothing. */
static void
check_reader(int want, const char *journal)
{
	const struct filter_use use = FILTER_READ;
	struct filter *under, *f;
	struct error error;

	MUST(layers_open(&under, fuzz_path, &use, &error) == 0);
	f = under;
	MUST(deferred_read(&f, &error) == (want < 0 ? -1 : 0));
	MUST((f != under) == (want == 0));
	for (size_t i = 0; i < count && want == 0; i++) {
		uint8_t found;

		MUST(filter_probe(under, digests + i, 1, &found, &error) == 0);
		MUST(!found);
		MUST(filter_probe(f, digests + i, 1, &found, &error) == 0);
		MUST(found);
	}
	MUST(filter_close(f, &error) == 0);
	MUST(is_file(journal, bytes, nbytes));
	MUST(is_file(fuzz_path, filter, filter_length));
}

/* Is the digest in this layer, by the layer's own bits? */
static int
is_in_layer(struct filter *f, unsigned layer, const struct digest *digest)
{
	_Alignas(4096) static uint8_t pages[4 * PAGE_BYTES];
	const struct layer_entry *entry = &filter_table(f)->layers[layer];
	struct block_array array = { pages, entry->geometry };
	struct error error;
	uint8_t found = 0;

	MUST(entry->geometry.pages <= 4);
	MUST(filter_read_pages(f, layer, 0, (size_t)entry->geometry.pages,
	    pages, &error) == 0);
	loops()->probe(&array, digest, 1, &found);
	return found;
}

/* A writer takes it into the filter, takes it away, or leaves it. */
static void
check_recovery(int want, const char *journal)
{
	const struct filter_use use = FILTER_WRITE;
	struct filter *f;
	struct error error;
	int result;

	MUST(layers_open(&f, fuzz_path, &use, &error) == 0);
	result = deferred_recover(f, &(struct lock_wait){ .notice = notice },
	    &error);
	MUST(result == (want < 0 || (want == 0 && names_no_layer) ? -1 : 0));
	if (result < 0) {
		MUST(is_file(journal, bytes, nbytes));
		MUST(error.status == STATUS_FAILED &&
		    strncmp(error.text, journal, strlen(journal)) == 0);
	} else {
		MUST(access(journal, F_OK) < 0);
	}
	for (size_t i = 0; i < count && result == 0 && want == 0; i++)
		MUST(is_in_layer(f, layers[i], digests + i));
	MUST(filter_close(f, &error) == 0);
	if (want != 0)
		MUST(is_file(fuzz_path, filter, filter_length));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct input_bytes in = { data, length };
	size_t chosen = (size_t)take(&in, 2);
	char journal[sizeof fuzz_path + 8];
	int want;

	if (filter == NULL)
		make_filter();
	nbytes = 0;
	written = 0;
	names_no_layer = 0;
	while (in.nbytes > 0 && nbytes + 16 + PAYLOAD_MAX <= sizeof bytes)
		add_piece(&in);
	snprintf(journal, sizeof journal, "%s.journal", fuzz_path);
	write_file(fuzz_path, filter, filter_length);
	write_file(journal, bytes, nbytes);
	want = model();
	check_reading(want);
	MUST(is_file(journal, bytes, nbytes));
	/* to size a filter for what is in it takes longer than all the rest */
	if (want != 0 || chosen % 4 == 3)
		check_reader(want, journal);
	check_recovery(want, journal);
	return 0;
}
