/* Random bytes from the system: for secrets, ids and names. */
#ifndef RANDOM_H
#define RANDOM_H

#include <stddef.h>

#include "base/error.h"

/* At most 256 bytes. Returns 0, or -1 with `error` filled. */
int random_bytes(void *data, size_t nbytes, struct error *error);

#endif
