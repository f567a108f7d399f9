/* Errors as values: functions below the commands return -1 and fill one. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include <stddef.h>

/* Exit statuses; the man page's table EXIT STATUS is the same one. */
enum {
	STATUS_OK = 0,
	STATUS_NO = 1,      /* the answer is no: nothing found, nothing new */
	STATUS_USAGE = 2,   /* wrong options, or in conflict with the filter */
	STATUS_FAILED = 3,  /* input, output or filter file failed */
	STATUS_FULL = 4,    /* capacity or --max-size exceeded */
	STATUS_LOCKED = 75  /* another run holds the filter (EX_TEMPFAIL) */
};

/*
 * Room for a message: some functions have several on the stack. One that is
 * longer, such as one with a path of PATH_MAX bytes, loses its middle.
 */
#define ERROR_TEXT 1500

struct error {
	int status;       /* the exit status it leads to */
	int repeated;     /* was this failure reported before? */
	int errnum;       /* errno of the system call that failed, or 0 */
	char text[ERROR_TEXT]; /* no newline */
};

/*
 * Fill `error`, replacing its old content, and return -1, so that a function
 * can end with `return error_set(...)`. A text that is too long keeps its
 * beginning and its end, with three dots in between.
 */
int error_set(struct error *error, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Fill `error` for a failed system call, and return -1: the text is "NAME:
 * REASON", with the system's text for `errnum`, and the status is
 * STATUS_FAILED.
 */
int error_system(struct error *error, int errnum, const char *name);

/*
 * Does the same for a permanent failure that was reported before, and sets
 * `repeated`.
 */
int error_again(struct error *error, int errnum, const char *name);

/*
 * Put "NAME: " in front of the text of `error`, which keeps its status. Returns
 * -1, so that a function can end with `return error_prefix(...)`.
 */
int error_prefix(struct error *error, const char *name);

/*
 * Does `error` mean that there is no room: a limit of the user's, or a full
 * disk?
 */
int error_is_full(const struct error *error);

/*
 * Print "bloomdedup: TEXT" as one line on standard error. Control bytes in
 * the text (they come from file names) are shown as escapes (\x1b), so
 * that a message is one line and cannot drive the terminal. Passwords of the
 * command line are not shown (base/passwords.h).
 */
void error_print(const char *text);

/*
 * Write bytes of the input to `to` as a text for messages, which has `room`
 * bytes: NULs as \x00, and three dots at the end if not all of them fit.
 * Returns `to`.
 */
char *error_bytes(char *to, size_t room, const void *data, size_t nbytes);

/* Print a formatted text as error_print does. */
void error_printf(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/*
 * Pass a formatted text to `notice`, a function that reports messages; NULL is
 * one that nobody reads.
 */
void error_notify(void (*notice)(const char *text), const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * Returns an error for a function whose failure changes nothing, or shows in
 * its result. Nobody reads what is in it, and any other call may fill it. Each
 * thread has one. Callers say why they ignore it.
 */
struct error *error_ignored(void);

/* Return `pointer`; if it is NULL, print a message and exit (STATUS_FAILED). */
void *memory_or_die(void *pointer);

/*
 * Returns `items`, an array with room for *room items of `item_bytes` each,
 * with room for at least `wanted`; it may have moved. The room at least doubles
 * when it grows, so that adding items one by one costs little. An array with no
 * room is NULL.
 */
void *memory_grow(void *items, size_t *room, size_t wanted, size_t item_bytes);

#endif
