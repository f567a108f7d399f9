/*
 * What holds where no more memory can be had, in a process of its own: then a
 * thread can't be had, either, unless one has ended before, whose memory is
 * used again.
 */
#ifndef TESTS_UNIT_NO_MEMORY_H
#define TESTS_UNIT_NO_MEMORY_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tap.h"

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED 1
#elif defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif

static inline void
without_memory(int (*holds)(void *context), void *context, const char *what)
{
#ifdef SANITIZED
	(void)holds, (void)context;
	tap_ok(1, "%s # skip sanitizers need memory of their own", what);
#else
	int status = 0;
	pid_t pid;

	if (getenv("UNDER_EMULATOR") != NULL) {
		tap_ok(1, "%s # skip the emulator has the limit", what);
		return;
	}
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		struct rlimit limit = { 1, 1 };

		setrlimit(RLIMIT_AS, &limit);
		_exit(holds(context) ? 42 : 0);
	}
	waitpid(pid, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 42, "%s", what);
#endif
}

#endif
