/* File names: links, folders, and whether two names are the same file. */
#ifndef PATH_H
#define PATH_H

#include <sys/stat.h>

#include "base/error.h"

/* The length of `path`'s folder part, with the slash; 0 if it has none. */
int path_folder_bytes(const char *path);

/*
 * The name with symbolic links resolved, even if no such file exists yet; to be
 * freed. NULL, with errno set, on failure.
 */
char *path_follow(const char *path);

/* The same, but a dangling link is returned as it is, unresolved. */
char *path_real(const char *path);

/* Do both describe the same file? */
int path_same_file(const struct stat *a, const struct stat *b);

/* Would new files with these two names be the same file? */
int path_same_place(const char *a, const char *b);

/*
 * Sync the folder of `path`, so that a new, changed or removed name is on the
 * disk. Returns 0, or -1 with `error` filled, also if the folder can't be
 * opened, such as one that is writable but not readable.
 */
int path_sync_folder(const char *path, struct error *error);

/*
 * The same in two steps, so that a folder that can't be opened is an error
 * before the name is changed. The first returns a descriptor, or -1; the second
 * closes it.
 */
int path_open_folder(const char *path, struct error *error);
int path_sync_opened(int folder, const char *path, struct error *error);

#endif
