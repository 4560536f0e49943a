/* Element-wise loops over f32 or f64: included for each by loops.h, which defines
 *   NAME       the dtype's name
 *   C, U       the type; the unsigned type of its size
 *   T          the type at any alignment
 *   SQRT, FMA  the compiler's functions, which become instructions */

#define FN(name) JOIN(map_##name, NAME)
#define BITS_OF JOIN(bits_, NAME)
#define OF_BITS JOIN(of_bits_, NAME)
#define CANONICAL JOIN(canonical_, NAME)
#define QUIET_NAN JOIN(quiet_nan_, NAME)()
#include "cpu/map/kernels.h"

INLINE C FN(one_add_)(OPERANDS) { return CANONICAL(x + y); }
INLINE C FN(one_sub_)(OPERANDS) { return CANONICAL(x - y); }
INLINE C FN(one_mul_)(OPERANDS) { return CANONICAL(x * y); }
INLINE C FN(one_div_)(OPERANDS) { return CANONICAL(x / y); }
INLINE C FN(one_fma_)(OPERANDS) { return CANONICAL(FMA(x, y, z)); }
INLINE C FN(one_sqrt_)(OPERANDS) { return CANONICAL(SQRT(x)); }
INLINE C FN(one_neg_)(OPERANDS) { return CANONICAL(-x); }
INLINE C FN(one_abs_)(OPERANDS) { return CANONICAL(OF_BITS(BITS_OF(x) & (U) ~(U)0 >> 1)); }

/* Equal numbers differ at most in the sign of zero: or'ed they are -0 if either is, and'ed +0. */
INLINE C FN(one_min_)(OPERANDS) {
    C equal = OF_BITS(BITS_OF(x) | BITS_OF(y));
    C r = x < y ? x : x > y ? y : equal;
    return x == x && y == y ? r : QUIET_NAN;
}
INLINE C FN(one_max_)(OPERANDS) {
    C equal = OF_BITS(BITS_OF(x) & BITS_OF(y));
    C r = x > y ? x : x < y ? y : equal;
    return x == x && y == y ? r : QUIET_NAN;
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

#include "cpu/map/end.h"
#undef LOOPS
#undef BITS_OF
#undef OF_BITS
#undef CANONICAL
#undef QUIET_NAN
#undef SQRT
#undef FMA
