#include "redis/patience.h"

#include <errno.h>
#include <poll.h>

#include "base/signals.h"

int
patience_end(const struct address *location, struct error *error)
{
	return error_set(error, STATUS_FAILED, "%s: the server does not answer",
	    location->shown);
}

uint64_t
patience_left(uint64_t since, uint64_t patience)
{
	uint64_t silent = clock_now() - since;

	if (signals_stop && patience > PATIENCE_AT_END)
		patience = PATIENCE_AT_END;
	return silent < patience ? patience - silent : 0;
}

int
patience_wait(const struct address *location, const redisContext *context,
    short events, uint64_t since, uint64_t patience, struct error *error)
{
	struct pollfd ready = { context->fd, events, 0 };
	int n;

	do {
		if (patience_left(since, patience) == 0)
			return patience_end(location, error);
		n = poll(&ready, 1, PATIENCE_LOOK_MS);
	} while (n == 0 || (n < 0 && errno == EINTR));
	if (n < 0)
		return error_system(error, errno, "poll");
	return 0;
}
