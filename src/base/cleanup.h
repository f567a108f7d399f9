/*
 * Temporary files to remove if the program exits early: out of memory, or with
 * its filter truncated while in use. If a signal kills it, they stay.
 */
#ifndef CLEANUP_H
#define CLEANUP_H

/* Register and unregister `name` (not copied). A fifth at a time is ignored. */
void cleanup_add(const char *name);
void cleanup_forget(const char *name);

/* Remove them all; async-signal-safe. */
void cleanup_remove(void);

#endif
