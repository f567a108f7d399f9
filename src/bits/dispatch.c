/* Chooses the versions in use; see version.h. */
#include <stdlib.h>
#include <string.h>

#include "bits/loops.h"
#include "bits/scan.h"
#include "bits/version.h"

VERSIONS_OF(loops)
VERSIONS_OF(scan)

int
version_runs(unsigned version)
{
#if defined __x86_64__
	int avx2 = __builtin_cpu_supports("avx2") &&
	    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");

	if (version < VERSION_PLAIN && !avx2)
		return 0;
	if (version == VERSION_AVX512)
		return __builtin_cpu_supports("avx512f") &&
		    __builtin_cpu_supports("avx512bw") &&
		    __builtin_cpu_supports("avx512dq") &&
		    __builtin_cpu_supports("avx512vl");
#endif
	return version <= VERSION_PLAIN;
}

/* Apart from loops(), so that a call of that has no registers to save. */
__attribute__((noinline)) unsigned
version_in_use(void)
{
	const char *name = getenv("BLOOMDEDUP_INSTRUCTIONS");
	unsigned chosen = 0;

	while (!version_runs(chosen))
		chosen++;
	for (unsigned i = chosen; name != NULL && i < VERSIONS; i++) {
		if (version_runs(i) &&
		    strcmp(name, loops_versions[i]->name) == 0)
			chosen = i;
	}
	return chosen;
}

const struct loops *
loops(void)
{
	static const struct loops *chosen;

	if (chosen == NULL)
		chosen = loops_versions[version_in_use()];
	return chosen;
}

const struct scan *
scan(void)
{
	static const struct scan *chosen;

	if (chosen == NULL)
		chosen = scan_versions[version_in_use()];
	return chosen;
}
