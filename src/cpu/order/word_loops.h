/* The loops over words of one width, for any machine: a radix sort, and a partition.
 * Parameters: BYTES (4, 8) and W (its unsigned integer, of any alignment). */

#define LOOP(name) JOIN(JOIN(word_, name), JOIN(_, BYTES))

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

static void LOOP(sort)(const bf_order_code *code, char *words, char *scratch, int64_t n) {
    LOOP(sort_radix)((W *)(void *)words, (W *)(void *)scratch, n, false);
    if (code->negative != 0 || code->other != 0) JOIN(join_, BYTES)(code, words, n, words);
}

/* The middle of a sample, or, if that is the least, the next one that differs. */
static uint64_t LOOP(pivot)(const char *words, int64_t n) {
    enum { SAMPLE = 65 };
    W sample[SAMPLE];
    int m = n < SAMPLE ? (int)n : SAMPLE, middle = m / 2;
    for (int i = 0; i < m; i++) sample[i] = ((const W *)words)[n / m * i];
    LOOP(sort_few)(sample, m);
    while (middle < m - 1 && sample[middle] == sample[0]) middle++;
    return sample[middle];
}

static int64_t LOOP(partition)(char *words, int64_t n, uint64_t pivot) {
    W *at = (W *)(void *)words, middle = (W)pivot;
    int64_t below = 0;
    for (int64_t i = 0; i < n; i++) {
        W x = at[i];
        at[i] = at[below];
        at[below] = x;
        below += x < middle;
    }
    return below;
}
#endif

static int64_t LOOP(count_steps)(const char *words, int64_t n) {
    const W *from = (const W *)words;
    int64_t steps = 0;
    for (int64_t i = 0; i < n; i++) steps += from[i] != from[i - 1];
    return steps;
}

#ifndef QUICK
static int64_t LOOP(steps)(const char *words, int64_t n, int64_t first, char *to, char *begins) {
    const W *from = (const W *)words;
    W *different = (W *)(void *)to;
    i64_element *begin = (i64_element *)(void *)begins;
    int64_t found = 0;
    for (int64_t i = 0; i < n; i++) {
        different[found] = from[i];
        begin[found] = first + i;
        found += from[i] != from[i - 1];
    }
    return found;
}
#endif

#undef LOOP
#undef BYTES
#undef W
