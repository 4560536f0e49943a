/* Sums of floats by slot, in doubles that are proven exact (rules/reduce/terms.h). */
#include "cuda/axis/index/slots.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/reduce/terms.h"

namespace {

/* Adds a double to limbs of a state, of whose last bit it is a multiple. */
__device__ __noinline__ void deposit(const bf_cuda_index_target &to, bf_layout layout, int first,
                                     double x) {
    bf_finite d = bf_decode(bf_format_f64(), (uint64_t)__double_as_longlong(x));
    if (d.magnitude == 0) return;
    int zeros = __ffsll((long long)d.magnitude) - 1;
    int position = d.position + zeros + bf_format_least(bf_format_f64()) - layout.exponent;
    int64_t part[3] = {0, 0, 0};
    bf_limbs_add(part, position % 32, d.magnitude >> zeros, d.negative);
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (part[k] != 0) to.add(first + position / 32 + k, part[k]);
}

/* Add doubles to the sum, or to the squares, of a state. */
template <int n>
__device__ __forceinline__ void deposit_sum(const bf_cuda_index_target &to, const double (&x)[n]) {
    const bf_sum_shape shape = bf_sum_shape_of(to.p.kind, to.p.dtype);
#pragma unroll
    for (int k = 0; k < n; k++) deposit(to, shape.sum, shape.sum_at, x[k]);
}
template <int n>
__device__ __forceinline__ void deposit_squares(const bf_cuda_index_target &to,
                                                const double (&x)[n]) {
    const bf_sum_shape shape = bf_sum_shape_of(to.p.kind, to.p.dtype);
#pragma unroll
    for (int k = 0; k < n; k++) deposit(to, shape.products, shape.products_at, x[k]);
}

/* States count each of these: they are left to words. */
__device__ __forceinline__ bool is_negative_zero(double x) {
    return __double_as_longlong(x) == INT64_MIN;
}

/* Writes the sum or the mean of so many terms; minus: all are -0. */
__device__ __forceinline__ bool write_sum(const bf_cuda_index_params &p, int64_t r, uint32_t rows,
                                          bf_cuda_axis_exactly x, bool minus) {
    const bf_format f = bf_format_of(p.to);
    uint64_t bits = minus && rows > 0 ? bf_format_sign(f) : 0;
    bool good = true;
    if (rows == 0 && p.op == BF_MEAN)
        bits = bf_format_nan(f);
    else if (x.high != 0 && p.op == BF_MEAN)
        good = bf_cuda_axis_quick_mean(p.to, x, rows, 1 / (double)rows, &bits);
    else if (x.high != 0)
        bits = bf_cuda_axis_round(p.to, x.high, x.low, &good);
    if (good) bf_cuda_index_write(p, r, bits, true);
    return good;
}

/* Writes a sum of squares, its root, a variance or its root. */
__device__ __forceinline__ bool write_squares(const bf_cuda_index_params &p, int64_t r,
                                              uint32_t rows, bf_cuda_axis_exactly sum,
                                              bf_cuda_axis_exactly squares) {
    uint64_t bits = 0;
    bool good = true;
    if (p.kind == BF_KIND_MOMENTS && rows <= (int64_t)p.options.ddof)
        bits = bf_format_nan(bf_format_of(p.to));
    else if (p.kind == BF_KIND_MOMENTS)
        good = bf_cuda_axis_quick_variance(p.to, p.op == BF_STD, sum, squares, rows, p.options.ddof,
                                           &bits);
    else if (squares.high != 0 && p.op == BF_NORM)
        good = bf_cuda_axis_quick_root(p.to, squares, &bits);
    else if (squares.high != 0)
        bits = bf_cuda_axis_round(p.to, squares.high, squares.low, &good);
    if (good) bf_cuda_index_write(p, r, bits, true);
    return good;
}

/* The sum of f16, bf16 or f32: one double, or the result is left to words. */
template <bf_dtype D, int Columns> struct small_sum {
    using E = typename bf_cuda_float<D>::Element;
    static constexpr int V = Columns;
    double sum;
    bool exact;

    __device__ __forceinline__ void open() {
        sum = -0.0;
        exact = true;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &p, E e, bool has, uint32_t) {
        double x = has ? bf_cuda_float<D>::value(e) : -0.0;
        exact &= bf_add_exactly(&sum, x);
        if (has && p.states.counts != nullptr) exact &= !is_negative_zero(x);
    }
    __device__ __forceinline__ bool proven() const { return exact; }
    __device__ __forceinline__ void merge(const bf_cuda_index_params &, const small_sum &other) {
        exact &= other.exact && bf_add_exactly(&sum, other.sum);
    }
    __device__ __forceinline__ bool finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        return write_sum(p, r, rows, {sum, 0}, is_negative_zero(sum));
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        to.add(BF_SUM_COUNT, rows);
        if (is_negative_zero(sum)) to.add(BF_SUM_NEG_ZERO, rows);
        deposit_sum(to, {sum});
    }
};

/* The sum of f64, in three doubles. */
template <int Columns> struct double_sum {
    using E = double;
    static constexpr int V = Columns;
    double s, e, g;
    bool exact;

    __device__ __forceinline__ void open() {
        s = -0.0;
        e = g = 0;
        exact = true;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &p, E x, bool has, uint32_t) {
        exact &= bf_terms_add_f64(&s, &e, &g, has ? x : -0.0);
        if (has && p.states.counts != nullptr) exact &= !is_negative_zero(x);
    }
    __device__ __forceinline__ bool proven() const { return exact; }
    __device__ __forceinline__ void merge(const bf_cuda_index_params &, const double_sum &other) {
        const bool all_negative_zeros = is_negative_zero(s) && is_negative_zero(other.s);
        exact &= other.exact;
        exact &= bf_terms_add_f64(&s, &e, &g, other.s);
        exact &= bf_terms_add_f64(&s, &e, &g, other.e);
        exact &= bf_terms_add_f64(&s, &e, &g, other.g);
        if (all_negative_zeros) s = -0.0; /* the errors, which are +0, hide it */
    }
    __device__ __forceinline__ bool finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        return write_sum(p, r, rows, bf_cuda_axis_add_3(s, e, g), is_negative_zero(s));
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        to.add(BF_SUM_COUNT, rows);
        if (is_negative_zero(s)) to.add(BF_SUM_NEG_ZERO, rows);
        deposit_sum(to, {s, e, g});
    }
};

/* The squares of small floats, which are exact doubles, in two doubles; and their sum in one. */
template <bf_dtype D, bool has_sum, int Columns> struct small_squares {
    using E = typename bf_cuda_float<D>::Element;
    static constexpr int V = Columns;
    double sum, s, e;
    bool exact;

    __device__ __forceinline__ void open() {
        sum = s = e = 0;
        exact = true;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &, E element, bool has,
                                         uint32_t) {
        double x = has ? bf_cuda_float<D>::value(element) : 0.0;
        exact &= bf_terms_add(&s, &e, x * x);
        if (has_sum) exact &= bf_add_exactly(&sum, x);
    }
    __device__ __forceinline__ bool proven() const { return exact; }
    __device__ __forceinline__ void merge(const bf_cuda_index_params &,
                                          const small_squares &other) {
        exact &= other.exact && bf_terms_add(&s, &e, other.s) && bf_terms_add(&s, &e, other.e);
        if (has_sum) exact &= bf_add_exactly(&sum, other.sum);
    }
    __device__ __forceinline__ bool finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        bf_cuda_axis_exactly squares;
        squares.high = bf_two_sum(s, e, &squares.low);
        return write_squares(p, r, rows, {sum, 0}, squares);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        to.add(BF_SUM_COUNT, rows);
        if (has_sum) deposit_sum(to, {sum});
        deposit_squares(to, {s, e});
    }
};

/* The squares of doubles, each the sum of two, in three doubles; and their sum in three. */
template <bool has_sum> struct double_squares {
    using E = double;
    static constexpr int V = 1;
    double sum[3], square[3];
    bool exact;

    __device__ __forceinline__ void open() {
        sum[0] = sum[1] = sum[2] = square[0] = square[1] = square[2] = 0;
        exact = true;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &, E element, bool has,
                                         uint32_t) {
        const double x = has ? element : 0.0, h = x * x, l = fma(x, x, -h);
        exact &= x == 0 || h > 0x1p-900; /* its last bit is one of a double */
        exact &= bf_terms_add_f64(&square[0], &square[1], &square[2], h);
        double rest, low = bf_two_sum(square[1], l, &rest);
        square[1] = low;
        exact &= bf_add_exactly(&square[2], rest);
        if (has_sum) exact &= bf_terms_add_f64(&sum[0], &sum[1], &sum[2], x);
    }
    __device__ __forceinline__ bool proven() const { return exact; }
    __device__ __forceinline__ void merge(const bf_cuda_index_params &,
                                          const double_squares &other) {
        exact &= other.exact;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            exact &= bf_terms_add_f64(&square[0], &square[1], &square[2], other.square[k]);
            if (has_sum) exact &= bf_terms_add_f64(&sum[0], &sum[1], &sum[2], other.sum[k]);
        }
    }
    __device__ __forceinline__ bool finish(const bf_cuda_index_params &p, int64_t r,
                                           uint32_t rows) const {
        return write_squares(p, r, rows, bf_cuda_axis_add_3(sum[0], sum[1], sum[2]),
                             bf_cuda_axis_add_3(square[0], square[1], square[2]));
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        to.add(BF_SUM_COUNT, rows);
        if (has_sum) deposit_sum(to, sum);
        deposit_squares(to, square);
    }
};

/* --- choice --- */

/* Can a thread load so many columns at once? */
bool loads(const bf_cuda_index_params &p, int columns) {
    return p.width % columns == 0 && (uintptr_t)p.a % (unsigned)(columns * p.bytes) == 0;
}

template <bf_dtype D, bool has_sum>
bf_cuda_index_kernel squares_kernel(const bf_cuda_index_params &p, int *columns) {
    if (!loads(p, 2)) return bf_cuda_index_kernel_of<small_squares<D, has_sum, 1>>(p);
    *columns = 2;
    return bf_cuda_index_reduce<small_squares<D, has_sum, 2>>;
}

template <bf_dtype D>
bf_cuda_index_kernel small_kernel(const bf_cuda_index_params &p, int *columns) {
    *columns = 1;
    if (p.kind == BF_KIND_SQUARES) return squares_kernel<D, false>(p, columns);
    if (p.kind == BF_KIND_MOMENTS) return squares_kernel<D, true>(p, columns);
    if (!loads(p, 4)) return bf_cuda_index_kernel_of<small_sum<D, 1>>(p);
    *columns = 4;
    return p.width < 16 ? bf_cuda_index_reduce<small_sum<D, 4>, 8>
                        : bf_cuda_index_reduce<small_sum<D, 4>>;
}

bf_cuda_index_kernel double_kernel(const bf_cuda_index_params &p, int *columns) {
    *columns = 1;
    if (p.kind == BF_KIND_SQUARES) return bf_cuda_index_kernel_of<double_squares<false>>(p);
    if (p.kind == BF_KIND_MOMENTS) return bf_cuda_index_kernel_of<double_squares<true>>(p);
    if (!loads(p, 2)) return bf_cuda_index_kernel_of<double_sum<1>>(p);
    *columns = 2;
    return bf_cuda_index_reduce<double_sum<2>>;
}

} // namespace

bf_cuda_index_kernel bf_cuda_index_floats(const bf_cuda_index_params &p, int *columns) {
    *columns = 1;
    if (p.kind == BF_KIND_DOT || p.kind == BF_KIND_EXTREME) return NULL;
    switch (p.dtype) {
    case BF_F16: return small_kernel<BF_F16>(p, columns);
    case BF_BF16: return small_kernel<BF_BF16>(p, columns);
    case BF_F32: return small_kernel<BF_F32>(p, columns);
    case BF_F64: return double_kernel(p, columns);
    default: return NULL;
    }
}
