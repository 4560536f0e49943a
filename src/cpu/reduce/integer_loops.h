/* Loops over one integer type in plain C, which compilers turn into this instruction set's vectors:
 * included once for each type by loops.h, which defines
 *   NAME    the dtype's name
 *   T       the element, of any alignment
 *   BITS    its width
 *   LANE    a type in which INTEGER_ROWS elements add up (below 64 bits)
 *   WIDE    int64_t or uint64_t
 *   KEY(x)  the order key of x
 *
 * Each loop keeps many independent lanes, so that operations overlap. */

#define FN(name) JOIN(name, NAME)
#define LANES_OF(type) ((size_t)INTEGER_BYTES / sizeof(type))

#if BITS < 64

static bf_split FN(sum_)(const void *data, size_t n) {
    const T *x = data;
    bf_split total = {0, 0};
    while (n >= LANES_OF(LANE)) {
        LANE lane[LANES_OF(LANE)] = {0};
        size_t rows = n / LANES_OF(LANE) < INTEGER_ROWS ? n / LANES_OF(LANE) : INTEGER_ROWS;
        for (size_t r = 0; r < rows; r++, x += LANES_OF(LANE)) {
            prefetch_row(x, LANES_OF(LANE) * sizeof(T));
            for (size_t k = 0; k < LANES_OF(LANE); k++) lane[k] = (LANE)(lane[k] + x[k]);
        }
        for (size_t k = 0; k < LANES_OF(LANE); k++) total.low += (int64_t)lane[k];
        n -= rows * LANES_OF(LANE);
    }
    for (size_t i = 0; i < n; i++) total.low += (int64_t)x[i];
    return total;
}

#define TERM(i) ((WIDE)a[i] * (WIDE)b[i])
static bf_split FN(dot_)(const void *data_a, const void *data_b, size_t n) {
    const T *a = data_a, *b = data_b;
#else
#define TERM(i) ((WIDE)x[i])
static bf_split FN(sum_)(const void *data, size_t n) {
    const T *x = data;
#endif
    int64_t low[LANES_OF(WIDE)] = {0}, high[LANES_OF(WIDE)] = {0};
    bf_split total = {0, 0};
    size_t i = 0;
    for (; i + LANES_OF(WIDE) <= n; i += LANES_OF(WIDE)) {
        for (size_t k = 0; k < LANES_OF(WIDE); k++) {
            low[k] += (int64_t)((uint64_t)TERM(i + k) & 0xffffffff);
            high[k] += (int64_t)(TERM(i + k) >> 32);
        }
    }
    for (; i < n; i++) {
        total.low += (int64_t)((uint64_t)TERM(i) & 0xffffffff);
        total.high += (int64_t)(TERM(i) >> 32);
    }
    for (size_t k = 0; k < LANES_OF(WIDE); k++) {
        total.low += low[k];
        total.high += high[k];
    }
    return total;
}

INLINE int64_t FN(extreme_)(const void *data, size_t n, bool greatest) {
    const T *x = data;
    T lane[LANES_OF(T)], best = x[0];
    for (size_t k = 0; k < LANES_OF(T); k++) lane[k] = best;
    for (; n >= LANES_OF(T); n -= LANES_OF(T), x += LANES_OF(T)) {
        prefetch_row(x, INTEGER_BYTES);
        for (size_t k = 0; k < LANES_OF(T); k++)
            lane[k] = (greatest ? x[k] > lane[k] : x[k] < lane[k]) ? x[k] : lane[k];
    }
    for (size_t i = 0; i < n; i++) best = (greatest ? x[i] > best : x[i] < best) ? x[i] : best;
    for (size_t k = 0; k < LANES_OF(T); k++)
        best = (greatest ? lane[k] > best : lane[k] < best) ? lane[k] : best;
    return KEY(best);
}

static int64_t FN(least_)(const void *data, size_t n, bool *nan) {
    (void)nan;
    return FN(extreme_)(data, n, false);
}

static int64_t FN(greatest_)(const void *data, size_t n, bool *nan) {
    (void)nan;
    return FN(extreme_)(data, n, true);
}

#undef FN
#undef LANES_OF
#undef TERM
#undef NAME
#undef T
#undef BITS
#undef LANE
#undef WIDE
#undef KEY
