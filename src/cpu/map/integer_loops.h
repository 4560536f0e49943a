/* Element-wise loops over one integer type, whose parameters cpu/runtime/each_integer.h lists. A
 * result that does not fit wraps and sets *misfit. */

/* Products and sums of 8 bits are computed in 32 bits. */
#if BITS > 8
#define WIDE TWICE
#elif SIGNED
#define WIDE int32_t
#else
#define WIDE uint32_t
#endif
#define FN(name) JOIN(map_##name, NAME)
#define GREATEST ((C)((U) ~(U)0 >> SIGNED))
#include "cpu/map/kernels.h"

INLINE C FN(one_add_)(OPERANDS) {
    C r = (C)(U)((U)x + (U)y);
#if SIGNED
    *misfit |= (U)((U)((x ^ r) & (y ^ r)) >> (BITS - 1));
#else
    *misfit |= r < x;
#endif
    return r;
}

INLINE C FN(one_sub_)(OPERANDS) {
    C r = (C)(U)((U)x - (U)y);
#if SIGNED
    *misfit |= (U)((U)((x ^ y) & (x ^ r)) >> (BITS - 1));
#else
    *misfit |= x < y;
#endif
    return r;
}

#if BITS < 64
INLINE C FN(one_fma_)(OPERANDS) {
    WIDE exact = (WIDE)((WIDE)x * (WIDE)y + (WIDE)z);
    C r = (C)exact;
    *misfit |= (WIDE)r != exact;
    return r;
}
LOOP(fma, b, c)

INLINE C FN(one_mul_)(OPERANDS) { return FN(one_fma_)(x, y, 0, misfit); }
LOOP(mul, b, a)
#else
static bool FN(mul_)(const void *a, const void *b, const void *c, void *out, size_t n) {
    const T *x = a, *y = b;
    T *to = out;
    C r;
    U misfit = 0;
    (void)c;
    for (size_t i = 0; i < n; i++) {
        misfit |= __builtin_mul_overflow(x[i], y[i], &r);
        to[i] = r;
    }
    return misfit != 0;
}
#endif

INLINE C FN(one_min_)(OPERANDS) { return x < y ? x : y; }

INLINE C FN(one_max_)(OPERANDS) { return x > y ? x : y; }

INLINE C FN(one_neg_)(OPERANDS) { return FN(one_sub_)(0, x, 0, misfit); }

INLINE C FN(one_abs_)(OPERANDS) {
#if SIGNED
    C r = (C)(x < 0 ? (U)(0 - (U)x) : (U)x);
    *misfit |= r < 0;
    return r;
#else
    return x;
#endif
}

LOOP(add, b, a)
LOOP(sub, b, a)
LOOP(min, b, a)
LOOP(max, b, a)
LOOP(neg, a, a)
LOOP(abs, a, a)

#include "cpu/map/end.h"
#undef GREATEST
#undef BITS
#undef SIGNED
#undef TWICE
#undef WIDE
