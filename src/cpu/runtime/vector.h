/* The common vocabulary of vector loops: element types of any alignment,
 * pragmas, floats as bits, and entries of tables. */
#ifndef BF_CPU_RUNTIME_VECTOR_H
#define BF_CPU_RUNTIME_VECTOR_H

#include "cpu/runtime/isa.h"

#include <string.h>

#ifdef BITFOLD_OUTLINED /* where compiling takes longer than running */
#define INLINE static inline __attribute__((unused))
#define UNROLL
#else
#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif
#endif
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define UNALIGNED __attribute__((aligned(1), may_alias))
#ifdef __clang__
#define VECTORIZED
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#pragma clang diagnostic ignored                                                                   \
    "-Wpass-failed" /* a loop that is not vectorized is right all the same */
#else
#define VECTORIZED _Pragma("GCC unroll 1") /* not unrolled to scalars first */
#define INDEPENDENT _Pragma("GCC ivdep")   /* element i overlaps at most element i */
#endif

typedef int8_t i8_element UNALIGNED;
typedef int16_t i16_element UNALIGNED;
typedef int32_t i32_element UNALIGNED;
typedef int64_t i64_element UNALIGNED;
typedef uint8_t u8_element UNALIGNED;
typedef uint16_t u16_element UNALIGNED;
typedef uint32_t u32_element UNALIGNED;
typedef uint64_t u64_element UNALIGNED;
typedef float f32_element UNALIGNED;
typedef double f64_element UNALIGNED;

enum {
    PREFETCH_BYTES = 8192, /* how far ahead: hides memory's latency at its bandwidth */
    LINE_BYTES = 64        /* the size of a cache line */
};

/* Prefetches what a loop reads PREFETCH_BYTES after this row of `bytes`. */
INLINE void prefetch_row(const void *row, size_t bytes) {
    UNROLL
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch((const char *)row + at + PREFETCH_BYTES);
}

INLINE uint32_t bits_f32(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
INLINE uint64_t bits_f64(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}
INLINE float of_bits_f32(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}
INLINE double of_bits_f64(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Machines differ in the NaN that they make: results have this one. */
INLINE float quiet_nan_f32(void) { return of_bits_f32(0x7fc00000); }
INLINE double quiet_nan_f64(void) { return of_bits_f64(0x7ff8000000000000); }
INLINE float canonical_f32(float x) { return x == x ? x : quiet_nan_f32(); }
INLINE double canonical_f64(double x) { return x == x ? x : quiet_nan_f64(); }

/* A table's entries for every integer type: [BF_I8] = sum_i8, ... */
#define SMALL_INTEGER_ENTRIES(loop)                                                                \
    [BF_I8] = loop##i8, [BF_I16] = loop##i16, [BF_I32] = loop##i32, [BF_U8] = loop##u8,            \
    [BF_U16] = loop##u16, [BF_U32] = loop##u32
#define INTEGER_ENTRIES(loop)                                                                      \
    SMALL_INTEGER_ENTRIES(loop), [BF_I64] = loop##i64, [BF_U64] = loop##u64
#define FLOAT_ENTRIES(loop) [BF_F32] = loop##f32, [BF_F64] = loop##f64

#endif
