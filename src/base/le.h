/*
 * Little-endian integers and doubles in a byte buffer, of any alignment: the
 * only way to store a number in a file or load it.
 */
#ifndef BASE_LE_H
#define BASE_LE_H

#include <stdint.h>
#include <string.h>

static inline void
le_put(uint8_t *p, uint64_t value, unsigned nbytes)
{
	for (unsigned i = 0; i < nbytes; i++)
		p[i] = (uint8_t)(value >> (8 * i));
}

static inline uint64_t
le_get(const uint8_t *p, unsigned nbytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < nbytes; i++)
		value |= (uint64_t)p[i] << (8 * i);
	return value;
}

static inline void le_put16(uint8_t *p, uint16_t v) { le_put(p, v, 2); }
static inline void le_put32(uint8_t *p, uint32_t v) { le_put(p, v, 4); }
static inline void le_put64(uint8_t *p, uint64_t v) { le_put(p, v, 8); }

static inline uint16_t
le_get16(const uint8_t *p)
{
	return (uint16_t)le_get(p, 2);
}

static inline uint32_t
le_get32(const uint8_t *p)
{
	return (uint32_t)le_get(p, 4);
}

static inline uint64_t
le_get64(const uint8_t *p)
{
	return le_get(p, 8);
}

/* IEEE 754 binary64, which is a double on all supported machines. */
static inline void
le_put_double(uint8_t *p, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof bits);
	le_put64(p, bits);
}

static inline double
le_get_double(const uint8_t *p)
{
	uint64_t bits = le_get64(p);
	double value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

#endif
