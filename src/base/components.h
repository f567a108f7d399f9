/*
 * The optional components of the program, each of which needs a library. The
 * Makefile finds which libraries are there, and defines WITH_SERVE and so on.
 */
#ifndef BASE_COMPONENTS_H
#define BASE_COMPONENTS_H

#include "base/error.h"

enum component {
	COMPONENT_NONE,  /* always built in */
	COMPONENT_SERVE, /* the command serve */
	COMPONENT_REDIS, /* filters at redis:// */
	COMPONENT_TLS,   /* filters at rediss://, over TLS */
	COMPONENT_ZSTD,  /* input that is compressed with zstd */
	COMPONENT_COUNT
};

/*
 * Returns 0 if the component is built in. If not, returns -1 with `error`
 * filled (STATUS_USAGE): the text begins with `what`, the command or option
 * that cannot be used, and names the library and its package.
 */
int component_need(enum component component, const char *what,
    struct error *error);

/* Returns the name of a component that is built in, "serve"; else NULL. */
const char *component_name(enum component component);

#endif
