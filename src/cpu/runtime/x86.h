/* Features that __builtin_cpu_supports does not know in every compiler. */
#ifndef BF_CPU_RUNTIME_X86_H
#define BF_CPU_RUNTIME_X86_H

#include <cpuid.h>
#include <stdbool.h>

static inline bool has_f16c(void) {
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c >> 29 & 1);
}

#endif
