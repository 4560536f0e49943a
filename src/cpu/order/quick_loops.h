/* Sorting, dividing and listing words with AVX-512. After leaf_loops.h; parameters: BYTES (4, 8)
 * and W (its unsigned integer, of any alignment).
 *
 * The sort is a quicksort whose partition compresses vectors (B. Bramas, A novel hybrid quicksort
 * algorithm vectorized using AVX-512, 2017). Words are at one of two places of the same length: a
 * partition leaves the lower ones where the result goes, and puts the others to the other place, so
 * nothing is copied back. */

#define LOOP(name) JOIN(JOIN(quick_, name), JOIN(_, BYTES))
#define VECTOR(name) JOIN(JOIN(leaf_, name), JOIN(_, BYTES))

/* ---- partition ------------------------------------------------------------------------------- */

/* Where words go: those below the pivot, and the others. */
typedef struct LOOP(sides) {
    vec pivot;
    W *low, *high;
} LOOP(sides);

/* Stores 4 vectors. A store writes a whole vector: its end is written again, for in all there are
 * as many words as places. */
INLINE void LOOP(put_4)(LOOP(sides) * s, const vec *x) {
    MASK below[4];
    UNROLLED for (int i = 0; i < 4; i++) below[i] = VECTOR(below)(x[i], s->pivot);
    UNROLLED for (int i = 0; i < 4; i++) {
        int count = VECTOR(number)(below[i]);
        VECTOR(store)(s->low, VECTOR(pack)(below[i], x[i]));
        VECTOR(store)(s->high, VECTOR(pack)((MASK)~below[i], x[i]));
        s->low += count;
        s->high += LANES - count;
    }
}

INLINE void LOOP(load_4)(const W *from, vec *x) {
    UNROLLED for (int i = 0; i < 4; i++) x[i] = VECTOR(load)(from + i * LANES);
}

/* Stores the first words of a vector, and writes nothing else. */
INLINE void LOOP(put_some)(LOOP(sides) * s, vec x, MASK lanes) {
    MASK below = VECTOR(below)(x, s->pivot) & lanes, others = (MASK)~below & lanes;
    int count = VECTOR(number)(below), rest = VECTOR(number)(others);
    VECTOR(store_some)(s->low, VECTOR(first)(count), VECTOR(pack)(below, x));
    VECTOR(store_some)(s->high, VECTOR(first)(rest), VECTOR(pack)(others, x));
    s->low += count;
    s->high += rest;
}

/* Moves words below the pivot to low, the others to high; one of them is `from`. Returns the number
 * of the former. Vectors are loaded before those in front of them are stored: a load that follows
 * stores whose place hangs on a count would wait for it. */
static int64_t LOOP(partition)(const W *from, int64_t n, W pivot, W *low, W *high) {
    LOOP(sides) s = {VECTOR(all)(pivot), low, high};
    vec x[4], next[4];
    int64_t at = 0;
    if (n >= 4 * LANES) {
        LOOP(load_4)(from, x);
        for (at = 4 * LANES; at + 4 * LANES <= n; at += 4 * LANES) {
            LOOP(load_4)(from + at, next);
            LOOP(put_4)(&s, x);
            UNROLLED for (int i = 0; i < 4; i++) x[i] = next[i];
        }
        UNROLLED for (int i = 0; i < 4; i++) next[i] =
            VECTOR(load_some)(s.pivot, VECTOR(first)(n - at - i * LANES), from + at + i * LANES);
        LOOP(put_4)(&s, x);
    } else {
        UNROLLED for (int i = 0; i < 4; i++) next[i] =
            VECTOR(load_some)(s.pivot, VECTOR(first)(n - i * LANES), from + i * LANES);
    }
    UNROLLED for (int i = 0; i < 4; i++)
        LOOP(put_some)(&s, next[i], VECTOR(first)(n - at - i * LANES));
    return s.low - low;
}

/* ---- quicksort ------------------------------------------------------------------------------- */

enum {
    LOOP(LEAF) = 32 * LANES, /* words that are sorted in registers */
    LOOP(SAMPLE) = 8 * LANES
};

/* Returns the middle of a sample, or, if that is the least, the next one that differs: so some
 * words are below it, and some are not. *equal: all of the sample are the pivot. */
static NOINLINE W LOOP(choose_pivot)(const W *words, int64_t n, bool *equal) {
    W sample[LOOP(SAMPLE)];
    int m = n < 4096 ? LANES : n < 65536 ? 4 * LANES : 8 * LANES, middle = m / 2;
    int64_t step = n / m;
    for (int i = 0; i < m; i++) sample[i] = words[i * step + step / 2];
    VECTOR(sort)(sample, m, sample);
    while (middle < m - 1 && sample[middle] == sample[0]) middle++;
    *equal = sample[0] == sample[m - 1];
    return sample[middle];
}

static bool LOOP(all_equal)(const W *words, int64_t n, W word) {
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t m = n - at < BLOCK ? n - at : BLOCK;
        W other = 0;
        for (int64_t i = 0; i < m; i++) other |= words[at + i] ^ word;
        if (other != 0) return false;
    }
    return true;
}

static void LOOP(sort_part)(W *words, W *scratch, int64_t n, bool to_scratch, int depth);

/* Sorts the words below the pivot. Moves those that equal it, which are most, to their place, and
 * the others to the other one. Returns the number of the others. */
static NOINLINE int64_t LOOP(part_equals)(W *words, W *scratch, int64_t n, W pivot, bool to_scratch,
                                          int depth) {
    W *to = to_scratch ? scratch : words, *other = to_scratch ? words : scratch;
    int64_t below = LOOP(partition)(words, n, pivot, to, other);
    LOOP(sort_part)(to, other + (n - below), below, false, depth);
    n -= below;
    to += below;
    if (pivot != (W) ~(W)0) return n - LOOP(partition)(other, n, pivot + 1, to, other);
    memcpy(to, other, (size_t)n * sizeof *to);
    return 0;
}

/* Pivots that are bad too often end in a radix sort. */
static void LOOP(sort_part)(W *words, W *scratch, int64_t n, bool to_scratch, int depth) {
    while (n > LOOP(LEAF)) {
        bool equal;
        W pivot = LOOP(choose_pivot)(words, n, &equal);
        W *to = to_scratch ? scratch : words, *other = to_scratch ? words : scratch;
        int64_t rest;
        if (depth-- == 0) {
            JOIN(word_sort_radix_, BYTES)(words, scratch, n, to_scratch);
            return;
        }
        if (equal && LOOP(all_equal)(words, n, pivot)) {
            if (to_scratch) memcpy(scratch, words, (size_t)n * sizeof *words);
            return;
        }
        if (equal) {
            rest = LOOP(part_equals)(words, scratch, n, pivot, to_scratch, depth);
        } else {
            int64_t below = LOOP(partition)(words, n, pivot, to, other);
            rest = n - below;
            LOOP(sort_part)(to, other + rest, below, false, depth);
        }
        words = other;
        scratch = to + (n - rest);
        n = rest;
        to_scratch = true;
    }
    if (n > 0) VECTOR(sort_many)(words, n, to_scratch ? scratch : words);
}

static void LOOP(sort)(char *words, char *scratch, int64_t n, bool to_scratch) {
    int depth = 2 * (64 - __builtin_clzll((uint64_t)n | 1));
    LOOP(sort_part)((W *)(void *)words, (W *)(void *)scratch, n, to_scratch, depth);
}

/* ---- division -------------------------------------------------------------------------------- */

/* Counts the places below each split. Returns whether there is no NaN. */
INLINE bool LOOP(count_below)(const VECTOR(coding) * c, const W *from, int64_t n,
                              const uint64_t *splits, int parts, int64_t *below) {
    unsigned nans = 0;
    for (int64_t at = 0; at < n; at += LANES) {
        MASK lanes = VECTOR(first)(n - at);
        vec x = VECTOR(load_some)(c->last, lanes, from + at);
        nans |= (unsigned)(VECTOR(above)(VECTOR(twice)(x), c->nan) & lanes);
        x = VECTOR(encode)(c, x);
        UNROLLED for (int p = 0; p < parts - 1; p++) below[p] +=
            VECTOR(number)(VECTOR(below)(x, VECTOR(all)((W)splits[p])) & lanes);
    }
    return nans == 0;
}

static bool LOOP(count)(const bf_order_code *code, const char *elements, int64_t n,
                        const uint64_t *splits, int parts, int64_t *counts) {
    const VECTOR(coding) c = VECTOR(coding_of)(code);
    const W *from = (const W *)elements;
    int64_t below[BF_ORDER_PARTS] = {0}, before = 0;
    bool whole = parts == 8 ? LOOP(count_below)(&c, from, n, splits, 8, below)
                            : LOOP(count_below)(&c, from, n, splits, parts, below);
    below[parts - 1] = n;
    for (int p = 0; p < parts; p++) {
        counts[p] += below[p] - before;
        before = below[p];
    }
    return whole;
}

/* Appends the words of some lanes to each part; whole vectors, as long as they end before it. */
INLINE void LOOP(append)(vec x, MASK lanes, const uint64_t *splits, int parts, W **at, W **end) {
    MASK below = 0;
    UNROLLED for (int p = 0; p < parts; p++) {
        MASK next = p < parts - 1 ? VECTOR(below)(x, VECTOR(all)((W)splits[p])) : (MASK)~0;
        MASK mine = (MASK)(next & ~below) & lanes;
        vec packed = VECTOR(pack)(mine, x);
        int count = VECTOR(number)(mine);
        if (__builtin_expect(end[p] - at[p] >= LANES, 1))
            VECTOR(store)(at[p], packed);
        else
            VECTOR(store_some)(at[p], VECTOR(first)(count), packed);
        at[p] += count;
        below = next;
    }
}

INLINE void LOOP(divide_all)(const VECTOR(coding) * c, const W *from, int64_t n,
                             const uint64_t *splits, int parts, W **at, W **end) {
    for (int64_t i = 0; i < n; i += LANES) {
        MASK lanes = VECTOR(first)(n - i);
        vec x = VECTOR(encode)(c, VECTOR(load_some)(c->last, lanes, from + i));
        LOOP(append)(x, lanes, splits, parts, at, end);
    }
}

static void LOOP(divide)(const bf_order_code *code, const char *elements, int64_t n,
                         const uint64_t *splits, int parts, const int64_t *begin,
                         const int64_t *end, char *words) {
    const VECTOR(coding) c = VECTOR(coding_of)(code);
    const W *from = (const W *)elements;
    W *to = (W *)(void *)words, *at[BF_ORDER_PARTS], *limit[BF_ORDER_PARTS];
    for (int p = 0; p < parts; p++) {
        at[p] = to + begin[p];
        limit[p] = to + end[p];
    }
    if (parts == 8)
        LOOP(divide_all)(&c, from, n, splits, 8, at, limit);
    else
        LOOP(divide_all)(&c, from, n, splits, parts, at, limit);
}

#undef LOOP
#undef VECTOR
#undef LANES
#undef MASK
#undef BYTES
#undef W
