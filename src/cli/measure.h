/* try --measure: the error rate and the speed of a real filter. */
#ifndef MEASURE_H
#define MEASURE_H

#include "base/error.h"
#include "bits/sizing.h"

/* Make the filter in memory, fill it, look up other lines, print figures. */
int measure(const struct sizing *sizing, int json, struct error *error);

#endif
