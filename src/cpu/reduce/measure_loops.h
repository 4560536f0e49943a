/* What terms span, for the choice of a window: included once by each instruction set after
 * sum_loops.h, whose vectors it uses. */

/* Two of each, so that operations overlap. A NaN in `lowest` is passed over. */
typedef struct measured {
    vf64 greatest[2], lowest[2];
    vi64 special[2]; /* bits of x - x, which is 0 of a finite x */
} measured;

/* The weight of the last bit of |x| that is 1; a NaN of 0. */
INLINE vf64 lowest_bit(vf64 x) {
    const int64_t fraction = ((int64_t)1 << 52) - 1;
    vi64 bits = (vi64)magnitude(x);
    vf64 rest = (vf64)(bits & (bits - 1) & ((bits & fraction) != 0));
    return (vf64)((vi64)((vf64)bits - rest) | (bits == 0));
}

/* all: not the greatest term alone. */
INLINE void measure_vector(measured *m, int k, bool pair, bool all, vf64 x, vf64 y) {
    vf64 term = x;
    if (pair) term = x * y;
    m->greatest[k] = max_f64(magnitude(term), m->greatest[k]);
    if (!all) return;
    vf64 low = lowest_bit(x);
    m->special[k] |= (vi64)(x - x);
    if (pair) {
        low *= lowest_bit(y);
        m->special[k] |= (vi64)(y - y);
    }
    m->lowest[k] = min_f64(low, m->lowest[k]);
}

INLINE bool measure(input in, bool all, const char *a, const char *b, size_t n, double *greatest,
                    double *lowest) {
    const size_t step = LANES * input_bytes(in);
    const bool pair = input_is_pair(in);
    measured m = {.special = {{0}, {0}}};
    for (int k = 0; k < 2; k++) {
        m.greatest[k] = broadcast(*greatest);
        m.lowest[k] = broadcast(all ? *lowest : 0);
    }
    for (; n >= 2 * LANES; n -= 2 * LANES, a += 2 * step, b += 2 * step) {
        UNROLL
        for (int k = 0; k < 2; k++) {
            const char *at = a + (size_t)k * step, *by = b + (size_t)k * step;
            measure_vector(&m, k, pair, all, load(in, at), load(in, pair ? by : at));
        }
    }
    for (; n > 0; a += step, b += step) {
        const size_t part = n < LANES ? n : LANES;
        measure_vector(&m, 0, pair, all, load_part(in, a, part), load_part(in, pair ? b : a, part));
        n -= part;
    }
    m.greatest[0] = max_f64(m.greatest[1], m.greatest[0]);
    m.lowest[0] = min_f64(m.lowest[1], m.lowest[0]);
    m.special[0] |= m.special[1];
    double most[LANES], least[LANES];
    int64_t special = 0;
    UNROLL
    for (int i = 0; i < LANES; i++) {
        most[i] = m.greatest[0][i];
        least[i] = m.lowest[0][i];
        special |= m.special[0][i];
    }
    UNROLL
    for (int half = LANES / 2; half > 0; half /= 2) {
        UNROLL
        for (int i = 0; i < half; i++) {
            most[i] = most[i + half] > most[i] ? most[i + half] : most[i];
            least[i] = least[i + half] < least[i] ? least[i + half] : least[i];
        }
    }
    *greatest = most[0];
    if (all) *lowest = least[0];
    return special == 0;
}

INLINE bool measure_either(input in, input pairs, const char *a, const char *b, size_t n,
                           double *greatest, double *lowest) {
    if (b == NULL)
        return lowest != NULL ? measure(in, true, a, a, n, greatest, lowest)
                              : measure(in, false, a, a, n, greatest, lowest);
    return lowest != NULL ? measure(pairs, true, a, b, n, greatest, lowest)
                          : measure(pairs, false, a, b, n, greatest, lowest);
}

static bool measure_f64(const void *a, const void *b, size_t n, double *greatest, double *lowest) {
    return measure_either(IN_F64, IN_F64_PAIR, a, b, n, greatest, lowest);
}

static bool measure_f32(const void *a, const void *b, size_t n, double *greatest, double *lowest) {
    return measure_either(IN_F32, IN_F32_PAIR, a, b, n, greatest, lowest);
}
