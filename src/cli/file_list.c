#include "cli/file_list.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/signals.h"

#define READ_BYTES 65536

/* Read the whole file and append a NUL. Returns its length, or -1. */
static ssize_t
read_all(int fd, char **text)
{
	size_t used = 0, capacity = READ_BYTES;
	ssize_t n = 1;

	*text = memory_or_die(malloc(capacity + 1));
	while (n != 0) {
		if (capacity - used < READ_BYTES) {
			capacity *= 2;
			*text = memory_or_die(realloc(*text, capacity + 1));
		}
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

static int
split(struct text_list *list, const char *text, size_t nbytes,
    const char *path, struct error *error)
{
	int from_stdin = strcmp(path, "-") == 0;
	const char *wrong = NULL;

	for (const char *name = text; name < text + nbytes && wrong == NULL;
	    name += strlen(name) + 1) {
		if (*name == '\0')
			wrong = "an empty file name";
		else if (from_stdin && strcmp(name, "-") == 0)
			wrong = "-, but the names come from standard input";
		text_list_add(list, name);
	}
	return wrong == NULL ? 0 : error_set(error, STATUS_FAILED,
	    "%s: record %zu is %s", input_name(path), list->count, wrong);
}

/* The names point into *text; both are to be freed in any case. */
static int
read_list(struct text_list *list, char **text, const char *path,
    struct error *error)
{
	int fd = STDIN_FILENO, error_number;
	ssize_t n;

	if (strcmp(path, "-") != 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return error_system(error, errno, path);
	n = read_all(fd, text);
	error_number = errno;
	if (fd != STDIN_FILENO)
		close(fd);
	return n < 0 ? error_system(error, error_number, input_name(path)) :
	    split(list, *text, (size_t)n, path, error);
}

int
file_list_run(const struct options *o, struct run_plan plan,
    int (*run)(const struct options *, const struct run_plan *,
    struct error *), struct error *error)
{
	/* Not NULL even without names: NULL would mean standard input. */
	struct text_list list = { memory_or_die(malloc(1)), 0 };
	char *text = NULL;
	int status = 0;

	if (o->files != NULL && o->operands.count > 0)
		status = error_set(error, STATUS_USAGE, "unexpected operand"
		    " '%s': --files0-from names all files",
		    o->operands.items[0]);
	else if (o->files != NULL)
		status = read_list(&list, &text, o->files, error);
	plan.input.paths = o->files != NULL ? list.items : o->operands.items;
	plan.input.count = o->files != NULL ? list.count : o->operands.count;
	if (status == 0)
		status = run(o, &plan, error);
	free(list.items);
	free(text);
	return status;
}
