/* A pass of order statistics over elements (rules/order/ranges.h). */
#include "cpu/order/select/select.h"
#include "rules/order/ranges.h"

enum {
    PIECE = 1 << 18,      /* elements that a worker takes at a time */
    PIECE_LEAST = 1 << 19 /* so many are worth a thread with a tally of its own */
};

typedef struct tallying {
    const bf_select_loops *loops;
    const bf_ranges *ranges;
    const char *values;
    bf_bracket brackets[BF_RANGES_MOST];
    bf_tally *tallies; /* one for each worker */
} tallying;

/* The first pass: every element is counted. */
static void count_all(const tallying *t, bf_tally *tally, const char *places, int64_t n) {
    const int bytes = bf_place_bytes(t->ranges->dtype), shift = t->ranges->shift[0];
    uint64_t least = (uint64_t)tally->least[0], most = (uint64_t)tally->most[0];
    for (int64_t i = 0; i < n; i++) {
        const uint64_t place = bf_place_at(places, bytes, i);
        tally->words[place >> shift]++;
        least = place < least ? place : least;
        most = place > most ? place : most;
    }
    tally->least[0] = least;
    tally->most[0] = most;
}

/* Adds places, each of which lies in one of the ranges [first, end). */
static bool add_places(const bf_ranges *ranges, bf_tally *tally, int first, int end,
                       const char *places, int bytes, int64_t n) {
    if (ranges->collect && n > BF_TALLY_WORDS - tally->used) return false;
    for (int64_t k = 0; k < n; k++) {
        const uint64_t place = bf_place_at(places, bytes, k);
        int i = first;
        while (i + 1 < end && place >= ranges->lo[i + 1]) i++;
        if (place < tally->least[i]) tally->least[i] = place;
        if (place > tally->most[i]) tally->most[i] = place;
        if (ranges->collect)
            tally->words[tally->used++] = place;
        else
            bf_tally_count(ranges, tally, i, place);
    }
    return true;
}

static bool tally_block(const tallying *t, bf_tally *tally, const char *x, int64_t n, char *room) {
    const bf_ranges *r = t->ranges;
    const int bytes = bf_place_bytes(r->dtype);
    if (r->width[0] == bf_place_last(r->dtype)) {
        t->loops->places[r->dtype](x, (size_t)n, room);
        count_all(t, tally, room, n);
        return true;
    }
    for (int i = 0; i < r->count; i += BF_BRACKETS) {
        const int q = r->count - i < BF_BRACKETS ? r->count - i : BF_BRACKETS;
        int64_t from[BF_BRACKETS + 1] = {0};
        const int64_t kept =
            (int64_t)t->loops->keep[r->dtype](x, (size_t)n, t->brackets + i, q, from, room);
        if (!add_places(r, tally, i, i + q, room, bytes, kept)) return false;
    }
    return true;
}

/* The range that a place lies in, or -1. */
static int range_of(const bf_ranges *r, bf_u128 place) {
    int first = 0, end = r->count;
    while (first < end) {
        const int middle = (first + end) / 2;
        if (r->lo[middle] <= place)
            first = middle + 1;
        else
            end = middle;
    }
    return first > 0 && place - r->lo[first - 1] <= r->width[first - 1] ? first - 1 : -1;
}

static void tally_wide(const bf_ranges *r, bf_tally *tally, const char *x, int64_t n) {
    for (int64_t k = 0; k < n; k++) {
        const bf_u128 place = bf_place_of_i128(bf_load_i128(x + 16 * k));
        const int i = range_of(r, place);
        if (i < 0) continue;
        if (place < tally->least[i]) tally->least[i] = place;
        if (place > tally->most[i]) tally->most[i] = place;
        bf_tally_count(r, tally, i, place);
    }
}

static bf_status tally_piece(void *arg, int worker, int64_t first, int64_t n) {
    const tallying *t = arg;
    bf_tally *tally = &t->tallies[worker];
    char room[8192 + BF_KEEP_SLACK];
    const int bytes = bf_number_bytes(t->ranges->dtype);
    const int64_t block = (int64_t)(sizeof room - BF_KEEP_SLACK) / 8;
    const char *x = t->values + first * bytes;
    for (int64_t m; n > 0; n -= m, x += m * bytes) {
        m = n < block ? n : block;
        if (bf_ranges_are_wide(t->ranges->dtype))
            tally_wide(t->ranges, tally, x, m);
        else if (!tally_block(t, tally, x, m, room))
            return BF_E_STATE;
        tally->n += m;
    }
    return BF_OK;
}

/* Gives all workers but the first tallies of their own. Returns how many workers have one: those
 * that there is memory for. */
static int open_tallies(const tallying *t, int workers) {
    for (int w = 1; w < workers; w++) {
        t->tallies[w].words = bf_zeros(BF_TALLY_WORDS * sizeof(uint64_t));
        if (t->tallies[w].words == NULL) return w;
        bf_tally_begin(t->ranges, &t->tallies[w]);
    }
    return workers;
}

static bf_status share_pieces(bf_context *context, tallying *t, int workers, int64_t n) {
    const int64_t bytes = n * bf_number_bytes(t->ranges->dtype);
    workers = open_tallies(t, workers);
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, bytes, tally_piece, t);
    for (int w = 1; status == BF_OK && w < workers; w++)
        if (!bf_tally_merge(t->ranges, &t->tallies[0], &t->tallies[w])) status = BF_E_STATE;
    return status;
}

bf_status bf_cpu_tally(bf_context *context, const bf_ranges *ranges, const void *values, int64_t n,
                       bf_tally *tally) {
    const int workers = bf_workers(context, n, PIECE_LEAST);
    tallying t = {.loops = context->cpu->isa->select, .ranges = ranges, .values = values};
    for (int i = 0; i < ranges->count; i++)
        t.brackets[i] =
            (bf_bracket){(uint64_t)ranges->lo[i], (uint64_t)(ranges->lo[i] + ranges->width[i])};
    t.tallies = bf_calloc((size_t)workers, sizeof *t.tallies);
    bf_status status = BF_E_MEMORY;
    if (t.tallies != NULL) {
        t.tallies[0] = *tally;
        status = share_pieces(context, &t, workers, n);
        *tally = t.tallies[0];
    }
    for (int w = 1; t.tallies != NULL && w < workers; w++) bf_free(t.tallies[w].words);
    bf_free(t.tallies);
    if (status == BF_E_MEMORY) return bf_fail(context, status, "no memory for a pass of quantiles");
    if (status == BF_E_STATE)
        return bf_fail(context, status, "the elements are not those of the first pass");
    return status;
}
