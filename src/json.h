/* Text from outside on standard output, made safe for who reads it. */
#ifndef JSON_H
#define JSON_H

/*
 * Print a JSON string, quotes included (RFC 8259, section 7). Bytes that are
 * no UTF-8 become U+FFFD, since JSON has no way to say them.
 */
void json_print_string(const char *text);

/* Print a file's name for people: control bytes as escapes. */
void json_print_name(const char *text);

#endif
