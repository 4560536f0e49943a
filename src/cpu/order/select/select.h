/* Selecting on the CPU: the elements of some ranks, without a sort.
 *
 * Elements are compared by their places (rules/key/order.h), ascending: numbers of 4 bytes, of
 * dtypes of 8 bytes of 8. A NaN has the last one. */
#ifndef BF_CPU_ORDER_SELECT_SELECT_H
#define BF_CPU_ORDER_SELECT_SELECT_H

#include "cpu/order/order.h"
#include "cpu/runtime/sort.h"

/* ---- the loops of an instruction set --------------------------------------------------------- */

enum {
    BF_BRACKETS = 8,      /* a loop compares with so many at once */
    BF_KEEP_SLACK = 64,   /* bytes that a loop may write after what it keeps */
    BF_SEEK = 64,         /* elements that are looked at together, at most */
    BF_KEEP_BLOCK = 32768 /* bytes of elements that a loop takes at once, at most: they stay in the
                             cache */
};

/* Places from lo to hi. */
typedef struct bf_bracket {
    uint64_t lo, hi;
} bf_bracket;

typedef struct bf_select_loops {
    /* Writes the places of n elements. Of every dtype. */
    void (*places[BF_DTYPES])(const char *x, size_t n, char *to);
    /* Writes the places within any of q brackets, which do not overlap, and returns their number.
     * Adds to from[j] how many places are lo of bracket j or more, and to from[q] the number of
     * NaNs. Of dtypes of 4 and 8 bytes. */
    size_t (*keep[BF_DTYPES])(const char *x, size_t n, const bf_bracket *brackets, int q,
                              int64_t *from, char *to);
    /* Adds to from[j] how many places are cuts[j] or more, for j < q. Of the same dtypes. */
    void (*count[BF_DTYPES])(const char *x, size_t n, const uint64_t *cuts, int q, int64_t *from);
    /* Returns the number of the first element that begins BF_SEEK elements of which some have a
     * place within the bracket, and sets bit i of *hits if the one i further has; n if none has.
     * Of every dtype. */
    size_t (*seek[BF_DTYPES])(const char *x, size_t n, bf_bracket bracket, uint64_t *hits);
} bf_select_loops;

/* Bytes of a place of this dtype, and the dtype whose elements are such places. */
static inline int bf_place_bytes(bf_dtype dtype) { return bf_dtype_bytes(dtype) == 8 ? 8 : 4; }
static inline bf_dtype bf_place_dtype(bf_dtype dtype) {
    return bf_place_bytes(dtype) == 8 ? BF_U64 : BF_U32;
}
static inline uint64_t bf_place_at(const char *places, int bytes, int64_t i) {
    return bf_load_bits(places + i * bytes, bytes);
}
/* The last place of a dtype: that of its NaNs, if it has some. */
static inline uint64_t bf_place_last(bf_dtype dtype) {
    return ~(uint64_t)0 >> (64 - 8 * bf_dtype_bytes(dtype));
}

/* Writes the places of n elements, for loops that give the dtype as a constant. */
static inline __attribute__((always_inline)) void bf_write_places(bf_dtype dtype, const char *x,
                                                                  size_t n, char *to) {
    const int from_bytes = bf_dtype_bytes(dtype), to_bytes = bf_place_bytes(dtype);
    for (size_t i = 0; i < n; i++) {
        const uint64_t element = bf_load_bits(x + i * (size_t)from_bytes, from_bytes);
        bf_store_bits(to + i * (size_t)to_bytes, to_bytes,
                      bf_order_place(dtype, BF_ASCENDING, element));
    }
}

/* ---- select.c: which elements results need --------------------------------------------------- */

typedef struct bf_plan {
    const bf_selection *selection;
    bf_dtype dtype;
    bf_order order;
    const int64_t *by; /* the results, by rank */
    int64_t n, nans;   /* the line's that it is for; n < 0: it is for none yet */
    bf_status status;  /* BF_OK; BF_E_NAN or BF_E_EMPTY, if the line has no results */
    /* Each result has where it lies, and where in `rank` the element below is; that above is the
     * next one. below = -1 - i: it is NaN number i of the line. */
    bf_between *between;
    int *at;
    int ranks;
    int64_t *rank;   /* different ones, ascending, from 0; at most twice as many as results */
    uint64_t *place; /* theirs, when they are found */
} bf_plan;

/* The order of results by rank, for plans. NULL: no memory, with a message. */
int64_t *bf_plan_order(bf_context *context, const bf_selection *selection, bf_order order);
bool bf_plan_create(bf_plan *plan, const bf_selection *selection, bf_dtype dtype, bf_order order,
                    const int64_t *by);
void bf_plan_destroy(bf_plan *plan);
/* Makes it one for lines of n elements, of which `nans` are NaNs. */
void bf_plan_make(bf_plan *plan, int64_t n, int64_t nans);
/* Writes the results of a line to every `step`-th element of results. Errors: BF_E_NAN,
 * BF_E_EMPTY, without messages. */
bf_status bf_plan_finish(const bf_plan *plan, const char *line, char *results, int64_t step);

/* ---- find.c: the places of ranks in long data ------------------------------------------------ */

enum { BF_FIND_FEW = 4096 }; /* elements that are sorted at most */

typedef struct bf_finder {
    bf_context *context; /* NULL: it works within a parallel loop */
    const bf_isa *isa;
    const bf_select_loops *loops;
    char *few[2]; /* room for BF_FIND_FEW places of 8 bytes each */
} bf_finder;

/* A worker's finder, within a parallel loop of the context of `finder`. */
bf_finder bf_finder_of_worker(const bf_finder *finder, int worker);

/* Finds the places that a plan for n > 0 elements asks for, and makes the plan one for their NaNs.
 * Errors: BF_E_MEMORY, without a message; BF_E_CANCELLED. */
bf_status bf_find(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n, bf_plan *plan);
/* Sorts the places of n elements; room: for so many places each. Returns where they are. */
const char *bf_sort_places(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                           char *const room[2]);
/* The NaNs of a dtype at the end of sorted places. */
int64_t bf_count_nans(bf_dtype dtype, const char *sorted, int64_t n);

/* What is looked for: ranks of n elements. */
typedef struct bf_wanted {
    bf_dtype dtype;
    const char *x;
    int64_t n, nans;
    int ranks; /* different, ascending, less than n - nans */
    const int64_t *rank;
    uint64_t *place; /* each one's result */
    bf_plan *plan;   /* gives the ranks, when NaNs are counted; NULL: they are certain */
} bf_wanted;

/* Sets the number of NaNs, which is now known, and the ranks of the plan. */
void bf_wanted_settle(bf_wanted *wanted, int64_t nans);

/* ---- select.c, top.c ------------------------------------------------------------------------- */

/* Reports BF_E_EMPTY: this line has no elements. */
bf_status bf_select_refuse_empty(bf_context *context, const bf_selection *selection, int64_t line);

/* The backend's functions. */
bf_status bf_cpu_select(bf_context *context, const bf_order_lines *lines,
                        const bf_selection *selection, void *results);
bf_status bf_cpu_top(bf_context *context, const bf_order_lines *lines, int64_t k, void *values,
                     void *index);

bf_status bf_cpu_tally(bf_context *context, const bf_ranges *ranges, const void *values, int64_t n,
                       bf_tally *tally); /* tally.c */

/* Opens what the finders of all workers need, and makes one for the calling thread. false: no
 * memory, with a message. */
bool bf_finder_open(bf_finder *finder, bf_context *context);

/* Finds what a plan asks for in a line of n elements of any dtype. Errors as of bf_find. */
bf_status bf_find_in_line(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                          bf_plan *plan);

/* Lines that all threads share are taken one by one; workers take the others. */
typedef bf_status bf_line_work(void *arg, const bf_finder *finder, int worker, int64_t line);
int bf_line_workers(bf_context *context, const bf_order_lines *lines);
bf_status bf_each_line(const bf_finder *finder, const bf_order_lines *lines, int workers,
                       bf_line_work *work, void *arg);

static inline int64_t bf_line_begin(const bf_order_lines *lines, int64_t l) {
    return lines->offsets != NULL ? lines->offsets[l] : l * lines->length;
}
static inline int64_t bf_line_length(const bf_order_lines *lines, int64_t l) {
    return lines->offsets != NULL ? lines->offsets[l + 1] - lines->offsets[l] : lines->length;
}

/* ---- counts.c: ranks by counting ------------------------------------------------------------- */

/* Finds places by counting digits: in six reads at most, whatever the data are. Errors as of
 * bf_find. */
bf_status bf_find_by_counts(const bf_finder *finder, bf_wanted *wanted);
/* Does as bf_find does, for dtypes of 1 or 2 bytes. */
bf_status bf_find_small(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                        bf_plan *plan);

#endif
