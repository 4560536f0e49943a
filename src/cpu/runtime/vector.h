/* What the loops of every vector instruction set are written with. */
#ifndef BF_CPU_RUNTIME_VECTOR_H
#define BF_CPU_RUNTIME_VECTOR_H

#include "cpu/runtime/isa.h"
#include "rules/key/order.h"

#define INLINE static inline __attribute__((always_inline))
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define UNALIGNED __attribute__((aligned(1), may_alias))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

enum {
    PREFETCH_BYTES = 4096, /* how far ahead: hides memory's latency at its bandwidth */
    LINE_BYTES = 64        /* of a cache line */
};

/* Prefetches what a loop reads PREFETCH_BYTES after this row of `bytes`. */
INLINE void prefetch_row(const void *row, size_t bytes) {
    UNROLL
    for (size_t at = 0; at < bytes; at += LINE_BYTES)
        __builtin_prefetch((const char *)row + at + PREFETCH_BYTES);
}

/* A table's entries for every integer type: [BF_I8] = sum_i8, ... */
#define SMALL_INTEGER_ENTRIES(loop)                                                                \
    [BF_I8] = loop##i8, [BF_I16] = loop##i16, [BF_I32] = loop##i32, [BF_U8] = loop##u8,            \
    [BF_U16] = loop##u16, [BF_U32] = loop##u32
#define INTEGER_ENTRIES(loop)                                                                      \
    SMALL_INTEGER_ENTRIES(loop), [BF_I64] = loop##i64, [BF_U64] = loop##u64
#define FLOAT_ENTRIES(loop) [BF_F32] = loop##f32, [BF_F64] = loop##f64

#endif
