/* Exact sums of floats: of x, of products, or of both.
 *
 * The first warp of every block looks at the same few elements, so that all blocks choose the same
 * windows, with one of three numbers of levels. A warp takes a group of tiles through them. If some
 * value did not fit (or was a NaN or an infinity, which never fits), it takes the group again, one
 * element after another, by exponent (bins.cuh). Which way a group went does not show in the
 * result. */
#ifndef BF_CUDA_EXACT_FLOAT_CUH
#define BF_CUDA_EXACT_FLOAT_CUH

#include "bins.cuh"
#include "elements.cuh"
#include "extreme.cuh"
#include "finish.cuh"
#include "window.cuh"

#include <cuda_fp16.h>

/* --- dtypes: elements as the doubles that they equal --- */

template <bf_dtype D> struct bf_cuda_float;
template <> struct bf_cuda_float<BF_F64> {
    using Element = double;
    static constexpr int least = -1074, most = 1023, bits = 53;
    static __device__ __forceinline__ double value(double x) { return x; }
};
template <> struct bf_cuda_float<BF_F32> {
    using Element = float;
    static constexpr int least = -149, most = 127, bits = 24;
    static __device__ __forceinline__ double value(float x) { return (double)x; }
};
template <> struct bf_cuda_float<BF_F16> {
    using Element = uint16_t;
    static constexpr int least = -24, most = 15, bits = 11;
    static __device__ __forceinline__ double value(uint16_t x) {
        return (double)__half2float(__ushort_as_half(x));
    }
};
template <> struct bf_cuda_float<BF_BF16> {
    using Element = uint16_t;
    static constexpr int least = -133, most = 127, bits = 8;
    static __device__ __forceinline__ double value(uint16_t x) {
        return (double)__uint_as_float((unsigned)x << 16);
    }
};

/* --- the loop --- */

enum {
    BF_CUDA_TABLE_BYTES = 128 * 1024, /* of tables; what is left is for loads on their way */
    BF_CUDA_SAMPLES = 4,              /* a lane of the first warp */
    BF_CUDA_MISFITS = 8               /* most groups in a row that are not tried */
};

/* Numbers of levels of a loop's three variants. */
template <bf_dtype D, bf_kind Kind> struct bf_cuda_levels {
    static constexpr bool has_sum = Kind != BF_KIND_SQUARES && Kind != BF_KIND_PRODUCTS;
    static constexpr bool has_product = Kind != BF_KIND_SUM;
    static __host__ __device__ constexpr int sum(int v) {
        return !has_sum ? 0 : v == 0 ? 2 : v == 1 || has_product ? 3 : 6;
    }
    static __host__ __device__ constexpr int product(int v) {
        return !has_product ? 0 : v == 0 ? 3 : v == 1 ? 4 : 6;
    }
};

template <bf_dtype D, bf_kind Kind, class SideFold> struct bf_cuda_float_loop {
    using Dtype = bf_cuda_float<D>;
    using E = typename Dtype::Element;
    using Side = SideFold;
    using Levels = bf_cuda_levels<D, Kind>;
    static constexpr bool pair = Kind == BF_KIND_PRODUCTS;
    static constexpr bool has_sum = Levels::has_sum, has_product = Levels::has_product;
    static constexpr int tile = (has_product ? 4 : 8) / (sizeof(E) == 2 ? 2 : 1);
    using Elements = bf_cuda_operands<E, pair>;
    using Tile = bf_cuda_tile<Elements, tile>;
    static constexpr int N = Elements::N;
    static constexpr int sums = Levels::sum(2) + Levels::product(2);
    /* So few threads that none spills its registers: there is work enough in each. */
    static constexpr int threads = 384, blocks = 1;
    static constexpr int group = BF_WINDOW_ROWS / (tile * N); /* tiles between folds */

    struct Shared {
        int sum_bottom, product_bottom, variant;
        int locks[BF_CUDA_WARPS]; /* of the tables: 0 new, 1 taken, 2 cleared */
        int64_t words[BF_EXACT_WORDS_MAX];
    };
    using Block = bf_cuda_block<bf_cuda_float_loop>;

    /* The position of the last bit of the largest element in the limbs, of the largest product. */
    static __host__ __device__ constexpr int last_bit() { return Dtype::most - (Dtype::bits - 1); }
    static __host__ __device__ constexpr int sum_bins() {
        return has_sum ? bf_cuda_bins_for(last_bit() + (D == BF_F64 ? 1074 : 149)) : 0;
    }
    static __host__ __device__ constexpr int product_bins() {
        return has_product ? bf_cuda_bins_for(2 * last_bit() + (D == BF_F64 ? 2148 : 298) +
                                              (D == BF_F64 ? 64 : 0))
                           : 0;
    }
    static __host__ __device__ constexpr int table_bytes() {
        return (sum_bins() + product_bins()) * BF_CUDA_WARP * (int)sizeof(int64_t);
    }
    static int tables(int warps) {
        int fit = BF_CUDA_TABLE_BYTES / table_bytes();
        return fit < warps ? fit : warps;
    }
    static int shared_bytes(int, int tables_of_block) { return tables_of_block * table_bytes(); }
    static __device__ int64_t *table(int i) {
        extern __shared__ int64_t bf_cuda_tables[];
        return bf_cuda_tables + i * (table_bytes() / (int)sizeof(int64_t));
    }

    static __device__ uint64_t minus_zero() { return (uint64_t)1 << (8 * sizeof(E) - 1); }
    static __device__ uint64_t one() {
        bf_format f = bf_format_of(D);
        return (uint64_t)bf_format_bias(f) << f.fraction;
    }
    /* What is not the array's is -0 (in pairs times 1), which changes nothing. */
    static __device__ Elements elements(const bf_cuda_params &p) {
        return Elements(p, minus_zero(), one());
    }

    /* --- windows --- */

    /* Element k of `samples`: 16 neighbours in each of a few places, which are anywhere in their
     * share of the array, so that no period of the data is the samples' as well. All blocks read
     * them: that they are few lines of memory matters. */
    static __device__ int64_t sample(int64_t count, int samples, int64_t k) {
        int64_t places = samples / 16, share = count / places;
        if (share < 16) return k % count;
        uint64_t anywhere = (uint64_t)(k / 16 + 1) * 0x9e3779b97f4a7c15u;
        return share * (k / 16) + (int64_t)__umul64hi(anywhere, (uint64_t)(share - 15)) + k % 16;
    }

    static __device__ void choose(const bf_cuda_params &p, const Elements &e, Block *block) {
        const int samples = BF_CUDA_SAMPLES * BF_CUDA_WARP;
        bf_extent x = {-(1 << 20), 1 << 20}, y = x;
#pragma unroll
        for (int s = 0; s < BF_CUDA_SAMPLES; s++) {
            int64_t k = s * BF_CUDA_WARP + (int)threadIdx.x;
            int64_t at = e.before + sample(p.count, samples, k);
            double a = Dtype::value(e.element(at));
            bf_extent xa = bf_cuda_extent(a), yb = xa;
            if (pair) yb = bf_cuda_extent(Dtype::value(e.b[at]));
            yb = bf_cuda_extent_product(xa, yb);
            if (xa.top > x.top) x.top = xa.top;
            if (xa.least < x.least) x.least = xa.least;
            if (yb.top > y.top) y.top = yb.top;
            if (yb.least < y.least) y.least = yb.least;
        }
        int below = bf_bit_length((uint64_t)(p.count / samples)), variant = 0;
        int sum_bottom = 0, product_bottom = 0;
        if (has_sum)
            variant =
                bf_cuda_window_choose(bf_cuda_extent_warp(x), below, bf_layout_sum(D),
                                      Levels::sum(0), Levels::sum(1), Levels::sum(2), &sum_bottom);
        if (has_product) {
            int v = bf_cuda_window_choose(bf_cuda_extent_warp(y), pair ? below : 2 * below,
                                          bf_layout_products(D), Levels::product(0),
                                          Levels::product(1), Levels::product(2), &product_bottom);
            variant = v < 0 || variant < 0 ? -1 : v > variant ? v : variant;
        }
        if (threadIdx.x == 0) {
            block->own.sum_bottom = sum_bottom;
            block->own.product_bottom = product_bottom;
            block->own.variant = variant;
        }
    }

    template <int KA, int KB> struct Fold {
        bf_cuda_window<bf_cuda_some(KA)> sum;
        bf_cuda_window<bf_cuda_some(KB)> product;
        bf_cuda_misfit misfit;
        unsigned minus; /* its top bit is set if no term has a plus sign */
        unsigned minus_before;

        __device__ void open(const Block *block) {
            if (KA > 0) sum.open(block->own.sum_bottom);
            if (KB > 0) product.open(block->own.product_bottom);
            misfit = {0, 0};
            minus = minus_before = ~0u;
        }
        /* Two terms: x0 and x1, of products times y0 and y1. */
        __device__ __forceinline__ void take(double x0, double y0, double x1, double y1) {
            if (KA > 0) {
                sum.take(x0, x1, misfit);
                minus &= bf_cuda_high(x0) & bf_cuda_high(x1);
            }
            if (KB == 0) return;
            double p0 = x0 * y0, p1 = x1 * y1;
            if (KA == 0) minus &= bf_cuda_high(p0) & bf_cuda_high(p1);
            if (D == BF_F64) {
                take_product(x0, y0, p0);
                take_product(x1, y1, p1);
            } else {
                product.take(p0, p1, misfit);
            }
        }
        /* Of f64, the product and its rounding error, which may be no double if it is too small. */
        __device__ __forceinline__ void take_product(double x, double y, double p) {
            product.take(p, fma(x, y, -p), misfit);
            if ((bf_cuda_high(p) & 0x7fffffffu) < (unsigned)(1023 - 900) << 20 && x != 0 && y != 0)
                misfit.left = 1;
        }
        /* Ends a group: true if all of it fitted. */
        __device__ bool close() {
            bool fits = !__any_sync(0xffffffffu, misfit.any());
            if (KA > 0) sum.fold(fits ? -1 : 0);
            if (KB > 0) product.fold(fits ? -1 : 0);
            minus = minus_before = fits ? minus : minus_before;
            misfit = {0, 0};
            return fits;
        }
    };

    /* Takes a tile; each vector is read again, for the tile `next`, if there is that one, as soon
     * as it has been taken. */
    template <class F>
    static __device__ __forceinline__ void take_tile(F &fold, Side &side, Tile &t,
                                                     const Elements &e, int64_t number,
                                                     int64_t next, int64_t tiles) {
        bool more = next < tiles, all = Tile::whole(e, next);
#pragma unroll
        for (int v = 0; v < tile; v++) {
            bf_cuda_elements<E> a(t.a[v]), b(t.b[pair ? v : 0]);
            if (more) t.load(e, next, v, all);
#pragma unroll
            for (int k = 0; k < N; k += 2) {
                double x0 = Dtype::value(a.e[k]), x1 = Dtype::value(a.e[k + 1]);
                if (pair)
                    fold.take(x0, Dtype::value(b.e[k]), x1, Dtype::value(b.e[k + 1]));
                else
                    fold.take(x0, x0, x1, x1);
            }
            if (Side::words > 0) e.fold(side, a, Tile::vector(number, v));
        }
    }

    /* --- by exponent --- */

    static __device__ void count_special(Block *block, int special) {
        atomicAdd((unsigned long long *)&block->own.words[special], 1ull);
    }

    static __device__ __forceinline__ void take_term(Block *block, int64_t *table, E a, E b) {
        const bf_format f = bf_format_of(D);
        uint64_t x = bf_load_bits(&a, sizeof(E)), y = bf_load_bits(&b, sizeof(E));
        int special = has_sum ? bf_exact_special(f, x) : bf_exact_special_pair(f, x, y);
        if (special) {
            count_special(block, special);
            return;
        }
        if (has_sum ? bf_exact_nonzero(f, x) : bf_exact_nonzero_pair(f, x, y))
            block->own.words[BF_EXACT_NONZERO] = 1;
        bf_finite u = bf_decode(f, x);
        if (has_sum)
            bf_cuda_bins_take(table, u.magnitude,
                              bf_exact_position(f, bf_layout_sum(D), u.position, 1), u.negative);
        if (has_product)
            take_product(table + sum_bins() * BF_CUDA_WARP, f, u, pair ? bf_decode(f, y) : u);
    }

    static __device__ __forceinline__ void take_product(int64_t *table, bf_format f, bf_finite u,
                                                        bf_finite v) {
        int position = bf_exact_position(f, bf_layout_products(D), u.position + v.position, 2);
        bool negative = u.negative != v.negative;
        bf_cuda_bins_take(table, u.magnitude * v.magnitude, position, negative);
        if (D == BF_F64)
            bf_cuda_bins_take(table, __umul64hi(u.magnitude, v.magnitude), position + 64, negative);
    }

    /* A table for this warp, cleared. */
    static __device__ int64_t *take_table(Block *block, int n, int *which) {
        int lane = (int)threadIdx.x % BF_CUDA_WARP;
        int i = (int)threadIdx.x / BF_CUDA_WARP % n, state = 1;
        while (state == 1) {
            if (lane == 0) state = atomicExch(&block->own.locks[i], 1);
            state = __shfl_sync(0xffffffffu, state, 0);
            if (state == 1) __nanosleep(200);
        }
        __threadfence_block();
        if (state == 0) bf_cuda_bins_clear(table(i), sum_bins() + product_bins());
        *which = i;
        return table(i);
    }

    static __device__ void fold_table(Block *block, int64_t *table, int which) {
        bf_kind kind = Kind == BF_KIND_DESCRIPTION ? BF_KIND_MOMENTS : Kind;
        bf_exact_shape s = bf_exact_shape_of(kind, D);
        if (has_sum) bf_cuda_bins_fold(table, sum_bins(), block->own.words + s.sum_at);
        if (has_product)
            bf_cuda_bins_fold(table + sum_bins() * BF_CUDA_WARP, product_bins(),
                              block->own.words + s.products_at);
        __threadfence_block();
        __syncwarp();
        if (threadIdx.x % BF_CUDA_WARP == 0) {
            atomicOr(&block->flags, BF_CUDA_BY_RULES);
            atomicExch(&block->own.locks[which], 2);
        }
    }

    /* A few vectors of a tile, all of which are on their way before the first is taken. */
    static __device__ __forceinline__ void take_terms(const Elements &e, Block *block,
                                                      int64_t *table, int64_t number, int first) {
        const int some = N > 4 ? 1 : 2;
        uint4 a[some], b[some];
#pragma unroll
        for (int v = 0; v < some; v++) {
            a[v] = e.load_a(Tile::vector(number, first + v));
            b[v] = pair ? e.load_b(Tile::vector(number, first + v)) : a[v];
        }
#pragma unroll
        for (int v = 0; v < some; v++) {
            bf_cuda_elements<E> x(a[v]), y(b[v]);
#pragma unroll
            for (int k = 0; k < N; k++)
                if (e.holds(Tile::vector(number, first + v) * N + k))
                    take_term(block, table, x.e[k], y.e[k]);
        }
        __syncwarp();
    }

    /* This warp's part of a group of tiles. */
    static __device__ __noinline__ void take_group(const bf_cuda_params &p, Block *block,
                                                   int64_t number, int64_t end) {
        Elements e = elements(p);
        int which;
        int64_t *table = take_table(block, p.tables, &which);
        for (int g = 0; g < group && number < end; g++, number += gridDim.x) {
#pragma unroll 1
            for (int v = 0; v<tile; v += N> 4 ? 1 : 2) take_terms(e, block, table, number, v);
        }
        fold_table(block, table, which);
    }

    /* --- all of it --- */

    template <int KA, int KB>
    static __device__ unsigned take_all(const bf_cuda_params &p, Block *block, const Elements &e,
                                        Tile &t, int64_t *values, Side &side) {
        Fold<KA, KB> fold;
        fold.open(block);
        int64_t tiles = Tile::number_of(e);
        bool hopeless = block->own.variant < 0;
        int misfits = hopeless ? BF_CUDA_MISFITS : 0; /* groups in a row that did not fit, */
        int direct = hopeless ? BF_CUDA_MISFITS : 0;  /* and to come that are not tried */
        for (int64_t first = blockIdx.x; first < tiles;) {
            int64_t number = first;
            for (int g = 0; g < group && number < tiles; g++, number += gridDim.x)
                take_tile(fold, side, t, e, number, number + gridDim.x, tiles);
            if (direct > 0) fold.misfit.left = 1;
            bool fits = fold.close();
            if (!fits) take_group(p, block, first, tiles);
            misfits = fits ? 0 : misfits < BF_CUDA_MISFITS ? misfits + 1 : BF_CUDA_MISFITS;
            direct = fits ? 0 : direct > 0 ? direct - 1 : misfits - 1;
            first = number;
        }
#pragma unroll
        for (int l = 0; l < KA; l++) values[l] = fold.sum.sum[l];
#pragma unroll
        for (int l = 0; l < KB; l++) values[KA + l] = fold.product.sum[l];
#pragma unroll
        for (int l = KA + KB; l < sums; l++) values[l] = 0;
        return fold.minus_before >> 31 ? 0 : BF_CUDA_POSITIVE;
    }

    static __device__ unsigned run(const bf_cuda_params &p, Block *block, int64_t *values,
                                   Side &side) {
        Elements e = elements(p);
        Tile t;
        t.load(e, blockIdx.x);
        for (int i = (int)threadIdx.x; i < BF_EXACT_WORDS_MAX; i += (int)blockDim.x)
            block->own.words[i] = 0;
        if (threadIdx.x < BF_CUDA_WARPS) block->own.locks[threadIdx.x] = 0;
        if (threadIdx.x < BF_CUDA_WARP) choose(p, e, block);
        side.start();
        __syncthreads();
        unsigned flags = 0;
        constexpr int a0 = Levels::sum(0), a1 = Levels::sum(1), a2 = Levels::sum(2);
        constexpr int b0 = Levels::product(0), b1 = Levels::product(1), b2 = Levels::product(2);
        switch (block->own.variant) {
        case 0: flags = take_all<a0, b0>(p, block, e, t, values, side); break;
        case 1: flags = take_all<a1, b1>(p, block, e, t, values, side); break;
        default: flags = take_all<a2, b2>(p, block, e, t, values, side); break;
        }
        __syncthreads();
        if (block->flags & BF_CUDA_BY_RULES) add_words(p, block);
        return flags;
    }

    /* The words of the block, which hold what went by exponent, enter the grid's. */
    static __device__ void add_words(const bf_cuda_params &p, Block *block) {
        for (int i = (int)threadIdx.x; i < BF_EXACT_WORDS_MAX; i += (int)blockDim.x)
            bf_cuda_limb_add(&p.scratch->words[i], block->own.words[i]);
        __threadfence();
        __syncthreads();
    }

    static __device__ void finish(const bf_cuda_params &p, Block *block) {
        const int variant = block->own.variant < 0 ? 2 : block->own.variant;
        const bf_cuda_series s = {Levels::sum(variant), Levels::product(variant),
                                  block->own.sum_bottom, block->own.product_bottom,
                                  BF_WINDOW_BITS + 1};
        bf_cuda_finish<Side>(p, s, block->sums.total, block->flags, block->side.total.at);
    }
};

template <bf_dtype D> static const bf_cuda_reduction *bf_cuda_float_reduction(bf_kind kind) {
    switch (kind) {
    case BF_KIND_SUM:
        return bf_cuda_reduction_of<bf_cuda_float_loop<D, BF_KIND_SUM, bf_cuda_none>>();
    case BF_KIND_SQUARES:
        return bf_cuda_reduction_of<bf_cuda_float_loop<D, BF_KIND_SQUARES, bf_cuda_none>>();
    case BF_KIND_MOMENTS:
        return bf_cuda_reduction_of<bf_cuda_float_loop<D, BF_KIND_MOMENTS, bf_cuda_none>>();
    case BF_KIND_PRODUCTS:
        return bf_cuda_reduction_of<bf_cuda_float_loop<D, BF_KIND_PRODUCTS, bf_cuda_none>>();
    case BF_KIND_DESCRIPTION:
        return bf_cuda_reduction_of<
            bf_cuda_float_loop<D, BF_KIND_DESCRIPTION, bf_cuda_extremes<D>>>();
    default: return nullptr;
    }
}

#endif
