/* What the CPU can run. __builtin_cpu_supports needs a runtime that not every compiler has. */
#ifndef BF_CPU_RUNTIME_X86_H
#define BF_CPU_RUNTIME_X86_H

#include <cpuid.h>
#include <stdbool.h>

/* What the system must save of the registers, in the bits of XCR0. */
enum { BF_SAVES_YMM = 0x06, BF_SAVES_ZMM = 0xE6 };

/* Has this machine all the features? leaf1: bits of ECX, leaf7: of EBX, as cpuid.h names them. */
static inline bool has_features(unsigned leaf1, unsigned leaf7, unsigned saved) {
    unsigned a, b, c, d;
    leaf1 |= bit_OSXSAVE;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & leaf1) != leaf1) return false;
    __asm__("xgetbv" : "=a"(a), "=d"(d) : "c"(0));
    if ((a & saved) != saved) return false;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & leaf7) == leaf7;
}

#endif
