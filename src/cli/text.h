/* Printing text from outside safely, and comparing words. */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stddef.h>

#include "base/number.h"
#include "disk/table.h"
#include "model/use.h"

/*
 * Print the name of a file for people on standard output, with escapes for
 * bytes that could control the terminal.
 */
void text_print_name(const char *text);

/*
 * Could `typed` be a misspelling of `word`? That is one letter missing, added,
 * replaced or swapped with the next; two of these in words of six letters or
 * more.
 */
int text_is_near(const char *typed, const char *word);

/*
 * Returns the window as --window takes it, "30d" or "100000000"; "" for none.
 */
const char *text_window(char text[NUMBER_TEXT], const struct window *window);

/* Returns the length of a window in words: "30 days", "1,000,000 lines". */
#define TEXT_WINDOW (NUMBER_TEXT + 10)
const char *text_window_words(char text[TEXT_WINDOW],
    const struct window *window);

/*
 * An estimate from the bits of a filter: "about 1,234 lines", or "every line"
 * from TEXT_LINES_MAX on, where its bits are all set.
 */
#define TEXT_LINES_MAX 1e18
const char *text_lines(char text[NUMBER_TEXT], double lines);

/*
 * Returns the words for each shard of a filter on a server, such as "a bit
 * string, which does not grow".
 */
const char *text_shard(const struct filter_costs *costs);

/*
 * Is `word` one of the words in `list`, which are separated by blanks? Returns
 * which one, counted from 1, or 0.
 */
int text_has_word(const char *list, const char *word);

/* Texts, such as the operands: only the array is owned, and freed with free. */
struct text_list {
	char **items; /* NULL if there never were any */
	size_t count;
	size_t room;  /* number of items that there is room for */
};

/* Append a text, which is not copied. */
void text_list_add(struct text_list *list, const char *text);

#endif
