#include "temporary.h"

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
temporary_add(const char *name)
{
	replace(NULL, name);
}

void
temporary_forget(const char *name)
{
	replace(name, NULL);
}

void
temporary_remove(void)
{
	for (size_t i = 0; i < NAMES; i++) {
		if (names[i] != NULL)
			unlink(names[i]);
	}
}
