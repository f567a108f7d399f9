/*
 * How much memory the process may still take: of the machine, or of its
 * control group where that allows less.
 */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdint.h>

/*
 * Bytes, about: MemAvailable of /proc/meminfo (proc(5)), and what is left of
 * memory.max of each control group that the process is in (cgroups(7), version
 * 2; version 1's memory controller, too).
 */
uint64_t memory_available(void);

#endif
