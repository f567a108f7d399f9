/*
 * What the fuzz targets share. A target defines LLVMFuzzerTestOneInput, which
 * takes its input apart with take(): what to build, and the bytes to build it
 * from. What must hold is said with MUST; where it doesn't, the target aborts,
 * and the fuzzer (or replay) keeps the input.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

#define MUST(condition) do { \
	if (!(condition)) { \
		fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, \
		    __LINE__, #condition); \
		abort(); \
	} \
} while (0)

/* The rest of an input. Behind its end there are zeros without end. */
struct input_bytes {
	const uint8_t *data;
	size_t nbytes;
};

/* The next integer of `nbytes`, little-endian. */
static inline uint64_t
take(struct input_bytes *in, unsigned nbytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < nbytes && in->nbytes > 0; i++) {
		value |= (uint64_t)*in->data++ << (8 * i);
		in->nbytes--;
	}
	return value;
}

/* The next bytes, at most *n; *n becomes how many there are. */
static inline const uint8_t *
take_bytes(struct input_bytes *in, size_t *n)
{
	const uint8_t *data = in->data;

	*n = *n < in->nbytes ? *n : in->nbytes;
	in->data += *n;
	in->nbytes -= *n;
	return data;
}

/*
 * Integers at which something changes; one byte of an input chooses one. As
 * binary64 the last ones are infinite, not a number, denormal, -1, 1 and the
 * next one, and very small.
 */
static inline uint64_t
take_evil(struct input_bytes *in)
{
	static const uint64_t values[] = {
		0, 1, 2, 3, 7, 8, 9, 16, 17, 61, 62, 63, 64, 65, 191, 192, 193,
		1023, 1024, 1025, 4095, 4096, 4097, 12287, 12288, 12289, 65535,
		65536, 65537, UINT64_C(0x7fffffff), UINT64_C(0x80000000),
		UINT64_C(0xfffff000), UINT64_C(0xffffffff),
		UINT64_C(0x100000000), (UINT64_C(1) << 49) - 17,
		(UINT64_C(1) << 49) - 16, (UINT64_C(1) << 49) - 15,
		UINT64_C(1) << 51, (UINT64_C(1) << 52) - 3,
		(UINT64_C(1) << 53) - 1, UINT64_C(1) << 53,
		(UINT64_C(1) << 53) + 1, (UINT64_C(1) << 63) - 1,
		UINT64_C(1) << 63, (UINT64_C(1) << 63) + 1, UINT64_MAX - 4095,
		UINT64_MAX - 2, UINT64_MAX - 1, UINT64_MAX,
		UINT64_C(0x7ff0000000000000), UINT64_C(0x7ff8000000000000),
		UINT64_C(0x000fffffffffffff), UINT64_C(0xbff0000000000000),
		UINT64_C(0x3ff0000000000000), UINT64_C(0x3ff0000000000001),
		UINT64_C(0x3fe0000000000000), UINT64_C(0x3ddb7cdfd9d7bdbb),
	};
	unsigned which = (unsigned)take(in, 1);

	/* most of the 256: eight bytes as they are */
	return which < sizeof values / sizeof *values ? values[which] :
	    take(in, 8);
}

/*
 * The name of a file in a directory of this process below $TMPDIR, both of
 * which are removed at the end with `name`.journal; the same at each call.
 */
static char fuzz_path[200];

static inline void
fuzz_clean(void)
{
	char journal[sizeof fuzz_path + 8];

	snprintf(journal, sizeof journal, "%s.journal", fuzz_path);
	unlink(journal);
	unlink(fuzz_path);
	*strrchr(fuzz_path, '/') = '\0';
	rmdir(fuzz_path);
}

static inline const char *
fuzz_file(void)
{
	const char *directory = getenv("TMPDIR");

	if (fuzz_path[0] == '\0') {
		snprintf(fuzz_path, sizeof fuzz_path - 10, "%s/fuzz-XXXXXX",
		    directory != NULL ? directory : "/tmp");
		MUST(mkdtemp(fuzz_path) != NULL);
		strcat(fuzz_path, "/filter");
		atexit(fuzz_clean);
	}
	return fuzz_path;
}

#endif
