#include "key/url_text.h"

const uint16_t url_class[256] = {
	['a' ... 'z'] = LOWER, ['A' ... 'Z'] = UPPER, ['0' ... '9'] = DIGIT,
	['-'] = MARK, ['.'] = DOT, ['_'] = MARK, ['~'] = MARK,
	['!'] = SUB, ['$'] = SUB, ['&'] = AMPERSAND, ['\''] = SUB, ['('] = SUB,
	[')'] = SUB, ['*'] = SUB, ['+'] = SUB | PLUS, [','] = SUB, [';'] = SUB,
	['='] = EQUALS,
	[':'] = COLON, ['@'] = PATH, ['/'] = PATH, ['?'] = QUERY,
	['"'] = ENCODED, ['<'] = ENCODED, ['>'] = ENCODED, ['['] = ENCODED,
	[']'] = ENCODED, ['\\'] = ENCODED, ['^'] = ENCODED, ['`'] = ENCODED,
	['{'] = ENCODED, ['|'] = ENCODED, ['}'] = ENCODED, [' '] = ENCODED,
	['\t'] = ENCODED, [0x80 ... 0xff] = ENCODED
};

/*
 * Would this byte, written at `to`, make an escape of a percent sign that is
 * none? One that begins an escape has both digits behind it.
 */
static int
makes_escape(const uint8_t *start, const uint8_t *to, uint8_t byte)
{
	if (number_hex(&byte, 1) < 0 || to == start)
		return 0;
	if (to[-1] == '%')
		return 1;
	return to - start > 1 && to[-2] == '%' && number_hex(to - 1, 1) >= 0;
}

uint8_t *
url_copy(struct reader *in, unsigned classes, uint8_t *to)
{
	const unsigned plain = classes & ~(unsigned)ENCODED;
	const uint8_t *p = in->p, *end = in->end;
	const uint8_t *start = to;

	for (; p < end; p++) {
		uint8_t c = *p;

		if (url_class[c] & plain) {
			*to++ = c;
			continue;
		}
		if (c == '%') {
			int byte = url_encoded_byte(p, end);

			if (byte < 0 && !(classes & ENCODED))
				return NULL;
			if (byte < 0) {
				*to++ = c;
				continue;
			}
			c = (uint8_t)byte;
			p += 2;
		} else if (!(url_class[c] & classes)) {
			break;
		}
		if (url_class[c] & UNRESERVED && !makes_escape(start, to, c))
			*to++ = c;
		else
			to = url_encode(to, c);
	}
	in->p = p;
	return to;
}
