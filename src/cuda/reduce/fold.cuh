/* The loop over one array: whole vectors, the next ones on their way while some are taken, and the
 * elements beside them. And the reductions that are a Fold and no sum (kernel.cuh): extremes and
 * products of integers. */
#ifndef BF_CUDA_REDUCE_FOLD_CUH
#define BF_CUDA_REDUCE_FOLD_CUH

#include "cuda/reduce/launch.cuh"
#include "cuda/runtime/elements.cuh"

/* A block's elements, `tile` vectors a thread at a time. Taker: has a Fold's take() and take_one().
 */
template <class E, int tile> struct bf_cuda_sweep {
    using Elements = bf_cuda_operands<E, false>;
    static constexpr int N = Elements::N;

    template <class Taker> static __device__ void run(const bf_cuda_params &p, Taker &taker) {
        Elements e(p);
        __builtin_assume(__isGlobal(e.a));
        int64_t whole = e.before > 0, end = e.end / N; /* vectors [whole, end) are */
        take_vectors(e, whole, end, taker);
        if (blockIdx.x == 0) take_ends(e, whole * N, end * N, taker);
    }

  private:
    /* This thread's vectors: the next are on their way while some are taken. */
    template <class Taker>
    static __device__ __forceinline__ void take_vectors(const Elements &e, int64_t i, int64_t end,
                                                        Taker &taker) {
        const int64_t stride = blockDim.x, last = (tile - 1) * stride;
        uint4 next[tile], now[tile];
        i += (int64_t)blockIdx.x * tile * stride + threadIdx.x;
        if (i + last < end) load(next, e, i);
        while (i + last < end) {
            int64_t at = i;
#pragma unroll
            for (int k = 0; k < tile; k++) now[k] = next[k];
            i += (int64_t)gridDim.x * tile * stride;
            if (i + last < end) load(next, e, i);
#pragma unroll
            for (int k = 0; k < tile; k++) take(e, now[k], at + k * stride, taker);
        }
        take_last(e, i, end, taker);
    }

    /* Fewer vectors than a tile. */
    template <class Taker>
    static __device__ __forceinline__ void take_last(const Elements &e, int64_t i, int64_t end,
                                                     Taker &taker) {
        uint4 v[tile];
#pragma unroll
        for (int k = 0; k < tile; k++)
            if (i + k * blockDim.x < end) v[k] = vector(e, i + k * blockDim.x);
#pragma unroll
        for (int k = 0; k < tile; k++)
            if (i + k * blockDim.x < end) take(e, v[k], i + k * blockDim.x, taker);
    }

    /* Read once: in the cache the first to go. */
    static __device__ __forceinline__ uint4 vector(const Elements &e, int64_t i) {
        return __ldcs((const uint4 *)e.a + i);
    }

    static __device__ __forceinline__ void load(uint4 (&to)[tile], const Elements &e, int64_t i) {
#pragma unroll
        for (int k = 0; k < tile; k++) to[k] = vector(e, i + k * blockDim.x);
    }

    template <class Taker>
    static __device__ __forceinline__ void take(const Elements &e, uint4 v, int64_t i,
                                                Taker &taker) {
        bf_cuda_elements<E> elements(v);
        taker.take(elements.e, i * N - e.before);
    }

    /* The elements beside the whole vectors: those before `first`, and from `last` on. */
    template <class Taker>
    static __device__ void take_ends(const Elements &e, int64_t first, int64_t last, Taker &taker) {
        if (last < first) last = first;
        int64_t head = e.before + threadIdx.x, tail = last + threadIdx.x;
        if (head < first && head < e.end) taker.take_one(e.element(head), head - e.before);
        if (tail < e.end) taker.take_one(e.element(tail), tail - e.before);
    }
};

template <class E, class Fold> struct bf_cuda_fold_loop {
    using Side = Fold;
    using Block = bf_cuda_block<bf_cuda_fold_loop>;
    static constexpr int sums = 0;
    static constexpr int threads = BF_CUDA_THREADS;
    static constexpr int blocks = Fold::words > 4 ? 1 : 2; /* many words need many registers */
    static constexpr int tile = 4; /* vectors that a thread reads before it takes them */
    struct Shared {};
    static int tables(int) { return 0; }
    static int shared_bytes(int, int) { return 0; }

    static __device__ unsigned run(const bf_cuda_params &p, Block *, bf_cuda_no_look, int64_t *,
                                   Side &side) {
        side.start();
        bf_cuda_sweep<E, tile>::run(p, side);
        __syncthreads();
        return 0;
    }

    static __device__ void finish(const bf_cuda_params &p, Block *block) {
        const bf_cuda_series none = {};
        if (p.value == nullptr)
            bf_cuda_send_sum(p, none, block->sums.total, 0, 0, block->side.total.at, Side::words);
        else if (threadIdx.x == 0)
            finish_value(p, block->side.total.at);
    }

    /* As bf_cuda_finish_words, but of one op and dtype. */
    static __device__ void finish_value(const bf_cuda_params &p, const int64_t *part) {
        __shared__ bf_cuda_desk desk;
        bf_reduce_options options = bf_cuda_options(p.request);
        bf_value value = bf_value_from_bits(BF_U64, 0);
        Side::state(part, p.count, p.index, desk.words);
        bf_status status = bf_result_of_kind(Side::kind, Side::op, Side::dtype, desk.words,
                                             &options, &value, &desk.work);
        if (status != BF_OK) value.dtype = BF_NONE;
        *p.value = value;
    }
};

#endif
