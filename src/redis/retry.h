/*
 * How long failed requests are made again, and the growing pauses between
 * tries. All zero at first, except the first three members.
 */
#ifndef REDIS_RETRY_H
#define REDIS_RETRY_H

#include <stdint.h>

#include "base/error.h"

struct retry {
	uint64_t limit_ms;  /* without any success */
	void (*notice)(const char *text); /* of what takes more than a second */
	int cluster;        /* moves slots, which takes a moment */
	uint64_t next;      /* when the next try is due (clock_now) */
	uint64_t pause, failing_since;
	int noticed;
	struct error reason; /* for trying again */
};

/*
 * A try failed: set when the next one is due, or fail if the error is permanent
 * (STATUS_USAGE) or has lasted too long, or a signal came.
 */
int retry_pause(struct retry *retry, const struct error *reason,
    struct error *error);

/* A try succeeded. */
void retry_succeeded(struct retry *retry);

#endif
