/* The loops over words of one width, for any machine: a radix sort, and division by comparisons.
 * Parameters: BYTES (4, 8) and W (its unsigned integer, of any alignment). */

#define LOOP(name) JOIN(JOIN(word_, name), JOIN(_, BYTES))
#define PLACE JOIN(code_, BYTES)
#define IS_NAN JOIN(is_nan_, BYTES)

#ifndef QUICK
static void LOOP(sort_few)(W *words, int64_t n) {
    for (int64_t i = 1; i < n; i++) {
        W moved = words[i];
        int64_t k = i;
        for (; k > 0 && words[k - 1] > moved; k--) words[k] = words[k - 1];
        words[k] = moved;
    }
}

/* The bits in which n words differ. */
static W LOOP(varying)(const W *words, int64_t n) {
    W any = 0, all = (W) ~(W)0;
    for (int64_t i = 0; i < n; i++) {
        any |= words[i];
        all &= words[i];
    }
    return any & (W)~all;
}

/* One pass of a radix sort of at most BF_ORDER_SMALL words, by bits that vary. */
static void LOOP(radix_pass)(const W *from, int64_t n, int shift, int bits, W *to) {
    uint32_t at[1 << RADIX_BITS], sum = 0;
    W mask = (W)((1 << bits) - 1);
    memset(at, 0, sizeof *at << bits);
    for (int64_t i = 0; i < n; i++) at[from[i] >> shift & mask]++;
    for (int d = 0; d < 1 << bits; d++) {
        uint32_t count = at[d];
        at[d] = sum;
        sum += count;
    }
    for (int64_t i = 0; i < n; i++) to[at[from[i] >> shift & mask]++] = from[i];
}

/* Sorts words in cache, lowest digit first, by the bits that vary. */
static void LOOP(sort_small)(W *words, W *scratch, int64_t n, W varying, bool to_scratch) {
    int digit = n < RADIX_FEW ? 8 : RADIX_BITS;
    W *from = words, *to = scratch;
    while (varying != 0) {
        int shift = __builtin_ctzll(varying);
        W mask = (W)((1 << digit) - 1);
        LOOP(radix_pass)(from, n, shift, digit, to);
        varying &= (W) ~(mask << shift);
        W *next = from;
        from = to;
        to = next;
    }
    if (from != (to_scratch ? scratch : words)) memcpy(to, from, (size_t)n * sizeof *to);
}

/* Distributes words by 8 bits from `shift` on; digit d has words [begin[d], begin[d + 1]). */
static __attribute__((noinline)) void LOOP(distribute)(const W *from, int64_t n, int shift, W *to,
                                                       int64_t begin[257]) {
    int64_t at[256] = {0}, sum = 0;
    for (int64_t i = 0; i < n; i++) at[from[i] >> shift & 255]++;
    for (int d = 0; d < 256; d++) {
        begin[d] = sum;
        sum += at[d];
        at[d] = begin[d];
    }
    begin[256] = sum;
    for (int64_t i = 0; i < n; i++) to[at[from[i] >> shift & 255]++] = from[i];
}

/* Many words are distributed by the highest digit in which they differ. */
static void LOOP(sort_radix)(W *words, W *scratch, int64_t n, bool to_scratch) {
    int64_t begin[257];
    W varying = n <= RADIX_INSERTED ? 0 : LOOP(varying)(words, n);
    if (n <= RADIX_INSERTED) LOOP(sort_few)(words, n);
    if (varying == 0 || n <= RADIX_SMALL) {
        LOOP(sort_small)(words, scratch, n, varying, to_scratch);
        return;
    }
    int high = 64 - __builtin_clzll(varying), shift = high > 8 ? high - 8 : 0;
    LOOP(distribute)(words, n, shift, scratch, begin);
    for (int d = 0; d < 256; d++)
        if (begin[d] < begin[d + 1]) LOOP(sort_radix)
    (scratch + begin[d], words + begin[d], begin[d + 1] - begin[d], !to_scratch);
}

static void LOOP(sort)(char *words, char *scratch, int64_t n, bool to_scratch) {
    LOOP(sort_radix)((W *)(void *)words, (W *)(void *)scratch, n, to_scratch);
}

static bool LOOP(count)(const bf_order_code *c, const char *from, int64_t n, const uint64_t *splits,
                        int parts, int64_t *counts) {
    const bf_order_code code = *c;
    const W *elements = (const W *)from;
    W nans = 0;
    int64_t before = 0;
    for (int64_t i = 0; i < n; i++) nans |= (W)IS_NAN(&code, elements[i]);
    for (int p = 0; p < parts; p++) {
        int64_t below = 0;
        W split = p < parts - 1 ? (W)splits[p] : 0;
        for (int64_t i = 0; i < n; i++) below += PLACE(&code, elements[i]) < split;
        if (p == parts - 1) below = n;
        counts[p] += below - before;
        before = below;
    }
    return nans == 0;
}

/* The part of each of m places. */
INLINE void LOOP(find_parts)(const W *places, int64_t m, const uint64_t *splits, int parts,
                             uint8_t *part) {
    for (int64_t i = 0; i < m; i++) part[i] = 0;
    for (int p = 0; p < parts - 1; p++) {
        W split = (W)splits[p];
        for (int64_t i = 0; i < m; i++) part[i] = (uint8_t)(part[i] + (places[i] >= split));
    }
}

static void LOOP(divide)(const bf_order_code *c, const char *from, int64_t n,
                         const uint64_t *splits, int parts, const int64_t *begin,
                         const int64_t *end, char *words) {
    const bf_order_code code = *c;
    const W *elements = (const W *)from;
    W *to = (W *)(void *)words, places[BLOCK];
    uint8_t part[BLOCK];
    int64_t at[BF_ORDER_PARTS];
    (void)end;
    memcpy(at, begin, (size_t)parts * sizeof *at);
    for (int64_t first = 0; first < n; first += BLOCK) {
        int64_t m = n - first < BLOCK ? n - first : BLOCK;
        for (int64_t i = 0; i < m; i++) places[i] = PLACE(&code, elements[first + i]);
        LOOP(find_parts)(places, m, splits, parts, part);
        for (int64_t i = 0; i < m; i++) to[at[part[i]]++] = places[i];
    }
}
#endif

static int64_t LOOP(different)(const char *words, int64_t n, const char *before, int64_t first,
                               int64_t room, char *to, char *begins) {
    const W *from = (const W *)words;
    W *different = (W *)(void *)to;
    i64_element *begin = (i64_element *)(void *)begins;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        W last = i > 0 ? from[i - 1] : before != NULL ? *(const W *)before : (W)~from[0];
        if (from[i] == last) continue;
        if (found < room) {
            if (to != NULL) different[found] = from[i];
            if (begins != NULL) begin[found] = first + i;
        }
        found++;
    }
    return found;
}

#undef LOOP
#undef PLACE
#undef IS_NAN
#undef BYTES
#undef W
