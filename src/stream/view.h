/*
 * A regular file's bytes without a copy: mapped, some megabytes at a time.
 *
 * Nobody can change or truncate the file meanwhile, since it is read under a
 * lease (fcntl(2), F_SETLEASE): Linux grants one while nobody has the file open
 * for writing, and tells its holder before somebody does. Then what is in use
 * becomes a copy, the lease ends within milliseconds, and there are no further
 * bytes.
 *
 * There is one view at a time. Where there is no lease or no memory, or a part
 * can't be read, there is no view: read(2) does the same, or tells why.
 */
#ifndef VIEW_H
#define VIEW_H

#include <stddef.h>
#include <stdint.h>

/* A smaller file isn't worth it. */
#define VIEW_LEAST_BYTES (4 * 1024 * 1024)

/*
 * View the file open as `fd`, which this process has opened, since the lease is
 * on what it opened, and which stays open until view_end. `name`, for messages,
 * is not copied. Only in a program's first thread, as all of this. Returns 0,
 * or -1 if there is no view.
 */
int view_begin(int fd, const char *name);

/* Does nothing if there is no view. */
void view_end(void);

/*
 * The file's bytes from `offset` on, `nbytes` of them, until the next call; up
 * to VIEW_PADDING after them may be read, too. NULL if there are none; then
 * those handed out before are still where they were. `offset` never goes back.
 */
#define VIEW_PADDING 64
const uint8_t *view_bytes(uint64_t offset, size_t nbytes);

#endif
