/* Characters of text from outside, such as file names, UTF-8 or not. */
#ifndef UTF8_H
#define UTF8_H

/*
 * The length of the character at `text` (RFC 3629, NUL-terminated) in bytes; 0
 * if it isn't valid UTF-8.
 */
int utf8_length(const char *text);

/*
 * How many bytes at `text` can be shown as they are: a character, or one byte
 * that isn't UTF-8. 0 if the first could drive a terminal and must be escaped:
 * control bytes, and C1 controls, which take two bytes in UTF-8.
 */
int utf8_printable(const char *text);

#endif
