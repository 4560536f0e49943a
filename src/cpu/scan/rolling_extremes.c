/* Windows whose minimum or maximum is the head of a queue of the elements that no later one beats.
 */
#include "cpu/scan/rolling.h"

typedef struct room {
    int64_t first, end; /* the queue is that of elements [first, end) */
    int64_t counts[BF_SUM_LIMBS];
    int64_t head, queued, capacity;
    int64_t queue[]; /* a ring of positions */
} room;

size_t bf_roll_extremes_room(const bf_rolling_job *job) {
    return sizeof(room) + (size_t)bf_rolling_largest(job) * sizeof(int64_t);
}

/* The less, the sooner it is the result. */
static inline bf_i128 rank_of(bf_dtype dtype, const char *p, int64_t flip) {
    if (dtype == BF_I128) return bf_load_i128(p) ^ flip;
    return bf_order_rank(dtype, bf_load_bits(p, bf_dtype_bytes(dtype))) ^ flip;
}

static inline int64_t *queue_at(room *r, int64_t number) {
    const int64_t at = r->head + number;
    return &r->queue[at < r->capacity ? at : at - r->capacity];
}

/* Element r->end is the last of the queue, without those that it beats. */
static inline void push(bf_dtype dtype, const bf_rolling_tile *t, room *r) {
    const int64_t flip = bf_is_greatest(t->job->window.op) ? -1 : 0;
    const bf_i128 rank = rank_of(dtype, bf_rolling_element(t, r->end), flip);
    while (r->queued > 0) {
        const int64_t last = *queue_at(r, r->queued - 1);
        if (rank_of(dtype, bf_rolling_element(t, last), flip) < rank) break;
        r->queued--;
    }
    *queue_at(r, r->queued++) = r->end;
}

static inline void pop(room *r, int64_t first) {
    while (r->queued > 0 && r->queue[r->head] < first) {
        r->head = r->head + 1 < r->capacity ? r->head + 1 : 0;
        r->queued--;
    }
}

static void clear(room *r, int64_t first) {
    memset(r->counts, 0, sizeof r->counts);
    r->first = r->end = first;
    r->head = r->queued = 0;
}

static inline void move(bf_dtype dtype, const bf_rolling_tile *t, room *r, int64_t first,
                        int64_t end) {
    if (first >= r->end) clear(r, first);
    pop(r, first);
    for (; r->first < first; r->first++)
        r->counts[BF_SUM_NAN] -= bf_rolling_nan(dtype, bf_rolling_element(t, r->first));
    for (; r->end < end; r->end++)
        if (bf_rolling_nan(dtype, bf_rolling_element(t, r->end)))
            r->counts[BF_SUM_NAN]++;
        else
            push(dtype, t, r);
    r->counts[BF_SUM_COUNT] = end - first;
}

static uint64_t result_of(const bf_rolling_tile *t, const room *r) {
    const bf_window *w = &t->job->window;
    uint64_t bits;
    if (bf_window_told(w, r->counts, &bits)) return bits;
    return bf_window_extreme(w, r->queued > 0 ? bf_rolling_element(t, r->queue[r->head]) : NULL);
}

static inline __attribute__((always_inline)) bf_status roll(bf_dtype dtype,
                                                            const bf_rolling_tile *t, room *r) {
    const bf_rolling_job *job = t->job;
    r->capacity = bf_rolling_largest(job);
    clear(r, bf_rolling_first(job, t->from));
    for (int64_t k = t->from; k < t->to; k++) {
        move(dtype, t, r, bf_rolling_first(job, k), bf_rolling_end(job, k));
        if (bf_rolling_refused(&job->window, r->counts)) return BF_E_NAN;
        bf_rolling_store(t, k, result_of(t, r));
    }
    return BF_OK;
}

bf_status bf_roll_extremes(const bf_rolling_tile *t, void *memory) {
    switch (t->job->window.dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: return roll(BF_##id, t, memory);
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: return roll(BF_I128, t, memory);
    }
}
