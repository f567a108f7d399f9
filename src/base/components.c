#include "base/components.h"

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
	const char *library; /* its name, as it writes it */
	const char *package; /* the package of Debian that has it */
	int built_in;
} components[COMPONENT_COUNT] = {
	[COMPONENT_NONE] = { NULL, NULL, NULL, 1 },
	[COMPONENT_SERVE] = { "serve", "libevent", "libevent-dev", WITH_SERVE },
	[COMPONENT_REDIS] = { "redis", "hiredis", "libhiredis-dev",
	    WITH_REDIS },
	[COMPONENT_TLS] = { "tls", "hiredis_ssl and OpenSSL",
	    "libhiredis-dev and libssl-dev of Debian 13", WITH_TLS },
	[COMPONENT_ZSTD] = { "zstd", "libzstd", "libzstd-dev", WITH_ZSTD },
};

int
component_need(enum component component, const char *what, struct error *error)
{
	if (components[component].built_in)
		return 0;
	return error_set(error, STATUS_USAGE, "%s: this bloomdedup was built"
	    " without it; it needs %s (%s on Debian) when it is built", what,
	    components[component].library, components[component].package);
}

const char *
component_name(enum component component)
{
	if (!components[component].built_in)
		return NULL;
	return components[component].name;
}
