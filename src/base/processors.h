/* The processors that this process may use. */
#ifndef BASE_PROCESSORS_H
#define BASE_PROCESSORS_H

/*
 * Returns how many processors the process may use at the same time, at least 1:
 * those that it may run on (sched_setaffinity(2)), or fewer if one of its
 * control groups gets only a share of them (cpu.max, or cpu.cfs_quota_us of
 * version 1; a share is rounded up).
 */
unsigned processors_available(void);

#endif
