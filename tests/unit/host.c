/* Goal: an address is divided into host and port as it is written, or not. */
#include <stdio.h>
#include <string.h>

#include "base/host.h"
#include "tap.h"

static const struct {
	const char *text;
	enum host_state state;
	const char *name;
	int port;
} cases[] = {
	{ "cache", HOST_OK, "cache", -1 },
	{ "cache:6379", HOST_OK, "cache", 6379 },
	{ "cache:0", HOST_OK, "cache", 0 },
	{ "cache:065535", HOST_OK, "cache", 65535 },
	{ "10.0.0.1:1", HOST_OK, "10.0.0.1", 1 },
	{ "[::1]", HOST_OK, "::1", -1 },
	{ "[::1]:80", HOST_OK, "::1", 80 },
	{ "[]:80", HOST_OK, "", 80 },
	{ ":80", HOST_OK, "", 80 },
	{ "", HOST_OK, "", -1 },
	{ "[::1", HOST_OPEN, NULL, -1 },
	{ "[", HOST_OPEN, NULL, -1 },
	{ "cache:", HOST_NO_PORT, "cache", -1 },
	{ "cache:65536", HOST_NO_PORT, "cache", -1 },
	{ "cache:18446744073709551617", HOST_NO_PORT, "cache", -1 },
	{ "cache:+80", HOST_NO_PORT, "cache", -1 },
	{ "cache: 80", HOST_NO_PORT, "cache", -1 },
	{ "cache:80x", HOST_NO_PORT, "cache", -1 },
	{ "cache:1e3", HOST_NO_PORT, "cache", -1 },
	{ "[::1]80", HOST_NO_PORT, "::1", -1 },
	{ "::1", HOST_NO_PORT, "", -1 },
	{ "fe80::1:80", HOST_NO_PORT, "fe80", -1 }
};

int
main(void)
{
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *text = cases[i].text, *name = cases[i].name;
		char longer[80];
		struct host host;
		enum host_state state;

		/* What follows doesn't belong to it. */
		snprintf(longer, sizeof longer, "%s7:7]", text);
		state = host_split(&host, longer, strlen(text));
		tap_ok(state == cases[i].state, "'%s': the state", text);
		tap_ok(name == NULL || (host.nbytes == strlen(name) &&
		    memcmp(host.name, name, host.nbytes) == 0),
		    "'%s': the host", text);
		tap_ok(host.port == cases[i].port, "'%s': the port", text);
	}
	return tap_end();
}
