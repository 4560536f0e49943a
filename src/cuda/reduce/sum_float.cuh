/* Exact sums of floats: of x, of products, or of both.
 *
 * The first warp of every block looks at the same few elements, so that all blocks choose the same
 * windows, with one of three numbers of levels. A warp takes strips of the array through them, a
 * group at a time. If some value of a group did not fit (or was a NaN or an infinity, which never
 * fits), it takes the group again, one element after another, by exponent (sum_by_exponent.cuh).
 * Which way a group went does not show in the result. */
#ifndef BF_CUDA_REDUCE_SUM_FLOAT_CUH
#define BF_CUDA_REDUCE_SUM_FLOAT_CUH

#include "cuda/reduce/extreme.cuh"
#include "cuda/reduce/launch.cuh"
#include "cuda/reduce/sum_by_exponent.cuh"
#include "cuda/reduce/sum_terms.cuh"
#include "cuda/runtime/elements.cuh"
#include "cuda/runtime/strip.cuh"

/* --- the loop --- */

enum {
    BF_CUDA_SAMPLES = 4, /* a lane of the first warp */
    BF_CUDA_MISFITS = 8  /* most groups in a row that are not tried */
};

/* Terms that are elements of arrays. sum_computed.cu.in has others. */
struct bf_cuda_of_arrays {
    using Params = bf_cuda_params;
    /* As registers allow: most vectors of a tile, threads of a multiprocessor, and of how many
     * blocks. */
    static constexpr int vectors = 4, threads = 640, blocks = 2;
    static int shared_bytes(const Params &, int) { return 0; }
    template <class E, bool Pair, int size> using Strip = bf_cuda_strip<E, Pair, size>;
};

template <bf_dtype D, bf_kind Kind, class SideFold, bf_cuda_zeros Zeros,
          class Source = bf_cuda_of_arrays>
struct bf_cuda_float_loop {
    using Dtype = bf_cuda_float<D>;
    using E = typename Dtype::Element;
    using Side = SideFold;
    using Levels = bf_cuda_levels<D, Kind>;
    using ByExponent = bf_cuda_by_exponent<D, Kind, Zeros>;
    static constexpr bool pair = Kind == BF_KIND_DOT;
    static constexpr bool has_sum = Levels::has_sum, has_product = Levels::has_product;
    static constexpr bool counts_zeros = Zeros == BF_CUDA_ZEROS_EVERY;
    /* The sums of the levels, and behind them the number of -0. */
    static constexpr int sums = Levels::sum(2) + Levels::product(2) + counts_zeros;
    /* As many threads as there are registers for, so that ptxas spills few: where it does, loops
     * are slower. Sums alone have two blocks a multiprocessor, of which one takes elements while
     * the other begins or ends. */
    static constexpr int described_by = D == BF_F16 ? 256 : 384;
    static constexpr int alone = D == BF_BF16 ? 512 : Source::threads;
    static constexpr int blocks = Kind == BF_KIND_SUM ? Source::blocks : 1;
    static constexpr int threads = Side::words > 0 ? described_by : alone / blocks;
    static constexpr int described = D == BF_F32 ? 4 : D == BF_F64 ? 3 : 2;
    static constexpr int tile = pair ? 2 : Side::words > 0 ? described : Source::vectors;
    using Strip = typename Source::template Strip<E, pair, tile>;
    using Array = typename Strip::Array;
    using Place = typename Strip::Place;
    static constexpr int N = Strip::N;
    /* Strips between folds: a product of f64 enters its levels twice. */
    static constexpr int rows = D == BF_F64 && has_product ? BF_WINDOW_ROWS / 2 : BF_WINDOW_ROWS;
    static constexpr unsigned group = rows / (tile * N);

    struct Shared {
        int sum_bottom, product_bottom, variant;
        bf_cuda_exponents exponents;
    };
    using Block = bf_cuda_block<bf_cuda_float_loop>;
    using Params = typename Source::Params;

    static int tables(int warps) { return ByExponent::tables(warps, blocks); }
    static int shared_bytes(int, int tables_of_block) {
        return tables_of_block * ByExponent::table_bytes();
    }

    /* This warp, among all of the grid: it takes strips warp(), warp() + warps(), ... */
    static __device__ __forceinline__ unsigned warps() {
        return gridDim.x * (blockDim.x / BF_CUDA_WARP);
    }
    static __device__ __forceinline__ unsigned warp() {
        return threadIdx.x / BF_CUDA_WARP * gridDim.x + blockIdx.x;
    }
    static __device__ __forceinline__ int first_end() {
        return (int)(warp() * BF_CUDA_WARP + threadIdx.x % BF_CUDA_WARP);
    }

    /* --- windows --- */

    /* Element k of `samples`: 16 neighbours in each of a few places, which are anywhere in their
     * share of the array, so that no period of the data is the samples' as well. All blocks read
     * them: that they are few lines of memory matters. */
    static __device__ int64_t sample(int64_t count, int samples, int k) {
        int64_t places = samples / 16, share = count / places;
        if (share < 16) return k < count ? k : count - 1;
        uint64_t anywhere = (uint64_t)(k / 16 + 1) * 0x9e3779b97f4a7c15u;
        return share * (k / 16) + (int64_t)__umul64hi(anywhere, (uint64_t)(share - 15)) + k % 16;
    }

    /* The samples of a lane of the first warp. All wait for the window: nothing else comes before.
     */
    struct Samples {
        static constexpr int all = BF_CUDA_SAMPLES * BF_CUDA_WARP;
        int64_t at[BF_CUDA_SAMPLES];
        E a[BF_CUDA_SAMPLES], b[pair ? BF_CUDA_SAMPLES : 1];

        __device__ __forceinline__ void place(const Params &p) {
            Strip::open(p);
            prefetch_samples(p);
            if (threadIdx.x >= BF_CUDA_WARP) return;
#pragma unroll
            for (int i = 0; i < BF_CUDA_SAMPLES; i++)
                at[i] = sample(p.count, all, i * BF_CUDA_WARP + (int)threadIdx.x);
        }
        __device__ __forceinline__ void read(const Params &p) {
            if (threadIdx.x >= BF_CUDA_WARP) return;
#pragma unroll
            for (int i = 0; i < BF_CUDA_SAMPLES; i++) {
                a[i] = Strip::element(p, at[i]);
                if (pair) b[i] = Strip::other(p, at[i]);
            }
        }
        __device__ __forceinline__ void measure(bf_extent *x, bf_extent *y) const {
            *x = *y = bf_cuda_extent(0);
#pragma unroll
            for (int i = 0; i < BF_CUDA_SAMPLES; i++) {
                bf_extent u = bf_cuda_extent(Dtype::value(a[i]));
                bf_extent v = pair ? bf_cuda_extent(Dtype::value(b[pair ? i : 0])) : u;
                bf_cuda_extent_join(x, u);
                bf_cuda_extent_join(y, bf_cuda_extent_product(u, v));
            }
        }
    };

    /* The variant of a window, or of none. */
    static __device__ int last_if(int variant) { return variant < 0 ? 2 : variant; }

    /* Prefetches a line or two of each place. */
    static __device__ void prefetch_samples(const Params &p) {
        if (blockIdx.x >= Samples::all / 16 || threadIdx.x % 15 != 0 || threadIdx.x > 15) return;
        int64_t at = sample(p.count, Samples::all, (int)blockIdx.x * 16 + (int)threadIdx.x);
        Strip::prefetch(p, at);
    }

    static __device__ void choose(const Samples &samples, int64_t count, Block *block) {
        bf_extent x, y;
        samples.measure(&x, &y);
        int below = bf_bit_length((uint64_t)(count / Samples::all)), variant = 0;
        int sum_bottom = 0, product_bottom = 0;
        if (has_sum)
            variant = bf_cuda_window_choose(bf_cuda_extent_warp(x), below, Dtype::least,
                                            bf_layout_sum(D), Levels::of_sum(0), Levels::of_sum(1),
                                            Levels::of_sum(2), &sum_bottom);
        if (has_product) {
            if (!pair) below *= 2;
            int v = bf_cuda_window_choose(bf_cuda_extent_warp(y), below, 2 * Dtype::least,
                                          bf_layout_products(D), Levels::of_product(0),
                                          Levels::of_product(1), Levels::of_product(2),
                                          &product_bottom);
            variant = v < 0 || variant < 0 ? -1 : v > variant ? v : variant;
        }
        if (threadIdx.x != 0) return;
        const int depth = last_if(variant);
        if (has_sum && has_product) { /* each chose its own variant */
            sum_bottom = bf_window_clamp(sum_bottom, Levels::sum(depth), bf_layout_sum(D));
            product_bottom =
                bf_window_clamp(product_bottom, Levels::product(depth), bf_layout_products(D));
        }
        block->own.sum_bottom = sum_bottom;
        block->own.product_bottom = product_bottom;
        block->own.variant = variant;
        block->sums_in_use = Levels::sum(depth) + Levels::product(depth) + counts_zeros;
    }

    /* Takes a strip whose first element is number `at`. If there is `more`, each vector is loaded
     * again, from the next strip, as soon as it has been taken. */
    template <class F>
    static __device__ __forceinline__ void take_strip(F &fold, Side &side, Strip &t, const Array &s,
                                                      Place &next, bool more, int64_t at) {
#pragma unroll
        for (int v = 0; v < tile; v++) {
            bf_cuda_elements<E> a(t.get(s, v)), b(t.b[pair ? v : 0]);
            if (more) t.load(s, next, v);
#pragma unroll
            for (int k = 0; k < N; k += F::few)
                fold.template take<F::few>(a.e + k, pair ? b.e + k : a.e + k);
            if (Side::words > 0) side.take(a.e, at + Strip::step(v));
        }
    }

    template <class F>
    static __device__ __forceinline__ void take_ends(F &fold, Side &side, const Array &s) {
        for (int i = first_end(); i < s.ends(); i += (int)warps() * BF_CUDA_WARP) {
            const int64_t at = s.end(i);
            const E a = s.element(at), b = pair ? s.other(at) : a;
            fold.template take<1>(&a, &b);
            if (Side::words > 0) side.take_one(a, at);
        }
    }

    /* Takes this warp's strips number `turn` and on, and before the first the ends. False: the
     * group at `turn` does not fit. */
    template <int Variant>
    static __device__ __forceinline__ bool take_groups(Block *block, const Array &s, Strip &t,
                                                       Side &side, unsigned *turn, unsigned turns,
                                                       unsigned *minus) {
        bf_cuda_terms<D, Kind, Zeros, Variant> fold;
        fold.open(block->own.sum_bottom, block->own.product_bottom);
        const unsigned step = warps() * Strip::elements;
        Place next(s, warp() + *turn * warps());
        if (*turn == 0) take_ends(fold, side, s);
        do {
            const unsigned end = turns - *turn > group ? *turn + group : turns;
#pragma unroll 1
            for (unsigned i = *turn; i < end;) {
                next.move(step);
                take_strip(fold, side, t, s, next,
                           ++i<turns, Side::words> 0 ? next.index(s) - step : 0);
            }
            if (!fold.close(block->sums.warps[threadIdx.x / BF_CUDA_WARP])) return false;
            *minus &= fold.minus;
            *turn = end;
        } while (*turn < turns);
        return true;
    }

    /* --- by exponent --- */

    /* Takes a vector of the array, whose first element is number `first`. The side has not seen it,
     * if it is new. */
    static __device__ __forceinline__ void take_vector(Block *block, int64_t *table, Side &side,
                                                       bool is_new, uint4 a, uint4 b,
                                                       int64_t first) {
        bf_cuda_elements<E> x(a), y(b);
        constexpr int together = has_product ? 1 : 2; /* as registers allow */
#pragma unroll
        for (int k = 0; k < N; k += together)
            ByExponent::template take_terms<together>(&block->own.exponents, table, x.e + k,
                                                      y.e + k);
        if (Side::words > 0 && is_new) side.take(x.e, first);
        __syncwarp();
    }

    static __device__ __forceinline__ void take_end_terms(const Array &s, Block *block,
                                                          int64_t *table, Side &side, bool is_new) {
        for (int i = first_end(); i < s.ends(); i += (int)warps() * BF_CUDA_WARP) {
            const int64_t at = s.end(i);
            const E a = s.element(at), b = pair ? s.other(at) : a;
            ByExponent::template take_terms<1>(&block->own.exponents, table, &a, &b);
            if (Side::words > 0 && is_new) side.take_one(a, at);
        }
        __syncwarp();
    }

    /* This warp's strips [first, end), and with number 0 the ends. The side has seen the first
     * group, if there is a window at all. Each vector is taken from the front of the strip, where
     * the next ones move up. */
    static __device__ __forceinline__ void take_by_exponent(const bf_cuda_params &p, Block *block,
                                                            const Array &s, Side &side,
                                                            unsigned first, unsigned end) {
        const bool tried = block->own.variant >= 0;
        int which;
        int64_t *table = ByExponent::take_table(&block->own.exponents, p.tables, &which);
        if (first == 0) take_end_terms(s, block, table, side, !tried);
#pragma unroll 1
        for (unsigned turn = first; turn < end; turn++) {
            const unsigned n = warp() + turn * warps();
            const bool is_new = !tried || turn - first >= group;
            Strip t;
            t.load(s, n);
#pragma unroll 1
            for (int v = 0; v < tile; v++) {
                const uint4 a = t.get(s, 0);
                take_vector(block, table, side, is_new, a, pair ? t.b[0] : a,
                            s.first(n) + Strip::step(v));
                t.move_up();
            }
        }
        ByExponent::fold_table(&block->own.exponents, table, which);
        if (threadIdx.x % BF_CUDA_WARP == 0) atomicOr(&block->flags, BF_CUDA_BY_RULES);
    }

    /* --- all of it --- */

    static __device__ void clear(Block *block) {
        block->own.exponents.clear();
        for (int i = (int)threadIdx.x % BF_CUDA_WARP; i < sums; i += BF_CUDA_WARP)
            block->sums.warps[threadIdx.x / BF_CUDA_WARP][i] = {0, 0};
    }

    /* False: a group does not fit, or there is no window at all. */
    static __device__ __forceinline__ bool take_in_window(Block *block, const Array &s, Strip &t,
                                                          Side &side, unsigned *turn,
                                                          unsigned turns, unsigned *minus) {
        switch (block->own.variant) {
        case 0: return take_groups<0>(block, s, t, side, turn, turns, minus);
        case 1: return take_groups<1>(block, s, t, side, turn, turns, minus);
        case 2: return take_groups<2>(block, s, t, side, turn, turns, minus);
        default: return false;
        }
    }

    /* Waits for all threads. Returns flags of the block: what the signs of terms tell. */
    static __device__ __forceinline__ unsigned end_terms(unsigned minus) {
        if (Zeros == BF_CUDA_ZEROS_ALL)
            return __syncthreads_or(minus >> 31 == 0) ? (unsigned)BF_CUDA_POSITIVE : 0;
        __syncthreads();
        return 0;
    }

    static __device__ unsigned run(const Params &p, Block *block, const Samples &samples, int64_t *,
                                   Side &side) {
        Array s(p);
        Strip t;
        if (warp() < s.strips) t.load(s, warp());
        clear(block);
        if (threadIdx.x < BF_CUDA_WARP) choose(samples, s.count, block);
        side.start();
        __syncthreads();
        const unsigned turns = s.strips > warp() ? (s.strips - warp() - 1) / warps() + 1 : 0;
        unsigned turn = 0, minus = ~0u;
        unsigned groups = 1; /* to take by exponent if the first does not fit: ever more */
        while (!take_in_window(block, s, t, side, &turn, turns, &minus)) {
            const unsigned left = turns - turn, first = turn;
            turn = left > groups * group ? turn + groups * group : turns;
            take_by_exponent(p, block, s, side, first, turn);
            if (turn == turns) break;
            if (groups < BF_CUDA_MISFITS) groups *= 2;
            t.load(s, warp() + turn * warps());
        }
        const unsigned flags = end_terms(minus);
        if (block->flags & BF_CUDA_BY_RULES) block->own.exponents.add_to(p.scratch);
        return flags;
    }

    static __device__ void finish(const bf_cuda_params &p, Block *block) {
        const int variant = last_if(block->own.variant);
        const bf_cuda_series s = {Levels::sum(variant), Levels::product(variant),
                                  block->own.sum_bottom, block->own.product_bottom,
                                  BF_WINDOW_BITS + 1};
        const bf_cuda_pair *total = block->sums.total;
        const int64_t zeros = counts_zeros ? total[s.count()].lo + (total[s.count()].hi << 32) : 0;
        bf_cuda_finish<D, Kind, Side, counts_zeros>(p, s, total, zeros, block->flags,
                                                    block->side.total.at);
    }
};

template <bf_dtype D, bf_kind Kind, class Side, bf_cuda_zeros Zeros, class Source>
struct bf_cuda_extras<bf_cuda_float_loop<D, Kind, Side, Zeros, Source>> {
    using Loop = bf_cuda_float_loop<D, Kind, Side, Zeros, Source>;
    static constexpr bool leaves_warp_sums = true;
    using Look = typename Loop::Samples;
    using Params = typename Loop::Params;
    static int shared_bytes(const Params &p, int threads) {
        return Source::shared_bytes(p, threads);
    }
};

#endif
