/*
 * The command line: from argv to a checked configuration. Every option of
 * every command is in one table (options.c); which command takes which is a
 * column of it.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "error.h"
#include "format.h"
#include "key.h"

enum command {
	COMMAND_FILTER, /* no command's name: print the new lines */
	COMMAND_ADD,
	COMMAND_CHECK,
	COMMAND_CREATE,
	COMMAND_INFO,
	COMMAND_MERGE,
	COMMAND_SIZE,
	COMMAND_TRY,
	COMMAND_COUNT
};

/* "add", ...; "" for COMMAND_FILTER. */
extern const char *const options_command_names[COMMAND_COUNT];

struct options {
	enum command command;
	int help, version;

	char **operands; /* in order; options_free frees the array */
	size_t operand_count;

	const char *filter;   /* NULL if not given; so are all strings */
	const char *output;
	uint64_t capacity;    /* 0 if not given */
	double error_rate;    /* 0 if not given */
	uint64_t memory;      /* in bytes; 0 if not given */
	unsigned hashes;      /* 0 if not given */
	int growth;           /* an enum growth, or -1 if not given */
	uint64_t max_bytes;   /* UINT64_MAX if not given */
	uint64_t lock_timeout; /* milliseconds */
	struct key_recipe recipe; /* what was given of it */
	const char *duplicates;
	const char *like;     /* a filter to be mergeable with */
	uint32_t hash;        /* an enum hash_kind, or 0 if not given */
	const char *secret_file;
	int quiet;
	int repeated;
	enum { STATS_NONE, STATS_TEXT, STATS_JSON } stats;
	int progress;
	int sync;
	int shared;
	int atomic;           /* implied by to_command */
	const char *to_command;
	int measure;
	int invert;
	unsigned threads;     /* 0 if not given */
	int gunzip;
	int force;
	int json;
	int verify;
	enum { TABLE_NONE, TABLE_SIZES, TABLE_RATES } table;
};

/*
 * Parse argv (options anywhere, "--" ends them). The first operand is the
 * command if it is a command's name and not behind "--". On failure the text
 * names the option, the value and what is allowed. `options` is to be freed in
 * any case.
 */
int options_parse(struct options *options, int argc, char **argv,
    struct error *error);
void options_free(struct options *options);

/* The values of -n and -p where they are operands; checked as the options. */
int options_capacity(const char *text, uint64_t *value, struct error *error);
int options_error_rate(const char *text, double *value, struct error *error);

#endif
