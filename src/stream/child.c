#define _GNU_SOURCE /* pipe2 */
#include "stream/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void
run_child(int in, int out, const char *command)
{
	static const int numbers[] = { SIGPIPE, SIGXFSZ };

	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		signal(numbers[i], SIG_DFL);
	/* With it open, the child would never see the end of its input. */
	close(out);
	if (dup2(in, STDIN_FILENO) == STDIN_FILENO)
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

int
child_start(struct child *child, const char *command, struct error *error)
{
	int ends[2];

	/* If our parent ignored SIGCHLD, waitpid couldn't get a status. */
	signal(SIGCHLD, SIG_DFL);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_system(error, errno, "--to-command");
	child->pid = fork();
	if (child->pid == 0)
		run_child(ends[0], ends[1], command);
	if (child->pid < 0) {
		error_system(error, errno, "--to-command");
		close(ends[0]);
		close(ends[1]);
		return -1;
	}
	close(ends[0]);
	child->fd = ends[1];
	signal(SIGPIPE, SIG_IGN);
	return 0;
}

/* Did it exit with 0, and leave nothing unread? */
static int
judge(int status, int unread, struct error *error)
{
	if (WIFSIGNALED(status))
		return error_set(error, 128 + WTERMSIG(status), "--to-command:"
		    " the command was killed by signal %d (%s); nothing is"
		    " remembered", WTERMSIG(status),
		    strsignal(WTERMSIG(status)));
	if (WEXITSTATUS(status) != 0)
		return error_set(error, WEXITSTATUS(status), "--to-command:"
		    " the command failed with exit status %d; nothing is"
		    " remembered", WEXITSTATUS(status));
	return !unread ? 0 : error_set(error, STATUS_FAILED, "--to-command:"
	    " the command ended before it had read everything; nothing is"
	    " remembered");
}

int
child_finish(struct child *child, int broken, struct error *error)
{
	char path[40];
	int status, reader, left = 0;
	pid_t result;

	/*
	 * What the child left unread is still in the pipe after it exits: a
	 * second read end, opened now, keeps it there to be counted.
	 */
	snprintf(path, sizeof path, "/proc/self/fd/%d", child->fd);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	close(child->fd);
	do {
		result = waitpid(child->pid, &status, 0);
	} while (result < 0 && errno == EINTR);
	if (result < 0)
		error_system(error, errno, "--to-command");
	if (reader >= 0) {
		ioctl(reader, FIONREAD, &left);
		close(reader);
	}
	return result < 0 ? -1 : judge(status, broken || left > 0, error);
}

