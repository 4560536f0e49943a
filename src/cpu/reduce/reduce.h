/* Reductions on the CPU: what one thread does with a piece of a job, for this primitive and for
 * those that hold reductions. */
#ifndef BF_CPU_REDUCE_REDUCE_H
#define BF_CPU_REDUCE_REDUCE_H

#include "cpu/reduce/accumulators.h"
#include "cpu/reduce/computed.h"
#include "cpu/runtime/context.h"
#include "rules/reduce/sum_window.h"
#include "seam/reduce.h"

struct bf_node;

/* --- the loops of an instruction set; a NULL one: the rules, element by element --- */

enum { BF_SPAN = 32768 }; /* elements that one call of a loop may take */

/* Sums doubles (floats, products) in a window of `levels` levels whose top is at `bottom` (see
 * rules/reduce/sum_window.h). True: sums[l] is the exact sum at level l, in units of its u, and
 * *zeros (unless zeros is NULL, which is faster in the cache) the number of terms that are -0.
 * False: the data did not fit the window, or hold a NaN or infinity; sums[] means nothing. */
typedef bool (*bf_sum_loop)(const void *x, size_t n, int bottom, int levels, int64_t *sums,
                            int64_t *zeros);
typedef bool (*bf_dot_loop)(const void *a, const void *b, size_t n, int bottom, int levels,
                            int64_t *sums, int64_t *zeros);

/* Measures doubles, or floats (b: the other factors of products, or NULL): *greatest becomes the
 * greatest magnitude of a term if that is more, rounded, and *lowest the weight of the last bit of
 * any that is not 0 if that is less. False: there is a NaN or infinity. lowest may be NULL; then
 * that is not looked for. */
typedef bool (*bf_measure_loop)(const void *a, const void *b, size_t n, double *greatest,
                                double *lowest);

/* Sums terms, n a multiple of BF_COMPUTED_GROUP. False also if one may be -0. */
typedef bool (*bf_computed_loop)(const bf_computed *terms, size_t n, int bottom, int levels,
                                 int64_t *sums);

/* What terms of all exponents sum to: for each bin k two integers, of products of f64 four, which
 * are 42 bits apart, the first in units of 2^(32 k + unit). */
enum {
    BF_EXPONENT_PART = 42,
    BF_EXPONENT_BINS = 64, /* for elements, and for products of f32 */
    BF_EXPONENT_UNIT = -1075,
    BF_EXPONENT_BINS_PAIRS = 128, /* for products of f64 */
    BF_EXPONENT_UNIT_PAIRS = -2150,
    BF_EXPONENT_SUMS = 4 * BF_EXPONENT_BINS_PAIRS /* the most there are */
};

/* Sums at most BF_SPAN doubles, or floats, or their products with those at b (unless that is NULL)
 * by exponent. *zeros becomes the number of terms that are -0. False: there is a NaN or infinity,
 * and sums[] means nothing. */
typedef bool (*bf_exponent_loop)(const void *a, const void *b, size_t n, int64_t *sums,
                                 int64_t *zeros);

/* Splits the products of a and b: p = a * b rounded, and e = a * b - p; of f32 it widens a to x,
 * and p is exact. Arrays of doubles are filled up to whole vectors. False: some p + e may not be a
 * * b, as a factor is too large or too small, infinite or NaN. */
typedef bool (*bf_split_loop)(const void *a, const void *b, size_t n, double *x, double *p,
                              double *e);

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

/* Sets to[] to the folds of a leaf (rules/reduce/product_tree.h), from[] (NULL: none have begun)
 * times n doubles, the first of which belongs to fold 0 and the last to the last; *negative:
 * whether an odd number of them is negative. False, with nothing done, if any is zero, subnormal,
 * infinite or NaN. */
typedef bool (*bf_folds_loop)(const void *x, size_t n, const struct bf_node *from,
                              struct bf_node *to, bool *negative);

typedef struct bf_reduce_loops {
    int one_level_bits; /* what a window of one level takes: BF_WINDOW_BITS, or more */
    bf_sum_loop sum_f64, sum_f32;
    bf_dot_loop dot_f64, dot_f32;
    bf_computed_loop sum_terms_f64, sum_terms_f32;
    bf_measure_loop measure_f64, measure_f32;
    bf_exponent_loop by_exponent_f64, by_exponent_f32;
    bf_split_loop split_f64, split_f32;
    bf_integer_sum_loop integer_sum[BF_DTYPES];
    bf_integer_dot_loop integer_dot[BF_DTYPES]; /* up to 32 bits */
    bf_extreme_loop least[BF_DTYPES], greatest[BF_DTYPES];
    bf_folds_loop product_folds;
} bf_reduce_loops;

/* --- sum.c, extreme.c, product.c: one thread absorbs elements of a job --- */

/* What a thread remembers between pieces: the window that fitted last. */
typedef struct bf_window_memory {
    int bottom, levels; /* levels 0: none yet */
    int credit;         /* falls with each misfit, rises with each fit */
} bf_window_memory;

/* Products of doubles are split into what they round to and the errors of that, which in the loops
 * of reductions go down levels of their own: `levels` is the number of a split then, and has totals
 * of other levels. Loops along axes add them in the levels of all. */
typedef enum bf_window_terms { BF_TERMS_WHOLE, BF_TERMS_SPLIT } bf_window_terms;
int bf_window_span_of(bf_window_terms terms, int levels);
int bf_window_totals(bf_window_terms terms, int levels);

/* For loops of other primitives, over floats, those of 16 bits as the f32 that they equal; b: the
 * other factors, NULL for a sum.
 *   bf_window_measure   sets *at to what n terms span. False: they hold a NaN or infinity, or there
 *                       are no loops. bf_window_top sets *top alone, and looks for no NaN
 *   bf_window_choose    sets *window, for the loops of reductions, for n terms of which a sample
 *                       spans that. factors: 2 for squares, whose least is so much less. False: it
 *                       fits no window
 *   bf_window_guess     does both for loops along axes, with the first `sample` terms */
bool bf_window_measure(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t n,
                       bf_extent *at);
bool bf_window_top(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t n,
                   int *top);
bool bf_window_choose(bf_dtype dtype, bool pairs, bf_extent at, int factors, size_t sample,
                      size_t n, bf_window_memory *window);
bool bf_window_guess(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t sample,
                     size_t n, bf_window_memory *window);
bf_layout bf_window_layout(bf_dtype dtype, bool pairs);
/* Gives a window that did not fit a level more, half of it above, half below; false: there is no
 * wider one. */
bool bf_window_widen(bf_window_terms terms, bf_layout layout, bf_window_memory *window);
/* The smallest window that holds what `extent` says, and lies within a layout; false: none does. */
bool bf_window_fit(bf_extent extent, bf_window_terms terms, bf_layout layout,
                   bf_window_memory *window);
/* Notes the window that fitted. first: it is the one that was remembered. */
void bf_window_settle(bf_window_memory *memory, const bf_window_memory *found, bool first);

enum { BF_JOINT_SUMS = 7 /* the most sums that loops take for a joint kind */ };

typedef struct bf_reducer {
    const bf_isa *isa;
    bf_window_memory sum, products;
    bf_window_memory joint[BF_JOINT_SUMS];
    bool mixed; /* some term of the job is known to be other than -0 */
} bf_reducer;

/* Absorbs elements [first, first + n) of a sum, of products, or of both; words are carried before
 * and after. */
void bf_sum_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                   int64_t *words);
/* Adds the sum of n <= BF_SPAN doubles or floats, or of their products with those at b (unless that
 * is NULL), to limbs whose last bit weighs 2^exponent, by exponent. *zeros becomes the number of
 * terms that are -0. False, with nothing done: there is a NaN or infinity. */
bool bf_sum_by_exponent(const bf_isa *isa, bf_dtype dtype, const char *a, const char *b, size_t n,
                        int exponent, int64_t *limbs, int64_t *zeros);
/* Adds the sum of n integers of at most 64 bits, n <= BF_SPAN, or of their products with those at
 * b, to limbs. There are loops. */
void bf_integers_add(const bf_isa *isa, bf_dtype dtype, const void *a, const void *b, size_t n,
                     int64_t *limbs);
/* Absorbs n terms, at most BF_SPAN, into a sum of f64 or f32 (BF_KIND_SUM). False, with nothing
 * done: they do not fit the window that fitted last, or are not for the loops; bf_sum_absorb can do
 * it. */
bool bf_sum_absorb_computed(bf_reducer *reducer, const bf_computed *terms, int64_t n,
                            int64_t *words);
/* joint.c: absorbs elements of a job of a joint kind. */
void bf_joint_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                     int64_t *words);
/* Absorbs elements of a job of BF_KIND_EXTREME. */
void bf_extreme_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                       int64_t *words);
/* Absorbs elements of a product of integers (BF_KIND_PRODUCT). */
void bf_product_absorb(const bf_job *job, int64_t first, int64_t n, int64_t *words);

/* --- reduce.c: one thread absorbs elements of a job of any kind but BF_KIND_PRODUCT_TREE --- */

void bf_reduce_absorb(bf_reducer *reducer, const bf_job *job, int64_t first, int64_t n,
                      int64_t *words);

/* --- product_tree.c: products of floats, which are ordered --- */

/* Absorbs the whole job into words of BF_KIND_PRODUCT_TREE. Errors: BF_E_MEMORY, and then words are
 * as they were. */
bf_status bf_product_tree_absorb(bf_context *context, int workers, const bf_job *job,
                                 int64_t *words);

/* Absorbs elements [first, end) of the job, in order, on this thread. room: for BF_LEAF doubles. */
void bf_product_tree_take(const bf_isa *isa, const bf_job *job, int64_t first, int64_t end,
                          void *room, int64_t *words);

/* --- reduce.c, comoments.c: the backend's functions --- */

bf_status bf_cpu_reduce(bf_context *context, const bf_job *job, int64_t *words);
bf_status bf_cpu_comoments(bf_context *context, const bf_variables *columns,
                           bf_take_comoments *take, void *arg);

#endif
