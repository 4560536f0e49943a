/* A small table that every thread reads: in global and in constant memory.
 *
 * Constant memory (64 KiB) has a cache of its own. It gives one word a cycle to all lanes of a
 * warp, as an operand of the instruction that needs it, without a load. But it is one word: lanes
 * that ask for different entries wait for each other. The cache of global memory serves them
 * together. */
#include "ladder/cuda/gpu.cuh"

enum { THREADS = 256 };

/* A program would fill these with cudaMemcpyToSymbol. */
static __device__ unsigned global_table[LADDER_TABLE_SIZE] = {LADDER_TABLE};
static __constant__ unsigned constant_table[LADDER_TABLE_SIZE] = {LADDER_TABLE};

struct in_global {
    static __device__ unsigned entry(int k) { return global_table[k]; }
};

struct in_constant {
    static __device__ unsigned entry(int k) { return constant_table[k]; }
};

/* All lanes read one entry at a time. */
template <typename Table> static __global__ void sum_together(unsigned *out, int64_t n) {
    const int64_t i = grid_thread();
    unsigned sum = 0;
    if (i >= n) return;
    for (int k = 0; k < LADDER_TABLE_SIZE; k++) {
        const unsigned entry = Table::entry(k);
        sum += (entry ^ static_cast<unsigned>(i)) * entry;
    }
    out[i] = sum;
}

/* Each lane begins at an entry of its own; the sum is the same. */
template <typename Table> static __global__ void sum_apart(unsigned *out, int64_t n) {
    const int64_t i = grid_thread();
    unsigned sum = 0;
    if (i >= n) return;
    for (int k = 0; k < LADDER_TABLE_SIZE; k++) {
        const unsigned entry = Table::entry((k + threadIdx.x) % LADDER_TABLE_SIZE);
        sum += (entry ^ static_cast<unsigned>(i)) * entry;
    }
    out[i] = sum;
}

typedef void table_kernel(unsigned *out, int64_t n);

static const char *run(const ladder_task *t, table_kernel *kernel) {
    kernel<<<blocks_for(t->n, THREADS), THREADS, 0, stream_of(t)>>>(static_cast<unsigned *>(t->out),
                                                                    t->n);
    return launched();
}

static const char *run_global(const ladder_task *t) { return run(t, sum_together<in_global>); }
static const char *run_constant(const ladder_task *t) { return run(t, sum_together<in_constant>); }
static const char *run_global_apart(const ladder_task *t) { return run(t, sum_apart<in_global>); }
static const char *run_constant_apart(const ladder_task *t) {
    return run(t, sum_apart<in_constant>);
}

const ladder_rung ladder_gpu_constant[] = {
    {"global", "all lanes of a warp read one entry, from global memory", run_global, 0},
    {"constant", "the same, from constant memory", run_constant, 0},
    {"global, apart", "each lane reads another entry, from global memory", run_global_apart, 0},
    {"constant, apart", "the same, from constant memory: one lane after another",
     run_constant_apart, 0},
    {NULL, NULL, NULL, 0},
};
