/* Rolling windows on a GPU: what the files share.
 *
 *   rolling.cu            a call: tiles, and which kernels take them
 *   rolling_tile.cuh      a tile: its elements, and the windows of its results
 *   rolling_sums.cu       sums, means, variances: exact integers that are added and taken away
 *   rolling_extremes.cu   minima, maxima and counts
 *   rolling_quantiles.cu  medians and quantiles
 *   rolling_exact.cu      tiles whose sums these integers do not hold, by the limbs of the rules
 *
 * All lines are seen as one, behind each other: element i of line l is element l * length + i, and
 * result k of it is result l * results + k. Neither end of a window ever goes back.
 *
 * A block makes the results of a tile. Its list has all elements of its windows, or, if these are
 * too many, those before the first one that is in all windows, and those behind the last one: what
 * lies between is the core. So each window is a range of the list, and the core. */
#ifndef BF_CUDA_SCAN_ROLLING_CUH
#define BF_CUDA_SCAN_ROLLING_CUH

#include "cuda/scan/scan.cuh"

struct bf_cuda_rolling_board {
    unsigned long long marked; /* tiles that rolling_exact.cu has to make */
    unsigned long long failed; /* the bf_status of a window with a NaN that is refused */
};

enum {
    BF_CUDA_ROLLING_CHUNK = 1024, /* elements that have a record */
    BF_CUDA_ROLLING_GROUP = 64    /* chunks that have one more, together */
};

struct bf_cuda_rolling_params {
    bf_rolling_job job;            /* all memory is where kernels reach it */
    bf_window_quantiles quantiles; /* as the job's */
    bf_format format;              /* what elements are, if they are floats */
    bool is_float;
    int bytes, to_bytes; /* the sizes of elements and results */

    /* Tiles are parts of units of so many lines each, whose tiles all begin at the same results:
     * every so many, or, of spans, where `starts` says. */
    int64_t tiles, units, unit_lines, tile_results;
    const int64_t *starts;
    int room; /* elements of a list */

    bf_cuda_rolling_board *board;
    int64_t *marked; /* tiles that the board counts */

    /* What is known of each whole chunk of elements, and of each whole group of chunks. NULL:
     * nothing. */
    int64_t *records;
    int64_t chunks;
};

/* How windows are made. */
struct bf_cuda_rolling_kernels {
    const void *tiles;           /* has as many blocks as there are tiles */
    int threads;                 /* each of these blocks has so many */
    int room;                    /* elements of a list */
    size_t shared;               /* bytes of shared memory that each has */
    const void *chunks, *groups; /* make records: as many blocks as there are of each */
    int record;                  /* words of a record */
};

/* A block has at most so many bytes of shared memory. */
bf_cuda_rolling_kernels bf_cuda_rolling_sums(const bf_cuda_rolling_params &p, int shared);
bf_cuda_rolling_kernels bf_cuda_rolling_extremes(const bf_cuda_rolling_params &p);
bf_cuda_rolling_kernels bf_cuda_rolling_quantiles();

/* Makes the marked tiles. Nothing waits. */
bf_status bf_cuda_roll_exactly(bf_cuda_call *call, const bf_cuda_rolling_params &p);

bf_status bf_cuda_roll(bf_context *context, const bf_rolling_job *job);

#endif
