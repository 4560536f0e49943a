/* Addition on a GPU: of two numbers, then of arrays, element by element.
 *
 * Each element is read once and written once, so the speed of the memory is all there is to gain. A
 * GPU reaches it only with enough bytes under way at any time. */
#include "ladder/cuda/gpu.cuh"

#include <climits>

enum { THREADS = 256 };

/* ---- two numbers ----------------------------------------------------------------------------- */

static __global__ void add_numbers(int a, int b, int *sum) { *sum = a + b; }

/* The first program of every course: one thread adds, and the host copies the sum back. The way
 * there and back takes the time. */
static const char *run_numbers(const ladder_task *t) {
    int *sum = static_cast<int *>(t->out);
    add_numbers<<<1, 1, 0, stream_of(t)>>>(2, 7, sum);
    const char *problem = launched();
    if (problem) return problem;
    const cudaError_t error =
        cudaMemcpyAsync(t->host, sum, sizeof *sum, cudaMemcpyDeviceToHost, stream_of(t));
    return why(error == cudaSuccess ? cudaStreamSynchronize(stream_of(t)) : error);
}

const ladder_rung ladder_gpu_numbers[] = {
    {"launch", "one thread adds two numbers; the sum is copied to the host", run_numbers,
     LADDER_ON_HOST},
    {NULL, NULL, NULL, 0},
};

/* ---- arrays ---------------------------------------------------------------------------------- */

typedef struct vectors {
    const float *a, *b;
    float *out;
    int64_t n;
} vectors;

static vectors of(const ladder_task *t) {
    return {static_cast<const float *>(t->a), static_cast<const float *>(t->b),
            static_cast<float *>(t->out), t->n};
}

/* One block an element, and one thread a block: one of the 32 lanes of a warp works, and each load
 * fetches 32 bytes to use 4. */
static __global__ void add_by_block(vectors v) {
    for (int64_t i = blockIdx.x; i < v.n; i += gridDim.x) v.out[i] = v.a[i] + v.b[i];
}

static const char *run_by_block(const ladder_task *t) {
    const unsigned blocks = t->n < INT_MAX ? static_cast<unsigned>(t->n) : INT_MAX;
    add_by_block<<<blocks, 1, 0, stream_of(t)>>>(of(t));
    return launched();
}

/* One thread an element: a warp reads 128 bytes in a row. */
static __global__ void add_scalar(vectors v) {
    const int64_t i = grid_thread();
    if (i < v.n) v.out[i] = v.a[i] + v.b[i];
}

static const char *run_scalar(const ladder_task *t) {
    add_scalar<<<blocks_for(t->n, THREADS), THREADS, 0, stream_of(t)>>>(of(t));
    return launched();
}

/* One thread four elements: two loads and a store of 16 bytes each (LDG.E.128 and STG.E.128 in the
 * machine's code). The first threads also take the last n mod 4 elements. */
static __global__ void add_float4(vectors v) {
    const int64_t i = grid_thread(), quads = v.n / 4;
    if (i < quads) {
        const float4 a = reinterpret_cast<const float4 *>(v.a)[i];
        const float4 b = reinterpret_cast<const float4 *>(v.b)[i];
        reinterpret_cast<float4 *>(v.out)[i] =
            make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
    if (i < v.n % 4) v.out[4 * quads + i] = v.a[4 * quads + i] + v.b[4 * quads + i];
}

/* With the grid of the scalar rung three threads of four find nothing to do, but must be started.
 */
static const char *run_float4_same(const ladder_task *t) {
    add_float4<<<blocks_for(t->n, THREADS), THREADS, 0, stream_of(t)>>>(of(t));
    return launched();
}

/* With a quarter of the threads all work. On small arrays that is too few blocks to fill the
 * machine, and a launch takes longer than the work: float4 pays only for large arrays. */
static const char *run_float4_quarter(const ladder_task *t) {
    add_float4<<<blocks_for((t->n + 3) / 4, THREADS), THREADS, 0, stream_of(t)>>>(of(t));
    return launched();
}

const ladder_rung ladder_gpu_add[] = {
    {"block", "one block of one thread for each element", run_by_block, 0},
    {"scalar", "one thread for each element", run_scalar, 0},
    {"float4", "16 bytes a load, the same grid: three threads of four idle", run_float4_same, 0},
    {"float4, 1/4", "16 bytes a load, a quarter of the grid", run_float4_quarter, 0},
    {"ours", "bf_map_async", ladder_ours_add, LADDER_OURS},
    {NULL, NULL, NULL, 0},
};
