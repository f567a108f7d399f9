/*
 * Journals beside a filter, against bloomdedup(5), "Journal", done the slow
 * way: what is complete, which digests and which text are in it, and what
 * becomes of the file, the filter and the outputs when it is read and
 * recovered. The model has the numbers of the format from the program's
 * headers, and all else from the manual: what changes in disk/journal.c
 * may have to change here.
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
 *     8, output, n, n bytes   text for an output
 *     9, output, what, n (2 bytes), zeros
 *                             the frame of an output that is appended to: what
 *                             (enum what_of_output) its file is, which has the
 *                             first n bytes of its text already, and zeros
 *                             behind them, as a power cut leaves them
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>

#include "fuzz.h"
#include "bits/block.h"
#include "disk/frame.h"
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
	BYTES_MAX = (1 << 18) + (1 << 17),
	DIGESTS_MAX = BYTES_MAX / 16,
	/* The payload of a journal's first frame, and of an output without its
	   name. */
	BEGIN_BYTES = 4 + FILTER_ID_BYTES,
	JOURNAL_BEGIN_BYTES = FRAME_HEAD_BYTES + BEGIN_BYTES,
	OUTPUT_BYTES = 44
};

/* What is in front of the text that a run appends. */
static const char old_text[] = "old\n";
#define OLD_BYTES (sizeof old_text - 1)

enum what_of_output {
	OUTPUT_RIGHT,
	OUTPUT_SHORTER, /* than when the run began to append */
	OUTPUT_REPLACED,
	OUTPUT_STATES
};

static uint8_t bytes[BYTES_MAX];
static size_t nbytes;
static struct header header;
static uint8_t *filter;     /* the file that is right, and its length */
static size_t filter_length;
static uint64_t written;    /* digests in frames of 1 so far */

/* The files that are appended to, and what is in them beforehand. */
static struct output {
	char path[sizeof fuzz_path + 8];
	uint64_t inode;
	size_t has, zeros;  /* bytes of text, and zeros behind them */
	uint8_t before[BYTES_MAX];
	size_t before_bytes;
} outputs[JOURNAL_OUTPUTS];

/* What the file holds, by the model. */
static struct digest digests[DIGESTS_MAX];
static unsigned layers[DIGESTS_MAX]; /* that they belong to */
static size_t count;
static int names_no_layer;
static struct {
	enum { NOT_APPENDED, APPENDED, GONE } state;
	uint8_t text[BYTES_MAX];
	size_t nbytes;
} appends[JOURNAL_OUTPUTS];
static uint32_t version;    /* what the journal says of itself */
static int is_unnamed;      /* a file has to get its name yet */
static int is_done;         /* only the marks are missing */
static int names_other_file; /* one that is not for this program to change */

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

static void
remove_outputs(void)
{
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++)
		unlink(outputs[i].path);
}

/* Make their files, which stay the same files for all inputs. */
static void
make_outputs(void)
{
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct output *o = &outputs[i];
		struct stat st;

		snprintf(o->path, sizeof o->path, "%s.out%u", fuzz_path, i);
		write_file(o->path, NULL, 0);
		MUST(stat(o->path, &st) == 0);
		o->inode = st.st_ino;
	}
	/* Before the folder is removed. */
	atexit(remove_outputs);
}

/* Append a frame around the payload, which is in its place already. */
static void
add_frame(uint32_t kind, size_t payload)
{
	uint8_t *p = bytes + nbytes;

	memcpy(p, frame_magic, sizeof frame_magic);
	le_put32(p + 4, kind);
	le_put32(p + 8, (uint32_t)payload);
	le_put32(p + 12, 0);
	le_put32(p + 12, (uint32_t)crc32(crc32(0, NULL, 0), p,
	    (uInt)(FRAME_HEAD_BYTES + payload)));
	nbytes += FRAME_HEAD_BYTES + payload;
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
add_output(struct input_bytes *in, uint8_t *payload)
{
	unsigned number = (unsigned)take(in, 1) % JOURNAL_OUTPUTS;
	struct output *o = &outputs[number];
	unsigned what = (unsigned)take(in, 1) % OUTPUT_STATES;
	size_t path = strlen(o->path);

	o->has = (size_t)take(in, 2);
	o->zeros = (size_t)take(in, 1);
	le_put32(payload, number);
	le_put32(payload + 4, JOURNAL_APPENDED);
	le_put64(payload + 8, 0); /* the device, which doesn't matter */
	le_put64(payload + 16, o->inode + (what == OUTPUT_REPLACED));
	le_put64(payload + 24, what == OUTPUT_SHORTER ? UINT64_MAX / 2 :
	    OLD_BYTES);
	le_put64(payload + 32, 0);
	le_put32(payload + 40, '\n' | ',' << 8);
	memcpy(payload + OUTPUT_BYTES, o->path, path);
	add_frame(FRAME_OUTPUT, OUTPUT_BYTES + path);
}

static void
add_piece(struct input_bytes *in)
{
	uint8_t *payload = bytes + nbytes + FRAME_HEAD_BYTES;
	unsigned what = (unsigned)take(in, 1) % 10;
	const uint8_t *data;
	size_t n;
	uint32_t kind;

	switch (what) {
	case 0:
		le_put32(payload, 2);
		memcpy(payload + 4, header.id, FILTER_ID_BYTES);
		add_frame(FRAME_BEGIN, BEGIN_BYTES);
		break;
	case 1:
		n = (size_t)take(in, 1);
		n = n == 255 ? FRAME_PAYLOAD_MAX / 16 : n;
		for (size_t i = 0; i < n; i++) {
			written++;
			le_put64(payload + 16 * i, written *
			    UINT64_C(0x9E3779B97F4A7C15));
			le_put64(payload + 16 * i + 8, written *
			    UINT64_C(0xD1B54A32D192ED03));
		}
		add_frame(FRAME_DIGESTS, 16 * n);
		break;
	case 2:
		add_frame(FRAME_COMMIT, add_commit(in, payload));
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
	case 7:
		add_frame(FRAME_COMMIT, add_evil_commit(in, payload));
		break;
	case 8:
		le_put32(payload, (uint32_t)take(in, 1));
		n = (size_t)take(in, 1);
		data = take_bytes(in, &n);
		memcpy(payload + 4, data, n);
		/* A run adds whole lines. */
		payload[4 + n] = '\n';
		add_frame(FRAME_TEXT, 5 + n);
		break;
	default:
		add_output(in, payload);
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

	if (nbytes - at < FRAME_HEAD_BYTES ||
	    memcmp(p, frame_magic, sizeof frame_magic) != 0)
		return 0;
	payload = le_get32(p + 8);
	if (payload > FRAME_PAYLOAD_MAX ||
	    payload > nbytes - at - FRAME_HEAD_BYTES)
		return 0;
	crc = crc32(crc32(0, NULL, 0), p, 12);
	crc = crc32(crc32(crc, no_crc, 4), p + FRAME_HEAD_BYTES,
	    (uInt)payload);
	return crc == le_get32(p + 12) ? FRAME_HEAD_BYTES + payload : 0;
}

/* The commit's entries: is each digest in one of them? */
static int
right_commit(const uint8_t *p, size_t payload)
{
	uint64_t sum = 0;
	size_t n = (payload - 8) / 12, next = 0;

	if (payload < 8 || payload != 8 + 12 * n ||
	    n > TABLE_LAYERS_MAX || le_get64(p) != count)
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

/* A frame of text: what it adds to an output. */
static void
model_text(const uint8_t *p, size_t payload)
{
	uint32_t number;

	if (payload < 4)
		return;
	number = le_get32(p);
	/* What no run of this program writes is of no interest. */
	if (number >= 256 || memchr(p + 4, '\0', payload - 4) != NULL ||
	    payload == 4 || p[payload - 1] != '\n')
		names_other_file = 1;
	if (number >= JOURNAL_OUTPUTS)
		return;
	memcpy(appends[number].text + appends[number].nbytes, p + 4,
	    payload - 4);
	appends[number].nbytes += payload - 4;
}

/* A frame of an output, of which the last one counts. */
static void
model_output(const uint8_t *p, size_t payload)
{
	uint32_t number = le_get32(p), kind = le_get32(p + 4);
	size_t path;

	if (number >= JOURNAL_OUTPUTS || kind > JOURNAL_APPENDED)
		return;
	appends[number].state = NOT_APPENDED;
	is_unnamed |= version == 2 && kind == JOURNAL_REPLACED;
	if (kind != JOURNAL_APPENDED || version == 1)
		return;
	if (le_get32(p + 40) != ('\n' | ',' << 8))
		names_other_file = 1;
	path = strlen(outputs[number].path);
	if (payload - OUTPUT_BYTES != path ||
	    memcmp(p + OUTPUT_BYTES, outputs[number].path, path) != 0)
		names_other_file = 1;
	appends[number].state = GONE;
	if (le_get64(p + 16) == outputs[number].inode &&
	    le_get64(p + 24) == OLD_BYTES)
		appends[number].state = APPENDED;
	else if (le_get64(p + 16) == outputs[number].inode &&
	    le_get64(p + 24) <= OLD_BYTES + BYTES_MAX)
		names_other_file = 1; /* some other part of it */
}

/* The frames behind the commit, as far as they are of outputs. */
static void
model_outputs(size_t at)
{
	size_t length;

	for (;; at += length) {
		length = right_frame(at);
		is_done = length != 0 && le_get32(bytes + at + 4) ==
		    FRAME_DONE;
		if (length < FRAME_HEAD_BYTES + OUTPUT_BYTES ||
		    length >= FRAME_HEAD_BYTES + OUTPUT_BYTES +
		    JOURNAL_PATH_MAX || le_get32(bytes + at + 4) !=
		    FRAME_OUTPUT)
			return;
		model_output(bytes + at + FRAME_HEAD_BYTES,
		    length - FRAME_HEAD_BYTES);
	}
}

/* What the frames from `at` on say, behind the one that begins. */
static enum journal_state
model_frames(size_t at)
{
	size_t length;

	for (;; at += length) {
		const uint8_t *p = bytes + at;
		uint32_t kind;

		length = right_frame(at);
		if (length == 0)
			return JOURNAL_UNFINISHED;
		kind = le_get32(p + 4);
		p += FRAME_HEAD_BYTES;
		if (kind == FRAME_COMMIT)
			break;
		if (kind == FRAME_TEXT)
			model_text(p, length - FRAME_HEAD_BYTES);
		if (kind == FRAME_TEXT)
			continue;
		if (kind != FRAME_DIGESTS || length % 16 != 0)
			return JOURNAL_UNFINISHED;
		for (size_t i = 0; i < length - FRAME_HEAD_BYTES; i += 16)
			digests[count++] = (struct digest){ le_get64(p + i),
				le_get64(p + i + 8) };
	}
	if (!right_commit(bytes + at + FRAME_HEAD_BYTES,
	    length - FRAME_HEAD_BYTES))
		return JOURNAL_UNFINISHED;
	model_outputs(at + length);
	for (unsigned i = 0; i < JOURNAL_OUTPUTS && is_done; i++)
		appends[i].state = NOT_APPENDED;
	if (is_unnamed && !is_done)
		return JOURNAL_UNFINISHED;
	return JOURNAL_COMPLETE;
}

/* A run that ended, or lost its power, before the first frame was there. */
static int
has_not_begun(void)
{
	size_t n = nbytes < JOURNAL_BEGIN_BYTES ? nbytes : JOURNAL_BEGIN_BYTES;
	size_t magic = nbytes < sizeof frame_magic ? nbytes :
	    sizeof frame_magic;

	while (n > 0 && bytes[n - 1] == 0)
		n--;
	return n == 0 || (nbytes < JOURNAL_BEGIN_BYTES &&
	    memcmp(bytes, frame_magic, magic) == 0);
}

/* As journal_open's result. */
static enum journal_state
model(void)
{
	const uint8_t *p = bytes + FRAME_HEAD_BYTES;
	size_t at = right_frame(0);
	enum journal_state state;

	if (at == 0)
		return has_not_begun() ? JOURNAL_UNFINISHED : JOURNAL_FAILED;
	if (le_get32(bytes + 4) != FRAME_BEGIN || at != JOURNAL_BEGIN_BYTES ||
	    le_get32(p) < 1 || le_get32(p) > 2)
		return JOURNAL_FAILED;
	version = le_get32(p);
	state = model_frames(at);
	if (memcmp(p + 4, header.id, FILTER_ID_BYTES) == 0)
		return state;
	/* Of another filter, only what is complete matters. */
	return state == JOURNAL_COMPLETE ? JOURNAL_FAILED :
	    JOURNAL_UNFINISHED;
}

/* The outputs' files, as a run that was killed while it appended left them. */
static void
write_outputs(void)
{
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		struct output *o = &outputs[i];
		size_t has = o->has, zeros = o->zeros;

		if (has > appends[i].nbytes)
			has = appends[i].nbytes;
		if (zeros > appends[i].nbytes - has)
			zeros = appends[i].nbytes - has;
		memcpy(o->before, old_text, OLD_BYTES);
		memcpy(o->before + OLD_BYTES, appends[i].text, has);
		memset(o->before + OLD_BYTES + has, 0, zeros);
		o->before_bytes = OLD_BYTES + has + zeros;
		write_file(o->path, o->before, o->before_bytes);
	}
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
check_reading(enum journal_state want)
{
	struct journal j;
	struct error error;
	enum journal_state state = journal_open(&j, fuzz_path, header.id,
	    &error);

	MUST(state == want);
	if (state == JOURNAL_FAILED)
		MUST(error.status == STATUS_FAILED && j.fd < 0);
	for (int pass = 0; pass < 2 && state == JOURNAL_COMPLETE; pass++) {
		size_t sum = 0;

		MUST(j.count == count);
		MUST(journal_each(&j, check_piece, &sum, &error) == 0);
		MUST(sum == count);
	}
	journal_close(&j);
}

/* A reader finds what is in it, and changes nothing. */
static void
check_reader(enum journal_state want, const char *journal)
{
	const struct filter_use use = FILTER_READ;
	struct filter *under, *f;
	struct error error;

	MUST(layers_open(&under, fuzz_path, &use, &error) == 0);
	f = under;
	MUST(deferred_read(&f, &error) == (want == JOURNAL_FAILED ? -1 : 0));
	MUST((f != under) == (want == JOURNAL_COMPLETE));
	for (size_t i = 0; i < count && want == JOURNAL_COMPLETE; i++) {
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

/* After a recovery: each output has all of its text, or none if it can't. */
static void
check_outputs(int applied, int discarded)
{
	static uint8_t all[OLD_BYTES + BYTES_MAX];

	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		const struct output *o = &outputs[i];
		size_t nbytes_of_text = applied ? appends[i].nbytes : 0;

		if (appends[i].state != APPENDED || (!applied && !discarded)) {
			MUST(is_file(o->path, o->before, o->before_bytes));
			continue;
		}
		memcpy(all, old_text, OLD_BYTES);
		memcpy(all + OLD_BYTES, appends[i].text, nbytes_of_text);
		MUST(is_file(o->path, all, OLD_BYTES + nbytes_of_text));
	}
}

/* What becomes of a journal when a writer finds it. */
enum fate {
	FATE_APPLIED,   /* to the outputs and the filter */
	FATE_REMOVED,   /* it doesn't count */
	FATE_DISCARDED, /* its outputs are gone: that is an error */
	FATE_REFUSED    /* it stays, and that is an error */
};

static enum fate
fate_of(enum journal_state state)
{
	if (state == JOURNAL_UNFINISHED)
		return FATE_REMOVED;
	if (state == JOURNAL_FAILED || names_no_layer)
		return FATE_REFUSED;
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		if (appends[i].state == GONE)
			return FATE_DISCARDED;
	}
	return FATE_APPLIED;
}

/* A writer takes it into the filter, takes it away, or leaves it. */
static void
check_recovery(enum fate fate, const char *journal)
{
	const struct filter_use use = FILTER_WRITE;
	struct filter *f;
	struct error error;
	int result;

	MUST(layers_open(&f, fuzz_path, &use, &error) == 0);
	result = deferred_recover(f, &(struct lock_wait){ .notice = notice },
	    &error);
	MUST((result < 0) == (fate == FATE_REFUSED || fate == FATE_DISCARDED));
	if (result < 0)
		MUST(error.status == STATUS_FAILED);
	if (fate == FATE_REFUSED)
		MUST(strncmp(error.text, journal, strlen(journal)) == 0);
	if (fate == FATE_REFUSED)
		MUST(is_file(journal, bytes, nbytes));
	else
		MUST(access(journal, F_OK) < 0);
	for (size_t i = 0; i < count && fate == FATE_APPLIED; i++)
		MUST(is_in_layer(f, layers[i], digests + i));
	MUST(filter_close(f, &error) == 0);
	if (fate != FATE_APPLIED)
		MUST(is_file(fuzz_path, filter, filter_length));
	check_outputs(fate == FATE_APPLIED, fate == FATE_DISCARDED);
}

static void
forget_all(void)
{
	nbytes = 0;
	written = 0;
	count = 0;
	names_no_layer = 0;
	names_other_file = is_unnamed = is_done = 0;
	for (unsigned i = 0; i < JOURNAL_OUTPUTS; i++) {
		outputs[i].has = outputs[i].zeros = 0;
		appends[i].state = NOT_APPENDED;
		appends[i].nbytes = 0;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t length)
{
	struct input_bytes in = { data, length };
	size_t chosen = (size_t)take(&in, 2);
	char journal[sizeof fuzz_path + 8];
	enum journal_state want;

	if (filter == NULL) {
		make_filter();
		make_outputs();
	}
	forget_all();
	while (in.nbytes > 0 &&
	    nbytes + FRAME_HEAD_BYTES + FRAME_PAYLOAD_MAX <= sizeof bytes)
		add_piece(&in);
	snprintf(journal, sizeof journal, "%s%s", fuzz_path, JOURNAL_SUFFIX);
	write_file(fuzz_path, filter, filter_length);
	write_file(journal, bytes, nbytes);
	want = model();
	write_outputs();
	check_reading(want);
	MUST(is_file(journal, bytes, nbytes));
	/* to size a filter for what is in it takes longer than all the rest */
	if (want != JOURNAL_COMPLETE || chosen % 4 == 3)
		check_reader(want, journal);
	if (!names_other_file)
		check_recovery(fate_of(want), journal);
	return 0;
}
