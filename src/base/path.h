/*
 * File names: links, directories, and whether two names are the same file.
 * Temporary files that become the real one at the end.
 */
#ifndef BASE_PATH_H
#define BASE_PATH_H

#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/*
 * Returns the name with symbolic links resolved, to be freed, even if no such
 * file exists yet; NULL, with errno set, on failure.
 */
char *path_follow(const char *path);

/*
 * Does the same as path_follow, but returns a link to a missing file as it is,
 * unresolved.
 */
char *path_real(const char *path);

/*
 * Returns the name with links resolved and from the root on, to be freed; NULL,
 * with errno set, on failure.
 */
char *path_absolute(const char *path);

/*
 * Returns the name, from the root on, that the system knows for the open file
 * `fd`, to be freed; NULL without /proc. It may lead to another file by now.
 */
char *path_of_opened(int fd);

/*
 * Describe a file as stat(2) does, or the standard stream with the descriptor
 * `standard` if the path is NULL.
 */
int path_stat(const char *path, int standard, struct stat *st);

/* Do both describe the same file, by device and inode? */
int path_same_file(const struct stat *a, const struct stat *b);

/*
 * May we believe what this file says, because nobody else could have written
 * it? It is a regular file with one name, it belongs to root or to us, and
 * neither its group nor others may write to it.
 */
int path_is_trusted(const struct stat *st);

/* Would new files with these two names be the same file? */
int path_same_place(const char *a, const char *b);

/*
 * Sync the directory of `path`, so that a new, changed or removed name is on
 * the disk. Returns 0, or -1 with `error` filled, also if the directory cannot
 * be opened, such as one that is writable but not readable.
 */
int path_sync_directory(const char *path, struct error *error);

/*
 * These do the same in two steps, so that a directory that cannot be opened is
 * an error before the name is changed. path_open_directory returns a
 * descriptor, or -1 with `error` filled; path_sync_opened syncs it and closes
 * it in any case.
 */
int path_open_directory(const char *path, struct error *error);
int path_sync_opened(int directory, const char *path, struct error *error);

/*
 * Open a new file for reading and writing under a random name in the directory
 * of `path`, mode 0600 less the umask. *name becomes that name, until
 * temporary_end. If the program is killed, the file stays. Returns the
 * descriptor, or -1 with errno set.
 */
int temporary_open(const char *path, char **name);

/*
 * Does the same, but if the file system can and /proc is there, the file has no
 * name until it is published, and vanishes if the program is killed; *name
 * becomes NULL in that case. Whether such a file can get a name is tried first.
 */
int temporary_open_nameless(const char *path, char **name);

/*
 * The same for a file that never gets a name: nothing is tried. Where every
 * file has one, it is removed at once.
 */
int temporary_open_unnamed(const char *path);

/*
 * Give a temporary file the name `path`, in the same directory. If there is
 * such a file, it is replaced, or without `replace`, this fails with EEXIST.
 * Returns 0, and *name is NULL; or -1 with errno set.
 *
 * Without `replace` it takes the first of these that the file system can do:
 * linkat(2); renameat2(2) with RENAME_NOREPLACE; an empty file that takes the
 * name and is renamed over. Only the last one has gaps: a kill leaves the empty
 * file, and what another program puts there between two system calls is
 * replaced.
 */
int temporary_publish(int fd, char **name, const char *path, int replace);

/*
 * End a temporary file that was renamed or, with `remove`, unlink it. *name is
 * freed and becomes NULL.
 */
void temporary_end(char **name, int remove);

/*
 * Returns the mode of the file at `path`, less special bits, as a file without
 * an access control list may have it: where there is a list, the mode has its
 * mask in place of what the group may do (acl(5)), and the group gets nothing.
 */
mode_t path_mode(const char *path, const struct stat *st);

/*
 * Give a new file the owner, group and mode (path_mode) of the file at `path`,
 * as far as permitted, and no rights to anybody who had none. On failure, it
 * stays its owner's alone.
 */
void temporary_take_rights(int fd, const char *path,
    const struct stat *other);

/*
 * Give the file `fd` the mode that open(2) with 0666 gives a new file in the
 * directory of `path`: that of the umask, or of the directory's default ACL.
 */
void temporary_new_rights(int fd, const char *path);

#endif
