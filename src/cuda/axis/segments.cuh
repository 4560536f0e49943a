/* Short segments that doubles tell: a warp copies the elements of some neighbouring ones into
 * shared memory, where each lane takes those of one or two. */
#ifndef BF_CUDA_AXIS_SEGMENTS_CUH
#define BF_CUDA_AXIS_SEGMENTS_CUH

#include "cuda/axis/doubles/doubles.cuh"
#include "cuda/axis/tiles.cuh"

#include "rules/number/format.h"

enum { BF_CUDA_AXIS_BATCH = 1024 /* elements of a warp at a time, at most */ };

template <class C, bf_kind Kind> struct bf_cuda_axis_batch {
    using Value = typename C::Value;
    using Told = typename bf_cuda_axis_told_of<C::is_double, Kind, true>::Type;
    static constexpr int room = BF_CUDA_AXIS_BATCH + BF_CUDA_AXIS_BATCH / 32;
    static constexpr int U = 8; /* elements that a lane loads at once, */
    static constexpr int V = 4; /* or vectors */

    const bf_cuda_axis_params &p;
    Value *elements; /* in shared memory */
    int lane;

    /* Where the segments of a lane begin: two of them, or one. */
    struct Bounds {
        int64_t begin[2], end; /* end: of all */
    };
    __device__ __forceinline__ int64_t offset(int64_t s) const {
        return bf_cuda_axis_offset_at(p.at, s < p.at.results ? s : p.at.results);
    }
    __device__ __forceinline__ int64_t rows() const { return BF_CUDA_WARP * p.folded; }
    __device__ __forceinline__ Bounds bounds_of(int64_t batch) const {
        const int64_t first = batch * rows();
        Bounds b;
        b.begin[0] = offset(first + lane);
        b.begin[1] = p.folded > 1 ? offset(first + BF_CUDA_WARP + lane) : 0;
        b.end = offset(first + rows());
        return b;
    }
    /* Where segment number r of this lane ends, which begins there. */
    __device__ __forceinline__ int64_t end_of(const Bounds &b, int r, int64_t begin) const {
        const int64_t next = __shfl_down_sync(0xffffffffu, begin, 1);
        const int64_t half = __shfl_sync(0xffffffffu, b.begin[1], 0);
        if (lane < BF_CUDA_WARP - 1) return next;
        return r == 0 && p.folded > 1 ? half : b.end;
    }
    __device__ __forceinline__ void fill(int64_t base, int n) const {
        for (int i = lane; i < n; i += U * BF_CUDA_WARP) {
            typename C::Raw x[U];
#pragma unroll
            for (int k = 0; k < U; k++)
                if (i + k * BF_CUDA_WARP < n)
                    x[k] = __ldcs((const typename C::Raw *)p.a + base + i + k * BF_CUDA_WARP);
#pragma unroll
            for (int k = 0; k < U; k++) {
                const int at = i + k * BF_CUDA_WARP;
                if (at < n) elements[bf_cuda_axis_place(at)] = C::value(p, x[k]);
            }
        }
    }
    /* The same from an element on that begins a vector: the last vector may hold more. */
    __device__ __forceinline__ void fill_vectors(int64_t base, int n) const {
        constexpr int N = C::N, step = BF_CUDA_WARP * N + N; /* 32 vectors, and what is left out */
        const typename C::Raw *from = (const typename C::Raw *)p.a + base;
        const int vectors = (int)min((int64_t)(n + N - 1) / N, (p.at.rows - base) / N);
        BF_ROLLED
        for (int i = lane; i < vectors; i += V * BF_CUDA_WARP) {
            uint4 x[V];
#pragma unroll
            for (int k = 0; k < V; k++)
                if (i + k * BF_CUDA_WARP < vectors)
                    x[k] = C::fetch(p, (const char *)(from + (i + k * BF_CUDA_WARP) * N));
            Value *to = elements + bf_cuda_axis_place(i * N);
#pragma unroll
            for (int k = 0; k < V; k++) {
                if (i + k * BF_CUDA_WARP >= vectors) break;
                Value e[N];
                C::unpack(p, x[k], e);
#pragma unroll
                for (int j = 0; j < N; j++) to[k * step + j] = e[j];
            }
        }
        const int last = vectors * N + lane;
        if (last < n) elements[bf_cuda_axis_place(last)] = C::value(p, from[last]);
    }
    /* The result of no elements, or of too few. */
    __device__ __forceinline__ uint64_t none() const {
        return p.kind == BF_KIND_MOMENTS || p.op == BF_MEAN ? bf_format_nan(bf_format_of(p.to)) : 0;
    }
    /* Returns whether the result of these elements is written. */
    __device__ __forceinline__ bool finish(int64_t r, int begin, int end) const {
        uint64_t bits = none();
        const int n = end - begin;
        if (n > (p.kind == BF_KIND_MOMENTS ? p.ddof : 0)) {
            Told sums;
            typename Told::Joint joint;
            sums.reset();
            joint.reset();
            sums.start(elements[bf_cuda_axis_place(begin)]);
#pragma unroll 4
            for (int i = begin; i < end; i++) sums.take(elements[bf_cuda_axis_place(i)], joint);
            const bf_cuda_axis_told told(p, n, n);
            if (!joint.is_exact(told) || !sums.tell(p, told, joint, &bits)) return false;
        }
        bf_cuda_axis_store(p, r, bits);
        return true;
    }
    /* Returns whether all results are written, but for those of giants. */
    __device__ __forceinline__ bool run(int64_t batch, const Bounds &b) const {
        const bool aligned = (uintptr_t)p.a % 16 == 0;
        const int64_t first = __shfl_sync(0xffffffffu, b.begin[0], 0);
        const int64_t base = aligned ? first & -(int64_t)C::N : first, total = b.end - base;
        const bool fits = total <= BF_CUDA_AXIS_BATCH;
        bool good = fits;
        if (fits && aligned) fill_vectors(base, (int)total);
        if (fits && !aligned) fill(base, (int)total);
        __syncwarp();
        BF_ROLLED
        for (int r = 0; r < p.folded; r++) {
            const int64_t number = batch * rows() + r * BF_CUDA_WARP + lane;
            const int64_t begin = r > 0 ? b.begin[1] : b.begin[0], end = end_of(b, r, begin);
            if (number >= p.at.results) continue;
            if (end - begin > p.giant) bf_cuda_axis_push(p, number, end - begin);
            if (fits) good = finish(number, (int)(begin - base), (int)(end - base)) && good;
        }
        __syncwarp();
        return __all_sync(0xffffffffu, good);
    }
};

template <class C, bf_kind Kind>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, BF_CUDA_AXIS_DIRECT_BLOCKS)
    bf_cuda_axis_doubles_segments(const __grid_constant__ bf_cuda_axis_params p) {
    using Batch = bf_cuda_axis_batch<C, Kind>;
    __shared__ typename C::Value room[BF_CUDA_AXIS_WARP_THREADS / BF_CUDA_WARP][Batch::room];
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const Batch batch = {p, room[threadIdx.x / BF_CUDA_WARP], lane};
    const int64_t rows = batch.rows(), step = bf_cuda_axis_warps_of_grid();
    const int64_t batches = (p.at.results + rows - 1) / rows;
    int64_t i = bf_cuda_axis_warp();
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p) || i >= batches) return;
    typename Batch::Bounds next = batch.bounds_of(i);
    for (; i < batches; i += step) {
        const typename Batch::Bounds b = next;
        next = batch.bounds_of(i + step);
        if (batch.run(i, b) || lane > 0) continue;
        const int64_t each = (int64_t)p.chunk * (BF_CUDA_WARP / p.lanes);
        for (int64_t c = i * rows / each; c * each < min((i + 1) * rows, p.at.results); c++)
            bf_cuda_axis_leave(p, c);
    }
}

#endif
