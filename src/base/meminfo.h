/*
 * The memory that the process can still allocate: the machine's, or its control
 * group's if that is less.
 */
#ifndef BASE_MEMINFO_H
#define BASE_MEMINFO_H

#include <stdint.h>

/*
 * Returns the bytes that can still be allocated, approximately: the smallest of
 * MemAvailable in /proc/meminfo (proc(5)) and the rest of memory.max of each of
 * the process's control groups (cgroups(7), version 2; also version 1's memory
 * controller), including the group's page cache that was not used lately.
 */
uint64_t meminfo_available(void);

#endif
