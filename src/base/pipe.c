#include "base/pipe.h"

#include <fcntl.h>

void
pipe_widen(int fd)
{
	/* F_SETPIPE_SZ of fcntl(2), defined only with _GNU_SOURCE. */
#ifdef __linux__
	enum { SET_PIPE_SIZE = 1024 + 7 };

	fcntl(fd, SET_PIPE_SIZE, 1024 * 1024);
#else
	(void)fd;
#endif
}

