/*
 * Header and slots, and filters opened from them, against bloomdedup(5) done
 * the slow way. The input changes fields of a right file; the checksums are
 * made right again, or not.
 *
 *     flags, length, layers of slot 1 and of slot 2 (length 5: three bytes
 *     that say it), then changes:
 *     0, field, value         a field of the header
 *     1, slot, field, value   a field of a slot
 *     2, slot, layer, field, value
 *     3, offset (2 bytes), n, n bytes
 *     4, the bytes of the file from the first one on
 */
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#include "filter/filter.h"
#include "fuzz.h"
#include "base/le.h"
#include "disk/format.h"
#include "model/estimate.h"

enum { /* flags */
	REPAIR_HEADER = 1,
	REPAIR_SLOTS = 2,
	CHAIN = 4,     /* make the layers follow each other, modulo 2^64 */
	COPY_ID = 8,
	WRITABLE = 16,
	SHARED = 32,
	DIRTY = 64,    /* the last byte of the file is not zero */
	PRIVATE = 128  /* pages in memory of our own, written back */
};

/* Files are sparse; more than this only where no one looks at all pages. */
#define END_FULL ((uint64_t)16 << 20)
#define END_SPARSE ((uint64_t)1 << 38)

static uint8_t image[FILTER_HEADER_BYTES], after[FILTER_HEADER_BYTES];

/* A reader that waits for a slot to become right: not here. */
int
nanosleep(const struct timespec *wanted, struct timespec *left)
{
	(void)wanted;
	(void)left;
	return 0;
}

static uint32_t
crc_of(const uint8_t *page)
{
	return (uint32_t)crc32(crc32(0, NULL, 0), page, PAGE_BYTES - 4);
}

static void
make_template(unsigned first, unsigned second)
{
	struct header h = { .id = "the filter's id", .created = 1,
		.capacity = 1000, .error_rate = 1e-3,
		.version_to_write = FORMAT_VERSION,
		.hash = { HASH_XXH3_128, { 1, 2, 3 } },
		.recipe = "trim\nkey=1\n" };

	format_header_encode(&h, image);
	for (unsigned slot = 0; slot < FORMAT_SLOTS; slot++) {
		const struct slot_head head = { .serial = 7 + slot };
		struct table table = {
			.count = slot == 0 ? first : second };
		uint64_t offset = FILTER_HEADER_BYTES;

		for (unsigned i = 0; i < table.count; i++) {
			table.layers[i] = (struct layer_entry){ .offset =
			    offset, .geometry = { 1 + i % 3, 10, 2 + i % 7 },
			    .capacity = 100, .error_rate = 1e-3,
			    .lines = i + 1 < table.count ? 100 : 50 };
			offset += table.layers[i].geometry.pages * PAGE_BYTES;
		}
		format_slot_encode(&head, &table, h.id,
		    image + (1 + slot) * PAGE_BYTES);
	}
}

static void
change_field(const uint8_t *fields, size_t count, uint8_t *at,
    struct input_bytes *in)
{
	const uint8_t *field = fields + take(in, 1) % (count / 2) * 2;

	le_put(at + field[0], take_evil(in), field[1]);
}

static void
change(struct input_bytes *in)
{
	/* offset and size; the key recipe's length is at 84 */
	static const uint8_t header[] = { 12, 2, 14, 2, 16, 4, 20, 4, 24, 8,
		40, 8, 48, 8, 56, 8, 64, 4, 68, 4, 72, 4, 76, 4, 80, 4, 84, 4,
		88, 8, 120, 8, 128, 8 };
	static const uint8_t slots[] = { 0, 8, 8, 8, 16, 8, 32, 8, 40, 4, 44,
		4, 48, 8, 56, 8 };
	static const uint8_t layers[] = { 0, 8, 8, 8, 16, 8, 24, 8, 32, 8, 40,
		8, 48, 4, 52, 4, 56, 4, 60, 4 };
	unsigned what = (unsigned)take(in, 1) % 5;
	uint8_t *page = image;
	const uint8_t *bytes;
	size_t offset = 0, n = sizeof image;

	if (what == 1 || what == 2)
		page += (1 + take(in, 1) % 2) * PAGE_BYTES;
	if (what == 2)
		page += 64 + take(in, 1) % TABLE_LAYERS_MAX * 64;
	if (what == 0)
		change_field(header, sizeof header, page, in);
	else if (what == 1)
		change_field(slots, sizeof slots, page, in);
	else if (what == 2)
		change_field(layers, sizeof layers, page, in);
	if (what <= 2)
		return;
	if (what == 3) {
		offset = (size_t)take(in, 2) % sizeof image;
		n = (size_t)take(in, 1);
	}
	n = n < sizeof image - offset ? n : sizeof image - offset;
	bytes = take_bytes(in, &n);
	memcpy(image + offset, bytes, n);
}

static void
repair(unsigned flags)
{
	for (unsigned i = 1; i <= FORMAT_SLOTS; i++) {
		uint8_t *page = image + i * PAGE_BYTES;
		uint32_t count = le_get32(page + 40);
		uint64_t offset = FILTER_HEADER_BYTES;

		if (flags & COPY_ID)
			memcpy(page + 16, image + 24, FILTER_ID_BYTES);
		for (unsigned j = 0; j < count && j < TABLE_LAYERS_MAX &&
		    (flags & CHAIN); j++) {
			le_put64(page + 64 + j * 64, offset);
			offset += le_get64(page + 64 + j * 64 + 8) * PAGE_BYTES;
		}
		if (flags & CHAIN)
			le_put64(page + 32, offset);
		if (flags & REPAIR_SLOTS)
			le_put32(page + PAGE_BYTES - 4, crc_of(page));
	}
	if (flags & REPAIR_HEADER)
		le_put32(image + PAGE_BYTES - 4, crc_of(image));
}

static int
zero(const uint8_t *page, uint64_t from, uint64_t to)
{
	for (; from < to; from++) {
		if (page[from] != 0)
			return 0;
	}
	return 1;
}

static int
right_rate(const uint8_t *p)
{
	double rate = le_get_double(p);

	return !isnan(rate) && rate > 0 && rate <= 1;
}

/* Lines of a filter are counted up to 2^53. */
static int
right_capacity(const uint8_t *p)
{
	return le_get64(p) >= 1 && le_get64(p) <= UINT64_C(1) << 53;
}

/* bloomdedup(5), "Window": none, or one with its feature. */
static int
right_window(const uint8_t *p)
{
	uint32_t kind = le_get32(p + 88);
	uint64_t length = le_get64(p + 96);

	if (le_get32(p + 16) == 0)
		return zero(p, 88, 104);
	return le_get32(p + 16) == 1 && zero(p, 92, 96) &&
	    (kind == 1 || (kind == 2 && length % 4 == 0)) && length >= 1 &&
	    length <= UINT64_C(1) << 53;
}

/* bloomdedup(5), "Header": may it be read? */
static int
right_header(const uint8_t *p)
{
	uint32_t hash = le_get32(p + 68), secret = le_get32(p + 80);
	uint32_t recipe = le_get32(p + 84);

	return memcmp(p, "\x89" "bloomdd\r\n\x1a\n", 12) == 0 &&
	    le_get16(p + 12) == 1 && le_get16(p + 14) >= 1 &&
	    right_window(p) && right_capacity(p + 48) &&
	    right_rate(p + 56) && le_get32(p + 64) <= 2 &&
	    ((hash == 1 && secret == 192) || (hash == 2 && secret == 16)) &&
	    le_get32(p + 72) == 4096 && le_get32(p + 76) == 64 &&
	    recipe <= 1024 && zero(p, 104, 128) && zero(p, 128 + secret, 320) &&
	    memchr(p + 320, '\0', recipe) == NULL &&
	    (recipe == 0 || p[320 + recipe - 1] == '\n') &&
	    zero(p, 320 + recipe, 4092) && le_get32(p + 4092) == crc_of(p);
}

/* Of a layer that isn't sealed, some pages, not all; or nothing. */
static int
right_sealing(const uint8_t *p, uint32_t count)
{
	uint32_t number = le_get32(p + 48);
	const uint8_t *layer = p + 64 * (uint64_t)number;

	if (number == 0)
		return zero(p, 52, 64);
	return number <= count && (le_get32(layer + 56) & 255) == 0 &&
	    le_get64(p + 56) < le_get64(layer + 8);
}

/* bloomdedup(5), "Windows": numbers ascend, and ends don't descend. */
static int
right_generations(const uint8_t *p)
{
	uint32_t count = le_get32(p + 3840);
	const int64_t limit = INT64_MAX / 4;

	if (count < 1 || count > 8 || !zero(p, 3844, 4092) ||
	    !zero(p, 3648 + 24 * (uint64_t)count, 3840))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *g = p + 3648 + 24 * i;
		int64_t begin = (int64_t)le_get64(g + 8);
		int64_t end = (int64_t)le_get64(g + 16);

		if (begin < -limit || begin > end || end > limit ||
		    (i > 0 && ((int64_t)le_get64(g) <=
		    (int64_t)le_get64(g - 24) ||
		    end < (int64_t)le_get64(g - 8))))
			return 0;
	}
	return 1;
}

static int
right_windowed_layer(const uint8_t *p, unsigned i)
{
	const uint8_t *layer = p + 64 + 64 * i;
	uint32_t k = le_get32(layer + 48), t = le_get32(layer + 52);
	uint32_t sealed = le_get32(layer + 56) & 255;
	uint32_t place = le_get32(layer + 56) >> 8;
	uint64_t begin = le_get64(layer), pages = le_get64(layer + 8);
	uint64_t end = begin + 4096 * pages;

	if (begin % 4096 != 0 || begin < 12288 || begin / 4096 > PAGES_MAX ||
	    pages < 1 || pages > PAGES_MAX || end > le_get64(p + 32) ||
	    !right_capacity(layer + 16) || !right_rate(layer + 24) ||
	    t < 1 || t > 8 || k < t || k > 8 * t || sealed > 1 ||
	    (sealed == 0 && le_get32(layer + 60) != 0) ||
	    place < 1 || place > le_get32(p + 3840) ||
	    (i > 0 && place < le_get32(layer - 64 + 56) >> 8))
		return 0;
	for (unsigned j = 0; j < i; j++) {
		const uint8_t *other = p + 64 + 64 * j;

		if (begin < le_get64(other) + 4096 * le_get64(other + 8) &&
		    le_get64(other) < end)
			return 0;
	}
	return 1;
}

static int
right_windowed_slot(const uint8_t *p, const uint8_t *id)
{
	uint32_t count = le_get32(p + 40);

	if (le_get64(p + 8) == 0 || le_get64(p + 8) == UINT64_MAX ||
	    memcmp(p + 16, id, 16) != 0 || count < 1 || count > 56 ||
	    le_get32(p + 44) > 2 || le_get32(p + 4092) != crc_of(p) ||
	    le_get64(p + 32) % 4096 != 0 ||
	    le_get64(p + 32) / 4096 > PAGES_MAX || !right_generations(p) ||
	    !right_sealing(p, count))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (!right_windowed_layer(p, i))
			return 0;
	}
	return 1;
}

/* bloomdedup(5), "Slots". */
static int
right_slot(const uint8_t *p, const uint8_t *id)
{
	uint32_t count = le_get32(p + 40);
	uint64_t end = 12288;

	if (memcmp(p, "bdwindow", 8) == 0)
		return right_windowed_slot(p, id);
	if (memcmp(p, "bdlayers", 8) != 0 || le_get64(p + 8) == 0 ||
	    le_get64(p + 8) == UINT64_MAX || memcmp(p + 16, id, 16) != 0 ||
	    count < 1 || count > 62 || le_get32(p + 44) > 2 ||
	    !right_sealing(p, count) || le_get32(p + 4092) != crc_of(p) ||
	    !zero(p, 64 + 64 * (uint64_t)count, 4092))
		return 0;
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *layer = p + 64 + 64 * i;
		uint32_t k = le_get32(layer + 48), t = le_get32(layer + 52);
		uint32_t flags = le_get32(layer + 56);

		if (le_get64(layer) != end || le_get64(layer + 8) < 1 ||
		    !right_capacity(layer + 16) || !right_rate(layer + 24) ||
		    t < 1 || t > 8 || k < t || k > 8 * t || flags > 1 ||
		    (flags == 0 && le_get32(layer + 60) != 0))
			return 0;
		/* the program counts all bits of a filter in 64 of them */
		if (le_get64(layer + 8) > PAGES_MAX)
			return 0;
		end += 4096 * le_get64(layer + 8);
		if (end / 4096 > PAGES_MAX)
			return 0;
	}
	return le_get64(p + 32) == end;
}

/* What the page decodes to, encoded again, is the page. */
static void
check_pages(const int *right)
{
	struct header h;
	struct slot_head head;
	struct table table;
	struct error error;
	uint8_t again[PAGE_BYTES];
	int result = format_header_decode(&h, image, &error);

	MUST((result == 0) == right_header(image));
	if (result == 0 && h.version_to_write == FORMAT_VERSION &&
	    h.optional_features == 0) {
		format_header_encode(&h, again);
		MUST(memcmp(image, again, PAGE_BYTES) == 0);
	}
	for (unsigned i = 0; i < FORMAT_SLOTS; i++) {
		const uint8_t *page = image + (1 + i) * PAGE_BYTES;

		result = format_slot_decode(&head, &table, image + 24, page,
		    &error);
		MUST((result == 0) == right[i]);
		if (result < 0)
			continue;
		MUST(table_end(&table) == le_get64(page + 32));
		format_slot_encode(&head, &table, image + 24, again);
		MUST(memcmp(page, again, PAGE_BYTES) == 0);
	}
}

static int
open_and_read(const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = pread(fd, after, sizeof after, 0);

	MUST(fd >= 0 && n >= 0 && fstat(fd, st) == 0);
	close(fd);
	return (int)n;
}

/* The newest slot that is right in the file. */
static const uint8_t *
newest_slot(const char *path)
{
	const uint8_t *slots = after + PAGE_BYTES, *newest = NULL;
	struct stat st;

	MUST(open_and_read(path, &st) == (int)sizeof after);
	for (unsigned i = 0; i < FORMAT_SLOTS; i++, slots += PAGE_BYTES) {
		if (right_slot(slots, image + 24) && (newest == NULL ||
		    le_get64(slots + 8) > le_get64(newest + 8)))
			newest = slots;
	}
	MUST(newest != NULL);
	return newest;
}

/* A filter that is open finds nothing, is marked, and finds it. */
static void
use_filter(struct filter *f, const char *path, int sparse, int writable)
{
	const struct filter_use use = FILTER_READ;
	struct digest digests[] = { { 0, 0 }, { UINT64_MAX, UINT64_MAX },
		{ 1, UINT64_MAX / 2 }, { UINT64_MAX, 0 } };
	struct error error;
	uint64_t room = 0, serial = le_get64(newest_slot(path) + 8);
	const uint8_t *slot;
	uint8_t found[4];
	struct stat st;

	for (unsigned i = 0; i < filter_table(f)->count && !sparse; i++)
		estimate_layer(f, i, 3, &error);
	filter_prefetch(f, digests, 4);
	MUST(filter_probe(f, digests, 4, found, &error) == 0);
	MUST(zero(found, 0, 4));
	if (!sparse)
		MUST(estimate_error_rate(f, 3) == 0);
	if (writable) {
		filter_reserve(f, 4, &room, &error);
		MUST(room <= 4);
		MUST(filter_mark(f, digests, (size_t)room, &error) == 0);
		MUST(filter_probe(f, digests, 4, found, &error) == 0);
		for (unsigned i = 0; i < room; i++)
			MUST(found[i]);
		MUST(stat(path, &st) == 0 &&
		    filter_bytes(f) <= (uint64_t)st.st_size);
		MUST(filter_sync(f, &error) == 0);
	}
	MUST(filter_close(f, &error) == 0);
	if (room == 0)
		return;
	MUST(filter_open(&f, path, &use, &error) == 0);
	slot = newest_slot(path);
	MUST(le_get64(slot + 8) > serial && le_get32(slot + 44) == 0);
	MUST(filter_probe(f, digests, 4, found, &error) == 0);
	for (unsigned i = 0; i < room; i++)
		MUST(found[i]);
	MUST(filter_close(f, &error) == 0);
}

/* What has this length, would it be opened? As bloomdedup(5), "Recovery". */
static int
opens(const int *right, uint64_t length, unsigned flags)
{
	const uint8_t *slots = image + PAGE_BYTES, *slot = NULL;
	unsigned left = 0;
	uint64_t end;

	for (unsigned i = 0; i < 2; i++, slots += PAGE_BYTES) {
		if (!right[i] || le_get64(slots + 32) > length)
			continue;
		if (slot == NULL || le_get64(slots + 8) > le_get64(slot + 8))
			slot = slots;
		left++;
	}
	if (slot == NULL || !right_header(image) || length < 4 * PAGE_BYTES)
		return 0;
	end = le_get64(slot + 32);
	if ((flags & WRITABLE) && (le_get16(image + 14) > 1 ||
	    le_get32(image + 20) != 0 || le_get64(slot + 8) >> 63 != 0))
		return 0;
	/* what a lost slot may have known is behind the end, but not zeros */
	return left == 2 || length == end || !(flags & DIRTY);
}

static void
check_file(const int *right, unsigned flags, unsigned how, uint64_t length)
{
	const uint8_t *slot = image + PAGE_BYTES;
	const char *path = fuzz_file();
	const struct filter_use use = {
		.writable = (flags & WRITABLE) != 0,
		.wait = { .shared = (flags & SHARED) != 0 }, .growth = -1,
		.max_bytes = END_FULL };
	struct filter *f;
	struct error error;
	struct stat st;
	uint64_t end;
	int fd, result, sparse, damaged, n;

	if (right[1] && (!right[0] || le_get64(image + 2 * PAGE_BYTES + 8) >
	    le_get64(image + PAGE_BYTES + 8)))
		slot += PAGE_BYTES;
	end = right[0] || right[1] ? le_get64(slot + 32) : END_FULL;
	length = how == 0 ? end : how == 1 ? end - 1 : how == 2 ? end + 1 :
	    how == 3 ? end + PAGE_BYTES : how == 4 ? sizeof image : how == 5 ?
	    length : end;
	/* a flag in the slot has the pages counted */
	sparse = end > END_FULL;
	if (length > END_SPARSE || (sparse && le_get32(slot + 44) != 0))
		length = END_FULL;
	if (length <= end || length < sizeof image)
		flags &= ~(unsigned)DIRTY;

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	MUST(fd >= 0 && pwrite(fd, image, length < sizeof image ?
	    (size_t)length : sizeof image, 0) >= 0 &&
	    ftruncate(fd, (off_t)length) == 0);
	if (flags & DIRTY)
		MUST(pwrite(fd, "x", 1, (off_t)length - 1) == 1);
	close(fd);
	setenv("BLOOMDEDUP_PRIVATE", flags & PRIVATE ? "0" : "1000000000000",
	    1);
	result = filter_open(&f, path, &use, &error);
	/* the address space may end before the file does */
	if (result < 0 && (strstr(error.text, "cannot map") != NULL ||
	    strstr(error.text, "too large for addresses") != NULL)) {
		MUST(sparse);
		return;
	}
	MUST((result == 0) == opens(right, length, flags));
	damaged = result == 0 && !(right[0] && right[1]);
	if (result == 0)
		use_filter(f, path, sparse, use.writable);
	else
		MUST(f == NULL && error.status == STATUS_FAILED &&
		    strncmp(error.text, path, strlen(path)) == 0);
	n = open_and_read(path, &st);
	if (result < 0 || !(flags & WRITABLE)) {
		MUST((uint64_t)st.st_size == length &&
		    memcmp(image, after, (size_t)n) == 0);
	} else {
		MUST(memcmp(image, after, PAGE_BYTES) == 0);
		if (damaged) /* healed */
			MUST(right_slot(after + PAGE_BYTES, image + 24) &&
			    right_slot(after + 2 * PAGE_BYTES, image + 24));
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	struct input_bytes in = { data, nbytes };
	unsigned flags = (unsigned)take(&in, 1);
	unsigned how = (unsigned)take(&in, 1) % 8;
	unsigned first = 1 + (unsigned)take(&in, 1) % TABLE_LAYERS_MAX;
	unsigned second = 1 + (unsigned)take(&in, 1) % TABLE_LAYERS_MAX;
	uint64_t length = how == 5 ? take(&in, 3) : 0;
	int right[2];

	make_template(first, second);
	while (in.nbytes > 0)
		change(&in);
	repair(flags);
	right[0] = right_slot(image + PAGE_BYTES, image + 24);
	right[1] = right_slot(image + 2 * PAGE_BYTES, image + 24);
	check_pages(right);
	check_file(right, flags, how, length);
	return 0;
}
