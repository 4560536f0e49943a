/* The elements of a result that is settled (settle.cu): some lanes of a warp share them. All of
 * these ask, and have the first one's answer. */
#ifndef BF_CUDA_AXIS_EXACT_TERMS_CUH
#define BF_CUDA_AXIS_EXACT_TERMS_CUH

#include "cuda/axis/value.cuh"
#include "cuda/runtime/ptx.cuh"

namespace {

enum { AHEAD = 4 /* elements that a lane loads at a time */ };

/* The lanes that share a result. */
struct group {
    int lane, lanes;
    unsigned mask;

    __device__ explicit group(int size) : lanes(size) {
        const int thread = (int)threadIdx.x % BF_CUDA_WARP;
        lane = thread % lanes;
        mask = (lanes < BF_CUDA_WARP ? (1u << lanes) - 1 : ~0u) << (thread - lane);
    }
    __device__ uint64_t other(uint64_t x, int distance) const {
        return __shfl_xor_sync(mask, (unsigned long long)x, distance);
    }
    /* Calls merge(distance) until all lanes have what each had. */
    template <class Merge> __device__ void join(const Merge &merge) const {
        BF_ROLLED
        for (int d = lanes / 2; d > 0; d /= 2) merge(d);
    }
    __device__ bf_u128 other(bf_u128 x, int distance) const {
        const uint64_t low = other((uint64_t)x, distance);
        return (bf_u128)other((uint64_t)(x >> 64), distance) << 64 | low;
    }
    __device__ double other(double x, int distance) const {
        return __shfl_xor_sync(mask, x, distance);
    }
    /* What the first lane has. Sums that lanes join may differ in what they lack. */
    __device__ bool first(bool x) const { return __shfl_sync(mask, (int)x, 0, lanes) != 0; }
    __device__ int most(int x) const {
        join([&](int d) { x = max(x, (int)other((uint64_t)x, d)); });
        return x;
    }
};

/* A float's magnitude m * 2^place, of 53 bits. */
struct magnitude {
    uint64_t m;
    int place;
    bool negative, finite;
};
__device__ __forceinline__ magnitude decode(bf_format f, uint64_t bits) {
    const bf_finite x = bf_decode(f, bits);
    const int shift = 52 - f.fraction;
    return {x.magnitude << shift, x.position + bf_format_least(f) - shift, x.negative,
            (bits & bf_format_inf(f)) != bf_format_inf(f)};
}
__device__ __forceinline__ magnitude decode(double x) {
    return decode(bf_format_f64(), (uint64_t)__double_as_longlong(x));
}
__device__ __forceinline__ magnitude decode(float x) {
    return decode(bf_format_f32(), __float_as_uint(x));
}

/* A sum in units, modulo 2^128, and whether some term had bits below. */
struct units_of_terms {
    bf_u128 units = 0; /* a negative number is a complement here */
    uint64_t cut = 0;
    unsigned negatives = 0;

    __device__ __forceinline__ void add(uint64_t high, uint64_t low, bool negative) {
        const uint64_t flip = negative ? ~(uint64_t)0 : 0;
        units += (bf_u128)(high ^ flip) << 64 | (low ^ flip);
        negatives += negative;
    }
    /* Adds high * 2^64, `right` bits further down. */
    __device__ __forceinline__ void add_high(uint64_t high, int right, bool negative) {
        cut |= bf_cuda_shift_left(high, 128 - right);
        add(bf_cuda_shift_right(high, right),
            bf_cuda_shift_left(high, 64 - right) | bf_cuda_shift_right(high, right - 64), negative);
    }
    /* Adds all terms, none of which is 2^64 units or more beside its highest 53 bits. */
    template <class Terms> __device__ __forceinline__ void add_all(const Terms &terms, int unit) {
        terms.each_magnitude([&](const magnitude &x) {
            add_high(x.finite ? x.m : 0, min(64 - (x.place - unit), 127), x.negative);
        });
    }
    /* Adds a number, `right` bits further down: 128 at most. */
    __device__ __forceinline__ void add_wide(bf_u128 x, int right, bool negative) {
        const uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;
        cut |= bf_cuda_shift_left(low, max(64 - right, 0)) | bf_cuda_shift_left(high, 128 - right);
        add(bf_cuda_shift_right(high, right),
            bf_cuda_shift_right(low, right) | bf_cuda_shift_left(high, 64 - right) |
                bf_cuda_shift_right(high, right - 64),
            negative);
    }
};

/* The n elements of a result, `step` apart. */
template <class C> struct elements {
    using Value = typename C::Value;
    const bf_cuda_axis_params &p;
    const typename C::Raw *from;
    const int64_t step;
    const int n;
    const group &lanes;

    __device__ elements(const bf_cuda_axis_params &of, const bf_cuda_axis_line &line,
                        const group &by)
        : p(of), from((const typename C::Raw *)of.a + line.a), step(bf_cuda_axis_step(of.at, 0)),
          n((int)line.length), lanes(by) {}

    /* Calls load(i, &x), and then visit(x), for each i of this lane. */
    template <class X, class Load, class Visit>
    __device__ __forceinline__ void each(const Load &load, const Visit &visit) const {
        BF_ROLLED
        for (int i = lanes.lane; i < n; i += AHEAD * lanes.lanes) {
            X x[AHEAD];
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (i + k * lanes.lanes < n) load(i + k * lanes.lanes, &x[k]);
#pragma unroll
            for (int k = 0; k < AHEAD; k++)
                if (i + k * lanes.lanes < n) visit(x[k]);
        }
    }
    template <class Visit> __device__ __forceinline__ void each_value(const Visit &visit) const {
        each<Value>([&](int i, Value *x) { *x = C::value(p, from[i * step]); }, visit);
    }
    template <class Visit>
    __device__ __forceinline__ void each_magnitude(const Visit &visit) const {
        each_value([&](Value x) { visit(decode(x)); });
    }
    __device__ __forceinline__ void add_to(units_of_terms *sum, int unit) const {
        sum->add_all(*this, unit);
    }
    /* Numbers of the same kinds: signed zeros, infinities, NaNs and others. */
    template <class Visit> __device__ __forceinline__ void each_kind(const Visit &visit) const {
        each_value(visit);
    }
    /* The most terms that there are. */
    __device__ int terms() const { return n; }
    /* Do those of each_value() have the result's sum? If that is not known, look_at_pairs() tells.
     */
    static constexpr bool are_exact = true;

    /* The upper half of a double's magnitude. */
    static __device__ __forceinline__ int top_of(double x) {
        return (int)(bf_cuda_high(x) & 0x7fffffffu);
    }
};

} // namespace

#endif
