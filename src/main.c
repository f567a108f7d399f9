/* Run the command that argv asks for, and check standard output at the end. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/passwords.h"
#include "base/signals.h"
#include "cli/command.h"
#include "cli/command_line.h"
#include "cli/operands.h"

/*
 * If a standard descriptor is closed, the next file to be opened gets its
 * number, and messages could end up in the filter. Fill the gap with something
 * that still fails with EBADF.
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
run_command(struct options *options, struct error *error)
{
	if (options->help) {
		command_print_help(options->command, options->brief);
		return STATUS_OK;
	}
	if (options->version)
		return command_version.run(options, error);
	if (operands_find_inputs(options, error) < 0)
		return -1;
	return command_table[options->command]->run(options, error);
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
	if (passwords_take(argc, argv) < 0)
		memory_or_die(NULL);
	status = command_line_parse(&options, argc, argv, &error);
	if (status == 0)
		status = run_command(&options, &error);
	command_line_free(&options);
	if (signals_stop)
		signals_die(signals_stop);
	fflush(stdout);
	if (signals_pipe)
		signals_die(SIGPIPE);
	if (status < 0) {
		error_print(error.text);
		status = error.status;
	}
	/* Checks what stdio printed; lines are written with write(2) only. */
	if (fflush(stdout) != 0 || ferror(stdout)) {
		error_printf("standard output: %s", strerror(errno));
		status = STATUS_FAILED;
	}
	return status;
}
