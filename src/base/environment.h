/* The floating-point environment that work here assumes. The caller may have another one. */
#ifndef BF_BASE_ENVIRONMENT_H
#define BF_BASE_ENVIRONMENT_H

#include <stdint.h>

/* The caller's environment. Entering saves it and sets rounding to nearest, without FTZ, DAZ or
 * traps; leaving restores it with its flags. */
typedef struct bf_environment {
    uint64_t saved;
} bf_environment;

bf_environment bf_environment_enter(void);
void bf_environment_leave(bf_environment environment);

#endif
