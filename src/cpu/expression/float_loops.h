/* The loops of expressions over f32 or f64: included for each by loops.h, which defines
 *   NAME, C, U          the dtype's name; the type; the unsigned type of its size
 *   T                   the type at any alignment
 *   FLOOR, CEIL, TRUNC, FMA   the compiler's functions, which become instructions
 *   WHOLE               a power of two from which on all numbers are whole */
#define FN(name) JOIN(expression_##name, NAME)
#define BITS_OF JOIN(bits_, NAME)
#define OF_BITS JOIN(of_bits_, NAME)
#define CANONICAL JOIN(canonical_, NAME)
#define QUIET_NAN JOIN(quiet_nan_, NAME)()

#define WHOLE_LOOP(name, op)                                                                       \
    static bool FN(name)(const void *a, const void *b, const void *c, void *out, size_t n) {       \
        const T *x = a;                                                                            \
        T *to = out;                                                                               \
        (void)b, (void)c;                                                                          \
        INDEPENDENT                                                                                \
        for (size_t i = 0; i < n; i++) to[i] = CANONICAL(op(x[i]));                                \
        return false;                                                                              \
    }
WHOLE_LOOP(floor_, FLOOR)
WHOLE_LOOP(ceil_, CEIL)

/* The quotient, rounded, is at most one off where it is cut to a whole number; what remains is then
 * exact, as it is at most y and a multiple of the last place of the smaller. Where it has more bits
 * than the format, the rules are asked. */
INLINE C FN(one_mod_)(C x, C y, U *left) {
    const U sign = ~((U) ~(U)0 >> 1);
    C t = TRUNC(x / y), rest = FMA(-t, y, x), r = t == 0 ? x : rest, moved = r + y;
    C zero = OF_BITS(BITS_OF(y) & sign), far = x - x;
    bool none = (far != 0) | (y == 0) | (y != y); /* x is not finite, or y no divisor */
    bool many = !((t < WHOLE) & (t > -WHOLE));
    bool other = (r < 0) != (y < 0);
    *left |= (U)(many & !none);
    r = r == 0 ? zero : other ? moved : r;
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
#undef NAME
#undef C
#undef U
#undef T
#undef FLOOR
#undef CEIL
#undef TRUNC
#undef FMA
#undef WHOLE
