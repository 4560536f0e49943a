/* Short rows that lie one behind another: a block copies as many as fit into its shared memory, and
 * a thread reduces each. Longer ones among them are reduced by warps, or left to blocks.cuh. */
#ifndef BF_CUDA_AXIS_TILES_CUH
#define BF_CUDA_AXIS_TILES_CUH

#include "cuda/axis/columns.cuh"

enum {
    BF_CUDA_AXIS_SHORT = 96,    /* elements that a thread takes at most */
    BF_CUDA_AXIS_TILE_ROWS = 8, /* rows of a thread, at most */
};

/* Where element i lies: a word in 32 is left out, so that rows of 2^k elements begin in different
 * banks. */
static __host__ __device__ __forceinline__ int bf_cuda_axis_place(int i) { return i + i / 32; }

template <class A> struct bf_cuda_axis_tile {
    using Value = typename A::Value;
    static constexpr int T = BF_CUDA_AXIS_TILE_THREADS, U = BF_CUDA_AXIS_UNROLLED;
    static constexpr int capacity = 32768 / (int)sizeof(Value) / (A::pair ? 2 : 1);
    static constexpr int stride = capacity + capacity / 32;
    static constexpr int bytes = stride * (int)sizeof(Value) * (A::pair ? 2 : 1);

    /* Offsets of a call by length, too. */
    static __device__ __forceinline__ int64_t offset(const bf_cuda_axis_params &p, int64_t s) {
        if (p.at.offsets == nullptr) return s * p.at.length;
        return bf_cuda_axis_offset_at(p.at, s);
    }
    /* The first segment from which on offsets and numbers of segments add to `key`: so that blocks
     * have about as many segments and elements together. All lanes of a warp. */
    static __device__ int64_t find(const bf_cuda_axis_params &p, int64_t key) {
        int64_t low = 0, high = p.at.results;
        const int lane = (int)threadIdx.x % BF_CUDA_WARP;
        while (low < high) {
            const int64_t step = (high - low + BF_CUDA_WARP - 1) / BF_CUDA_WARP;
            const int64_t s = low + lane * step;
            const bool below = s < high && offset(p, s) + s < key;
            const unsigned votes = __ballot_sync(0xffffffffu, below);
            const int n = __popc(votes);
            if (n == 0) return low;
            const int64_t next = low + (n - 1) * step + 1, end = low + n * step;
            low = next;
            high = end < high ? end : high;
        }
        return low;
    }

    static __device__ __forceinline__ void fill(const bf_cuda_axis_params &p, Value *tile,
                                                const void *from, int64_t first, int n) {
        using C = typename A::Class;
        for (int i = (int)threadIdx.x; i < n; i += U * T) {
            typename C::Raw x[U];
            const int left = (n - i + T - 1) / T, some = left < U ? left : U;
            C::load(
                p, from, [&](int k) { return first + i + k * T; }, some, x);
#pragma unroll
            for (int k = 0; k < U; k++)
                if (k < some) tile[bf_cuda_axis_place(i + k * T)] = C::value(p, x[k]);
        }
    }

    /* Returns whether the result of elements [begin, end) is written. */
    static __device__ __forceinline__ bool finish_directly(const bf_cuda_axis_params &p, int64_t r,
                                                           const Value *tile, int begin, int end) {
        if constexpr (A::Direct::some) {
            if (p.op == BF_NORM) return false;
            typename A::Direct direct;
            direct.reset();
#pragma unroll 4
            for (int i = begin; i < end; i++) direct.take(tile[bf_cuda_axis_place(i)]);
            return direct.finish(p, r, end - begin);
        }
        return false;
    }
    /* Takes elements begin + lane, begin + lane + lanes, ... of the tile, below `end`. */
    static __device__ __forceinline__ void take(const bf_cuda_axis_params &, A &sum,
                                                const Value *tile, int begin, int end, int lane,
                                                int lanes) {
        constexpr int n = 4;
        for (int j = begin + lane; j < end; j += n * lanes) {
            Value x[n], y[n];
            const int left = (end - j + lanes - 1) / lanes, some = left < n ? left : n;
#pragma unroll
            for (int k = 0; k < n; k++) {
                const int at = bf_cuda_axis_place(j + k * lanes);
                x[k] = k < some ? tile[at] : 0;
                if (A::pair) y[k] = k < some ? tile[stride + at] : 0;
            }
            sum.take(x, y, j - begin, lanes, some);
            sum.keep(n);
        }
    }
};

template <class A>
__global__ void __launch_bounds__(BF_CUDA_AXIS_TILE_THREADS, 3)
    bf_cuda_axis_tiles(const __grid_constant__ bf_cuda_axis_params p) {
    using Tile = bf_cuda_axis_tile<A>;
    constexpr int T = Tile::T, R = T * BF_CUDA_AXIS_TILE_ROWS;
    constexpr int longest = Tile::capacity / BF_CUDA_AXIS_SHORT + 1; /* rows that are not short */
    extern __shared__ int64_t bf_cuda_axis_memory[];
    typename A::Value *tile = (typename A::Value *)bf_cuda_axis_memory;
    __shared__ int64_t bounds[2];
    __shared__ int ends[R]; /* where rows end, counted from the first element of the tile */
    __shared__ int queue[longest], queued, rows;
    const int t = (int)threadIdx.x, lane = t % BF_CUDA_WARP;
    bf_cuda_wait_for_previous();
    if (bf_cuda_axis_is_wrong(p)) return;
    const int64_t key = Tile::offset(p, p.at.results) + p.at.results;
    if (t < 2 * BF_CUDA_WARP) {
        const int64_t block = blockIdx.x + t / BF_CUDA_WARP;
        const int64_t share = (key + gridDim.x - 1) / gridDim.x;
        const int64_t s = block == 0           ? 0
                          : block == gridDim.x ? p.at.results
                                               : Tile::find(p, block * share);
        if (lane == 0) bounds[t / BF_CUDA_WARP] = s;
    }
    __syncthreads();
    int64_t first = bounds[0];
    const int64_t end = bounds[1];
    int64_t base = Tile::offset(p, first);
    A sum;
    sum.open(p);
    while (first < end) {
        const int some = end - first < R ? (int)(end - first) : R;
        for (int i = t; i < some; i += T) {
            const int64_t n = Tile::offset(p, first + i + 1) - base;
            ends[i] = n <= Tile::capacity ? (int)n : INT_MAX;
        }
        if (t == 0) queued = rows = 0;
        __syncthreads();
        for (int i = t; i < some; i += T)
            if (ends[i] < INT_MAX && (i + 1 == some || ends[i + 1] == INT_MAX)) rows = i + 1;
        __syncthreads();
        const int n = rows;
        if (n == 0) { /* the first is too long */
            const int64_t next = Tile::offset(p, first + 1);
            if (t == 0) bf_cuda_axis_push(p, first, next - base);
            base = next;
            first++;
            __syncthreads();
            continue;
        }
        const int size = ends[n - 1];
        Tile::fill(p, tile, p.a, base, size);
        if (A::pair) Tile::fill(p, tile + Tile::stride, p.b, base, size);
        __syncthreads();
        for (int i = t; i < n; i += T) {
            const int begin = i > 0 ? ends[i - 1] : 0, stop = ends[i];
            if (stop - begin > BF_CUDA_AXIS_SHORT) {
                queue[atomicAdd(&queued, 1)] = i;
                continue;
            }
            if (Tile::finish_directly(p, first + i, tile, begin, stop)) continue;
            int64_t part[A::words], whole[A::total];
            sum.reset();
            Tile::take(p, sum, tile, begin, stop, 0, 1);
            sum.close(part);
            A::widen(part, whole);
            A::finish(p, first + i, stop - begin, whole);
        }
        __syncthreads();
        for (int i = t / BF_CUDA_WARP; i < queued; i += T / BF_CUDA_WARP) {
            const int row = queue[i], begin = row > 0 ? ends[row - 1] : 0, stop = ends[row];
            int64_t part[A::words], whole[A::total];
            sum.reset();
            Tile::take(p, sum, tile, begin, stop, lane, BF_CUDA_WARP);
            sum.close(part);
            bf_cuda_axis_merge_warp<A>(part, BF_CUDA_WARP);
            A::widen(part, whole);
            if (lane == 0) A::finish(p, first + row, stop - begin, whole);
        }
        __syncthreads();
        base += size;
        first += n;
    }
}

template <class A> static bf_cuda_axis_kernels bf_cuda_axis_kernels_of() {
    using Tile = bf_cuda_axis_tile<A>;
    const void *direct_warps = nullptr, *direct_columns = nullptr;
    if constexpr (A::Direct::some) {
        direct_warps = (const void *)bf_cuda_axis_direct_warps<A>;
        direct_columns = (const void *)bf_cuda_axis_direct_columns<A>;
    }
    return {(const void *)bf_cuda_axis_tiles<A>,
            (const void *)bf_cuda_axis_warps<A>,
            (const void *)bf_cuda_axis_columns<A>,
            (const void *)bf_cuda_axis_blocks<A>,
            direct_warps,
            direct_columns,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            nullptr,
            A::columns,
            A::Class::N,
            A::words,
            A::total,
            Tile::capacity,
            Tile::bytes};
}

#endif
