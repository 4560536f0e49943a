/* The different keys of an array: runs of its sorted keys. */
#include "cpu/order/sorting.h"

#include "rules/key/rank.h"

enum { PIECE = 1 << 16 };

typedef struct unique {
    bf_sorter s; /* of keys */
    const char *values;
    int64_t n, room;
    char *words, *scratch; /* keys as words; different ones */
    char *keys, *counts;   /* NULL: none */
    int64_t *first;        /* of each piece, and behind the last one: the key that it begins with */
} unique;

static const char *word_at(const unique *u, int64_t i) { return u->words + i * u->s.word_bytes; }

static bf_status make_words(void *arg, int worker, int64_t first, int64_t n) {
    const unique *u = arg;
    (void)worker;
    u->s.element->keys(&u->s.code, u->values + first * u->s.bytes, n,
                       u->words + first * u->s.word_bytes);
    return BF_OK;
}

/* Writes up to `room` different words of a piece, and where they begin. Returns their number. */
static int64_t find_different(const unique *u, int64_t first, int64_t n, int64_t room, char *to,
                              char *begins) {
    const char *before = first > 0 ? word_at(u, first - 1) : NULL;
    return u->s.word->different(word_at(u, first), n, before, first, room, to, begins);
}

static bf_status count_different(void *arg, int worker, int64_t first, int64_t n) {
    const unique *u = arg;
    (void)worker;
    u->first[first / PIECE] = find_different(u, first, n, 0, NULL, NULL);
    return BF_OK;
}

/* The end of the run of equal words that begins at `begin`. */
static int64_t run_end(const unique *u, int64_t begin) {
    const size_t bytes = (size_t)u->s.word_bytes;
    int64_t low = begin + 1, high = u->n;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (memcmp(word_at(u, middle), word_at(u, begin), bytes) == 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Turns where n runs begin into their lengths. */
static void count_runs(const unique *u, char *begins, int64_t n) {
    int64_t begin, next;
    if (n == 0) return;
    memcpy(&begin, begins, 8);
    for (int64_t i = 0; i < n; i++) {
        if (i + 1 < n)
            memcpy(&next, begins + 8 * (i + 1), 8);
        else
            next = run_end(u, begin);
        int64_t count = next - begin;
        memcpy(begins + 8 * i, &count, 8);
        begin = next;
    }
}

static bf_status write_different(void *arg, int worker, int64_t first, int64_t n) {
    const unique *u = arg;
    int64_t at = u->first[first / PIECE], found = u->first[first / PIECE + 1] - at;
    int64_t room = u->room - at < found ? u->room - at : found;
    char *to = u->keys == NULL ? NULL : u->scratch + at * u->s.word_bytes;
    char *counts = u->counts == NULL ? NULL : u->counts + 8 * at;
    (void)worker;
    if (room <= 0) return BF_OK;
    (void)find_different(u, first, n, room, to, counts);
    if (to != NULL) u->s.element->join(&u->s.code, to, room, u->keys + at * u->s.bytes);
    if (counts != NULL) count_runs(u, counts, room);
    return BF_OK;
}

static bf_status sort_words(bf_context *context, const unique *u) {
    const bf_dtype dtype = u->s.word_bytes == 4 ? BF_U32 : BF_U64;
    const bf_sorter s = bf_sorter_of(context, dtype, BF_ASCENDING);
    if (u->n > BF_ORDER_LONG)
        return bf_order_divide(context, &s, u->n * u->s.bytes / 2, u->words, u->n, u->words,
                               u->scratch);
    s.word->sort(u->words, u->scratch, u->n, false);
    return BF_OK;
}

static bf_status find_unique(bf_context *context, unique *u, int64_t *different) {
    const int workers = bf_workers(context, u->n, BF_ORDER_LEAST);
    const int64_t bytes = u->n * u->s.bytes / 6, pieces = (u->n - 1) / PIECE + 1;
    bf_status status = bf_parallel_watched(context, workers, u->n, PIECE, bytes, make_words, u);
    if (status == BF_OK) status = sort_words(context, u);
    if (status == BF_OK)
        status = bf_parallel_watched(context, workers, u->n, PIECE, bytes, count_different, u);
    if (status != BF_OK) return status;
    *different = 0;
    for (int64_t i = 0; i <= pieces; i++) {
        int64_t found = u->first[i];
        u->first[i] = *different;
        *different += found;
    }
    if (u->keys == NULL && u->counts == NULL) return BF_OK;
    return bf_parallel_watched(context, workers, u->n, PIECE, bytes, write_different, u);
}

bf_status bf_cpu_unique(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                        void *keys, void *counts, int64_t room, int64_t *different) {
    unique u = {.s = bf_sorter_of(context, dtype, BF_ASCENDING),
                .values = values,
                .n = n,
                .room = room,
                .keys = keys,
                .counts = counts};
    if (bf_dtype_is_float(dtype))
        u.s.code.nan_place = bf_format_nan(bf_format_of(dtype)) ^ u.s.code.other;
    const size_t pieces = (size_t)((n - 1) / PIECE + 1), bytes = (size_t)(n * u.s.word_bytes);
    u.first = bf_calloc(pieces + 1, sizeof *u.first);
    u.words = bf_order_alloc(2 * bytes);
    u.scratch = u.words + bytes;
    bf_status status = u.first == NULL || u.words == NULL
                           ? bf_fail(context, BF_E_MEMORY, "no memory to sort")
                           : find_unique(context, &u, different);
    bf_free(u.words);
    bf_free(u.first);
    return status;
}
