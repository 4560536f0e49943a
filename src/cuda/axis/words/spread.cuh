/* Sums of integers and bools and of their squares, of few elements each (doubles.cuh): what
 * variances, sums of squares and norms are made of. All are exact integers. */
#ifndef BF_CUDA_AXIS_WORDS_SPREAD_CUH
#define BF_CUDA_AXIS_WORDS_SPREAD_CUH

#include "cuda/axis/doubles/doubles.cuh"
#include "cuda/axis/words/whole.cuh"
#include "cuda/reduce/sum_result.cuh"

/* x / by, or its root, where `inverse` is 1 / by. */
static __device__ __noinline__ bf_cuda_axis_found bf_cuda_axis_find_quotient(bf_dtype to, bool root,
                                                                             bf_leading x,
                                                                             double by,
                                                                             double inverse) {
    const bf_cuda_axis_exactly all = bf_cuda_axis_doubles(x, 0);
    bf_cuda_axis_found found = {0, true};
    if (all.high != 0)
        found.good = bf_cuda_axis_quick_spread(to, root, all, by, inverse,
                                               all.high * inverse * 0x1p-98, &found.bits);
    return found;
}

template <class C> struct bf_cuda_axis_spread : bf_cuda_axis_sum_proof<false> {
    using Value = typename C::Value;
    using Joint = bf_cuda_axis_whole<C, true>;
    static constexpr bool is_wide = C::is_wide, is_narrow = Joint::is_narrow;
    using Sum = std::conditional_t<is_narrow, int32_t, int64_t>;
    static constexpr bool has_origin = false, stays = false;
    static constexpr int columns = C::N < 8 ? C::N : 8;
    Sum sum;
    int64_t above;           /* the word above the sum, of elements of 8 bytes */
    uint64_t low, mid, high; /* the sum of squares: of 1 and 2 bytes one word, of 4 bytes two */

    __device__ __forceinline__ void reset() {
        sum = 0;
        above = 0;
        low = mid = high = 0;
    }
    __device__ __forceinline__ void start(Value, const Joint &) {}
    __device__ __forceinline__ void add(Sum x, int64_t sign, uint64_t l, uint64_t m, uint64_t h) {
        sum = (Sum)((uint64_t)sum + (uint64_t)x);
        if (is_wide) above += sign + ((uint64_t)sum < (uint64_t)x);
        low += l;
        if (is_narrow) return;
        const uint64_t carry = low < l;
        mid += carry;
        if (is_wide) high += h + (mid < carry);
        mid += m;
        if (is_wide) high += mid < m;
    }
    __device__ __forceinline__ void take(Value value, const Joint &whole, int) {
        const int64_t x = whole(value), sign = whole.is_signed ? x >> 63 : 0;
        const uint64_t size = ((uint64_t)x ^ (uint64_t)sign) - (uint64_t)sign;
        if (is_wide)
            add((Sum)x, sign, size * size, __umul64hi(size, size), 0);
        else
            add((Sum)x, 0, (uint64_t)(uint32_t)size * (uint32_t)size, 0, 0);
    }
    __device__ __forceinline__ void merge(const bf_cuda_axis_spread &other, const Joint &) {
        add(other.sum, other.above, other.low, other.mid, other.high);
    }
    __device__ __forceinline__ bf_cuda_axis_spread shuffle(int distance) const {
        const unsigned all = 0xffffffffu;
        bf_cuda_axis_spread x;
        x.reset();
        x.sum = __shfl_xor_sync(all, sum, distance);
        x.low = __shfl_xor_sync(all, low, distance);
        if (!is_narrow) x.mid = __shfl_xor_sync(all, mid, distance);
        if (is_wide) x.above = __shfl_xor_sync(all, above, distance);
        if (is_wide) x.high = __shfl_xor_sync(all, high, distance);
        return x;
    }
    __device__ __forceinline__ bool prove(const bf_cuda_axis_params &p,
                                          const bf_cuda_axis_proven &t, const Joint &,
                                          uint64_t *bits) const {
        *bits = low;
        if (p.kind == BF_KIND_SQUARES && !bf_dtype_is_float(p.to))
            return p.wraps || ((mid | high) == 0 && (p.to == BF_U64 || low <= (uint64_t)INT64_MAX));
        const bf_cuda_axis_found found = find(p, t);
        *bits = found.bits;
        return found.good;
    }
    /* A sum of squares, or n * (sum of squares) - sum^2 by n * (n - ddof); or the root of that. Of
     * the at most 2^12 elements of 4 bytes that is below 2^88, of 8 bytes below 2^152. */
    __device__ __forceinline__ bf_cuda_axis_found find(const bf_cuda_axis_params &p,
                                                       const bf_cuda_axis_proven &t) const {
        const bool squares = p.kind == BF_KIND_SQUARES, root = p.op == BF_STD || p.op == BF_NORM;
        const double by = squares ? 1 : t.n * (double)(t.count - p.ddof);
        const double inverse = squares ? 1 : t.inverse;
        if (is_wide) return bf_cuda_axis_find_quotient(p.to, root, wide(t, squares), by, inverse);
        const bf_u128 all = (bf_u128)mid << 64 | low;
        const bf_u128 x =
            squares ? all : (bf_u128)(uint64_t)t.count * all - (bf_u128)((bf_i128)sum * sum);
        if (x >> 53 == 0 && p.to == BF_F64 && (squares || !root)) {
            const double exact = (double)(int64_t)x, quotient = root ? sqrt(exact) : exact / by;
            return {(uint64_t)__double_as_longlong(quotient), true};
        }
        bf_cuda_long<2> words = {{(uint64_t)x, (uint64_t)(x >> 64)}};
        return bf_cuda_axis_find_quotient(p.to, root, words.leading(0), by, inverse);
    }
    __device__ __forceinline__ bf_leading wide(const bf_cuda_axis_proven &t, bool squares) const {
        bf_cuda_long<4> x = {{low, mid, high, 0}};
        if (squares) return x.leading(0);
        bf_cuda_long<2> s = {{(uint64_t)sum, (uint64_t)above}};
        if (s.is_negative()) s.negate();
        x.multiply((uint64_t)t.count);
        x.subtract(bf_cuda_square<2, 4>(s));
        return x.leading(0);
    }
};

#endif
