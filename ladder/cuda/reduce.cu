/* Reduction of ints on a GPU: from two launches with a tree in shared memory to one launch at the
 * speed of the memory. Each rung changes one thing.
 *
 * The operations are associative, so any grouping works. Each thread reduces elements, the threads
 * of a block join their values, and the few values of the blocks are joined at the end. The rungs
 * differ in how a block joins, in how the blocks' values meet, and in how memory is read. */
#include "ladder/cuda/gpu.cuh"

#include <climits>

enum { THREADS = 256, WARP = 32, WARPS = THREADS / WARP, FEW_BLOCKS = 32, GUARDED_BLOCKS = 24 };

/* ---- the operations -------------------------------------------------------------------------- */

/* Sums and products are modulo 2^32, like unsigned arithmetic. There are atomic instructions for
 * sums and extremes; others are made of compare-and-swap: try until no other thread came in
 * between. */
struct sum {
    static __device__ int identity() { return 0; }
    static __device__ int join(int a, int b) {
        return static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b));
    }
    static __device__ void join_atomically(int *into, int value) { atomicAdd(into, value); }
};

struct product {
    static __device__ int identity() { return 1; }
    static __device__ int join(int a, int b) {
        return static_cast<int>(static_cast<unsigned>(a) * static_cast<unsigned>(b));
    }
    static __device__ void join_atomically(int *into, int value) {
        int seen = atomicAdd(into, 0);
        for (int before = ~seen; before != seen;) {
            before = seen;
            seen = atomicCAS(into, before, join(before, value));
        }
    }
};

struct maximum {
    static __device__ int identity() { return INT_MIN; }
    static __device__ int join(int a, int b) { return max(a, b); }
    static __device__ void join_atomically(int *into, int value) { atomicMax(into, value); }
};

struct minimum {
    static __device__ int identity() { return INT_MAX; }
    static __device__ int join(int a, int b) { return min(a, b); }
    static __device__ void join_atomically(int *into, int value) { atomicMin(into, value); }
};

/* Calls launch with the operation as a value of its type, for the kernels are templates. */
template <typename Launch> static const char *by_op(const ladder_task *t, Launch launch) {
    switch (t->op) {
    case BF_SUM: launch(sum()); break;
    case BF_PROD: launch(product()); break;
    case BF_MAX: launch(maximum()); break;
    default: launch(minimum()); break;
    }
    return launched();
}

static const int *input(const ladder_task *t) { return static_cast<const int *>(t->a); }
static int *partials(const ladder_task *t) { return static_cast<int *>(t->partial); }
static int *result(const ladder_task *t) { return static_cast<int *>(t->out); }

/* ---- steps that several rungs take ----------------------------------------------------------- */

/* Grid-stride: neighbouring threads take neighbouring elements, so that the 32 loads of a warp fall
 * into one line of memory. Then each moves on by the width of the grid. Any grid covers any n. */
template <typename Op> static __device__ int take(const int *in, int64_t n) {
    int value = Op::identity();
    for (int64_t i = grid_thread(); i < n; i += grid_threads()) value = Op::join(value, in[i]);
    return value;
}

/* The tree: the upper half of the values is joined to the lower half, until one is left. All
 * threads must have written a level before any reads it: eight barriers for 256 threads. */
template <typename Op> static __device__ int join_by_tree(int value) {
    __shared__ int values[THREADS];
    values[threadIdx.x] = value;
    __syncthreads();
    for (int half = THREADS / 2; half > 0; half /= 2) {
        if (threadIdx.x < half)
            values[threadIdx.x] = Op::join(values[threadIdx.x], values[threadIdx.x + half]);
        __syncthreads();
    }
    return values[0];
}

/* The threads of a warp run together and read each other's registers: five steps, no barrier. */
template <typename Op> static __device__ int join_warp(int value) {
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value = Op::join(value, __shfl_down_sync(0xffffffff, value, offset));
    return value;
}

/* Each warp joins its values; then the first warp joins the warps' values: one barrier. Thread 0
 * gets the result. */
template <typename Op> static __device__ int join_by_shuffles(int value) {
    __shared__ int warps[WARPS];
    value = join_warp<Op>(value);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x >= WARP) return value;
    return join_warp<Op>(threadIdx.x < WARPS ? warps[threadIdx.x] : Op::identity());
}

/* Reads the blocks' values past the first-level cache, which does not see the writes of other
 * multiprocessors. */
template <typename Op> static __device__ int take_partials(const int *partial) {
    int value = Op::identity();
    for (int i = threadIdx.x; i < gridDim.x; i += THREADS)
        value = Op::join(value, __ldcg(partial + i));
    return value;
}

/* ---- rung 1: two launches -------------------------------------------------------------------- */

/* A block cannot wait for another one, but a launch waits for the one before it. The second launch
 * reduces the blocks' values of the first. */
template <typename Op> static __global__ void reduce_pass(const int *in, int64_t n, int *out) {
    const int value = join_by_tree<Op>(take<Op>(in, n));
    if (threadIdx.x == 0) out[blockIdx.x] = value;
}

/* Managed memory has one address on the host and on the GPU, and moves to where it is used. The
 * time here is that of memory that has moved already. 32 blocks leave most of a GPU idle. */
static const char *run_two_launches(const ladder_task *t) {
    if (!t->managed) return "no managed memory";
    return by_op(t, [=](auto op) {
        typedef decltype(op) Op;
        const cudaStream_t stream = stream_of(t);
        reduce_pass<Op><<<FEW_BLOCKS, THREADS, 0, stream>>>(static_cast<const int *>(t->managed),
                                                            t->n, partials(t));
        reduce_pass<Op><<<1, THREADS, 0, stream>>>(partials(t), FEW_BLOCKS, result(t));
    });
}

/* ---- rung 2: one launch, atomics ------------------------------------------------------------- */

template <typename Op> static __global__ void set_identity(int *out) { *out = Op::identity(); }

/* Each block joins its value to the result by itself. The result must be set beforehand: a second
 * launch after all, if a small one. */
template <typename Op>
static __global__ void reduce_atomically(const int *in, int64_t n, int *out) {
    const int value = join_by_tree<Op>(take<Op>(in, n));
    if (threadIdx.x == 0) Op::join_atomically(out, value);
}

static const char *run_atomics(const ladder_task *t) {
    return by_op(t, [=](auto op) {
        typedef decltype(op) Op;
        set_identity<Op><<<1, 1, 0, stream_of(t)>>>(result(t));
        reduce_atomically<Op><<<FEW_BLOCKS, THREADS, 0, stream_of(t)>>>(input(t), t->n, result(t));
    });
}

/* ---- rungs 3 to 5: one launch, and the last block finishes ----------------------------------- */

/* No block waits: the last one finds all values there. Nothing needs to be set beforehand. Take is
 * how a thread reduces its elements, and Join how a block joins its threads' values. */
template <typename Op, int Take(const int *, int64_t), int Join(int)>
static __global__ void reduce_guarded(const int *in, int64_t n, int *partial, unsigned *ticket,
                                      int *out) {
    int value = Join(Take(in, n));
    if (!is_last_block(value, partial, ticket)) return;
    value = Join(take_partials<Op>(partial));
    if (threadIdx.x == 0) *out = value;
}

template <typename Op, int Take(const int *, int64_t), int Join(int)>
static void launch_guarded(const ladder_task *t, int blocks) {
    reduce_guarded<Op, Take, Join>
        <<<blocks, THREADS, 0, stream_of(t)>>>(input(t), t->n, partials(t), t->ticket, result(t));
}

static const char *run_guarded(const ladder_task *t, int blocks) {
    return by_op(t, [=](auto op) {
        typedef decltype(op) Op;
        launch_guarded<Op, take<Op>, join_by_tree<Op>>(t, blocks);
    });
}

/* A block runs on one multiprocessor: 24 blocks use 24 of them. */
static const char *run_guarded_24(const ladder_task *t) { return run_guarded(t, GUARDED_BLOCKS); }

/* All of them work. Their speed now depends on the bytes under way: by Little's law bandwidth x
 * latency, about 25 KB for each multiprocessor of a large GPU. */
static const char *run_guarded_2(const ladder_task *t) {
    return run_guarded(t, resident_blocks(t, 2));
}

/* As many threads as a multiprocessor holds, each with loads under way. */
static const char *run_guarded_8(const ladder_task *t) {
    return run_guarded(t, resident_blocks(t, 8));
}

/* ---- rung 6: warp shuffles ------------------------------------------------------------------- */

static const char *run_shuffled(const ladder_task *t) {
    return by_op(t, [=](auto op) {
        typedef decltype(op) Op;
        launch_guarded<Op, take<Op>, join_by_shuffles<Op>>(t, resident_blocks(t, 8));
    });
}

/* ---- rung 7: vector loads -------------------------------------------------------------------- */

template <typename Op> static __device__ int join_quad(int4 q) {
    return Op::join(Op::join(q.x, q.y), Op::join(q.z, q.w));
}

/* An int4 is one load of 16 bytes. Four of them, none of which waits for another, are 64 bytes
 * under way for each thread. Elements that fill no int4 come last. */
template <typename Op> static __device__ int take_vectors(const int *in, int64_t n) {
    const int4 *quads = reinterpret_cast<const int4 *>(in);
    const int64_t step = grid_threads(), count = n / 4;
    int64_t i = grid_thread();
    int value = Op::identity();
    for (; i + 3 * step < count; i += 4 * step) {
        const int4 q0 = quads[i], q1 = quads[i + step];
        const int4 q2 = quads[i + 2 * step], q3 = quads[i + 3 * step];
        const int left = Op::join(join_quad<Op>(q0), join_quad<Op>(q1));
        const int right = Op::join(join_quad<Op>(q2), join_quad<Op>(q3));
        value = Op::join(value, Op::join(left, right));
    }
    for (; i < count; i += step) value = Op::join(value, join_quad<Op>(quads[i]));
    if (grid_thread() < n % 4) value = Op::join(value, in[4 * count + grid_thread()]);
    return value;
}

static const char *run_vectors(const ladder_task *t) {
    return by_op(t, [=](auto op) {
        typedef decltype(op) Op;
        launch_guarded<Op, take_vectors<Op>, join_by_shuffles<Op>>(t, resident_blocks(t, 8));
    });
}

const ladder_rung ladder_gpu_reduce[] = {
    {"two launches", "tree in shared memory, 32 blocks, managed memory", run_two_launches, 0},
    {"atomics", "one launch: each block joins its value by an atomic", run_atomics, 0},
    {"guard, 24", "one launch: the last block finishes; 24 blocks", run_guarded_24, 0},
    {"guard, 2 x SM", "2 blocks on each multiprocessor", run_guarded_2, 0},
    {"guard, 8 x SM", "8 blocks on each multiprocessor", run_guarded_8, 0},
    {"shuffles", "warps join in registers, not in shared memory", run_shuffled, 0},
    {"vector loads", "int4: 16 bytes a load, four loads on their way", run_vectors, 0},
    {"ours", "bf_reduce_async: exact; a product in 128 bits", ladder_ours_reduce, LADDER_OURS},
    {"ours, to host", "bf_reduce: the host has the result", ladder_ours_reduce_to_host,
     LADDER_OURS | LADDER_ON_HOST},
    {NULL, NULL, NULL, 0},
};
