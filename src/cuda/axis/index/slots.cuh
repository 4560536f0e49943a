/* The kernel that reduces slots and pieces of giants: a thread takes some columns.
 *
 * template <class A>: an accumulator of a column has
 *   E              the type of elements in memory
 *   V              columns of a thread
 *   open()         makes it empty
 *   take(p, e, has, row)   takes an element of a row; !has: there is none
 *   proven()       what it has is exact; if not, it takes no more
 *   merge(p, other)        takes what the other, a thread's of the same slot, has
 *   finish(p, r, rows)     writes the result; false: it takes more than doubles
 *   add(p, rows, to)       adds it to the words of a giant, or to a state */
#ifndef BF_CUDA_AXIS_INDEX_SLOTS_CUH
#define BF_CUDA_AXIS_INDEX_SLOTS_CUH

#include "cuda/axis/index/results.cuh"
#include "cuda/axis/layout.cuh"

/* Elements of neighbouring columns, loaded at once. */
template <class E, int V> struct alignas(V * sizeof(E)) bf_cuda_index_elements { E e[V]; };

/* Where a result is added up: the words of a giant, or a state. */
struct bf_cuda_index_target {
    const bf_cuda_index_params &p;
    int64_t number;

    __device__ __forceinline__ bf_cuda_index_target(const bf_cuda_index_params &params,
                                                    const bf_cuda_index_task &t, int64_t column)
        : p(params) {
        bool states = p.states.counts != nullptr;
        int64_t slot = t.slot;
        if (states && t.piece) slot = p.order.giants[t.slot].slot;
        if (!states && t.piece) {
            const unsigned copies = bf_cuda_index_copies(p);
            slot = slot * copies + blockIdx.x % copies;
        }
        number = slot * p.width + column + (states ? p.states.first : 0);
    }
    /* Adds x to word i of the words of a state (rules/reduce/state.h), for sums. */
    __device__ __forceinline__ void add(int i, int64_t x) const {
        const bf_cuda_aggregate_params &a = p.states.aggregate;
        if (p.states.counts == nullptr)
            bf_cuda_add_word(p.pool + number * p.words + i, x);
        else if (i == BF_SUM_COUNT)
            bf_cuda_add_word(p.states.counts + number, x);
        else if (i >= BF_SUM_LIMBS)
            add_limb(i, x);
        else if (x != 0)
            bf_cuda_count_special(a, number, i, x);
    }
    __device__ __forceinline__ void add_limb(int i, int64_t x) const {
        const bf_cuda_band_params *to = p.states.aggregate.band;
        while (i >= to->part.at + to->part.layout.limbs) to++;
        bf_cuda_add_word(to->words + number * to->limbs + (i - to->part.at - to->first), x);
    }
};

/* Takes rows [begin, end) of the order, so many at a time. Row numbers are loaded ahead of rows. */
template <class A, int AHEAD = 4>
static __device__ __forceinline__ void bf_cuda_index_take(const bf_cuda_index_params &p,
                                                          const bf_cuda_index_task &t,
                                                          int64_t column, A (&sum)[A::V]) {
    typedef bf_cuda_index_elements<typename A::E, A::V> elements;
    const typename A::E *from = (const typename A::E *)p.a + column;
    uint32_t next[AHEAD];
#pragma unroll
    for (int k = 0; k < AHEAD; k++)
        next[k] = t.begin + k < t.end ? bf_cuda_index_row(p.order, t.begin + k) : 0;
    for (uint32_t i = t.begin; i < t.end; i += AHEAD) {
        elements x[AHEAD];
        uint32_t row[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            row[k] = next[k];
            x[k] = elements{};
            if (i + k < t.end) x[k] = *(const elements *)(from + row[k] * p.width);
        }
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
            if (i + AHEAD + k < t.end) next[k] = bf_cuda_index_row(p.order, i + AHEAD + k);
        bool proven = true; /* so far: it is known while the rows are on their way */
#pragma unroll
        for (int v = 0; v < A::V; v++) proven = proven && sum[v].proven();
        if (!proven) return;
#pragma unroll
        for (int k = 0; k < AHEAD; k++)
#pragma unroll
            for (int v = 0; v < A::V; v++) sum[v].take(p, x[k].e[v], i + k < t.end, row[k]);
    }
}

/* Leaves the results of a thread to words.cu. */
static __device__ __forceinline__ void bf_cuda_index_mark(const bf_cuda_index_params &p,
                                                          int64_t i) {
    atomicOr(&p.marks[i / 32], 1u << (i % 32));
    p.board->marked = 1;
}

/* Writes the results of a task, or adds them to words; i: the number of its mark. */
template <class A>
static __device__ __forceinline__ void
bf_cuda_index_deliver(const bf_cuda_index_params &p, const bf_cuda_index_task &t, int64_t column,
                      A (&sum)[A::V], int64_t i) {
    const uint32_t rows = t.end - t.begin;
    const bool adds = t.piece || p.states.counts != nullptr;
    bool proven = true;
#pragma unroll
    for (int v = 0; v < A::V; v++) proven = proven && sum[v].proven();
    if (!proven) {
        bf_cuda_index_mark(p, i);
        return;
    }
#pragma unroll
    for (int v = 0; v < A::V; v++) {
        if (!adds)
            proven = sum[v].finish(p, t.slot * p.width + column + v, rows) && proven;
        else if (rows > 0)
            sum[v].add(p, rows, bf_cuda_index_target(p, t, column + v));
    }
    if (!proven) bf_cuda_index_mark(p, i);
}

/* Short rows are taken by few threads, each of which has more of them under way. */
template <class A, int AHEAD = 4>
static __global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS, AHEAD > 4 ? 3 : 4)
    bf_cuda_index_reduce(const __grid_constant__ bf_cuda_index_params p) {
    bf_cuda_wait_for_previous();
    const uint64_t giants = p.board->giants;
    const int64_t step = (int64_t)gridDim.x * BF_CUDA_INDEX_THREADS;
    const int64_t end = (p.order.slots + (uint32_t)giants) * p.lanes;
    int64_t i = blockIdx.x * (int64_t)BF_CUDA_INDEX_THREADS + threadIdx.x;
    if (p.phase > 0) i += p.order.slots * p.lanes;
    for (; i < end; i += step) {
        bf_cuda_index_task t;
        int64_t column;
        const int64_t number = bf_cuda_axis_divide(i, p.lanes, &column);
        column *= A::V;
        if (!bf_cuda_index_find(p.order, giants, number, &t)) continue;
        A sum[A::V];
#pragma unroll
        for (int v = 0; v < A::V; v++) sum[v].open();
        bf_cuda_index_take<A, AHEAD>(p, t, column, sum);
        bf_cuda_index_deliver<A>(p, t, column, sum, i);
    }
}

/* --- elements that lie in order --- */

/* Takes every PARTS-th element of a task. */
template <class A>
static __device__ __forceinline__ void bf_cuda_index_take_part(const bf_cuda_index_params &p,
                                                               const bf_cuda_index_task &t,
                                                               unsigned part, A *sum) {
    enum { AHEAD = 4, PARTS = BF_CUDA_INDEX_PARTS };
    typedef typename A::E E;
    for (uint32_t i = t.begin + part; i < t.end; i += AHEAD * PARTS) {
        E x[AHEAD];
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++) {
            x[k] = E{};
            if (i + k * PARTS < t.end) x[k] = ((const E *)p.a)[i + k * PARTS];
        }
#pragma unroll
        for (uint32_t k = 0; k < AHEAD; k++)
            sum->take(p, x[k], i + k * PARTS < t.end, i + k * PARTS);
        if (!sum->proven()) return;
    }
}

/* Returns the accumulator of another of these lanes. */
template <class A>
static __device__ __forceinline__ A bf_cuda_index_exchange(unsigned lanes, const A &mine,
                                                           unsigned by) {
    enum { WORDS = (sizeof(A) + 3) / 4 };
    unsigned words[WORDS];
    A other;
    memcpy(words, &mine, sizeof(A));
#pragma unroll
    for (int i = 0; i < WORDS; i++) words[i] = __shfl_xor_sync(lanes, words[i], by);
    memcpy(&other, words, sizeof(A));
    return other;
}

/* Some neighbouring threads take a slot or a piece together. */
template <class A>
static __global__ void __launch_bounds__(BF_CUDA_INDEX_THREADS, 4)
    bf_cuda_index_reduce_values(const __grid_constant__ bf_cuda_index_params p) {
    enum { PARTS = BF_CUDA_INDEX_PARTS, TASKS = BF_CUDA_INDEX_THREADS / PARTS };
    bf_cuda_wait_for_previous();
    const uint64_t giants = p.board->giants;
    const int64_t end = p.order.slots + (uint32_t)giants;
    const unsigned part = threadIdx.x % PARTS;
    const unsigned lanes = ((1u << PARTS) - 1) << (threadIdx.x % 32 - part);
    int64_t i = blockIdx.x * (int64_t)TASKS + threadIdx.x / PARTS;
    for (; i < end; i += (int64_t)gridDim.x * TASKS) {
        bf_cuda_index_task t;
        if (!bf_cuda_index_find(p.order, giants, i, &t)) continue;
        A sum[1];
        sum[0].open();
        bf_cuda_index_take_part(p, t, part, sum);
#pragma unroll
        for (unsigned by = PARTS / 2; by > 0; by /= 2)
            sum[0].merge(p, bf_cuda_index_exchange(lanes, sum[0], by));
        if (part == 0) bf_cuda_index_deliver<A>(p, t, 0, sum, i);
    }
}

/* The kernel of accumulators of one column. */
template <class A>
static bf_cuda_index_kernel bf_cuda_index_kernel_of(const bf_cuda_index_params &p) {
    return bf_cuda_index_in_order(&p) ? bf_cuda_index_reduce_values<A> : bf_cuda_index_reduce<A>;
}

#endif
