/* The types that every other header uses: statuses, dtypes, reductions, policies.
 *
 * Each list is data, written once: X(identifier, number, ...). The numbers are part of the ABI and
 * of the saved forms. They are never reused. */
#ifndef BITFOLD_TYPES_H
#define BITFOLD_TYPES_H

#include <stddef.h>
#include <stdint.h>

#define BF_VERSION_MAJOR 0
#define BF_VERSION_MINOR 2
#define BF_VERSION_PATCH 0

/* 10203 is version 1.2.3; the number increases with each version. bf_version_number() returns the
 * library's. */
#define BF_VERSION (BF_VERSION_MAJOR * 10000 + BF_VERSION_MINOR * 100 + BF_VERSION_PATCH)

#if defined(_WIN32)
#define BF_API
#else
#define BF_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* X(identifier, number, message) */
#define BF_STATUS_LIST(X)                                                                          \
    X(OK, 0, "success")                                                                            \
    X(E_ARGUMENT, 1, "invalid argument")                                                           \
    X(E_DTYPE, 2, "dtype not supported here")                                                      \
    X(E_SHAPE, 3, "shapes do not match")                                                           \
    X(E_OVERFLOW, 4, "the result does not fit its type")                                           \
    X(E_NAN, 5, "the data hold NaN, which the policy refuses")                                     \
    X(E_EMPTY, 6, "no value: the input is empty")                                                  \
    X(E_MEMORY, 7, "out of memory")                                                                \
    X(E_STATE, 8, "saved state is damaged or does not match")                                      \
    X(E_DEVICE, 9, "this machine lacks the device or instruction set asked for")                   \
    X(E_CANCELLED, 10, "cancelled by the caller")                                                  \
    X(E_COMM, 11, "the ranks could not work together")                                             \
    X(E_IO, 12, "a temporary file cannot be written or read")

typedef enum bf_status {
#define BF_X(id, number, message) BF_##id = number,
    BF_STATUS_LIST(BF_X)
#undef BF_X
} bf_status;

/* X(identifier, number, name, bytes, C type, kind, S, R): kind is bf_dtype_kind, S and R are the C
 * types of sums and single values in the simple calls (reduce.h). An f16 or bf16 is stored as its
 * bit pattern. A bool is true if its byte is not 0. */
#define BF_DTYPE_LIST(X)                                                                           \
    X(BOOL, 1, bool, 1, uint8_t, 'b', int64_t, uint8_t)                                            \
    X(I8, 2, i8, 1, int8_t, 'i', int64_t, int8_t)                                                  \
    X(I16, 3, i16, 2, int16_t, 'i', int64_t, int16_t)                                              \
    X(I32, 4, i32, 4, int32_t, 'i', int64_t, int32_t)                                              \
    X(I64, 5, i64, 8, int64_t, 'i', int64_t, int64_t)                                              \
    X(U8, 6, u8, 1, uint8_t, 'u', uint64_t, uint8_t)                                               \
    X(U16, 7, u16, 2, uint16_t, 'u', uint64_t, uint16_t)                                           \
    X(U32, 8, u32, 4, uint32_t, 'u', uint64_t, uint32_t)                                           \
    X(U64, 9, u64, 8, uint64_t, 'u', uint64_t, uint64_t)                                           \
    X(F16, 10, f16, 2, uint16_t, 'f', double, double)                                              \
    X(BF16, 11, bf16, 2, uint16_t, 'f', double, double)                                            \
    X(F32, 12, f32, 4, float, 'f', double, float)                                                  \
    X(F64, 13, f64, 8, double, 'f', double, double)

typedef enum bf_dtype {
    BF_NONE = 0, /* not given: the default applies */
#define BF_X(id, number, name, bytes, type, ...) BF_##id = number,
    BF_DTYPE_LIST(BF_X)
#undef BF_X
        BF_I192 = 32, /* results only: a 192-bit two's complement integer */
    BF_PAIR = 33,     /* two uint64_t: keys, values of tables, quantiles with their dtype */
    BF_I128 = 34 /* a 128-bit two's complement integer in this machine's byte order, as __int128:
                    16 bytes, which need not be aligned. bf_reduce, bf_dot, their _shards,
                    bf_describe and states take it, for all but prod, and compute on the CPU.
                    Their results are BF_I192. The calls of order.h take it, too; groups, joins,
                    dictionaries and runs take it as keys, groups as values; expressions take and
                    give it, on the CPU; Arrow's calls convert it. Every other call returns
                    BF_E_DTYPE */
} bf_dtype;

/* What a reduction gives. */
typedef enum bf_result_class {
    BF_RESULT_EXACT = 1,   /* an integer for integers, the exact value rounded once for floats */
    BF_RESULT_ROUNDED = 2, /* a float, rounded once */
    BF_RESULT_ELEMENT = 3, /* one of the elements */
    BF_RESULT_INDEX = 4,   /* the index of an element */
    BF_RESULT_RECORD = 5   /* several values (describe.h) */
} bf_result_class;

/* X(identifier, number, name, state, result, text). A state keeps a SUM, the sum of SQUARES, both
 * (MOMENTS), the sums of four POWERS, the sum of the products of pairs (DOT), the sums of both,
 * their squares and their products (COMOMENTS), sums with weights (WEIGHTED), an EXTREME, a
 * PRODUCT, or all that is in a DESCRIPTION. The result is BF_RESULT_... */
#define BF_REDUCTION_LIST(X)                                                                       \
    X(SUM, 1, sum, SUM, EXACT, "the exact sum, rounded once")                                      \
    X(PROD, 12, prod, PRODUCT, EXACT, "the product: exact of integers, by a fixed tree of floats") \
    X(MEAN, 2, mean, SUM, ROUNDED, "the exact mean, rounded once")                                 \
    X(VAR, 3, var, MOMENTS, ROUNDED, "the variance, from the exact moments, rounded once")         \
    X(STD, 4, std, MOMENTS, ROUNDED, "the standard deviation, from the exact moments")             \
    X(SUMSQ, 5, sumsq, SQUARES, EXACT, "the exact sum of squares, rounded once")                   \
    X(NORM, 6, norm, SQUARES, ROUNDED, "the 2-norm: the root of the exact sum of squares")         \
    X(DOT, 7, dot, DOT, EXACT, "the exact dot product, rounded once")                              \
    X(SKEW, 14, skew, POWERS, ROUNDED, "the skewness, from the exact moments, rounded once")       \
    X(KURTOSIS, 15, kurtosis, POWERS, ROUNDED, "the excess kurtosis, from the exact moments")      \
    X(COV, 16, cov, COMOMENTS, ROUNDED, "the covariance of pairs, rounded once")                   \
    X(CORR, 17, corr, COMOMENTS, ROUNDED, "the correlation of pairs (Pearson's), rounded once")    \
    X(SLOPE, 18, slope, COMOMENTS, ROUNDED, "the slope of the line that fits pairs best")          \
    X(INTERCEPT, 19, intercept, COMOMENTS, ROUNDED, "where that line meets x = 0")                 \
    X(R2, 20, r2, COMOMENTS, ROUNDED, "the square of the correlation of pairs")                    \
    X(WMEAN, 21, wmean, WEIGHTED, ROUNDED, "the mean with weights, rounded once")                  \
    X(WVAR, 22, wvar, WEIGHTED, ROUNDED, "the variance with weights, rounded once")                \
    X(WSTD, 23, wstd, WEIGHTED, ROUNDED, "the standard deviation with weights")                    \
    X(MIN, 8, min, EXTREME, ELEMENT, "the minimum; -0 is less than +0")                            \
    X(MAX, 9, max, EXTREME, ELEMENT, "the maximum; -0 is less than +0")                            \
    X(ARGMIN, 10, argmin, EXTREME, INDEX, "the first index that holds the minimum")                \
    X(ARGMAX, 11, argmax, EXTREME, INDEX, "the first index that holds the maximum")                \
    X(DESCRIBE, 13, describe, DESCRIPTION, RECORD, "counts, extremes, sum, mean and deviation")

typedef enum bf_reduction {
#define BF_X(id, number, name, state, result, text) BF_##id = number,
    BF_REDUCTION_LIST(BF_X)
#undef BF_X
} bf_reduction;

/* Element-wise operations: X(identifier, number, name, inputs) */
#define BF_MAP_LIST(X)                                                                             \
    X(ADD, 1, add, 2)                                                                              \
    X(SUB, 2, sub, 2)                                                                              \
    X(MUL, 3, mul, 2)                                                                              \
    X(DIV, 4, div, 2)                                                                              \
    X(MIN, 5, min, 2)                                                                              \
    X(MAX, 6, max, 2)                                                                              \
    X(FMA, 7, fma, 3)                                                                              \
    X(NEG, 8, neg, 1)                                                                              \
    X(ABS, 9, abs, 1)                                                                              \
    X(SQRT, 10, sqrt, 1)                                                                           \
    X(EQ, 11, eq, 2)                                                                               \
    X(NE, 12, ne, 2)                                                                               \
    X(LT, 13, lt, 2)                                                                               \
    X(LE, 14, le, 2)                                                                               \
    X(GT, 15, gt, 2)                                                                               \
    X(GE, 16, ge, 2)                                                                               \
    X(CAST, 17, cast, 1)

typedef enum bf_map_op {
#define BF_X(id, number, name, inputs) BF_MAP_##id = number,
    BF_MAP_LIST(BF_X)
#undef BF_X
} bf_map_op;

/* How a reduction treats NaNs in floating-point data. */
typedef enum bf_nan_policy {
    BF_NAN_PROPAGATE = 0, /* the result is NaN (argmin, argmax: the index of the first NaN) */
    BF_NAN_SKIP = 1,      /* as if the element were absent */
    BF_NAN_ERROR = 2      /* BF_E_NAN */
} bf_nan_policy;

/* What weights say, to a variance of ddof 1. */
typedef enum bf_weights {
    BF_WEIGHTS_FREQUENCY = 0,  /* how often a value counts: divides by (sum of w) - 1 */
    BF_WEIGHTS_RELIABILITY = 1 /* how much it counts: by (sum of w) - (sum of w^2) / (sum of w) */
} bf_weights;

/* How an operation treats an integer result that does not fit its type. */
typedef enum bf_overflow_policy {
    BF_OVERFLOW_ERROR = 0,   /* BF_E_OVERFLOW */
    BF_OVERFLOW_WRAP = 1,    /* modulo 2^bits */
    BF_OVERFLOW_SATURATE = 2 /* the nearest value that fits */
} bf_overflow_policy;

/* The status as a message in English, without a newline. Never NULL; valid forever. */
BF_API const char *bf_status_string(bf_status status);

/* The name of a dtype, such as "i32"; "?" for an unknown number. The other returns BF_NONE for an
 * unknown name. */
BF_API const char *bf_dtype_name(bf_dtype dtype);
BF_API bf_dtype bf_dtype_from_name(const char *name);

/* The bytes of one element; 0 for an unknown number. */
BF_API size_t bf_dtype_size(bf_dtype dtype);

/* 'b' (bool), 'i' (signed integers, also of results), 'u' (unsigned ones) or 'f' (floats); else 0.
 */
BF_API char bf_dtype_kind(bf_dtype dtype);

/* The name of a reduction, such as "sum"; "?" for an unknown number. The other returns 0 for an
 * unknown name. */
BF_API const char *bf_reduction_name(bf_reduction op);
BF_API bf_reduction bf_reduction_from_name(const char *name);

/* What the reduction gives; 0 for an unknown number. */
BF_API bf_result_class bf_reduction_result(bf_reduction op);

/* How many arrays a reduction takes: 1, or 2 if it is of pairs (pair.h); 0 for an unknown number.
 */
BF_API int bf_reduction_arrays(bf_reduction op);

/* The version of the library in use, as "MAJOR.MINOR.PATCH" and in the form of BF_VERSION.
 * (BF_VERSION itself is that of the headers.) */
BF_API const char *bf_version(void);
BF_API int bf_version_number(void);

#ifdef __cplusplus
}
#endif
#endif
