/*
 * Goal: a thread has the stack that its functions need, whatever the C library
 * gives by default, and whatever the limit of stacks is.
 */
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/thread.h"
#include "tap.h"

/* More than any function of the program needs, with all that call it */
#define USED_BYTES (768 * 1024)

static void *
use_stack(void *context)
{
	volatile char used[USED_BYTES];

	/* From the top of the stack down, as calls do */
	for (size_t i = sizeof used; i > 0; i -= 1024)
		used[i - 1] = 1;
	*(int *)context = used[1023];
	return NULL;
}

int
main(int argc, char **argv)
{
	struct rlimit limit;
	pthread_t thread;
	int used = 0;

	/* glibc looks at the limit when a program begins. */
	if (argc == 1) {
		getrlimit(RLIMIT_STACK, &limit);
		limit.rlim_cur = 256 * 1024;
		setrlimit(RLIMIT_STACK, &limit);
		execl(argv[0], argv[0], "limited", (char *)NULL);
		return 1;
	}
	tap_ok(thread_start(&thread, use_stack, &used) == 0, "a thread starts");
	pthread_join(thread, NULL);
	tap_ok(used, "with a stack of 256 KiB by default, it uses 768");
	return tap_end();
}
