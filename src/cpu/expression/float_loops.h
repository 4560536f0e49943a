/* The loops of expressions over f32 or f64: included for each by loops.h, which defines
 *   NAME, C, U          the dtype's name; the type; the unsigned type of its size
 *   T                   the type at any alignment
 *   FMA                 the compiler's function, which becomes an instruction
 *   WHOLE               a power of two from which on all numbers are whole */
#define FN(name) JOIN(expression_##name, NAME)
#define BITS_OF JOIN(bits_, NAME)
#define OF_BITS JOIN(of_bits_, NAME)
#define CANONICAL JOIN(canonical_, NAME)
#define QUIET_NAN JOIN(quiet_nan_, NAME)()

#define SIGN ((U) ~((U) ~(U)0 >> 1))

/* The nearest whole number, for x below WHOLE. Compilers make vectors of this, and not of calls
 * that round. */
INLINE C FN(nearest_)(C x) {
    C shift = OF_BITS((U)((BITS_OF(x) & SIGN) | BITS_OF(WHOLE)));
    return (x + shift) - shift;
}

/* x if it is a whole number by its size, or NaN or infinite; else r, with the sign of x if it is 0.
 */
INLINE C FN(settle_)(C x, C r) {
    U zero = r == 0 ? BITS_OF(x) & SIGN : 0;
    bool large = (U)(BITS_OF(x) << 1) >= (U)(BITS_OF(WHOLE) << 1);
    return CANONICAL(OF_BITS(large ? BITS_OF(x) : BITS_OF(r) | zero));
}

INLINE C FN(one_floor_)(C x) {
    C near = FN(nearest_)(x);
    return FN(settle_)(x, near - (near > x ? 1 : 0));
}

INLINE C FN(one_ceil_)(C x) {
    C near = FN(nearest_)(x);
    return FN(settle_)(x, near + (near < x ? 1 : 0));
}

#define WHOLE_LOOP(name)                                                                           \
    static bool FN(name##_)(const void *a, const void *b, const void *c, void *out, size_t n) {    \
        const T *x = a;                                                                            \
        T *to = out;                                                                               \
        (void)b, (void)c;                                                                          \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++) to[i] = FN(one_##name##_)(x[i]);                            \
        return false;                                                                              \
    }
WHOLE_LOOP(floor)
WHOLE_LOOP(ceil)

/* The rounded quotient may be next to the nearest whole number; what remains is exact all the same,
 * as it is less than y and a multiple of the last place of the smaller. Where the quotient has more
 * bits than the format, the rules are asked. */
INLINE C FN(one_mod_)(C x, C y, U *left) {
    C q = x / y, t = FN(nearest_)(q), r = FMA(-t, t == 0 ? 0 : y, x);
    C moved = r + ((r < 0) != (y < 0) ? y : 0), far = x - x;
    bool none = (far != 0) | (y == 0) | (y != y); /* x is not finite, or y no divisor */
    bool many = !((q < WHOLE) & (q > -WHOLE));
    *left |= (U)(many & !none);
    r = r == 0 ? OF_BITS(BITS_OF(y) & SIGN) : moved;
    return none ? QUIET_NAN : r;
}

static bool FN(mod_)(const void *a, const void *b, const void *c, void *out, size_t n) {
    const T *x = a, *y = b;
    T *to = out;
    U left = 0;
    (void)c;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) to[i] = FN(one_mod_)(x[i], y[i], &left);
    return left != 0;
}

#undef FN
#undef BITS_OF
#undef OF_BITS
#undef CANONICAL
#undef QUIET_NAN
#undef WHOLE_LOOP
#undef SIGN
#undef NAME
#undef C
#undef U
#undef T
#undef FMA
#undef WHOLE
