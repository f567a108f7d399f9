#include "redis/retry.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/signals.h"

#define SHORTEST_PAUSE (10 * CLOCK_MILLISECOND)
#define LONGEST_PAUSE CLOCK_SECOND

static void
notice(struct retry *r)
{
	char text[sizeof r->reason.text + 32];

	snprintf(text, sizeof text, "%s; trying again", r->reason.text);
	r->notice(text);
	r->noticed = 1;
}

int
retry_pause(struct retry *r, const struct error *reason, struct error *error)
{
	uint64_t now = clock_now(), limit = r->limit_ms * CLOCK_MILLISECOND;

	/* Errors are normal while a cluster moves slots. */
	if (r->cluster && limit < CLOCK_SECOND)
		limit = CLOCK_SECOND;
	r->reason = *reason;
	if (r->failing_since == 0)
		r->failing_since = now;
	if (signals_stop || reason->status == STATUS_USAGE ||
	    now - r->failing_since >= limit) {
		*error = *reason;
		if (error->status == STATUS_USAGE)
			error->status = STATUS_FAILED;
		return -1;
	}
	if (!r->noticed && r->notice != NULL &&
	    now - r->failing_since >= CLOCK_SECOND)
		notice(r);
	r->pause = r->pause == 0 ? SHORTEST_PAUSE : 2 * r->pause;
	r->pause = r->pause < LONGEST_PAUSE ? r->pause : LONGEST_PAUSE;
	r->next = now + r->pause;
	return 0;
}

void
retry_succeeded(struct retry *r)
{
	r->failing_since = 0;
	r->pause = 0;
	r->noticed = 0;
}
