/* Sums of joint kinds, for a thread: pairs (floats.cuh, pieces.cuh), or all parts in windows
 * (cuda/reduce/sum_window.cuh). There a product of two elements is p + e, both doubles, and those
 * of three and four are the products of such parts, split again. All of it is exact, or the window
 * says that it was not. */
#ifndef BF_CUDA_REDUCE_JOINT_WINDOWS_CUH
#define BF_CUDA_REDUCE_JOINT_WINDOWS_CUH

#include "cuda/reduce/joint/floats.cuh"
#include "cuda/runtime/element.cuh"
#include "cuda/runtime/launch.cuh"
#include "cuda/runtime/ptx.cuh"

namespace bf_cuda_joint {

enum {
    THREADS = 128,
    HELD = 4,  /* a multiprocessor holds so many blocks at least */
    ROWS = 32, /* elements that a thread takes before it folds: no level gets more than six deposits
                  of each */
    AT_ONCE = 4, /* it takes so many at a time, and copies as many that come next */
    VARIANTS = 4,
    FOLDS_MOST = 1 << 4 /* folds of a thread: their sums stay below 2^63 */
};
static_assert(FOLDS_MOST * ROWS <= pairs_in_pieces::ROWS_MOST && ROWS <= pairs_of_floats::ROWS_MOST,
              "too many folds");

/* The sums of a variant: pairs of floats, pairs in pieces, or windows. */
enum way { FLOATS, PIECES, WINDOWS };
enum { IN_PIECES = VARIANTS };
__host__ __device__ constexpr way way_of(bf_kind kind, int variant) {
    return variant == IN_PIECES                        ? PIECES
           : variant == 0 && kind == BF_KIND_COMOMENTS ? FLOATS
                                                       : WINDOWS;
}
/* The levels of a window of terms of so many factors. */
__host__ __device__ constexpr int window_levels_of(int factors, int variant) {
    return variant == 1 ? factors + 1 : (variant == 0 ? 1 : variant) * factors;
}
/* The levels of a sum of terms of so many factors, and how many bits each is below the last. */
__host__ __device__ constexpr int levels_of(bf_kind kind, int factors, int variant) {
    const way how = way_of(kind, variant);
    return how == FLOATS   ? factors
           : how == PIECES ? factors * (pairs_in_pieces::PIECES - 1) + 1
                           : window_levels_of(factors, variant);
}
__host__ __device__ constexpr int step_of(bf_kind kind, int variant) {
    const way how = way_of(kind, variant);
    return how == FLOATS   ? (int)pairs_of_floats::STEP
           : how == PIECES ? (int)pairs_in_pieces::STEP
                           : BF_WINDOW_BITS + 1;
}
enum {
    LEVELS_MOST = window_levels_of(1, 3) + window_levels_of(2, 3) + window_levels_of(3, 3) +
                  window_levels_of(4, 3)
};

/* Do windows take elements of this dtype? Integers of 64 bits go to limbs alone. */
static inline bool has_doubles(bf_dtype dtype) {
    return dtype == BF_F64 || bf_dtype_bytes(dtype) <= 4;
}

/* The sum of a level: lo + hi * 2^32. */
struct level_sum {
    unsigned long long lo, hi;
};

BF_RULE bf_i128 value_of(const level_sum &sum) {
    return (bf_i128)(int64_t)sum.lo + (bf_i128)(int64_t)sum.hi * ((bf_i128)1 << 32);
}

/* The sums of a call: which levels they have, and where the top level of each part is. */
struct windows {
    int variant;
    int bottom[BF_PARTS_MOST];
};

/* ---- elements -------------------------------------------------------------------------------- */

/* Elements as doubles. is_wide: their products may need two. checked: products of four may leave
 * the range of doubles. Some variants of windows are tried, from `first` on: of f64, which most of
 * the bits are of, all; of f32 two; integers, and other floats of up to 80 binades, fit one. Those
 * of a long array have `spare` bits to spare. One number around 0 in 2^k is 2^k times less than
 * others, so that 2^(1 - spare) of its chunks do not fit; that costs less than one level more. */
struct of_f64 {
    typedef double Element;
    static constexpr bool is_wide = true, checked = true;
    static constexpr int first = 1, tried = 3, spare = 10;
    static __device__ __forceinline__ double at(bf_dtype, const void *x, int64_t i) {
        return ((const double *)x)[i];
    }
};
struct of_f32 {
    typedef float Element;
    static constexpr bool is_wide = false, checked = false;
    static constexpr int first = 0, tried = 2, spare = 7;
    static __device__ __forceinline__ double at(bf_dtype, const void *x, int64_t i) {
        return (double)((const float *)x)[i];
    }
};
struct of_others {
    static constexpr bool is_wide = true, checked = false;
    static constexpr int first = 1, tried = 1, spare = 10;
    static __device__ __forceinline__ double at(bf_dtype dtype, const void *x, int64_t i) {
        switch (dtype) {
#define BF_X(id, ...)                                                                              \
    case BF_##id:                                                                                  \
        return (double)bf_cuda_element::element<BF_##id>::decode(                                  \
            ((const bf_cuda_element::stored_of<BF_##id> *)x)[i]);
            BF_DTYPE_LIST(BF_X)
#undef BF_X
        default: return 0;
        }
    }
};

/* ---- windows --------------------------------------------------------------------------------- */

/* What did not fit since the chunk began: bits below the last level, or changes of the sign and
 * exponent of a top level. Integer instructions tell, for additions of doubles are the limit. */
struct misfit_bits {
    unsigned left, moved;
};

/* The sums of levels, of each thread: shared memory [level][thread]. */
using level_sums = int64_t (*)[THREADS];

/* The sum of terms of one part. */
template <int Factors, int Variant> struct series {
    static constexpr int levels = window_levels_of(Factors, Variant);
    bf_cuda_window<levels, levels> window;

    __device__ __forceinline__ void fold(level_sums sums) {
#pragma unroll
        for (int l = 0; l < levels; l++)
            sums[l][threadIdx.x] += __double_as_longlong(window.level[l]) -
                                    (int64_t)((uint64_t)window.start_of(l) << 32);
        window.reset();
    }
    /* Takes x, which is no more than what level First - 1 leaves. */
    template <int First> __device__ __forceinline__ void take(double x, misfit_bits &misfit) {
        double rounded = window.round(First, x);
        if (First == 0) misfit.moved |= bf_cuda_high(window.level[0]) ^ window.start;
#pragma unroll
        for (int l = First + 1; l < levels; l++) {
            x = x - rounded;
            rounded = window.round(l, x);
        }
        misfit.left |= bf_cuda_high(x) ^ bf_cuda_high(rounded);
        misfit.left |= (unsigned)__double2loint(x) ^ (unsigned)__double2loint(rounded);
    }
    /* Takes u * v. */
    template <int First, bool Rest>
    __device__ __forceinline__ void take(double u, double v, misfit_bits &misfit) {
        const double p = u * v;
        take<First>(p, misfit);
        if (Rest) take<First + 1>(fma(u, v, -p), misfit);
    }
    /* Takes (p + e) * x. */
    template <bool Wide>
    __device__ __forceinline__ void take_third(double p, double e, double x, misfit_bits &misfit) {
        take<0, true>(p, x, misfit);
        if (Wide) take<1, true>(e, x, misfit);
    }
    /* Takes (p + e)^2. */
    template <bool Wide>
    __device__ __forceinline__ void take_fourth(double p, double e, misfit_bits &misfit) {
        take<0, true>(p, p, misfit);
        if (!Wide) return;
        take<1, true>(2 * p, e, misfit);
        take<2, true>(e, e, misfit);
    }
};

/* The parts of a kind, in the order of bf_kind_part: visit(part, number, level) is called for each
 * with the number of its first level. */
template <bf_kind Kind, int Variant> struct parts;

template <int V> struct parts<BF_KIND_POWERS, V> {
    static constexpr bool pairs = false;
    static constexpr int levels = window_levels_of(1, V) + window_levels_of(2, V) +
                                  window_levels_of(3, V) + window_levels_of(4, V);
    series<1, V> x;
    series<2, V> xx;
    series<3, V> xxx;
    series<4, V> xxxx;
    template <bool Wide>
    __device__ __forceinline__ void take(double a, double, misfit_bits &misfit) {
        const double p = a * a, e = Wide ? fma(a, a, -p) : 0;
        x.template take<0>(a, misfit);
        xx.template take<0, Wide>(a, a, misfit);
        xxx.template take_third<Wide>(p, e, a, misfit);
        xxxx.template take_fourth<Wide>(p, e, misfit);
    }
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) {
        visit(x, 0, 0);
        visit(xx, 1, x.levels);
        visit(xxx, 2, x.levels + xx.levels);
        visit(xxxx, 3, x.levels + xx.levels + xxx.levels);
    }
};

template <int V> struct parts<BF_KIND_COMOMENTS, V> {
    static constexpr bool pairs = true;
    static constexpr int levels = 2 * window_levels_of(1, V) + 3 * window_levels_of(2, V);
    series<1, V> x, y;
    series<2, V> xx, xy, yy;
    template <bool Wide>
    __device__ __forceinline__ void take(double a, double b, misfit_bits &misfit) {
        x.template take<0>(a, misfit);
        y.template take<0>(b, misfit);
        xx.template take<0, Wide>(a, a, misfit);
        xy.template take<0, Wide>(a, b, misfit);
        yy.template take<0, Wide>(b, b, misfit);
    }
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) {
        visit(x, 0, 0);
        visit(y, 1, x.levels);
        visit(xx, 2, 2 * x.levels);
        visit(xy, 3, 2 * x.levels + xx.levels);
        visit(yy, 4, 2 * x.levels + 2 * xx.levels);
    }
};

template <int V> struct parts<BF_KIND_WEIGHTED, V> {
    static constexpr bool pairs = true;
    static constexpr int levels =
        window_levels_of(1, V) + 2 * window_levels_of(2, V) + window_levels_of(3, V);
    series<1, V> y;
    series<2, V> yy, xy;
    series<3, V> xxy;
    template <bool Wide>
    __device__ __forceinline__ void take(double a, double b, misfit_bits &misfit) {
        const double p = a * b, e = Wide ? fma(a, b, -p) : 0;
        y.template take<0>(b, misfit);
        yy.template take<0, Wide>(b, b, misfit);
        xy.template take<0, Wide>(a, b, misfit);
        xxy.template take_third<Wide>(p, e, a, misfit);
    }
    template <class Visit> __device__ __forceinline__ void each(const Visit &visit) {
        visit(y, 0, 0);
        visit(yy, 1, y.levels);
        visit(xy, 2, y.levels + yy.levels);
        visit(xxy, 3, y.levels + 2 * yy.levels);
    }
};

/* All parts of a kind in windows. */
template <bf_kind Kind, int Variant> struct in_windows : parts<Kind, Variant> {
    typedef double Number;
    using Misfit = misfit_bits;
    static constexpr bool checks_far = true;

    /* Takes some elements, or pairs. */
    template <bool Wide, int Pairs>
    __device__ __forceinline__ void take(const double (&a)[Pairs], const double (&b)[Pairs],
                                         Misfit &misfit) {
#pragma unroll
        for (int k = 0; k < Pairs; k++)
            parts<Kind, Variant>::template take<Wide>(a[k], b[k], misfit);
    }
    __device__ __forceinline__ void open(const int *bottom) {
        this->each([&](auto &part, int i, int) { part.window.open(bottom[i]); });
    }
    __device__ __forceinline__ void fold(level_sums sums) {
        this->each([&](auto &part, int, int level) { part.fold(sums + level); });
    }
    __device__ __forceinline__ void reset() {
        this->each([&](auto &part, int, int) { part.window.reset(); });
    }
    __device__ __forceinline__ bool fits(const Misfit &misfit) const {
        return misfit.left == 0 && misfit.moved >> 20 == 0;
    }
};

template <bf_kind Kind, int Variant, way How = way_of(Kind, Variant)> struct sums_of_kind;
template <bf_kind Kind, int Variant> struct sums_of_kind<Kind, Variant, FLOATS> {
    typedef pairs_of_floats type;
};
template <bf_kind Kind, int Variant> struct sums_of_kind<Kind, Variant, PIECES> {
    typedef pairs_in_pieces type;
};
template <bf_kind Kind, int Variant> struct sums_of_kind<Kind, Variant, WINDOWS> {
    typedef in_windows<Kind, Variant> type;
};
template <bf_kind Kind, int Variant> using sums_of = typename sums_of_kind<Kind, Variant>::type;

/* ---- the choice of sums ---------------------------------------------------------------------- */

/* The extent of an element. Of pairs of floats exponents count, whatever their last bits are. */
template <class Source> static __device__ bf_extent extent_of(bf_kind kind, double x) {
    bf_extent e = bf_cuda_extent(x);
    if (way_of(kind, Source::first) == FLOATS && e.top >= e.least) e.least = max(e.top - 24, -149);
    return e;
}

static __device__ bf_extent extent_of_term(bf_extent a, bf_extent b, int i, int j) {
    bf_extent e = {-(1 << 20), 1 << 20};
    if ((i > 0 && a.top < a.least) || (j > 0 && b.top < b.least)) return e;
    e.top = (i > 0 ? i * a.top : 0) + (j > 0 ? j * b.top : 0);
    e.least = (i > 0 ? i * a.least : 0) + (j > 0 ? j * b.least : 0);
    return e;
}

/* Places the levels of pairs, with so many bits below those of the extents. */
template <class Sums>
static __device__ bool place_pairs(const bf_parts &parts, bf_extent a, bf_extent b, int below,
                                   int *bottom) {
    int at[2];
    const bool holds = Sums::place(a, b, below, parts.part[0].layout.exponent, at);
    for (int i = 0; i < parts.count; i++) {
        const bf_part *part = &parts.part[i];
        bottom[i] = part->a * at[0] + part->b * at[1];
        if (part->a + part->b == 2) bottom[i] += Sums::ABOVE;
    }
    return holds;
}

/* Places the levels of all parts, of one variant. */
static __device__ bool place(bf_kind kind, const bf_parts &parts, bf_extent a, bf_extent b,
                             int below, int variant, int *bottom) {
    bool holds = true;
    const way how = way_of(kind, variant);
    if (how == FLOATS) return place_pairs<pairs_of_floats>(parts, a, b, below, bottom);
    if (how == PIECES) return place_pairs<pairs_in_pieces>(parts, a, b, below, bottom);
    for (int i = 0; i < parts.count; i++) {
        const bf_part *part = &parts.part[i];
        const int factors = part->a + part->b, levels = window_levels_of(factors, variant);
        const int least = part->layout.exponent;
        bf_extent e = extent_of_term(a, b, part->a, part->b);
        if (e.top < e.least) e.top = e.least = least > 0 ? least : 0;
        holds &= bf_cuda_window_place(e, factors * below, least, {levels, levels}, part->layout,
                                      &bottom[i]);
    }
    return holds;
}

/* The first variant of whole arrays: pairs of doubles are taken in pieces. Where many results share
 * a multiprocessor these need more registers than they gain. */
template <class Source> __host__ __device__ constexpr int first_of(bf_kind kind) {
    return kind == BF_KIND_COMOMENTS && Source::checked ? (int)IN_PIECES : Source::first;
}

/* By a warp: the first variant whose levels hold the samples of its lanes, with so many bits to
 * spare below: `first`, or those after the first of the source. */
template <class Source>
static __device__ void choose(bf_kind kind, bf_dtype dtype, int first, bf_extent a, bf_extent b,
                              int below, windows *chosen) {
    const bf_parts parts = bf_parts_of(kind, dtype);
    a = bf_cuda_extent_warp(a);
    b = bf_cuda_extent_warp(b);
    if (threadIdx.x % BF_CUDA_WARP != 0) return;
    chosen->variant = first;
    for (int next = Source::first + 1; next < Source::first + Source::tried; next++) {
        if (place(kind, parts, a, b, below, chosen->variant, chosen->bottom)) return;
        chosen->variant = next;
    }
    place(kind, parts, a, b, below, chosen->variant, chosen->bottom);
}

/* Bits to spare, so that hardly any element does not fit: a sample was taken of so many. */
static __device__ int spare_for(int64_t each) {
    return bf_bit_length((uint64_t)each) + BF_CUDA_SPARE;
}

/* ---- elements in windows --------------------------------------------------------------------- */

/* May some error of a product not be a double? */
template <class Source> static __device__ __forceinline__ bool is_far(double x) {
    const unsigned high = bf_cuda_high(x) & 0x7fffffffu, least = (1023u - 200u) << 20;
    if (!Source::checked || high - least < 400u << 20) return false;
    return (high | (unsigned)__double2loint(x)) != 0;
}

/* How many of the elements `from`, from + step and so on below `end` a thread takes at a time. */
static __device__ __forceinline__ int rows_of(int64_t from, int64_t end, int step) {
    const int64_t rows = (end - from + step - 1) / step;
    return rows < ROWS ? (int)rows : ROWS;
}

/* Elements of an array that threads take soon, in shared memory: copies to it go on while others
 * are added, where registers would keep loads from being early. */
template <class Source> struct lookahead {
    typedef typename Source::Element Element;
    Element held[2 * AT_ONCE][THREADS];
    __device__ __forceinline__ void begin(const void *x, int64_t i, int row) {
        bf_cuda_begin_copy<sizeof(Element)>(&held[row % (2 * AT_ONCE)][threadIdx.x],
                                            (const Element *)x + i);
    }
    __device__ __forceinline__ Element get(bf_dtype, const void *, int64_t, int row) const {
        return held[row % (2 * AT_ONCE)][threadIdx.x];
    }
};
/* Elements of fewer bytes are loaded when they are taken. */
template <> struct lookahead<of_others> {
    __device__ __forceinline__ void begin(const void *, int64_t, int) {}
    __device__ __forceinline__ double get(bf_dtype dtype, const void *x, int64_t i, int) const {
        return of_others::at(dtype, x, i);
    }
};

/* A block's shared memory. */
template <class Source, int levels> struct room {
    int64_t sums[levels][THREADS]; /* each thread's, of each level */
    lookahead<Source> a, b;
};

/* Takes elements `from`, from + step and so on of a thread, so many: place_a(i), place_b(i) say
 * where number i is. Returns whether all fit. */
template <class Source, class Parts, class PlaceA, class PlaceB>
static __device__ __forceinline__ bool take_rows(bf_dtype dtype, const void *a, const void *b,
                                                 int64_t from, int rows, int step,
                                                 const PlaceA &place_a, const PlaceB &place_b,
                                                 room<Source, Parts::levels> *room, Parts &all) {
    typename Parts::Misfit misfit = {};
    bool far = false;
    const auto begin = [&](int row) {
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++, row++) {
            if (row >= rows) continue;
            room->a.begin(a, place_a(from + (int64_t)row * step), row);
            if (Parts::pairs) room->b.begin(b, place_b(from + (int64_t)row * step), row);
        }
        bf_cuda_end_group();
    };
    begin(0);
    begin(AT_ONCE);
#pragma unroll 1
    for (int row = 0; row < rows; row += AT_ONCE) {
        typename Parts::Number x[AT_ONCE], y[AT_ONCE];
        bf_cuda_wait_for_groups<1>();
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++) {
            const int64_t i = from + (int64_t)(row + k) * step;
            const bool is_there = row + k < rows;
            x[k] = is_there ? room->a.get(dtype, a, place_a(i), row + k) : 0;
            y[k] = Parts::pairs && is_there ? room->b.get(dtype, b, place_b(i), row + k) : 0;
        }
        begin(row + 2 * AT_ONCE);
        if constexpr (Parts::checks_far)
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                far |= is_far<Source>(x[k]) | (Parts::pairs && is_far<Source>(y[k]));
        all.template take<Source::is_wide>(x, y, misfit);
    }
    return all.fits(misfit) && !far;
}

/* Launches blocks of THREADS for so many tasks of a warp, no more than the GPU holds at once. */
template <class Params>
static cudaError_t launch_resident(const bf_cuda *cuda, void (*kernel)(Params), size_t shared,
                                   int64_t tasks, const Params &p) {
    bf_cuda_shape shape = {1, THREADS, shared, false, true};
    int blocks = 1;
    const cudaError_t error = bf_cuda_occupancy(cuda, (const void *)kernel, shape, &blocks);
    constexpr int warps = THREADS / BF_CUDA_WARP;
    shape.blocks = bf_cuda_blocks(cuda, tasks, warps, blocks);
    return error == cudaSuccess ? bf_cuda_launch(cuda, kernel, shape, p) : error;
}

} // namespace bf_cuda_joint

#endif
