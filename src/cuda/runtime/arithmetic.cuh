/* Operations on floats and comparisons, by the machine's own instructions. They give the same bits
 * as the rules. Compiled without contraction. */
#ifndef BF_CUDA_RUNTIME_ARITHMETIC_CUH
#define BF_CUDA_RUNTIME_ARITHMETIC_CUH

#include "cuda/runtime/element.cuh"

namespace bf_cuda_element {

/* The relations of two numbers. A comparison is a set of these. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

template <class T> BF_BOTH bool holds(T x, T y, unsigned relations) {
    unsigned relation = x < y ? LESS : x == y ? EQUAL : x > y ? GREATER : UNORDERED;
    return (relations & relation) != 0;
}

/* Equal numbers differ at most in the sign of zero: their OR is -0 if either is, their AND is +0 if
 * either is. The sum of unordered numbers is NaN. */
template <class T> BF_BOTH T least(T x, T y) {
    T equal = of_bits(bits_of(x) | bits_of(y));
    return x < y ? x : y < x ? y : x == y ? equal : x + y;
}

template <class T> BF_BOTH T greatest(T x, T y) {
    T equal = of_bits(bits_of(x) & bits_of(y));
    return x > y ? x : y > x ? y : x == y ? equal : x + y;
}

BF_BOTH float square_root(float x) { return sqrtf(x); }
BF_BOTH double square_root(double x) { return sqrt(x); }
BF_BOTH float magnitude(float x) { return fabsf(x); }
BF_BOTH double magnitude(double x) { return fabs(x); }
BF_BOTH float whole(float x, bool up) { return up ? ceilf(x) : floorf(x); }
BF_BOTH double whole(double x, bool up) { return up ? ceil(x) : floor(x); }
BF_BOTH float multiply_add(float x, float y, float z) { return fmaf(x, y, z); }
BF_BOTH double multiply_add(double x, double y, double z) { return fma(x, y, z); }

} // namespace bf_cuda_element

#endif
