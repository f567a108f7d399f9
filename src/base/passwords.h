/*
 * Passwords on the command line: no message (error_print) shows them, and no
 * list of processes. They are known by their shape, whatever they belong to:
 *
 *     SCHEME://USER:PASSWORD@...    all from // to the last @; the // may be
 *                                   missing after redis: and the like
 *     ...password=VALUE             in upper or lower case, up to the next &,
 *                                   #, blank or quote, or in quotes
 */
#ifndef BASE_PASSWORDS_H
#define BASE_PASSWORDS_H

#include <stddef.h>

/* Stands in a message where a password was. */
#define PASSWORDS_HIDDEN "***"

/*
 * Note the passwords of all arguments: argv then has copies of those, and the
 * original ones, which other users of the system can see, are overwritten.
 * Returns 0, or -1 if it is out of memory.
 */
int passwords_take(int argc, char **argv);

/*
 * Note the password of a text that is no argument, such as a name from a list,
 * and is not freed. Returns 0, or -1 if it is out of memory.
 */
int passwords_note(const char *text);

/*
 * Does a password that was noted begin at `at`, in a text that begins at
 * `text`? Returns its length, also if the text ends in it; or 0.
 */
size_t passwords_at(const char *text, const char *at);

/*
 * Returns a copy of an argument without its passwords and without the @ after
 * them, which the caller frees; NULL if it is out of memory.
 */
char *passwords_leave_out(const char *argument);

#endif
