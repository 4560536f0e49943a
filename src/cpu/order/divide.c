/* Many elements are divided into parts, by splits that a sample gives: so that several threads sort
 * them, each part in its cache. */
#include "cpu/order/sorting.h"

#include <string.h>

enum {
    FEW_THREADS = 2, /* that are content with few parts */
    PIECE_LEAST = 1 << 13,
    SAMPLES = 1 << 6,      /* of each part */
    MORE_SAMPLES = 1 << 8, /* from MANY elements on */
    MANY = 1 << 20
};

typedef struct division {
    const bf_sorter *s;
    bf_order_code code; /* of the elements of `from` */
    const char *from;
    char *other, *home; /* where parts are divided to, and sorted to: maybe the same */
    int64_t n, piece, pieces;
    int parts;
    uint64_t splits[BF_ORDER_PARTS - 1];
    int64_t *at;   /* where each part of each piece begins, and behind the last piece */
    int64_t *live; /* elements of each piece that are no NaN; -1: it has NaNs among them */
    int64_t *nans; /* where the NaNs of each piece begin, and behind the last one */
    char *sample;  /* as much again is scratch memory */
} division;

static int64_t samples_of(const division *d) {
    return d->parts * (d->n < MANY ? SAMPLES : MORE_SAMPLES);
}

static void plan_division(division *d, int workers) {
    int64_t piece = d->n / (8 * workers) + 1;
    d->parts = workers <= FEW_THREADS ? BF_ORDER_FEW_PARTS : BF_ORDER_PARTS;
    d->piece = piece < PIECE_LEAST ? PIECE_LEAST : piece > BF_ORDER_PIECE ? BF_ORDER_PIECE : piece;
    d->pieces = (d->n - 1) / d->piece + 1;
}

static bool allocate_division(division *d) {
    size_t rows = (size_t)(d->pieces + 1), row = (size_t)d->parts + 2;
    size_t samples = (size_t)(2 * samples_of(d) * d->s->word_bytes);
    int64_t *memory = bf_alloc(rows * row * sizeof *memory + samples);
    if (memory == NULL) return false;
    d->at = memory;
    d->live = d->at + rows * (size_t)d->parts;
    d->nans = d->live + rows;
    d->sample = (char *)(d->nans + rows);
    return true;
}

static char *word_at(const division *d, char *words, int64_t i) {
    return words + i * d->s->word_bytes;
}

static const char *element_at(const division *d, int64_t i) {
    return d->from + i * d->s->word_bytes;
}

/* Splits at the quantiles of a sample. */
static void choose_splits(division *d) {
    const int bytes = d->s->word_bytes;
    int64_t n = samples_of(d), step = d->n / n;
    char *scratch = word_at(d, d->sample, n);
    for (int64_t i = 0; i < n; i++) {
        int64_t off = (int64_t)((uint32_t)i * 0x9e3779b1u >> 7) % step; /* no period of the data */
        memcpy(word_at(d, d->sample, i), element_at(d, i * step + off), (size_t)bytes);
    }
    n = d->s->element->split(&d->code, d->sample, n, d->sample, scratch);
    d->s->word->sort(d->sample, scratch, n, false);
    for (int p = 1; p < d->parts; p++) {
        d->splits[p - 1] = 0;
        if (n > 0)
            memcpy(&d->splits[p - 1], word_at(d, d->sample, p * n / d->parts), (size_t)bytes);
    }
}

static int64_t *row_of(const division *d, int64_t piece) { return d->at + piece * d->parts; }

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    division *d = arg;
    int64_t piece = first / d->piece, *counts = row_of(d, piece);
    (void)worker;
    memset(counts, 0, (size_t)d->parts * sizeof *counts);
    bool whole = d->s->word->count(&d->code, element_at(d, first), n, d->splits, d->parts, counts);
    d->live[piece] = whole ? n : -1;
    return BF_OK;
}

/* Moves the NaNs of a piece behind its other elements, at home, and counts these. */
static bf_status part_nans(void *arg, int worker, int64_t first, int64_t n) {
    division *d = arg;
    const bf_order_code raw = bf_order_raw_code(d->code);
    int64_t piece = first / d->piece, *counts = row_of(d, piece);
    char *home = word_at(d, d->home, first), *nans = word_at(d, d->other, first);
    (void)worker;
    int64_t live = d->s->element->split(&raw, element_at(d, first), n, home, nans);
    memcpy(word_at(d, home, live), nans, (size_t)((n - live) * d->s->word_bytes));
    memset(counts, 0, (size_t)d->parts * sizeof *counts);
    (void)d->s->word->count(&d->code, home, live, d->splits, d->parts, counts);
    d->live[piece] = live;
    return BF_OK;
}

/* Turns the counts of parts into where they begin. */
static void place_parts(division *d) {
    int64_t nans = 0, at = 0;
    for (int64_t i = 0; i < d->pieces; i++) {
        int64_t first = i * d->piece, n = d->n - first < d->piece ? d->n - first : d->piece;
        d->nans[i] = nans;
        nans += n - d->live[i];
    }
    d->nans[d->pieces] = nans;
    if (d->s->nan_first) at = nans;
    for (int p = 0; p < d->parts; p++) {
        for (int64_t i = 0; i < d->pieces; i++) {
            int64_t count = row_of(d, i)[p];
            row_of(d, i)[p] = at;
            at += count;
        }
        row_of(d, d->pieces)[p] = at;
    }
    for (int64_t i = 0; i <= d->pieces && !d->s->nan_first; i++) d->nans[i] += at;
}

static bf_status divide_piece(void *arg, int worker, int64_t first, int64_t n) {
    const division *d = arg;
    int64_t piece = first / d->piece, live = d->live[piece];
    (void)worker;
    d->s->word->divide(&d->code, element_at(d, first), live, d->splits, d->parts, row_of(d, piece),
                       row_of(d, piece + 1), d->other);
    memcpy(word_at(d, d->other, d->nans[piece]), element_at(d, first + live),
           (size_t)((n - live) * d->s->word_bytes));
    return BF_OK;
}

static int64_t part_length(const division *d, int p) {
    return row_of(d, d->pieces)[p] - row_of(d, 0)[p];
}

/* Is a part divided again? One that is most of all would be again most of it. */
static bool is_large(const division *d, int p) {
    int64_t n = part_length(d, p);
    return n > BF_ORDER_WHOLE && n <= d->n / 2;
}

static void sort_part(const division *d, int p) {
    int64_t first = row_of(d, 0)[p], n = part_length(d, p);
    const bf_order_code *code = &d->s->code;
    char *home = word_at(d, d->home, first), *other = word_at(d, d->other, first);
    if (home == other) /* the elements have been moved: their memory is free */
        d->s->word->sort(other, (char *)(uintptr_t)element_at(d, first), n, false);
    else
        d->s->word->sort(other, home, n, true);
    if (code->negative != 0 || code->other != 0) d->s->element->join(code, home, n, home);
}

static bf_status sort_parts(void *arg, int worker, int64_t first, int64_t n) {
    const division *d = arg;
    (void)worker;
    for (int p = (int)first; p < first + n; p++) {
        if (p < d->parts) {
            if (!is_large(d, p)) sort_part(d, p);
        } else if (d->home != d->other) {
            int64_t nans = d->nans[0], end = d->nans[d->pieces];
            memcpy(word_at(d, d->home, nans), word_at(d, d->other, nans),
                   (size_t)((end - nans) * d->s->word_bytes));
        }
    }
    return BF_OK;
}

static bf_status divide(bf_context *context, division *d, int64_t bytes);

/* Divides a large part again, to where its elements were. */
static bf_status divide_part(bf_context *context, const division *d, int p) {
    int64_t first = row_of(d, 0)[p];
    char *free = d->home == d->other ? (char *)(uintptr_t)d->from : d->home;
    division part = {
        .s = d->s,
        .code = {.nan = ~(uint64_t)0, .most = ~(uint64_t)0},
        .from = word_at(d, d->other, first),
        .other = word_at(d, free, first),
        .home = word_at(d, d->home, first),
        .n = part_length(d, p),
    };
    plan_division(&part, bf_workers(context, part.n, BF_ORDER_LEAST));
    if (!allocate_division(&part)) {
        sort_part(d, p);
        return BF_OK;
    }
    bf_status status = divide(context, &part, 0);
    bf_free(part.at);
    return status;
}

static bf_status share_pieces(bf_context *context, division *d, int64_t bytes, bf_host_work *work) {
    int workers = bf_workers(context, d->n, BF_ORDER_LEAST);
    return bf_parallel_watched(context, workers, d->n, d->piece, bytes, work, d);
}

static bool has_nans(const division *d) {
    for (int64_t i = 0; i < d->pieces; i++)
        if (d->live[i] < 0) return true;
    return false;
}

static bf_status divide(bf_context *context, division *d, int64_t bytes) {
    choose_splits(d);
    bf_status status = share_pieces(context, d, bytes / 8, count_piece);
    if (status == BF_OK && has_nans(d)) {
        status = share_pieces(context, d, 0, part_nans);
        d->from = d->home;
    }
    if (status != BF_OK) return status;
    place_parts(d);
    status = share_pieces(context, d, bytes / 8, divide_piece);
    if (status != BF_OK) return status;
    int workers = bf_workers(context, d->n, BF_ORDER_LEAST);
    status = bf_parallel_watched(context, workers, d->parts + 1, 1, bytes - bytes / 8 * 2,
                                 sort_parts, d);
    for (int p = 0; p < d->parts && status == BF_OK; p++)
        if (is_large(d, p)) status = divide_part(context, d, p);
    return status;
}

/* divide_part() needs that the elements of the first division are not its scratch memory: there
 * home and other are apart. */
bf_status bf_order_divide(bf_context *context, const bf_sorter *s, int64_t bytes, const char *from,
                          int64_t n, char *to, char *scratch) {
    division d = {.s = s, .code = s->code, .from = from, .other = scratch, .home = to, .n = n};
    plan_division(&d, bf_workers(context, n, BF_ORDER_LEAST));
    if (!allocate_division(&d)) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    bf_status status = divide(context, &d, bytes);
    bf_free(d.at);
    return status;
}
