/* The choice of a kernel; see kernel.h. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

extern const struct kernel kernel_plain;

#if defined __x86_64__
extern const struct kernel kernel_avx2, kernel_avx512;

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
	const struct kernel *kernel;
	int (*runs_here)(void);
} versions[] = {
#if defined __x86_64__
	{ &kernel_avx512, has_avx512 },
	{ &kernel_avx2, has_avx2 },
#endif
	{ &kernel_plain, always },
};
#define VERSIONS (sizeof versions / sizeof *versions)

const struct kernel *
kernel_version(unsigned wanted)
{
	for (unsigned i = 0; i < VERSIONS; i++) {
		if (versions[i].runs_here() && wanted-- == 0)
			return versions[i].kernel;
	}
	return NULL;
}

const struct kernel *
kernel(void)
{
	static const struct kernel *chosen;
	const struct kernel *version;
	const char *name;

	if (chosen != NULL)
		return chosen;
	chosen = kernel_version(0);
	name = getenv("BLOOMDEDUP_KERNEL");
	if (name == NULL)
		return chosen;
	for (unsigned i = 0; (version = kernel_version(i)) != NULL; i++) {
		if (strcmp(name, version->name) == 0)
			chosen = version;
	}
	return chosen;
}
