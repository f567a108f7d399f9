/*
 * Goal: records and fields of CSV end where RFC 4180 says, in whatever pieces
 * the stream comes, on random bytes; compared with a model that goes byte by
 * byte.
 */
#include <stdlib.h>
#include <string.h>

#include "key/csv.h"
#include "bits/loops.h"
#include "random64.h"
#include "tap.h"

#define BYTES_MAX 64
#define ROUNDS 200000

/* Few different bytes, so that every neighbourhood turns up. */
static size_t
random_text(uint8_t *data, const struct csv_format *format)
{
	static const char bytes[] = "\"\"\"a\r\n";
	size_t nbytes = below(BYTES_MAX);

	for (size_t i = 0; i < nbytes; i++) {
		unsigned what = below(10);

		if (what == 9) {
			/* a byte order mark, or a part of it */
			what = 1 + below(4);
			what = what > 3 || nbytes - i < what ? 1 : what;
			memcpy(data + i, "\xef\xbb\xbf", what);
			i += what - 1;
			continue;
		}
		data[i] = what < 6 ? (uint8_t)bytes[what] : what < 8 ?
		    format->separator : format->terminator;
	}
	return nbytes;
}

/* A byte order mark is no part of a record's first field. */
static size_t
mark_bytes(const uint8_t *data, size_t nbytes)
{
	return nbytes >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

/*
 * ends[i] is where record i ends, behind its terminator. *rest is set if
 * bytes follow the last one.
 */
static size_t
model_records(const struct csv_format *format, const uint8_t *data,
    size_t nbytes, size_t *ends, int *rest)
{
	size_t n = 0, start = 0, mark;
	int at_start = 1, quoted = 0;

	mark = mark_bytes(data, nbytes);
	for (size_t i = mark; i < nbytes; i++) {
		uint8_t c = data[i];

		if (quoted) {
			if (c == '"' && i + 1 < nbytes && data[i + 1] == '"')
				i++;
			else if (c == '"')
				quoted = 0;
			continue;
		}
		if (c == '"' && at_start) {
			quoted = 1;
			at_start = 0;
			continue;
		}
		at_start = c == format->separator || c == format->terminator;
		if (c == format->terminator) {
			ends[n++] = start = i + 1;
			i += mark_bytes(data + start, nbytes - start);
		}
	}
	*rest = start < nbytes;
	return n;
}

/* Scan in random pieces; the end must be the same as the model's. */
static int
scan_agrees(const struct csv_format *format, const uint8_t *data,
    size_t nbytes, unsigned piece_max)
{
	struct csv_state csv = { .in = CSV_RECORD_START };
	size_t ends[BYTES_MAX + 1], end = 0, done = 0, n;
	int rest;

	n = model_records(format, data, nbytes, ends, &rest);
	while (done < nbytes) {
		size_t piece = 1 + below(piece_max), last;

		if (piece > nbytes - done)
			piece = nbytes - done;
		last = csv_scan(format, &csv, data + done, piece);
		if (last > piece)
			return 0;
		if (last > 0)
			end = done + last;
		done += piece;
	}
	return end == (n == 0 ? 0 : ends[n - 1]);
}

/* Split as the pipeline does, in batches of `limit`. */
static int
split_agrees(const struct csv_format *format, uint8_t *data, size_t nbytes,
    size_t limit)
{
	const uint8_t *starts[BYTES_MAX + 2], *p = data;
	size_t ends[BYTES_MAX + 1], n, seen = 0;
	int rest;

	n = model_records(format, data, nbytes, ends, &rest);
	if (rest)
		ends[n++] = nbytes;
	while (p < data + nbytes) {
		size_t got = csv_split(format, p, data + nbytes, starts, limit);

		if (got == 0 || got > limit || starts[0] != p)
			return 0;
		for (size_t i = 1; i <= got; i++) {
			if (seen == n || starts[i] != data + ends[seen++])
				return 0;
		}
		p = starts[got];
	}
	return seen == n;
}

static void
check_streams(struct csv_format format, const char *name)
{
	int scans = 1, bytes = 1, splits = 1;

	for (int i = 0; i < ROUNDS; i++) {
		uint8_t data[BYTES_MAX + LOOPS_PADDING];
		size_t nbytes = random_text(data, &format);

		bytes &= scan_agrees(&format, data, nbytes, 1);
		scans &= scan_agrees(&format, data, nbytes, 1 + below(40));
		splits &= split_agrees(&format, data, nbytes,
		    1 + below(BYTES_MAX + 1));
	}
	tap_ok(bytes, "%s: records are found byte by byte", name);
	tap_ok(scans, "%s: records are found in random pieces", name);
	tap_ok(splits, "%s: a buffer is split where the records end", name);
}

/* The value of a field, as csv_field says where it is. */
static size_t
value_of(const uint8_t *field, size_t nbytes, int quoted, uint8_t *value)
{
	size_t n = 0;

	for (size_t i = 0; i < nbytes; i++) {
		value[n++] = field[i];
		if (quoted && field[i] == '"')
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
	const uint8_t *next = record;
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
	for (unsigned i = 0; i < count; i++) {
		const uint8_t *field;
		uint8_t value[8 * 20];
		int quoted;
		size_t nbytes;

		if (next == NULL)
			return 0;
		nbytes = csv_field(format, next, p, &field, &quoted, &next);
		if (field < record || field + nbytes > p ||
		    value_of(field, nbytes, quoted, value) != lengths[i] ||
		    memcmp(value, values[i], lengths[i]) != 0)
			return 0;
	}
	return next == NULL;
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
		size_t nbytes = random_text(data, &format), fields = 0;
		const uint8_t *next = data;

		while (next != NULL && inside) {
			const uint8_t *field, *start = next;
			int quoted;
			size_t n = csv_field(&format, next, data + nbytes,
			    &field, &quoted, &next);

			inside &= field >= start && n <= nbytes &&
			    field + n <= data + nbytes;
			inside &= next == NULL || (next > start &&
			    next <= data + nbytes);
			inside &= ++fields <= nbytes + 1;
		}
	}
	tap_ok(inside, "%s: fields of any bytes stay in the record", name);
}

/* csv_field's fields of the record are these values. */
static void
check_record(const char *record, const char *const *values, unsigned count)
{
	const struct csv_format format = { ',', '\n' };
	const uint8_t *next = (const uint8_t *)record;
	const uint8_t *end = next + strlen(record);
	int right = 1;

	for (unsigned i = 0; i < count && right; i++) {
		const uint8_t *field;
		uint8_t value[100];
		int quoted;
		size_t n;

		right = next != NULL;
		if (!right)
			break;
		n = csv_field(&format, next, end, &field, &quoted, &next);
		n = value_of(field, n, quoted, value);
		right = n == strlen(values[i]) &&
		    memcmp(value, values[i], n) == 0;
	}
	tap_ok(right && next == NULL, "fields of: %s", record);
}

int
main(void)
{
	check_streams((struct csv_format){ ',', '\n' }, "comma");
	check_streams((struct csv_format){ ';', '\0' }, "semicolon and NUL");
	check_fields((struct csv_format){ ',', '\n' }, "comma");
	check_fields((struct csv_format){ '\t', '\n' }, "tab");
	check_fields((struct csv_format){ ',', '\0' }, "comma and NUL");

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
