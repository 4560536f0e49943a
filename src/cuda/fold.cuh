/* The loop of reductions that are a Fold and no sum (reduce.cuh): extremes and products of
 * integers. */
#ifndef BF_CUDA_FOLD_CUH
#define BF_CUDA_FOLD_CUH

#include "elements.cuh"
#include "finish.cuh"

template <class E, class Fold> struct bf_cuda_fold_loop {
    using Side = Fold;
    using Elements = bf_cuda_operands<E, false>;
    using Block = bf_cuda_block<bf_cuda_fold_loop>;
    static constexpr int sums = 0, N = Elements::N;
    static constexpr int threads = BF_CUDA_THREADS;
    static constexpr int blocks = Fold::words > 4 ? 1 : 2; /* many words need many registers */
    static constexpr int tile = 4; /* vectors that a thread reads before it takes them */
    struct Shared {};
    static int tables(int) { return 0; }
    static int shared_bytes(int, int) { return 0; }

    static __device__ unsigned run(const bf_cuda_params &p, Block *, int64_t *, Side &side) {
        Elements e(p, 0, 0);
        int64_t whole = e.before > 0, end = e.end / N; /* vectors [whole, end) are */
        side.start();
        take_vectors(e, whole, end, side);
        if (blockIdx.x == 0) take_ends(e, whole * N, end * N, side);
        __syncthreads();
        return 0;
    }

    /* This thread's vectors: the next are on their way while some are taken. */
    static __device__ __forceinline__ void take_vectors(const Elements &e, int64_t i, int64_t end,
                                                        Side &side) {
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
            for (int k = 0; k < tile; k++) take(e, now[k], at + k * stride, side);
        }
        take_last(e, i, end, side);
    }

    /* Fewer vectors than a tile. */
    static __device__ __forceinline__ void take_last(const Elements &e, int64_t i, int64_t end,
                                                     Side &side) {
        uint4 v[tile];
#pragma unroll
        for (int k = 0; k < tile; k++)
            if (i + k * blockDim.x < end) v[k] = vector(e, i + k * blockDim.x);
#pragma unroll
        for (int k = 0; k < tile; k++)
            if (i + k * blockDim.x < end) take(e, v[k], i + k * blockDim.x, side);
    }

    static __device__ __forceinline__ uint4 vector(const Elements &e, int64_t i) {
        return ((const uint4 *)e.a)[i];
    }

    static __device__ __forceinline__ void load(uint4 (&to)[tile], const Elements &e, int64_t i) {
#pragma unroll
        for (int k = 0; k < tile; k++) to[k] = vector(e, i + k * blockDim.x);
    }

    static __device__ __forceinline__ void take(const Elements &e, uint4 v, int64_t i, Side &side) {
        bf_cuda_elements<E> elements(v);
        side.take(elements.e, i * N - e.before);
    }

    /* The elements beside the whole vectors: those before `first`, and from `last` on. */
    static __device__ void take_ends(const Elements &e, int64_t first, int64_t last, Side &side) {
        if (last < first) last = first;
        int64_t head = e.before + threadIdx.x, tail = last + threadIdx.x;
        if (head < first && head < e.end) side.take_one(e.element(head), head - e.before);
        if (tail < e.end) side.take_one(e.element(tail), tail - e.before);
    }

    static __device__ void finish(const bf_cuda_params &p, Block *block) {
        const bf_cuda_series none = {};
        if (p.value == nullptr)
            bf_cuda_send_exact(p, none, block->sums.total, 0, block->side.total.at, Side::words);
        else if (threadIdx.x == 0)
            finish_value(p, block->side.total.at);
    }

    /* As bf_cuda_finish_words, but of one op and dtype. */
    static __device__ void finish_value(const bf_cuda_params &p, const int64_t *part) {
        __shared__ bf_cuda_desk desk;
        bf_reduce_options options = bf_cuda_options(p.request);
        bf_value value = bf_value_from_bits(BF_U64, 0);
        Side::state(part, p.count, p.index, desk.words);
        bf_status status =
            bf_result_plain(Side::op, Side::dtype, desk.words, &options, &value, &desk.work);
        if (status != BF_OK) value.dtype = BF_NONE;
        *p.value = value;
    }
};

#endif
