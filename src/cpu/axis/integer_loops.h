/* Columns of one integer type: included by cpu/runtime/each_integer.h. The compiler makes vectors
 * of the loops. */
#define FN(name) JOIN(name, NAME)
#if BITS == 64
#define WIDE uint64_t
#else
#define WIDE TWICE
#endif

/* Adds the sums of columns to low; of 64 bits, of their halves to low and high. */
static void FN(column_sums_)(const bf_columns *x, int64_t *low, int64_t *high) {
    const size_t n = (size_t)x->columns;
    int64_t row = 0;
    (void)high;
#if BITS < 64
    for (; row + ROWS_AT_ONCE <= x->rows; row += ROWS_AT_ONCE) {
        const T *at[ROWS_AT_ONCE];
        for (int r = 0; r < ROWS_AT_ONCE; r++) at[r] = (const T *)(x->a + (row + r) * x->a_step);
        INDEPENDENT
        for (size_t c = 0; c < n; c++) {
            WIDE sum = at[0][c];
            sum = (WIDE)(sum + at[1][c]);
            sum = (WIDE)(sum + at[2][c]);
            sum = (WIDE)(sum + at[3][c]);
            low[c] += (int64_t)sum;
        }
    }
#endif
    for (; row < x->rows; row++) {
        const T *at = (const T *)(x->a + row * x->a_step);
        INDEPENDENT
        for (size_t c = 0; c < n; c++) {
#if BITS == 64
            low[c] += (int64_t)(uint32_t)at[c];
            high[c] += (int64_t)(at[c] >> 32);
#else
            low[c] += (int64_t)at[c];
#endif
        }
    }
}

/* Sets least and greatest to those of each column; of floats, whose bits the elements are, to their
 * ranks (rules/key/order.h). */
INLINE C FN(rank_)(C x, bool is_float) {
#if SIGNED
    return is_float ? (C)(x ^ ((x >> (BITS - 1)) & (C)((U) ~(U)0 >> 1))) : x;
#else
    (void)is_float;
    return x;
#endif
}

INLINE void FN(column_extremes_)(const bf_columns *x, void *least, void *greatest, bool is_float) {
    const size_t n = (size_t)x->columns;
    C *min = least, *max = greatest;
    for (size_t c = 0; c < n; c++) min[c] = max[c] = FN(rank_)(((const T *)x->a)[c], is_float);
    int64_t row = 1;
    for (; row + ROWS_AT_ONCE <= x->rows; row += ROWS_AT_ONCE) {
        const T *at[ROWS_AT_ONCE];
        for (int r = 0; r < ROWS_AT_ONCE; r++) at[r] = (const T *)(x->a + (row + r) * x->a_step);
        INDEPENDENT
        for (size_t c = 0; c < n; c++) {
            C p = FN(rank_)(at[0][c], is_float), q = FN(rank_)(at[1][c], is_float);
            C s = FN(rank_)(at[2][c], is_float), t = FN(rank_)(at[3][c], is_float);
            C pq = p < q ? p : q, st = s < t ? s : t, PQ = p < q ? q : p, ST = s < t ? t : s;
            pq = pq < st ? pq : st;
            PQ = PQ < ST ? ST : PQ;
            min[c] = pq < min[c] ? pq : min[c];
            max[c] = PQ > max[c] ? PQ : max[c];
        }
    }
    for (; row < x->rows; row++) {
        const T *at = (const T *)(x->a + row * x->a_step);
        INDEPENDENT
        for (size_t c = 0; c < n; c++) {
            C p = FN(rank_)(at[c], is_float);
            min[c] = p < min[c] ? p : min[c];
            max[c] = p > max[c] ? p : max[c];
        }
    }
}

static void FN(integer_extremes_)(const bf_columns *x, void *least, void *greatest) {
    FN(column_extremes_)(x, least, greatest, false);
}
#if SIGNED && BITS >= 16
static void FN(float_extremes_)(const bf_columns *x, void *least, void *greatest) {
    FN(column_extremes_)(x, least, greatest, true);
}
#endif

#undef FN
#undef WIDE
#undef NAME
#undef C
#undef U
#undef T
#undef TWICE
#undef BITS
#undef SIGNED
