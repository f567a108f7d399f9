/* The command of --to-command: a child that reads our lines from a pipe. */
#ifndef CHILD_H
#define CHILD_H

#include <sys/types.h>

#include "base/error.h"

struct child {
	pid_t pid;
	int fd; /* the write end of its standard input */
};

/*
 * Start `sh -c COMMAND`, with default signal handling. From then on SIGPIPE is
 * ignored here, so that a child that stops reading is an error that can be
 * reported.
 */
int child_start(struct child *child, const char *command,
    struct error *error);

/*
 * Close the child's input, and wait until it exits. Returns 0 if it read
 * everything and exited with 0; else -1, with its exit status (128 + n for
 * signal n) in error->status, or STATUS_FAILED if it left input unread, as it
 * did if the pipe was `broken`.
 */
int child_finish(struct child *child, int broken, struct error *error);

#endif
