/* A counter that all threads of a GPU increment: wrong; right; right with fewer atomics. */
#include "ladder/cuda/gpu.cuh"

enum { THREADS = 256, WARP = 32 };

/* x++ is a load, an addition and a store. Thousands of threads load the same number and store the
 * same number plus one: together they count as one. volatile only keeps each step in the program.
 */
static __global__ void count_plainly(volatile unsigned *x, int64_t n) {
    if (grid_thread() < n) *x = *x + 1;
}

/* The memory itself adds, one update after another: the threads of the whole GPU queue for one
 * word. The lanes of a warp take turns; otherwise the compiler would combine their updates (below).
 */
static __global__ void count_one_by_one(unsigned *x, int64_t n) {
    if (grid_thread() >= n) return;
    for (int lane = 0; lane < WARP; lane++)
        if (threadIdx.x % WARP == lane) atomicAdd(x, 1);
}

/* The usual way. The compiler sees that a warp adds the same to one word, and lets one lane add for
 * all. */
static __global__ void count_atomically(unsigned *x, int64_t n) {
    if (grid_thread() < n) atomicAdd(x, 1);
}

/* Counts so by hand, for cases that a compiler does not see: one lane adds the number of active
 * lanes. */
static __global__ void count_by_warp(unsigned *x, int64_t n) {
    const unsigned here = __ballot_sync(0xffffffff, grid_thread() < n);
    if (threadIdx.x % WARP == 0) atomicAdd(x, __popc(here));
}

/* A block counts in its shared memory, where atomics are close, and adds once. */
static __global__ void count_by_block(unsigned *x, int64_t n) {
    __shared__ unsigned count;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    if (grid_thread() < n) atomicAdd(&count, 1);
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(x, count);
}

/* The counter is set to 0 each time; the time includes that. */
template <typename Kernel> static const char *run(const ladder_task *t, Kernel kernel) {
    unsigned *counter = static_cast<unsigned *>(t->out);
    const cudaError_t error = cudaMemsetAsync(counter, 0, sizeof *counter, stream_of(t));
    if (error != cudaSuccess) return why(error);
    kernel<<<blocks_for(t->n, THREADS), THREADS, 0, stream_of(t)>>>(counter, t->n);
    return launched();
}

static const char *run_plain(const ladder_task *t) { return run(t, count_plainly); }
static const char *run_one_by_one(const ladder_task *t) { return run(t, count_one_by_one); }
static const char *run_atomic(const ladder_task *t) { return run(t, count_atomically); }
static const char *run_warp(const ladder_task *t) { return run(t, count_by_warp); }
static const char *run_block(const ladder_task *t) { return run(t, count_by_block); }

const ladder_rung ladder_gpu_atomics[] = {
    {"plain", "x++ by all threads: updates are lost", run_plain, LADDER_LOSES},
    {"one by one", "an indivisible update for each thread", run_one_by_one, 0},
    {"atomicAdd", "the compiler joins the updates of a warp", run_atomic, 0},
    {"by warp", "a ballot counts a warp's threads, one of them adds", run_warp, 0},
    {"by block", "a counter in shared memory for each block, added once", run_block, 0},
    {NULL, NULL, NULL, 0},
};
