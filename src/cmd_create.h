/* What merge shares with create: to replace a file that may be a filter. */
#ifndef CMD_CREATE_H
#define CMD_CREATE_H

#include "error.h"
#include "filter.h"
#include "options.h"

/* A file that is about to be replaced, whose lock is had. */
struct replaced {
	struct filter filter; /* one of both, or none, is open */
	struct store other;
};

#define REPLACED_NONE { .filter = { .store = STORE_NONE }, \
	.other = STORE_NONE }

/*
 * Have the lock of what is at `path`, if anything, so that a run which uses it
 * ends first; its journal goes. unlock_replaced comes after, in any case.
 */
int lock_replaced(struct replaced *old, const struct options *options,
    const char *path, struct error *error);
void unlock_replaced(struct replaced *old);

/* Was there something? If not, what comes meanwhile is not replaced. */
int is_replaced(const struct replaced *old);

/* Says that there is something at `path`: -1, with `error` filled. */
int refuse_to_replace(const char *path, struct error *error);

#endif
