/* Sums, means and variances of floats, of any number of elements: in a few doubles, like those of
 * few elements (doubles.cuh), by the kernels that windows have. A tile of which some result is not
 * proven is left to the accumulator of sum.cuh.
 *
 * Sums are chains of two-sums, whose errors are added as they come. The partial sums that are added
 * at one depth have n terms together. So errors sum to at most depth * n * 2^-53 of the greatest
 * magnitude. If that is at most 2^53 units of the least one, nothing rounds. If not, the sum of the
 * errors lacks at most 2^-53 of itself at each depth, which rarely changes the result. */
#ifndef BF_CUDA_AXIS_DOUBLES_APPROXIMATE_CUH
#define BF_CUDA_AXIS_DOUBLES_APPROXIMATE_CUH

#include "cuda/axis/doubles/doubles.cuh"
#include "cuda/axis/taking.cuh"

#include "rules/number/format.h"

/* The most additions of a result that follow each other: others add a zero. */
static __device__ __forceinline__ double bf_cuda_axis_roundings(const bf_cuda_axis_params &p,
                                                                int64_t count) {
    return fmin(p.roundings, (double)count);
}

/* Are there no elements, or too few for a variance? */
static __device__ __forceinline__ bool bf_cuda_axis_is_few(const bf_cuda_axis_params &p,
                                                           int64_t count) {
    return count <= (p.kind == BF_KIND_MOMENTS ? p.ddof : 0);
}
/* Their result; false: one of them may be a NaN that is refused. */
static __device__ __forceinline__ bool bf_cuda_axis_find_few(const bf_cuda_axis_params &p,
                                                             int64_t count, uint64_t *bits) {
    *bits = bf_cuda_axis_none(p);
    return count == 0 || p.nan != BF_NAN_ERROR;
}

/* Writes a result if it is good, or leaves it. */
static __device__ __forceinline__ void
bf_cuda_axis_write_if(bool good, const bf_cuda_axis_params &p, int64_t r, uint64_t bits) {
    if (good)
        bf_cuda_axis_store(p, r, bits);
    else if (p.listed || (p.tile == 0 && p.piece > BF_CUDA_AXIS_PIECE))
        bf_cuda_axis_mark(p, r);
    else
        bf_cuda_axis_defer_once(p, r);
}

template <class C>
struct bf_cuda_axis_approximate : bf_cuda_axis_takes_all<bf_cuda_axis_approximate<C>>,
                                  bf_cuda_axis_same_total<bf_cuda_axis_approximate<C>> {
    using Class = C;
    using Value = typename C::Value;
    static constexpr bool pair = false, has_origin = true;
    static constexpr int words = 2, total = 2, columns = 4, blocks = 4;

    double sum, squares, origin;
    bool is_plain; /* squares alone are wanted */

    __device__ __forceinline__ void open(const bf_cuda_axis_params &p) {
        is_plain = p.kind == BF_KIND_SQUARES;
        reset();
    }
    __device__ __forceinline__ void reset() { sum = squares = 0; }
    __device__ __forceinline__ void start(Value x) { origin = is_plain ? 0 : x; }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t, int64_t, int some) {
#pragma unroll
        for (int k = 0; k < n; k++) {
            const double d = k < some ? x[k] - origin : 0;
            sum += d;
            squares = fma(d, d, squares);
        }
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) {
        part[0] = __double_as_longlong(sum);
        part[1] = __double_as_longlong(squares);
    }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
#pragma unroll
        for (int i = 0; i < words; i++)
            into[i] =
                __double_as_longlong(__longlong_as_double(into[i]) + __longlong_as_double(from[i]));
    }
    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r,
                                                  int64_t count, const int64_t (&whole)[total]) {
        bf_cuda_axis_proven proven(p, count, 1);
        uint64_t bits;
        const double sum = __longlong_as_double(whole[0]), squares = __longlong_as_double(whole[1]);
        proven.lost = bf_cuda_axis_lost(bf_cuda_axis_roundings(p, count));
        const bool good = bf_cuda_axis_is_few(p, count)
                              ? bf_cuda_axis_find_few(p, count, &bits)
                              : bf_cuda_axis_prove_moments(p, proven, sum, squares, &bits);
        bf_cuda_axis_write_if(good, p, r, bits);
    }
};

/* Ahead: vectors under way. */
template <class C, int Ahead>
struct bf_cuda_axis_approximate_sum
    : bf_cuda_axis_takes_all<bf_cuda_axis_approximate_sum<C, Ahead>>,
      bf_cuda_axis_same_total<bf_cuda_axis_approximate_sum<C, Ahead>> {
    using Class = C;
    using Value = typename C::Value;
    using Sum = std::conditional_t<C::is_double, bf_cuda_axis_proven_sum_f64,
                                   bf_cuda_axis_proven_sum<false>>;
    using Joint = typename Sum::Joint;
    static constexpr bool pair = false;
    static constexpr int words = 3, total = 3, blocks = Ahead > 4 ? 2 : 4, columns = Sum::columns;

    Sum sums;
    Joint joint;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &) { reset(); }
    __device__ __forceinline__ void reset() {
        sums.reset();
        joint.reset();
    }
    __device__ __forceinline__ void take_one(Value x) { sums.take(x, joint, 0); }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t, int64_t, int some) {
#pragma unroll
        for (int k = 0; k < n; k++) take_one(k < some ? x[k] : (Value)-0.0);
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) {
        part[0] = __double_as_longlong(sums.sum);
        part[1] = __double_as_longlong(sums.error);
        part[2] = joint.word();
    }
    static __device__ __forceinline__ void open_part(const int64_t (&part)[words],
                                                     bf_cuda_axis_approximate_sum *x) {
        x->sums.sum = __longlong_as_double(part[0]);
        x->sums.error = __longlong_as_double(part[1]);
        x->joint.set(part[2]);
    }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
        bf_cuda_axis_approximate_sum x, y;
        open_part(into, &x);
        open_part(from, &y);
        x.sums.merge(y.sums, x.joint);
        x.joint.join(y.joint);
        x.close(into);
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p, int64_t count,
                                          uint64_t *bits) const {
        if (count > 0) return sums.prove(p, count, p.roundings, joint, bits);
        *bits = bf_cuda_axis_none(p);
        return true;
    }
    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r,
                                                  int64_t count, const int64_t (&whole)[total]) {
        bf_cuda_axis_approximate_sum x;
        open_part(whole, &x);
        uint64_t bits;
        const bool good = x.prove(p, count, &bits);
        bf_cuda_axis_write_if(good, p, r, bits);
    }
};

template <class C, int Ahead>
constexpr int bf_cuda_axis_under_way<bf_cuda_axis_approximate_sum<C, Ahead>> = Ahead;

/* Moments of f64. */
template <class C, int Ahead>
struct bf_cuda_axis_approximate_f64
    : bf_cuda_axis_takes_all<bf_cuda_axis_approximate_f64<C, Ahead>>,
      bf_cuda_axis_same_total<bf_cuda_axis_approximate_f64<C, Ahead>> {
    using Class = C;
    using Value = typename C::Value;
    using Sums = bf_cuda_axis_proven_moments_f64;
    static constexpr bool pair = false;
    static constexpr int words = 4, total = 4, columns = Sums::columns, blocks = 3;

    Sums sums;

    __device__ __forceinline__ void open(const bf_cuda_axis_params &) { reset(); }
    __device__ __forceinline__ void reset() { sums.reset(); }
    __device__ __forceinline__ void take_one(Value x) {
        typename Sums::Joint none;
        sums.take(x, none, 0);
    }
    template <int n>
    __device__ __forceinline__ void take(Value (&x)[n], Value (&)[n], int64_t, int64_t, int some) {
#pragma unroll
        for (int k = 0; k < n; k++) take_one(k < some ? x[k] : 0);
    }
    __device__ __forceinline__ void close(int64_t (&part)[words]) {
        part[0] = __double_as_longlong(sums.sum);
        part[1] = __double_as_longlong(sums.error);
        part[2] = __double_as_longlong(sums.squares);
        part[3] = __double_as_longlong(sums.more);
    }
    static __device__ __forceinline__ Sums open_part(const int64_t (&part)[words]) {
        Sums x;
        x.sum = __longlong_as_double(part[0]);
        x.error = __longlong_as_double(part[1]);
        x.squares = __longlong_as_double(part[2]);
        x.more = __longlong_as_double(part[3]);
        return x;
    }
    static __device__ __forceinline__ void merge(int64_t (&into)[words],
                                                 const int64_t (&from)[words]) {
        bf_cuda_axis_approximate_f64 x;
        x.sums = open_part(into);
        x.sums.bf_cuda_axis_moments_f64::merge(open_part(from));
        x.close(into);
    }
    static __device__ __forceinline__ void finish(const bf_cuda_axis_params &p, int64_t r,
                                                  int64_t count, const int64_t (&whole)[total]) {
        uint64_t bits;
        const bool good =
            bf_cuda_axis_is_few(p, count)
                ? bf_cuda_axis_find_few(p, count, &bits)
                : open_part(whole).find(p, count, bf_cuda_axis_roundings(p, count), &bits);
        bf_cuda_axis_write_if(good, p, r, bits);
    }
};

#if !defined __CUDA_ARCH__ || __CUDA_ARCH__ >= 800
/* Vectors of columns: the next rows of a thread are under way to shared memory, for which they need
 * no registers. */
template <template <class, int> class Sums, class C, int Ahead, int W>
struct bf_cuda_axis_column_stream<Sums<C, Ahead>, W, true> {
    using A = Sums<C, Ahead>;
    using Raw = typename C::Raw;
    static constexpr int bytes = (int)sizeof(Raw) * W;

    const bf_cuda_axis_params &p;
    const bf_cuda_axis_columns_at<C, W> &columns;
    int64_t a, b;           /* the next row: its first element */
    int64_t step_a, step_b; /* elements from one row to the next */
    int64_t index;
    int apart;
    Raw x[1][W], y[1][W];

    __device__ __forceinline__ void take(A (&sums)[W], int count) {
        __shared__ __align__(16) char ring[Ahead][BF_CUDA_AXIS_THREADS][bytes];
        const char *at = (const char *)p.a + (a + columns.column[0]) * (int)sizeof(Raw);
        const int64_t step = step_a * (int)sizeof(Raw);
        int begun = 0;
#pragma unroll
        for (int k = 0; k < Ahead; k++, begun++, at += step) {
            if (begun < count) bf_cuda_begin_copy<bytes>(ring[k][threadIdx.x], at);
            bf_cuda_end_group();
        }
        BF_ROLLED
        for (int i = 0; i < count; i += Ahead) {
#pragma unroll
            for (int k = 0; k < Ahead; k++, begun++, at += step) {
                if (i + k >= count) break;
                Raw u[W];
                bf_cuda_wait_for_groups<Ahead - 1>();
                memcpy(u, __builtin_assume_aligned(ring[k][threadIdx.x], bytes), bytes);
                if (begun < count) bf_cuda_begin_copy<bytes>(ring[k][threadIdx.x], at);
                bf_cuda_end_group();
#pragma unroll
                for (int w = 0; w < W; w++) sums[w].take_one(C::value(p, u[w]));
            }
        }
        bf_cuda_wait_for_groups<0>();
    }
};
#endif

#endif
