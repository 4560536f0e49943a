/* The loops of selection in vectors, for one dtype of 4 or 8 bytes.
 *
 * Parameters: NAME(loop), DTYPE, WORD (uint32_t or uint64_t), and of the instruction set, for such
 * words: VECTOR, LANES of it, KEY(x, nan) (the keys of elements, and which are NaNs: keys are
 * compared as places are), SET(place) (the key of a place, everywhere), TO_PLACES(keys), MARKS (of
 * lanes), EDGE(v, lo), WITHIN(edge, v, hi), TALLY(counts, marks), BITS(marks), PACK(bits, v).
 * EDGE marks lanes from lo on, or with EDGE_IS_BELOW those below lo. */

enum { NAME(BYTES) = sizeof(WORD), NAME(IS_FLOAT) = DTYPE == BF_F32 || DTYPE == BF_F64 };

INLINE uint64_t NAME(place_at)(const char *x, size_t i) {
    return bf_order_place(DTYPE, BF_ASCENDING, bf_load_bits(x + i * NAME(BYTES), NAME(BYTES)));
}

INLINE VECTOR NAME(load)(const char *x, size_t i) { return LOAD(x + i * NAME(BYTES)); }

INLINE int64_t NAME(total)(VECTOR counts) {
    WORD lanes[LANES];
    int64_t sum = 0;
    memcpy(lanes, &counts, sizeof lanes);
    for (int i = 0; i < LANES; i++) sum += (int64_t)lanes[i];
    return sum;
}

static void NAME(places)(const char *x, size_t n, char *to) {
    size_t i = 0;
    MARKS nan;
    for (; i + LANES <= n; i += LANES)
        STORE(to + i * NAME(BYTES), TO_PLACES(KEY(NAME(load)(x, i), &nan)));
    for (; i < n; i++) bf_store_bits(to + i * NAME(BYTES), NAME(BYTES), NAME(place_at)(x, i));
}

/* The last elements of a block, one by one. */
static size_t NAME(keep_rest)(const char *x, size_t n, const bf_bracket *brackets, int q,
                              int64_t *from, char *to) {
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t place = NAME(place_at)(x, i);
        bool in = false;
        for (int j = 0; j < q; j++) {
            from[j] += place >= brackets[j].lo;
            in |= place - brackets[j].lo <= brackets[j].hi - brackets[j].lo;
        }
        from[q] += NAME(IS_FLOAT) && place == (WORD)-1;
        bf_store_bits(to + kept * NAME(BYTES), NAME(BYTES), place);
        kept += in;
    }
    return kept;
}

INLINE size_t NAME(keep_few)(const char *x, size_t n, const bf_bracket *brackets, const int q,
                             int64_t *from, char *to) {
    VECTOR lo[BF_BRACKETS], hi[BF_BRACKETS], counts[BF_BRACKETS], nans = SET_ZERO;
    size_t kept = 0, i = 0;
    for (int j = 0; j < q; j++) {
        lo[j] = SET(brackets[j].lo);
        hi[j] = SET(brackets[j].hi);
        counts[j] = SET_ZERO;
    }
    for (; i + LANES <= n; i += LANES) {
        MARKS nan, in = NO_MARKS;
        __builtin_prefetch(x + i * NAME(BYTES) + KEEP_AHEAD);
        const VECTOR v = KEY(NAME(load)(x, i), &nan);
        if (NAME(IS_FLOAT)) nans = TALLY(nans, nan);
        UNROLL
        for (int j = 0; j < q; j++) {
            const MARKS edge = EDGE(v, lo[j]);
            counts[j] = TALLY(counts[j], edge);
            in |= WITHIN(edge, v, hi[j]);
        }
        const unsigned bits = BITS(in);
        STORE(to + kept * NAME(BYTES), TO_PLACES(PACK(bits, v)));
        kept += (size_t)__builtin_popcount(bits);
    }
    for (int j = 0; j < q; j++) {
        const int64_t marked = NAME(total)(counts[j]);
        from[j] += EDGE_IS_BELOW ? (int64_t)i - marked : marked;
    }
    from[q] += NAME(total)(nans);
    return kept +
           NAME(keep_rest)(x + i * NAME(BYTES), n - i, brackets, q, from, to + kept * NAME(BYTES));
}

static size_t NAME(keep)(const char *x, size_t n, const bf_bracket *brackets, int q, int64_t *from,
                         char *to) {
    switch (q) {
    case 0: return NAME(keep_few)(x, n, brackets, 0, from, to);
    case 1: return NAME(keep_few)(x, n, brackets, 1, from, to);
    case 2: return NAME(keep_few)(x, n, brackets, 2, from, to);
    case 3: return NAME(keep_few)(x, n, brackets, 3, from, to);
    case 4: return NAME(keep_few)(x, n, brackets, 4, from, to);
    case 5: return NAME(keep_few)(x, n, brackets, 5, from, to);
    case 6: return NAME(keep_few)(x, n, brackets, 6, from, to);
    case 7: return NAME(keep_few)(x, n, brackets, 7, from, to);
    default: return NAME(keep_few)(x, n, brackets, 8, from, to);
    }
}

/* Cuts are compared four at a time. */
INLINE void NAME(count_4)(const char *x, size_t n, const uint64_t *cuts, int q, int64_t *from) {
    VECTOR at[4], counts[4];
    size_t i = 0;
    for (int j = 0; j < 4; j++) {
        at[j] = SET(cuts[j < q ? j : 0]);
        counts[j] = SET_ZERO;
    }
    for (; i + LANES <= n; i += LANES) {
        MARKS nan;
        const VECTOR v = KEY(NAME(load)(x, i), &nan);
        UNROLL
        for (int j = 0; j < 4; j++) counts[j] = TALLY(counts[j], EDGE(v, at[j]));
    }
    for (int j = 0; j < q; j++) {
        const int64_t marked = NAME(total)(counts[j]);
        from[j] += EDGE_IS_BELOW ? (int64_t)i - marked : marked;
        for (size_t k = i; k < n; k++) from[j] += NAME(place_at)(x, k) >= cuts[j];
    }
}

static void NAME(count)(const char *x, size_t n, const uint64_t *cuts, int q, int64_t *from) {
    for (int j = 0; j < q; j += 4) NAME(count_4)(x, n, cuts + j, q - j < 4 ? q - j : 4, from + j);
}

/* Tells which of the lanes from element i on are in the bracket. */
INLINE MARKS NAME(marks_at)(const char *x, size_t i, VECTOR lo, VECTOR hi) {
    MARKS nan;
    const VECTOR v = KEY(NAME(load)(x, i), &nan);
    return WITHIN(EDGE(v, lo), v, hi);
}

static uint64_t NAME(hits_in_rest)(const char *x, size_t n, bf_bracket bracket) {
    uint64_t hits = 0;
    for (size_t i = 0; i < n; i++)
        hits |= (uint64_t)(NAME(place_at)(x, i) - bracket.lo <= bracket.hi - bracket.lo) << i;
    return hits;
}

static size_t NAME(seek)(const char *x, size_t n, bf_bracket bracket, uint64_t *hits) {
    const VECTOR lo = SET(bracket.lo), hi = SET(bracket.hi);
    size_t first = 0;
    *hits = 0;
    for (; first + BF_SEEK <= n; first += BF_SEEK) {
        MARKS any = NO_MARKS;
        prefetch_row(x + first * NAME(BYTES), BF_SEEK * NAME(BYTES));
        UNROLL
        for (size_t i = 0; i < BF_SEEK; i += LANES) any |= NAME(marks_at)(x, first + i, lo, hi);
        if (__builtin_expect(BITS(any) == 0, 1)) continue;
        for (size_t i = 0; i < BF_SEEK; i += LANES)
            *hits |= (uint64_t)BITS(NAME(marks_at)(x, first + i, lo, hi)) << i;
        return first;
    }
    *hits = NAME(hits_in_rest)(x + first * NAME(BYTES), n - first, bracket);
    return *hits != 0 ? first : n;
}

#undef NAME
#undef DTYPE
#undef KEY
