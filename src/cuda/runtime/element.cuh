/* Elements of each dtype as values that the machine computes with, and back: with one rounding, and
 * the canonical NaN. On the host, equal functions stand in for the device's instructions. */
#ifndef BF_CUDA_RUNTIME_ELEMENT_CUH
#define BF_CUDA_RUNTIME_ELEMENT_CUH

#include "cuda/runtime/ptx.cuh"
#include "rules/number/cast.h"

#include <type_traits>

#define BF_BOTH static __host__ __device__ __forceinline__

namespace bf_cuda_element {

BF_BOTH uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, 4);
    return bits;
}

BF_BOTH uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, 8);
    return bits;
}

BF_BOTH float of_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

BF_BOTH double of_bits(uint64_t bits) {
    double x;
    memcpy(&x, &bits, 8);
    return x;
}

BF_BOTH float canonical(float x) { return x == x ? x : of_bits((uint32_t)0x7fc00000); }
BF_BOTH double canonical(double x) { return x == x ? x : of_bits((uint64_t)0x7ff8000000000000); }

/* --- elements in memory, of 1, 2, 4 or 8 bytes --- */

BF_BOTH uint64_t load_bits(const void *from, int bytes, int64_t i) {
    switch (bytes) {
    case 1: return ((const uint8_t *)from)[i];
    case 2: return ((const uint16_t *)from)[i];
    case 4: return ((const uint32_t *)from)[i];
    default: return ((const uint64_t *)from)[i];
    }
}

BF_BOTH void store_bits(void *to, int bytes, int64_t i, uint64_t bits) {
    switch (bytes) {
    case 1: ((uint8_t *)to)[i] = (uint8_t)bits; break;
    case 2: ((uint16_t *)to)[i] = (uint16_t)bits; break;
    case 4: ((uint32_t *)to)[i] = (uint32_t)bits; break;
    default: ((uint64_t *)to)[i] = bits;
    }
}

/* --- half formats --- */

BF_BOTH float widen_f16(uint16_t bits) {
#ifdef __CUDA_ARCH__
    return bf_cuda_float_of_f16(bits);
#else
    return of_bits(bf_f16_to_f32(bits));
#endif
}

BF_BOTH uint16_t narrow_f16(float x) {
#ifdef __CUDA_ARCH__
    const uint16_t bits = bf_cuda_f16_of_float(x);
    return x == x ? bits : (uint16_t)0x7e00;
#else
    return (uint16_t)bf_float_convert(bf_format_f32(), bf_format_f16(), bits_of(x));
#endif
}

BF_BOTH float widen_bf16(uint16_t bits) { return of_bits((uint32_t)bits << 16); }

BF_BOTH uint16_t narrow_bf16(float x) {
    uint32_t bits = bits_of(x);
    uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return (uint16_t)(x == x ? rounded : 0x7fc0);
}

/* Rounds a double to odd: if it lies between two floats, the one whose last bit is 1. A later
 * rounding to a shorter format then still knows on which side of a tie it was. */
BF_BOTH float odd_float(double x) {
    float nearest = (float)x;
    double size = fabs((double)nearest), exact = fabs(x);
    uint32_t bits = bits_of(nearest);
    bits = (size > exact ? bits - 1 : bits) | (size != exact);
    return canonical(x == x ? of_bits(bits) : (float)x);
}

/* Returns x * y + z rounded to odd, for an exact x * y: the rounding error of the sum is exact, too
 * (Knuth's TwoSum). */
BF_BOTH double odd_fma(double x, double y, double z) {
    double p = x * y, s = p + z, q = s - p;
    double error = (p - (s - q)) + (z - q); /* NaN if s is not finite */
    uint64_t bits = bits_of(s);
    uint64_t other = (error > 0) == (s > 0) ? bits + 1 : bits - 1;
    bool inexact = error > 0 || error < 0;
    return inexact && (bits & 1) == 0 ? of_bits(other) : s;
}

/* --- dtypes --- */

/* stored: the type in memory; value: the type of operations. */
template <bf_dtype D> struct element;

template <class T> struct plain_element {
    typedef T stored;
    typedef T value;
    BF_BOTH T decode(T x) { return x; }
    BF_BOTH T encode(T x) { return x; }
};

template <> struct element<BF_I8> : plain_element<int8_t> {};
template <> struct element<BF_I16> : plain_element<int16_t> {};
template <> struct element<BF_I32> : plain_element<int32_t> {};
template <> struct element<BF_I64> : plain_element<int64_t> {};
template <> struct element<BF_U8> : plain_element<uint8_t> {};
template <> struct element<BF_U16> : plain_element<uint16_t> {};
template <> struct element<BF_U32> : plain_element<uint32_t> {};
template <> struct element<BF_U64> : plain_element<uint64_t> {};

template <> struct element<BF_BOOL> {
    typedef uint8_t stored;
    typedef bool value;
    BF_BOTH bool decode(uint8_t x) { return x != 0; }
    BF_BOTH uint8_t encode(bool x) { return x ? 1 : 0; }
};

template <> struct element<BF_F16> {
    typedef uint16_t stored;
    typedef float value;
    BF_BOTH float decode(uint16_t x) { return widen_f16(x); }
    BF_BOTH uint16_t encode(float x) { return narrow_f16(x); }
};

template <> struct element<BF_BF16> {
    typedef uint16_t stored;
    typedef float value;
    BF_BOTH float decode(uint16_t x) { return widen_bf16(x); }
    BF_BOTH uint16_t encode(float x) { return narrow_bf16(x); }
};

template <> struct element<BF_F32> {
    typedef float stored;
    typedef float value;
    BF_BOTH float decode(float x) { return x; }
    BF_BOTH float encode(float x) { return canonical(x); }
};

template <> struct element<BF_F64> {
    typedef double stored;
    typedef double value;
    BF_BOTH double decode(double x) { return x; }
    BF_BOTH double encode(double x) { return canonical(x); }
};

template <bf_dtype D> using stored_of = typename element<D>::stored;
template <bf_dtype D> using value_of = typename element<D>::value;

constexpr bool is_float(bf_dtype dtype) { return dtype >= BF_F16; }
constexpr bool is_half(bf_dtype dtype) { return dtype == BF_F16 || dtype == BF_BF16; }
constexpr bool is_integer(bf_dtype dtype) { return dtype >= BF_I8 && dtype <= BF_U64; }

/* --- integers --- */

template <class T> struct ends {
    static constexpr bool is_signed = std::is_signed<T>::value;
    static constexpr int bits = 8 * (int)sizeof(T);
    static constexpr T greatest = (T)(~(uint64_t)0 >> (64 - bits + (is_signed ? 1 : 0)));
    static constexpr T least = (T)(is_signed ? (T)(-greatest - 1) : (T)0);
};

/* Returns an exact integer as a T: the nearest one (saturate), or modulo 2^bits. *misfit: it does
 * not fit. */
template <class T, class Wide> BF_BOTH T fit_integer(Wide exact, bool saturate, bool *misfit) {
    const Wide least = (Wide)ends<T>::least, greatest = (Wide)ends<T>::greatest;
    Wide near = exact > greatest ? greatest : exact;
    if constexpr ((Wide)-1 < (Wide)0) near = near < least ? least : near;
    *misfit = near != exact;
    return (T)(saturate ? near : exact);
}

} // namespace bf_cuda_element

#endif
