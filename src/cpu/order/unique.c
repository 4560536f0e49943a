/* The different keys of an array: runs of its sorted keys. */
#include "cpu/order/sorting.h"

enum { PIECE = 1 << 16, BATCH = 512 /* words whose different ones are written at a time */ };

typedef struct unique {
    bf_sorter s; /* of keys */
    const char *values;
    int64_t n, room;
    char *words, *scratch; /* keys as words; to sort them */
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

/* The first word of all has none before it, and is counted apart. */
static bf_status count_different(void *arg, int worker, int64_t first, int64_t n) {
    const unique *u = arg;
    const int64_t apart = first == 0 ? 1 : 0;
    (void)worker;
    u->first[first / PIECE] = apart + u->s.word->count_steps(word_at(u, first + apart), n - apart);
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

/* Turns where n > 0 runs begin into their lengths. */
static void count_runs(const unique *u, char *begins, int64_t n) {
    int64_t begin, next;
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

/* Finds the different ones of a batch of words, and where they begin. */
static int64_t find_different(const unique *u, int64_t first, int64_t n, char *words,
                              char *begins) {
    int64_t apart = 0;
    if (first == 0) {
        memcpy(words, u->words, (size_t)u->s.word_bytes);
        memset(begins, 0, 8);
        apart = 1;
    }
    return apart + u->s.word->steps(word_at(u, first + apart), n - apart, first + apart,
                                    words + apart * u->s.word_bytes, begins + 8 * apart);
}

/* Writes the keys of a batch, up to `room`, and where they begin, to place `at` and on. Returns
 * their number. */
static int64_t write_batch(const unique *u, int64_t first, int64_t n, int64_t at, int64_t room) {
    char words[8 * (BATCH + BF_ORDER_SLACK)], begins[8 * (BATCH + BF_ORDER_SLACK)];
    int64_t found = find_different(u, first, n, words, begins);
    if (found > room) found = room;
    if (u->keys != NULL) u->s.element->join(&u->s.code, words, found, u->keys + at * u->s.bytes);
    if (u->counts != NULL) memcpy(u->counts + 8 * at, begins, (size_t)(8 * found));
    return found;
}

static bf_status write_different(void *arg, int worker, int64_t first, int64_t n) {
    const unique *u = arg;
    const int64_t begin = u->first[first / PIECE], end = u->first[first / PIECE + 1];
    const int64_t stop = end < u->room ? end : u->room;
    (void)worker;
    for (int64_t at = begin, done = 0; at < stop && done < n; done += BATCH) {
        const int64_t batch = n - done < BATCH ? n - done : BATCH;
        at += write_batch(u, first + done, batch, at, stop - at);
    }
    if (u->counts != NULL && begin < stop) count_runs(u, u->counts + 8 * begin, stop - begin);
    return BF_OK;
}

static bf_status sort_words(bf_context *context, const unique *u) {
    const bf_dtype dtype = u->s.word_bytes == 4 ? BF_U32 : BF_U64;
    const bf_sorter s = bf_sorter_of(context, dtype, BF_ASCENDING);
    if (u->n > BF_ORDER_LONG)
        return bf_order_divide(context, &s, u->n * u->s.bytes / 2, u->words, u->n, u->words,
                               u->scratch);
    s.word->sort(&bf_order_no_code, u->words, u->scratch, u->n);
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
    unique u = {.s = bf_sorter_of_keys(context, dtype),
                .values = values,
                .n = n,
                .room = room,
                .keys = keys,
                .counts = counts};
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
