/* The loops over elements of one width. Parameters: BYTES (1, 2, 4, 8; 16: a pair, by its first
 * word), T and S (its unsigned and signed integers), WORD (of its words); of any alignment. */

#define LOOP(name) JOIN(name, JOIN(_, BYTES))
#define AT(memory, i) (((const T *)(memory))[(i) * (BYTES / (int64_t)sizeof(T))])

INLINE T LOOP(element)(const bf_order_code *code, const char *from, int64_t i) {
    T x = AT(from, i);
    if (BYTES > 1) return x;
    return x < (T)code->most ? x : (T)code->most;
}

/* XORs with code->negative where the highest bit of `sign` is set, else with code->other. */
INLINE T LOOP(flip)(const bf_order_code *code, T x, T sign) {
    T other = (T)code->other, both = (T)(code->negative ^ code->other);
    return (T)(x ^ other ^ ((T)((S)sign >> (8 * sizeof(T) - 1)) & both));
}

INLINE T LOOP(code)(const bf_order_code *code, T x) { return LOOP(flip)(code, x, x); }

INLINE bool LOOP(is_nan)(const bf_order_code *code, T x) { return (T)(x << 1) > (T)code->nan; }

INLINE T LOOP(place)(const bf_order_code *code, T x) {
    return LOOP(is_nan)(code, x) ? (T)code->nan_place : LOOP(code)(code, x);
}

static bf_order_range LOOP(range)(const bf_order_code *c, const char *from, int64_t n) {
    const bf_order_code code = *c;
    const T first = LOOP(place)(&code, LOOP(element)(&code, from, 0));
    T low = first, high = first, differing = 0;
    for (int64_t i = 0; i < n; i++) {
        T place = LOOP(place)(&code, LOOP(element)(&code, from, i));
        low = place < low ? place : low;
        high = place > high ? place : high;
        differing |= place ^ first;
    }
    return (bf_order_range){low, high, differing};
}

static void LOOP(pack)(const bf_order_code *c, const char *from, int64_t n, uint64_t least,
                       int shift, int bits, int64_t first, char *words) {
    const bf_order_code code = *c;
    u64_element *to = (u64_element *)(void *)words;
    for (int64_t i = 0; i < n; i++) {
        uint64_t place = LOOP(place)(&code, LOOP(element)(&code, from, i));
        to[i] = (place - least) >> shift << bits | (uint64_t)(first + i);
    }
}

#if BYTES < 16
INLINE T LOOP(decode)(const bf_order_code *code, T place) {
    return LOOP(flip)(code, place, (T)(place ^ code->negative));
}

INLINE bool LOOP(any_nan)(const bf_order_code *code, const char *from, int64_t n) {
    T any = 0;
    for (int64_t i = 0; i < n; i++) any |= (T)LOOP(is_nan)(code, AT(from, i));
    return any != 0;
}

static int64_t LOOP(split)(const bf_order_code *c, const char *from, int64_t n, char *words,
                           char *nans) {
    const bf_order_code code = *c;
    const bool may_be_nan = bf_order_has_nans(c, sizeof(T));
    const int64_t block = may_be_nan ? BLOCK : n;
    WORD *to = (WORD *)(void *)words;
    T *nan = (T *)(void *)nans;
    int64_t live = 0, apart = 0;
    for (int64_t at = 0; at < n; at += block) {
        const char *rest = from + at * BYTES;
        int64_t m = n - at < block ? n - at : block;
        if (!may_be_nan || !LOOP(any_nan)(&code, rest, m)) {
            INDEPENDENT
            for (int64_t i = 0; i < m; i++)
                to[live + i] = LOOP(code)(&code, LOOP(element)(&code, rest, i));
            live += m;
            continue;
        }
        for (int64_t i = 0; i < m; i++) {
            T x = AT(rest, i);
            bool is = LOOP(is_nan)(&code, x);
            nan[apart] = x;
            apart += is;
            if (!is) to[live++] = LOOP(code)(&code, x);
        }
    }
    return live;
}

static void LOOP(join)(const bf_order_code *c, const char *words, int64_t n, char *to) {
    const bf_order_code code = *c;
    const WORD *from = (const WORD *)words;
    T *elements = (T *)(void *)to;
    INDEPENDENT
    for (int64_t i = 0; i < n; i++) elements[i] = LOOP(decode)(&code, (T)from[i]);
}

static void LOOP(keys)(const bf_order_code *c, const char *from, int64_t n, char *words) {
    const bf_order_code code = *c;
    const T zero = bf_order_has_nans(c, sizeof(T)) ? (T)code.other : 0; /* for floats: +0 */
    WORD *to = (WORD *)(void *)words;
    for (int64_t i = 0; i < n; i++) {
        T place = LOOP(place)(&code, LOOP(element)(&code, from, i));
        to[i] = zero != 0 && place == (T)(zero - 1) ? zero : place;
    }
}

static void LOOP(unpack)(const bf_order_code *c, const char *words, int64_t n, uint64_t least,
                         int shift, int bits, char *to) {
    const bf_order_code code = *c;
    const u64_element *from = (const u64_element *)words;
    T *elements = (T *)(void *)to;
    for (int64_t i = 0; i < n; i++)
        elements[i] = LOOP(decode)(&code, (T)(least + (from[i] >> bits << shift)));
}

typedef T LOOP(whole); /* the place of all of an element */

INLINE T LOOP(whole_place)(const bf_order_code *code, const char *from, int64_t i) {
    return LOOP(place)(code, LOOP(element)(code, from, i));
}
#else
typedef bf_u128 LOOP(whole);

INLINE bf_u128 LOOP(whole_place)(const bf_order_code *code, const char *from, int64_t i) {
    return (bf_u128)LOOP(code)(code, AT(from, i)) << 64 | LOOP(code)(code, AT(from + 8, i));
}
#endif

static bool LOOP(ordered)(const bf_order_code *c, const char *from, int64_t n) {
    const bf_order_code code = *c;
    for (int64_t at = 0; at + 1 < n; at += BLOCK) {
        const char *rest = from + at * BYTES;
        int64_t m = n - 1 - at < BLOCK ? n - 1 - at : BLOCK;
        T falls = 0;
        for (int64_t i = 0; i < m; i++) {
            LOOP(whole) place = LOOP(whole_place)(&code, rest, i);
            falls |= (T)(place > LOOP(whole_place)(&code, rest, i + 1));
        }
        if (falls != 0) return false;
    }
    return true;
}

/* The searches of a group halve the same ranges in step, so that their reads overlap. */
static void LOOP(search)(const bf_order_code *c, const char *sorted, int64_t n, const char *wanted,
                         int64_t m, bool right, char *places) {
    enum { GROUP = 16 };
    const bf_order_code code = *c;
    i64_element *to = (i64_element *)(void *)places;
    for (int64_t first = 0; first < m; first += GROUP) {
        int64_t group = m - first < GROUP ? m - first : GROUP, at[GROUP] = {0};
        LOOP(whole) place[GROUP] = {0};
        for (int64_t i = 0; i < group; i++) place[i] = LOOP(whole_place)(&code, wanted, first + i);
        for (int64_t left = n; left > 0; left -= (left + 1) / 2) {
            int64_t half = (left + 1) / 2; /* the element before at + half decides */
            for (int64_t i = 0; i < group; i++) {
                LOOP(whole) x = LOOP(whole_place)(&code, sorted, at[i] + half - 1);
                bool before = right ? x <= place[i] : x < place[i];
                at[i] += before ? half : 0;
            }
        }
        for (int64_t i = 0; i < group; i++) to[first + i] = at[i];
    }
}

#undef LOOP
#undef AT
#undef BYTES
#undef T
#undef S
#undef WORD
