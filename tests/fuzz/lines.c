/*
 * From files to lines to keys, each step against one that goes byte by byte:
 * input.h, read in pieces of any size, with interruptions and errors; split,
 * with every instruction set; record.h; key_take, for any recipe.
 *
 *     flags, separator, flags of the key, -s, -w,
 *     number of ranges of -k (mod 8), and each: first, last (0: open),
 *     lines of a batch, where the data begin in memory,
 *     number of reads (mod 32), and each: see `pieces`,
 *     number of files (mod 3, one more), and each: kind, length (2 bytes; the
 *     last one has the rest), bytes
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <zlib.h>
#ifdef WITH_ZSTD
#include <zstd.h>
#endif

#include "bits/hash.h"
#include "bits/loops.h"
#include "bits/scan.h"
#include "bits/version.h"
#include "disk/format.h"
#include "fuzz.h"
#include "key/key.h"
#include "stream/input.h"

#define FILES 3
#define BYTES_MAX ((size_t)8 << 20)
#define EXPANDED_MAX ((size_t)600 << 10)
#define KEYS_MAX 500 /* of an input; more of them cost time only */

enum { /* flags */
	CSV = 1,
	ZERO = 2,
	NO_DECOMPRESS = 4,
	FAIL = 8,   /* reads may fail */
	/* the bytes are pairs: a byte, the root of how many; slow, so rare */
	EXPAND = 16 | 32 | 64,
	ZSTD = 128 /* what is packed is zstd */
};

enum { /* kind of a file: below 4 as it is, else gzip's or zstd's */
	PACKED = 4,
	STORED = 8,      /* not compressed */
	MEMBERS = 16,    /* or frames: two of them */
	CUT = 32,        /* without its last bytes */
	FOLLOWED = 64,   /* by zeros */
	GARBAGE = 128    /* or something else */
};

struct text {
	uint8_t *data;
	size_t nbytes, capacity;
};

struct file {
	int fd;
	char path[40];
	ino_t inode;
	struct text text;  /* what is in it */
	int failed;        /* a read failed */
	size_t delivered;  /* after so many bytes */
};

static struct file files[FILES];
static unsigned file_count;
static struct text expected; /* what all files together give */
static size_t *ends;         /* of its lines, sorted */
static size_t end_count, end_capacity;
static int expected_failure;

/*
 * How much a read gives: 1 to 251 bytes (with EXPAND, about so many kB); 0:
 * interrupted; 252: try again; 253: an error, with FAIL; others: all of it.
 */
static const uint8_t *pieces;
static size_t piece_count, piece, piece_unit;
static int feeding, may_fail, interrupted;

ssize_t __real_read(int fd, void *data, size_t nbytes);
ssize_t __wrap_read(int fd, void *data, size_t nbytes);

static void
append(struct text *text, const void *data, size_t nbytes)
{
	if (text->data == NULL || text->nbytes + nbytes > text->capacity) {
		text->capacity = 2 * (text->nbytes + nbytes) + 64;
		text->data = realloc(text->data, text->capacity);
		MUST(text->data != NULL);
	}
	if (nbytes > 0)
		memcpy(text->data + text->nbytes, data, nbytes);
	text->nbytes += nbytes;
}

static ssize_t
fail_read(int fd)
{
	struct stat st;

	MUST(fstat(fd, &st) == 0);
	for (unsigned i = 0; i < file_count; i++) {
		if (files[i].inode == st.st_ino) {
			files[i].failed = 1;
			files[i].delivered = (size_t)lseek(fd, 0, SEEK_CUR);
		}
	}
	errno = EIO;
	return -1;
}

/* The linker puts it in the place of read(2): see Makefile. */
ssize_t
__wrap_read(int fd, void *data, size_t nbytes)
{
	unsigned how;

	if (!feeding || piece_count == 0)
		return __real_read(fd, data, nbytes);
	how = pieces[piece++ % piece_count];
	if ((how == 0 || how == 252) && !interrupted) {
		interrupted = 1;
		errno = how == 0 ? EINTR : EAGAIN;
		return -1;
	}
	interrupted = 0;
	if (how == 253 && may_fail)
		return fail_read(fd);
	if (how > 0 && how < 252 && how * piece_unit < nbytes)
		nbytes = how * piece_unit;
	return __real_read(fd, data, nbytes);
}

static void
be_quiet(void *context, const char *text)
{
	(void)context;
	MUST(strchr(text, ':') != NULL);
}

static void
pack_gzip(struct text *to, const uint8_t *data, size_t nbytes, unsigned kind)
{
	z_stream z = { 0 };
	uint8_t *packed;

	MUST(deflateInit2(&z, kind & STORED ? 0 : 1, Z_DEFLATED, 16 + 9, 1,
	    Z_DEFAULT_STRATEGY) == Z_OK);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)nbytes;
	z.avail_out = (uInt)deflateBound(&z, (uLong)nbytes);
	packed = malloc(z.avail_out);
	MUST(packed != NULL);
	z.next_out = packed;
	MUST(deflate(&z, Z_FINISH) == Z_STREAM_END);
	append(to, packed, z.total_out);
	free(packed);
	deflateEnd(&z);
}

static void
pack_zstd(struct text *to, const uint8_t *data, size_t nbytes, unsigned kind)
{
#ifdef WITH_ZSTD
	ZSTD_CCtx *c = ZSTD_createCCtx();
	size_t room = ZSTD_compressBound(nbytes);
	uint8_t *packed = malloc(room);

	MUST(c != NULL && packed != NULL);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, !(kind & STORED));
	ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel,
	    kind & STORED ? -100 : 3);
	room = ZSTD_compress2(c, packed, room, data, nbytes);
	MUST(!ZSTD_isError(room));
	append(to, packed, room);
	free(packed);
	ZSTD_freeCCtx(c);
#else
	(void)kind;
	append(to, "\x28\xb5\x2f\xfd", 4);
	append(to, data, nbytes);
#endif
}

/* What stands in a file: as it is, repeated, packed, and damaged. */
static void
make_file(struct file *file, struct input_bytes *in, int expand, int zstd,
    int last)
{
	void (*pack)(struct text *, const uint8_t *, size_t, unsigned) =
	    zstd ? pack_zstd : pack_gzip;
	unsigned kind = (unsigned)take(in, 1), cut = kind % 4;
	size_t n = last ? in->nbytes : (size_t)take(in, 2), half;
	const uint8_t *bytes = take_bytes(in, &n);
	struct text plain = { 0 };

	append(&plain, "", 0);
	for (size_t i = 0; expand && i + 1 < n; i += 2) {
		unsigned root = bytes[i + 1];
		uint8_t run[255 * 255];

		memset(run, bytes[i], root * root);
		if (plain.nbytes + root * root <= EXPANDED_MAX)
			append(&plain, run, root * root);
	}
	if (!expand)
		append(&plain, bytes, n);
	file->text.nbytes = 0;
	half = kind & MEMBERS ? plain.nbytes / 2 : 0;
	if (!(kind & PACKED)) {
		append(&file->text, plain.data, plain.nbytes);
	} else {
		if (kind & MEMBERS)
			pack(&file->text, plain.data, half, kind);
		pack(&file->text, plain.data + half, plain.nbytes - half,
		    kind);
		if (kind & CUT) /* a frame of zstd may be shorter than that */
			file->text.nbytes -= file->text.nbytes > 1 + 6 * cut ?
			    1 + 6 * cut : 1;
		if (kind & FOLLOWED)
			append(&file->text, "\0\0\0\0\0\0", 1 + cut);
		if (kind & GARBAGE)
			append(&file->text, "\x1f\x8bxyz", 1 + cut);
	}
	free(plain.data);
	/* a filter isn't read as lines, if one read is enough to see it */
	if (format_is_filter(file->text.data, file->text.nbytes))
		file->text.data[0] = 'a';
	MUST(ftruncate(file->fd, 0) == 0 && pwrite(file->fd, file->text.data,
	    file->text.nbytes, 0) == (ssize_t)file->text.nbytes);
	file->failed = 0;
}

static void
open_files(void)
{
	for (unsigned i = 0; i < FILES; i++) {
		struct stat st;
		char name[sizeof fuzz_path + 8];

		snprintf(name, sizeof name, "%s.%u", fuzz_file(), i);
		files[i].fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		MUST(files[i].fd >= 0 && fstat(files[i].fd, &st) == 0);
		files[i].inode = st.st_ino;
		unlink(name);
		snprintf(files[i].path, sizeof files[i].path,
		    "/proc/self/fd/%d", files[i].fd);
	}
}

/* The model of input.h. */

static int
like_zstd(const uint8_t *p, size_t nbytes)
{
	return nbytes >= 4 && (memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0 ||
	    (p[0] >> 4 == 5 && memcmp(p + 1, "*M\x18", 3) == 0));
}

static int
like_gzip(const uint8_t *p, size_t nbytes)
{
	return nbytes >= 4 && p[0] == 0x1f && p[1] == 0x8b && p[2] == 8 &&
	    p[3] < 0x20;
}

/* Does it begin like bzip2 (with something in it, or nothing), xz or lz4? */
static int
is_refused(const uint8_t *p, size_t nbytes)
{
#ifndef WITH_ZSTD
	if (like_zstd(p, nbytes))
		return 1;
#endif
	return (nbytes >= 10 && memcmp(p, "BZh", 3) == 0 &&
	    (memcmp(p + 4, "1AY&SY", 6) == 0 ||
	    memcmp(p + 4, "\x17rE8P\x90", 6) == 0) && p[3] >> 4 == 3) ||
	    (nbytes >= 6 && memcmp(p, "\xfd" "7zXZ", 6) == 0) ||
	    (nbytes >= 4 && memcmp(p, "\4\"M\x18", 4) == 0);
}

/* Inflate one member; returns its length, 0 if it isn't whole or right. */
static size_t
inflate_member(struct text *to, const uint8_t *data, size_t nbytes)
{
	static uint8_t room[64 * 1024];
	z_stream z = { 0 };
	size_t length;
	int result;

	MUST(inflateInit2(&z, 16 + MAX_WBITS) == Z_OK);
	z.next_in = (Bytef *)(uintptr_t)data;
	z.avail_in = (uInt)nbytes;
	do {
		z.next_out = room;
		z.avail_out = sizeof room;
		result = inflate(&z, Z_NO_FLUSH);
		append(to, room, sizeof room - z.avail_out);
	} while (result == Z_OK && to->nbytes < BYTES_MAX);
	length = result == Z_STREAM_END ? nbytes - z.avail_in : 0;
	inflateEnd(&z);
	return length;
}

/* The same for a frame of zstd, byte by byte. */
static size_t
decompress_frame(struct text *to, const uint8_t *data, size_t nbytes)
{
	size_t length = 0;
#ifdef WITH_ZSTD
	static uint8_t room[64 * 1024];
	ZSTD_DCtx *d = ZSTD_createDCtx();
	ZSTD_inBuffer in = { data, 0, 0 };
	ZSTD_outBuffer out;
	size_t result = 1;

	MUST(d != NULL);
	while (in.size < nbytes && result != 0 && !ZSTD_isError(result) &&
	    to->nbytes < BYTES_MAX) {
		in.size++;
		do {
			out = (ZSTD_outBuffer){ room, sizeof room, 0 };
			result = ZSTD_decompressStream(d, &out, &in);
			append(to, room, out.pos);
		} while (out.pos == sizeof room && result != 0);
	}
	length = result == 0 ? in.pos : 0;
	ZSTD_freeDCtx(d);
#else
	(void)to, (void)data, (void)nbytes;
#endif
	return length;
}

/* The bytes of a file; returns whether they ended as they should. */
static int
read_all(const struct file *file, int decompress, struct text *to)
{
	const uint8_t *p = file->text.data;
	size_t left = file->failed ? file->delivered : file->text.nbytes;
	int zstd = like_zstd(p, left);
	int (*like)(const uint8_t *, size_t) = zstd ? like_zstd : like_gzip;

	if (decompress && is_refused(p, left))
		return 0;
	if (!decompress || !like(p, left)) {
		append(to, p, left);
		return !file->failed;
	}
	while (like(p, left)) {
		size_t n = (zstd ? decompress_frame : inflate_member)(to, p,
		    left);

		if (n == 0)
			return 0;
		p += n;
		left -= n;
	}
	if (file->failed && left < 4)
		return 0;
	while (left > 0 && *p == 0) {
		p++;
		left--;
	}
	if (left > 0) /* it is said, and left out */
		expected_failure = 1;
	return left > 0 || !file->failed;
}

/* UTF-8's byte order mark is no part of a record's first field. */
static size_t
mark_bytes(const uint8_t *data, size_t nbytes, uint8_t separator)
{
	return nbytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 &&
	    memchr("\xef\xbb\xbf", separator, 3) == NULL ? 3 : 0;
}

/* Where the line that begins at `at` ends, behind its terminator; 0: never. */
static size_t
line_end(const uint8_t *data, size_t at, size_t nbytes, uint8_t terminator,
    int csv, uint8_t separator, int backslash)
{
	int first = 1, quoted = 0;

	at += csv ? mark_bytes(data + at, nbytes - at, separator) : 0;
	for (; at < nbytes; at++) {
		uint8_t c = data[at];

		if (quoted) {
			if (c == '"' && at + 1 < nbytes && data[at + 1] == '"')
				at++;
			else if (c == '"')
				quoted = 0;
			else if (c == '\\' && backslash)
				at++;
		} else if (csv && first && c == '"') {
			quoted = 1;
			first = 0;
		} else if (c == terminator) {
			return at + 1;
		} else {
			first = c == separator;
		}
	}
	return 0;
}

static void
expect_end(size_t end)
{
	if (end_count == end_capacity) {
		end_capacity = 2 * end_capacity + 100;
		ends = memory_or_die(realloc(ends,
		    end_capacity * sizeof *ends));
	}
	ends[end_count++] = end;
}

static void
expect_file(const struct file *file, const struct inputs *plan)
{
	static struct text text;
	uint8_t terminator = plan->format.csv.terminator;
	size_t at = 0, end;
	int clean;

	text.nbytes = 0;
	clean = read_all(file, plan->decompress, &text);
	expected_failure |= !clean;
	while ((end = line_end(text.data, at, text.nbytes, terminator,
	    plan->format.is_csv, plan->format.csv.separator,
	    plan->format.csv.backslash)) > 0) {
		append(&expected, text.data + at, end - at);
		expect_end(expected.nbytes);
		at = end;
	}
	if (!clean || at == text.nbytes)
		return;
	append(&expected, text.data + at, text.nbytes - at);
	if (expected.data[expected.nbytes - 1] != terminator)
		append(&expected, &terminator, 1);
	expect_end(expected.nbytes);
}

/* The model of keys: bloomdedup(5), "From a line to a key". */

static int
is_blank(uint8_t c)
{
	return (c >= 9 && c <= 13) || c == ' ';
}

static int
is_chosen(const struct key_recipe *r, size_t number)
{
	for (unsigned i = 0; i < r->range_count; i++) {
		if (number >= r->ranges[i].first &&
		    number <= r->ranges[i].last)
			return 1;
	}
	return 0;
}

/* The value of the field at *at, which is moved behind its end. */
static void
model_field(const struct key_recipe *r, const uint8_t *p, size_t nbytes,
    size_t *at, struct text *value)
{
	size_t start = *at, i = start;
	int closed = 0;

	value->nbytes = 0;
	if (r->csv && i < nbytes && p[i] == '"') {
		for (i++; i < nbytes && !closed; i++) {
			if (p[i] == '\\' && r->csv_backslash &&
			    i + 1 < nbytes) {
				append(value, p + i, p[i + 1] != '"' &&
				    p[i + 1] != '\\');
				append(value, p + ++i, 1);
			} else if (p[i] != '"' || (i + 1 < nbytes &&
			    p[i + 1] == '"')) {
				append(value, p + i, 1);
				i += p[i] == '"';
			} else {
				closed = 1;
			}
		}
		*at = i;
		if (!closed || i == nbytes || p[i] == r->separator)
			return;
		value->nbytes = 0; /* more follows: all as it is */
	}
	while (i < nbytes && p[i] != r->separator)
		i++;
	append(value, p + start, i - start);
	*at = i;
}

/* Is byte `at` of the joined values left by --skip-chars, --check-chars? */
static int
is_left(const struct key_recipe *r, size_t at)
{
	return at >= r->skip && (r->check == 0 || at - r->skip < r->check);
}

static int
is_single(const struct key_recipe *r)
{
	return r->range_count == 1 && r->ranges[0].first == r->ranges[0].last;
}

/* Join a field of CSV; *at counts what is joined, without quotes. */
static void
join_quoted(const struct key_recipe *r, const struct text *value,
    size_t *separators, size_t *at, struct text *key)
{
	uint8_t separator = (uint8_t)r->separator;
	int begun = 0;

	for (; *separators > 0; --*separators, ++*at)
		append(key, &separator, (size_t)is_left(r, *at));
	for (size_t i = 0; i < value->nbytes; i++, ++*at) {
		if (!is_left(r, *at))
			continue;
		append(key, "\"", (size_t)!begun);
		begun = 1;
		append(key, "\"", value->data[i] == '"');
		append(key, value->data + i, 1);
	}
	append(key, "\"", (size_t)begun);
}

/* Join a chosen field to the key. */
static void
join(const struct key_recipe *r, const struct text *value, size_t *separators,
    size_t *at, struct text *key)
{
	uint8_t separator = r->separator < 0 ? ' ' : (uint8_t)r->separator;

	if (is_single(r)) {
		append(key, value->data, value->nbytes);
		return;
	}
	if (value->nbytes == 0) {
		++*separators;
		return;
	}
	if (r->csv) {
		join_quoted(r, value, separators, at, key);
	} else {
		for (; *separators > 0; --*separators)
			append(key, &separator, 1);
		append(key, value->data, value->nbytes);
	}
	*separators = 1;
}

/* --trim-fields */
static void
trim(const struct key_recipe *r, struct text *value)
{
	size_t blanks = 0;

	if (!r->trim_fields)
		return;
	while (value->nbytes > 0 && is_blank(value->data[value->nbytes - 1]))
		value->nbytes--;
	while (blanks < value->nbytes && is_blank(value->data[blanks]))
		blanks++;
	value->nbytes -= blanks;
	memmove(value->data, value->data + blanks, value->nbytes);
}

static void
model_fields(const struct key_recipe *r, const uint8_t *p, size_t nbytes,
    struct text *key)
{
	static struct text value;
	size_t separators = 0, number = 1, at = 0, joined = 0;

	if (r->csv)
		at = mark_bytes(p, nbytes, (uint8_t)r->separator);
	if (r->separator >= 0) {
		for (;; at++, number++) {
			model_field(r, p, nbytes, &at, &value);
			trim(r, &value);
			if (is_chosen(r, number))
				join(r, &value, &separators, &joined, key);
			if (at == nbytes)
				return;
		}
	}
	while (at < nbytes) {
		value.nbytes = 0;
		for (; at < nbytes && p[at] != ' ' && p[at] != '\t' &&
		    p[at] != '\n'; at++)
			append(&value, p + at, 1);
		if (value.nbytes > 0) {
			trim(r, &value);
			if (is_chosen(r, number))
				join(r, &value, &separators, &joined, key);
			number++;
		}
		at++;
	}
}

static void
cut(const struct key_recipe *r, struct text *key)
{
	size_t skip = r->skip < key->nbytes ? (size_t)r->skip : key->nbytes;

	key->nbytes -= skip;
	if (key->nbytes > 0)
		memmove(key->data, key->data + skip, key->nbytes);
	if (r->check > 0 && r->check < key->nbytes)
		key->nbytes = (size_t)r->check;
}

static void
model_key(const struct key_recipe *r, const uint8_t *p, size_t nbytes,
    struct text *key)
{
	key->nbytes = 0;
	if ((r->strip_cr || r->csv) && nbytes > 0 && p[nbytes - 1] == '\r')
		nbytes--;
	for (; r->trim && nbytes > 0 && is_blank(p[nbytes - 1]); nbytes--)
		continue;
	for (; r->trim && nbytes > 0 && is_blank(*p); nbytes--)
		p++;
	if (r->range_count > 0)
		model_fields(r, p, nbytes, key);
	else
		append(key, p, nbytes);
	if (!(r->csv && r->range_count > 0 && !is_single(r)))
		cut(r, key);
	for (size_t i = 0; r->ignore_case && i < key->nbytes; i++) {
		if (key->data[i] >= 'A' && key->data[i] <= 'Z')
			key->data[i] = (uint8_t)(key->data[i] + 32);
	}
}

static void
check_key(const struct key_recipe *r, const uint8_t *line, size_t nbytes)
{
	static const struct hash hashes[] = {
		{ HASH_XXH3_128, { 1, 2, 3 } },
		{ HASH_SIPHASH_1_3_128, { 4, 5, 6 } }
	};
	static struct text want;
	size_t room = (r->csv ? 4 : 1) * nbytes;
	struct key_scratch scratch = { 0 };
	struct key key;

	key_scratch_begin(&scratch, r);
	/* as much as it may take, and no byte more */
	/* with backslashes, values are decoded at its end */
	scratch.capacity = room + (r->csv_backslash ? nbytes + LOOPS_PADDING :
	    0);
	scratch.data = malloc(scratch.capacity + 1);
	MUST(scratch.data != NULL);
	key = key_take(r, line, nbytes, &scratch);
	model_key(r, line, nbytes, &want);
	MUST(scratch.used <= room);
	MUST(key.nbytes == want.nbytes &&
	    (want.nbytes == 0 ||
	    memcmp(key.data, want.data, key.nbytes) == 0));
	for (unsigned i = 0; i < 2; i++) {
		struct digest d;

		loops_versions[VERSION_PLAIN]->digest(hashes + i, &key, 1, &d);
		for (unsigned j = 0; j < VERSIONS; j++) {
			struct digest e;

			if (!version_runs(j))
				continue;
			loops_versions[j]->digest(hashes + i, &key, 1, &e);
			MUST(d.low == e.low && d.high == e.high);
		}
	}
	free(scratch.data);
}

/*
 * Split [data, end), which is lines `from` to `to` of all, in batches of
 * `limit`: with this version, or as CSV.
 */
static void
check_split(const struct scan *k, const struct csv_format *csv,
    uint8_t *data, size_t start, size_t from, size_t to, size_t limit)
{
	/* as long as the contract says, so that a sanitizer sees its end */
	const uint8_t **starts = malloc((limit + 1) * sizeof *starts);
	uint8_t *strays = malloc(limit);
	const uint8_t *p = data, *end = data + ends[to - 1] - start;
	const struct record_format records = { .csv = *csv, .is_csv = 1 };

	MUST(starts != NULL && strays != NULL);
	while (p < end) {
		size_t n = k != NULL ? k->split(p, end, csv->terminator,
		    starts, limit) : record_split(&records, p, end, starts,
		    limit, strays);

		MUST(n >= 1 && n <= limit && n <= to - from);
		MUST(n == limit || n == to - from || k == NULL);
		MUST(starts[0] == p);
		for (size_t i = 1; i <= n; i++)
			MUST(starts[i] == data + ends[from++] - start);
		for (size_t i = 0; k == NULL && i < n; i++)
			MUST(strays[i] == (record_stray(csv, starts[i],
			    starts[i + 1]) != NULL));
		p = starts[n];
	}
	MUST(from == to);
	free(strays);
	free(starts);
}

/*
 * The scan of record.h against its reference, over a chunk in pieces of 1 to
 * 200 bytes: the state after each piece, and where the last record ends.
 */
static void
check_scan(const struct record_format *format, const uint8_t *data,
    size_t nbytes, unsigned piece_bytes)
{
	struct csv_state state = { 0 }, want = { 0 };

	for (size_t at = 0, n; at < nbytes; at += n) {
		size_t last = 0;

		n = 1 + (at + piece_bytes) % 200;
		n = n < nbytes - at ? n : nbytes - at;
		for (size_t i = 0; i < n; i++) {
			record_step(&format->csv, &want, data[at + i]);
			if (data[at + i] != format->csv.terminator)
				continue;
			want.lines++;
			if (want.in == CSV_QUOTED)
				want.quoted_lines++;
			else
				last = i + 1;
		}
		MUST(record_scan(format, &state, data + at, n) == last);
		MUST(state.in == want.in && state.lines == want.lines &&
		    state.quoted_lines == want.quoted_lines);
	}
}

/*
 * A field of a record, [start, start + nbytes) with the quotes around it, as
 * csv_fields_next and, of the first hundred, the vectors of every instruction
 * set find it: they begin with the first field each time.
 */
static void
check_field(struct csv_fields *fields, struct csv_fields first,
    uint32_t number, const uint8_t *start, size_t nbytes, int quoted)
{
	struct key field;
	int has_quotes;

	MUST(fields->next == start);
	field = csv_fields_next(fields);
	if (quoted)
		MUST(field.data == start + 1 && field.nbytes == nbytes - 2);
	else if (fields->quoted) /* never closed */
		MUST(field.data == start + 1 && field.nbytes == nbytes - 1 &&
		    start + nbytes == first.end);
	else
		MUST(field.data == start && field.nbytes == nbytes);
	if (number > 100)
		return;
	has_quotes = memchr(first.next, '"',
	    (size_t)(first.end - first.next)) != NULL;
	for (unsigned i = 0; i < VERSIONS && !first.backslash; i++) {
		if (!version_runs(i))
			continue;
		field = scan_versions[i]->csv_field(first.next, first.end,
		    first.separator, number);
		/* it may leave a record with quotes to the other */
		MUST(field.data == NULL ? has_quotes :
		    field.data == start && field.nbytes == nbytes);
	}
}

/* The fields of a record against what record_step says. */
static void
check_fields(const struct csv_format *format, const uint8_t *data,
    size_t nbytes)
{
	struct csv_state state = { 0 };
	struct csv_fields first = csv_fields_begin(format, data,
	    data + nbytes), fields = first;
	const uint8_t *start = data;
	uint32_t number = 1;

	for (size_t i = 0; i < nbytes; i++) {
		int closed = state.in == CSV_QUOTE_IN_QUOTED;

		record_step(format, &state, data[i]);
		if (state.in != CSV_FIELD_START)
			continue;
		if (data[i] == format->separator)
			check_field(&fields, first, number++, start,
			    (size_t)(data + i - start), closed);
		else
			MUST(data + i + 1 == first.next); /* a mark */
		start = data + i + 1;
	}
	check_field(&fields, first, number, start,
	    (size_t)(data + nbytes - start), state.in == CSV_QUOTE_IN_QUOTED);
	MUST(fields.next == NULL);
	for (unsigned i = 0; i < VERSIONS && !format->backslash; i++)
		MUST(!version_runs(i) || scan_versions[i]->csv_field(first.next,
		    first.end, first.separator, number + 1).data == NULL);
}

static void
check_bits(const uint8_t *p, uint8_t byte)
{
	for (unsigned j = 0; j < VERSIONS; j++) {
		const uint8_t bytes[3] = { byte, ' ', '\n' };
		uint64_t equal[3], blanks;

		if (!version_runs(j))
			continue;
		blanks = scan_versions[j]->blanks(p);
		scan_versions[j]->equal_three(p, bytes, equal);
		for (unsigned i = 0; i < 64; i++) {
			MUST((equal[0] >> i & 1) == (p[i] == byte));
			MUST((equal[1] >> i & 1) == (p[i] == ' '));
			MUST((equal[2] >> i & 1) == (p[i] == '\n'));
			MUST((blanks >> i & 1) == (p[i] == ' ' ||
			    p[i] == '\t' || p[i] == '\n'));
		}
	}
}

static struct key_recipe
take_recipe(struct input_bytes *in, unsigned flags)
{
	struct key_recipe r = KEY_RECIPE_NONE, none;
	struct error error;
	int separator = (int)take(in, 1);
	unsigned how = (unsigned)take(in, 1), ranges;
	char list[8 * 12] = "";
	size_t n = 0;

	r.csv = (flags & CSV) != 0;
	r.zero_terminated = (flags & ZERO) != 0;
	r.strip_cr = how & 1;
	r.trim = how >> 1 & 1;
	r.ignore_case = how >> 2 & 1;
	r.trim_fields = how >> 4 & 1;
	r.csv_backslash = r.csv && how >> 5 & 1;
	r.separator = how & 8 ? separator : -1;
	r.skip = take(in, 1);
	r.check = take(in, 1);
	none = (struct key_recipe){ .csv = r.csv, .separator = -1,
		.csv_backslash = r.csv_backslash,
		.zero_terminated = r.zero_terminated };
	ranges = (unsigned)take(in, 1) % 8;
	for (unsigned i = 0; i < ranges; i++) {
		unsigned first = (unsigned)take(in, 1);
		unsigned last = (unsigned)take(in, 1);

		n += (size_t)snprintf(list + n, sizeof list - n, "%s%u-",
		    i == 0 ? "" : ",", first);
		if (last != 0)
			n += (size_t)snprintf(list + n, sizeof list - n, "%u",
			    last);
	}
	if ((ranges > 0 && key_ranges_parse(&r, list) < 0) ||
	    key_recipe_complete(&r, &error) < 0) {
		r = none;
		MUST(key_recipe_complete(&r, &error) == 0);
	}
	return r;
}

/* A chunk: whole lines, as expected, and each of its parts in turn. */
static void
check_chunk(const struct chunk *chunk, const struct key_recipe *r,
    size_t start, size_t from, size_t to, size_t limit, size_t shift)
{
	struct csv_format csv = { (uint8_t)r->separator,
		r->zero_terminated ? '\0' : '\n', r->csv_backslash };
	uint8_t *copy = malloc(shift + chunk->nbytes + LOOPS_PADDING);
	uint8_t *data = copy + shift;

	MUST(copy != NULL);
	memcpy(data, chunk->data, chunk->nbytes);
	/* what is behind must not matter */
	memset(data + chunk->nbytes, csv.terminator, LOOPS_PADDING);
	if (r->csv) {
		const struct record_format format = { .csv = csv, .is_csv = 1 };

		check_split(NULL, &csv, data, start, from, to, limit);
		check_scan(&format, data, chunk->nbytes, (unsigned)shift);
	}
	for (unsigned i = 0; !r->csv && i < VERSIONS; i++) {
		if (version_runs(i))
			check_split(scan_versions[i], &csv, data, start, from,
			    to, limit);
	}
	for (size_t i = from; i < to && i < KEYS_MAX; i++) {
		size_t at = (i == from ? start : ends[i - 1]) - start;

		check_bits(data + at, csv.terminator);
		if (r->csv)
			check_fields(&csv, data + at, ends[i] - start - at - 1);
		check_key(r, data + at, ends[i] - start - at - 1);
	}
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
	struct input_bytes in = { bytes, nbytes };
	unsigned flags = (unsigned)take(&in, 1);
	int expand = (flags & EXPAND) == EXPAND;
	struct key_recipe recipe = take_recipe(&in, flags);
	size_t limit = 1 + (size_t)take(&in, 1), shift = take(&in, 1) % 64;
	struct text got = { 0 };
	size_t cuts[1000], cut_count = 0, from = 0;
	char *paths[FILES];
	struct inputs plan = { .paths = paths,
		.format = key_record_format(&recipe),
		.decompress = !(flags & NO_DECOMPRESS), .notice = be_quiet };
	struct input *input;
	struct chunk chunk = { 0 };
	size_t wanted;
	uint64_t total = 0;

	if (files[0].path[0] == '\0')
		open_files();
	piece_count = take(&in, 1) % 32;
	pieces = take_bytes(&in, &piece_count);
	piece = 0;
	may_fail = (flags & FAIL) != 0;
	piece_unit = expand ? 997 : 1;
	/* record_split looks at some lines beyond its limit each time */
	limit *= expand ? 256 : 1;
	file_count = 1 + (unsigned)take(&in, 1) % FILES;
	for (unsigned i = 0; i < file_count; i++) {
		make_file(&files[i], &in, expand, (flags & ZSTD) != 0,
		    i + 1 == file_count);
		paths[i] = files[i].path;
		total += files[i].text.nbytes;
	}
	plan.count = file_count;
	MUST(input_total(&plan) == total);
	input_estimate(&plan);

	input = input_new(&plan);
	feeding = 1;
	wanted = shift % 2 ? 100 + shift : 256 * 1024;
	while (input_next(input, &chunk, wanted)) {
		MUST(chunk.nbytes > 0);
		append(&got, chunk.data, chunk.nbytes);
		if (cut_count < sizeof cuts / sizeof *cuts)
			cuts[cut_count++] = got.nbytes;
	}
	feeding = 0;
	chunk_free(&chunk);

	expected.nbytes = 0;
	end_count = 0;
	expected_failure = 0;
	for (unsigned i = 0; i < file_count; i++)
		expect_file(&files[i], &plan);
	MUST(got.nbytes == expected.nbytes && (got.nbytes == 0 ||
	    memcmp(got.data, expected.data, got.nbytes) == 0));
	MUST(input_failed(input) == expected_failure);
	input_free(input);
	for (size_t i = 0; i < cut_count; i++) {
		size_t start = i == 0 ? 0 : cuts[i - 1], to = from;

		while (to < end_count && ends[to] <= cuts[i])
			to++;
		MUST(to > from && ends[to - 1] == cuts[i]);
		chunk = (struct chunk){ .data = got.data + start,
			.nbytes = cuts[i] - start };
		check_chunk(&chunk, &recipe, start, from, to, limit, shift);
		from = to;
	}
	free(got.data);
	return 0;
}
