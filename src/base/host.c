#include "base/host.h"

#include <string.h>

#include "base/number.h"

enum host_state
host_split(struct host *host, const char *text, size_t nbytes)
{
	const char *end = text + nbytes, *name_end, *rest;
	uint64_t port;

	*host = (struct host){ .name = text, .port = -1 };
	if (nbytes > 0 && *text == '[') {
		host->name = text + 1;
		name_end = memchr(text, ']', nbytes);
		if (name_end == NULL)
			return HOST_OPEN;
		rest = name_end + 1;
	} else {
		name_end = memchr(text, ':', nbytes);
		if (name_end == NULL)
			name_end = end;
		rest = name_end;
	}
	host->nbytes = (size_t)(name_end - host->name);
	if (rest == end)
		return HOST_OK;
	if (*rest++ != ':' ||
	    number_digits(&rest, end, HOST_PORT_MAX, &port) < 0 || rest != end)
		return HOST_NO_PORT;
	host->port = (int)port;
	return HOST_OK;
}
