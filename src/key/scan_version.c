/* Chooses a version of scan.c; see scan.h. */
#include <string.h>

#include "bits/loops.h"
#include "key/scan.h"

extern const struct scan scan_plain;
#if defined __x86_64__
extern const struct scan scan_avx2, scan_avx512;
#endif

static const struct scan *const versions[] = {
#if defined __x86_64__
	&scan_avx512, &scan_avx2,
#endif
	&scan_plain
};

static const struct scan *
version_of(const struct loops *loops)
{
	unsigned i = 0;

	if (loops == NULL)
		return NULL;
	while (strcmp(versions[i]->name, loops->name) != 0)
		i++;
	return versions[i];
}

const struct scan *
scan_version(unsigned i)
{
	return version_of(loops_version(i));
}

/* Apart from scan(), so that a call of that has no registers to save. */
static __attribute__((noinline)) const struct scan *
choose(void)
{
	return version_of(loops());
}

const struct scan *
scan(void)
{
	static const struct scan *chosen;

	if (chosen == NULL)
		chosen = choose();
	return chosen;
}
