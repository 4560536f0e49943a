/* Sorting up to 32 vectors of words in registers: columns by a network, then rows are merged.
 * Parameters: BYTES (4, 8), W (its unsigned integer, of any alignment), and what vectors of words
 * are (isa/avx2_words.h, isa/avx512_words.h):
 *
 *   vec, vec_load, vec_store    a vector; memory of any alignment
 *
 * and, each with _4 and _8, for words of that many bytes:
 *
 *   LANES                       words of a vector
 *   ROWS                        4 or 8 vectors, which transpose_rows transposes
 *   BIAS                        what words are XORed with in registers, for min, max, exchange
 *   marks, first                some lanes; the first n, of any number n
 *   load_first, store_first     the first n lanes alone
 *   all                         every lane is x
 *   signs, twice                the highest bit everywhere; x << 1
 *   below, differ               the lanes in which a is less than b (without BIAS), and not b
 *   pack                        marked lanes first; what follows does not matter
 *   part                        marked lanes first, of which there are `count`, then the others
 *   min, max                    the lesser and the greater of each two lanes
 *   exchange                    the lesser of x and its partner; in lanes `up` the greater
 *   swap_1, _2, _4, _8          lane i is lane i ^ 1 and so on
 *   flip_4, flip_8, reverse     stretches of 4, of 8 and of all lanes are reversed
 *   transpose_rows, transpose   blocks of ROWS lanes of ROWS vectors; LANES vectors */

#define LOOP(name) JOIN(JOIN(leaf_, name), JOIN(_, BYTES))

#define OP(name) JOIN(JOIN(vec_, name), JOIN(_, BYTES))
#define LANES JOIN(LANES_, BYTES)
#define ROWS JOIN(ROWS_, BYTES)
#define ALL ((1u << LANES) - 1)
#define MARKS JOIN(marks_, BYTES)

/* A word in a register, and back. */
INLINE vec LOOP(bias)(vec x) { return x ^ OP(all)(JOIN(BIAS_, BYTES)); }

/* ---- one vector ------------------------------------------------------------------------------ */

/* Sorts bitonic vectors. */
INLINE vec LOOP(clean)(vec x) {
#if LANES > 8
    x = OP(exchange)(x, OP(swap_8)(x), 0xff00);
#endif
#if LANES > 4
    x = OP(exchange)(x, OP(swap_4)(x), 0xf0f0 & ALL);
#endif
    x = OP(exchange)(x, OP(swap_2)(x), 0xcccc & ALL);
    return OP(exchange)(x, OP(swap_1)(x), 0xaaaa & ALL);
}

/* Merges sorted stretches of 4 lanes. */
INLINE vec LOOP(merge_fours)(vec x) {
#if LANES > 4
    x = OP(exchange)(x, OP(flip_8)(x), 0xf0f0 & ALL);
    x = OP(exchange)(x, OP(swap_2)(x), 0xcccc & ALL);
    x = OP(exchange)(x, OP(swap_1)(x), 0xaaaa & ALL);
#endif
#if LANES > 8
    x = OP(exchange)(x, OP(reverse)(x), 0xff00);
    x = OP(exchange)(x, OP(swap_4)(x), 0xf0f0);
    x = OP(exchange)(x, OP(swap_2)(x), 0xcccc);
    x = OP(exchange)(x, OP(swap_1)(x), 0xaaaa);
#endif
    return x;
}

INLINE vec LOOP(sort_vector)(vec x) {
    x = OP(exchange)(x, OP(swap_1)(x), 0xaaaa & ALL);
    x = OP(exchange)(x, OP(flip_4)(x), 0xcccc & ALL);
    x = OP(exchange)(x, OP(swap_1)(x), 0xaaaa & ALL);
    return LOOP(merge_fours)(x);
}

/* ---- columns, then rows ---------------------------------------------------------------------- */

#define EXCHANGE(a, b)                                                                             \
    do {                                                                                           \
        vec least_ = OP(min)(v[a], v[b]);                                                          \
        v[b] = OP(max)(v[a], v[b]);                                                                \
        v[a] = least_;                                                                             \
    } while (0)

/* Sorts ROWS vectors each. */
INLINE void LOOP(sort_rows)(vec *v) {
#if ROWS == 4
    NETWORK_4(EXCHANGE)
    OP(transpose_rows)(v);
    UNROLLED for (int i = 0; i < 4; i++) v[i] = LOOP(merge_fours)(v[i]);
#else
    NETWORK_8(EXCHANGE)
    OP(transpose_rows)(v);
#endif
}

/* Sorts 16 vectors to runs of RUN, each of which is in order. */
enum { LOOP(RUN) = 16 / LANES };
INLINE void LOOP(sort_16)(vec *v) {
    vec runs[16];
    NETWORK_16(EXCHANGE)
    UNROLLED for (int i = 0; i < 16; i += LANES) OP(transpose)(v + i);
    UNROLLED for (int i = 0; i < 16; i++) runs[i] = v[i % LOOP(RUN) * LANES + i / LOOP(RUN)];
    UNROLLED for (int i = 0; i < 16; i++) v[i] = runs[i];
}

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
        vec x = v[i], y = OP(reverse)(v[2 * m - 1 - i]);
        v[i] = OP(min)(x, y);
        v[2 * m - 1 - i] = OP(max)(x, y);
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
    const int run = r == 16 ? LOOP(RUN) : 1;
    if (r >= 2 && run <= 1) LOOP(merge_runs)(v, 1, r);
    if (r >= 4 && run <= 2) LOOP(merge_runs)(v, 2, r);
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
        .negative = LOOP(bias)(OP(all)((W)code->negative)),
        .other = LOOP(bias)(OP(all)((W)code->other)),
        .both = OP(all)((W)(code->negative ^ code->other)),
        .nan = OP(all)((W)code->nan),
        .last = OP(all)(JOIN(decode_, BYTES)(code, (W) ~(W)0)),
    };
}

INLINE vec LOOP(encode)(const LOOP(coding) * c, vec x) {
    return c->other ^ x ^ (OP(signs)(x) & c->both);
}
INLINE vec LOOP(decode)(const LOOP(coding) * c, vec x) {
    return c->other ^ x ^ (OP(signs)(x ^ c->negative) & c->both);
}

/* Sorts n words, or with `in` elements, that fill more than half of r vectors, to elements. false:
 * there is a NaN, and nothing is written. */
INLINE bool LOOP(sort_r)(const LOOP(coding) * in, const LOOP(coding) * out, const W *from,
                         int64_t n, W *to, int r) {
    const vec last = in == NULL ? OP(all)((W) ~(W)0) : in->last;
    vec v[16];
    MARKS nans = 0;
    UNROLLED
    for (int i = 0; i < r; i++) {
        const W *at = from + i * LANES;
        v[i] = i < r / 2 ? vec_load(at) : OP(load_first)(last, n - i * LANES, at);
        if (in != NULL) nans |= OP(below)(in->nan, OP(twice)(v[i])) & OP(first)(n - i * LANES);
        v[i] = in != NULL ? LOOP(encode)(in, v[i]) : LOOP(bias)(v[i]);
    }
    if (nans != 0) return false;
    LOOP(sort_all)(v, r);
    UNROLLED
    for (int i = 0; i < r; i++) {
        vec x = LOOP(decode)(out, v[i]);
        if (i < r / 2)
            vec_store(to + i * LANES, x);
        else
            OP(store_first)(to + i * LANES, n - i * LANES, x);
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
    const vec last = OP(all)((W) ~(W)0);
    vec v[16], w[16];
    UNROLLED
    for (int i = 0; i < 16; i++) v[i] = LOOP(bias)(vec_load(from + i * LANES));
    UNROLLED
    for (int i = 0; i < r; i++) {
        int64_t at = (16 + i) * LANES;
        vec x = OP(reverse)(LOOP(bias)(OP(load_first)(last, n - at, from + at)));
        w[i] = OP(max)(x, v[15 - i]);
        v[15 - i] = OP(min)(x, v[15 - i]);
    }
    LOOP(clean_all)(v, 16);
    UNROLLED
    for (int i = 0; i < 16; i++) vec_store(to + i * LANES, LOOP(decode)(c, v[i]));
    LOOP(clean_all)(w, r);
    UNROLLED
    for (int i = 0; i < r; i++) {
        int64_t at = (16 + i) * LANES;
        OP(store_first)(to + at, n - at, LOOP(decode)(c, w[i]));
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
