/* Running sums of ints on a GPU: from many launches over all of memory to one that reads and writes
 * each element once.
 *
 * The sum before an element depends on all elements before it, and a thread that waited for them
 * would do nothing else. Additions are associative, so sums of parts can be made by all threads at
 * once, and joined. The rungs differ in how many additions that takes, and in how often an element
 * is read and written. */
#include "ladder/cuda/gpu.cuh"

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, EACH = 8, TILE = THREADS * EACH };

static const int *input(const ladder_task *t) { return static_cast<const int *>(t->a); }
static int64_t *output(const ladder_task *t) { return static_cast<int64_t *>(t->out); }
static int64_t *spare(const ladder_task *t) { return static_cast<int64_t *>(t->spare); }

/* ---- rung 1: Hillis and Steele --------------------------------------------------------------- */

static __global__ void widen(const int *in, int64_t n, int64_t *out) {
    const int64_t i = grid_thread();
    if (i < n) out[i] = in[i];
}

/* Afterwards an element is the sum of twice as many as before. */
static __global__ void add_from_before(const int64_t *in, int64_t n, int64_t step, int64_t *out) {
    const int64_t i = grid_thread();
    if (i < n) out[i] = in[i] + (i >= step ? in[i - step] : 0);
}

/* The data parallel algorithm of 1986: log2(n) passes, each of which adds to every element the one
 * `step` before it. A pass writes to other memory than it reads, because threads run in any order.
 * It takes n log2(n) additions where a loop takes n. */
static const char *run_hillis_steele(const ladder_task *t) {
    const unsigned blocks = blocks_for(t->n, THREADS);
    int64_t *from = output(t), *to = spare(t);
    for (int64_t step = 1; step < t->n; step *= 2) { /* so that the last pass writes the output */
        int64_t *other = from;
        from = to;
        to = other;
    }
    widen<<<blocks, THREADS, 0, stream_of(t)>>>(input(t), t->n, from);
    for (int64_t step = 1; step < t->n; step *= 2) {
        add_from_before<<<blocks, THREADS, 0, stream_of(t)>>>(from, t->n, step, to);
        int64_t *other = from;
        from = to;
        to = other;
    }
    return launched();
}

/* ---- rung 2: Blelloch's tree ----------------------------------------------------------------- */

/* Up: element (k + 1) * 2 * step - 1 becomes the sum of the 2 * step elements that end with it. */
static __global__ void add_up(int64_t *x, int64_t count, int64_t step) {
    const int64_t k = grid_thread();
    if (k < count) x[(2 * k + 2) * step - 1] += x[(2 * k + 1) * step - 1];
}

/* Down: the element `step` behind each of those becomes a prefix, as they are now. */
static __global__ void add_down(int64_t *x, int64_t count, int64_t step) {
    const int64_t k = grid_thread();
    if (k < count) x[(2 * k + 3) * step - 1] += x[(2 * k + 2) * step - 1];
}

/* A tree of sums up, and prefixes down: 2n additions, in place, in 2 log2(n) launches. (This is
 * Brent and Kung's form of it, whose prefixes contain their elements.) Far up, few threads work;
 * and elements that lie `step` apart waste what memory reads around them. */
static const char *run_blelloch(const ladder_task *t) {
    const cudaStream_t stream = stream_of(t);
    int64_t step = 1;
    widen<<<blocks_for(t->n, THREADS), THREADS, 0, stream>>>(input(t), t->n, output(t));
    for (; 2 * step <= t->n; step *= 2) {
        const int64_t count = t->n / (2 * step);
        add_up<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(output(t), count, step);
    }
    for (; step > 0; step /= 2) {
        const int64_t count = (t->n / step - 1) / 2;
        add_down<<<blocks_for(count, THREADS), THREADS, 0, stream>>>(output(t), count, step);
    }
    return launched();
}

/* ---- what the other rungs share: the scan of a tile in registers ----------------------------- */

/* Hillis and Steele's steps in a warp, whose lanes read each other's registers: five of them. */
static __device__ int64_t scan_warp(int64_t value) {
    for (int offset = 1; offset < WARP; offset *= 2) {
        const int64_t before = __shfl_up_sync(0xffffffff, value, offset);
        if (threadIdx.x % WARP >= offset) value += before;
    }
    return value;
}

/* Each warp has a value. Returns the sum of those of the warps before; *all: of all warps. */
static __device__ int64_t sum_before(int64_t value, int64_t *all) {
    __shared__ int64_t values[WARPS];
    const int warp = threadIdx.x / WARP;
    int64_t before = 0;
    __syncthreads(); /* nobody reads those of an earlier call any more */
    if (threadIdx.x % WARP == 0) values[warp] = value;
    __syncthreads();
    *all = 0;
    for (int w = 0; w < WARPS; w++) {
        if (w < warp) before += values[w];
        *all += values[w];
    }
    return before;
}

/* A warp takes rows of 32 elements, so that its loads and stores fall into whole lines of memory.
 * This is the first of a thread's elements; the others follow, WARP apart. */
static __device__ int64_t first_in(int64_t tile) {
    return tile * TILE + threadIdx.x / WARP * (WARP * EACH) + threadIdx.x % WARP;
}

static __device__ void load_tile(const int *in, int64_t n, int64_t tile, int elements[EACH]) {
    const int64_t first = first_in(tile);
#pragma unroll
    for (int k = 0; k < EACH; k++) elements[k] = first + k * WARP < n ? in[first + k * WARP] : 0;
}

/* Sets sums to the prefixes of a thread's elements within the tile. Returns the sum of the tile. */
static __device__ int64_t scan_tile(const int *in, int64_t n, int64_t tile, int64_t sums[EACH]) {
    int elements[EACH];
    int64_t row = 0, all;
    load_tile(in, n, tile, elements);
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        sums[k] = scan_warp(elements[k]) + row;
        row = __shfl_sync(0xffffffff, sums[k], WARP - 1);
    }
    const int64_t before = sum_before(row, &all);
#pragma unroll
    for (int k = 0; k < EACH; k++) sums[k] += before;
    return all;
}

static __device__ void store_tile(int64_t *out, int64_t n, int64_t tile, const int64_t sums[EACH],
                                  int64_t before) {
    const int64_t first = first_in(tile);
#pragma unroll
    for (int k = 0; k < EACH; k++)
        if (first + k * WARP < n) out[first + k * WARP] = sums[k] + before;
}

static unsigned tiles_of(const ladder_task *t) { return blocks_for(t->n, TILE); }

/* One block: each total becomes the sum of those before it. */
static __global__ void scan_totals(int64_t *totals, int64_t count) {
    int64_t before = 0;
    for (int64_t first = 0; first < count; first += THREADS) {
        const int64_t i = first + threadIdx.x, total = i < count ? totals[i] : 0;
        const int64_t sum = scan_warp(total);
        int64_t all;
        const int64_t warps = sum_before(__shfl_sync(0xffffffff, sum, WARP - 1), &all);
        if (i < count) totals[i] = before + warps + sum - total;
        before += all;
    }
}

/* ---- rung 3: three kernels, and sums are added at the end ------------------------------------ */

static __global__ void scan_each_tile(const int *in, int64_t n, int64_t *out, int64_t *totals) {
    int64_t sums[EACH];
    const int64_t total = scan_tile(in, n, blockIdx.x, sums);
    store_tile(out, n, blockIdx.x, sums, 0);
    if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

static __global__ void add_totals(int64_t *out, int64_t n, const int64_t *before) {
    const int64_t i = grid_thread();
    if (i < n) out[i] += before[i / TILE];
}

/* Each block scans a tile; then their totals are scanned, and added to the tiles. An element is
 * read once, and its sum is written, read and written: 28 bytes where 12 are enough. */
static const char *run_scan_then_add(const ladder_task *t) {
    const cudaStream_t stream = stream_of(t);
    const unsigned tiles = tiles_of(t);
    scan_each_tile<<<tiles, THREADS, 0, stream>>>(input(t), t->n, output(t), spare(t));
    scan_totals<<<1, THREADS, 0, stream>>>(spare(t), tiles);
    add_totals<<<blocks_for(t->n, THREADS), THREADS, 0, stream>>>(output(t), t->n, spare(t));
    return launched();
}

/* ---- rung 4: three kernels, and tiles are reduced first -------------------------------------- */

static __global__ void sum_each_tile(const int *in, int64_t n, int64_t *totals) {
    int elements[EACH];
    int64_t sum = 0, all;
    load_tile(in, n, blockIdx.x, elements);
#pragma unroll
    for (int k = 0; k < EACH; k++) sum += elements[k];
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, offset);
    sum_before(sum, &all);
    if (threadIdx.x == 0) totals[blockIdx.x] = all;
}

static __global__ void scan_after(const int *in, int64_t n, int64_t *out, const int64_t *before) {
    int64_t sums[EACH];
    scan_tile(in, n, blockIdx.x, sums);
    store_tile(out, n, blockIdx.x, sums, before[blockIdx.x]);
}

/* To read an element again costs 4 bytes; to read and write its sum again costs 16. */
static const char *run_reduce_then_scan(const ladder_task *t) {
    const cudaStream_t stream = stream_of(t);
    const unsigned tiles = tiles_of(t);
    sum_each_tile<<<tiles, THREADS, 0, stream>>>(input(t), t->n, spare(t));
    scan_totals<<<1, THREADS, 0, stream>>>(spare(t), tiles);
    scan_after<<<tiles, THREADS, 0, stream>>>(input(t), t->n, output(t), spare(t));
    return launched();
}

/* ---- rung 5: one pass, and each tile waits for the one before ---------------------------------
 */

/* What a tile tells the tiles behind it. */
enum state : unsigned { NOTHING, TOTAL, PREFIX };

struct told {
    int64_t *prefixes; /* the sum of the tile and all before it */
    int64_t *totals;   /* the sum of the tile */
    unsigned *states;  /* says which of the two is there */
};

static told told_of(const ladder_task *t) {
    const unsigned tiles = tiles_of(t);
    return {spare(t), spare(t) + tiles, reinterpret_cast<unsigned *>(spare(t) + 2 * tiles)};
}

/* A block may start late. So it takes the next tile when it runs: then the blocks of all tiles
 * before have begun, and wait for none that has not. atomicInc turns the ticket back to 0. */
static __device__ int64_t draw_tile(unsigned *ticket) {
    __shared__ unsigned drawn;
    if (threadIdx.x == 0) drawn = atomicInc(ticket, gridDim.x - 1);
    __syncthreads();
    return drawn;
}

/* The value is visible to all before the state says that it is there. */
static __device__ void tell(int64_t *values, int64_t value, const told &t, int64_t tile, state s) {
    __stcg(values + tile, value);
    __threadfence();
    *static_cast<volatile unsigned *>(t.states + tile) = s;
}

static __device__ unsigned wait_for(const told &t, int64_t tile) {
    unsigned s;
    do s = *static_cast<volatile unsigned *>(t.states + tile);
    while (s == NOTHING);
    __threadfence();
    return s;
}

/* The way that sums of the tiles before reach a block: Before is for one warp. */
template <int64_t Before(const told &, int64_t, int64_t)>
static __global__ void scan_once(const int *in, int64_t n, int64_t *out, unsigned *ticket, told t) {
    __shared__ int64_t shared_before;
    int64_t sums[EACH];
    const int64_t tile = draw_tile(ticket);
    const int64_t total = scan_tile(in, n, tile, sums);
    if (threadIdx.x < WARP) {
        const int64_t before = Before(t, tile, total);
        if (threadIdx.x == 0) {
            tell(t.prefixes, before + total, t, tile, PREFIX);
            shared_before = before;
        }
    }
    __syncthreads();
    store_tile(out, n, tile, sums, shared_before);
}

template <int64_t Before(const told &, int64_t, int64_t)>
static const char *run_once(const ladder_task *t) {
    const told all = told_of(t);
    const unsigned tiles = tiles_of(t);
    cudaMemsetAsync(all.states, 0, tiles * sizeof *all.states, stream_of(t));
    scan_once<Before>
        <<<tiles, THREADS, 0, stream_of(t)>>>(input(t), t->n, output(t), t->ticket, all);
    return launched();
}

/* An element is read once and its sum written once, but the tiles' sums go from block to block, one
 * wait for memory each: about a microsecond, for 2048 elements. */
static __device__ int64_t wait_for_previous(const told &t, int64_t tile, int64_t) {
    if (tile == 0) return 0;
    wait_for(t, tile - 1);
    return __ldcg(t.prefixes + tile - 1);
}

static const char *run_chained(const ladder_task *t) { return run_once<wait_for_previous>(t); }

/* ---- rung 6: one pass, and a tile looks back ------------------------------------------------- */

/* Merrill and Garland's decoupled look-back, of 2016. A tile tells its own total at once. Behind
 * it, a warp looks at 32 tiles at a time, and adds totals until it meets a prefix: no tile waits
 * for the wait of another. */
static __device__ int64_t look_back(const told &t, int64_t tile, int64_t total) {
    const int lane = threadIdx.x % WARP;
    int64_t before = 0;
    if (lane == 0) tell(t.totals, total, t, tile, TOTAL);
    for (int64_t at = tile - 1 - lane;; at -= WARP) {
        const unsigned s = at >= 0 ? wait_for(t, at) : PREFIX; /* before the first tile it is 0 */
        int64_t value = at < 0 ? 0 : __ldcg((s == PREFIX ? t.prefixes : t.totals) + at);
        const unsigned prefixes = __ballot_sync(0xffffffff, s == PREFIX);
        if (prefixes != 0 && lane > __ffs(prefixes) - 1) value = 0; /* the prefix has them */
        for (int offset = WARP / 2; offset > 0; offset /= 2)
            value += __shfl_xor_sync(0xffffffff, value, offset);
        before += value;
        if (prefixes != 0) return before;
    }
}

static const char *run_look_back(const ladder_task *t) { return run_once<look_back>(t); }

const ladder_rung ladder_gpu_scan[] = {
    {"Hillis-Steele", "log2(n) passes over memory, each adds one to all", run_hillis_steele, 0},
    {"Blelloch", "a tree of sums up, and prefixes down", run_blelloch, 0},
    {"scan, add", "three kernels: tiles, their totals, and these added", run_scan_then_add, 0},
    {"reduce, scan", "three kernels: tiles are read twice, sums written once", run_reduce_then_scan,
     0},
    {"chained", "one pass: each tile waits for the sum of the one before", run_chained, 0},
    {"look-back", "one pass: a tile adds up what the 32 before it have told", run_look_back, 0},
    {"ours", "bf_scan: tiles are read again from the cache; exact or an error", ladder_ours_scan,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
