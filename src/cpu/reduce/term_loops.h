/* Operations on a block of terms: included by computed_loops.h for floats and doubles. It defines
 *   NAME, V   the dtype's name; a vector of its elements
 *   BYTES     of an element
 *   QUIET_NAN the bits of the NaN that results have */
#define FN(name) JOIN(term_##name##_, NAME)
#define OP(name) JOIN(one_##name##_, NAME)
#define MASK(x) ((__typeof__((x) == (x)))(x))

/* Equal numbers differ at most in the sign of zero: or'ed they are -0 if either is, and'ed +0. A
 * NaN in either makes one. */
INLINE V OP(min)(V x, V y) {
    __typeof__(x == y) r = MASK(JOIN(lesser_, NAME)(x, y));
    return (V)(r | (MASK(x) & (x == y)) | (x != x));
}
INLINE V OP(max)(V x, V y) {
    __typeof__(x == y) r = MASK(JOIN(greater_, NAME)(x, y));
    return (V)((r & (MASK(x) | ~(x == y))) | (x != x));
}
INLINE V OP(abs)(V x) { return (V)(MASK(x) & ~MASK(-(V){0})); }
INLINE V OP(canonical)(V x) { return (V)((MASK(x) & (x == x)) | (QUIET_NAN & (x != x))); }

#define TERM_LOOP(name, expression)                                                                \
    INLINE void FN(name)(vf64 * block, int vectors, const char *a, const char *b) {                \
        UNROLL                                                                                     \
        for (int k = 0; k < vectors * (int)BYTES / 8; k++) {                                       \
            V x = (V)block[k], y, z;                                                               \
            memcpy(&y, a + (size_t)k * sizeof y, sizeof y);                                        \
            memcpy(&z, b + (size_t)k * sizeof z, sizeof z);                                        \
            (void)x, (void)y, (void)z;                                                             \
            block[k] = (vf64)(expression);                                                         \
        }                                                                                          \
    }
TERM_LOOP(load, y)
TERM_LOOP(add, OP(add)(x, y))
TERM_LOOP(sub, OP(sub)(x, y))
TERM_LOOP(sub_from, OP(sub)(y, x))
TERM_LOOP(mul, OP(mul)(x, y))
TERM_LOOP(square, OP(mul)(x, x))
TERM_LOOP(div, OP(div)(x, y))
TERM_LOOP(div_into, OP(div)(y, x))
TERM_LOOP(min, OP(min)(x, y))
TERM_LOOP(max, OP(max)(x, y))
TERM_LOOP(fma, OP(fma)(x, y, z))
TERM_LOOP(sqrt, OP(sqrt)(x))
TERM_LOOP(neg, -x)
TERM_LOOP(abs, OP(abs)(x))
TERM_LOOP(canonical, OP(canonical)(x))

#undef TERM_LOOP
#undef FN
#undef OP
#undef MASK
#undef NAME
#undef V
#undef BYTES
#undef QUIET_NAN
