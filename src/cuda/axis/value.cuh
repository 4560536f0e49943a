/* Elements as the values that threads add or compare. */
#ifndef BF_CUDA_AXIS_VALUE_CUH
#define BF_CUDA_AXIS_VALUE_CUH

#include "cuda/axis/layout.cuh"
#include "cuda/runtime/float.cuh"

#include "rules/number/dtype.h"

#include <type_traits>

/* What all classes of values have:
 *
 *   Raw, Value   an element as it is loaded, and as threads add or compare it
 *   N            elements of a vector, whose address is a multiple of its bytes
 *   value()      the value of a raw element
 *   load()       loads elements at(0) ... at(n - 1) of an array, or the first `some` of them
 *   fetch()      loads a vector, and unpack() makes it values */

/* --- vectors --- */

/* Loads so many bytes, which are read once, from an address that is a multiple of them. */
template <int bytes> static __device__ __forceinline__ uint4 bf_cuda_axis_bytes(const char *at) {
    uint4 r = {0, 0, 0, 0};
    if (bytes == 16) r = __ldcs((const uint4 *)at);
    if (bytes == 8) {
        const uint2 h = __ldcs((const uint2 *)at);
        r.x = h.x;
        r.y = h.y;
    }
    if (bytes == 4) r.x = __ldcs((const unsigned *)at);
    return r;
}

/* Element k of a vector. */
template <int bytes> static __device__ __forceinline__ uint64_t bf_cuda_axis_part(uint4 v, int k) {
    const unsigned w[4] = {v.x, v.y, v.z, v.w};
    if (bytes == 8) return (uint64_t)w[2 * k % 4 + 1] << 32 | w[2 * k % 4];
    const unsigned word = w[k * bytes / 4 % 4];
    return bytes == 4 ? word : word >> k * bytes % 4 * 8 & ((1u << 8 * (bytes % 4)) - 1);
}

/* --- single elements --- */

/* Elements that are not there become 0. */
template <class E, int n, class At, class Make>
static __device__ __forceinline__ void bf_cuda_axis_load(const void *from, At at, int some,
                                                         Make make) {
    if (some >= n) {
        E e[n];
#pragma unroll
        for (int k = 0; k < n; k++) e[k] = __ldcs((const E *)from + at(k));
#pragma unroll
        for (int k = 0; k < n; k++) make(k, e[k]);
    } else {
#pragma unroll
        for (int k = 0; k < n; k++) make(k, k < some ? __ldcs((const E *)from + at(k)) : (E)0);
    }
}

/* --- classes --- */

/* Floats, as float or double: how elements are loaded. */
template <class R, class V> struct bf_cuda_axis_loaded {
    using Raw = R;
    using Value = V;
    static constexpr bool is_double = sizeof(V) == 8;
    static constexpr int N = 16 / (int)sizeof(Raw);
    static constexpr bf_dtype dtype = is_double ? BF_F64 : BF_F32; /* its windows hold all */

    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, int some, Raw (&x)[n]) {
        bf_cuda_axis_load<Raw, n>(from, at, some, [&](int k, Raw e) { x[k] = e; });
    }
    static __device__ __forceinline__ uint4 fetch(const bf_cuda_axis_params &, const char *at) {
        return bf_cuda_axis_bytes<16>(at);
    }
    template <bf_dtype D> static __device__ __forceinline__ void unpack_as(uint4 v, Value (&x)[N]) {
#pragma unroll
        for (int k = 0; k < N; k++) {
            const uint64_t bits = bf_cuda_axis_part<(int)sizeof(Raw)>(v, k);
            Raw raw;
            memcpy(&raw, &bits, sizeof raw); /* low bytes come first */
            x[k] = (Value)bf_cuda_float<D>::value(raw);
        }
    }
};

/* Elements of one dtype. */
template <bf_dtype D>
struct bf_cuda_axis_floats : bf_cuda_axis_loaded<typename bf_cuda_float<D>::Element,
                                                 std::conditional_t<D == BF_F64, double, float>> {
    using Raw = typename bf_cuda_float<D>::Element;
    using Value = std::conditional_t<D == BF_F64, double, float>;
    using Loaded = bf_cuda_axis_loaded<Raw, Value>;

    static __device__ __forceinline__ Value value(const bf_cuda_axis_params &, Raw x) {
        return (Value)bf_cuda_float<D>::value(x);
    }
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &, uint4 v,
                                                  Value (&x)[Loaded::N]) {
        Loaded::template unpack_as<D>(v, x);
    }
};

/* Elements of f16 or bf16, which differ in how they are widened, and in nothing else: for kernels
 * that are seldom wanted. The others have one of these dtypes each, for a branch takes them 5 %
 * longer. */
struct bf_cuda_axis_halves : bf_cuda_axis_loaded<uint16_t, float> {
    static __device__ __forceinline__ float value(const bf_cuda_axis_params &p, uint16_t x) {
        return (float)(p.dtype == BF_F16 ? bf_cuda_float<BF_F16>::value(x)
                                         : bf_cuda_float<BF_BF16>::value(x));
    }
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &p, uint4 v,
                                                  float (&x)[N]) {
        if (p.dtype == BF_F16)
            unpack_as<BF_F16>(v, x);
        else
            unpack_as<BF_BF16>(v, x);
    }
};

/* Elements of so many bytes. */
template <int bytes>
using bf_cuda_axis_floats_of =
    std::conditional_t<bytes == 2, bf_cuda_axis_halves,
                       bf_cuda_axis_floats<bytes == 4 ? BF_F32 : BF_F64>>;

/* Integers and bools of 1, 2 and 4 bytes, extended to 32 bits by their sign; and floats' bits. */
struct bf_cuda_axis_small_word {
    typedef int32_t Raw;
    typedef int32_t Value;
    static constexpr bool is_wide = false;
    static constexpr int N = 4;

    static __device__ __forceinline__ Value value(const bf_cuda_axis_params &p, Raw x) {
        return p.dtype == BF_BOOL ? x != 0 : x;
    }
    static __device__ __forceinline__ uint4 fetch(const bf_cuda_axis_params &p, const char *at) {
        if (p.element == 4) return bf_cuda_axis_bytes<16>(at);
        if (p.element == 2) return bf_cuda_axis_bytes<8>(at);
        return bf_cuda_axis_bytes<4>(at);
    }
    static __device__ __forceinline__ Value part(bf_dtype dtype, uint4 v, int k) {
        switch (dtype) {
        case BF_BOOL: return bf_cuda_axis_part<1>(v, k) != 0;
        case BF_U8: return (Value)bf_cuda_axis_part<1>(v, k);
        case BF_I8: return (signed char)bf_cuda_axis_part<1>(v, k);
        case BF_U16: return (Value)bf_cuda_axis_part<2>(v, k);
        case BF_I16:
        case BF_F16:
        case BF_BF16: return (short)bf_cuda_axis_part<2>(v, k);
        default: return (Value)bf_cuda_axis_part<4>(v, k);
        }
    }
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &p, uint4 v,
                                                  Value (&x)[N]) {
#pragma unroll
        for (int k = 0; k < N; k++) x[k] = part(p.dtype, v, k);
    }

    template <class E, int n, class At>
    static __device__ __forceinline__ void load_as(const void *from, At at, int some, Raw (&x)[n]) {
        bf_cuda_axis_load<E, n>(from, at, some, [&](int k, E e) { x[k] = (Raw)e; });
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &p, const void *from,
                                                At at, int some, Raw (&x)[n]) {
        switch (p.dtype) {
        case BF_BOOL:
        case BF_U8: load_as<unsigned char>(from, at, some, x); break;
        case BF_I8: load_as<signed char>(from, at, some, x); break;
        case BF_U16: load_as<unsigned short>(from, at, some, x); break;
        case BF_I16:
        case BF_F16:
        case BF_BF16: load_as<short>(from, at, some, x); break;
        default: load_as<int>(from, at, some, x);
        }
    }
};

/* Elements of so many bytes: integers, bools, or the bits of floats. Those that are signed are
 * extended by their sign; of others, a bool becomes 0 or 1. */
template <int bytes, bool Signed> struct bf_cuda_axis_word {
    template <bool wanted, class Yes, class No>
    using either = typename std::conditional<wanted, Yes, No>::type;
    using Byte = either<Signed, signed char, unsigned char>;
    using Short = either<Signed, short, unsigned short>;
    using Value = either<bytes == 8, long long, int32_t>; /* as words are compared or added */
    using Raw = either<bytes == 1, Byte, either<bytes == 2, Short, Value>>;
    static constexpr bool is_wide = bytes == 8, is_double = false;
    static constexpr int N = 16 / bytes;

    static __device__ __forceinline__ Value value(const bf_cuda_axis_params &p, Raw x) {
        if constexpr (bytes == 1 && !Signed) return min((Value)x, p.dtype == BF_BOOL ? 1 : 255);
        return (Value)x;
    }
    static __device__ __forceinline__ uint4 fetch(const bf_cuda_axis_params &, const char *at) {
        return bf_cuda_axis_bytes<16>(at);
    }
    static __device__ __forceinline__ void unpack(const bf_cuda_axis_params &p, uint4 v,
                                                  Value (&x)[N]) {
#pragma unroll
        for (int k = 0; k < N; k++) x[k] = value(p, (Raw)bf_cuda_axis_part<bytes>(v, k));
    }
    template <int n, class At>
    static __device__ __forceinline__ void load(const bf_cuda_axis_params &, const void *from,
                                                At at, int some, Raw (&x)[n]) {
        bf_cuda_axis_load<Raw, n>(from, at, some, [&](int k, Raw e) { x[k] = e; });
    }
};
typedef bf_cuda_axis_word<8, true> bf_cuda_axis_wide_word;

#endif
