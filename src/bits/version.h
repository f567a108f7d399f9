/*
 * Sources that are compiled once for each instruction set (Makefile), whose
 * name is INSTRUCTIONS. Everything in such a source is static but one table of
 * functions, so that no code for one machine is linked for another.
 */
#ifndef BITS_VERSION_H
#define BITS_VERSION_H

#define VERSION_TEXT_OF(name) #name
#define VERSION_TEXT(name) VERSION_TEXT_OF(name)
#define VERSION_JOIN_OF(a, b) a##b
#define VERSION_JOIN(a, b) VERSION_JOIN_OF(a, b)

/* The table: prefix_avx2 and the like. */
#define VERSION(prefix) VERSION_JOIN(prefix, INSTRUCTIONS)

/* The versions, the fastest first; and all tables of a kind, in this order. */
#if defined __x86_64__
enum { VERSION_AVX512, VERSION_AVX2, VERSION_PLAIN, VERSIONS };
#define VERSIONS_OF(kind) \
	extern const struct kind kind##_avx512, kind##_avx2, kind##_plain; \
	const struct kind *const kind##_versions[] = { &kind##_avx512, \
		&kind##_avx2, &kind##_plain };
#else
enum { VERSION_PLAIN, VERSIONS };
#define VERSIONS_OF(kind) \
	extern const struct kind kind##_plain; \
	const struct kind *const kind##_versions[] = { &kind##_plain };
#endif

/* Can this machine run the version with this number? */
int version_runs(unsigned version);

/*
 * Returns the version to use: the fastest that the machine can run, or the one
 * named by the environment variable BLOOMDEDUP_INSTRUCTIONS, if the machine can
 * run it.
 */
unsigned version_in_use(void);

#if defined __ARM_NEON && defined __aarch64__
#define VERSION_NAME "neon" /* every arm64 has it: the plain version there */
#else
#define VERSION_NAME VERSION_TEXT(INSTRUCTIONS)
#endif

#endif
