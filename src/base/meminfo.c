#include "base/meminfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The number that a file of /sys/fs/cgroup holds; UINT64_MAX for "max". */
static int
read_number(const char *directory, const char *name, uint64_t *number)
{
	char path[5000];
	FILE *file;
	int found;

	snprintf(path, sizeof path, "%s/%s", directory, name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	*number = UINT64_MAX;
	found = fscanf(file, "%" SCNu64, number) != EOF;
	fclose(file);
	return found;
}

/* A row of a group's memory.stat; 0 if there is none. */
static uint64_t
read_row(const char *directory, const char *row)
{
	char path[5000], line[200];
	size_t n = strlen(row);
	uint64_t number = 0;
	FILE *file;

	snprintf(path, sizeof path, "%s/memory.stat", directory);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	while (fgets(line, sizeof line, file) != NULL) {
		if (strncmp(line, row, n) == 0 && line[n] == ' ' &&
		    sscanf(line + n, "%" SCNu64, &number) == 1)
			break;
	}
	fclose(file);
	return number;
}

/*
 * The least that the group in a line of /proc/self/cgroup, "0::/path" or
 * "5:memory:/path", and its ancestors have left.
 */
static uint64_t
left_in_groups(const char *line)
{
	static const struct version {
		const char *start, *root, *limit, *used, *inactive;
	} versions[] = {
		{ "::/", "/sys/fs/cgroup", "memory.max", "memory.current",
		    "inactive_file" },
		{ ":memory:/", "/sys/fs/cgroup/memory",
		    "memory.limit_in_bytes", "memory.usage_in_bytes",
		    "total_inactive_file" }
	};
	const struct version *version = versions;
	uint64_t left = UINT64_MAX, limit, used, inactive;
	char directory[4500];

	line += strspn(line, "0123456789");
	while (strncmp(line, version->start, strlen(version->start)) != 0) {
		if (++version == versions + 2)
			return UINT64_MAX;
	}
	line += strlen(version->start) - 1;
	snprintf(directory, sizeof directory, "%s%.*s", version->root,
	    (int)strcspn(line, "\n"), line);
	for (;;) {
		if (read_number(directory, version->limit, &limit) &&
		    limit != UINT64_MAX &&
		    read_number(directory, version->used, &used)) {
			/* Page cache that nobody uses is taken away first. */
			inactive = read_row(directory, version->inactive);
			used -= inactive < used ? inactive : used;
			used = used < limit ? limit - used : 0;
			left = used < left ? used : left;
		}
		if (strlen(directory) <= strlen(version->root))
			return left;
		*strrchr(directory, '/') = '\0';
	}
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
	while (file != NULL && fgets(line, sizeof line, file) != NULL) {
		uint64_t left = left_in_groups(line);

		available = left < available ? left : available;
	}
	if (file != NULL)
		fclose(file);
	return available;
}
