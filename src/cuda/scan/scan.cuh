/* Scans on a GPU: what the files share.
 *
 *   scan.cu        a call: which kernel takes which lines, and what the data make wrong
 *   states.cuh     states of any kind, as threads and blocks hand them to each other
 *   kernels.cuh    the kernels, of any states: tiles of lines, a thread a column
 *   integers.cu    states of sums and products of integers
 *   extremes.cu    states of minima and maxima
 *   floats.cu      states of sums of floats: three doubles, while these tell every result
 *   exact.cu       all other lines of floats, by the words of the rules
 *   segments.cu    where the segments of lines begin
 *
 * A state is that of some neighbouring elements; states are joined in any order. */
#ifndef BF_CUDA_SCAN_SCAN_CUH
#define BF_CUDA_SCAN_SCAN_CUH

#include "cuda/runtime/call.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/ptx.cuh"
#include "rules/scan/prefix.h"

extern "C" {
#include "seam/scan.h"
}

extern const bf_scan_backend bf_cuda_scan_backend;

/* What kernels tell each other and the host; 0 at first. Packets follow it. */
struct alignas(16) bf_cuda_scan_board {
    unsigned tickets;          /* tasks that were begun */
    uint32_t large;            /* the bits from 2^32 on that magnitudes of integers have, which are
                                  looked at where no result is written */
    unsigned long long marked; /* not 0: exact.cu has to scan some line */
    unsigned long long failed; /* the bf_status of a failure of the data */
    unsigned long long wrong;  /* INT64_MAX less the number of the first wrong offset; 1: the ends
                                  alone are wrong; 0: none is, else nothing is scanned */
    int64_t ends[2];           /* the first offset, and the last one */
};

struct bf_cuda_scan_params {
    bf_prefix prefix;
    bool exclusive, reverse;
    int64_t outer, length, inner;
    const void *elements;
    void *values;        /* NULL: results go nowhere */
    int bytes, to_bytes; /* the sizes of elements and results */
    uint64_t empty;      /* the result of no elements */
    bool has_empty;
    bf_status refusal; /* why a result is refused */
    bf_cuda_scan_board *board;
    uint32_t *marks; /* a bit for each line, or segment of each: exact.cu scans it; 0 at first */

    /* Segments of lines (outer is 1), by offsets of 4 or 8 bytes; and a bit for each row, in the
     * order of the scan: one begins there. 0 segments: each line is one. */
    const void *offsets;
    int offset_bytes;
    int64_t segments;
    uint32_t *heads;
    int64_t row; /* not 0: so many rows are a segment, instead of offsets and heads */

    /* What came before each line, or segment of each: words, and the states made of them. NULL:
     * nothing did. */
    const int64_t *words;
    void *starts;

    /* Tiles of long lines; packets with the state of each, with that of the line before it, and
     * with what its elements tell. They are 0 at first. */
    int64_t line_tiles, tiles;
    bf_cuda_packet *totals, *befores, *ranges;
    int64_t lag; /* a tile is scanned when the one so many behind it is reduced; 0: none is, for
                    what is before each is known */
};

/* The kernels of a kind of state. */
struct bf_cuda_scan_kernels {
    const void *tiles, *segments; /* tiles of lines, and of lines that are cut */
    const void *columns;
    const void *starts; /* makes states of words */
    int tile;           /* elements of a tile */
    int packets;        /* a state has so many */
    int range_packets;  /* what elements tell has so many */
    int start;          /* bytes of a state that starts a line */
};

/* goes_on: from other states. */
bf_cuda_scan_kernels bf_cuda_scan_integers(const bf_cuda_scan_params &p, bool goes_on);
bf_cuda_scan_kernels bf_cuda_scan_extremes(const bf_cuda_scan_params &p);
bf_cuda_scan_kernels bf_cuda_scan_floats(const bf_cuda_scan_params &p);

enum { BF_CUDA_SCAN_THREADS = 256 };

/* Scans the lines that are marked. Nothing waits. */
bf_status bf_cuda_scan_exactly(bf_cuda_call *call, const bf_cuda_scan_params &p);

/* Ends a call all of whose work is enqueued, and which the data may make fail: waits for what the
 * board says, or, of a queued call, has it told later. */
bf_status bf_cuda_scan_conclude(bf_cuda_call *call, const unsigned long long *failed,
                                const bf_prefix &prefix);

/* Reaches the offsets of segments, looks whether they are right, and sets the heads. What is wrong
 * with those of a queued call is told later. */
bf_status bf_cuda_scan_cut(bf_cuda_call *call, const bf_scan_job *job, bf_cuda_scan_params *p);

/* The numbers of lines, or of segments of each: as bf_scan_job's starts have them. */
static __host__ __device__ __forceinline__ int64_t
bf_cuda_scan_lines(const bf_cuda_scan_params &p) {
    return (p.segments > 0 ? p.segments : p.outer) * p.inner;
}

static __device__ __forceinline__ int64_t bf_cuda_scan_offset(const bf_cuda_scan_params &p,
                                                              int64_t s) {
    return p.offset_bytes == 8 ? ((const int64_t *)p.offsets)[s] : ((const int32_t *)p.offsets)[s];
}

/* The segment of a row. */
static __device__ __forceinline__ int64_t bf_cuda_scan_segment(const bf_cuda_scan_params &p,
                                                               int64_t row) {
    return bf_cuda_count_first(p.segments,
                               [&](int64_t s) { return bf_cuda_scan_offset(p, s) <= row; }) -
           1;
}

/* The number of element i of a line, in the order of the scan. */
static __device__ __forceinline__ int64_t bf_cuda_scan_number(const bf_cuda_scan_params &p,
                                                              int64_t line, int64_t i) {
    if (p.segments == 0) return line;
    const int64_t row = p.reverse ? p.length - 1 - i : i;
    return (p.row > 0 ? row / p.row : bf_cuda_scan_segment(p, row)) * p.inner + line;
}

/* Element i of a line, in the order of the scan: its number in the array. */
static __host__ __device__ __forceinline__ int64_t bf_cuda_scan_at(const bf_cuda_scan_params &p,
                                                                   int64_t line, int64_t i) {
    if (p.reverse) i = p.length - 1 - i;
    if (p.inner == 1) return line * p.length + i;
    return (line / p.inner * p.length + i) * p.inner + line % p.inner;
}

#endif
