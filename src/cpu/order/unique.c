/* The different keys of an array: runs of its sorted keys. */
#include "cpu/order/sorting.h"

enum { PIECE = 1 << 16, BATCH = 512 /* words whose different ones are written at a time */ };

typedef struct unique {
    bf_order_sorter s; /* sorts keys */
    const char *values;
    int64_t n, room;
    char *words, *scratch; /* keys as words; to sort them */
    char *keys, *counts;   /* NULL: none */
    int64_t *first;        /* the number of the first key of each piece; behind the last one, how
                              many there are */
    bool alone;            /* one worker finds and writes them in one pass */
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

/* Finds the different words of a batch, and writes the keys for which there is room from place `at`
 * on, and where they begin. Returns their number, written or not. */
static int64_t write_batch(const unique *u, int64_t first, int64_t n, int64_t at) {
    char words[8 * (BATCH + BF_ORDER_SLACK)], begins[8 * (BATCH + BF_ORDER_SLACK)];
    const int64_t found = find_different(u, first, n, words, begins);
    const int64_t left = u->room > at ? u->room - at : 0, room = found < left ? found : left;
    if (u->keys != NULL) u->s.element->join(&u->s.code, words, room, u->keys + at * u->s.bytes);
    if (u->counts != NULL) memcpy(u->counts + 8 * at, begins, (size_t)(8 * room));
    return found;
}

/* A worker that is alone takes the pieces in their order, and notes where the next one begins. */
static bf_status write_different(void *arg, int worker, int64_t first, int64_t n) {
    const unique *u = arg;
    const int64_t begin = u->first[first / PIECE];
    int64_t at = begin;
    (void)worker;
    for (int64_t done = 0; done < n; done += BATCH)
        at += write_batch(u, first + done, n - done < BATCH ? n - done : BATCH, at);
    if (u->alone) u->first[first / PIECE + 1] = at;
    const int64_t end = at < u->room ? at : u->room;
    if (u->counts != NULL && begin < end) count_runs(u, u->counts + 8 * begin, end - begin);
    return BF_OK;
}

static bf_status sort_words(bf_context *context, const unique *u) {
    const bf_dtype dtype = u->s.word_bytes == 4 ? BF_U32 : BF_U64;
    const bf_order_sorter s = bf_order_sorter_of(context, dtype, BF_ASCENDING);
    if (u->n > BF_ORDER_LONG)
        return bf_order_divide(context, &s, u->n * u->s.bytes / 2, u->words, u->n, u->words,
                               u->scratch);
    s.word->sort(&bf_order_no_code, u->words, u->scratch, u->n);
    return BF_OK;
}

/* Counts the different words of all pieces, and turns the counts into where their keys go. */
static bf_status count_pieces(bf_context *context, const unique *u, int workers, int64_t bytes) {
    int64_t at = 0;
    bf_status status = bf_parallel_watched(context, workers, u->n, PIECE, bytes, count_different,
                                           (void *)(uintptr_t)u);
    for (int64_t i = 0; i <= (u->n - 1) / PIECE + 1; i++) {
        int64_t found = u->first[i];
        u->first[i] = at;
        at += found;
    }
    return status;
}

static bf_status find_unique(bf_context *context, unique *u, int64_t *different) {
    const int workers = bf_workers(context, u->n, BF_ORDER_LEAST);
    const int64_t bytes = u->n * u->s.bytes / 6;
    const bool writes = u->keys != NULL || u->counts != NULL;
    u->alone = workers == 1 && writes;
    bf_status status = bf_parallel_watched(context, workers, u->n, PIECE, bytes, make_words, u);
    if (status == BF_OK) status = sort_words(context, u);
    if (status == BF_OK && !u->alone) status = count_pieces(context, u, workers, bytes);
    if (status == BF_OK && writes)
        status = bf_parallel_watched(context, workers, u->n, PIECE, bytes, write_different, u);
    *different = u->first[(u->n - 1) / PIECE + 1];
    return status;
}

bf_status bf_cpu_unique(bf_context *context, bf_dtype dtype, const void *values, int64_t n,
                        void *keys, void *counts, int64_t room, int64_t *different) {
    if (dtype == BF_PAIR)
        return bf_order_unique_pairs(context, values, n, keys, counts, room, different);
    unique u = {.s = bf_order_sorter_of_keys(context, dtype),
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
