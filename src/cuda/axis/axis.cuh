/* Reductions of many at once on a GPU: what its files share.
 *
 * A call enqueues a few kernels. The first one samples the array, so that all threads of the call
 * add in the same windows (cuda/reduce/sum_terms.cuh): their sums are integers of the same weights,
 * which merge in any order, and most results are rounded from these in registers. A result of which
 * some element does not fit the window is marked, and the last kernel computes it again by
 * exponent (by_exponent.cu). Which way a result went does not show in it.
 *
 * Who reduces what:
 *   direct.cuh   results of few elements, which need no window
 *   tiles.cuh    short rows that lie one behind another: through shared memory, a thread a row
 *   warps.cuh    longer rows: some lanes of a warp a row
 *   blocks.cuh   everything else: a thread for each column, or many; a block for a piece of a row.
 *                The last block of those that share a result merges what they have. */
#ifndef BF_CUDA_AXIS_AXIS_CUH
#define BF_CUDA_AXIS_AXIS_CUH

#include "cuda/runtime/context.cuh"

extern "C" {
#include "seam/axis.h"
}

extern const bf_axis_backend bf_cuda_axis_backend;

bf_status bf_cuda_reduce_fibres(bf_context *context, const bf_operands *operands,
                                const bf_fibres *fibres, const bf_results *results);
bf_status bf_cuda_reduce_segments(bf_context *context, const bf_operands *operands,
                                  const bf_rows *rows, const bf_results *results);

enum {
    BF_CUDA_AXIS_SPAN_END = 512, /* elements that take as long as the end of a segment */
    BF_CUDA_AXIS_LEAF_WORDS = 8, /* int64 for two leaves of trees.cu */
    BF_CUDA_AXIS_THREADS = 256,  /* most of a block that reduces columns or pieces */
    BF_CUDA_AXIS_PIECE = 1 << 17 /* most elements of a result that one block adds: their sums in a
                                    window's level fit an int64 */
};

/* Where the elements of results are. Result r of rows is column r % width of slot r / width. */
struct bf_cuda_axis_layout {
    int64_t results;
    int64_t length;    /* each one's; -1: by offsets */
    int kept, reduced; /* dimensions, as of bf_fibres */
    int64_t kept_shape[BF_MAX_DIMS], reduced_shape[BF_MAX_DIMS];
    int64_t kept_strides[2][BF_MAX_DIMS], reduced_strides[2][BF_MAX_DIMS];
    const void *offsets; /* NULL: fibres */
    bool wide;           /* offsets are i64 */
    int64_t rows, width;
};

/* What blocks tell each other and the host; the first kernel of a call sets it. */
struct bf_cuda_axis_board {
    unsigned long long failure; /* 4 * (number of the first result that fails) + why; ~0: none */
    unsigned long long wrong;   /* the first wrong offset; ~0: none */
    unsigned long long units, giants;
    unsigned long long failed, left; /* whether results are marked, and stay so (settle.cu) */
    unsigned long long deferred;     /* tiles, or chunks, on the list of these */
    int sum_bottom, product_bottom;  /* the windows */
    unsigned long long found; /* ~(the first wrong offset) while blocks check; else 0, like */
    unsigned checked;         /* the blocks that have checked theirs */
};
enum { BF_CUDA_AXIS_NAN, BF_CUDA_AXIS_EMPTY, BF_CUDA_AXIS_OVERFLOW };

/* Why a result fails, of what a board says. */
static inline __host__ __device__ bf_status bf_cuda_axis_why(unsigned long long failure) {
    const bf_status why[] = {BF_E_NAN, BF_E_EMPTY, BF_E_OVERFLOW};
    return why[failure % 4];
}

/* A piece of a segment that is too long for one warp. */
struct bf_cuda_axis_unit {
    int64_t slot;
    int64_t first, end; /* its elements */
    int giant, piece, pieces;
};

struct bf_cuda_axis_params {
    const void *a, *b;
    bf_reduction op;
    bf_kind kind;
    bf_dtype dtype;
    int element; /* its bytes */
    bf_cuda_axis_layout at;

    /* results */
    bf_dtype to;
    int bytes; /* the size of an element */
    bool aligned;
    bf_nan_policy nan;
    int ddof;
    bool wraps, has_empty;
    bf_overflow_policy overflow;
    bf_weights weights;
    bf_dtype out_dtype;
    uint64_t empty;
    void *values;
    uint8_t *fits;
    bool unread;     /* nobody asks the board whether the call failed */
    int64_t *report; /* becomes the first wrong offset, or -1, in the end; NULL: nothing */

    /* schedule */
    int64_t giant;        /* longer segments are left to blocks */
    int chunk;            /* results of a warp that the same lanes reduce */
    int columns;          /* results of a block */
    int lanes;            /* threads for each result */
    int64_t tiles;        /* how many such tiles there are */
    int64_t inner, parts; /* columns that lie next to each other, and tiles of these */
    int64_t piece; /* elements of a result, or of a line of it, that a block takes at a time */
    int pieces;    /* how many pieces a result has */
    int64_t line_pieces; /* how many a line has */
    bool by_line;        /* no piece has parts of two lines (of the last reduced dimension) */
    int planes;       /* 1: element j of a piece's lines is j * steps[operand] behind the first */
    int64_t steps[2]; /* planes 0: its index in the reduced dimensions has to be computed */
    bool along;       /* neighbours of a line lie next to each other */
    int folded;       /* rows of columns that are reduced as one, of so many more columns */
    int64_t distance; /* between neighbouring columns, in elements */
    int room;         /* int64 of shared memory, for columns */
    bool listed;      /* units are on the list, and not all tiles and pieces */
    double roundings; /* the most that a sum of approximate.cuh has, one after another */
    int64_t tile;     /* results of a chunk, where tiles are chunks; else 0 */
    bool proven;      /* by a few doubles each (doubles.cuh) */
    bool direct;      /* the first kernel proves results, and a second one takes the others */
    bool second;      /* this is the second one */
    int64_t spans;    /* warps that share all elements (spans.cuh); 0: none */

    /* scratch */
    bf_cuda_axis_board *board;
    unsigned *marks;   /* a bit for each result that has to be computed again */
    unsigned *tickets; /* for tiles, or for giants */
    int64_t *slots;    /* what blocks have of pieces */
    bf_cuda_axis_unit *units;
    unsigned *deferred;     /* a bit for each tile, or chunk, on the list of approximate.cuh */
    int64_t *deferred_list; /* tiles of columns, or chunks of rows, of which results are missing */
    int64_t *words;         /* for by_exponent.cu: words of results that several blocks compute */
    int64_t word_slots;     /* how many such results there are */
    int64_t word_piece;     /* elements that a block takes of one */
};

/* The kernels for an operation on a dtype. */
struct bf_cuda_axis_kernels {
    const void *tiles, *warps, *columns, *blocks;
    const void *direct_warps, *direct_columns; /* NULL: there is none */
    const void *proven_rows, *proven_columns,
        *proven_segments; /* kernels for results that are proven */
    const void *approximate_warps, *approximate_columns, *approximate_blocks;
    int width;                        /* columns of a thread */
    int vector;                       /* elements of a vector */
    int words;                        /* how many a part has */
    int total;                        /* words of a slot */
    int tile_capacity;                /* elements of a tile */
    int tile_bytes;                   /* its shared memory */
    const void *proven_wide_segments; /* by offsets of i64 */
    const void *spans;                /* the kernel of spans.cuh */
    int span_bytes;                   /* the shared memory of its blocks */
    int proven_width;                 /* columns of a thread of proven_columns */
    int approximate_width;            /* columns of a thread of approximate_columns */
};

enum { BF_CUDA_AXIS_TILE_THREADS = 256, BF_CUDA_AXIS_WARP_THREADS = 256 };

/* Sums of floats of so many bytes. */
bf_cuda_axis_kernels bf_cuda_axis_sums_2(bf_kind kind);
bf_cuda_axis_kernels bf_cuda_axis_sums_4(bf_kind kind);
bf_cuda_axis_kernels bf_cuda_axis_sums_8(bf_kind kind);
/* Sets those of doubles.cuh and what builds on it, for results of this dtype and length. */
void bf_cuda_axis_doubles_f16(bf_kind kind, bf_dtype to, int64_t length, bf_cuda_axis_kernels *k);
void bf_cuda_axis_doubles_bf16(bf_kind kind, bf_dtype to, int64_t length, bf_cuda_axis_kernels *k);
void bf_cuda_axis_doubles_f32(bf_kind kind, bf_dtype to, int64_t length, bf_cuda_axis_kernels *k);
void bf_cuda_axis_doubles_f64(bf_kind kind, bf_dtype to, int64_t length, bf_cuda_axis_kernels *k);
/* Dot products and products of integers. */
bf_cuda_axis_kernels bf_cuda_axis_dots(bool wide);
bf_cuda_axis_kernels bf_cuda_axis_products(void);
/* Extremes of words of so many bytes, and sums, and moments and squares, of such integers: for
 * results of this length. */
bf_cuda_axis_kernels bf_cuda_axis_extremes_1(bool indexed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_extremes_2(bool indexed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_extremes_4(bool indexed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_extremes_8(bool indexed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_totals_1(bool is_signed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_totals_2(bool is_signed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_totals_4(bool is_signed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_totals_8(bool is_signed, int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_spreads_1(int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_spreads_2(int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_spreads_4(int64_t length);
bf_cuda_axis_kernels bf_cuda_axis_spreads_8(int64_t length);

/* Enqueues the kernels of a call whose params but for scratch and schedule are set. If `wrong` is
 * not NULL it waits for the check of offsets before any other kernel, and sets *wrong to the first
 * that is wrong, or to -1; if there is one it returns BF_OK, but enqueues no more. */
bf_status bf_cuda_axis_enqueue(bf_context *context, bf_cuda_axis_params *p, int64_t *wrong);

/* --- calls (call.cu) --- */

/* A call, and the memory that it frees at its end. */
struct bf_cuda_axis_call {
    bf_context *context;
    const bf_operands *operands;
    const bf_results *results;
    bf_cuda_axis_params params;
    void *copies[5];
};

/* Sets what params hold but for where elements are. Results go to device memory, if need be. */
bf_status bf_cuda_axis_begin(bf_cuda_axis_call *call, bf_context *context,
                             const bf_operands *operands, const bf_results *results, int64_t count);
/* Sets *at to n elements of so many bytes where kernels reach them: to copy number i, if need be.
 */
bf_status bf_cuda_axis_reach(bf_cuda_axis_call *call, int i, const void *from, int64_t n, int bytes,
                             const void **at);
/* Waits, and returns the failure of the first result that fails: result 0 of the kernels is number
 * `first` of the call. */
bf_status bf_cuda_axis_wait(bf_cuda_axis_call *call, int64_t first);
/* Ends a call all of whose work is enqueued: waits, or enqueues the report, or neither. rows NULL:
 * there are no places. */
bf_status bf_cuda_axis_conclude(bf_cuda_axis_call *call, const bf_rows *rows);
/* report.cu: enqueues a kernel that leaves what the board says, if it is a failure and the first
 * since bf_cuda_late_failure. wrong, failed: on the board; NULL: never. */
bf_status bf_cuda_axis_report(bf_context *context, const bf_operands *operands, const bf_rows *rows,
                              const bf_results *results, const unsigned long long *wrong,
                              const unsigned long long *failed);
/* Brings results to where they belong, if status is BF_OK, and frees. Returns the status. */
bf_status bf_cuda_axis_end(bf_cuda_axis_call *call, bf_status status, int64_t count);
/* The first kernel, and the last: of exact sums that have been marked. */
cudaError_t bf_cuda_axis_launch_plan(const bf_cuda *cuda, const bf_cuda_axis_params &p);
cudaError_t bf_cuda_axis_launch_check(const bf_cuda *cuda, const bf_cuda_axis_params &p);
/* Both, where segments need no window. */
cudaError_t bf_cuda_axis_launch_opening(const bf_cuda *cuda, const bf_cuda_axis_params &p);
cudaError_t bf_cuda_axis_launch_report(const bf_cuda *cuda, const bf_cuda_axis_params &p);
cudaError_t bf_cuda_axis_launch_words(const bf_cuda *cuda, const bf_cuda_axis_params &p);
cudaError_t bf_cuda_axis_launch_trees(const bf_cuda *cuda, const bf_cuda_axis_params &p);
/* joint/joint.cu: all kernels of a joint kind. Errors: BF_E_MEMORY, BF_E_DEVICE. */
bf_status bf_cuda_axis_enqueue_joint(bf_context *context, const bf_cuda_axis_params &p);

#endif
