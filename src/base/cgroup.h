/*
 * The control groups that this process is in (cgroups(7)), of version 2 and of
 * version 1, and their files, which hold limits.
 */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stddef.h>

/* Called for one group: `directory` has its files. */
typedef void cgroup_visit(void *context, const char *directory, int version);

/*
 * Visit each group that limits the process, up to the root: those of version 2,
 * and those of version 1 that have the controller of this name.
 */
void cgroup_each(const char *controller, cgroup_visit *visit, void *context);

/*
 * Read a group's file as text, at most nbytes - 1 of it. Returns 0, or -1 if it
 * cannot be read.
 */
int cgroup_text(const char *directory, const char *name, char *text,
    size_t nbytes);

#endif
