#include "base/meminfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number that a file of /sys/fs/cgroup holds; UINT64_MAX for "max". */
static int
read_number(const char *folder, const char *name, uint64_t *number)
{
	char path[5000];
	FILE *file;
	int found;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	*number = UINT64_MAX;
	found = fscanf(file, "%" SCNu64, number) != EOF;
	fclose(file);
	return found;
}

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* The least that this folder's group and its ancestors have left. */
static uint64_t
left_in_groups(char *folder, size_t root, const char *limit_name,
    const char *used_name)
{
	uint64_t left = UINT64_MAX, limit, used;

	for (;;) {
		char *slash;

		if (read_number(folder, limit_name, &limit) &&
		    limit != UINT64_MAX &&
		    read_number(folder, used_name, &used))
			left = smaller(left, used < limit ? limit - used : 0);
		slash = strrchr(folder, '/');
		if (strlen(folder) <= root || slash == NULL)
			return left;
		*slash = '\0';
	}
}

/* A line of /proc/self/cgroup: "0::/path" or "5:memory:/path". */
static uint64_t
left_in_line(char *line)
{
	const char *root = "/sys/fs/cgroup";
	char folder[4500], *controllers, *path;

	line[strcspn(line, "\n")] = '\0';
	controllers = strchr(line, ':');
	path = controllers == NULL ? NULL : strchr(controllers + 1, ':');
	if (path == NULL)
		return UINT64_MAX;
	*path++ = '\0';
	controllers++;
	if (*controllers != '\0' && strcmp(controllers, "memory") != 0)
		return UINT64_MAX;
	if (*controllers != '\0')
		root = "/sys/fs/cgroup/memory";
	snprintf(folder, sizeof folder, "%s%s", root, path);
	return *controllers == '\0' ? left_in_groups(folder, strlen(root),
	    "memory.max", "memory.current") : left_in_groups(folder,
	    strlen(root), "memory.limit_in_bytes", "memory.usage_in_bytes");
}

uint64_t
meminfo_available(void)
{
	uint64_t available = (uint64_t)sysconf(_SC_PHYS_PAGES) *
	    (uint64_t)sysconf(_SC_PAGESIZE), kibibytes;
	char line[4096];
	FILE *file = fopen("/proc/meminfo", "re");

	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		if (sscanf(line, "MemAvailable: %" SCNu64, &kibibytes) == 1)
			available = kibibytes * 1024;
	}
	if (file != NULL)
		fclose(file);
	file = fopen("/proc/self/cgroup", "re");
	while (file != NULL && fgets(line, sizeof line, file) != NULL)
		available = smaller(available, left_in_line(line));
	if (file != NULL)
		fclose(file);
	return available;
}
