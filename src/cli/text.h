/* Printing text from outside safely, and comparing words. */
#ifndef TEXT_H
#define TEXT_H

#include "base/number.h"
#include "disk/format.h"

/*
 * Print the name of a file for people, with escapes for bytes that could
 * control the terminal.
 */
void text_print_name(const char *text);

/*
 * Could `typed` be a misspelling of `word`? That is one letter missing, added,
 * replaced or swapped with the next; two of these in words of six letters or
 * more.
 */
int text_is_near(const char *typed, const char *word);

/* The window as --window takes it: "30d", "100000000". */
const char *text_window(char text[NUMBER_TEXT], const struct window *window);

/*
 * An estimate from the bits of a filter: "about 1,234 lines", or "every line"
 * from TEXT_LINES_MAX on, where its bits are all set.
 */
#define TEXT_LINES_MAX 1e18
const char *text_lines(char text[NUMBER_TEXT], double lines);

/* Is `word` one of the words in `list`, separated by blanks? */
int text_has_word(const char *list, const char *word);

#endif
