/* The table of commands, dispatch, and the last look at standard output. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "kernel.h"
#include "signals.h"

#define VERSION "0.1.0"

static const struct command_entry *const commands[COMMAND_COUNT] = {
	[COMMAND_FILTER] = &command_filter,
	[COMMAND_ADD] = &command_add,
	[COMMAND_CHECK] = &command_check,
	[COMMAND_CREATE] = &command_create,
	[COMMAND_INFO] = &command_info,
	[COMMAND_MERGE] = &command_merge,
	[COMMAND_SIZE] = &command_size,
	[COMMAND_TRY] = &command_try,
};

/*
 * A standard descriptor that is closed would be taken by the next file that is
 * opened: the filter would be written to by messages. Fill the gap with
 * something that answers EBADF as the closed one would.
 */
static int
guard_descriptors(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
			continue;
		if (open("/dev/null", fd == STDIN_FILENO ?
		    O_WRONLY : O_RDONLY) != fd)
			return -1;
	}
	return 0;
}

static int
run(const struct options *options, struct error *error)
{
	const struct command_entry *command = commands[options->command];

	if (options->help) {
		fputs(command->help, stdout);
		return STATUS_OK;
	}
	if (options->version) {
		printf("bloomdedup " VERSION " (%s)\n", kernel()->name);
		return STATUS_OK;
	}
	return command->run(options, error);
}

int
main(int argc, char **argv)
{
	struct options options;
	struct error error = { 0 };
	int status;

	if (guard_descriptors() < 0)
		return STATUS_FAILED;
	signals_install();
	if (options_parse(&options, argc, argv, &error) < 0)
		status = -1;
	else
		status = run(&options, &error);
	options_free(&options);
	if (signals_stop)
		signals_die(signals_stop);
	fflush(stdout);
	if (signals_pipe)
		signals_die(SIGPIPE);
	if (status < 0) {
		error_print(error.text);
		status = error.status;
	}
	/* What was printed with stdio; lines go out by write(2) alone. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		error_printf("standard output: %s", strerror(errno));
		status = STATUS_FAILED;
	}
	return status;
}
