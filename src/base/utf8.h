/* Characters of text from outside, such as file names, UTF-8 or not. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

/*
 * Returns the length in bytes of the character at `text` (RFC 3629), which ends
 * with a NUL; 0 if it is not valid UTF-8.
 */
int utf8_length(const char *text);

/*
 * The first character at `text`, or a byte that is not UTF-8, as it can be
 * shown: what could drive a terminal (control bytes, and C1 controls, which
 * take two bytes in UTF-8) as an escape, \x1b. Returns its length in `text`.
 */
#define UTF8_SHOWN 5
int utf8_show(const char *text, char shown[UTF8_SHOWN]);

#endif
