/* Casts of a block of elements. */
#ifndef BF_CPU_RUNTIME_CAST_H
#define BF_CPU_RUNTIME_CAST_H

#include "cpu/runtime/isa.h"

enum {
    BF_CAST_BLOCK = 1024
}; /* elements at a time: the steps of a cast stay in the nearest cache */

/* to[i] = from[i]; the two do not overlap, or are one. True if a value did not fit: an integer has
 * wrapped, a float gave 0. */
typedef bool (*bf_cast_loop)(const void *from, void *to, size_t n);

/* The steps that casts are made of. Floats come out with canonical NaNs. */
typedef struct bf_cast_loops {
    bf_cast_loop to_f32[BF_DTYPES];   /* from f16, bf16 */
    bf_cast_loop to_f64[BF_DTYPES];   /* from f32 and integers; i64 and u64 are rounded */
    bf_cast_loop to_i64[BF_DTYPES];   /* from bool and smaller integers */
    bf_cast_loop from_f32[BF_DTYPES]; /* to f16, bf16, f32 */
    bf_cast_loop from_f64[BF_DTYPES]; /* to f32, f64, bool and integers */
    bf_cast_loop from_i64[BF_DTYPES]; /* to f32, bool and integers */
    bf_cast_loop from_u64[BF_DTYPES];
    bf_cast_loop f64_to_odd; /* to f32, rounded to odd: to be rounded again to a half format */
} bf_cast_loops;

/* Casts n elements, at most BF_CAST_BLOCK; `to` may be `from` if the sizes are equal. True if one
 * did not fit, as of a loop. */
bool bf_cast_block(const bf_isa *isa, bf_dtype from, bf_dtype to, const void *in, void *out,
                   int64_t n);

#endif
