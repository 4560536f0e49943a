/* Reductions of many at once: along axes, by segments, by index. */
#ifndef BF_SEAM_AXIS_H
#define BF_SEAM_AXIS_H

#include "seam/backend.h"
#include "seam/reduce.h"
#include <bitfold/axis.h>

/* What is reduced. */
typedef struct bf_operands {
    bf_reduction op;
    bf_kind kind; /* the kind of op */
    bf_dtype dtype;
    const void *a;
    const void *b; /* the others of pairs; else NULL */
} bf_operands;

/* Fibres of an array of any strides. Dimensions of extent 1 are gone, and neighbours that lie like
 * one dimension are one. Fibres are numbered in C order of the kept dimensions, elements of a fibre
 * in C order of the reduced ones; if no index is asked for and no order matters (any kind but
 * BF_KIND_PRODUCT_TREE, and BF_KIND_EXTREME with an index), reduced dimensions are sorted by their
 * strides, the least last. */
typedef struct bf_fibres {
    int kept, reduced; /* dimensions; 0: one fibre, or one element in each */
    int64_t count;     /* fibres, > 0 */
    int64_t length;    /* elements of each, > 0 */
    int64_t kept_shape[BF_MAX_DIMS], reduced_shape[BF_MAX_DIMS];
    int64_t kept_strides[2][BF_MAX_DIMS], reduced_strides[2][BF_MAX_DIMS]; /* elements, of a, b */
} bf_fibres;

/* Contiguous rows of `width` elements, each of which goes to a slot; result or state number slot *
 * width + column takes the elements of that column. */
typedef enum bf_rows_by {
    BF_ROWS_BY_LENGTH,  /* row i goes to slot i / length */
    BF_ROWS_BY_OFFSETS, /* to the slot s with offsets[s] <= i < offsets[s + 1], if there is one */
    BF_ROWS_BY_INDEX    /* to slot index[i] */
} bf_rows_by;
typedef struct bf_rows {
    int64_t count; /* rows, maybe 0 */
    int64_t width; /* > 0 */
    int64_t slots; /* > 0 */
    bf_rows_by by;
    int64_t length;        /* BF_ROWS_BY_LENGTH; > 0 */
    const void *places;    /* slots + 1 offsets, or an index for each row: not checked yet */
    int64_t first;         /* BF_ROWS_BY_INDEX: the number of the first row, as failures tell it */
    bf_dtype places_dtype; /* BF_I32, BF_I64; of an index also BF_U32, BF_U64 */
} bf_rows;

/* Where results go, and how. values: elements of `to`, contiguous, in any memory that the backend
 * reaches, of any alignment. Places are checked and memory is allocated before any is written.
 * After another failure they hold anything: the caller gives a copy where that matters.
 * rules/reduce/element.h has the elements. */
typedef struct bf_results {
    const bf_reduce_options *options; /* checked; options->empty has dtype `to`, or is NULL */
    bf_dtype to;
    int64_t first; /* the number of the first result, as failures tell it */
    void *values;
    uint8_t *fits;  /* NULL: an integer that does not fit `to` is BF_E_OVERFLOW, unless it wraps */
    bool queued;    /* as the _async calls say: nothing waits */
    bool later;     /* queued: data are refused when bf_backend's failure or synchronize asks */
    int64_t *wrong; /* queued: becomes the first wrong offset or index, or -1; NULL: nobody asks */
} bf_results;

/* Whether results are written whatever the data are. */
static inline bool bf_results_go_on(const bf_results *r) { return r->queued && !r->later; }

/* The arrays of int64 that are the memory of states. */
enum { BF_STATES_REACH = 1 + 2 * BF_PARTS_MOST, BF_STATES_ARRAYS = 2 + BF_PARTS_MOST };
typedef struct bf_states_arrays {
    int n;
    int64_t *data[BF_STATES_ARRAYS], counts[BF_STATES_ARRAYS];
} bf_states_arrays;

/* Errors of all: BF_E_MEMORY, BF_E_DEVICE, BF_E_CANCELLED; of those with rows also BF_E_ARGUMENT
 * (offsets or an index are wrong: bf_axis_wrong_place); of those with results BF_E_NAN, BF_E_EMPTY
 * and BF_E_OVERFLOW. */
typedef struct bf_axis_backend {
    bf_status (*reduce_fibres)(bf_context *context, const bf_operands *operands,
                               const bf_fibres *fibres, const bf_results *results);
    /* By offsets or by index. */
    bf_status (*reduce_rows)(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                             const bf_results *results);
    /* Finds the runs of n > 0 keys (rules/key/rank.h): sets *runs, and first[r] (i64, maybe
     * misaligned; NULL: none) to the row where run r begins, for r < room. */
    bf_status (*find_runs)(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                           int64_t *first, int64_t room, int64_t *runs);

    /* Many states. On failure they are as they were. */
    bf_status (*create)(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                        void **states);
    void (*destroy)(bf_context *context, void *states);
    void (*clear)(bf_context *context, void *states);
    /* Absorbs rows > 0 into states from number `first` on; b is NULL but for pairs. */
    bf_status (*absorb)(bf_context *context, void *states, int64_t first, const void *a,
                        const void *b, const bf_rows *rows);
    bf_status (*merge)(bf_context *context, void *into, const void *from);
    /* op: of the states, or another that keeps the same. */
    bf_status (*result)(bf_context *context, void *states, bf_reduction op,
                        const bf_results *results);
    /* Writes how many elements each state has absorbed (i64). */
    bf_status (*counts)(bf_context *context, void *states, void *counts);
    /* Writes the carried words (rules/reduce/state.h) of states [first, first + n), one after
     * another; and the opposite, which merges words into states. */
    bf_status (*words)(bf_context *context, void *states, int64_t first, int64_t n, int64_t *words);
    bf_status (*add_words)(bf_context *context, void *states, int64_t first, int64_t n,
                           const int64_t *words);

    /* States that merge as arrays of int64 are added; NULL: there are none. Sets numbers that say
     * how far their arrays reach. false: these are no such states. */
    bool (*reach)(const void *states, int64_t reach[BF_STATES_REACH]);
    /* Lets them reach as far as several that have at most these numbers. Their arrays then have the
     * same sizes, and room for the sums of BF_LINK_RANKS. */
    bf_status (*widen)(bf_context *context, void *states, const int64_t reach[BF_STATES_REACH]);
    /* The counts of elements are the first. */
    void (*arrays)(const void *states, bf_states_arrays *arrays);

    /* States that the CPU alone has; NULL elsewhere. merge, append and add_words: BF_E_STATE if
     * indices do not suit. append merges states whose indices follow. */
    bf_status (*append)(bf_context *context, void *into, const void *from);
    /* Sets the index of each state's next element. */
    bf_status (*seek)(bf_context *context, void *states, const int64_t *next);
    /* Writes what descriptions have of op: BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_MIN, BF_MAX,
     * BF_ARGMIN or BF_ARGMAX. */
    bf_status (*part)(bf_context *context, void *states, bf_reduction op,
                      const bf_results *results);
} bf_axis_backend;

/* Are many states of op saved as all of their words? The CPU keeps these. Others are accumulators.
 */
static inline bool bf_states_keep_words(bf_reduction op) { return !bf_is_aggregate(op); }
/* Are they on the CPU in every context? */
static inline bool bf_states_on_host(bf_reduction op) { return !bf_is_group_aggregate(op); }

/* The words that the functions above give and take of each state. Products of floats begin with a
 * whole leaf. */
static inline int bf_states_words(bf_reduction op, bf_dtype dtype) {
    const bf_kind kind = bf_kind_of(op, dtype);
    return kind == BF_KIND_PRODUCT_TREE ? (int)BF_PRODUCT_TREE_HEAD_AT
                                        : bf_state_words(kind, dtype, NULL);
}

/* The failures of results, by number, and of places. */
static inline bf_status bf_axis_refuse(bf_context *context, bf_status status, bf_reduction op,
                                       bf_dtype to, int64_t number) {
    const char *name = bf_reduction_name(op);
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    if (status == BF_E_EMPTY)
        return bf_fail(context, status, "no value: the %s of no elements (result %lld)", name,
                       (long long)number);
    return bf_fail(context, BF_E_OVERFLOW, "the %s of result %lld does not fit %s", name,
                   (long long)number, bf_dtype_name(to));
}
static inline bf_status bf_axis_wrong_place(bf_context *context, const bf_rows *rows, int64_t at,
                                            int64_t value) {
    if (rows->by == BF_ROWS_BY_INDEX)
        return bf_fail(context, BF_E_ARGUMENT, "index %lld is %lld, outside 0 to %lld",
                       (long long)(rows->first + at), (long long)value, (long long)rows->slots - 1);
    return bf_fail(context, BF_E_ARGUMENT,
                   "offset %lld is %lld: it decreases, or is outside 0 to %lld", (long long)at,
                   (long long)value, (long long)rows->count);
}

#endif
