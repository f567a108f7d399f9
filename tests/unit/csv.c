/*
 * Goal: records and fields of CSV end where RFC 4180 says, in whatever pieces
 * the stream comes, on random bytes; compared with a model that goes byte by
 * byte.
 */
#include <stdlib.h>
#include <string.h>

#include "bits/scan.h"
#include "bits/version.h"
#include "key/record.h"
#include "random64.h"
#include "tap.h"

#define BYTES_MAX 300 /* some words of 64 */
#define ROUNDS 100000

/* Few different bytes, so that every neighbourhood turns up. */
static size_t
random_text(uint8_t *data, const struct csv_format *format)
{
	static const char bytes[] = "\"\"\"a\r\n";
	size_t nbytes = below(BYTES_MAX);
	uint64_t random = 0;

	for (size_t i = 0; i < nbytes; i++) {
		unsigned what;

		/* 16 digits of one number: to draw them all takes longest */
		if (i % 16 == 0)
			random = random64();
		what = (unsigned)(random % 10);
		random /= 10;
		if (what == 9) {
			/* a byte order mark, or a part of it */
			what = 1 + below(4);
			what = what > 3 || nbytes - i < what ? 1 : what;
			memcpy(data + i, "\xef\xbb\xbf", what);
			i += what - 1;
			continue;
		}
		if (what == 3 && format->backslash)
			data[i] = '\\';
		else
			data[i] = what < 6 ? (uint8_t)bytes[what] : what < 8 ?
		    format->separator : format->terminator;
	}
	return nbytes;
}

/* Fields as programs write them, half of them in quotes. */
static size_t
usual_text(uint8_t *data, const struct csv_format *format)
{
	size_t nbytes = below(BYTES_MAX), i = 0;

	while (i < nbytes) {
		int quoted = (int)below(2);
		size_t length = below(below(8) == 0 ? 150 : 10);

		if (quoted)
			data[i++] = '"';
		for (; length > 0 && i + 4 < nbytes; length--) {
			unsigned what = below(20);

			data[i++] = !quoted || what > 3 ? 'a' : what == 0 ?
			    format->separator : what == 1 ?
			    format->terminator : '"';
			if (data[i - 1] == '"')
				data[i++] = '"';
		}
		if (quoted && i < nbytes)
			data[i++] = '"';
		if (i < nbytes)
			data[i++] = below(4) == 0 ? format->terminator :
			    format->separator;
	}
	/* perhaps with one byte that doesn't fit */
	if (nbytes > 0 && below(3) == 0)
		data[below((unsigned)nbytes)] = below(4) == 0 ? 0xbf : '"';
	return nbytes;
}

/* A byte order mark is no part of a record's first field. */
static size_t
mark_bytes(const uint8_t *data, size_t nbytes)
{
	return nbytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

struct model {
	size_t ends[BYTES_MAX + 2]; /* where records end, with terminators */
	size_t count;
	int rest;   /* bytes follow the last one */
	int quoted;   /* the last quote isn't closed; it opens here: */
	size_t quote;
};

static void
make_model(struct model *m, const struct csv_format *format,
    const uint8_t *data, size_t nbytes)
{
	size_t start = 0;
	int at_start = 1;

	m->count = 0;
	m->quoted = 0;
	for (size_t i = mark_bytes(data, nbytes); i < nbytes; i++) {
		uint8_t c = data[i];

		if (m->quoted) {
			if (c == '"' && i + 1 < nbytes && data[i + 1] == '"')
				i++;
			else if (c == '"')
				m->quoted = 0;
			else if (c == '\\' && format->backslash)
				i++;
			continue;
		}
		if (c == '"' && at_start) {
			m->quoted = 1;
			m->quote = i;
			at_start = 0;
			continue;
		}
		at_start = c == format->separator || c == format->terminator;
		if (c == format->terminator) {
			m->ends[m->count++] = start = i + 1;
			i += mark_bytes(data + start, nbytes - start);
		}
	}
	m->rest = start < nbytes;
}

/* Scan in random pieces; the end must be the same as the model's. */
static int
scan_agrees(const struct model *m, const struct csv_format *format,
    const uint8_t *data, size_t nbytes, unsigned piece_max)
{
	const struct record_format records = { .csv = *format, .is_csv = 1 };
	struct csv_state csv = { .in = CSV_RECORD_START };
	size_t end = 0, done = 0;

	while (done < nbytes) {
		size_t piece = 1 + below(piece_max), last;

		if (piece > nbytes - done)
			piece = nbytes - done;
		last = record_scan(&records, &csv, data + done, piece);
		if (last > piece)
			return 0;
		if (last > 0)
			end = done + last;
		done += piece;
	}
	return end == (m->count == 0 ? 0 : m->ends[m->count - 1]) &&
	    record_in_quotes(&csv) == m->quoted &&
	    (!m->quoted || csv_open_quote(format, data + end,
	    data + nbytes) == data + m->quote);
}

/* Split as the pipeline does, in batches of `limit`. */
static int
split_agrees(const struct model *m, const struct csv_format *format,
    const uint8_t *data, size_t nbytes, size_t limit)
{
	const struct record_format records = { .csv = *format, .is_csv = 1 };
	const uint8_t *starts[BYTES_MAX + 2], *p = data;
	uint8_t strays[BYTES_MAX + 1];
	size_t seen = 0;

	while (p < data + nbytes) {
		size_t got = record_split(&records, p, data + nbytes, starts,
		    limit, strays);

		if (got == 0 || got > limit || starts[0] != p)
			return 0;
		for (size_t i = 1; i <= got; i++) {
			size_t end = seen < m->count ? m->ends[seen] : nbytes;

			if (seen == m->count + (size_t)m->rest ||
			    starts[i] != data + end)
				return 0;
			/* the last one may lack its terminator here */
			if (*(starts[i] - 1) == format->terminator &&
			    strays[i - 1] != (record_stray(format,
			    starts[i - 1], starts[i]) != NULL))
				return 0;
			seen++;
		}
		p = starts[got];
	}
	return seen == m->count + (size_t)m->rest;
}

static void
check_streams(struct csv_format format, const char *name)
{
	int scans = 1, bytes = 1, splits = 1;

	for (int i = 0; i < ROUNDS; i++) {
		uint8_t data[BYTES_MAX + LOOPS_PADDING];
		size_t nbytes = i % 2 == 0 ? random_text(data, &format) :
		    usual_text(data, &format);
		struct model m;

		make_model(&m, &format, data, nbytes);
		bytes &= scan_agrees(&m, &format, data, nbytes, 1);
		scans &= scan_agrees(&m, &format, data, nbytes,
		    1 + below(BYTES_MAX));
		splits &= split_agrees(&m, &format, data, nbytes,
		    1 + below(BYTES_MAX + 1));
	}
	tap_ok(bytes, "%s: records are found byte by byte", name);
	tap_ok(scans, "%s: records are found in random pieces", name);
	tap_ok(splits, "%s: a buffer is split where the records end", name);
}

/* The value of a field, as csv_fields_next says where it is. */
static size_t
value_of(struct key field, int quoted, uint8_t *value)
{
	size_t n = 0;

	for (size_t i = 0; i < field.nbytes; i++) {
		value[n++] = field.data[i];
		if (quoted && field.data[i] == '"')
			i++;
	}
	return n;
}

/* Write random values as a record, quoted or not, and read them back. */
static int
fields_agree(const struct csv_format *format)
{
	static const char bytes[] = "\"a\rbc";
	uint8_t values[8][8], record[8 * 20], *p = record;
	struct csv_fields fields;
	size_t lengths[8];
	unsigned count = 1 + below(8);

	for (unsigned i = 0; i < count; i++) {
		int quote = (int)below(2);

		lengths[i] = below(8);
		if (i > 0)
			*p++ = format->separator;
		if (quote)
			*p++ = '"';
		for (size_t j = 0; j < lengths[i]; j++) {
			unsigned what = below(7);
			uint8_t c = what < 5 ? (uint8_t)bytes[what] : what < 6 ?
			    format->separator : format->terminator;

			/* what needs quotes, or would be taken for one */
			if (!quote && (what >= 5 || (c == '"' && j == 0)))
				c = 'x';
			values[i][j] = c;
			*p++ = c;
			if (quote && c == '"')
				*p++ = '"';
		}
		if (quote)
			*p++ = '"';
	}
	fields = csv_fields_begin(format, record, p);
	for (unsigned i = 0; i < count; i++) {
		struct key field;
		uint8_t value[8 * 20];

		if (fields.next == NULL)
			return 0;
		field = csv_fields_next(&fields);
		if (field.data < record || field.data + field.nbytes > p ||
		    value_of(field, fields.quoted, value) != lengths[i] ||
		    memcmp(value, values[i], lengths[i]) != 0)
			return 0;
	}
	return fields.next == NULL;
}

static void
check_fields(struct csv_format format, const char *name)
{
	int right = 1, inside = 1;

	for (int i = 0; i < ROUNDS; i++)
		right &= fields_agree(&format);
	tap_ok(right, "%s: fields come back as they were written", name);

	/* Whatever the bytes, a field lies in its record, and they end. */
	for (int i = 0; i < ROUNDS; i++) {
		uint8_t data[BYTES_MAX];
		size_t nbytes = random_text(data, &format), count = 0;
		struct csv_fields fields = { format.separator, data,
			data + nbytes, 0, format.backslash };

		while (fields.next != NULL && inside) {
			const uint8_t *start = fields.next;
			struct key field = csv_fields_next(&fields);

			inside &= field.data >= start &&
			    field.nbytes <= nbytes &&
			    field.data + field.nbytes <= fields.end;
			inside &= fields.next == NULL || (fields.next > start &&
			    fields.next <= fields.end);
			inside &= ++count <= nbytes + 1;
		}
	}
	tap_ok(inside, "%s: fields of any bytes stay in the record", name);
}

/*
 * The hot loops find the field that record.h does, or none. Quotes around it
 * are left out here, as by those who call them.
 */
static int
places_agree(const struct scan *k, const struct csv_format *format,
    const uint8_t *data, size_t nbytes, unsigned *found)
{
	const uint8_t *end = data + nbytes;
	struct csv_fields fields = { format->separator, data, end, 0, 0 };

	for (uint32_t number = 1; number < 8; number++) {
		struct key place = k->csv_field(data, end, format->separator,
		    number);
		struct key field = { end, 0 };
		int quotes;

		fields.quoted = 0;
		if (fields.next != NULL)
			field = csv_fields_next(&fields);
		if (place.data == NULL)
			continue;
		++*found;
		quotes = place.nbytes >= 2 && place.data[0] == '"' &&
		    place.data[place.nbytes - 1] == '"';
		if (quotes != fields.quoted || place.nbytes != field.nbytes +
		    (quotes ? 2 : 0) || (field.nbytes > 0 &&
		    place.data + quotes != field.data))
			return 0;
	}
	return 1;
}

static void
check_places(struct csv_format format)
{
	for (unsigned v = 0; v < VERSIONS; v++) {
		const struct scan *k = scan_versions[v];
		unsigned found = 0;
		int right = 1;

		if (!version_runs(v))
			continue;
		for (int i = 0; i < ROUNDS; i++) {
			uint8_t data[BYTES_MAX + LOOPS_PADDING];
			size_t nbytes = i % 4 == 0 ? random_text(data, &format)
			    : usual_text(data, &format);

			right &= places_agree(k, &format, data, nbytes, &found);
		}
		tap_ok(right && found > ROUNDS, "%s: fields are where"
		    " record.h finds them: %u of %d", loops_versions[v]->name,
		    found, 7 * ROUNDS);
	}
}

/* The fields of the record are these values. */
static void
check_record(const char *record, const char *const *values, unsigned count)
{
	const uint8_t *start = (const uint8_t *)record;
	struct csv_fields fields = { ',', start, start + strlen(record), 0,
		0 };
	int right = 1;

	for (unsigned i = 0; i < count && right; i++) {
		struct key field;
		uint8_t value[100];
		size_t n;

		right = fields.next != NULL;
		if (!right)
			break;
		field = csv_fields_next(&fields);
		n = value_of(field, fields.quoted, value);
		right = n == strlen(values[i]) &&
		    memcmp(value, values[i], n) == 0;
	}
	tap_ok(right && fields.next == NULL, "fields of: %s", record);
}

int
main(void)
{
	check_streams((struct csv_format){ ',', '\n', 0 }, "comma");
	check_streams((struct csv_format){ ';', '\0', 0 }, "semicolon and NUL");
	check_streams((struct csv_format){ ',', '\n', 1 }, "backslashes");
	check_fields((struct csv_format){ ',', '\n', 0 }, "comma");
	check_fields((struct csv_format){ '\t', '\n', 0 }, "tab");
	check_fields((struct csv_format){ ',', '\0', 0 }, "comma and NUL");

	check_places((struct csv_format){ ',', '\n', 0 });

	check_record("", (const char *[]){ "" }, 1);
	check_record(",", (const char *[]){ "", "" }, 2);
	check_record("a,b,", (const char *[]){ "a", "b", "" }, 3);
	check_record("\"\",\"\"", (const char *[]){ "", "" }, 2);
	check_record("\"a,b\",c", (const char *[]){ "a,b", "c" }, 2);
	check_record("\"\"\"\",\"\"\"\"\"\"",
	    (const char *[]){ "\"", "\"\"" }, 2);
	check_record("a\"b,c\"", (const char *[]){ "a\"b", "c\"" }, 2);
	check_record(" \"a\", \"b\"", (const char *[]){ " \"a\"", " \"b\"" },
	    2);
	check_record("\"never closed, b", (const char *[]){
	    "never closed, b" }, 1);
	check_record("\"", (const char *[]){ "" }, 1);
	return tap_end();
}
