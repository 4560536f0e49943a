/* An instruction set's loops over elements. A NULL entry means that the rules are applied element
 * by element instead (src/rules/map/map.h), with the same result. Every function reads and writes
 * memory of any alignment; the output may be an input, but must not overlap one otherwise. */
#ifndef BF_CPU_MAP_LOOP_TABLE_H
#define BF_CPU_MAP_LOOP_TABLE_H

#include <bitfold/types.h>

#include <stdbool.h>

enum { BF_MAP_OPS = BF_MAP_CAST, BF_MAP_DTYPES = BF_F64 + 1 };

/* out[i] = op(a[i], b[i], c[i]), for inputs of one dtype; comparisons give bytes 0 and 1. True if
 * an integer did not fit: it has wrapped. */
typedef bool (*bf_map_loop)(const void *a, const void *b, const void *c, void *out, size_t n);

/* to[i] = from[i]. True if a value did not fit: an integer has wrapped, a float gave 0. */
typedef bool (*bf_convert_loop)(const void *from, void *to, size_t n);

typedef struct bf_map_table {
    bf_map_loop op[BF_MAP_OPS][BF_MAP_DTYPES];
    bf_map_loop streamed[BF_MAP_OPS][BF_MAP_DTYPES]; /* stores past the caches; maybe NULL */
    /* f64 inputs that hold f16 or bf16 numbers; the f64 result is rounded to odd, so that rounding
     * it again to the half format gives the exact value rounded once. */
    bf_map_loop fma_half;
    /* Casts are made of these steps. Floats come out with canonical NaNs. */
    bf_convert_loop to_f32[BF_MAP_DTYPES];   /* from f16, bf16 */
    bf_convert_loop to_f64[BF_MAP_DTYPES];   /* from f32 and integers; i64 and u64 are rounded */
    bf_convert_loop to_i64[BF_MAP_DTYPES];   /* from bool and smaller integers */
    bf_convert_loop from_f32[BF_MAP_DTYPES]; /* to f16, bf16, f32 */
    bf_convert_loop from_f64[BF_MAP_DTYPES]; /* to f32, f64, bool and integers */
    bf_convert_loop from_i64[BF_MAP_DTYPES]; /* to f32, bool and integers */
    bf_convert_loop from_u64[BF_MAP_DTYPES];
    bf_convert_loop
        f64_to_odd; /* f64 to f32, rounded to odd: to be rounded again to a half format */
    /* Copies past the caches; meanwhile fetches as many bytes from each of `ahead`, for the next
     * block: any addresses will do. */
    void (*stream)(void *to, const void *from, size_t bytes, const char *const ahead[3]);
} bf_map_table;

#endif
