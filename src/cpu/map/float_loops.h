/* Element-wise loops over f32 or f64: included for each by map.h, which defines
 *   NAME       the dtype's name
 *   C, U       the type; the unsigned type of its size
 *   T          the type at any alignment
 *   NAN_BITS   the canonical quiet NaN
 *   SQRT, FMA  the compiler's functions, which become instructions */

#define FN(name) JOIN(map_##name, NAME)
#include "cpu/map/kernels.h"

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

INLINE C FN(one_add_)(OPERANDS) { return FN(canonical_)(x + y); }
INLINE C FN(one_sub_)(OPERANDS) { return FN(canonical_)(x - y); }
INLINE C FN(one_mul_)(OPERANDS) { return FN(canonical_)(x * y); }
INLINE C FN(one_div_)(OPERANDS) { return FN(canonical_)(x / y); }
INLINE C FN(one_fma_)(OPERANDS) { return FN(canonical_)(FMA(x, y, z)); }
INLINE C FN(one_sqrt_)(OPERANDS) { return FN(canonical_)(SQRT(x)); }
INLINE C FN(one_neg_)(OPERANDS) { return FN(canonical_)(-x); }
INLINE C FN(one_abs_)(OPERANDS) {
    return FN(canonical_)(FN(of_bits_)(FN(bits_)(x) & (U) ~(U)0 >> 1));
}

/* Equal numbers differ at most in the sign of zero: or'ed they are -0 if either is, and'ed +0. */
INLINE C FN(one_min_)(OPERANDS) {
    C equal = FN(of_bits_)(FN(bits_)(x) | FN(bits_)(y));
    C r = x < y ? x : x > y ? y : equal;
    return x == x && y == y ? r : FN(of_bits_)(NAN_BITS);
}
INLINE C FN(one_max_)(OPERANDS) {
    C equal = FN(of_bits_)(FN(bits_)(x) & FN(bits_)(y));
    C r = x > y ? x : x < y ? y : equal;
    return x == x && y == y ? r : FN(of_bits_)(NAN_BITS);
}

/* As each_, but past the caches, a line at a time. */
INLINE bool FN(lines_)(const void *a, const void *b, const void *c, void *out, size_t n,
                       C (*op)(OPERANDS)) {
    const size_t lanes = LINE_BYTES / sizeof(C);
    const T *x = a, *y = b, *z = c;
    T *to = out;
    U misfit = 0;
    size_t i = 0, head = (0 - (uintptr_t)to) % LINE_BYTES / sizeof(C);
    if (head > n || (uintptr_t)to % sizeof(C) != 0) head = n;
    for (; i < head; i++) to[i] = op(x[i], y[i], z[i], &misfit);
    for (; i + lanes <= n; i += lanes) {
        C line[LINE_BYTES / sizeof(C)];
        VECTORIZED
        for (size_t k = 0; k < lanes; k++) line[k] = op(x[i + k], y[i + k], z[i + k], &misfit);
        stream_line(to + i, line);
    }
    for (; i < n; i++) to[i] = op(x[i], y[i], z[i], &misfit);
    stream_fence();
    return false;
}

#define LOOPS(name, second, third)                                                                 \
    LOOP(name, second, third)                                                                      \
    static bool FN(name##_streamed_)(const void *a, const void *b, const void *c, void *out,       \
                                     size_t n) {                                                   \
        (void)b, (void)c;                                                                          \
        return FN(lines_)(a, second, third, out, n, FN(one_##name##_));                            \
    }

LOOPS(add, b, a)
LOOPS(sub, b, a)
LOOPS(mul, b, a)
LOOPS(div, b, a)
LOOPS(min, b, a)
LOOPS(max, b, a)
LOOPS(fma, b, c)
LOOPS(sqrt, a, a)
LOOPS(neg, a, a)
LOOPS(abs, a, a)

static bool FN(copy_)(const void *from, void *to, size_t n) {
    const T *x = from;
    T *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = FN(canonical_)(x[i]);
    return false;
}

#include "cpu/map/end.h"
#undef LOOPS
#undef NAN_BITS
#undef SQRT
#undef FMA
