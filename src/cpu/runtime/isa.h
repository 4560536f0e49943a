/* An instruction set: the loops that differ between machines, and nothing else.
 *
 * Every function is exact and reads memory of any alignment. n is at most BF_SPAN; a NULL function
 * means that the rules are applied element by element instead. One file for each instruction set,
 * which exports its table and nothing else. */
#ifndef BF_CPU_RUNTIME_ISA_H
#define BF_CPU_RUNTIME_ISA_H

#include "cpu/julia/julia.h"
#include "cpu/map/loop_table.h"
#include <bitfold/types.h>

#include <stdbool.h>

struct bf_bins;
struct bf_group_loops;
struct bf_node;
struct bf_table_loops;

enum {
    BF_SPAN = 32768, /* elements that one call of a loop may take */
    BF_DTYPES = 16   /* tables are indexed by bf_dtype */
};

/* Sums doubles (floats, products) in a window of `levels` levels whose top is at `bottom` (see
 * rules/reduce/sum_window.h). True: sums[l] is the exact sum at level l, in units of its u, and
 * *zeros (unless zeros is NULL, which is faster in the cache) the number of terms that are -0.
 * False: the data did not fit the window, or hold a NaN or infinity; sums[] means nothing. */
typedef bool (*bf_sum_loop)(const void *x, size_t n, int bottom, int levels, int64_t *sums,
                            int64_t *zeros);
typedef bool (*bf_dot_loop)(const void *a, const void *b, size_t n, int bottom, int levels,
                            int64_t *sums, int64_t *zeros);

/* The exact sum of integers, low + high * 2^32. */
typedef struct bf_split {
    int64_t low, high;
} bf_split;
typedef bf_split (*bf_integer_sum_loop)(const void *x, size_t n);
typedef bf_split (*bf_integer_dot_loop)(const void *a, const void *b, size_t n);

/* The order key of the least (greatest) of n > 0 elements; for floats, of those that are not NaN
 * (the key of +inf, or of -inf, if there is none), and either zero for a zero. Sets *nan if one of
 * them is NaN, else leaves it. */
typedef int64_t (*bf_extreme_loop)(const void *x, size_t n, bool *nan);

/* Multiplies the mantissas of a leaf of doubles (rules/reduce/product_tree.h) into its folds, and
 * adds up their exponents; *negative: whether an odd number of them is negative. False, with
 * nothing said, if any is zero, subnormal, infinite or NaN. */
typedef bool (*bf_leaf_loop)(const void *leaf, struct bf_node *folds, bool *negative);

/* bin[i] = the bin of x[i] by the guesses (rules/histogram/bin.h) in its type; as bytes, of up to
 * 253 bins.
 */
typedef void (*bf_bin_loop)(const struct bf_bins *bins, const void *x, size_t n, uint32_t *bin);
typedef void (*bf_bin_byte_loop)(const struct bf_bins *bins, const void *x, size_t n, uint8_t *bin);

/* The loops of a table whose keys and values are that wide, and of groups with ranks of a width
 * (table.h, group.h). NULL: there are no such widths. */
typedef const struct bf_table_loops *(*bf_table_loops_of)(int key_bytes, int value_bytes);
typedef const struct bf_group_loops *(*bf_group_loops_of)(int rank_bytes);

const struct bf_table_loops *bf_table_loops_generic(int key_bytes, int value_bytes);
const struct bf_group_loops *bf_group_loops_generic(int rank_bytes);
const struct bf_table_loops *bf_table_loops_avx2(int key_bytes, int value_bytes);
const struct bf_group_loops *bf_group_loops_avx2(int rank_bytes);

typedef struct bf_isa {
    const char *name;
    bool (*available)(void); /* can this machine run it? */
    bf_sum_loop sum_f64, sum_f32;
    bf_dot_loop dot_f64, dot_f32;
    bf_integer_sum_loop integer_sum[BF_DTYPES];
    bf_integer_dot_loop integer_dot[BF_DTYPES]; /* up to 32 bits */
    bf_extreme_loop least[BF_DTYPES], greatest[BF_DTYPES];
    bf_leaf_loop product_leaf;
    void (*widen_f16)(const uint16_t *from, float *to, size_t n);
    const bf_map_table *map; /* NULL: by the rules */
    bf_bin_loop bin_f32, bin_f64;
    bf_bin_byte_loop bin_bytes_f32, bin_bytes_f64;
    bf_julia_loop julia_f32, julia_f64;
    bf_table_loops_of table_loops;
    bf_group_loops_of group_loops;
} bf_isa;

extern const bf_isa bf_isa_generic;
extern const bf_isa bf_isa_avx2;
extern const bf_isa bf_isa_avx512;
extern const bf_isa bf_isa_neon;

#endif
