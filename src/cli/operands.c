#include "cli/operands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/passwords.h"
#include "base/signals.h"
#include "cli/options.h"
#include "stream/input.h"

#define READ_BYTES 65536

/* Read the whole file and append a NUL. Returns its length, or -1. */
static ssize_t
read_all(int fd, char **text)
{
	size_t used = 0, room = 0;
	ssize_t n = 1;

	*text = NULL;
	while (n != 0) {
		*text = memory_grow(*text, &room, used + READ_BYTES + 1, 1);
		n = read(fd, *text + used, READ_BYTES);
		if (n < 0 && errno == EAGAIN && !signals_stop)
			signals_wait(fd, POLLIN, -1);
		else if (n < 0 && (errno != EINTR || signals_stop))
			return -1;
		used += n > 0 ? (size_t)n : 0;
	}
	(*text)[used] = '\0';
	return (ssize_t)used;
}

/*
 * The names in the file of --files0-from become the operands. An empty one, and
 * - in a list from standard input, are errors.
 */
static int
read_names(struct options *o, struct error *error)
{
	struct text_list *list = &o->operands;
	const char *file = input_name(o->files), *wrong = NULL;
	int from_stdin = strcmp(o->files, "-") == 0, errnum;
	int fd = STDIN_FILENO;
	ssize_t n;

	if (!from_stdin)
		fd = open(o->files, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return error_system(error, errno, o->files);
	n = read_all(fd, &o->names);
	errnum = errno;
	if (!from_stdin)
		close(fd);
	if (n < 0)
		return error_system(error, errnum, file);
	/* Not NULL even without names: NULL would mean standard input. */
	list->items = memory_or_die(malloc(1));
	for (const char *name = o->names; name < o->names + n && wrong == NULL;
	    name += strlen(name) + 1) {
		if (*name == '\0')
			wrong = "an empty file name";
		else if (from_stdin && strcmp(name, "-") == 0)
			wrong = "-, but the names come from standard input";
		if (passwords_note(name) < 0)
			memory_or_die(NULL);
		text_list_add(list, name);
	}
	if (wrong == NULL)
		return 0;
	return error_set(error, STATUS_FAILED, "%s: record %zu is %s", file,
	    list->count, wrong);
}

/*
 * As in sort, an operand that doesn't exist is an error before anything is
 * read: it is most likely misspelled, and a run can't be undone.
 */
static int
check_operands(const struct options *o, struct error *error)
{
	struct stat st;

	for (size_t i = 0; i < o->operands.count; i++) {
		const char *path = o->operands.items[i];

		if (strcmp(path, "-") != 0 && stat(path, &st) < 0)
			return error_system(error, errno, path);
	}
	return 0;
}

int
operands_find_inputs(struct options *o, struct error *error)
{
	if (o->files != NULL && o->operands.count > 0) {
		return error_set(error, STATUS_USAGE, "unexpected operand"
		    " '%s': --files0-from names all files",
		    o->operands.items[0]);
	}
	if (o->files != NULL) {
		if (read_names(o, error) < 0)
			return -1;
	} else if (command_table[o->command]->reads_operands) {
		if (check_operands(o, error) < 0)
			return -1;
	}
	o->run.input.paths = o->operands.items;
	o->run.input.count = o->operands.count;
	return 0;
}
