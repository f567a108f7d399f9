/*
 * How much memory the process can still allocate: the machine's, or its control
 * group's if that is less.
 */
#ifndef BASE_MEMINFO_H
#define BASE_MEMINFO_H

#include <stdint.h>

/*
 * In bytes, approximately: the smallest of MemAvailable in /proc/meminfo
 * (proc(5)) and what each of the process's control groups has left of
 * memory.max (cgroups(7), version 2; also version 1's memory controller), with
 * its page cache that was not used lately.
 */
uint64_t meminfo_available(void);

#endif
