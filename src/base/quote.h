/* Words of a command that a message shows, to be given to a shell. */
#ifndef BASE_QUOTE_H
#define BASE_QUOTE_H

/*
 * Returns the word, or the end of a word, as a POSIX shell reads it (sh(1p),
 * "Quoting"), to be freed: as it is if no byte of it is special there, else in
 * quotes. It has at most two bytes for each of the word's, and two more.
 */
char *quote_word(const char *word);

#endif
