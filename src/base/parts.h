/* The optional parts, each with a library; the Makefile finds what is there. */
#ifndef PARTS_H
#define PARTS_H

#include "base/error.h"

enum part {
	PART_NONE,  /* always built in */
	PART_SERVE, /* the command serve */
	PART_REDIS, /* filters at redis:// */
	PART_TLS,   /* and at rediss:// */
	PART_ZSTD,  /* input that is compressed with zstd */
	PART_COUNT
};

/*
 * Is it built in? If not, -1: `what` (a command or an option) can't be used,
 * and the text names the library (STATUS_USAGE).
 */
int parts_need(enum part part, const char *what, struct error *error);

/* The name of a part that is built in, such as "serve"; else NULL. */
const char *parts_name(enum part part);

#endif
