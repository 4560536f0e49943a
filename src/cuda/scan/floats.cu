/* Sums of floats: each as two doubles, by the errors of additions (Knuth's TwoSum).
 *
 * Let all elements of a line be multiples of 2^m, and all sums of neighbours be less than 2^(m +
 * HELD) in magnitude. A sum s = high + low, where high is s rounded: low, and the error of an
 * addition to high, are multiples of 2^m below 2^(m + HELD - 53). A few of them add without an
 * error, if HELD leaves room below 106 bits: so every sum is exact. Whether this is so, the least
 * and the greatest exponent of the line tell; they are part of the state. Where it is not, or an
 * element is not finite, exact.cu scans the line. */
#include "cuda/runtime/float.cuh"
#include "cuda/scan/kernels.cuh"

namespace {

using namespace bf_cuda_scan;

enum { HELD = 98, NO_EXPONENT = 1 << 20 };

template <bf_dtype D> struct bits_type { typedef uint16_t type; };
template <> struct bits_type<BF_F32> { typedef uint32_t type; };
template <> struct bits_type<BF_F64> { typedef uint64_t type; };

template <bf_dtype D> struct pair {
    typedef typename bits_type<D>::type Element;
    typedef Element Result;
    static constexpr int fraction = bf_cuda_float<D>::bits - 1;
    static constexpr int width = 8 * (int)sizeof(Element);
    static constexpr int fields = (1 << (width - 1 - fraction)) - 1; /* that of infinities */

    double high, low;
    int least, most; /* exponent fields of elements other than 0 */

    static __device__ __forceinline__ pair none() { return {-0.0, 0, NO_EXPONENT, 0}; }

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
        const double sum = high + x, other = sum - high;
        low += (high - (sum - other)) + (x - other);
        high = sum;
    }
    /* Makes high the sum rounded. A zero keeps its sign. */
    __device__ __forceinline__ void settle() {
        const double more = low;
        low = 0;
        if (more != 0) add(more);
    }
    __device__ __forceinline__ void join(const pair &other) {
        low += other.low;
        add(other.high);
        settle();
        least = min(least, other.least);
        most = max(most, other.most);
    }
    __device__ __forceinline__ uint64_t result(const bf_cuda_scan_params &p, bool first,
                                               bool *) const {
        using namespace bf_cuda_element;
        if (first) return 0;
        const double x = low == 0 ? high : odd_fma(high, 1, low);
        switch (p.prefix.to) {
        case BF_F16: return narrow_f16(odd_float(x));
        case BF_BF16: return narrow_bf16(odd_float(x));
        case BF_F32: return bits_of((float)x);
        default: return bits_of(low == 0 ? high : high + low);
        }
    }
    __device__ __forceinline__ bool is_exact(const bf_cuda_scan_params &p) const {
        if (least > most) return true;                                       /* zeros alone */
        const int bottom = max(least, 1), top = max(most, 1) + fraction + 1; /* in fields */
        const int bits = top - bottom + bf_bit_length((uint64_t)p.length);
        /* The exponent of a field's last bit is field - 1 + least exponent of all. */
        const int end = top - 1 + bf_cuda_float<D>::least + bf_bit_length((uint64_t)p.length);
        return most < fields && bits <= HELD && end < 1023;
    }
};

} // namespace

bf_cuda_scan_kernels bf_cuda_scan_floats(const bf_cuda_scan_params &p) {
    switch (p.prefix.dtype) {
    case BF_F16: return kernels_of<pair<BF_F16>>();
    case BF_BF16: return kernels_of<pair<BF_BF16>>();
    case BF_F32: return kernels_of<pair<BF_F32>>();
    default: return kernels_of<pair<BF_F64>>();
    }
}
