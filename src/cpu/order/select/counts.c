/* Ranks by counting. */
#include "cpu/order/select/select.h"

enum {
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    PIECE = 1 << 18,      /* elements that a worker takes at a time */
    PIECE_LEAST = 1 << 18 /* so many are worth a thread */
};

/* ---- elements of 1 or 2 bytes: all values are counted ---------------------------------------- */

typedef struct counting {
    bf_dtype dtype;
    const char *x;
    size_t values;
    int64_t *counts; /* each worker's */
} counting;

/* Counts bytes, four at a time: an increment that follows another of the same counter waits for
 * it. */
static void count_bytes(const uint8_t *x, int64_t n, int64_t *counts) {
    uint32_t lanes[4][256] = {{0}};
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) lanes[k][x[i + k]]++;
    for (; i < n; i++) lanes[0][x[i]]++;
    for (int v = 0; v < 256; v++)
        counts[v] += (int64_t)lanes[0][v] + lanes[1][v] + lanes[2][v] + lanes[3][v];
}

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    const counting *c = arg;
    int64_t *counts = c->counts + (size_t)worker * c->values;
    if (c->values == 256) {
        count_bytes((const uint8_t *)c->x + first, n, counts);
        return BF_OK;
    }
    for (int64_t i = first; i < first + n; i++) counts[bf_load_bits(c->x + 2 * i, 2)]++;
    return BF_OK;
}

/* Adds up the workers' counts, by place instead of by bits. */
static void order_counts(const counting *c, int workers, int64_t *by_place) {
    memset(by_place, 0, c->values * sizeof *by_place);
    for (size_t v = 0; v < c->values; v++)
        for (size_t w = 0; w < (size_t)workers; w++)
            by_place[bf_order_place(c->dtype, BF_ASCENDING, v)] += c->counts[w * c->values + v];
}

static void find_counted(const int64_t *by_place, bf_plan *plan) {
    int64_t below = 0;
    uint64_t place = 0;
    for (int i = 0; i < plan->ranks; i++) {
        while (below + by_place[place] <= plan->rank[i]) below += by_place[place++];
        plan->place[i] = place;
    }
}

bf_status bf_find_small(const bf_finder *finder, bf_dtype dtype, const char *x, int64_t n,
                        bf_plan *plan) {
    bf_context *context = finder->context;
    const int most = context == NULL ? 1 : bf_workers(context, n, PIECE_LEAST);
    const int bytes = bf_dtype_bytes(dtype);
    counting c = {dtype, x, (size_t)1 << (8 * bytes), NULL};
    const int workers = bf_workers_within(most, c.values * sizeof *c.counts);
    c.counts = bf_calloc((size_t)(workers + 1) * c.values, sizeof *c.counts);
    if (c.counts == NULL) return BF_E_MEMORY;
    int64_t *by_place = c.counts + (size_t)workers * c.values;
    bf_status status = context == NULL ? count_piece(&c, 0, 0, n)
                                       : bf_parallel_watched(context, workers, n, PIECE, n * bytes,
                                                             count_piece, &c);
    order_counts(&c, workers, by_place);
    if (status == BF_OK) {
        bf_plan_make(plan, n, bf_dtype_is_float(dtype) ? by_place[c.values - 1] : 0);
        find_counted(by_place, plan);
    }
    bf_free(c.counts);
    return status;
}

/* ---- digit by digit -------------------------------------------------------------------------- */

/* Ranks whose places agree in all digits so far share counters. */
typedef struct digits {
    const bf_finder *finder;
    bf_wanted *wanted;
    int shift, length; /* the digit's */
    int prefixes;
    uint64_t *prefix; /* one for each: the digits before */
    int64_t *counts;  /* DIGITS for each */
    int *of;          /* the prefix of each rank */
    int64_t *rank;    /* each rank among the elements with its prefix */
    char *places;     /* one block's */
} digits;

static uint64_t above_digit(const digits *d, uint64_t place) {
    const int shift = d->shift + d->length;
    return shift < 64 ? place >> shift : 0;
}

static void count_places(const digits *d, int64_t n) {
    const int bytes = bf_place_bytes(d->wanted->dtype);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t place = bf_place_at(d->places, bytes, i), above = above_digit(d, place);
        for (int p = 0; p < d->prefixes; p++)
            if (d->prefix[p] == above)
                d->counts[(uint64_t)p * DIGITS + (place >> d->shift & ((1u << d->length) - 1))]++;
    }
}

static void count_digit(const digits *d) {
    const bf_wanted *w = d->wanted;
    const int bytes = bf_dtype_bytes(w->dtype);
    const int64_t block = BF_KEEP_BLOCK / 8;
    memset(d->counts, 0, (size_t)d->prefixes * DIGITS * sizeof *d->counts);
    for (int64_t first = 0, n; first < w->n; first += n) {
        n = w->n - first < block ? w->n - first : block;
        d->finder->loops->places[w->dtype](w->x + first * bytes, (size_t)n, d->places);
        count_places(d, n);
    }
}

/* Adds the digit to the place of each rank, and makes prefixes of them. */
static void follow_digit(digits *d) {
    const bf_wanted *w = d->wanted;
    int prefixes = 0;
    for (int i = 0; i < w->ranks; i++) {
        const int64_t *counts = d->counts + d->of[i] * DIGITS;
        uint64_t digit = 0;
        while (d->rank[i] >= counts[digit]) d->rank[i] -= counts[digit++];
        w->place[i] |= digit << d->shift;
    }
    for (int i = 0; i < w->ranks; i++) {
        const uint64_t prefix = w->place[i] >> d->shift;
        if (prefixes == 0 || d->prefix[prefixes - 1] != prefix) d->prefix[prefixes++] = prefix;
        d->of[i] = prefixes - 1;
    }
    d->prefixes = prefixes;
}

static bf_status follow_digits(digits *d) {
    bf_wanted *w = d->wanted;
    const int64_t told = w->n * bf_dtype_bytes(w->dtype);
    bf_status status = BF_OK;
    int left = 8 * bf_place_bytes(w->dtype);
    d->prefixes = 1;
    for (int i = 0; i < w->ranks; i++) {
        w->place[i] = 0;
        d->rank[i] = w->rank[i];
    }
    while (status == BF_OK && left > 0) {
        d->length = left < DIGIT_BITS ? left : DIGIT_BITS;
        d->shift = left -= d->length;
        count_digit(d);
        follow_digit(d);
        if (d->finder->context != NULL) status = bf_watch_tick(d->finder->context, told);
    }
    return status;
}

/* The NaNs of all, for ranks that wait for them. */
static void count_nans(const bf_finder *finder, bf_wanted *w) {
    const uint64_t nan = bf_place_last(w->dtype);
    const int bytes = bf_dtype_bytes(w->dtype), place = bf_place_bytes(w->dtype);
    int64_t nans = 0;
    for (int64_t first = 0, n; first < w->n; first += n) {
        n = w->n - first < BF_FIND_FEW ? w->n - first : BF_FIND_FEW;
        finder->loops->places[w->dtype](w->x + first * bytes, (size_t)n, finder->few[0]);
        for (int64_t i = 0; i < n; i++) nans += bf_place_at(finder->few[0], place, i) == nan;
    }
    bf_wanted_settle(w, nans);
}

bf_status bf_find_by_counts(const bf_finder *finder, bf_wanted *wanted) {
    digits d = {.finder = finder, .wanted = wanted};
    if (wanted->plan != NULL && bf_dtype_is_float(wanted->dtype)) count_nans(finder, wanted);
    const size_t ranks = (size_t)wanted->ranks;
    if (ranks == 0) return BF_OK;
    d.prefix = bf_calloc(ranks, sizeof *d.prefix);
    d.counts = bf_calloc(ranks * DIGITS, sizeof *d.counts);
    d.of = bf_calloc(ranks, sizeof *d.of);
    d.rank = bf_calloc(ranks, sizeof *d.rank);
    d.places = bf_alloc(BF_KEEP_BLOCK);
    bf_status status = BF_E_MEMORY;
    if (d.prefix != NULL && d.counts != NULL && d.of != NULL && d.rank != NULL && d.places != NULL)
        status = follow_digits(&d);
    bf_free(d.prefix);
    bf_free(d.counts);
    bf_free(d.of);
    bf_free(d.rank);
    bf_free(d.places);
    return status;
}
