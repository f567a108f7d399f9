/*
 * The temporary files that are there: they go, too, when the program ends at
 * once, without memory or with its filter cut off; not if a signal kills it.
 */
#ifndef TEMPORARY_H
#define TEMPORARY_H

/* Begin and end to watch over `name` (not copied); a fifth is not watched. */
void temporary_add(const char *name);
void temporary_forget(const char *name);

/* Remove them all; may be called in a signal handler. */
void temporary_remove(void);

#endif
