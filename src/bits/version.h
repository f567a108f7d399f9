/*
 * For a source that is compiled once for each instruction set (Makefile), whose
 * name is INSTRUCTIONS. Everything in such a source is static but one table, so
 * that no code for one machine is linked for another.
 */
#ifndef VERSION_H
#define VERSION_H

#define VERSION_TEXT_OF(name) #name
#define VERSION_TEXT(name) VERSION_TEXT_OF(name)
#define VERSION_JOIN_OF(a, b) a##b
#define VERSION_JOIN(a, b) VERSION_JOIN_OF(a, b)

/* The table: prefix_avx2 and the like. */
#define VERSION(prefix) VERSION_JOIN(prefix, INSTRUCTIONS)

#if defined __ARM_NEON && defined __aarch64__
#define VERSION_NAME "neon" /* every arm64 has it: the plain version there */
#else
#define VERSION_NAME VERSION_TEXT(INSTRUCTIONS)
#endif

#endif
