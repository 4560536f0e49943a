/* Numbers in units of a power of ten. */
#ifndef BITFOLD_CLI_WORK_UNITS_H
#define BITFOLD_CLI_WORK_UNITS_H

#include <stdbool.h>
#include <stdint.h>

/* Makes n units 10^by times smaller, and so as many times more; nothing if `by` is not above 0.
 * False: 64 bits do not hold one of them, and those before it have changed. */
bool units_refine(int64_t *units, int64_t n, int by);

#endif
