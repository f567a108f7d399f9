#include "cli/json_print.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

/* Print a string as RFC 8259, section 7, has it. */
static void
print_string(FILE *file, const char *text)
{
	putc('"', file);
	while (*text != '\0') {
		int length = utf8_length(text);

		if (*text == '"' || *text == '\\') {
			fprintf(file, "\\%c", *text);
		} else if ((unsigned char)*text < 0x20) {
			fprintf(file, "\\u%04x", (unsigned)*text);
		} else if (length == 2 && (unsigned char)text[0] == 0xc2 &&
		    (unsigned char)text[1] < 0xa0) {
			/*
			 * Terminals may obey U+0080 to U+009F, so these are
			 * escaped.
			 */
			fprintf(file, "\\u%04x", (unsigned char)text[1]);
		} else if (length == 0) {
			fputs("\\ufffd", file);
			length = 1;
		} else {
			fwrite(text, 1, (size_t)length, file);
		}
		text += length;
	}
	putc('"', file);
}

/* Print what comes before a value: a comma, and its name in an object. */
static void
begin_value(struct json_print *json, const char *name)
{
	if (json->follows)
		fputs(", ", json->file);
	json->follows = 1;
	if (name == NULL)
		return;
	print_string(json->file, name);
	fputs(": ", json->file);
}

void
json_print_open(struct json_print *json, const char *name, char bracket)
{
	begin_value(json, name);
	putc(bracket, json->file);
	json->follows = 0;
}

void
json_print_close(struct json_print *json, char bracket)
{
	putc(bracket, json->file);
	json->follows = 1;
}

void
json_print_count(struct json_print *json, const char *name, uint64_t count)
{
	begin_value(json, name);
	fprintf(json->file, "%" PRIu64, count);
}

void
json_print_real(struct json_print *json, const char *name, const char *format,
    double value)
{
	begin_value(json, name);
	if (isnan(value))
		fputs("null", json->file);
	else
		fprintf(json->file, format, value);
}

void
json_print_text(struct json_print *json, const char *name, const char *text)
{
	begin_value(json, name);
	if (text == NULL)
		fputs("null", json->file);
	else
		print_string(json->file, text);
}

/* Print a row of the table; "bytes_in" is shown as "bytes in". */
static void
print_row(FILE *file, const struct figure *f)
{
	char value[NUMBER_TEXT] = "unknown";

	if (f->format == NULL)
		number_format_count(value, f->count);
	else if (!isnan(f->real))
		snprintf(value, sizeof value, f->format, f->real);
	for (const char *p = f->name; *p != '\0'; p++)
		putc(*p == '_' ? ' ' : *p, file);
	fprintf(file, "%*s\n", (int)(38 - strlen(f->name)), value);
}

void
json_print_members(struct json_print *json, const struct figure *figures,
    size_t n)
{
	for (const struct figure *f = figures; f < figures + n; f++) {
		if (f->format == NULL)
			json_print_count(json, f->name, f->count);
		else
			json_print_real(json, f->name, f->format, f->real);
	}
}

void
json_print_object(FILE *file, const struct figure *figures, size_t n)
{
	struct json_print json = { file, 0 };

	json_print_open(&json, NULL, '{');
	json_print_members(&json, figures, n);
	json_print_close(&json, '}');
	putc('\n', file);
}

void
json_print_table(FILE *file, const struct figure *figures, size_t n)
{
	for (const struct figure *f = figures; f < figures + n; f++) {
		if (!f->rare || f->count != 0)
			print_row(file, f);
	}
}
