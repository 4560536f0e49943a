/* The dot product on a GPU: partial sums that the host adds, then all in one launch.
 *
 * Float addition is not associative: each grouping rounds differently. So the rungs differ in the
 * last digits, and so does the same rung with another grid. Only ours is the exact value, rounded
 * once. */
#include "ladder/cuda/gpu.cuh"

#include <cstring>

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, FEW_BLOCKS = 32 };

static const float *left(const ladder_task *t) { return static_cast<const float *>(t->a); }
static const float *right(const ladder_task *t) { return static_cast<const float *>(t->b); }
static float *partials(const ladder_task *t) { return static_cast<float *>(t->partial); }

/* ---- partial sums, finished by the host ------------------------------------------------------ */

/* Each thread strides over the arrays; then the block adds its sums by a tree in shared memory. */
static __global__ void dot_partials(const float *a, const float *b, int64_t n, float *partial) {
    __shared__ float sums[THREADS];
    float sum = 0;
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) sum += a[i] * b[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partial[blockIdx.x] = sums[0];
}

/* A GPU adds a few numbers no faster than the host; but the host must wait for them. */
static const char *finish_on_host(const ladder_task *t, int blocks) {
    static float host[LADDER_PARTIALS];
    cudaError_t error = cudaMemcpyAsync(host, t->partial, blocks * sizeof *host,
                                        cudaMemcpyDeviceToHost, stream_of(t));
    if (error == cudaSuccess) error = cudaStreamSynchronize(stream_of(t));
    float sum = 0;
    for (int i = 0; i < blocks; i++) sum += host[i];
    memcpy(t->host, &sum, sizeof sum);
    return why(error);
}

static const char *run_partials(const ladder_task *t, int blocks) {
    dot_partials<<<blocks, THREADS, 0, stream_of(t)>>>(left(t), right(t), t->n, partials(t));
    const char *problem = launched();
    return problem ? problem : finish_on_host(t, blocks);
}

static const char *run_few(const ladder_task *t) { return run_partials(t, FEW_BLOCKS); }
static const char *run_many(const ladder_task *t) { return run_partials(t, resident_blocks(t, 8)); }

/* ---- all in one launch ----------------------------------------------------------------------- */

static __device__ float join_warp(float sum) {
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, offset);
    return sum;
}

/* In registers within a warp, through shared memory between warps. Thread 0 gets the sum. */
static __device__ float join_block(float sum) {
    __shared__ float warps[WARPS];
    sum = join_warp(sum);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x >= WARP) return sum;
    return join_warp(threadIdx.x < WARPS ? warps[threadIdx.x] : 0);
}

static __device__ __forceinline__ float dot_quad(float4 a, float4 b) {
    return (a.x * b.x + a.y * b.y) + (a.z * b.z + a.w * b.w);
}

/* Sixteen bytes a load, and two pairs of them under way. */
static __device__ float take(const float *a, const float *b, int64_t n) {
    const float4 *u = reinterpret_cast<const float4 *>(a), *v = reinterpret_cast<const float4 *>(b);
    const int64_t step = grid_threads(), quads = n / 4;
    int64_t i = grid_thread();
    float sum = 0;
    for (; i + step < quads; i += 2 * step) {
        const float4 u0 = u[i], u1 = u[i + step], v0 = v[i], v1 = v[i + step];
        sum += dot_quad(u0, v0) + dot_quad(u1, v1);
    }
    if (i < quads) sum += dot_quad(u[i], v[i]);
    if (grid_thread() < n % 4) sum += a[4 * quads + grid_thread()] * b[4 * quads + grid_thread()];
    return sum;
}

/* The last block adds the blocks' sums, in their order. */
static __global__ void dot_guarded(const float *a, const float *b, int64_t n, float *partial,
                                   unsigned *ticket, float *out) {
    float sum = join_block(take(a, b, n));
    if (!is_last_block(sum, partial, ticket)) return;
    sum = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS) sum += __ldcg(partial + i);
    sum = join_block(sum);
    if (threadIdx.x == 0) *out = sum;
}

static const char *run_guarded(const ladder_task *t) {
    dot_guarded<<<resident_blocks(t, 8), THREADS, 0, stream_of(t)>>>(
        left(t), right(t), t->n, partials(t), t->ticket, static_cast<float *>(t->out));
    return launched();
}

const ladder_rung ladder_gpu_dot[] = {
    {"partials, 32", "32 blocks leave a sum each, the host adds them up", run_few, LADDER_ON_HOST},
    {"partials, 8xSM", "8 blocks on each multiprocessor, the host adds up", run_many,
     LADDER_ON_HOST},
    {"one launch", "float4, warp shuffles, the last block adds up; stays on the GPU", run_guarded,
     0},
    {"ours", "bf_dot_async; stays on the GPU", ladder_ours_dot, LADDER_OURS},
    {"ours, to host", "bf_dot: the host has the result", ladder_ours_dot_to_host,
     LADDER_OURS | LADDER_ON_HOST},
    {NULL, NULL, NULL, 0},
};
