/*
 * A line of JSON, and figures in either form. The members of an object have
 * names; the items of an array, and the outermost value, have the name NULL.
 */
#ifndef CLI_JSON_PRINT_H
#define CLI_JSON_PRINT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json_print {
	FILE *file;
	int follows; /* a value came before, so that a comma is due */
};

/* An object is opened with '{' and closed with '}', an array with '[', ']'. */
void json_print_open(struct json_print *json, const char *name, char bracket);
void json_print_close(struct json_print *json, char bracket);

void json_print_count(struct json_print *json, const char *name,
    uint64_t count);

/* `format` is for printf, such as "%.6g". A NaN is null. */
void json_print_real(struct json_print *json, const char *name,
    const char *format, double value);

/*
 * Bytes that are not UTF-8 become U+FFFD: JSON cannot represent them. If `text`
 * is NULL, the value is null.
 */
void json_print_text(struct json_print *json, const char *name,
    const char *text);

/* A named figure. */
struct figure {
	const char *name;
	const char *format; /* printf format of `real`; NULL: the value is
			     * `count` */
	uint64_t count;
	double real;        /* a NaN is unknown */
	int rare;           /* the table leaves it out if it is 0 */
};

/* Print n figures as members of the object that is open. */
void json_print_members(struct json_print *json, const struct figure *figures,
    size_t n);

/* Print n figures as an object in a line of its own; or as a table. */
void json_print_object(FILE *file, const struct figure *figures, size_t n);
void json_print_table(FILE *file, const struct figure *figures, size_t n);

#endif
