/* Windows of minima and maxima, of ranks (rules/key/order.h), and of counts. The least ranks of 1,
 * 2, 4 ... elements of the list are found one after the other, from each element on: that of any
 * window is the lesser of two that overlap. */
#include "cuda/runtime/warp.cuh"
#include "cuda/scan/rolling_tile.cuh"

namespace rolling_extremes {

using namespace bf_cuda_rolling;

enum {
    THREADS = 512,
    WARPS = THREADS / BF_CUDA_WARP,
    EACH = 8,
    ROOM = EACH * THREADS,
    RECORD_THREADS = BF_CUDA_SCAN_THREADS /* blocks that make records have so many */
};

struct least {
    int64_t rank; /* complemented for maxima; the greatest for NaNs and for nothing */
    int64_t nans;
    static __device__ __forceinline__ least none() { return {INT64_MAX, 0}; }
    static __device__ __forceinline__ least of(const bf_cuda_rolling_params &p, uint64_t bits) {
        const bf_window &w = p.job.window;
        if (p.is_float && bf_is_nan(p.format, bits)) return {INT64_MAX, 1};
        const int64_t rank = bf_order_rank(w.dtype, bits);
        return {bf_is_greatest(w.op) ? ~rank : rank, 0};
    }
    __device__ __forceinline__ void join(const least &other) {
        rank = min(rank, other.rank);
        nans += other.nans;
    }
};

/* The least of all threads of the block. */
template <int threads> __device__ __forceinline__ least of_block(const least &mine) {
    __shared__ least of_warps[threads / BF_CUDA_WARP];
    const int lane = threadIdx.x % BF_CUDA_WARP, warp = threadIdx.x / BF_CUDA_WARP;
    least all = {bf_cuda_warp_least(mine.rank), bf_cuda_warp_total(mine.nans)};
    if (lane == 0) of_warps[warp] = all;
    __syncthreads();
    all = least::none();
#pragma unroll
    for (const least &l : of_warps) all.join(l);
    return all;
}

__device__ __forceinline__ least *record_of(const bf_cuda_rolling_params &p, int64_t chunk) {
    return (least *)p.records + chunk;
}

__global__ void __launch_bounds__(RECORD_THREADS)
    roll_chunks(const __grid_constant__ bf_cuda_rolling_params p) {
    const tile t = tile_of_chunk(p, blockIdx.x);
    least mine = least::none();
    visit_elements<RECORD_THREADS>(p, t, t.begin, t.second,
                                   [&](uint64_t bits) { mine.join(least::of(p, bits)); });
    const least all = of_block<RECORD_THREADS>(mine);
    if (threadIdx.x == 0) *record_of(p, blockIdx.x) = all;
}

__global__ void __launch_bounds__(RECORD_THREADS)
    roll_groups(const __grid_constant__ bf_cuda_rolling_params p) {
    least mine = least::none();
    if (threadIdx.x < BF_CUDA_ROLLING_GROUP)
        mine = *record_of(p, (int64_t)blockIdx.x * BF_CUDA_ROLLING_GROUP + threadIdx.x);
    const least all = of_block<RECORD_THREADS>(mine);
    if (threadIdx.x == 0) *record_of(p, p.chunks + blockIdx.x) = all;
}

__device__ __forceinline__ least least_of_core(const bf_cuda_rolling_params &p, const tile &t) {
    const chunks c = core_chunks(p, t);
    least mine = least::none();
    visit_core<THREADS>(p, t, c, [&](uint64_t bits) { mine.join(least::of(p, bits)); });
    visit_records<THREADS>(p, c, [&](int64_t i) { mine.join(*record_of(p, i)); });
    return of_block<THREADS>(mine);
}

/* A list in shared memory. */
struct list {
    int64_t ranks[ROOM];
    int nans[ROOM + 1]; /* before each element, and all */
};

/* Loads the list. Returns whether it has a NaN. */
__device__ __forceinline__ bool load_ranks(const bf_cuda_rolling_params &p, const tile &t,
                                           list *l) {
    bool nan = false;
    load_list<THREADS, EACH>(p, t, [&](int i, uint64_t bits) {
        if (i >= t.count) return;
        const least x = least::of(p, bits);
        l->ranks[i] = x.rank;
        l->nans[i] = (int)x.nans;
        nan |= x.nans > 0;
    });
    if (threadIdx.x == 0) l->nans[t.count] = 0;
    return __syncthreads_or(nan);
}

__device__ __forceinline__ void count_nans(const tile &t, list *l) {
    bf_cuda_block_sums<WARPS>(
        t.count + 1, 0, [&](int i) { return l->nans[i]; },
        [&](int i, int before, int) { l->nans[i] = before; });
}

/* The ranks of so many elements become those of twice as many, from each one on. */
__device__ __forceinline__ void double_ranks(const tile &t, list *l, int size) {
    int64_t next[EACH];
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int i = k * THREADS + (int)threadIdx.x;
        if (i + size < t.count) next[k] = min(l->ranks[i], l->ranks[i + size]);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++) {
        const int i = k * THREADS + (int)threadIdx.x;
        if (i + size < t.count) l->ranks[i] = next[k];
    }
    __syncthreads();
}

/* Stores a result. The rank is that of the elements of the list. */
__device__ __forceinline__ void store_result(const bf_cuda_rolling_params &p, const window &w,
                                             const list &l, bool nan, least core, int64_t rank) {
    const bf_window &rules = p.job.window;
    int64_t counts[BF_SUM_LIMBS] = {w.rows, core.nans};
    uint64_t bits;
    if (nan) counts[BF_SUM_NAN] += l.nans[w.end] - l.nans[w.first];
    look_for_refused(p, counts[BF_SUM_NAN]);
    if (!bf_window_told(&rules, counts, &bits)) {
        rank = min(rank, core.rank);
        bits = bf_window_element(
            &rules, bf_order_bits(rules.dtype, bf_is_greatest(rules.op) ? ~rank : rank));
    }
    store_bits(p.job.values, p.to_bytes, w.to, bits);
}

/* Calls visit(window, level) for a thread's windows of the first n: 2^level is as many elements of
 * the list as half a window has, or more. Of no element level is -1. */
template <class Visit>
__device__ __forceinline__ void visit_windows(const bf_cuda_rolling_params &p, const tile &t, int n,
                                              const Visit &visit) {
    for (int i = (int)threadIdx.x; i < n; i += THREADS) {
        const window w = window_of(p, t, i);
        visit(w, bf_bit_length((uint64_t)(w.end - w.first)) - 1);
    }
}

__device__ __forceinline__ void roll_ranks(const bf_cuda_rolling_params &p, const tile &t, list *l,
                                           bool nan, const least &core) {
    __shared__ unsigned levels; /* a bit for each that some window has */
    if (threadIdx.x == 0) levels = 0;
    __syncthreads();
    unsigned mine = 0;
    visit_windows(p, t, t.steady ? 1 : t.n, [&](const window &w, int level) {
        if (level >= 0)
            mine |= 1u << level;
        else
            store_result(p, w, *l, nan, core, INT64_MAX);
    });
    mine = bf_cuda_warp_or(mine);
    if (threadIdx.x % BF_CUDA_WARP == 0) atomicOr(&levels, mine);
    __syncthreads();
    const unsigned all = levels;
    for (int at = 0; all >> at != 0; at++) {
        if (all >> at & 1)
            visit_windows(p, t, t.n, [&](const window &w, int level) {
                if (level != at) return;
                const int64_t rank = min(l->ranks[w.first], l->ranks[w.end - (1 << at)]);
                store_result(p, w, *l, nan, core, rank);
            });
        __syncthreads();
        if (all >> at >> 1 != 0) double_ranks(t, l, 1 << at);
    }
}

__global__ void __launch_bounds__(THREADS, bf_cuda_blocks_held(THREADS, 2))
    roll_tiles(const __grid_constant__ bf_cuda_rolling_params p) {
    extern __shared__ int64_t memory[];
    __shared__ tile t;
    list *l = (list *)memory;
    if (threadIdx.x == 0) t = find_tile(p, blockIdx.x);
    __syncthreads();
    const bool nan = load_ranks(p, t, l);
    if (nan) count_nans(t, l);
    const least core = t.core() < t.second ? least_of_core(p, t) : least::none();
    if (p.job.window.counts)
        visit_windows(p, t, t.n,
                      [&](const window &w, int) { store_result(p, w, *l, nan, core, 0); });
    else
        roll_ranks(p, t, l, nan, core);
}

} // namespace rolling_extremes

bf_cuda_rolling_kernels bf_cuda_rolling_extremes(const bf_cuda_rolling_params &) {
    return {(const void *)rolling_extremes::roll_tiles,
            rolling_extremes::THREADS,
            rolling_extremes::ROOM,
            sizeof(rolling_extremes::list),
            (const void *)rolling_extremes::roll_chunks,
            (const void *)rolling_extremes::roll_groups,
            (int)(sizeof(rolling_extremes::least) / sizeof(int64_t))};
}
