/* Windows whose minimum or maximum is the lesser of two: that of the elements before a middle,
 * which is known for each first one, and that of those behind it. When the middle has left, it
 * moves to the end: so each element is looked at twice, whatever its value. */
#include "cpu/scan/rolling.h"

/* The less, the sooner it is the result; `low` is for BF_I128 alone. */
typedef struct rank {
    int64_t high;
    uint64_t low;
} rank;

typedef struct room {
    int64_t first, middle, end;   /* the window is [first, end) */
    int64_t counts[BF_SUM_LIMBS]; /* as in the words of a state */
    rank behind;                  /* the least of [middle, end) */
    int64_t base;                 /* least[0] is that of [base, middle), and so on */
    int64_t least[];              /* two for each of BF_I128 */
} room;

static const rank none = {INT64_MAX, UINT64_MAX};

size_t bf_roll_extremes_room(const bf_rolling_job *job) {
    const size_t bytes = job->window.dtype == BF_I128 ? 16 : 8;
    /* What has entered a window stays there. */
    const bool stays = job->first == NULL && job->size - job->after >= job->length;
    const int64_t most = stays ? bf_rolling_end(job, 0) : bf_rolling_largest(job);
    return sizeof(room) + (size_t)most * bytes;
}

/* NaN has the greatest. */
INLINE rank rank_of(bf_dtype dtype, const char *p, int64_t flip) {
    if (dtype == BF_I128) {
        const bf_i128 x = bf_load_i128(p) ^ flip;
        return (rank){(int64_t)(x >> 64), (uint64_t)x};
    }
    const int64_t high = bf_order_rank(dtype, bf_load_bits(p, bf_dtype_bytes(dtype))) ^ flip;
    return (rank){bf_rolling_nan(dtype, p) ? none.high : high, 0};
}

INLINE rank least_of(bf_dtype dtype, rank x, rank y) {
    if (dtype != BF_I128) return (rank){x.high < y.high ? x.high : y.high, 0};
    return x.high < y.high || (x.high == y.high && x.low < y.low) ? x : y;
}

INLINE rank load_rank(bf_dtype dtype, const room *r, int64_t i) {
    if (dtype != BF_I128) return (rank){r->least[i - r->base], 0};
    return (rank){r->least[2 * (i - r->base)], (uint64_t)r->least[2 * (i - r->base) + 1]};
}

INLINE void store_rank(bf_dtype dtype, room *r, int64_t i, rank x) {
    if (dtype != BF_I128) {
        r->least[i - r->base] = x.high;
    } else {
        r->least[2 * (i - r->base)] = x.high;
        r->least[2 * (i - r->base) + 1] = (int64_t)x.low;
    }
}

/* Moves the middle of [first, end) to its end. */
INLINE void move_middle(bf_dtype dtype, const bf_rolling_tile *t, room *r, int64_t flip) {
    rank least = none;
    r->base = r->first;
    r->middle = r->end;
    r->behind = none;
    for (int64_t i = r->end - 1; i >= r->first; i--) {
        least = least_of(dtype, rank_of(dtype, bf_rolling_element(t, i), flip), least);
        store_rank(dtype, r, i, least);
    }
}

INLINE void move(bf_dtype dtype, const bf_rolling_tile *t, room *r, int64_t first, int64_t end,
                 int64_t flip) {
    for (; r->end < end; r->end++) {
        const char *p = bf_rolling_element(t, r->end);
        r->counts[BF_SUM_NAN] += bf_rolling_nan(dtype, p);
        r->behind = least_of(dtype, rank_of(dtype, p, flip), r->behind);
    }
    for (; r->first < first; r->first++)
        r->counts[BF_SUM_NAN] -= bf_rolling_nan(dtype, bf_rolling_element(t, r->first));
    r->counts[BF_SUM_COUNT] = end - first;
    if (first >= r->middle) move_middle(dtype, t, r, flip);
}

INLINE uint64_t result_of(bf_dtype dtype, const bf_window *w, const room *r, int64_t flip) {
    uint64_t bits;
    if (bf_window_told(w, r->counts, &bits)) return bits;
    const rank least = least_of(dtype, load_rank(dtype, r, r->first), r->behind);
    if (dtype == BF_I128)
        return bf_window_integer(w, (bf_i128)((bf_u128)least.high << 64 | least.low) ^ flip);
    return bf_window_element(w, bf_order_bits(dtype, least.high ^ flip));
}

INLINE bf_status roll(bf_dtype dtype, const bf_rolling_tile *t, void *memory) {
    room *r = memory;
    const bf_rolling_job *job = t->job;
    const int64_t flip = bf_is_greatest(job->window.op) ? -1 : 0;
    const bf_dtype to = bf_dtype_is_float(dtype) ? dtype : job->window.to;
    memset(r->counts, 0, sizeof r->counts);
    r->first = r->middle = r->end = bf_rolling_first(job, t->from);
    r->behind = none;
    for (int64_t k = t->from; k < t->to; k++) {
        move(dtype, t, r, bf_rolling_first(job, k), bf_rolling_end(job, k), flip);
        if (bf_rolling_refused(&job->window, r->counts)) return BF_E_NAN;
        bf_rolling_store(t, to, k, result_of(dtype, &job->window, r, flip));
    }
    return BF_OK;
}

BF_ROLLING_OF_DTYPE(bf_roll_extremes)
