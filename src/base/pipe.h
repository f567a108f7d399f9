/* Larger pipe buffers. */
#ifndef PIPE_H
#define PIPE_H

/*
 * If `fd` is a pipe, enlarge its buffer, so that its two ends wait for each
 * other less often. Does nothing where that isn't allowed.
 */
void pipe_widen(int fd);

#endif
