/* What the CPU's rungs share. */
#ifndef BITFOLD_LADDER_CPU_CPU_H
#define BITFOLD_LADDER_CPU_CPU_H

#include "ladder/cpu/simd.h"
#include "ladder/ladder.h"
#include "ladder/ours.h"
#include "ladder/team.h"

extern const ladder_rung ladder_cpu_limit[], ladder_cpu_julia[], ladder_cpu_numbers[],
    ladder_cpu_reduce[], ladder_cpu_scan[], ladder_cpu_add[], ladder_cpu_dot[],
    ladder_cpu_constant[], ladder_cpu_atomics[], ladder_cpu_histogram[], ladder_cpu_build[],
    ladder_cpu_find[];

/* Makes the compiler compute this integer here and now. A loop over single elements then stays one;
 * otherwise the compiler would use vectors. */
#define LADDER_AS_WRITTEN(x) __asm__("" : "+r"(x))

#endif
