/* Vectors of 16 bytes, as compilers have them for every machine, and the operations for which they
 * have no operator: by SSE2 and NEON, elsewhere lane by lane. */
#ifndef BF_CPU_ISA_VECTOR16_H
#define BF_CPU_ISA_VECTOR16_H

#include "cpu/runtime/vector.h"

enum { LANES = 2 };
typedef double vf64 __attribute__((vector_size(16)));
typedef float vf32 __attribute__((vector_size(16)));
typedef int64_t vi64 __attribute__((vector_size(16)));
typedef uint64_t vu64 __attribute__((vector_size(16))); /* sums that mean nothing may wrap */
typedef int32_t vi32 __attribute__((vector_size(16)));

/* For V, vectors of f32 and of f64:
 *   lesser, greater   of each two lanes: b where a is NaN, NaN where b is; either of two zeros
 *   min, max          of these, for b that is no NaN
 *   one_sqrt, one_fma rounded once */
#if defined(__SSE2__)
#include <emmintrin.h>
#define OPERATIONS(name, V, p, suffix)                                                             \
    INLINE V lesser_##name(V a, V b) { return _mm_min_##p(a, b); }                                 \
    INLINE V greater_##name(V a, V b) { return _mm_max_##p(a, b); }                                \
    INLINE V min_##name(V a, V b) { return _mm_min_##p(a, b); }                                    \
    INLINE V max_##name(V a, V b) { return _mm_max_##p(a, b); }                                    \
    INLINE V one_sqrt_##name(V a) { return _mm_sqrt_##p(a); }
#elif defined(__aarch64__)
#include <arm_neon.h>
#define OPERATIONS(name, V, p, suffix)                                                             \
    INLINE V lesser_##name(V a, V b) { return vminq_##name(a, b); }                                \
    INLINE V greater_##name(V a, V b) { return vmaxq_##name(a, b); }                               \
    INLINE V min_##name(V a, V b) { return vminnmq_##name(a, b); }                                 \
    INLINE V max_##name(V a, V b) { return vmaxnmq_##name(a, b); }                                 \
    INLINE V one_sqrt_##name(V a) { return vsqrtq_##name(a); }                                     \
    INLINE V one_fma_##name(V a, V b, V c) { return vfmaq_##name(c, a, b); }
#else
INLINE vi64 chosen(vi64 where, vi64 a, vi64 b) { return (a & where) | (b & ~where); }
#define OPERATIONS(name, V, p, suffix)                                                             \
    INLINE V lesser_##name(V a, V b) { return (V)chosen((vi64)(a < b), (vi64)a, (vi64)b); }        \
    INLINE V greater_##name(V a, V b) { return (V)chosen((vi64)(a > b), (vi64)a, (vi64)b); }       \
    INLINE V min_##name(V a, V b) { return lesser_##name(a, b); }                                  \
    INLINE V max_##name(V a, V b) { return greater_##name(a, b); }                                 \
    INLINE V one_sqrt_##name(V a) {                                                                \
        UNROLL                                                                                     \
        for (size_t i = 0; i < sizeof a / sizeof a[0]; i++) a[i] = __builtin_sqrt##suffix(a[i]);   \
        return a;                                                                                  \
    }
#endif
OPERATIONS(f32, vf32, ps, f)
OPERATIONS(f64, vf64, pd, )
#undef OPERATIONS

#if !defined(__aarch64__) /* where there is no such instruction, lanes are calls of the library */
#define FMA_OPERATION(name, V, suffix)                                                             \
    INLINE V one_fma_##name(V a, V b, V c) {                                                       \
        UNROLL                                                                                     \
        for (size_t i = 0; i < sizeof a / sizeof a[0]; i++)                                        \
            a[i] = __builtin_fma##suffix(a[i], b[i], c[i]);                                        \
        return a;                                                                                  \
    }
FMA_OPERATION(f32, vf32, f)
FMA_OPERATION(f64, vf64, )
#undef FMA_OPERATION
#endif

/* The lesser of each two signed integers of 32 bits. */
INLINE vi64 least_halves(vi64 a, vi64 b) {
#if defined(__aarch64__)
    return (vi64)vminq_s32((int32x4_t)a, (int32x4_t)b);
#else
    const vi64 where = (vi64)((vi32)a < (vi32)b);
    return (a & where) | (b & ~where);
#endif
}

/* Two floats at p, as doubles. */
INLINE vf64 load_f32(const char *p) {
#if defined(__aarch64__)
    float32x2_t x;
    memcpy(&x, p, sizeof x);
    return vcvt_f64_f32(x);
#else
    float x[LANES];
    memcpy(x, p, sizeof x);
    return (vf64){(double)x[0], (double)x[1]};
#endif
}

#endif
