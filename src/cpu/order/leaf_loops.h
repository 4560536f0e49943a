/* Sorting up to 32 vectors of words in registers, for AVX-512: columns by a network, then rows are
 * merged. Parameters: BYTES (4, 8) and W (its unsigned integer, of any alignment). */

#define LOOP(name) JOIN(JOIN(leaf_, name), JOIN(_, BYTES))

#if BYTES == 4
#define LANES 16
#define ROWS 4
#define MASK __mmask16
#define MASKED_MAX _mm512_mask_max_epu32
INLINE vec LOOP(all)(W x) { return _mm512_set1_epi32((int)x); }
INLINE vec LOOP(min)(vec a, vec b) { return _mm512_min_epu32(a, b); }
INLINE vec LOOP(max)(vec a, vec b) { return _mm512_max_epu32(a, b); }
INLINE vec LOOP(signs)(vec x) { return _mm512_srai_epi32(x, 31); }
INLINE MASK LOOP(above)(vec a, vec b) { return _mm512_cmpgt_epu32_mask(a, b); }
INLINE MASK LOOP(below)(vec a, vec b) { return _mm512_cmplt_epu32_mask(a, b); }
INLINE MASK LOOP(differ)(vec a, vec b) { return _mm512_cmpneq_epu32_mask(a, b); }
INLINE vec LOOP(twice)(vec x) { return _mm512_slli_epi32(x, 1); }
INLINE vec LOOP(load_some)(vec others, MASK lanes, const W *from) {
    return _mm512_mask_loadu_epi32(others, lanes, from);
}
INLINE void LOOP(store_some)(W *to, MASK lanes, vec x) { _mm512_mask_storeu_epi32(to, lanes, x); }
INLINE vec LOOP(pack)(MASK lanes, vec x) { return _mm512_maskz_compress_epi32(lanes, x); }
/* Packs the lanes, of which there are `count`, before the others. */
INLINE vec LOOP(part)(MASK lanes, vec x, int count) {
    vec others = LOOP(pack)((MASK)~lanes, x);
    return _mm512_mask_expand_epi32(LOOP(pack)(lanes, x), (MASK)(0xffffu << count), others);
}
INLINE vec LOOP(reverse)(vec x) {
    const vec from = _mm512_setr_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return _mm512_permutexvar_epi32(from, x);
}
#else
#define LANES 8
#define ROWS 8
#define MASK __mmask8
#define MASKED_MAX _mm512_mask_max_epu64
INLINE vec LOOP(all)(W x) { return _mm512_set1_epi64((long long)x); }
INLINE vec LOOP(min)(vec a, vec b) { return _mm512_min_epu64(a, b); }
INLINE vec LOOP(max)(vec a, vec b) { return _mm512_max_epu64(a, b); }
INLINE vec LOOP(signs)(vec x) { return _mm512_srai_epi64(x, 63); }
INLINE MASK LOOP(above)(vec a, vec b) { return _mm512_cmpgt_epu64_mask(a, b); }
INLINE MASK LOOP(below)(vec a, vec b) { return _mm512_cmplt_epu64_mask(a, b); }
INLINE MASK LOOP(differ)(vec a, vec b) { return _mm512_cmpneq_epu64_mask(a, b); }
INLINE vec LOOP(twice)(vec x) { return _mm512_slli_epi64(x, 1); }
INLINE vec LOOP(load_some)(vec others, MASK lanes, const W *from) {
    return _mm512_mask_loadu_epi64(others, lanes, from);
}
INLINE void LOOP(store_some)(W *to, MASK lanes, vec x) { _mm512_mask_storeu_epi64(to, lanes, x); }
INLINE vec LOOP(pack)(MASK lanes, vec x) { return _mm512_maskz_compress_epi64(lanes, x); }
/* Packs the lanes, of which there are `count`, before the others. */
INLINE vec LOOP(part)(MASK lanes, vec x, int count) {
    vec others = LOOP(pack)((MASK)~lanes, x);
    return _mm512_mask_expand_epi64(LOOP(pack)(lanes, x), (MASK)(0xffu << count), others);
}
INLINE vec LOOP(reverse)(vec x) {
    return _mm512_permutexvar_epi64(_mm512_setr_epi64(7, 6, 5, 4, 3, 2, 1, 0), x);
}
#endif

INLINE vec LOOP(load)(const W *from) { return _mm512_loadu_si512(from); }
INLINE void LOOP(store)(W *to, vec x) { _mm512_storeu_si512(to, x); }
/* The first lanes, of n that are left. */
INLINE MASK LOOP(first)(int64_t n) {
    return (MASK)(n >= LANES ? (1u << LANES) - 1 : n > 0 ? (1u << n) - 1 : 0);
}
INLINE int LOOP(number)(MASK lanes) { return __builtin_popcount(lanes); }

/* Exchanges lanes with their partners; the greater ones go to the lanes `up`. */
INLINE vec LOOP(exchange)(vec x, vec partner, MASK up) {
    return MASKED_MAX(LOOP(min)(x, partner), up, x, partner);
}

/* ---- one vector ------------------------------------------------------------------------------ */

#if BYTES == 4
#define HALVES(x) _mm512_shuffle_i64x2(x, x, 0x4e) /* lane i ^ 8 */
#define FOURTHS(x) _mm512_shuffle_i64x2(x, x, 0xb1)
#define PAIRS(x) _mm512_shuffle_epi32(x, _MM_PERM_BADC)
#define ONES(x) _mm512_shuffle_epi32(x, _MM_PERM_CDAB)
INLINE vec LOOP(reverse_halves)(vec x) {
    const vec from = _mm512_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0, 15, 14, 13, 12, 11, 10, 9, 8);
    return _mm512_permutexvar_epi32(from, x);
}

/* Sorts bitonic vectors. */
INLINE vec LOOP(clean)(vec x) {
    x = LOOP(exchange)(x, HALVES(x), 0xff00);
    x = LOOP(exchange)(x, FOURTHS(x), 0xf0f0);
    x = LOOP(exchange)(x, PAIRS(x), 0xcccc);
    return LOOP(exchange)(x, ONES(x), 0xaaaa);
}

/* Merges sorted stretches of 4 lanes. */
INLINE vec LOOP(merge_fours)(vec x) {
    x = LOOP(exchange)(x, LOOP(reverse_halves)(x), 0xf0f0);
    x = LOOP(exchange)(x, PAIRS(x), 0xcccc);
    x = LOOP(exchange)(x, ONES(x), 0xaaaa);
    x = LOOP(exchange)(x, LOOP(reverse)(x), 0xff00);
    x = LOOP(exchange)(x, FOURTHS(x), 0xf0f0);
    x = LOOP(exchange)(x, PAIRS(x), 0xcccc);
    return LOOP(exchange)(x, ONES(x), 0xaaaa);
}

INLINE vec LOOP(sort_vector)(vec x) {
    x = LOOP(exchange)(x, ONES(x), 0xaaaa);
    x = LOOP(exchange)(x, _mm512_shuffle_epi32(x, _MM_PERM_ABCD), 0xcccc);
    x = LOOP(exchange)(x, ONES(x), 0xaaaa);
    return LOOP(merge_fours)(x);
}
#else
#define FOURTHS(x) _mm512_shuffle_i64x2(x, x, 0x4e) /* lane i ^ 4 */
#define PAIRS(x) _mm512_permutex_epi64(x, 0x4e)
#define ONES(x) _mm512_permutex_epi64(x, 0xb1)

INLINE vec LOOP(clean)(vec x) {
    x = LOOP(exchange)(x, FOURTHS(x), 0xf0);
    x = LOOP(exchange)(x, PAIRS(x), 0xcc);
    return LOOP(exchange)(x, ONES(x), 0xaa);
}

INLINE vec LOOP(sort_vector)(vec x) {
    x = LOOP(exchange)(x, ONES(x), 0xaa);
    x = LOOP(exchange)(x, _mm512_permutex_epi64(x, 0x1b), 0xcc);
    x = LOOP(exchange)(x, ONES(x), 0xaa);
    x = LOOP(exchange)(x, LOOP(reverse)(x), 0xf0);
    x = LOOP(exchange)(x, PAIRS(x), 0xcc);
    return LOOP(exchange)(x, ONES(x), 0xaa);
}
#endif

/* ---- columns, then rows ---------------------------------------------------------------------- */

#define EXCHANGE(a, b)                                                                             \
    do {                                                                                           \
        vec least_ = LOOP(min)(v[a], v[b]);                                                        \
        v[b] = LOOP(max)(v[a], v[b]);                                                              \
        v[a] = least_;                                                                             \
    } while (0)

#if BYTES == 4
/* Sorts 4 vectors each. */
INLINE void LOOP(sort_rows)(vec *v) {
    NETWORK_4(EXCHANGE)
    vec a = _mm512_unpacklo_epi32(v[0], v[1]), b = _mm512_unpackhi_epi32(v[0], v[1]);
    vec c = _mm512_unpacklo_epi32(v[2], v[3]), d = _mm512_unpackhi_epi32(v[2], v[3]);
    v[0] = LOOP(merge_fours)(_mm512_unpacklo_epi64(a, c));
    v[1] = LOOP(merge_fours)(_mm512_unpackhi_epi64(a, c));
    v[2] = LOOP(merge_fours)(_mm512_unpacklo_epi64(b, d));
    v[3] = LOOP(merge_fours)(_mm512_unpackhi_epi64(b, d));
}

/* Transposes the blocks of 4 by 4 lanes of 16 vectors, each of which is in order. */
INLINE void LOOP(transpose_blocks)(vec *v) {
    for (int k = 0; k < 4; k++) {
        vec p = _mm512_shuffle_i32x4(v[k], v[k + 4], 0x44);
        vec q = _mm512_shuffle_i32x4(v[k], v[k + 4], 0xee);
        vec r = _mm512_shuffle_i32x4(v[k + 8], v[k + 12], 0x44);
        vec s = _mm512_shuffle_i32x4(v[k + 8], v[k + 12], 0xee);
        v[k] = _mm512_shuffle_i32x4(p, r, 0x88);
        v[k + 4] = _mm512_shuffle_i32x4(p, r, 0xdd);
        v[k + 8] = _mm512_shuffle_i32x4(q, s, 0x88);
        v[k + 12] = _mm512_shuffle_i32x4(q, s, 0xdd);
    }
}

/* Sorts 16 vectors each. */
INLINE void LOOP(sort_16)(vec *v) {
    NETWORK_16(EXCHANGE)
    UNROLLED for (int i = 0; i < 16; i += 4) {
        vec a = _mm512_unpacklo_epi32(v[i], v[i + 1]), b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
        vec c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]);
        vec d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
        v[i] = _mm512_unpacklo_epi64(a, c);
        v[i + 1] = _mm512_unpackhi_epi64(a, c);
        v[i + 2] = _mm512_unpacklo_epi64(b, d);
        v[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    LOOP(transpose_blocks)(v);
}
#else
INLINE void LOOP(transpose)(vec *v) {
    vec a[8];
    UNROLLED for (int i = 0; i < 8; i += 2) {
        a[i] = _mm512_unpacklo_epi64(v[i], v[i + 1]);
        a[i + 1] = _mm512_unpackhi_epi64(v[i], v[i + 1]);
    }
    UNROLLED for (int i = 0; i < 2; i++) {
        vec p = _mm512_shuffle_i64x2(a[i], a[i + 2], 0x44);
        vec q = _mm512_shuffle_i64x2(a[i], a[i + 2], 0xee);
        vec r = _mm512_shuffle_i64x2(a[i + 4], a[i + 6], 0x44);
        vec s = _mm512_shuffle_i64x2(a[i + 4], a[i + 6], 0xee);
        v[i] = _mm512_shuffle_i64x2(p, r, 0x88);
        v[i + 2] = _mm512_shuffle_i64x2(p, r, 0xdd);
        v[i + 4] = _mm512_shuffle_i64x2(q, s, 0x88);
        v[i + 6] = _mm512_shuffle_i64x2(q, s, 0xdd);
    }
}

/* Sorts 8 vectors each. */
INLINE void LOOP(sort_rows)(vec *v) {
    NETWORK_8(EXCHANGE)
    LOOP(transpose)(v);
}

/* Sorts 16 vectors to 8 pairs, each of which is in order. */
INLINE void LOOP(sort_16)(vec *v) {
    vec a[8], b[8];
    NETWORK_16(EXCHANGE)
    UNROLLED for (int i = 0; i < 8; i++) {
        a[i] = v[i];
        b[i] = v[8 + i];
    }
    LOOP(transpose)(a);
    LOOP(transpose)(b);
    UNROLLED for (int i = 0; i < 8; i++) {
        v[2 * i] = a[i];
        v[2 * i + 1] = b[i];
    }
}
#endif

/* Sorts r vectors that are bitonic as a whole; each may be reversed. */
INLINE void LOOP(clean_all)(vec *v, int r) {
    UNROLLED for (int d = r / 2; d > 0; d /= 2) UNROLLED for (int i = 0; i < r; i++) if (!(i & d))
        EXCHANGE(i, i + d);
    UNROLLED for (int i = 0; i < r; i++) v[i] = LOOP(clean)(v[i]);
}

/* Merges two sorted runs of m vectors each. The upper half stays reversed in each vector, which
 * cleaning does not mind. */
INLINE void LOOP(merge)(vec *v, int m) {
    UNROLLED for (int i = 0; i < m; i++) {
        vec x = v[i], y = LOOP(reverse)(v[2 * m - 1 - i]);
        v[i] = LOOP(min)(x, y);
        v[2 * m - 1 - i] = LOOP(max)(x, y);
    }
    LOOP(clean_all)(v, m);
    LOOP(clean_all)(v + m, m);
}

INLINE void LOOP(merge_runs)(vec *v, int m, int r) {
    UNROLLED
    for (int i = 0; i < r; i += 2 * m) LOOP(merge)(v + i, m);
}

/* Sorts r vectors, a power of 2 up to 16, as a whole. */
INLINE void LOOP(sort_all)(vec *v, int r) {
    if (r == 16) {
        LOOP(sort_16)(v);
    } else if (r >= ROWS) {
        UNROLLED
        for (int i = 0; i < r; i += ROWS) LOOP(sort_rows)(v + i);
    } else {
        UNROLLED
        for (int i = 0; i < r; i++) v[i] = LOOP(sort_vector)(v[i]);
    }
    if (r >= 2 && (BYTES == 4 || r < 16)) LOOP(merge_runs)(v, 1, r);
    if (r >= 4) LOOP(merge_runs)(v, 2, r);
    if (r >= 8) LOOP(merge_runs)(v, 4, r);
    if (r >= 16) LOOP(merge_runs)(v, 8, r);
}
#undef EXCHANGE

/* ---- up to 16 vectors ------------------------------------------------------------------------ */

/* How elements become words in a register. */
typedef struct LOOP(coding) {
    vec negative, other, both, nan;
    vec last; /* an element whose word is the last one */
} LOOP(coding);

INLINE LOOP(coding) LOOP(coding_of)(const bf_order_code *code) {
    return (LOOP(coding)){
        .negative = LOOP(all)((W)code->negative),
        .other = LOOP(all)((W)code->other),
        .both = LOOP(all)((W)(code->negative ^ code->other)),
        .nan = LOOP(all)((W)code->nan),
        .last = LOOP(all)(JOIN(decode_, BYTES)(code, (W) ~(W)0)),
    };
}

INLINE vec LOOP(encode)(const LOOP(coding) * c, vec x) {
    return c->other ^ x ^ (LOOP(signs)(x) & c->both);
}
INLINE vec LOOP(decode)(const LOOP(coding) * c, vec x) {
    return c->other ^ x ^ (LOOP(signs)(x ^ c->negative) & c->both);
}

/* Sorts n words, or with `in` elements, that fill more than half of r vectors, to elements. false:
 * there is a NaN, and nothing is written. */
INLINE bool LOOP(sort_r)(const LOOP(coding) * in, const LOOP(coding) * out, const W *from,
                         int64_t n, W *to, int r) {
    const vec last = in == NULL ? LOOP(all)((W) ~(W)0) : in->last;
    vec v[16];
    MASK nans = 0;
    UNROLLED
    for (int i = 0; i < r; i++) {
        const W *at = from + i * LANES;
        MASK lanes = LOOP(first)(i < r / 2 ? LANES : n - i * LANES);
        v[i] = i < r / 2 ? LOOP(load)(at) : LOOP(load_some)(last, lanes, at);
        if (in == NULL) continue;
        nans |= LOOP(above)(LOOP(twice)(v[i]), in->nan) & lanes;
        v[i] = LOOP(encode)(in, v[i]);
    }
    if (nans != 0) return false;
    LOOP(sort_all)(v, r);
    UNROLLED
    for (int i = 0; i < r; i++) {
        vec x = LOOP(decode)(out, v[i]);
        if (i < r / 2)
            LOOP(store)(to + i * LANES, x);
        else
            LOOP(store_some)(to + i * LANES, LOOP(first)(n - i * LANES), x);
    }
    return true;
}

/* Sorts up to 16 vectors of words to elements. */
static NOINLINE void LOOP(sort_1)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    (void)LOOP(sort_r)(NULL, c, from, n, to, 1);
}
static NOINLINE void LOOP(sort_2)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    (void)LOOP(sort_r)(NULL, c, from, n, to, 2);
}
static NOINLINE void LOOP(sort_4)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    (void)LOOP(sort_r)(NULL, c, from, n, to, 4);
}
static NOINLINE void LOOP(sort_8)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    (void)LOOP(sort_r)(NULL, c, from, n, to, 8);
}
static NOINLINE void LOOP(sort_half)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    (void)LOOP(sort_r)(NULL, c, from, n, to, 16);
}

static void LOOP(sort)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    if (n <= LANES)
        LOOP(sort_1)(c, from, n, to);
    else if (n <= 2 * LANES)
        LOOP(sort_2)(c, from, n, to);
    else if (n <= 4 * LANES)
        LOOP(sort_4)(c, from, n, to);
    else if (n <= 8 * LANES)
        LOOP(sort_8)(c, from, n, to);
    else
        LOOP(sort_half)(c, from, n, to);
}

/* ---- up to 32 vectors ------------------------------------------------------------------------ */

/* Merges sorted runs of words, of 16 vectors and of up to r, to elements. */
INLINE void LOOP(merge_r)(const LOOP(coding) * c, const W *from, int64_t n, W *to, int r) {
    const vec last = LOOP(all)((W) ~(W)0);
    vec v[16], w[16];
    UNROLLED
    for (int i = 0; i < 16; i++) v[i] = LOOP(load)(from + i * LANES);
    UNROLLED
    for (int i = 0; i < r; i++) {
        int64_t at = (16 + i) * LANES;
        vec x = LOOP(reverse)(LOOP(load_some)(last, LOOP(first)(n - at), from + at));
        w[i] = LOOP(max)(x, v[15 - i]);
        v[15 - i] = LOOP(min)(x, v[15 - i]);
    }
    LOOP(clean_all)(v, 16);
    UNROLLED
    for (int i = 0; i < 16; i++) LOOP(store)(to + i * LANES, LOOP(decode)(c, v[i]));
    LOOP(clean_all)(w, r);
    UNROLLED
    for (int i = 0; i < r; i++) {
        int64_t at = (16 + i) * LANES;
        LOOP(store_some)(to + at, LOOP(first)(n - at), LOOP(decode)(c, w[i]));
    }
}

static NOINLINE void LOOP(merge_4)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    LOOP(merge_r)(c, from, n, to, 4);
}
static NOINLINE void LOOP(merge_8)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    LOOP(merge_r)(c, from, n, to, 8);
}
static NOINLINE void LOOP(merge_16)(const LOOP(coding) * c, const W *from, int64_t n, W *to) {
    LOOP(merge_r)(c, from, n, to, 16);
}

/* What the words of a sort are: `words` leaves them as they are. */
typedef struct LOOP(codings) {
    LOOP(coding) words, elements;
} LOOP(codings);

/* Sorts up to 32 vectors of words to elements, maybe in place. */
static void LOOP(sort_many)(const LOOP(codings) * c, W *words, int64_t n, W *to) {
    const int64_t half = 16 * LANES;
    if (n <= half) {
        LOOP(sort)(&c->elements, words, n, to);
        return;
    }
    LOOP(sort_half)(&c->words, words, half, words);
    LOOP(sort)(&c->words, words + half, n - half, words + half);
    if (n - half <= 4 * LANES)
        LOOP(merge_4)(&c->elements, words, n, to);
    else if (n - half <= 8 * LANES)
        LOOP(merge_8)(&c->elements, words, n, to);
    else
        LOOP(merge_16)(&c->elements, words, n, to);
}

/* ---- lines ----------------------------------------------------------------------------------- */

INLINE int64_t LOOP(lines_r)(const LOOP(coding) * c, const W *from, int64_t n, int64_t count, W *to,
                             int r) {
    for (int64_t i = 0; i < count; i++)
        if (!LOOP(sort_r)(c, c, from + i * n, n, to + i * n, r)) return i;
    return count;
}

static int64_t LOOP(lines)(const bf_order_code *code, const char *elements, int64_t n,
                           int64_t count, char *sorted) {
    const LOOP(coding) c = LOOP(coding_of)(code);
    const W *from = (const W *)elements;
    W *to = (W *)(void *)sorted;
    if (n <= LANES) return LOOP(lines_r)(&c, from, n, count, to, 1);
    if (n <= 2 * LANES) return LOOP(lines_r)(&c, from, n, count, to, 2);
    if (n <= 4 * LANES) return LOOP(lines_r)(&c, from, n, count, to, 4);
    if (n <= 8 * LANES) return LOOP(lines_r)(&c, from, n, count, to, 8);
    return LOOP(lines_r)(&c, from, n, count, to, 16);
}

#undef LOOP
#undef MASKED_MAX
#undef HALVES
#undef FOURTHS
#undef PAIRS
#undef ONES
#undef ROWS
