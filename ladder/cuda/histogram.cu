/* Histograms of bytes on a GPU: counts of each of 256 values. All threads increment the same few
 * counters; in each rung fewer of them meet. */
#include "ladder/cuda/gpu.cuh"

enum { VALUES = LADDER_VALUES, THREADS = 256, WARP = 32, WARPS = THREADS / WARP };

/* ---- the host -------------------------------------------------------------------------------- */

/* One loop over the bytes, in managed memory that has moved to the host. */
static const char *run_host(const ladder_task *t) {
    const unsigned char *in = static_cast<const unsigned char *>(t->managed);
    unsigned *counts = static_cast<unsigned *>(t->host);
    if (in == NULL) return "no managed memory";
    for (int v = 0; v < VALUES; v++) counts[v] = 0;
    for (int64_t i = 0; i < t->n; i++) counts[in[i]]++;
    return NULL;
}

/* ---- global memory --------------------------------------------------------------------------- */

/* Every byte is an atomic addition to one of 256 words of global memory, for which all threads of
 * the GPU queue. */
static __global__ void count_globally(const unsigned char *in, int64_t n, unsigned *counts) {
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) atomicAdd(&counts[in[i]], 1);
}

/* ---- shared memory --------------------------------------------------------------------------- */

/* A block counts its bytes in its own shared memory, and adds each count to the result once. Fewer
 * blocks make fewer additions; more blocks keep more bytes under way. */
static __global__ void count_by_block(const unsigned char *in, int64_t n, unsigned *counts) {
    __shared__ unsigned own[VALUES];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) atomicAdd(&own[in[i]], 1);
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

/* Calls count with each byte of this thread; sixteen are loaded at once. */
template <typename Count>
static __device__ __forceinline__ void each_byte(const unsigned char *in, int64_t n, Count count) {
    const uint4 *quads = reinterpret_cast<const uint4 *>(in);
    for (int64_t i = grid_thread(); i < n / 16; i += grid_threads()) {
        const uint4 q = quads[i];
        const unsigned words[] = {q.x, q.y, q.z, q.w};
#pragma unroll
        for (int k = 0; k < 16; k++) count(words[k / 4] >> 8 * (k % 4) & 0xff);
    }
    const int64_t rest = n / 16 * 16 + grid_thread();
    if (rest < n) count(in[rest]);
}

static __global__ void count_vectors(const unsigned char *in, int64_t n, unsigned *counts) {
    __shared__ unsigned own[VALUES];
    own[threadIdx.x] = 0;
    __syncthreads();
    each_byte(in, n, [](unsigned value) { atomicAdd(&own[value], 1); });
    __syncthreads();
    atomicAdd(&counts[threadIdx.x], own[threadIdx.x]);
}

/* A table for each warp: threads of different warps no longer meet, those of one still do. */
static __global__ void count_by_warp(const unsigned char *in, int64_t n, unsigned *counts) {
    __shared__ unsigned own[WARPS][VALUES];
    unsigned *table = own[threadIdx.x / WARP];
    for (int w = 0; w < WARPS; w++) own[w][threadIdx.x] = 0;
    __syncthreads();
    each_byte(in, n, [table](unsigned value) { atomicAdd(&table[value], 1); });
    __syncthreads();
    unsigned sum = 0;
    for (int w = 0; w < WARPS; w++) sum += own[w][threadIdx.x];
    atomicAdd(&counts[threadIdx.x], sum);
}

/* A table for each lane, in the shared memory's bank of the lane: no two threads of a warp ever
 * meet, whatever the bytes are. */
static __global__ void count_by_lane(const unsigned char *in, int64_t n, unsigned *counts) {
    __shared__ unsigned own[VALUES][WARP];
    const unsigned lane = threadIdx.x % WARP;
    for (int v = threadIdx.x / WARP; v < VALUES; v += WARPS) own[v][lane] = 0;
    __syncthreads();
    each_byte(in, n, [lane](unsigned value) { atomicAdd(&own[value][lane], 1); });
    __syncthreads();
    unsigned sum = 0;
    for (int k = 0; k < WARP; k++) sum += own[threadIdx.x][(threadIdx.x + k) % WARP];
    atomicAdd(&counts[threadIdx.x], sum);
}

/* ---- rungs ----------------------------------------------------------------------------------- */

/* The counts are set to 0 each time; the time includes that. */
template <typename Kernel>
static const char *run(const ladder_task *t, Kernel kernel, int blocks_each) {
    const unsigned char *in = static_cast<const unsigned char *>(t->a);
    unsigned *counts = static_cast<unsigned *>(t->out);
    const cudaError_t error = cudaMemsetAsync(counts, 0, VALUES * sizeof *counts, stream_of(t));
    if (error != cudaSuccess) return why(error);
    kernel<<<t->processors * blocks_each, THREADS, 0, stream_of(t)>>>(in, t->n, counts);
    return launched();
}

static const char *run_global(const ladder_task *t) { return run(t, count_globally, 8); }
static const char *run_block1(const ladder_task *t) { return run(t, count_by_block, 1); }
static const char *run_block2(const ladder_task *t) { return run(t, count_by_block, 2); }
static const char *run_block4(const ladder_task *t) { return run(t, count_by_block, 4); }
static const char *run_block6(const ladder_task *t) { return run(t, count_by_block, 6); }
static const char *run_block8(const ladder_task *t) { return run(t, count_by_block, 8); }
static const char *run_vectors(const ladder_task *t) { return run(t, count_vectors, 8); }
static const char *run_warp(const ladder_task *t) { return run(t, count_by_warp, 8); }
static const char *run_lane(const ladder_task *t) { return run(t, count_by_lane, 6); }

const ladder_rung ladder_gpu_histogram[] = {
    {"host", "one loop of one thread of the CPU", run_host, LADDER_ON_HOST},
    {"global", "an atomic addition in global memory for each byte", run_global, 0},
    {"shared, 1 x SM", "a table in each block's shared memory, added once", run_block1, 0},
    {"shared, 2 x SM", "more blocks, so that more loads are on their way", run_block2, 0},
    {"shared, 4 x SM", "more", run_block4, 0},
    {"shared, 6 x SM", "more", run_block6, 0},
    {"shared, 8 x SM", "as many threads as fit", run_block8, 0},
    {"vector loads", "uint4: 16 bytes a load", run_vectors, 0},
    {"by warp", "a table for each warp of the block", run_warp, 0},
    {"by lane", "a table for each lane, in its own bank: no lanes ever meet", run_lane, 0},
    {"ours", "bf_histogram_async: one launch, more loads on their way", ladder_ours_histogram,
     LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
