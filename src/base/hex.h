/* Hexadecimal digits. */
#ifndef HEX_H
#define HEX_H

#include <stdint.h>

/* The value of n digits of either case, at most 7; -1 if a byte is none. */
static inline int
hex_read(const uint8_t *at, int n)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		unsigned digit = at[i] - (unsigned)'0';
		unsigned letter = (at[i] | 0x20u) - 'a';

		if (digit > 9 && letter > 5)
			return -1;
		value = value << 4 | (int)(digit <= 9 ? digit : letter + 10);
	}
	return value;
}

#endif
