/* Temporary files that become the real one at the end, by rename(2). */
#ifndef TEMPORARY_H
#define TEMPORARY_H

#include <sys/stat.h>

/*
 * Open a new file for reading and writing under a random name in the folder of
 * `path`, mode 0600 less the umask. *name becomes that name, until
 * temporary_end. If the program is killed, the file stays. Returns the
 * descriptor, or -1 with errno set.
 */
int temporary_open(const char *path, char **name);

/* The file was renamed or, with `remove`, is unlinked. *name becomes NULL. */
void temporary_end(char **name, int remove);

/*
 * Give a new file the owner, group and mode (less special bits) of another one,
 * as far as permitted, and no rights to anybody who had none. On failure, it
 * stays its owner's alone.
 */
void temporary_take_rights(int fd, const struct stat *other);

/*
 * The mode that open(2) with 0666 gives a new file in the folder of `path`: the
 * umask's, or that of the folder's default ACL.
 */
void temporary_new_rights(int fd, const char *path);

#endif
