/* Sorting words by vectors; after leaf_loops.h, with its parameters.
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

/* Stores n words of a vector: those of two sets of lanes. A store writes a whole vector: its end is
 * written again, for in all there are as many words as places. */
INLINE void LOOP(put)(LOOP(sides) * s, vec x, MARKS below, MARKS others, int64_t n) {
    const int count = __builtin_popcount(below);
    vec_store(s->low, OP(pack)(below, x));
    vec_store(s->high, OP(pack)(others, x));
    s->low += count;
    s->high += n - count;
}

INLINE void LOOP(put_4)(LOOP(sides) * s, const vec *x) {
    MARKS below[4];
    UNROLLED for (int i = 0; i < 4; i++) below[i] = OP(below)(x[i], s->pivot);
    UNROLLED for (int i = 0; i < 4; i++) LOOP(put)(s, x[i], below[i], below[i] ^ ALL, LANES);
}

/* Stores the first n words of 4 vectors. */
INLINE void LOOP(put_some)(LOOP(sides) * s, const vec *x, int64_t n) {
    UNROLLED
    for (int i = 0; i < 4; i++) {
        const int64_t rest = n - i * LANES, some = rest < 0 ? 0 : rest < LANES ? rest : LANES;
        const MARKS lanes = OP(first)(some), below = OP(below)(x[i], s->pivot) & lanes;
        LOOP(put)(s, x[i], below, below ^ lanes, some);
    }
}

INLINE void LOOP(load_4)(const W *from, vec *x) {
    UNROLLED for (int i = 0; i < 4; i++) x[i] = vec_load(from + i * LANES);
}

static int64_t LOOP(partition_few)(const W *from, int64_t n, W pivot, W *low, W *high) {
    int64_t below = 0;
    for (int64_t i = 0; i < n; i++) {
        W x = from[i];
        low[below] = x;
        high[i - below] = x;
        below += x < pivot;
    }
    return below;
}

/* Moves words below the pivot to low, the others to high; one of them is `from`. Returns the number
 * of the former. Vectors are loaded before those in front of them are stored: a load that follows
 * stores whose place hangs on a count would wait for it. What does not fill 4 vectors comes first,
 * so that there is room behind it. */
static int64_t LOOP(partition)(const W *from, int64_t n, W pivot, W *low, W *high) {
    if (n < 8 * LANES) return LOOP(partition_few)(from, n, pivot, low, high);
    LOOP(sides) s = {OP(all)(pivot), low, high};
    const int64_t some = n % (4 * LANES);
    vec x[4], next[4];
    LOOP(load_4)(from, x);
    LOOP(load_4)(from + some, next);
    LOOP(put_some)(&s, x, some);
    for (int64_t at = some + 4 * LANES; at < n; at += 4 * LANES) {
        UNROLLED for (int i = 0; i < 4; i++) x[i] = next[i];
        LOOP(load_4)(from + at, next);
        LOOP(put_4)(&s, x);
    }
    LOOP(put_4)(&s, next);
    return s.low - low;
}

/* Parts words in place, n >= 2 * LOOP(ROUND) of them. A round's words are read from the end with
 * less room between what is read and what is written, so that both have room for all of them. */
enum { LOOP(ROUND) = 8 * LANES };

/* Stores the vectors of `from`; those above the pivot before s->high, which moves down. */
INLINE void LOOP(put_round)(LOOP(sides) * s, const W *from) {
    vec x[8];
    UNROLLED
    for (int i = 0; i < 8; i++) x[i] = vec_load(from + i * LANES);
    UNROLLED
    for (int i = 0; i < 8; i++) {
        MARKS below = OP(below)(x[i], s->pivot);
        int count = __builtin_popcount(below);
        vec parted = OP(part)(below, x[i], count);
        vec_store(s->low, parted);
        vec_store(s->high - LANES, parted);
        s->low += count;
        s->high -= LANES - count;
    }
}

static int64_t LOOP(partition_in_place)(W *words, int64_t n, W pivot) {
    const int64_t tail = LOOP(ROUND) + n % LOOP(ROUND);
    LOOP(sides) s = {OP(all)(pivot), words, words + n};
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
    W sample[512 / BYTES];
    int m = (n < 4096 ? 64 : n < 65536 ? 256 : 512) / BYTES, middle = m / 2;
    int64_t step = n / m;
    for (int i = 0; i < m; i++) sample[i] = words[i * step + step / 2];
    const VECTOR(coding) c = VECTOR(coding_of)(&bf_order_no_code);
    VECTOR(sort)(&c, sample, m, sample);
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

/* Writes the element of a word n times. */
static void LOOP(fill)(const VECTOR(codings) * c, W word, int64_t n, W *to) {
    const vec x = VECTOR(decode)(&c->elements, VECTOR(bias)(OP(all)(word)));
    for (int64_t at = 0; at < n; at += LANES) OP(store_first)(to + at, n - at, x);
}

/* Sorts words that fit a cache to elements. The lower ones of a part are sorted by a call, the
 * others in the loop. Where most equal the pivot, these are parted from those above, and done. */
static void LOOP(sort_cached)(const VECTOR(codings) * c, W *words, W *scratch, int64_t n,
                              bool to_scratch, int depth) {
    while (n > LOOP(LEAF)) {
        W pivot, *to = to_scratch ? scratch : words, *other = to_scratch ? words : scratch;
        bool equal;
        if (!LOOP(find_pivot)(words, n, --depth, &pivot, &equal)) {
            LOOP(fill)(c, pivot, n, to);
            return;
        }
        int64_t done = LOOP(partition)(words, n, pivot, to, other);
        LOOP(sort_cached)(c, to, other + (n - done), done, false, depth);
        if (equal && pivot != (W) ~(W)0) {
            int64_t equals = LOOP(partition)(other, n - done, pivot + 1, to + done, other);
            LOOP(fill)(c, pivot, equals, to + done);
            done += equals;
        }
        words = other;
        scratch = to + done;
        n -= done;
        to_scratch = true;
    }
    if (n > 0) VECTOR(sort_many)(c, words, n, to_scratch ? scratch : words);
}

/* Sorts any number of words in place, with scratch memory for LOOP(CACHED). */
static void LOOP(sort_in_place)(const VECTOR(codings) * c, W *words, W *scratch, int64_t n,
                                int depth) {
    while (n > LOOP(CACHED)) {
        W pivot;
        bool equal;
        if (!LOOP(find_pivot)(words, n, --depth, &pivot, &equal)) {
            LOOP(fill)(c, pivot, n, words);
            return;
        }
        int64_t done = LOOP(partition_in_place)(words, n, pivot);
        LOOP(sort_in_place)(c, words, scratch, done, depth);
        if (equal && pivot != (W) ~(W)0 && n - done > LOOP(CACHED)) {
            int64_t equals = LOOP(partition_in_place)(words + done, n - done, pivot + 1);
            LOOP(fill)(c, pivot, equals, words + done);
            done += equals;
        }
        words += done;
        n -= done;
    }
    LOOP(sort_cached)(c, words, scratch, n, false, depth);
}

static void LOOP(sort)(const bf_order_code *code, char *words, char *scratch, int64_t n) {
    const VECTOR(codings) c = {VECTOR(coding_of)(&bf_order_no_code), VECTOR(coding_of)(code)};
    int depth = 2 * (64 - __builtin_clzll((uint64_t)n | 1));
    LOOP(sort_in_place)(&c, (W *)(void *)words, (W *)(void *)scratch, n, depth);
}

static uint64_t LOOP(pivot)(const char *words, int64_t n) {
    bool equal;
    return LOOP(choose_pivot)((const W *)words, n, &equal);
}

static int64_t LOOP(partition_any)(char *words, int64_t n, uint64_t pivot) {
    W *at = (W *)(void *)words, others[2 * LOOP(ROUND)];
    if (n >= 2 * LOOP(ROUND)) return LOOP(partition_in_place)(at, n, (W)pivot);
    int64_t below = LOOP(partition)(at, n, (W)pivot, at, others);
    memcpy(at + below, others, (size_t)(n - below) * sizeof *at);
    return below;
}

/* ---- different words ------------------------------------------------------------------------- */

/* Stores the numbers, from `first` on, of lanes. */
INLINE void LOOP(put_numbers)(char *to, int64_t first, MARKS lanes) {
    static const int64_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    UNROLL for (int i = 0; i < LANES; i += LANES_8) {
        const marks_8 some = (marks_8)(lanes >> i) & ((1 << LANES_8) - 1);
        vec_store(to, vec_pack_8(some, vec_load(numbers) + vec_all_8((uint64_t)(first + i))));
        to += 8 * __builtin_popcount(some);
    }
}

static int64_t LOOP(steps)(const char *words, int64_t n, int64_t first, char *to, char *begins) {
    const W *from = (const W *)(const void *)words;
    const vec none = OP(all)(0);
    int64_t found = 0;
    for (int64_t i = 0; i < n; i += LANES) {
        const vec x = OP(load_first)(none, n - i, from + i);
        const MARKS steps = OP(differ)(x, OP(load_first)(none, n - i, from + i - 1));
        if (steps == 0) continue;
        vec_store((W *)(void *)to + found, OP(pack)(steps, x));
        LOOP(put_numbers)(begins + 8 * found, first + i, steps);
        found += __builtin_popcount(steps);
    }
    return found;
}

#undef LOOP
#undef VECTOR
#undef OP
#undef LANES
#undef ROWS
#undef ALL
#undef MARKS
#undef BYTES
#undef W
