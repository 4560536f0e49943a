/* The floating-point environment that floating-point work here assumes, whatever the caller's is.
 */
#ifndef BF_SEAM_ENVIRONMENT_H
#define BF_SEAM_ENVIRONMENT_H

#include <stdint.h>

/* Rounding to nearest, no FTZ or DAZ, no traps, around the work; then the caller's, flags and all.
 */
typedef struct bf_environment {
    uint64_t saved;
} bf_environment;

bf_environment bf_environment_enter(void);
void bf_environment_leave(bf_environment environment);

#endif
