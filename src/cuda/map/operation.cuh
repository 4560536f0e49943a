/* Operations on one element, by the machine's own instructions. They give the same bits as the
 * rules. Compiled without contraction. */
#ifndef BF_CUDA_MAP_OPERATION_CUH
#define BF_CUDA_MAP_OPERATION_CUH

#include "cuda/runtime/arithmetic.cuh"

namespace bf_cuda_map {

using namespace bf_cuda_element;

constexpr bool is_comparison(bf_map_op op) { return op >= BF_MAP_EQ && op <= BF_MAP_GE; }

constexpr int arity_of(bf_map_op op) {
    if (op == BF_MAP_FMA) return 3;
    return op == BF_MAP_NEG || op == BF_MAP_ABS || op == BF_MAP_SQRT ? 1 : 2;
}

constexpr bool is_defined(bf_map_op op, bf_dtype dtype) {
    if (is_float(dtype)) return true;
    if (op == BF_MAP_DIV || op == BF_MAP_SQRT) return false;
    return dtype != BF_BOOL || (op != BF_MAP_SUB && op != BF_MAP_NEG);
}

/* Returns whether a result may not fit its dtype. */
constexpr bool can_fail(bf_map_op op, bf_dtype dtype) {
    return is_integer(dtype) && !is_comparison(op) && op != BF_MAP_MIN && op != BF_MAP_MAX;
}

/* --- comparisons: one kernel for all six --- */

/* The relations for which a comparison holds. */
static inline unsigned relations_of(bf_map_op op) {
    switch (op) {
    case BF_MAP_EQ: return EQUAL;
    case BF_MAP_NE: return LESS | GREATER | UNORDERED;
    case BF_MAP_LT: return LESS;
    case BF_MAP_LE: return LESS | EQUAL;
    case BF_MAP_GT: return GREATER;
    case BF_MAP_GE: return GREATER | EQUAL;
    default: return 0;
    }
}

/* --- floats --- */

/* Half floats are computed in f32, as on the CPU (src/cpu/map/block.c). */
template <bf_map_op OP, bf_dtype D, class T> BF_BOTH T compute_float(T x, T y, T z) {
    switch (OP) {
    case BF_MAP_ADD: return x + y;
    case BF_MAP_SUB: return x - y;
    case BF_MAP_MUL: return x * y;
    case BF_MAP_DIV: return x / y;
    case BF_MAP_MIN: return least(x, y);
    case BF_MAP_MAX: return greatest(x, y);
    case BF_MAP_FMA: return is_half(D) ? (T)odd_float(odd_fma(x, y, z)) : multiply_add(x, y, z);
    case BF_MAP_SQRT: return square_root(x);
    case BF_MAP_NEG: return -x;
    default: return magnitude(x); /* abs */
    }
}

/* --- integers and bools --- */

BF_BOTH bool compute_logical(bf_map_op op, bool x, bool y, bool z) {
    switch (op) {
    case BF_MAP_ADD:
    case BF_MAP_MAX: return x || y;
    case BF_MAP_MUL:
    case BF_MAP_MIN: return x && y;
    case BF_MAP_FMA: return (x && y) || z;
    default: return x; /* abs */
    }
}

template <class T> BF_BOTH bool is_negative(T x) {
    if constexpr (std::is_signed<T>::value) return x < 0;
    return false;
}

/* A type that holds every exact result. */
template <class T, bool Product, int Bytes = (int)sizeof(T), bool Signed = ends<T>::is_signed>
struct exact;
template <class T, bool P, bool S> struct exact<T, P, 1, S> { typedef int32_t type; };
template <class T, bool P, bool S> struct exact<T, P, 2, S> { typedef int32_t type; };
template <class T, bool P, bool S> struct exact<T, P, 4, S> { typedef int64_t type; };
template <class T, bool P, bool S> struct exact<T, P, 8, S> { typedef bf_i128 type; };
template <class T> struct exact<T, true, 2, false> { typedef uint32_t type; };
template <class T> struct exact<T, true, 4, false> { typedef uint64_t type; };
template <class T> struct exact<T, true, 8, false> { typedef bf_u128 type; };

template <bf_map_op OP, class T>
BF_BOTH T compute_integer(T x, T y, T z, bool saturate, bool *misfit) {
    typedef typename exact<T, OP == BF_MAP_MUL || OP == BF_MAP_FMA>::type W;
    switch (OP) {
    case BF_MAP_MIN: return x < y ? x : y;
    case BF_MAP_MAX: return x > y ? x : y;
    case BF_MAP_ADD: return fit_integer<T, W>((W)x + (W)y, saturate, misfit);
    case BF_MAP_SUB: return fit_integer<T, W>((W)x - (W)y, saturate, misfit);
    case BF_MAP_MUL: return fit_integer<T, W>((W)x * (W)y, saturate, misfit);
    case BF_MAP_FMA: return fit_integer<T, W>((W)x * (W)y + (W)z, saturate, misfit);
    case BF_MAP_NEG: return fit_integer<T, W>(-(W)x, saturate, misfit);
    default: return fit_integer<T, W>(is_negative(x) ? -(W)x : (W)x, saturate, misfit); /* abs */
    }
}

/* Computes any operation but a comparison or a cast. *misfit: the result does not fit. */
template <bf_map_op OP, bf_dtype D>
BF_BOTH value_of<D> compute_result(value_of<D> x, value_of<D> y, value_of<D> z, bool saturate,
                                   bool *misfit) {
    *misfit = false;
    if constexpr (is_float(D))
        return compute_float<OP, D>(x, y, z);
    else if constexpr (D == BF_BOOL)
        return compute_logical(OP, x, y, z);
    else
        return compute_integer<OP>(x, y, z, saturate, misfit);
}

/* --- casts --- */

/* Returns a double that rounds to a half float as this integer does: rounded to odd, if the integer
 * has more bits than a double. */
BF_BOTH double odd_double(uint64_t magnitude) {
    if (magnitude >> 40 != 0) {
        uint64_t rest = magnitude & 0xffff;
        magnitude = magnitude - rest + (rest != 0 && (magnitude >> 16 & 1) == 0 ? 0x10000 : 0);
    }
    return (double)magnitude;
}

template <bf_dtype TO, class T> BF_BOTH stored_of<TO> float_from_integer(T x) {
    if constexpr (!is_half(TO)) return element<TO>::encode((value_of<TO>)x);
    bool negative = is_negative(x);
    double size = odd_double(negative ? 0 - (uint64_t)x : (uint64_t)x);
    return element<TO>::encode((value_of<TO>)odd_float(negative ? -size : size));
}

template <bf_dtype TO, class T> BF_BOTH stored_of<TO> float_from_float(T x) {
    if constexpr (sizeof(T) == 8 && is_half(TO)) return element<TO>::encode(odd_float(x));
    return element<TO>::encode((value_of<TO>)x);
}

/* Rounds toward zero. The bounds are exact doubles; so is least - 1, except for signed 64-bit
 * integers. */
template <class T> BF_BOTH T integer_from_float(double x, bool *misfit) {
    const double bound = 2.0 * (double)(ends<T>::greatest / 2 + 1);
    const double least = ends<T>::is_signed ? -bound : 0;
    bool wide = ends<T>::is_signed && sizeof(T) == 8;
    bool above = wide ? x >= least : x > least - 1;
    *misfit = !(above && x < bound);
    if (!*misfit) return (T)x;
    return x >= bound ? ends<T>::greatest : x < 0 ? ends<T>::least : (T)0;
}

template <class FROM, class TO>
BF_BOTH TO integer_from_integer(FROM x, bool saturate, bool *misfit) {
    constexpr bool wide = std::is_same<FROM, uint64_t>::value || std::is_same<TO, uint64_t>::value;
    typedef typename std::conditional<wide, bf_i128, int64_t>::type W;
    return fit_integer<TO, W>((W)x, saturate, misfit);
}

template <bf_dtype FROM, bf_dtype TO>
BF_BOTH stored_of<TO> cast_element(value_of<FROM> x, bool saturate, bool *misfit) {
    *misfit = false;
    if constexpr (TO == BF_BOOL)
        return x != 0;
    else if constexpr (is_float(FROM) && is_float(TO))
        return float_from_float<TO>(x);
    else if constexpr (is_float(TO))
        return float_from_integer<TO>(x);
    else if constexpr (is_float(FROM))
        return integer_from_float<stored_of<TO>>((double)x, misfit);
    else
        return integer_from_integer<value_of<FROM>, stored_of<TO>>(x, saturate, misfit);
}

} // namespace bf_cuda_map

#endif
