/* Short segments that doubles prove: a warp copies the elements of some neighbouring ones into
 * shared memory, where each lane takes those of one or two. It checks their offsets as it reads
 * them, so that calls on a stream need no other check. */
#ifndef BF_CUDA_AXIS_SEGMENTS_CUH
#define BF_CUDA_AXIS_SEGMENTS_CUH

#include "cuda/axis/doubles/doubles.cuh"
#include "cuda/axis/tiles.cuh"

#include "rules/number/format.h"

#include <type_traits>

/* Elements of a warp at a time, at most. */
template <class Raw> constexpr int bf_cuda_axis_batch_most = sizeof(Raw) == 8 ? 640 : 1024;

template <class C, class Proven, class Offset> struct bf_cuda_axis_batch {
    using Raw = typename C::Raw;
    using Joint = typename Proven::Joint;
    static constexpr int N = C::N, U = 4, room = bf_cuda_axis_batch_most<Raw>;
    /* One variance of a million is not proven. The second kernel takes it sooner than marks are
     * looked through. */
    static constexpr bool settles = Proven::settles && !Proven::has_origin;

    const bf_cuda_axis_params &p;
    Raw *elements; /* in shared memory */
    int lane;
    Offset most; /* the greatest that may be right */

    /* Where the segments of a lane begin: two of them, or one. */
    struct Bounds {
        Offset begin[2], end; /* end: of all */
    };
    __device__ __forceinline__ int rows() const { return BF_CUDA_WARP * p.folded; }
    /* Segments of a batch. */
    __device__ __forceinline__ int count_of(int64_t batch) const {
        const int64_t left = p.at.results - batch * rows();
        return left < rows() ? (int)left : rows();
    }
    __device__ __forceinline__ Bounds bounds_of(int64_t batch) const {
        const Offset *from = (const Offset *)p.at.offsets + batch * rows();
        const int count = count_of(batch);
        Bounds b;
        b.begin[0] = from[min(lane, count)];
        b.begin[1] = p.folded > 1 ? from[min(BF_CUDA_WARP + lane, count)] : 0;
        b.end = from[count];
        return b;
    }
    /* Where segment number r of this lane ends, which begins there. */
    __device__ __forceinline__ Offset end_of(const Bounds &b, int r, Offset begin) const {
        const Offset next = __shfl_down_sync(0xffffffffu, begin, 1);
        const Offset half = __shfl_sync(0xffffffffu, b.begin[1], 0);
        if (lane < BF_CUDA_WARP - 1) return next;
        return r == 0 && p.folded > 1 ? half : b.end;
    }
    /* Returns whether a segment's offsets are right. */
    __device__ __forceinline__ bool check(int64_t number, Offset begin, Offset end) const {
        using Unsigned = typename std::make_unsigned<Offset>::type;
        const bool good = (Unsigned)begin <= (Unsigned)end && (Unsigned)end <= (Unsigned)most;
        if (!good)
            atomicMin(&p.board->wrong,
                      (unsigned long long)(number + (begin >= 0 && begin <= most ? 1 : 0)));
        return good;
    }
    /* From an element on that begins a vector: the last vector may hold more. */
    __device__ __forceinline__ void fill_vectors(const Raw *from, int n, int64_t left) const {
        constexpr int step = BF_CUDA_WARP * N;
        const int whole = left < room ? (int)left & -N : room;
        const Raw *at = from + lane * N, *end = elements + min(n, whole);
        BF_ROLLED
        for (Raw *to = elements + lane * N; to < end; to += step, at += step)
            bf_cuda_begin_copy(to, at);
        if (whole + lane < n) elements[whole + lane] = from[whole + lane];
        bf_cuda_end_copies();
    }
    __device__ __forceinline__ void fill(const Raw *from, int n) const {
#pragma unroll 8
        for (int i = lane; i < n; i += BF_CUDA_WARP) elements[i] = __ldcs(from + i);
    }
    __device__ __forceinline__ void take(Proven &sums, Joint &joint, int begin, int n) const {
        const Raw *from = elements + begin;
        BF_ROLLED
        for (int i = 0; i < n; i += U) {
#pragma unroll
            for (int k = 0; k < U; k++)
                if (i + k < n) sums.take(C::value(p, from[i + k]), joint, i + k);
        }
    }
    /* Takes whole vectors. */
    __device__ __forceinline__ void take_vectors(Proven &sums, Joint &joint, int begin,
                                                 int n) const {
        BF_ROLLED
        for (int i = 0; i < n; i += N) {
            typename C::Value e[N];
            C::unpack(p, *(const uint4 *)(elements + begin + i), e);
#pragma unroll
            for (int k = 0; k < N; k++) sums.take(e[k], joint, i + k);
        }
    }
    /* Returns whether the result of these elements is written. */
    __device__ __forceinline__ bool finish(int64_t r, int begin, int n, bool whole) const {
        uint64_t bits;
        if (n > (p.kind == BF_KIND_MOMENTS ? p.ddof : 0)) {
            Proven sums;
            Joint joint;
            sums.reset();
            joint.open(p);
            sums.start(C::value(p, elements[begin]), joint);
            if (whole)
                take_vectors(sums, joint, begin, n);
            else
                take(sums, joint, begin, n);
            const bf_cuda_axis_proven proven(p, n, n);
            if (!sums.prove(p, proven, joint, &bits)) return bf_cuda_axis_leave<settles>(p, r);
        } else {
            if (n > 0 && p.nan == BF_NAN_ERROR) return false; /* one of these may be a NaN */
            if (!Proven::none(p, &bits)) return false;
        }
        bf_cuda_axis_store(p, r, bits);
        return true;
    }
    /* Returns whether all results are written, or some offset is wrong. */
    __device__ __forceinline__ bool run(int64_t batch, const Bounds &b) const {
        const int count = count_of(batch);
        const int64_t number = batch * rows() + lane;
        const Offset first = __shfl_sync(0xffffffffu, b.begin[0], 0);
        const Offset ends[2] = {end_of(b, 0, b.begin[0]), end_of(b, 1, b.begin[1])};
        bool good = lane >= count || check(number, b.begin[0], ends[0]);
        if (p.folded > 1 && lane + BF_CUDA_WARP < count)
            good = check(number + BF_CUDA_WARP, b.begin[1], ends[1]) && good;
        if (!__all_sync(0xffffffffu, good)) return true;
        const bool aligned = (uintptr_t)p.a % 16 == 0;
        const Offset base = aligned ? first & -(Offset)N : first;
        if (b.end - base > room) return false;
        const Raw *from = (const Raw *)p.a + base;
        const int total = (int)(b.end - base);
        if (aligned)
            fill_vectors(from, total, p.at.rows - base);
        else
            fill(from, total);
        __syncwarp();
#pragma unroll
        for (int r = 0; r < 2; r++) {
            if (r == p.folded) break;
            const Offset at = r > 0 ? b.begin[1] : b.begin[0], end = r > 0 ? ends[1] : ends[0];
            const int begin = (int)(at - base), n = (int)(end - at);
            const bool whole = __all_sync(0xffffffffu, ((begin | n) & (N - 1)) == 0);
            if (r * BF_CUDA_WARP + lane < count)
                good = finish(number + r * BF_CUDA_WARP, begin, n, whole) && good;
        }
        __syncwarp();
        return __all_sync(0xffffffffu, good);
    }
};

template <class C, class Proven, class Offset>
__global__ void __launch_bounds__(BF_CUDA_AXIS_WARP_THREADS, BF_CUDA_AXIS_DIRECT_BLOCKS)
    bf_cuda_axis_doubles_segments(const __grid_constant__ bf_cuda_axis_params p) {
    using Batch = bf_cuda_axis_batch<C, Proven, Offset>;
    __shared__ __align__(16)
        typename C::Raw room[BF_CUDA_AXIS_WARP_THREADS / BF_CUDA_WARP][Batch::room];
    const int lane = (int)threadIdx.x % BF_CUDA_WARP;
    const int64_t most = sizeof(Offset) == 8 ? INT64_MAX : INT32_MAX;
    const Batch batch = {p, room[threadIdx.x / BF_CUDA_WARP], lane, (Offset)min(p.at.rows, most)};
    const int64_t rows = batch.rows(), step = bf_cuda_axis_warps_of_grid();
    const int64_t batches = (p.at.results + rows - 1) / rows;
    int64_t i = bf_cuda_axis_warp();
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p) || i >= batches) return;
    typename Batch::Bounds next = batch.bounds_of(i);
    for (; i < batches; i += step) {
        const typename Batch::Bounds b = next;
        if (i + step < batches) next = batch.bounds_of(i + step);
        if (batch.run(i, b) || lane > 0) continue;
        const int64_t each = (int64_t)p.chunk * (BF_CUDA_WARP / p.lanes);
        for (int64_t c = i * rows / each; c * each < min((i + 1) * rows, p.at.results); c++)
            bf_cuda_axis_defer(p, c);
    }
}

#endif
