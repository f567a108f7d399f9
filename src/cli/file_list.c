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
split(struct file_list *list, size_t nbytes, const char *path,
    struct error *error)
{
	const char *end = list->text + nbytes;
	int from_stdin = strcmp(path, "-") == 0;
	const char *shown = from_stdin ? "standard input" : path;
	size_t capacity = 0;

	for (char *name = list->text; name < end; name += strlen(name) + 1) {
		if (*name == '\0') {
			return error_set(error, STATUS_FAILED, "%s: record %zu"
			    " is an empty file name", shown, list->count + 1);
		}
		if (from_stdin && strcmp(name, "-") == 0) {
			return error_set(error, STATUS_FAILED, "%s: record %zu"
			    " is -, but the names come from standard input",
			    shown, list->count + 1);
		}
		if (list->count == capacity) {
			capacity = capacity * 2 + 16;
			list->paths = memory_or_die(realloc(list->paths,
			    capacity * sizeof *list->paths));
		}
		list->paths[list->count++] = name;
	}
	return 0;
}

int
file_list_read(struct file_list *list, const char *path, struct error *error)
{
	int fd = STDIN_FILENO, error_number;
	ssize_t n;

	/* Not NULL even without names: NULL would mean standard input. */
	*list = (struct file_list){
		.paths = memory_or_die(malloc(sizeof *list->paths)) };
	if (strcmp(path, "-") != 0)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return error_system(error, errno, path);
	n = read_all(fd, &list->text);
	error_number = errno;
	if (fd != STDIN_FILENO)
		close(fd);
	if (n < 0) {
		return error_system(error, error_number,
		    fd == STDIN_FILENO ? "standard input" : path);
	}
	return split(list, (size_t)n, path, error);
}

void
file_list_free(struct file_list *list)
{
	free(list->paths);
	free(list->text);
}

int
file_list_run(const struct options *o, struct run_plan plan,
    int (*run)(const struct options *, const struct run_plan *,
    struct error *), struct error *error)
{
	struct file_list files;
	int status;

	if (o->files == NULL)
		return run(o, &plan, error);
	if (o->operand_count > 0) {
		return error_set(error, STATUS_USAGE, "unexpected operand"
		    " '%s': --files0-from names all files", o->operands[0]);
	}
	status = file_list_read(&files, o->files, error);
	plan.input.paths = files.paths;
	plan.input.count = files.count;
	if (status == 0)
		status = run(o, &plan, error);
	file_list_free(&files);
	return status;
}
