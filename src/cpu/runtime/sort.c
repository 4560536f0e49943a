/* Sorting: all ranks by their highest digit, then the ranks of each digit apart. */
#include "cpu/runtime/sort.h"

#include "rules/key/rank.h"

enum {
    PIECE = 1 << 16,      /* keys that a worker takes at a time */
    KEYS_LEAST = 1 << 15, /* so many are worth a thread */
    DIGITS = 1 << BF_DIGIT_BITS
};

typedef struct piece_bits {
    uint64_t all[2], common[2];
} piece_bits;

/* Ranks are distributed by the highest digit in which they differ to scratch memory; then those of
 * each digit are sorted, and come back. */
struct bf_sorting {
    const bf_sort_loops *loops;
    bf_dtype key;
    int key_bytes, value_bytes;
    int64_t n, pieces;
    int shift; /* the digit's */
    char *keys, *values, *to_keys, *to_values;
    piece_bits *bits; /* the bits of each piece's ranks */
    uint32_t *counts; /* how many ranks of each piece have each digit */
    int64_t *at;      /* where they go */
    int64_t begin[DIGITS + 1];
};

static char *key_at(const bf_sorting *s, int64_t i) { return s->keys + i * s->key_bytes; }

static char *value_at(const bf_sorting *s, char *values, int64_t i) {
    return values == NULL ? NULL : values + i * s->value_bytes;
}

static bf_status rank_piece(void *arg, int worker, int64_t first, int64_t n) {
    const bf_sorting *s = arg;
    piece_bits *bits = &s->bits[first / PIECE];
    (void)worker;
    *bits = (piece_bits){{0, 0}, {~(uint64_t)0, ~(uint64_t)0}};
    s->loops->rank(s->key, n, key_at(s, first), bits->all, bits->common);
    return BF_OK;
}

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    const bf_sorting *s = arg;
    (void)worker;
    s->loops->count(key_at(s, first), n, s->shift, s->counts + first / PIECE * DIGITS);
    return BF_OK;
}

static bf_status distribute_piece(void *arg, int worker, int64_t first, int64_t n) {
    const bf_sorting *s = arg;
    (void)worker;
    s->loops->distribute(key_at(s, first), value_at(s, s->values, first), n, s->shift,
                         s->at + first / PIECE * DIGITS, s->to_keys, s->to_values);
    return BF_OK;
}

static void sort_digit(const bf_sorting *s, int64_t digit) {
    int64_t first = s->begin[digit], n = s->begin[digit + 1] - first;
    char *ranks = s->to_keys + first * s->key_bytes, *keys = key_at(s, first);
    char *values = value_at(s, s->to_values, first), *to = value_at(s, s->values, first);
    if (n == 0) return;
    if (!s->loops->sort(ranks, values, n, s->shift, keys, to)) {
        memcpy(keys, ranks, (size_t)(n * s->key_bytes));
        if (to != NULL) memcpy(to, values, (size_t)(n * s->value_bytes));
    }
    s->loops->unrank(s->key, n, keys);
}

static bf_status sort_digits(void *arg, int worker, int64_t first, int64_t n) {
    (void)worker;
    for (int64_t digit = first; digit < first + n; digit++) sort_digit(arg, digit);
    return BF_OK;
}

/* Returns the shift of the highest digit in which ranks differ. */
static int digit_shift(const bf_sorting *s) {
    piece_bits b = s->bits[0];
    for (int64_t i = 1; i < s->pieces; i++) {
        for (int w = 0; w < 2; w++) {
            b.all[w] |= s->bits[i].all[w];
            b.common[w] &= s->bits[i].common[w];
        }
    }
    int high = s->key_bytes == 16 ? bf_bit_length(b.all[1] & ~b.common[1]) : 0;
    int length = high > 0 ? 64 + high : bf_bit_length(b.all[0] & ~b.common[0]);
    return length > BF_DIGIT_BITS ? length - BF_DIGIT_BITS : 0;
}

static void place_digits(bf_sorting *s) {
    int64_t at = 0;
    for (int d = 0; d < DIGITS; d++) {
        s->begin[d] = at;
        for (int64_t i = 0; i < s->pieces; i++) {
            s->at[i * DIGITS + d] = at;
            at += s->counts[i * DIGITS + d];
        }
    }
    s->begin[DIGITS] = at;
}

void bf_sorting_destroy(bf_sorting *s) {
    if (s == NULL) return;
    bf_free(s->bits);
    bf_free(s->counts);
    bf_free(s->at);
    bf_free(s->to_keys);
    bf_free(s);
}

static bool allocate_sorting(bf_sorting *s) {
    size_t digits = (size_t)s->pieces * DIGITS;
    s->bits = bf_calloc((size_t)s->pieces, sizeof *s->bits);
    s->counts = bf_calloc(digits, sizeof *s->counts);
    s->at = bf_calloc(digits, sizeof *s->at);
    s->to_keys = bf_zeros((size_t)(s->n * (s->key_bytes + s->value_bytes)));
    if (s->to_keys != NULL && s->value_bytes > 0) s->to_values = s->to_keys + s->n * s->key_bytes;
    return s->bits != NULL && s->counts != NULL && s->at != NULL && s->to_keys != NULL;
}

bf_sorting *bf_sorting_create(bf_context *context, bf_dtype key, int value_bytes, int64_t n) {
    bf_sorting *s = bf_calloc(1, sizeof *s);
    if (s != NULL) {
        s->key = key;
        s->key_bytes = bf_key_bytes(key);
        s->value_bytes = value_bytes;
        s->loops = context->cpu->isa->sort_loops(s->key_bytes, value_bytes);
        s->n = n;
        s->pieces = (n - 1) / PIECE + 1;
        if (allocate_sorting(s)) return s;
    }
    bf_sorting_destroy(s);
    bf_fail(context, BF_E_MEMORY, "no memory to sort");
    return NULL;
}

static bf_status share_keys(bf_context *context, bf_sorting *s, int64_t bytes, bf_host_work *work) {
    int workers = bf_workers(context, s->n, KEYS_LEAST);
    return bf_parallel_watched(context, workers, s->n, PIECE, bytes, work, s);
}

static bf_status share_digits(bf_context *context, bf_sorting *s, int64_t bytes) {
    int workers = bf_workers(context, s->n, KEYS_LEAST);
    int piece = s->n < 2 * KEYS_LEAST ? DIGITS : 1;
    return bf_parallel_watched(context, workers, DIGITS, piece, bytes, sort_digits, s);
}

bf_status bf_sorting_run(bf_context *context, bf_sorting *s, char *keys, char *values) {
    int64_t bytes = s->n * (s->key_bytes + s->value_bytes);
    s->keys = keys;
    s->values = values;
    bf_status status = share_keys(context, s, bytes / 8, rank_piece);
    if (status != BF_OK) return status;
    s->shift = digit_shift(s);
    status = share_keys(context, s, bytes / 8, count_piece);
    if (status != BF_OK) return status;
    place_digits(s);
    status = share_keys(context, s, bytes / 4, distribute_piece);
    return status == BF_OK ? share_digits(context, s, bytes / 2) : status;
}

bf_status bf_sort_ranks(bf_context *context, int rank_bytes, int value_bytes, int64_t n,
                        char *ranks, char *values) {
    bf_dtype key = rank_bytes == 16 ? BF_PAIR : rank_bytes == 8 ? BF_U64 : BF_U32;
    bf_sorting *sorting = bf_sorting_create(context, key, value_bytes, n);
    if (sorting == NULL) return BF_E_MEMORY;
    bf_status status = bf_sorting_run(context, sorting, ranks, values);
    bf_sorting_destroy(sorting);
    return status;
}
