/*
 * The configuration that the command line asks for, checked. option_table.c has
 * a row for each option; command_line.c fills this in.
 */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/text.h"
#include "disk/table.h"
#include "key/key.h"
#include "serve/service.h"
#include "stream/run_plan.h"

enum stats { STATS_NONE, STATS_TEXT, STATS_JSON };
enum table_kind { TABLE_NONE, TABLE_SIZES, TABLE_RATES };

/* The seconds that a command waits for a filter that is in use. */
#define OPTIONS_LOCK_TIMEOUT 60

struct options {
	enum command_id command;
	int help, version;
	int brief;            /* help was asked for with -h */

	struct text_list operands;

	const char *files;    /* NULL if not given; so are all strings */
	char *names;          /* text of `files`, which operands point into;
			       * owned */
	struct run_plan run;  /* the plan of a run, as far as options decide it;
			       * `use` is also for commands without a run */
	uint64_t capacity;    /* 0 if not given */
	double error_rate;    /* 0 if not given */
	uint64_t memory;      /* bytes of --memory; 0 if not given */
	unsigned hashes;      /* 0 if not given */
	struct window window; /* kind WINDOW_NONE if not given */
	const char *window_text; /* argument of --window, as it was given */
	struct key_recipe recipe; /* the key options that were given */
	const char *like;     /* a filter to be mergeable with */
	int hash;             /* an enum hash_kind, or 0 if not given */
	const char *secret_file;
	int quiet;
	int repeated;
	int stats;            /* an enum stats */
	int progress;
	int measure;
	int invert;
	int mark;
	int force;
	int no_create;        /* a filter that is missing is an error */
	int json;
	int verify;
	int table;            /* an enum table_kind */

	struct serve_settings serve; /* options of serve alone: addresses,
				      * capacity, error rate and memory are
				      * above */
	struct text_list listen;
	uint64_t max_key, max_value; /* 0 if not given */
};

#endif
