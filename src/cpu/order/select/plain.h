/* The loops of selection in plain C, for places of one width: a block is turned into places, and
 * compared with one bracket after another.
 *
 * Parameters: WORD, NAME(name). */

INLINE size_t NAME(keep_block)(const WORD *places, size_t n, const bf_bracket *brackets, int q,
                               int64_t *from, char *to) {
    uint8_t in[BLOCK] = {0};
    size_t kept = 0;
    for (int j = 0; j < q; j++) {
        const WORD lo = (WORD)brackets[j].lo, width = (WORD)(brackets[j].hi - brackets[j].lo);
        WORD count = 0;
        for (size_t i = 0; i < n; i++) {
            count += places[i] >= lo;
            in[i] |= (WORD)(places[i] - lo) <= width;
        }
        from[j] += (int64_t)count;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(to + kept * sizeof(WORD), &places[i], sizeof(WORD));
        kept += in[i];
    }
    return kept;
}

INLINE size_t NAME(keep)(bf_dtype dtype, const char *x, size_t n, const bf_bracket *brackets, int q,
                         int64_t *from, char *to) {
    WORD places[BLOCK];
    size_t kept = 0;
    for (size_t m; n > 0; n -= m, x += m * sizeof(WORD)) {
        m = n < BLOCK ? n : BLOCK;
        bf_write_places(dtype, x, m, (char *)places);
        if (bf_dtype_is_float(dtype))
            for (size_t i = 0; i < m; i++) from[q] += places[i] == (WORD)-1;
        kept += NAME(keep_block)(places, m, brackets, q, from, to + kept * sizeof(WORD));
    }
    return kept;
}

INLINE void NAME(count)(bf_dtype dtype, const char *x, size_t n, const uint64_t *cuts, int q,
                        int64_t *from) {
    WORD places[BLOCK];
    for (size_t m; n > 0; n -= m, x += m * sizeof(WORD)) {
        m = n < BLOCK ? n : BLOCK;
        bf_write_places(dtype, x, m, (char *)places);
        for (int j = 0; j < q; j++) {
            WORD count = 0;
            for (size_t i = 0; i < m; i++) count += places[i] >= (WORD)cuts[j];
            from[j] += (int64_t)count;
        }
    }
}

INLINE size_t NAME(seek)(bf_dtype dtype, const char *x, size_t n, bf_bracket bracket,
                         uint64_t *hits) {
    const WORD lo = (WORD)bracket.lo, width = (WORD)(bracket.hi - bracket.lo);
    WORD places[BF_SEEK];
    *hits = 0;
    for (size_t first = 0; first < n; first += BF_SEEK) {
        const size_t m = n - first < BF_SEEK ? n - first : BF_SEEK;
        bool any = false;
        bf_write_places(dtype, x + first * sizeof(WORD), m, (char *)places);
        for (size_t i = 0; i < m; i++) any |= (WORD)(places[i] - lo) <= width;
        for (size_t i = 0; any && i < m; i++)
            *hits |= (uint64_t)((WORD)(places[i] - lo) <= width) << i;
        if (any) return first;
    }
    return n;
}

#undef WORD
#undef NAME
