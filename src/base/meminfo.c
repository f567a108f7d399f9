#include "base/meminfo.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cgroup.h"

/* The number that a group's file holds; UINT64_MAX for "max". */
static int
read_number(const char *directory, const char *name, uint64_t *number)
{
	char text[50];

	if (cgroup_text(directory, name, text, sizeof text) < 0)
		return 0;
	*number = UINT64_MAX;
	return sscanf(text, "%" SCNu64, number) != EOF;
}

/* A row of a group's memory.stat; 0 if there is none. */
static uint64_t
read_row(const char *directory, const char *row)
{
	char text[16384];
	const char *line = text;
	size_t n = strlen(row);
	uint64_t number = 0;

	if (cgroup_text(directory, "memory.stat", text, sizeof text) < 0)
		return 0;
	for (; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, row, n) == 0 && line[n] == ' ' &&
		    sscanf(line + n, "%" SCNu64, &number) == 1)
			break;
	}
	return number;
}

/* *context becomes what the group has left, if that is less. */
static void
look_at_group(void *context, const char *directory, int version)
{
	static const struct files {
		const char *limit, *used, *inactive;
	} of_version[] = {
		{ "memory.limit_in_bytes", "memory.usage_in_bytes",
		    "total_inactive_file" },
		{ "memory.max", "memory.current", "inactive_file" }
	};
	const struct files *files = &of_version[version - 1];
	uint64_t *left = context, limit, used, inactive;

	if (!read_number(directory, files->limit, &limit) ||
	    limit == UINT64_MAX || !read_number(directory, files->used, &used))
		return;
	/* Page cache that nobody uses is taken away first. */
	inactive = read_row(directory, files->inactive);
	used -= inactive < used ? inactive : used;
	used = used < limit ? limit - used : 0;
	*left = used < *left ? used : *left;
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
	cgroup_each("memory", look_at_group, &available);
	return available;
}
