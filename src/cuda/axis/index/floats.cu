/* Sums of floats by slot, in doubles that are proven exact (rules/reduce/terms.h). */
#include "cuda/axis/index/slots.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/reduce/terms.h"

namespace {

/* Adds a double to the limbs of a layout, of whose last bit it is a multiple. */
template <class Add>
__device__ __forceinline__ void deposit(bf_layout layout, double x, const Add &add) {
    bf_finite d = bf_decode(bf_format_f64(), (uint64_t)__double_as_longlong(x));
    if (d.magnitude == 0) return;
    int zeros = __ffsll((long long)d.magnitude) - 1;
    int position = d.position + zeros + bf_format_least(bf_format_f64()) - layout.exponent;
    int64_t part[3] = {0, 0, 0};
    bf_limbs_add(part, position % 32, d.magnitude >> zeros, d.negative);
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (part[k] != 0) add(position / 32 + k, part[k]);
}

/* States count each of these: they are left to words. */
__device__ __forceinline__ bool is_negative_zero(double x) {
    return __double_as_longlong(x) == INT64_MIN;
}

/* The doubles of a sum, and of a sum of squares: as many as are needed. */
template <bf_dtype D, bool has_sum, bool has_squares> struct parts {
    static constexpr int sums = !has_sum ? 0 : D == BF_F64 ? 3 : 1, squares = has_squares ? 2 : 0;
    double sum[sums + 1], square[squares + 1];

    /* Adds them to the words of a state, for so many finite rows. */
    template <class Add>
    __device__ __forceinline__ void add_to(const bf_cuda_index_params &p, uint32_t rows,
                                           const Add &add) const {
        bf_sum_shape shape = bf_sum_shape_of(p.kind, D);
        add(BF_SUM_COUNT, rows);
        bool minus = sums > 0 && is_negative_zero(sum[0]);
        if (minus && !has_squares) add(BF_SUM_NEG_ZERO, rows);
#pragma unroll
        for (int k = 0; k < sums; k++)
            deposit(shape.sum, sum[k], [&](int i, int64_t x) { add(shape.sum_at + i, x); });
#pragma unroll
        for (int k = 0; k < squares; k++)
            deposit(shape.products, square[k],
                    [&](int i, int64_t x) { add(shape.products_at + i, x); });
    }
    __device__ __forceinline__ void finish(const bf_cuda_index_params &p, int64_t r, uint32_t rows,
                                           int64_t *words, bf_work *work) const {
        for (int i = 0; i < p.words; i++) words[i] = 0;
        add_to(p, rows, [&](int i, int64_t x) { words[i] += x; });
        bf_cuda_index_finish(p, r, words, work);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &p, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        add_to(p, rows, [&](int i, int64_t x) { to.add(i, x); });
    }
};

__device__ __forceinline__ void write_double(const bf_cuda_index_params &p, int64_t r, double x) {
    if (p.to == BF_F64)
        bf_cuda_index_write(p, r, (uint64_t)__double_as_longlong(x), true);
    else
        bf_cuda_index_write(p, r, __float_as_uint((float)x), true);
}

/* The sum of f16, bf16 or f32: one double, or the result is left to words. */
template <bf_dtype D, int Columns> struct small_sum {
    using E = typename bf_cuda_float<D>::Element;
    static constexpr int V = Columns;
    double sum;
    bool exact;

    static __host__ __device__ bool direct(const bf_cuda_index_params &) { return true; }
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
    /* sum / rows is rounded to a double to nearest, or for f32 to odd, and then once more. */
    __device__ __forceinline__ void finish(const bf_cuda_index_params &p, int64_t r, uint32_t rows,
                                           int64_t *, bf_work *) const {
        double x = rows > 0 ? sum : 0.0;
        if (p.op == BF_MEAN) {
            if (rows == 0) {
                bf_cuda_index_write(p, r, bf_format_nan(bf_format_of(p.to)), true);
                return;
            }
            double q = x / rows;
            x = p.to == BF_F64 ? q : bf_round_odd(q, __fma_rn(-q, rows, x));
        }
        write_double(p, r, x);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &p, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        parts<D, true, false> x;
        x.sum[0] = sum;
        x.add(p, rows, to);
    }
};

/* The sum of f64, in three doubles. */
template <int Columns> struct double_sum {
    using E = double;
    static constexpr int V = Columns;
    double s, e, g;
    bool exact;

    static __host__ __device__ bool direct(const bf_cuda_index_params &p) {
        return p.op == BF_SUM && p.to == BF_F64;
    }
    __device__ __forceinline__ void open() {
        s = -0.0;
        e = g = 0;
        exact = true;
    }
    __device__ __forceinline__ void take(const bf_cuda_index_params &p, E x, bool has, uint32_t) {
        exact &= bf_terms_add_f64(&s, &e, &g, has ? x : -0.0);
        if (has && p.states.counts != nullptr) exact &= !is_negative_zero(x);
    }
    __device__ __forceinline__ bool proven() const {
        double d = bf_terms_f64(s, e, g);
        return exact && d - d == 0;
    }
    __device__ __forceinline__ parts<BF_F64, true, false> as_parts() const {
        parts<BF_F64, true, false> x;
        x.sum[0] = s;
        x.sum[1] = e;
        x.sum[2] = g;
        return x;
    }
    __device__ __forceinline__ void finish(const bf_cuda_index_params &p, int64_t r, uint32_t rows,
                                           int64_t *words, bf_work *work) const {
        if (direct(p))
            write_double(p, r, rows > 0 ? bf_terms_f64(s, e, g) : 0.0);
        else
            as_parts().finish(p, r, rows, words, work);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &p, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        as_parts().add(p, rows, to);
    }
};

/* The squares of small floats, which are exact doubles, in two doubles; and their sum in one. */
template <bf_dtype D, bool has_sum> struct small_squares {
    using E = typename bf_cuda_float<D>::Element;
    static constexpr int V = 1;
    double sum, s, e;
    bool exact;

    static __host__ __device__ bool direct(const bf_cuda_index_params &) { return false; }
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
    __device__ __forceinline__ parts<D, has_sum, true> as_parts() const {
        parts<D, has_sum, true> x;
        if (has_sum) x.sum[0] = sum;
        x.square[0] = s;
        x.square[1] = e;
        return x;
    }
    __device__ __forceinline__ void finish(const bf_cuda_index_params &p, int64_t r, uint32_t rows,
                                           int64_t *words, bf_work *work) const {
        as_parts().finish(p, r, rows, words, work);
    }
    __device__ __forceinline__ void add(const bf_cuda_index_params &p, uint32_t rows,
                                        const bf_cuda_index_target &to) const {
        as_parts().add(p, rows, to);
    }
};

/* --- choice --- */

/* Can a thread load so many columns at once? */
bool loads(const bf_cuda_index_params &p, int columns) {
    return p.width % columns == 0 && (uintptr_t)p.a % (unsigned)(columns * p.bytes) == 0;
}

template <bf_dtype D>
bf_cuda_index_kernel small_kernel(const bf_cuda_index_params &p, int *columns) {
    *columns = 1;
    if (p.kind == BF_KIND_SQUARES) return bf_cuda_index_reduce<small_squares<D, false>>;
    if (p.kind == BF_KIND_MOMENTS) return bf_cuda_index_reduce<small_squares<D, true>>;
    if (!loads(p, 4)) return bf_cuda_index_reduce<small_sum<D, 1>>;
    *columns = 4;
    return bf_cuda_index_reduce<small_sum<D, 4>>;
}

bf_cuda_index_kernel double_kernel(const bf_cuda_index_params &p, int *columns) {
    *columns = 1;
    if (p.kind != BF_KIND_SUM) return NULL;
    if (!loads(p, 2)) return bf_cuda_index_reduce<double_sum<1>>;
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

bool bf_cuda_index_is_direct(const bf_cuda_index_params &p) {
    if (p.kind == BF_KIND_EXTREME || p.states.counts != NULL) return true;
    if (!bf_dtype_is_float(p.dtype)) return p.kind == BF_KIND_SUM && !bf_dtype_is_float(p.to);
    return p.kind == BF_KIND_SUM && (p.dtype != BF_F64 || double_sum<1>::direct(p));
}
