#include "base/cleanup.h"

#include <stddef.h>
#include <unistd.h>

static const char *volatile names[4];
#define NAMES (sizeof names / sizeof *names)

static void
replace(const char *old, const char *new)
{
	for (size_t i = 0; i < NAMES; i++) {
		if (names[i] == old) {
			names[i] = new;
			return;
		}
	}
}

void
cleanup_add(const char *name)
{
	replace(NULL, name);
}

void
cleanup_forget(const char *name)
{
	replace(name, NULL);
}

void
cleanup_remove(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		if (names[i] != NULL)
			unlink(names[i]);
	}
}
