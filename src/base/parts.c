#include "base/parts.h"

#include <stddef.h>

#ifndef WITH_SERVE
#define WITH_SERVE 0
#endif
#ifndef WITH_REDIS
#define WITH_REDIS 0
#endif
#ifndef WITH_TLS
#define WITH_TLS 0
#endif
#ifndef WITH_ZSTD
#define WITH_ZSTD 0
#endif

static const struct {
	const char *name;
	const char *library; /* as it calls itself, */
	const char *package; /* and where Debian has it */
	int built_in;
} parts[PART_COUNT] = {
	[PART_NONE] = { NULL, NULL, NULL, 1 },
	[PART_SERVE] = { "serve", "libevent", "libevent-dev", WITH_SERVE },
	[PART_REDIS] = { "redis", "hiredis", "libhiredis-dev", WITH_REDIS },
	[PART_TLS] = { "tls", "hiredis_ssl and OpenSSL",
	    "libhiredis-dev and libssl-dev of Debian 13", WITH_TLS },
	[PART_ZSTD] = { "zstd", "libzstd", "libzstd-dev", WITH_ZSTD },
};

int
parts_need(enum part part, const char *what, struct error *error)
{
	if (parts[part].built_in)
		return 0;
	return error_set(error, STATUS_USAGE, "%s: this bloomdedup was built"
	    " without it; it needs %s (%s on Debian) when it is built", what,
	    parts[part].library, parts[part].package);
}

const char *
parts_name(enum part part)
{
	return parts[part].built_in ? parts[part].name : NULL;
}
