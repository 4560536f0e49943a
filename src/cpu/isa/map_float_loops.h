/* Element-wise loops over f32 or f64: included for each by map.h, which defines
 *   NAME       the dtype's name
 *   C, U       the type; the unsigned type of its size
 *   T          the type at any alignment
 *   NAN_BITS   the canonical quiet NaN
 *   SQRT, FMA  the compiler's functions, which become instructions */

#define FN(name) JOIN(map_##name, NAME)
#include "map_kernels.h"

INLINE U FN(bits_)(C x) {
    U bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

INLINE C FN(of_bits_)(U bits) {
    C x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Machines differ in the NaN that they make. */
INLINE C FN(canonical_)(C x) { return x == x ? x : FN(of_bits_)(NAN_BITS); }

INLINE C FN(one_add_)(C x, C y, U *misfit) {
    (void)misfit;
    return FN(canonical_)(x + y);
}
INLINE C FN(one_sub_)(C x, C y, U *misfit) {
    (void)misfit;
    return FN(canonical_)(x - y);
}
INLINE C FN(one_mul_)(C x, C y, U *misfit) {
    (void)misfit;
    return FN(canonical_)(x * y);
}
INLINE C FN(one_div_)(C x, C y, U *misfit) {
    (void)misfit;
    return FN(canonical_)(x / y);
}
INLINE C FN(one_fma_)(C x, C y, C z, U *misfit) {
    (void)misfit;
    return FN(canonical_)(FMA(x, y, z));
}
INLINE C FN(one_sqrt_)(C x, U *misfit) {
    (void)misfit;
    return FN(canonical_)(SQRT(x));
}
INLINE C FN(one_neg_)(C x, U *misfit) {
    (void)misfit;
    return FN(canonical_)(-x);
}
INLINE C FN(one_abs_)(C x, U *misfit) {
    (void)misfit;
    return FN(canonical_)(FN(of_bits_)(FN(bits_)(x) & (U)~(U)0 >> 1));
}

/* Equal numbers differ at most in the sign of zero: or'ed they are -0 if either is, and'ed +0. */
INLINE C FN(one_min_)(C x, C y, U *misfit) {
    C equal = FN(of_bits_)(FN(bits_)(x) | FN(bits_)(y));
    C r = x < y ? x : x > y ? y : equal;
    (void)misfit;
    return x == x && y == y ? r : FN(of_bits_)(NAN_BITS);
}
INLINE C FN(one_max_)(C x, C y, U *misfit) {
    C equal = FN(of_bits_)(FN(bits_)(x) & FN(bits_)(y));
    C r = x > y ? x : x < y ? y : equal;
    (void)misfit;
    return x == x && y == y ? r : FN(of_bits_)(NAN_BITS);
}

BINARY(add)
BINARY(sub)
BINARY(mul)
BINARY(div)
BINARY(min)
BINARY(max)
TERNARY(fma)
UNARY(sqrt)
UNARY(neg)
UNARY(abs)

static bool FN(copy_)(const void *from, void *to, size_t n) {
    const T *x = from;
    T *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = FN(canonical_)(x[i]);
    return false;
}

#include "map_end.h"
#undef NAN_BITS
#undef SQRT
#undef FMA
