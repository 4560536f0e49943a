/* The bins of floats of one type, by the guesses of rules/histogram/bin.h: included for f32 and for
 * f64 by loops.h, which defines NAME          f32 or f64: of the type, and of the guess T the type
 *   VECTOR        a vector of T
 *   INDEX         the signed integer of its size
 *   MASK, BITS    vectors of it, and of the unsigned one
 *   WHOLE(t, i)   the integer part of lanes from 0 to 2^31, and the same as integers
 *   GUESSED       the rule */

#define FN(name) JOIN(bin_##name, NAME)

enum { FN(LANES_) = (int)(sizeof(VECTOR) / sizeof(T)) };

/* What the loop needs of the bins, in every lane. */
typedef struct FN(guess_) {
    VECTOR first, scale, most, above, end;
    MASK count, last; /* bins; the last of them */
} FN(guess_);

INLINE FN(guess_) FN(prepare_)(const bf_bins *bins) {
    const bf_guess *g = &bins->NAME;
    const VECTOR zero = {0};
    const MASK none = {0};
    return (FN(guess_)){.first = (T)g->first - zero,
                        .scale = (T)g->scale - zero,
                        .most = (T)g->most - zero,
                        .above = (T)g->above - zero,
                        .end = (1 - (T)g->below) - zero,
                        .count = (INDEX)bins->count - none,
                        .last = (INDEX)(bins->count - 1) - none};
}

/* An element on the last edge is in the last bin, and may be guessed one further on. */
INLINE MASK FN(clamp_)(const FN(guess_) * g, MASK i) {
    const MASK beyond = i > g->last;
    return (g->last & beyond) | (i & ~beyond);
}

/* The bins of a vector if all its lanes are in bins and far from edges: returns a mask of those
 * that are. As bits, what is below 0 or NaN is more than any number above it. */
INLINE MASK FN(quick_)(const FN(guess_) * g, VECTOR x, MASK *bin) {
    MASK i;
    const VECTOR t = (x - g->first) * g->scale, rest = t - WHOLE(t, &i);
    *bin = FN(clamp_)(g, i);
    return (rest > g->above) & (rest < g->end) & (MASK)((BITS)t <= (BITS)g->most);
}

/* The bins of any vector; returns a mask of those that are in doubt. A comparison is -1 where it
 * holds. */
INLINE MASK FN(careful_)(const FN(guess_) * g, VECTOR x, MASK *bin) {
    const VECTOR t = (x - g->first) * g->scale, zero = {0};
    const MASK below = t < zero;
    const MASK above = t > g->most;
    const MASK in = (t >= zero) & (t <= g->most);
    const VECTOR inside = (VECTOR)((MASK)t & in);
    MASK i;
    const VECTOR rest = inside - WHOLE(inside, &i);
    const MASK out = g->count + BF_BIN_NAN + below * (BF_BIN_NAN - BF_BIN_BELOW) +
                     above * (BF_BIN_NAN - BF_BIN_ABOVE);
    *bin = (FN(clamp_)(g, i) & in) | (out & ~in);
    return in & ~((rest > g->above) & (rest < g->end));
}

/* Elements of a group that the guesses do not settle: the bin is the guessed one or next to it.
 * Next to the first or the last, the rule says what it is. */
static void FN(settle_)(const bf_bins *bins, const char *x, const MASK *doubts, uint32_t *bin) {
    const uint32_t last = (uint32_t)(bins->count - 1);
    const double *edges = bins->edges;
    INDEX doubt[BIN_GROUP];
    T value[BIN_GROUP];
    uint32_t beyond = 0;
    memcpy(doubt, doubts, sizeof doubt);
    memcpy(value, x, sizeof value);
    for (size_t k = 0; k < BIN_GROUP; k++) {
        const uint32_t i = bin[k] < last ? bin[k] : last, in_doubt = (uint32_t)doubt[k];
        const double exact = (double)value[k];
        const uint32_t found = i + (exact >= edges[i + 1]) - (exact < edges[i]);
        beyond |= in_doubt & -(uint32_t)(found > last);
        bin[k] = (found & in_doubt) | (bin[k] & ~in_doubt);
    }
    for (size_t k = 0; k < BIN_GROUP && beyond; k++)
        if (doubt[k])
            bin[k] = (uint32_t)bf_bin_near(bins, (double)value[k], last < bin[k] ? last : bin[k]);
}

static void FN(with_care_)(const bf_bins *bins, const FN(guess_) * g, const char *x,
                           uint32_t *bin) {
    MASK doubts[BIN_GROUP / FN(LANES_)], any = {0};
    for (size_t r = 0; r < BIN_GROUP / FN(LANES_); r++) {
        VECTOR row;
        MASK i;
        memcpy(&row, x + r * sizeof row, sizeof row);
        doubts[r] = FN(careful_)(g, row, &i);
        any |= doubts[r];
        JOIN(bin_store_, NAME)(bin + r * FN(LANES_), i);
    }
    if (bin_any(&any)) FN(settle_)(bins, x, doubts, bin);
}

INLINE void FN(group_)(const bf_bins *bins, const FN(guess_) * g, const char *x, uint32_t *bin) {
    MASK all = ~(MASK){0};
    prefetch_row(x, BIN_GROUP * sizeof(T));
    UNROLL
    for (size_t r = 0; r < BIN_GROUP / FN(LANES_); r++) {
        VECTOR row;
        MASK i;
        memcpy(&row, x + r * sizeof row, sizeof row);
        all &= FN(quick_)(g, row, &i);
        JOIN(bin_store_, NAME)(bin + r * FN(LANES_), i);
    }
    all = ~all;
    if (bin_any(&all)) FN(with_care_)(bins, g, x, bin);
}

INLINE uint32_t FN(one_)(const bf_bins *bins, const char *x) {
    T value;
    memcpy(&value, x, sizeof value);
    return (uint32_t)GUESSED(bins, value);
}

static void FN(of_)(const bf_bins *bins, const void *data, size_t n, uint32_t *bin) {
    const FN(guess_) guess = FN(prepare_)(bins);
    const char *x = data;
    for (; n >= BIN_GROUP; n -= BIN_GROUP, x += BIN_GROUP * sizeof(T), bin += BIN_GROUP)
        FN(group_)(bins, &guess, x, bin);
    for (; n > 0; n--, x += sizeof(T)) *bin++ = FN(one_)(bins, x);
}

static void FN(bytes_of_)(const bf_bins *bins, const void *data, size_t n, uint8_t *bin) {
    const FN(guess_) guess = FN(prepare_)(bins);
    const char *x = data;
    for (; n >= BIN_GROUP; n -= BIN_GROUP, x += BIN_GROUP * sizeof(T), bin += BIN_GROUP) {
        uint32_t group[BIN_GROUP];
        FN(group_)(bins, &guess, x, group);
        for (size_t k = 0; k < BIN_GROUP; k++) bin[k] = (uint8_t)group[k];
    }
    for (; n > 0; n--, x += sizeof(T)) *bin++ = (uint8_t)FN(one_)(bins, x);
}

#undef FN
#undef NAME
#undef T
#undef VECTOR
#undef INDEX
#undef MASK
#undef BITS
#undef WHOLE
#undef GUESSED
