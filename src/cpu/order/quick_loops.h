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

/* The same in place, for n >= 2 * LOOP(ROUND). A round's words are read from the end with less room
 * between what is read and what is written, so that both have room for all of them. */
enum { LOOP(ROUND) = 8 * LANES };

/* Stores the vectors of `from`; those above the pivot before s->high, which moves down. */
INLINE void LOOP(put_round)(LOOP(sides) * s, const W *from) {
    vec x[8];
    UNROLLED
    for (int i = 0; i < 8; i++) x[i] = VECTOR(load)(from + i * LANES);
    UNROLLED
    for (int i = 0; i < 8; i++) {
        MASK below = VECTOR(below)(x[i], s->pivot);
        int count = VECTOR(number)(below);
        vec parted = VECTOR(part)(below, x[i], count);
        VECTOR(store)(s->low, parted);
        VECTOR(store)(s->high - LANES, parted);
        s->low += count;
        s->high -= LANES - count;
    }
}

static int64_t LOOP(partition_in_place)(W *words, int64_t n, W pivot) {
    const int64_t tail = LOOP(ROUND) + n % LOOP(ROUND);
    LOOP(sides) s = {VECTOR(all)(pivot), words, words + n};
    W kept[3 * LOOP(ROUND)]; /* a round from the begin, and the tail */
    const W *left = words + LOOP(ROUND), *right = words + n - tail;
    memcpy(kept, words, LOOP(ROUND) * sizeof *kept);
    memcpy(kept + LOOP(ROUND), right, (size_t)tail * sizeof *kept);
    while (left < right) {
        bool from_left = left - s.low <= s.high - right;
        const W *from = from_left ? left : right - LOOP(ROUND);
        left += from_left ? LOOP(ROUND) : 0;
        right -= from_left ? 0 : LOOP(ROUND);
        LOOP(put_round)(&s, from);
    }
    int64_t rest = LOOP(ROUND) + tail, below = LOOP(partition)(kept, rest, pivot, s.low, kept);
    memcpy(s.low + below, kept, (size_t)(rest - below) * sizeof *kept);
    return s.low + below - words;
}

/* ---- quicksort ------------------------------------------------------------------------------- */

enum {
    LOOP(LEAF) = 32 * LANES,         /* words that are sorted in registers */
    LOOP(CACHED) = (1 << 20) / BYTES /* words that fit a cache with their scratch memory */
};

/* Returns the middle of the range of words that are not all equal: at most 8 * BYTES such pivots
 * follow one another. */
static NOINLINE W LOOP(middle_of_range)(const W *words, int64_t n) {
    W least = (W) ~(W)0, most = 0;
    for (int64_t i = 0; i < n; i++) {
        least = words[i] < least ? words[i] : least;
        most = words[i] > most ? words[i] : most;
    }
    return least == most ? least : least + (most - least) / 2 + 1;
}

/* Returns the middle of a sample, or, if that is the least, the next one that differs: so some
 * words are below it, and some are not. *equal: the sample has no other, and none may be below. */
static NOINLINE W LOOP(choose_pivot)(const W *words, int64_t n, bool *equal) {
    W sample[8 * LANES];
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

/* The pivot of a part that is not all equal. If pivots were bad too often (depth below 0), it is
 * the middle of the range. false: all are equal. */
static bool LOOP(find_pivot)(const W *words, int64_t n, int depth, W *pivot, bool *equal) {
    *pivot = LOOP(choose_pivot)(words, n, equal);
    if (*equal && LOOP(all_equal)(words, n, *pivot)) return false;
    if (depth >= 0) return true;
    *pivot = LOOP(middle_of_range)(words, n);
    *equal = false;
    return true;
}

/* Sorts words that fit a cache. The lower ones of a part are sorted by a call, the others in the
 * loop. Where most equal the pivot, these are parted from those above, and are done. */
static void LOOP(sort_cached)(W *words, W *scratch, int64_t n, bool to_scratch, int depth) {
    while (n > LOOP(LEAF)) {
        W pivot, *to = to_scratch ? scratch : words, *other = to_scratch ? words : scratch;
        bool equal;
        if (!LOOP(find_pivot)(words, n, --depth, &pivot, &equal)) {
            if (to_scratch) memcpy(scratch, words, (size_t)n * sizeof *words);
            return;
        }
        int64_t done = LOOP(partition)(words, n, pivot, to, other);
        LOOP(sort_cached)(to, other + (n - done), done, false, depth);
        if (equal && pivot != (W) ~(W)0)
            done += LOOP(partition)(other, n - done, pivot + 1, to + done, other);
        words = other;
        scratch = to + done;
        n -= done;
        to_scratch = true;
    }
    if (n > 0) VECTOR(sort_many)(words, n, to_scratch ? scratch : words);
}

/* Sorts any number of words in place, with scratch memory of LOOP(CACHED). */
static void LOOP(sort_in_place)(W *words, W *scratch, int64_t n, int depth) {
    while (n > LOOP(CACHED)) {
        W pivot;
        bool equal;
        if (!LOOP(find_pivot)(words, n, --depth, &pivot, &equal)) return;
        int64_t done = LOOP(partition_in_place)(words, n, pivot);
        LOOP(sort_in_place)(words, scratch, done, depth);
        if (equal && pivot != (W) ~(W)0 && n - done > LOOP(CACHED))
            done += LOOP(partition_in_place)(words + done, n - done, pivot + 1);
        words += done;
        n -= done;
    }
    LOOP(sort_cached)(words, scratch, n, false, depth);
}

static void LOOP(sort)(char *words, char *scratch, int64_t n, bool to_scratch) {
    int depth = 2 * (64 - __builtin_clzll((uint64_t)n | 1));
    if (to_scratch)
        LOOP(sort_cached)((W *)(void *)words, (W *)(void *)scratch, n, true, depth);
    else
        LOOP(sort_in_place)((W *)(void *)words, (W *)(void *)scratch, n, depth);
}

/* ---- division -------------------------------------------------------------------------------- */

/* Counts the places below each split, in each lane. Returns whether there is no NaN. */
INLINE bool LOOP(count_below)(const VECTOR(coding) * c, const W *from, int64_t n, const W *splits,
                              int parts, vec *below) {
    const vec one = VECTOR(all)(1);
    MASK nans = 0;
    for (int64_t at = 0; at < n; at += LANES) {
        MASK lanes = VECTOR(first)(n - at);
        vec x = VECTOR(load_some)(c->last, lanes, from + at);
        nans |= VECTOR(above)(VECTOR(twice)(x), c->nan) & lanes;
        x = VECTOR(encode)(c, x); /* lanes of no element are below no split */
        UNROLLED
        for (int p = 0; p < parts - 1; p++)
            below[p] = VECTOR(add_some)(VECTOR(below)(x, VECTOR(all)(splits[p])), below[p], one);
    }
    return nans == 0;
}

static bool LOOP(count)(const bf_order_code *code, const char *elements, int64_t n,
                        const uint64_t *splits, int parts, int64_t *counts) {
    const VECTOR(coding) c = VECTOR(coding_of)(code);
    const W *from = (const W *)elements;
    vec below[BF_ORDER_PARTS];
    W split[BF_ORDER_PARTS], lane[LANES];
    int64_t before = 0;
    bool whole;
    for (int p = 0; p < parts; p++) {
        split[p] = p < parts - 1 ? (W)splits[p] : 0;
        below[p] = VECTOR(all)(0);
    }
    if (parts == BF_ORDER_FEW_PARTS)
        whole = LOOP(count_below)(&c, from, n, split, BF_ORDER_FEW_PARTS, below);
    else
        whole = LOOP(count_below)(&c, from, n, split, BF_ORDER_PARTS, below);
    for (int p = 0; p < parts; p++) {
        int64_t sum = p == parts - 1 ? n : 0;
        VECTOR(store)(lane, below[p]);
        for (int i = 0; i < LANES; i++) sum += (int64_t)lane[i];
        counts[p] += sum - before;
        before = sum;
    }
    return whole;
}

/* Appends the words of some lanes to each part; whole vectors, as long as they end before it. */
INLINE void LOOP(append)(vec x, MASK lanes, const W *splits, int parts, W **at, W **limit) {
    MASK below = 0;
    UNROLLED
    for (int p = 0; p < parts; p++) {
        MASK next = p < parts - 1 ? VECTOR(below)(x, VECTOR(all)(splits[p])) : (MASK)~0;
        MASK mine = (MASK)(next & ~below) & lanes;
        vec packed = VECTOR(pack)(mine, x);
        int count = VECTOR(number)(mine);
        if (__builtin_expect(at[p] <= limit[p], 1))
            VECTOR(store)(at[p], packed);
        else
            VECTOR(store_some)(at[p], VECTOR(first)(count), packed);
        at[p] += count;
        below = next;
    }
}

INLINE void LOOP(divide_all)(const VECTOR(coding) * c, const W *from, int64_t n, const W *splits,
                             int parts, W **at, W **limit) {
    const MASK all = VECTOR(first)(LANES);
    int64_t i = 0;
    if (n >= LANES) {
        vec next = VECTOR(load)(from);
        for (i = LANES; i + LANES <= n; i += LANES) {
            vec x = VECTOR(encode)(c, next);
            next = VECTOR(load)(from + i);
            LOOP(append)(x, all, splits, parts, at, limit);
        }
        LOOP(append)(VECTOR(encode)(c, next), all, splits, parts, at, limit);
    }
    MASK rest = VECTOR(first)(n - i);
    vec x = VECTOR(encode)(c, VECTOR(load_some)(c->last, rest, from + i));
    LOOP(append)(x, rest, splits, parts, at, limit);
}

static void LOOP(divide)(const bf_order_code *code, const char *elements, int64_t n,
                         const uint64_t *splits, int parts, const int64_t *begin,
                         const int64_t *end, char *words) {
    const VECTOR(coding) c = VECTOR(coding_of)(code);
    const W *from = (const W *)elements;
    W split[BF_ORDER_PARTS];
    W *to = (W *)(void *)words, *at[BF_ORDER_PARTS], *limit[BF_ORDER_PARTS];
    for (int p = 0; p < parts; p++) {
        split[p] = p < parts - 1 ? (W)splits[p] : 0;
        at[p] = to + begin[p];
        limit[p] = end[p] - begin[p] < LANES ? to - 1 : to + end[p] - LANES;
    }
    if (parts == BF_ORDER_FEW_PARTS)
        LOOP(divide_all)(&c, from, n, split, BF_ORDER_FEW_PARTS, at, limit);
    else
        LOOP(divide_all)(&c, from, n, split, BF_ORDER_PARTS, at, limit);
}

#undef LOOP
#undef VECTOR
#undef LANES
#undef MASK
#undef BYTES
#undef W
