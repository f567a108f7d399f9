#include "cli/version.h"

#include <stdio.h>

#include "base/parts.h"
#include "bits/loops.h"

#define VERSION "0.2.0"

/* "bloomdedup 0.2.0 (avx2, serve, redis)": the hot loops, optional parts. */
void
version_print(void)
{
	printf("bloomdedup " VERSION " (%s", loops()->name);
	for (enum part i = 0; i < PART_COUNT; i++) {
		if (parts_name(i) != NULL)
			printf(", %s", parts_name(i));
	}
	puts(")");
}

const char *
version_number(void)
{
	return VERSION;
}
