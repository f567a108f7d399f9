/*
 * URLs: what comes out has no bytes but those of a URL, is its own normal form,
 * and is what went in if the quick look says that this is normal.
 *
 * An input is one byte, which says what is left out and sorted, and an address.
 */
#include "fuzz.h"
#include "key/scan.h"
#include "key/url.h"

static const char *const lists[] = { "", "a", "*", "utm_*,b", "*a*b*" };

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t nbytes)
{
	struct input_bytes in = { bytes, nbytes };
	unsigned flags = (unsigned)take(&in, 1);
	const struct url_rules rules = {
		lists[(flags >> 1) % (sizeof lists / sizeof *lists)],
		(int)(flags & 1) };
	uint8_t *data = malloc(in.nbytes + LOOPS_PADDING), *to, *again;
	size_t n, m;

	/* just as large as they must be, for the address sanitizer */
	MUST(data != NULL);
	if (in.nbytes > 0)
		memcpy(data, in.data, in.nbytes);
	memset(data + in.nbytes, '/', LOOPS_PADDING);
	to = malloc(URL_ROOM(in.nbytes));
	MUST(to != NULL);
	n = url_normalize(&rules, data, in.nbytes, to);
	again = malloc(URL_ROOM(n));
	MUST(again != NULL && n <= 3 * in.nbytes + 3);
	for (size_t i = 0; i < n; i++)
		MUST(to[i] > 0x20 && to[i] < 0x7f && to[i] != '#' &&
		    memchr("\"<>\\^`{|}", to[i], 9) == NULL);
	m = url_normalize(&rules, to, n, again);
	MUST(m == n && memcmp(to, again, n) == 0);
	if (url_is_normal(&rules, data, in.nbytes))
		MUST(n == in.nbytes && memcmp(data, to, n) == 0);
	free(data);
	free(to);
	free(again);
	return 0;
}
