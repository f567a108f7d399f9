/*
 * The configuration that the command line asks for, checked. option_table.c has
 * a row for each option; command_line.c fills this in.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/command.h"
#include "disk/format.h"
#include "key/key.h"

enum stats { STATS_NONE, STATS_TEXT, STATS_JSON };
enum table_kind { TABLE_NONE, TABLE_SIZES, TABLE_RATES };

/* The values of an option that may be repeated. */
struct text_list {
	char **items; /* command_line_free frees the array */
	size_t count;
};

struct options {
	enum command_id command;
	int help, version;

	char **operands; /* in order; command_line_free frees the array */
	size_t operand_count;

	const char *files;    /* NULL if not given; so are all strings */
	const char *filter;
	const char *output;
	uint64_t capacity;    /* 0 if not given */
	double error_rate;    /* 0 if not given */
	uint64_t memory;      /* in bytes; 0 if not given */
	unsigned hashes;      /* 0 if not given */
	struct window window; /* kind WINDOW_NONE if not given */
	const char *window_text; /* as it was given */
	int growth;           /* an enum growth, or -1 if not given */
	uint64_t max_bytes;   /* UINT64_MAX if not given */
	uint64_t lock_timeout; /* milliseconds */
	uint64_t max_record;  /* bytes */
	int append, overwrite;
	int strict_keys, strict_part;
	struct key_recipe recipe; /* the key options that were given */
	const char *duplicates;
	const char *like;     /* a filter to be mergeable with */
	uint32_t hash;        /* an enum hash_kind, or 0 if not given */
	const char *secret_file;
	int quiet;
	int repeated;
	int dry_run;
	int stats;            /* an enum stats */
	int progress;
	int sync;
	int shared;
	int claim;            /* an enum filter_claims */
	unsigned replicas;    /* 0 if not given */
	int atomic;           /* implied by to_command */
	const char *to_command;
	int measure;
	int invert;
	unsigned threads;     /* 0 if not given */
	int gunzip;
	int force;
	int json;
	int verify;
	int table;            /* an enum table_kind */

	struct {
		const char *folder;
		struct text_list listen;
		unsigned socket_mode;      /* 0 if not given */
		int admin, no_admin, read_only;
		uint64_t connections;      /* 0 if not given; so are these */
		uint64_t key_bytes, value_bytes, reply_bytes;
		uint64_t idle_time;        /* milliseconds */
	} serve;
};

#endif
