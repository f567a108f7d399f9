/*
 * What a Redis server says: the bytes of a filter's header, against
 * bloomdedup(5), "In Redis", and the text of an error; and the addresses of
 * servers. The first byte of the input says which of them the rest is:
 *
 *     0: is the checksum made right? Then changes of a right header: field,
 *        value (one of take_evil)
 *     1: the text of an error
 *     2: an address
 *
 * The header's page alone is for the target `format`; which shapes bit strings
 * may have is read from the program. Not covered are replies that are arrays,
 * such as that to CLUSTER SLOTS.
 */
#include <math.h>
#include <zlib.h>

#include "fuzz.h"
#include "base/le.h"
#include "bits/sizing.h"
#include "redis/address.h"
#include "redis/cluster.h"
#include "redis/layout.h"

#define NAME "seen"
/* Redis' longest string, in pages, without the trailer of a bit string. */
#define SHARD_PAGES_MAX ((UINT64_C(512) << 20) / PAGE_BYTES - 1)

static uint8_t image[LAYOUT_HEADER_BYTES];

/* Offsets and sizes: three fields of the page, then those behind it. */
static const struct { unsigned offset, nbytes; } fields[] = {
	{ 48, 8 }, { 56, 8 }, { 64, 4 },
	{ PAGE_BYTES, 8 }, { PAGE_BYTES + 8, 4 }, { PAGE_BYTES + 12, 4 },
	{ PAGE_BYTES + 16, 4 }, { PAGE_BYTES + 20, 4 }, { PAGE_BYTES + 24, 4 },
	{ PAGE_BYTES + 28, 4 }, { PAGE_BYTES + 32, 8 }, { PAGE_BYTES + 40, 8 },
	{ PAGE_BYTES + 48, 8 }, { PAGE_BYTES + 56, 4 }
};
#define FIELDS (sizeof fields / sizeof *fields)

static uint32_t
crc_of(const void *data, size_t nbytes)
{
	return (uint32_t)crc32(0, data, (uInt)nbytes);
}

static void
make_template(int bits)
{
	struct header h = { .id = "the filter's id", .created = 1,
		.capacity = 1000, .error_rate = 1e-3,
		.version_to_write = FORMAT_VERSION,
		.hash = { HASH_XXH3_128, { 1, 2, 3 } } };
	struct error error;
	struct layout l;

	if (bits)
		MUST(layout_bits(&l, 1000000, 1e-6, &error) == 0);
	else
		layout_bloom(&l, 1000000, 1e-6, GROWTH_GROW, 1);
	layout_encode(&l, &h, NAME, image);
}

/* The fields behind the page, by the manual. */
static int
right_fields(const uint8_t *p)
{
	uint32_t kind = le_get32(p + 12), shards = le_get32(p + 16);
	uint64_t pages = le_get64(p + 40);
	double rate = le_get_double(p + 48);
	struct geometry shape = { .pages = pages * shards,
		.k = le_get32(p + 20), .cache_lines = le_get32(p + 24) };
	int power = 0;

	for (unsigned i = 1; i <= LAYOUT_SHARDS_MAX; i *= 2)
		power |= shards == i;
	if (memcmp(p, "bdshard\n", 8) != 0 || le_get32(p + 8) != 1 || !power ||
	    le_get32(p + 28) != crc_of(NAME, strlen(NAME)) ||
	    le_get64(p + 32) < 1 || le_get64(p + 32) > SIZING_CAPACITY_MAX ||
	    isnan(rate) || rate < 0)
		return 0;
	if (kind == SHARDS_BLOOM)
		return 1;
	return kind == SHARDS_BITS && pages >= 1 && pages <= SHARD_PAGES_MAX &&
	    geometry_check(&shape) == 0;
}

/* What is shown of a filter with this header, however odd. */
static void
check_figures(const struct layout *l, const struct header *header,
    uint64_t lines)
{
	struct table table = { .count = 0 };
	uint64_t sum = 0;

	layout_bytes(l, header);
	layout_table(l, header, lines, &table);
	MUST(table.count >= 1 && table.count <= TABLE_LAYERS_MAX);
	for (unsigned i = 0; i < table.count; i++)
		sum += table.layers[i].lines;
	MUST(sum == lines);
}

static void
check_header(struct input_bytes *in)
{
	unsigned flags = (unsigned)take(in, 1);
	uint64_t lines = take_evil(in);
	uint8_t again[LAYOUT_HEADER_BYTES];
	struct header header, page;
	struct layout l, back;
	struct error error;
	int result;

	make_template(flags & 1);
	while (in->nbytes > 0) {
		size_t i = (size_t)take(in, 1) % FIELDS;

		le_put(image + fields[i].offset, take_evil(in),
		    fields[i].nbytes);
	}
	if (flags & 2)
		le_put32(image + PAGE_BYTES - 4, crc_of(image, PAGE_BYTES - 4));
	if (flags & 4)
		le_put32(image + sizeof image - 4,
		    crc_of(image, sizeof image - 4));
	result = layout_decode(&l, &header, NAME, image, sizeof image, &error);
	MUST((result == 0) == (right_fields(image + PAGE_BYTES) &&
	    le_get32(image + sizeof image - 4) ==
	    crc_of(image, sizeof image - 4) &&
	    format_header_decode(&page, image, &error) == 0));
	if (result < 0)
		return;
	check_figures(&l, &header, lines);
	layout_encode(&l, &header, NAME, again);
	MUST(layout_decode(&back, &header, NAME, again, sizeof again,
	    &error) == 0 && back.kind == l.kind && back.shards == l.shards &&
	    back.shard_pages == l.shard_pages && back.capacity == l.capacity &&
	    memcmp(&back.rate, &l.rate, sizeof l.rate) == 0 &&
	    geometry_is_same(&back.geometry, &l.geometry));
}

/* A redirection names a node that can be asked. */
static void
check_error(const char *text)
{
	char host[256];
	int port = 0;
	enum cluster_advice advice = cluster_advice(text, host, &port);

	if (advice != CLUSTER_MOVED && advice != CLUSTER_ASK)
		return;
	MUST(strncmp(text, advice == CLUSTER_MOVED ? "MOVED " : "ASK ",
	    advice == CLUSTER_MOVED ? 6 : 4) == 0);
	MUST(port >= 1 && port <= 65535 && strlen(host) < sizeof host);
	MUST(strstr(text, host) != NULL);
}

/* Does the text have what looks like a password anywhere else? */
static int
has_password_value(const char *text)
{
	for (; *text != '\0'; text++) {
		if (strncasecmp(text, "password=", 9) == 0)
			return 1;
	}
	return 0;
}

/* The last @ ends user and password, none of which is ever shown. */
static void
check_address(const char *text)
{
	struct address address;
	struct error error = { .status = -1 };
	const char *at = strrchr(text, '@');

	if (address_parse(&address, text, &error) < 0) {
		MUST(error.status == STATUS_USAGE && error.text[0] != '\0');
		MUST(address.name == NULL && address.shown == NULL);
		return;
	}
	MUST(address_is_server(text));
	MUST(address.count <= ADDRESS_HOSTS_MAX &&
	    (address.count > 0) == (address.path == NULL));
	for (size_t i = 0; i < address.count; i++)
		MUST(address.hosts[i].name[0] != '\0' &&
		    address.hosts[i].port >= 1 &&
		    address.hosts[i].port <= 65535);
	MUST(address.name[0] != '\0' &&
	    strlen(address.name) <= ADDRESS_NAME_MAX);
	/* "redis://@host/name" has none, and nothing is left out. */
	if (at != NULL && at == strstr(text, "://") + 3)
		at = NULL;
	if (has_password_value(text))
		MUST(strlen(address.shown) <= strlen(text));
	else if (at == NULL)
		MUST(strcmp(address.shown, text) == 0);
	else
		MUST(strchr(address.shown, '@') == NULL &&
		    strstr(address.shown, at + 1) != NULL);
	address_free(&address);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
	struct input_bytes in = { data, nbytes };
	unsigned what = (unsigned)take(&in, 1) % 3;
	char *text;

	if (what == 0) {
		check_header(&in);
		return 0;
	}
	/* on the heap, so that a sanitizer sees its end */
	text = malloc(in.nbytes + 1);
	MUST(text != NULL);
	memcpy(text, in.data, in.nbytes);
	text[in.nbytes] = '\0';
	if (what == 1)
		check_error(text);
	else
		check_address(text);
	free(text);
	return 0;
}
