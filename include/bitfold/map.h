/* Element-wise operations: arrays in, an array of the same shape out.
 *
 *   add sub mul div min max   of two arrays
 *   fma                       a * b + c, rounded once
 *   neg abs sqrt              of one
 *   eq ne lt le gt ge         comparisons, which give bools
 *   cast                      to the dtype of the output
 *
 * Every operation is rounded once, to nearest, ties to even; none is contracted with another. min
 * and max are those of IEEE 754-2019: NaN propagates, -0 < +0. A NaN result is the canonical quiet
 * NaN, so the bits are the same on every machine. Threads, instruction set and the caller's
 * floating-point environment change nothing.
 *
 * Inputs of several dtypes are first cast to a common one by NumPy 2's promotion (NEP 50), except
 * that i64 with u64 is refused. div of integers is true division and gives f64, as in NumPy; an
 * integer divisor of 0 is an error. sqrt of integers gives a float. Of bools add is or, mul is and;
 * there is no sub and no neg. docs/numerics.md has the tables. */
#ifndef BITFOLD_MAP_H
#define BITFOLD_MAP_H

#include "array.h"
#include "context.h"
#include "options.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bf_map_options {
    size_t size;                 /* sizeof(bf_map_options): see bitfold.h */
    bf_overflow_policy overflow; /* integer results and casts that do not fit; default: error */
    unsigned weak;               /* bit i: input i is a plain number (bf_map_result_dtype) */
    int64_t index;               /* added to the index in messages, for arrays done in parts */
} bf_map_options;

/* BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP). */
#define BF_MAP_OPTIONS(...) BF_OPTIONS_OF(bf_map_options, __VA_ARGS__)

/* The name of an operation, such as "add"; "?" for an unknown number. The other returns 0 for an
 * unknown name. */
BF_API const char *bf_map_name(bf_map_op op);
BF_API bf_map_op bf_map_from_name(const char *name);

/* The number of inputs, 1 to 3; 0 for an unknown number. */
BF_API int bf_map_arity(bf_map_op op);

/* Sets *result to the dtype of the result for inputs of these dtypes. An input whose bit is set in
 * `weak` is a plain number, as in Python: BF_I64 or BF_U64 (an int) or BF_F64 (a float). It takes
 * the dtype of the arrays unless it is of a higher kind: an i8 array plus the int 1 is i8, plus 1.0
 * is f64. Errors: BF_E_ARGUMENT (also a cast, whose result may have any dtype), BF_E_DTYPE (i64
 * with u64; an operation that bools do not have). */
BF_API bf_status bf_map_result_dtype(bf_map_op op, const bf_dtype *inputs, int count, unsigned weak,
                                     bf_dtype *result);

/* Computes out = op(inputs[0], ...) from count = bf_map_arity(op) inputs. options may be NULL.
 *
 * out is the caller's memory. It has the result's dtype (for a cast: any) and the shape to which
 * the inputs' shapes broadcast by NumPy's rules; a plain number (options->weak) has no dimensions.
 * All strides work; contiguous memory is fastest. out may be exactly an input: the same data and
 * strides, and elements as wide. Any other overlap of out with an input, or with itself, is refused
 * (by the range of addresses).
 *
 * An integer result that does not fit gives BF_E_OVERFLOW, wraps or saturates, by
 * options->overflow. Casts of floats round toward zero; NaN does not fit, and saturates to 0; wrap
 * is refused for them. A plain number must fit under every policy if the operation computes in
 * integers.
 *
 * O(n). On BF_E_OVERFLOW and division by zero, the context's message has the first index, in C
 * order, and out may have been partly written.
 * Errors: BF_E_ARGUMENT (also overlap, division by zero), BF_E_DTYPE, BF_E_SHAPE, BF_E_OVERFLOW,
 * BF_E_MEMORY. */
BF_API bf_status bf_map(bf_context *context, bf_map_op op, const bf_array *const inputs[],
                        int count, const bf_map_options *options, const bf_array *out);

/* Enqueues the operation on the context's stream (context.h). All memory is contiguous (an input
 * may be one element), and the GPU can read and write it, else BF_E_ARGUMENT.
 * bf_context_synchronize reports results that do not fit, and division by zero. On the CPU all is
 * done when the call returns. */
BF_API bf_status bf_map_async(bf_context *context, bf_map_op op, const bf_array *const inputs[],
                              int count, const bf_map_options *options, const bf_array *out);

/* The simple calls, for n contiguous elements; out may be an input. */
#define BF_MAP_CALLS(X, id, T)                                                                     \
    BF_API bf_status bf_add_##X(bf_context *context, const T *a, const T *b, int64_t n, T *out);   \
    BF_API bf_status bf_sub_##X(bf_context *context, const T *a, const T *b, int64_t n, T *out);   \
    BF_API bf_status bf_mul_##X(bf_context *context, const T *a, const T *b, int64_t n, T *out);   \
    BF_API bf_status bf_div_##X(bf_context *context, const T *a, const T *b, int64_t n, T *out);   \
    BF_API bf_status bf_fma_##X(bf_context *context, const T *a, const T *b, const T *c,           \
                                int64_t n, T *out);                                                \
    BF_API bf_status bf_sqrt_##X(bf_context *context, const T *a, int64_t n, T *out);

/* X(dtype's name, its identifier, C type) */
#define BF_MAP_SIMPLE_LIST(X)                                                                      \
    X(f32, F32, float)                                                                             \
    X(f64, F64, double)

BF_MAP_SIMPLE_LIST(BF_MAP_CALLS)

#ifdef __cplusplus
}
#endif
#endif
