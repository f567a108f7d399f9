#include "base/random.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/types.h>

int
random_bytes(void *data, size_t nbytes, struct error *error)
{
	ssize_t n;

	do {
		n = getrandom(data, nbytes, 0);
	} while (n < 0 && errno == EINTR);
	if (n != (ssize_t)nbytes) /* never short up to 256 bytes */
		return error_system(error, errno, "getrandom");
	return 0;
}
