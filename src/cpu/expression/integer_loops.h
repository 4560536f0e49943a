/* The loops of expressions over one integer type, whose parameters cpu/runtime/each_integer.h
 * lists.
 */
#define FN(name) JOIN(expression_##name, NAME)

/* No divisor is 0. */
static bool FN(mod_)(const void *a, const void *b, const void *c, void *out, size_t n) {
    const T *x = a, *y = b;
    T *to = out;
    (void)c;
    for (size_t i = 0; i < n; i++) {
#if SIGNED
        C d = y[i] == -1 ? 1 : y[i], r = (C)(x[i] % d); /* the least number has no quotient by -1 */
        to[i] = (C)(r != 0 && (r < 0) != (d < 0) ? r + d : r);
#else
        to[i] = (C)(x[i] % y[i]);
#endif
    }
    return false;
}

#undef FN
#undef NAME
#undef T
#undef C
#undef U
#undef BITS
#undef SIGNED
#undef TWICE
