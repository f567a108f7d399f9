#define _GNU_SOURCE /* sched_getaffinity */
#include "base/processors.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cgroup.h"

/* Without a limit, which is "max" or negative, there are no two numbers. */
static void
take_share(unsigned *most, const char *text)
{
	uint64_t quota, period;

	if (text[0] == '-' || sscanf(text, "%" SCNu64 "%" SCNu64, &quota,
	    &period) != 2 || period == 0)
		return;
	quota = quota / period + (quota % period > 0);
	if (quota > 0 && quota < *most)
		*most = (unsigned)quota;
}

static void
look_at_group(void *context, const char *directory, int version)
{
	char quota[50], period[50], text[102];

	if (version == 2) {
		if (cgroup_text(directory, "cpu.max", text, sizeof text) == 0)
			take_share(context, text);
		return;
	}
	if (cgroup_text(directory, "cpu.cfs_quota_us", quota,
	    sizeof quota) < 0 || cgroup_text(directory, "cpu.cfs_period_us",
	    period, sizeof period) < 0)
		return;
	snprintf(text, sizeof text, "%s %s", quota, period);
	take_share(context, text);
}

unsigned
processors_available(void)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned count = online > 0 ? (unsigned)online : 1;
	cpu_set_t set;

	/* It fails where there are more than the set has room for. */
	if (sched_getaffinity(0, sizeof set, &set) == 0)
		count = (unsigned)CPU_COUNT(&set);
	cgroup_each("cpu", look_at_group, &count);
	return count > 0 ? count : 1;
}
