#include "base/cgroup.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

#define ROOT "/sys/fs/cgroup"
#define DIRECTORY_BYTES 5000

/* Is the word in a list with commas? */
static int
has_word(const char *list, const char *word)
{
	const size_t nbytes = strlen(word);

	for (; *list != '\0'; list += *list == ',') {
		size_t n = strcspn(list, ",");

		if (n == nbytes && memcmp(list, word, n) == 0)
			return 1;
		list += n;
	}
	return 0;
}

/* A line of /proc/self/cgroup: "0::/path", or "5:cpu,cpuacct:/path". */
static void
visit_line(char *line, const char *controller, cgroup_visit *visit,
    void *context)
{
	char directory[DIRECTORY_BYTES] = ROOT;
	char *list = strchr(line, ':'), *path;
	size_t root_bytes;
	int version;

	path = list == NULL ? NULL : strchr(list + 1, ':');
	if (path == NULL)
		return;
	*list++ = *path++ = '\0';
	path[strcspn(path, "\n")] = '\0';
	version = *list == '\0' ? 2 : 1;
	if (version == 1 && !has_word(list, controller))
		return;
	if (version == 1)
		snprintf(directory, sizeof directory, ROOT "/%s", controller);
	root_bytes = strlen(directory);
	snprintf(directory + root_bytes, sizeof directory - root_bytes, "%s",
	    path);
	for (;;) {
		visit(context, directory, version);
		if (strlen(directory) <= root_bytes)
			return;
		*strrchr(directory, '/') = '\0';
	}
}

void
cgroup_each(const char *controller, cgroup_visit *visit, void *context)
{
	FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4500];

	if (file == NULL)
		return;
	while (fgets(line, sizeof line, file) != NULL)
		visit_line(line, controller, visit, context);
	fclose(file);
}

int
cgroup_text(const char *directory, const char *name, char *text, size_t nbytes)
{
	char path[DIRECTORY_BYTES + 100];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = io_pread(fd, text, nbytes - 1, 0);
	close(fd);
	if (n < 0)
		return -1;
	text[n] = '\0';
	return 0;
}
