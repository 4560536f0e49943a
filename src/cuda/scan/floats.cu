/* Sums of floats: each as two doubles, of f64 as three, by the errors of additions (Knuth's
 * TwoSum).
 *
 * Let all elements of a line be multiples of 2^m, and all sums of neighbours be less than 2^(m +
 * bits) in magnitude. A sum is high + low, where high is the sum rounded: low, and the error of an
 * addition to high, are multiples of 2^m below 2^(m + bits - 53). A few of them add without an
 * error, if that leaves room below 53 bits; a third double takes the errors of these additions, and
 * has 53 bits more. So every sum is exact. Whether this is so, the least and the greatest exponent
 * of the line tell; they are part of the state. Where it is not, or an element is not finite,
 * exact.cu scans the line. */
#include "cuda/runtime/float.cuh"
#include "cuda/scan/kernels.cuh"

namespace {

using namespace bf_cuda_scan;

enum { NO_EXPONENT = 1 << 20, SPARE = 8 /* bits, for sums of a few errors */ };

struct rounded {
    double sum, error;
};

__device__ __forceinline__ rounded add_exactly(double a, double b) {
    const double sum = a + b, other = sum - a;
    return {sum, (a - (sum - other)) + (b - other)};
}

template <bf_dtype D> struct bits_type { typedef uint16_t type; };
template <> struct bits_type<BF_F32> { typedef uint32_t type; };
template <> struct bits_type<BF_F64> { typedef uint64_t type; };

/* What is below the greatest double of a sum. */
struct one_double {
    static constexpr int bits = 53;
    double low;
    static __device__ __forceinline__ one_double none() { return {0}; }
    __device__ __forceinline__ void add(double x) { low += x; }
    __device__ __forceinline__ bool is_zero() const { return low == 0; }
    __device__ __forceinline__ double with(double high) const {
        return bf_cuda_element::odd_fma(high, 1, low);
    }
    __device__ __forceinline__ double rounded_with(double high) const { return high + low; }
};

struct two_doubles {
    static constexpr int bits = 106;
    double middle, low;
    static __device__ __forceinline__ two_doubles none() { return {0, 0}; }
    __device__ __forceinline__ void add(double x) {
        const rounded r = add_exactly(middle, x);
        middle = r.sum;
        low += r.error;
    }
    __device__ __forceinline__ bool is_zero() const { return middle == 0 && low == 0; }
    /* Boldo and Melquiond, Emulation of FMA and correctly rounded sums, 2008. */
    __device__ __forceinline__ rounded last_two(double high) const {
        const rounded u = add_exactly(middle, low), t = add_exactly(high, u.sum);
        return {t.sum, bf_cuda_element::odd_fma(t.error, 1, u.error)};
    }
    __device__ __forceinline__ double with(double high) const {
        const rounded r = last_two(high);
        return bf_cuda_element::odd_fma(r.sum, 1, r.error);
    }
    __device__ __forceinline__ double rounded_with(double high) const {
        const rounded r = last_two(high);
        return r.sum + r.error;
    }
};

template <bf_dtype D> struct float_sum {
    typedef std::conditional_t<D == BF_F64, two_doubles, one_double> Rest;
    typedef typename bits_type<D>::type Element;
    typedef Element Result;
    static constexpr int fraction = bf_cuda_float<D>::bits - 1;
    static constexpr int width = 8 * (int)sizeof(Element);
    static constexpr int fields = (1 << (width - 1 - fraction)) - 1; /* the infinities have it */

    double high;
    Rest rest;
    int least, most; /* exponent fields of elements other than 0 */

    static __device__ __forceinline__ float_sum none() {
        return {-0.0, Rest::none(), NO_EXPONENT, 0};
    }

    static __device__ __forceinline__ double decode(Element bits) {
        typename bf_cuda_float<D>::Element x;
        memcpy(&x, &bits, sizeof x);
        return bf_cuda_float<D>::value(x);
    }
    /* An element that is not 0 and has the field 0 has the exponent of field 1. */
    __device__ __forceinline__ void take(const bf_cuda_scan_params &, Element bits) {
        const Element magnitude = (Element)(bits << 1) >> 1;
        const int field = (int)(magnitude >> fraction);
        most = max(most, field);
        least = min(least, magnitude != 0 ? field : NO_EXPONENT);
        add(decode(bits));
    }
    __device__ __forceinline__ void add(double x) {
        const rounded r = add_exactly(high, x);
        high = r.sum;
        rest.add(r.error);
    }
    /* Makes the rest as small as it can be. A zero keeps its sign. */
    __device__ __forceinline__ void settle() {
        const Rest before = rest;
        if (before.is_zero()) return;
        rest = Rest::none();
        add_rest(before);
    }
    __device__ __forceinline__ void add_rest(const one_double &x) { add(x.low); }
    __device__ __forceinline__ void add_rest(const two_doubles &x) {
        const rounded r = add_exactly(x.middle, x.low);
        add(r.sum);
        rest.add(r.error);
    }
    __device__ __forceinline__ void join(const float_sum &other) {
        add(other.high);
        if (!other.rest.is_zero()) join_rest(other.rest);
        settle();
        least = min(least, other.least);
        most = max(most, other.most);
    }
    __device__ __forceinline__ void join_rest(const one_double &x) { rest.add(x.low); }
    __device__ __forceinline__ void join_rest(const two_doubles &x) {
        rest.add(x.middle);
        rest.add(x.low);
    }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &p, bool first,
                                               bool *) const {
        using namespace bf_cuda_element;
        if (first) return 0;
        if (p.prefix.to == BF_F64) return bits_of(rest.is_zero() ? high : rest.rounded_with(high));
        const double x = rest.is_zero() ? high : rest.with(high);
        switch (p.prefix.to) {
        case BF_F16: return narrow_f16(odd_float(x));
        case BF_BF16: return narrow_bf16(odd_float(x));
        default: return bits_of((float)x);
        }
    }
    __device__ __forceinline__ bool is_exact(const bf_cuda_scan_params &p) const {
        if (least > most) return true;                                       /* zeros alone */
        const int bottom = max(least, 1), top = max(most, 1) + fraction + 1; /* in fields */
        const int bits = top - bottom + bf_bit_length((uint64_t)p.length);
        /* The exponent of a field's last bit is field - 1 + least exponent of all. */
        const int end = top - 1 + bf_cuda_float<D>::least + bf_bit_length((uint64_t)p.length);
        return most < fields && bits <= 53 + Rest::bits - SPARE && end < 1023;
    }
};

} // namespace

bf_cuda_scan_kernels bf_cuda_scan_floats(const bf_cuda_scan_params &p) {
    switch (p.prefix.dtype) {
    case BF_F16: return kernels_of<float_sum<BF_F16>>();
    case BF_BF16: return kernels_of<float_sum<BF_BF16>>();
    case BF_F32: return kernels_of<float_sum<BF_F32>>();
    default: return kernels_of<float_sum<BF_F64>>();
    }
}
