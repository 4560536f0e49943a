/* Windows whose quantiles are elements by their ranks: those of a tile are sorted once, and a
 * window is a set of ranks. What a quantile needs is a few members from where that of the window
 * before was, because an element that enters or leaves moves it by one. */
#include "cpu/order/sorting.h"
#include "cpu/scan/numbers.h"
#include "cpu/scan/rolling.h"
#include "rules/key/rank.h"

/* A place in the order of a window. */
typedef struct cursor {
    int64_t at;    /* a rank in the set; anything while that is empty */
    int64_t below; /* how many ranks in the set are less */
} cursor;

typedef struct room {
    int64_t first;   /* the ranks are those of elements from this one on */
    int64_t numbers; /* ranks from this one on are those of NaNs */
    int64_t *index;  /* the element of each rank, and the rank of each element: from `first` on */
    int64_t *ranks;
    bf_numbers set; /* the ranks of the window's elements that are no NaN */
    int64_t members;
    int count;
    cursor cursors[];
} room;

/* What a tile's elements take while they are sorted, and then their ranks and the set. */
static size_t scratch_of(int64_t n) {
    const size_t sorted = bf_order_index_bytes(n);
    const size_t after = (size_t)(n + bf_numbers_words(n)) * sizeof(int64_t);
    return sorted > after ? sorted : after;
}

/* Elements of a tile's windows: of a span one may reach as far in front of the tile as behind it.
 */
int64_t bf_roll_quantiles_tile(const bf_rolling_job *job) {
    return (128 + 4 * bf_rolling_largest(job)) / job->step + 1;
}

size_t bf_roll_quantiles_room(const bf_rolling_job *job) {
    const int64_t reach =
        (bf_roll_quantiles_tile(job) - 1) * job->step + 2 * bf_rolling_largest(job);
    const int64_t n = reach < job->length ? reach : job->length;
    return sizeof(room) + (size_t)job->quantiles->count * sizeof(cursor) +
           (size_t)n * (sizeof(int64_t) + (size_t)bf_number_bytes(job->window.dtype)) +
           scratch_of(n);
}

static void copy_elements(const bf_rolling_tile *t, int64_t first, int64_t n, char *to) {
    const int bytes = bf_number_bytes(t->job->window.dtype);
    for (int64_t i = 0; i < n; i++) {
        const char *p = bf_rolling_element(t, first + i);
        uint64_t pair[2];
        if (bytes == 16) bf_pair_of_i128(bf_load_i128(p), pair);
        memcpy(to + i * bytes, bytes == 16 ? (const void *)pair : p, (size_t)bytes);
    }
}

static void rank_elements(bf_context *context, const bf_rolling_tile *t, room *r) {
    const bf_window *w = &t->job->window;
    const bf_dtype dtype = w->dtype == BF_I128 ? BF_PAIR : w->dtype;
    const bf_order_sorter sorter = bf_order_sorter_of(context, dtype, BF_ASCENDING);
    const int count = t->job->quantiles->count;
    r->first = bf_rolling_first(t->job, t->from);
    const int64_t n = bf_rolling_end(t->job, t->to - 1) - r->first;
    r->index = (int64_t *)(r->cursors + count);
    r->ranks = r->index + n;
    char *scratch = (char *)r->ranks, *elements = scratch + scratch_of(n);
    copy_elements(t, r->first, n, elements);
    bf_order_index(&sorter, elements, n, NULL, (char *)r->index, scratch);
    for (int64_t i = 0; i < n; i++) r->ranks[r->index[i]] = i;
    for (r->numbers = n; r->numbers > 0; r->numbers--)
        if (!bf_rolling_nan(w->dtype, bf_rolling_element(t, r->first + r->index[r->numbers - 1])))
            break;
    bf_numbers_init(&r->set, n, (uint64_t *)(r->ranks + n));
    r->members = 0;
    r->count = count;
}

static void enter(room *r, int64_t rank) {
    bf_numbers_add(&r->set, rank);
    for (cursor *c = r->cursors; c < r->cursors + r->count; c++) {
        if (r->members == 0) *c = (cursor){.at = rank};
        c->below += rank < c->at;
    }
    r->members++;
}

static void leave(room *r, int64_t rank) {
    bf_numbers_remove(&r->set, rank);
    r->members--;
    for (cursor *c = r->cursors; c < r->cursors + r->count; c++) {
        c->below -= rank < c->at;
        if (rank != c->at) continue;
        c->at = bf_numbers_after(&r->set, rank);
        if (c->at >= 0) continue;
        c->at = bf_numbers_before(&r->set, rank);
        c->below--;
    }
}

/* Goes to rank number k of the set, which has more. */
static void go(const room *r, cursor *c, int64_t k) {
    for (; c->below < k; c->below++) c->at = bf_numbers_after(&r->set, c->at);
    for (; c->below > k; c->below--) c->at = bf_numbers_before(&r->set, c->at);
}

static uint64_t result_of(const bf_rolling_tile *t, room *r, int number) {
    const bf_window *w = &t->job->window;
    const bf_between between = bf_window_between(t->job->quantiles, number, r->members);
    cursor *c = &r->cursors[number];
    go(r, c, between.below);
    const int64_t above = between.above > between.below ? bf_numbers_after(&r->set, c->at) : c->at;
    return bf_window_quantile(w, bf_rolling_element(t, r->first + r->index[c->at]),
                              bf_rolling_element(t, r->first + r->index[above]), between.weight);
}

static void store_results(const bf_rolling_tile *t, room *r, int64_t k, const int64_t *counts) {
    const bf_rolling_job *job = t->job;
    const bf_dtype to = job->window.to;
    const int64_t apart = job->apart * bf_dtype_bytes(to);
    bf_rolling_tile of_number = *t;
    uint64_t told;
    const bool is_told = bf_window_told(&job->window, counts, &told);
    for (int i = 0; i < r->count; i++, of_number.values += apart)
        bf_rolling_store(&of_number, to, k, is_told ? told : result_of(t, r, i));
}

bf_status bf_roll_quantiles(bf_context *context, const bf_rolling_tile *t, void *memory) {
    room *r = memory;
    rank_elements(context, t, r);
    int64_t first = r->first, end = first, counts[BF_SUM_LIMBS] = {0};
    for (int64_t k = t->from; k < t->to; k++) {
        const int64_t to_first = bf_rolling_first(t->job, k), to_end = bf_rolling_end(t->job, k);
        for (; end < to_end; end++) {
            const int64_t rank = r->ranks[end - r->first];
            if (rank < r->numbers) enter(r, rank);
        }
        for (; first < to_first; first++) {
            const int64_t rank = r->ranks[first - r->first];
            if (rank < r->numbers) leave(r, rank);
        }
        counts[BF_SUM_COUNT] = end - first;
        counts[BF_SUM_NAN] = end - first - r->members;
        if (bf_rolling_refused(&t->job->window, counts)) return BF_E_NAN;
        store_results(t, r, k, counts);
    }
    return BF_OK;
}
