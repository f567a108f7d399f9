/*
 * Replacing a file that may be a filter in use, for create --force and merge:
 * it is locked first, waiting for a run that uses it.
 */
#ifndef REPLACE_H
#define REPLACE_H

#include "base/error.h"
#include "disk/file.h"
#include "filter/filter.h"

/* A locked file that is about to be replaced; on a server there is no lock. */
struct replace {
	struct filter *filter; /* at most one of the two is open */
	struct file other;
	int found; /* if not, one that appears later must not be replaced */
};

#define REPLACE_NONE { .other = FILE_NONE }

/*
 * Lock the file at `path`, if there is one, waiting as use->wait says. Call
 * replace_unlock in any case.
 */
int replace_lock(struct replace *old, const char *path,
    const struct filter_use *use, struct error *error);
void replace_unlock(struct replace *old);

/* Refuse to replace the file at `path`: returns -1 with `error` filled. */
int replace_refuse(const char *path, struct error *error);

#endif
