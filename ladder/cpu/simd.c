/* The loops in vectors, for each instruction set, and which of them this machine can run. */
#include "ladder/cpu/simd.h"

#include <string.h>

/* Sixteen lanes are one, two or four registers. */
typedef float ladder_floats __attribute__((vector_size(64), aligned(4), may_alias));
typedef uint32_t ladder_words __attribute__((vector_size(64), aligned(4), may_alias));
typedef int32_t ladder_ints __attribute__((vector_size(64), aligned(4), may_alias));
typedef int64_t ladder_longs __attribute__((vector_size(64), aligned(8), may_alias));
typedef int32_t ladder_eight __attribute__((vector_size(32), aligned(4), may_alias));

/* How far ahead memory is asked for, in bytes. */
enum { LADDER_AHEAD = 4096 };

/* Steps of an orbit from one look at the lanes to the next. */
enum { LADDER_TESTED = 8 };

/* A comparison gives all ones or all zeros in each lane. */
#define SELECT(condition, a, b)                                                                    \
    (((a) & (ladder_words)(condition)) | ((b) & ~(ladder_words)(condition)))

#define NAME(f) f##_base
#define TARGET
#include "ladder/cpu/simd_loops.h"

#ifdef __x86_64__
#define NAME(f) f##_avx2
#define TARGET __attribute__((target("avx2")))
#include "ladder/cpu/simd_loops.h"
#define NAME(f) f##_avx512
#define TARGET __attribute__((target("avx512f")))
#include "ladder/cpu/simd_loops.h"
#endif

const ladder_simd *ladder_simd_widest(void) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f")) return &simd_avx512;
    if (__builtin_cpu_supports("avx2")) return &simd_avx2;
#endif
    return &simd_base;
}
