/* Reductions of rows by index on a GPU.
 *
 * The numbers of rows are sorted by slot (order.cu). Then a thread reduces some columns of a slot
 * (slots.cuh): it gathers the rows of the slot, adds them up in doubles, and proves each addition
 * exact. A result that is not proven is marked, and another kernel computes it again in limbs
 * (words.cu). A slot with many rows, a giant, is cut into pieces, whose sums are added to words
 * that the blocks share.
 *
 * One element a row goes a shorter way: elements are sorted instead of their numbers. Sums of
 * floats (scatter.cu) and extremes (extremes.cu) need them sorted only as far as blocks can keep
 * what they know of the slots in shared memory. */
#ifndef BF_CUDA_AXIS_INDEX_INDEX_CUH
#define BF_CUDA_AXIS_INDEX_INDEX_CUH

#include "cuda/axis/axis.cuh"
#include "cuda/reduce/aggregate_value.cuh"
#include "cuda/runtime/entry.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/memory.cuh"

#include "rules/reduce/element.h"

extern "C" {
#include "seam/axis.h"
}

extern const bf_axis_backend bf_cuda_axis_backend;

bf_status bf_cuda_reduce_index(bf_context *context, const bf_operands *operands,
                               const bf_rows *rows, const bf_results *results);
bf_status bf_cuda_reduce_segments(bf_context *context, const bf_operands *operands,
                                  const bf_rows *rows, const bf_results *results);
bf_status bf_cuda_find_runs(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                            int64_t *first, int64_t room, int64_t *runs);

/* --- states.cu: many states --- */

bf_status bf_cuda_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                                void **states);
void bf_cuda_states_destroy(bf_context *context, void *states);
void bf_cuda_states_clear(bf_context *context, void *states);
bf_status bf_cuda_states_absorb(bf_context *context, void *states, int64_t first, const void *a,
                                const void *b, const bf_rows *rows);
bf_status bf_cuda_states_merge(bf_context *context, void *into, const void *from);
bf_status bf_cuda_states_result(bf_context *context, void *states, bf_reduction op,
                                const bf_results *results);
bf_status bf_cuda_states_counts(bf_context *context, void *states, void *counts);
bf_status bf_cuda_states_words(bf_context *context, void *states, int64_t first, int64_t n,
                               int64_t *words);
bf_status bf_cuda_states_add_words(bf_context *context, void *states, int64_t first, int64_t n,
                                   const int64_t *words);
bool bf_cuda_states_reach(const void *states, int64_t reach[BF_STATES_REACH]);
bf_status bf_cuda_states_widen(bf_context *context, void *states,
                               const int64_t reach[BF_STATES_REACH]);
void bf_cuda_states_arrays(const void *states, bf_states_arrays *arrays);

enum {
    BF_CUDA_INDEX_THREADS = 256,
    /* Most rows of a slot that is no giant, and rows of a piece of a giant; the same where a slot's
     * values are taken by several threads. */
    BF_CUDA_INDEX_GIANT = 512,
    BF_CUDA_INDEX_PIECE = 128,
    BF_CUDA_INDEX_VALUES_GIANT = 4096,
    BF_CUDA_INDEX_VALUES_PIECE = 1024,
    BF_CUDA_INDEX_PARTS = 8,  /* threads of a slot whose rows are in order */
    BF_CUDA_INDEX_COPIES = 32 /* most copies of the words of a giant */
};

/* A slot with many rows. Its pieces are numbered from `piece` on. */
struct bf_cuda_index_giant {
    uint32_t slot, piece;
};

/* Counters of a call, on the device. */
struct bf_cuda_index_board {
    unsigned long long wrong;   /* the first wrong index; ~0: none */
    unsigned long long failure; /* 4 * (number of the first result that fails) + why; ~0: none */
    unsigned long long giants;  /* upper half: giants, lower: their pieces */
    unsigned marked;            /* some results or pieces are */
    unsigned ticket;            /* blocks that have counted their digit */
};

/* Rows in the order of their slots, for kernels. */
struct bf_cuda_index_order {
    int64_t slots;
    uint32_t n;
    const uint32_t *rows; /* numbers of rows, by slot, each `pitch` words behind the one before;
                             NULL: the rows are in order */
    uint32_t pitch;
    uint32_t giant;          /* most rows of a slot that is no giant */
    uint32_t piece;          /* rows of a piece of a giant */
    const uint32_t *offsets; /* slots + 1 */
    const bf_cuda_index_giant *giants;
};

/* States that take the sums of slots, instead of results; counts NULL: none do. */
struct bf_cuda_index_states {
    bf_cuda_aggregate_params aggregate;
    int64_t *counts; /* from the first slot's first column on */
    int64_t first;   /* its number */
};

struct bf_cuda_index_params {
    const void *a, *b;
    bf_reduction op;
    bf_kind kind;
    bf_dtype dtype;
    int bytes; /* the size of an element */
    int64_t width;
    bf_cuda_index_order order;
    bf_cuda_index_board *board;

    /* results */
    bf_reduce_options options;
    bf_dtype to;
    int to_bytes;
    bool aligned, has_empty;
    uint64_t empty;
    void *values;
    uint8_t *fits;

    bf_cuda_index_states states;

    /* scratch */
    int64_t lanes;         /* threads of a slot in the first kernel */
    unsigned *marks;       /* bits of slots * lanes, then of pieces * lanes; NULL: all are */
    int words;             /* how many a state has */
    int64_t *pool;         /* words of giants * copies * width */
    int64_t room;          /* giants for which it has room */
    int64_t *thread_words; /* words and work of each thread, for results that are computed again */
    int phase;             /* for argmin and argmax: 1 finds the indices of the giants' extremes */
};

/* Sets *at to n elements of so many bytes where kernels reach them: `from`, or *copy, which is the
 * caller's to free. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_axis_reach(bf_context *context, const void *from, int64_t n, int bytes,
                             void **copy, const void **at);

/* --- order.cu --- */

/* Scratch of an order, and of kernels. */
struct bf_cuda_index_sorted {
    void *entries[2], *offsets, *giants, *marks, *pool, *words;
};

/* Enqueues the sorting of an index; stable: rows of a slot remain in order. board->wrong becomes
 * the first wrong place. The memory is the
 * caller's to free by the other function, also on failure. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_index_sort(bf_context *context, const bf_rows *rows, bool stable,
                             bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                             bf_cuda_index_order *order);
/* Sorts rows of one element: these are brought into order themselves, in any order within a slot,
 * as *values; order->rows becomes NULL. The first function says whether it takes these rows. */
bool bf_cuda_index_sorts_values(const bf_cuda *cuda, const bf_rows *rows, int bytes);
bf_status bf_cuda_index_sort_values(bf_context *context, const bf_rows *rows, const void *from,
                                    int bytes, bf_cuda_index_board *board,
                                    bf_cuda_index_sorted *sorted, bf_cuda_index_order *order,
                                    const void **values);
/* Cuts rows [begin, begin + n), by length or by offsets that are right. */
bf_status bf_cuda_index_cut(bf_context *context, const bf_rows *rows, int64_t begin, uint32_t n,
                            bf_cuda_index_board *board, bf_cuda_index_sorted *sorted,
                            bf_cuda_index_order *order);
/* Enqueues a check of offsets: board->wrong becomes the first that is wrong. */
bf_status bf_cuda_index_check(bf_context *context, const bf_rows *rows, bf_cuda_index_board *board);
void bf_cuda_index_sorted_free(bf_context *context, bf_cuda_index_sorted *sorted);

/* Returns the most giants, and the most pieces of giants, among the rows of an order. */
static inline int64_t bf_cuda_index_giants(const bf_cuda_index_order *order) {
    return order->n / ((int64_t)order->giant + 1);
}
static inline int64_t bf_cuda_index_pieces(const bf_cuda_index_order *order) {
    return order->n / order->piece + bf_cuda_index_giants(order);
}

/* --- kernels --- */

/* Return the kernel that proves results in doubles, or that of integers and extremes; *columns: of
 * a thread. NULL: there is none for these operands. */
typedef void (*bf_cuda_index_kernel)(const bf_cuda_index_params);
bf_cuda_index_kernel bf_cuda_index_floats(const bf_cuda_index_params &p, int *columns);
bf_cuda_index_kernel bf_cuda_index_others(const bf_cuda_index_params &p, int *columns);

/* Returns whether the elements of a slot lie side by side. */
static inline bool bf_cuda_index_in_order(const bf_cuda_index_params *p) {
    return p->order.rows == NULL && p->width == 1;
}

/* words.cu: the blocks of kernels for its results, and the bytes of their thread_words. */
int64_t bf_cuda_index_word_blocks(const bf_cuda *cuda, const bf_cuda_index_params &p);
size_t bf_cuda_index_words_bytes(const bf_cuda *cuda, const bf_cuda_index_params &p);
/* Enqueues a copy of all rows in their order. */
cudaError_t bf_cuda_index_gather(const bf_cuda *cuda, const bf_cuda_index_params &p,
                                 const void *from, void *to);
/* Enqueue the kernels of giants, and of what is marked. */
cudaError_t bf_cuda_index_clear_giants(const bf_cuda *cuda, const bf_cuda_index_params &p);
cudaError_t bf_cuda_index_reduce_marked(const bf_cuda *cuda, const bf_cuda_index_params &p);
cudaError_t bf_cuda_index_merge_copies(const bf_cuda *cuda, const bf_cuda_index_params &p);
cudaError_t bf_cuda_index_finish_giants(const bf_cuda *cuda, const bf_cuda_index_params &p);

/* index.cu: makes a board, which is the caller's to free. NULL: no memory. */
bf_cuda_index_board *bf_cuda_index_board_make(bf_context *context);
/* Sets what p says of the operands, or of the results. */
void bf_cuda_index_set_operands(bf_cuda_index_params *p, bf_reduction op, bf_dtype dtype);
void bf_cuda_index_set_results(bf_cuda_index_params *p, const bf_results *results);
/* Waits, and returns what the board says of rows from number `first` on; rows NULL: there are no
 * places, results NULL: there are no results. */
bf_status bf_cuda_index_settle(bf_context *context, const bf_cuda_index_params *p,
                               const bf_rows *rows, int64_t first, const bf_results *results);
/* Enqueues the reduction of rows that are in order; scratch is allocated to `sorted`. It fails for
 * memory before it enqueues anything. */
bf_status bf_cuda_index_enqueue(bf_context *context, bf_cuda_index_params *p,
                                bf_cuda_index_sorted *sorted);

/* scatter.cu: sums of one float a row. Returns whether it takes these. */
bool bf_cuda_index_scatters(const bf_cuda *cuda, const bf_operands *operands, const bf_rows *rows);
bf_status bf_cuda_index_scatter(bf_context *context, bf_cuda_index_params *p, const bf_rows *rows);

/* extremes.cu: minima and maxima of one element a row. Returns whether it takes these. */
bool bf_cuda_index_finds_extremes(const bf_cuda *cuda, const bf_operands *operands,
                                  const bf_rows *rows);
bf_status bf_cuda_index_find_extremes(bf_context *context, const bf_cuda_index_params *p,
                                      const bf_rows *rows);

/* --- loading an index --- */

/* Returns the slot of row i. A wrong one is at least 2^31. */
static __device__ __forceinline__ uint64_t bf_cuda_index_at(const void *index, bf_dtype dtype,
                                                            int64_t i) {
    switch (dtype) {
    case BF_I32: return (uint64_t)(int64_t)((const int32_t *)index)[i];
    case BF_U32: return ((const uint32_t *)index)[i];
    default: return ((const uint64_t *)index)[i];
    }
}

/* --- storing results --- */

static __device__ __forceinline__ void bf_cuda_index_store(const bf_cuda_index_params &p, int64_t r,
                                                           uint64_t bits) {
    char *to = (char *)p.values + r * p.to_bytes;
    if (!p.aligned) {
        for (int i = 0; i < p.to_bytes; i++) to[i] = (char)(bits >> 8 * i);
        return;
    }
    switch (p.to_bytes) {
    case 1: *(uint8_t *)to = (uint8_t)bits; break;
    case 2: *(uint16_t *)to = (uint16_t)bits; break;
    case 4: *(uint32_t *)to = (uint32_t)bits; break;
    default: *(uint64_t *)to = bits;
    }
}

static __device__ __forceinline__ void bf_cuda_index_fail(const bf_cuda_index_params &p, int64_t r,
                                                          int why) {
    atomicMin(&p.board->failure, 4 * (unsigned long long)r + (unsigned)why);
}

static __device__ __forceinline__ void bf_cuda_index_write(const bf_cuda_index_params &p, int64_t r,
                                                           uint64_t bits, bool fits) {
    bf_cuda_index_store(p, r, bits);
    if (p.fits != nullptr)
        p.fits[r] = fits;
    else if (!fits && p.options.overflow != BF_OVERFLOW_WRAP)
        bf_cuda_index_fail(p, r, BF_CUDA_AXIS_OVERFLOW);
}

/* There is no value. */
static __device__ __forceinline__ void bf_cuda_index_write_empty(const bf_cuda_index_params &p,
                                                                 int64_t r) {
    bf_cuda_index_write(p, r, p.empty, true);
    if (!p.has_empty) bf_cuda_index_fail(p, r, BF_CUDA_AXIS_EMPTY);
}

/* An extreme of a slot: the words of a giant. Rows are meaningless where there is none. */
struct bf_cuda_index_extreme {
    int64_t rank, row, nans, nan_row;
};

static __device__ __forceinline__ void
bf_cuda_index_finish_extreme(const bf_cuda_index_params &p, int64_t r, int64_t rows,
                             const bf_cuda_index_extreme &x) {
    bool nan = x.nans > 0 && p.options.nan != BF_NAN_SKIP, indexed = bf_is_indexed(p.op);
    if (x.nans > 0 && p.options.nan == BF_NAN_ERROR) bf_cuda_index_fail(p, r, BF_CUDA_AXIS_NAN);
    if (nan)
        bf_cuda_index_write(
            p, r, indexed ? (uint64_t)x.nan_row : bf_format_nan(bf_format_of(p.dtype)), true);
    else if (x.nans == rows)
        bf_cuda_index_write_empty(p, r);
    else
        bf_cuda_index_write(p, r,
                            indexed
                                ? (uint64_t)x.row
                                : bf_order_bits(p.dtype, bf_is_greatest(p.op) ? ~x.rank : x.rank),
                            true);
}

/* --- rows --- */

/* The rows of a slot, or of a piece of a giant. */
struct bf_cuda_index_task {
    int64_t slot; /* a giant's: its number in the list */
    uint32_t begin, end;
    bool piece;
};

/* Returns the number of the row that is at place i of the order. */
static __device__ __forceinline__ uint32_t bf_cuda_index_row(const bf_cuda_index_order &order,
                                                             uint32_t i) {
    return order.rows != nullptr ? order.rows[i * order.pitch] : i;
}

/* Returns how many copies of a giant's words there are, to each of which some blocks add: where few
 * giants have many rows, blocks would wait for each other. */
static __device__ __forceinline__ unsigned bf_cuda_index_copies(const bf_cuda_index_params &p) {
    const uint32_t giants = max((uint32_t)(p.board->giants >> 32), 1u);
    const uint32_t room = p.room < BF_CUDA_INDEX_COPIES ? (uint32_t)p.room : BF_CUDA_INDEX_COPIES;
    return p.kind == BF_KIND_EXTREME || giants >= room ? 1 : room / giants;
}

/* Finds task number i: slots, then pieces. False: it is a giant, or there are no more pieces. */
static __device__ __forceinline__ bool bf_cuda_index_find(const bf_cuda_index_order &order,
                                                          uint64_t giants, int64_t i,
                                                          bf_cuda_index_task *task) {
    if (i < order.slots) {
        *task = {i, order.offsets[i], order.offsets[i + 1], false};
        return task->end - task->begin <= order.giant;
    }
    uint32_t piece = (uint32_t)(i - order.slots), count = (uint32_t)(giants >> 32);
    if (i - order.slots >= (uint32_t)giants) return false;
    const uint32_t low = bf_cuda_count_first(
        count - 1, [&](uint32_t k) { return order.giants[k + 1].piece <= piece; });
    bf_cuda_index_giant g = order.giants[low];
    uint32_t end = order.offsets[g.slot + 1];
    uint32_t begin = order.offsets[g.slot] + (piece - g.piece) * order.piece;
    uint32_t left = end - begin;
    *task = {low, begin, begin + (left < order.piece ? left : order.piece), true};
    return true;
}

#endif
