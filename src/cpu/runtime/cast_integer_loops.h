/* Casts from and to one integer type, whose parameters each_integer.h lists. A value that does not
 * fit wraps, and the loop returns true. */

#define FN(name) JOIN(cast_##name, NAME)
#define GREATEST ((C)((U) ~(U)0 >> SIGNED))

static bool FN(to_f64_)(const void *from, void *to, size_t n) {
    const T *x = from;
    f64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = (double)x[i];
    return false;
}

#if BITS < 64
static bool FN(to_i64_)(const void *from, void *to, size_t n) {
    const T *x = from;
    i64_element *out = to;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) out[i] = x[i];
    return false;
}
#endif

/* Toward zero. The bounds are doubles, but for the least i64 less one. */
static bool FN(from_f64_)(const void *from, void *to, size_t n) {
    const double least = SIGNED ? -(double)(GREATEST / 2 + 1) * 2 : 0;
    const double bound = (double)(GREATEST / 2 + 1) * 2;
    const f64_element *x = from;
    T *out = to;
    uint64_t misfit = 0;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
#if SIGNED && BITS == 64
        bool fits = x[i] >= least && x[i] < bound;
#else
        bool fits = x[i] > least - 1 && x[i] < bound;
#endif
        out[i] = (C)(fits ? x[i] : 0);
        misfit |= !fits;
    }
    return misfit != 0;
}

static bool FN(from_i64_)(const void *from, void *to, size_t n) {
    const i64_element *x = from;
    T *out = to;
    uint64_t misfit = 0;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
#if BITS == 64
        misfit |= !SIGNED && x[i] < 0;
#else
        misfit |= (int64_t)(C)x[i] != x[i];
#endif
        out[i] = (C)x[i];
    }
    return misfit != 0;
}

static bool FN(from_u64_)(const void *from, void *to, size_t n) {
    const u64_element *x = from;
    T *out = to;
    uint64_t misfit = 0;
    INDEPENDENT
    for (size_t i = 0; i < n; i++) {
        misfit |= x[i] > (uint64_t)GREATEST;
        out[i] = (C)x[i];
    }
    return misfit != 0;
}

#undef FN
#undef GREATEST
#undef NAME
#undef C
#undef U
#undef T
#undef TWICE
#undef BITS
#undef SIGNED
