/* Many elements become words in place, and are partitioned there until there are parts enough for
 * all threads, which then sort them. While there are fewer parts than threads, each thread
 * partitions slices of a part, and words on the wrong side of the part are exchanged. */
#include "cpu/order/sorting.h"

#include <string.h>

enum {
    PIECE_LEAST = 1 << 13, /* elements that a worker turns into words at a time */
    PIECE_MOST = 1 << 20,
    PARTS = 8,            /* for each worker, as their lengths differ */
    PART_LEAST = 1 << 12, /* words of a part that is partitioned */
    SLICES = 2            /* for each worker */
};

typedef struct division {
    const bf_order_sorter *s;
    const char *from;
    char *words, *scratch;
    int64_t n, piece;
    int workers;
    int64_t *live;   /* elements of each piece that are no NaN; their words are at its begin */
    int64_t most;    /* parts wanted */
    int64_t parts;   /* a power of 2 */
    int64_t *bounds; /* where the parts begin and end */
    int64_t *below;  /* words below the pivot, of each slice of each part */
    int64_t slices;  /* how many each part has */
    uint64_t *pivots;
} division;

static char *word_at(const division *d, int64_t i) { return d->words + i * d->s->word_bytes; }

static int64_t pieces_of(const division *d) { return (d->n - 1) / d->piece + 1; }

static void plan_division(division *d) {
    int64_t piece = d->n / (8 * d->workers) + 1;
    d->piece = piece < PIECE_LEAST ? PIECE_LEAST : piece > PIECE_MOST ? PIECE_MOST : piece;
    int64_t most = d->workers == 1 ? 1 : PARTS * d->workers;
    if (d->n / BF_ORDER_WHOLE > most) most = d->n / BF_ORDER_WHOLE;
    for (d->most = 1; d->most < most && d->n / d->most > PART_LEAST; d->most *= 2) {
    }
}

static bool allocate_division(division *d) {
    size_t most = (size_t)d->most, slices = 2 * SLICES * (size_t)d->workers + most;
    int64_t *memory = bf_alloc(((size_t)pieces_of(d) + most + 1 + slices + most) * sizeof *memory);
    d->live = memory;
    if (memory == NULL) return false;
    d->bounds = d->live + pieces_of(d);
    d->below = d->bounds + most + 1;
    d->pivots = (uint64_t *)(d->below + slices);
    return true;
}

/* ---- words ----------------------------------------------------------------------------------- */

static bf_status make_words(void *arg, int worker, int64_t first, int64_t n) {
    const division *d = arg;
    const int64_t at = first * d->s->word_bytes;
    (void)worker;
    d->live[first / d->piece] =
        d->s->element->split(&d->s->code, d->from + at, n, word_at(d, first), d->scratch + at);
    return BF_OK;
}

/* Moves the words of a piece, of which `at` are before it, or behind it if NaNs are first. */
static void move_words(const division *d, int64_t piece, int64_t at) {
    memmove(word_at(d, at), word_at(d, piece * d->piece),
            (size_t)(d->live[piece] * d->s->word_bytes));
}

/* Moves the words of all pieces together, and the NaNs to their place. Returns where the words
 * begin, and sets *n to their number. */
static int64_t gather_words(const division *d, int64_t *n) {
    const int64_t pieces = pieces_of(d);
    int64_t live = 0, at = 0;
    for (int64_t i = 0; i < pieces; i++) live += d->live[i];
    *n = live;
    if (live == d->n) return 0;
    for (int64_t i = 0; i < pieces && !d->s->nan_first; at += d->live[i++]) move_words(d, i, at);
    for (int64_t i = pieces - 1, end = d->n; i >= 0 && d->s->nan_first; i--)
        move_words(d, i, end -= d->live[i]);
    at = d->s->nan_first ? 0 : live;
    for (int64_t i = 0; i < pieces; i++) {
        int64_t first = i * d->piece, all = d->n - first < d->piece ? d->n - first : d->piece;
        memcpy(word_at(d, at), d->scratch + first * d->s->word_bytes,
               (size_t)((all - d->live[i]) * d->s->word_bytes));
        at += all - d->live[i];
    }
    return d->s->nan_first ? d->n - live : 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static int64_t part_length(const division *d, int64_t part) {
    return d->bounds[part + 1] - d->bounds[part];
}

/* Where a slice of a part begins; of the slice behind the last one: where the part ends. */
static int64_t slice_begin(const division *d, int64_t part, int64_t slice) {
    if (slice == d->slices) return d->bounds[part + 1];
    return d->bounds[part] + part_length(d, part) / d->slices * slice;
}

static bf_status partition_slices(void *arg, int worker, int64_t first, int64_t n) {
    const division *d = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) {
        int64_t part = i / d->slices, slice = i % d->slices;
        int64_t begin = slice_begin(d, part, slice),
                length = slice_begin(d, part, slice + 1) - begin;
        d->below[i] = d->s->word->partition(word_at(d, begin), length, d->pivots[part]);
    }
    return BF_OK;
}

/* Where the words of a part that are not below its pivot belong. */
static int64_t middle_of(const division *d, int64_t part) {
    int64_t middle = d->bounds[part];
    for (int64_t i = 0; i < d->slices; i++) middle += d->below[part * d->slices + i];
    return middle;
}

/* Words on the wrong side of a part's middle, slice after slice: those below the pivot, or the
 * others. */
typedef struct cursor {
    const division *d;
    int64_t part, middle;
    bool below;
    int64_t slice, at, end; /* this slice's */
} cursor;

/* Goes to the next slice that has such words. false: there is none. */
static bool next_slice(cursor *c) {
    for (c->at = c->end; c->at == c->end; c->slice++) {
        if (c->slice == c->d->slices) return false;
        int64_t begin = slice_begin(c->d, c->part, c->slice);
        int64_t end = slice_begin(c->d, c->part, c->slice + 1);
        int64_t split = begin + c->d->below[c->part * c->d->slices + c->slice];
        c->at = !c->below ? split : begin > c->middle ? begin : c->middle;
        c->end = c->below ? split : end < c->middle ? end : c->middle;
        if (c->end < c->at) c->end = c->at;
    }
    return true;
}

/* Passes over n words. */
static void pass_words(cursor *c, int64_t n) {
    while (n > 0 || c->at == c->end) {
        int64_t passed = c->end - c->at < n ? c->end - c->at : n;
        c->at += passed;
        n -= passed;
        if (c->at == c->end && !next_slice(c)) return;
    }
}

static void exchange(char *a, char *b, int64_t bytes) {
    char kept[1 << 10];
    while (bytes > 0) {
        size_t n = bytes < (int64_t)sizeof kept ? (size_t)bytes : sizeof kept;
        memcpy(kept, a, n);
        memcpy(a, b, n);
        memcpy(b, kept, n);
        a += n;
        b += n;
        bytes -= (int64_t)n;
    }
}

static int64_t count_misplaced(const division *d, int64_t part, int64_t middle) {
    cursor c = {d, part, middle, true, 0, 0, 0};
    int64_t n = 0;
    while (next_slice(&c)) n += c.end - c.at;
    return n;
}

/* Exchanges a share of a part's misplaced words. */
static void exchange_share(const division *d, int64_t part, int64_t share) {
    const int64_t middle = middle_of(d, part), n = count_misplaced(d, part, middle);
    const int64_t first = n / d->workers * share;
    int64_t left = (share == d->workers - 1 ? n : first + n / d->workers) - first;
    cursor low = {d, part, middle, true, 0, 0, 0}, high = {d, part, middle, false, 0, 0, 0};
    pass_words(&low, first);
    pass_words(&high, first);
    while (left > 0) {
        int64_t run = low.end - low.at < high.end - high.at ? low.end - low.at : high.end - high.at;
        if (run > left) run = left;
        exchange(word_at(d, low.at), word_at(d, high.at), run * d->s->word_bytes);
        pass_words(&low, run);
        pass_words(&high, run);
        left -= run;
    }
}

static bf_status exchange_shares(void *arg, int worker, int64_t first, int64_t n) {
    const division *d = arg;
    (void)worker;
    for (int64_t i = first; i < first + n; i++) exchange_share(d, i / d->workers, i % d->workers);
    return BF_OK;
}

/* Partitions each part in two. */
static bf_status double_parts(bf_context *context, division *d) {
    d->slices = d->parts < d->workers ? SLICES * d->workers / d->parts : 1;
    for (int64_t i = 0; i < d->parts; i++) {
        int64_t n = part_length(d, i);
        d->pivots[i] = n > 0 ? d->s->word->pivot(word_at(d, d->bounds[i]), n) : 0;
    }
    bf_status status =
        bf_parallel_watched(context, d->workers, d->parts * d->slices, 1, 0, partition_slices, d);
    if (status == BF_OK && d->slices > 1)
        status = bf_parallel_watched(context, d->workers, d->parts * d->workers, 1, 0,
                                     exchange_shares, d);
    if (status != BF_OK) return status;
    for (int64_t i = d->parts; i > 0; i--) { /* from the end: bounds are overwritten */
        int64_t middle = middle_of(d, i - 1);
        d->bounds[2 * i] = d->bounds[i];
        d->bounds[2 * i - 1] = middle;
    }
    d->parts *= 2;
    return BF_OK;
}

/* The scratch memory of workers, or, where there is not so much, of parts. */
static char *part_scratch(const division *d, int worker, int64_t begin) {
    bool of_parts = d->s->word->scratch_most > d->n / d->workers;
    int64_t first = of_parts ? begin : worker * d->s->word->scratch_most;
    return d->scratch + first * d->s->word_bytes;
}

static bf_status sort_parts(void *arg, int worker, int64_t first, int64_t n) {
    const division *d = arg;
    for (int64_t i = first; i < first + n; i++) {
        int64_t begin = d->bounds[i];
        d->s->word->sort(&d->s->code, word_at(d, begin), part_scratch(d, worker, begin),
                         part_length(d, i));
    }
    return BF_OK;
}

static bf_status divide(bf_context *context, division *d, int64_t bytes) {
    int64_t begin = 0, n = d->n;
    bf_status status = BF_OK;
    int64_t told = 0;
    if (d->from != d->words || !bf_order_is_place(&d->s->code, d->s->word_bytes)) {
        told = bytes / 4;
        status = bf_parallel_watched(context, d->workers, d->n, d->piece, told, make_words, d);
        if (status != BF_OK) return status;
        begin = gather_words(d, &n);
    }
    d->parts = 1;
    d->bounds[0] = begin;
    d->bounds[1] = begin + n;
    while (status == BF_OK && d->parts < d->most) status = double_parts(context, d);
    if (status != BF_OK) return status;
    return bf_parallel_watched(context, d->workers, d->parts, 1, bytes - told, sort_parts, d);
}

size_t bf_order_divide_bytes(const bf_context *context, const bf_order_sorter *s, int64_t n) {
    int workers = bf_order_workers(context, s->word_bytes, n);
    if (s->word->scratch_most <= n / workers && !bf_order_has_nans(&s->code, s->word_bytes))
        n = workers * s->word->scratch_most;
    return (size_t)(n * s->word_bytes);
}

bf_status bf_order_divide(bf_context *context, const bf_order_sorter *s, int64_t bytes,
                          const char *from, int64_t n, char *to, char *scratch) {
    division d = {.s = s, .from = from, .words = to, .scratch = scratch, .n = n};
    d.workers = bf_order_workers(context, s->word_bytes, n);
    plan_division(&d);
    if (!allocate_division(&d)) return bf_fail(context, BF_E_MEMORY, "no memory to sort");
    bf_status status = divide(context, &d, bytes);
    bf_free(d.live);
    return status;
}
