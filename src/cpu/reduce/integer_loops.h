/* Loops over one integer type in plain C, which compilers turn into this instruction set's vectors.
 * cpu/runtime/each_integer.h lists the parameters. INTEGER_ROWS elements add up in TWICE.
 *
 * Each loop keeps many independent lanes, so that operations overlap. */

#if SIGNED
#define WIDE int64_t
#else
#define WIDE uint64_t
#endif
#define FN(name) JOIN(name, NAME)
#define LANES_OF(type) ((size_t)INTEGER_BYTES / sizeof(type))

/* The two parts of a term; products of 16 bits are low as a whole. */
#if BITS <= 16
#define LOW(term) ((int64_t)(term))
#define HIGH(term) 0
#else
#define LOW(term) ((int64_t)((uint64_t)(term)&0xffffffff))
#define HIGH(term) ((int64_t)((term) >> 32))
#endif

#if BITS < 64

static bf_split FN(sum_)(const void *data, size_t n) {
    const T *x = data;
    bf_split total = {0, 0};
    while (n >= LANES_OF(TWICE)) {
        TWICE lane[LANES_OF(TWICE)] = {0};
        size_t rows = n / LANES_OF(TWICE) < INTEGER_ROWS ? n / LANES_OF(TWICE) : INTEGER_ROWS;
        for (size_t r = 0; r < rows; r++, x += LANES_OF(TWICE)) {
            prefetch_row(x, LANES_OF(TWICE) * sizeof(T));
            for (size_t k = 0; k < LANES_OF(TWICE); k++) lane[k] = (TWICE)(lane[k] + x[k]);
        }
        for (size_t k = 0; k < LANES_OF(TWICE); k++) total.low += (int64_t)lane[k];
        n -= rows * LANES_OF(TWICE);
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
            low[k] += LOW(TERM(i + k));
            high[k] += HIGH(TERM(i + k));
        }
    }
    for (; i < n; i++) {
        total.low += LOW(TERM(i));
        total.high += HIGH(TERM(i));
    }
    for (size_t k = 0; k < LANES_OF(WIDE); k++) {
        total.low += low[k];
        total.high += high[k];
    }
    return total;
}

/* Returns the key (rules/key/order.h) of the least or the greatest element. */
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
#if BITS == 64 && !SIGNED
    return (int64_t)(best ^ (uint64_t)1 << 63);
#else
    return best;
#endif
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
#undef LOW
#undef HIGH
#undef TERM
#undef WIDE
#undef NAME
#undef C
#undef U
#undef T
#undef TWICE
#undef BITS
#undef SIGNED
