/* Chooses a version of the hot loops; see loops.h. */
#include "bits/loops.h"

#include <stdlib.h>
#include <string.h>

extern const struct loops loops_plain;

#if defined __x86_64__
extern const struct loops loops_avx2, loops_avx512;

static int
has_avx2(void)
{
	return __builtin_cpu_supports("avx2") &&
	    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

static int
has_avx512(void)
{
	return has_avx2() && __builtin_cpu_supports("avx512f") &&
	    __builtin_cpu_supports("avx512bw") &&
	    __builtin_cpu_supports("avx512dq") &&
	    __builtin_cpu_supports("avx512vl");
}
#endif

static int
always(void)
{
	return 1;
}

static const struct {
	const struct loops *loops;
	int (*runs_here)(void);
} versions[] = {
#if defined __x86_64__
	{ &loops_avx512, has_avx512 },
	{ &loops_avx2, has_avx2 },
#endif
	{ &loops_plain, always },
};
#define VERSIONS (sizeof versions / sizeof *versions)

const struct loops *
loops_version(unsigned wanted)
{
	for (unsigned i = 0; i < VERSIONS; i++) {
		if (versions[i].runs_here() && wanted-- == 0)
			return versions[i].loops;
	}
	return NULL;
}

/* Apart from loops(), so that a call of that has no registers to save. */
static __attribute__((noinline)) const struct loops *
choose(void)
{
	const struct loops *version, *chosen = loops_version(0);
	const char *name = getenv("BLOOMDEDUP_INSTRUCTIONS");

	for (unsigned i = 0; name != NULL &&
	    (version = loops_version(i)) != NULL; i++) {
		if (strcmp(name, version->name) == 0)
			chosen = version;
	}
	return chosen;
}

const struct loops *
loops(void)
{
	static const struct loops *chosen;

	if (chosen == NULL)
		chosen = choose();
	return chosen;
}
