/*
 * The text of JSON: what finding values (json.c) and taking them (json_take.c)
 * both read of it. Only the files of JSON include this.
 */
#ifndef KEY_JSON_TEXT_H
#define KEY_JSON_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Returns the first byte in [p, end) that is not a blank, or `end`. */
static inline const uint8_t *
json_skip_blanks(const uint8_t *p, const uint8_t *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\n' ||
	    *p == '\r'))
		p++;
	return p;
}

/* Returns what closes a bracket: in ASCII, it is two places after it. */
static inline uint8_t
json_closing(uint8_t bracket)
{
	return (uint8_t)(bracket + 2);
}

/*
 * Returns the end of the number, true, false or null at p; NULL if there is
 * none.
 */
const uint8_t *json_scalar_end(const uint8_t *p, const uint8_t *end);

/*
 * Decode the escape sequence at *p, and advance *p past it. Returns the number
 * of bytes (up to four), 0 if it is invalid. Half of a surrogate pair is not a
 * character, but becomes bytes by the same rule, so that different strings stay
 * different.
 */
size_t json_read_escape(const uint8_t **p, const uint8_t *end, uint8_t to[4]);

#endif
