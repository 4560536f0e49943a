/* Finds runs of equal neighbouring keys: pieces count theirs, and then list them. */
#include "cpu/axis/axis.h"
#include "rules/key/rank.h"

enum {
    PIECE = 1 << 16,     /* keys that a worker takes at a time */
    KEYS_LEAST = 1 << 17 /* so many are worth a thread */
};

typedef struct search {
    bf_dtype key;
    const char *keys;
    int64_t *runs; /* how many each piece has; then how many are before it */
    int64_t *first;
    int64_t room;
} search;

/* Does a run begin with key i? */
static inline __attribute__((always_inline)) bool begins_run(const search *s, bf_dtype key,
                                                             int64_t i) {
    if (i == 0) return true;
    int bytes = bf_key_bytes(key);
    const char *at = s->keys + i * bytes;
    if (bytes == 16) return memcmp(at, at - bytes, (size_t)bytes) != 0;
    uint64_t a = bf_load_bits(at - bytes, bytes), b = bf_load_bits(at, bytes);
    return a != b && bf_group_key(key, a) != bf_group_key(key, b);
}

/* Counts the runs that begin in [first, first + n), of which `before` come before, and lists them.
 */
static inline __attribute__((always_inline)) int64_t
list_runs(const search *s, bf_dtype key, int64_t first, int64_t n, int64_t before, bool lists) {
    int64_t runs = before;
    for (int64_t i = first; i < first + n; i++) {
        if (!begins_run(s, key, i)) continue;
        if (lists && runs < s->room) memcpy(s->first + runs, &i, sizeof i);
        runs++;
    }
    return runs - before;
}

/* By the width of keys, for the compiler. */
static int64_t take_keys(const search *s, int64_t first, int64_t n, int64_t before, bool lists) {
    switch (s->key) {
    case BF_I32: return list_runs(s, BF_I32, first, n, before, lists);
    case BF_I64: return list_runs(s, BF_I64, first, n, before, lists);
    default: return list_runs(s, s->key, first, n, before, lists);
    }
}

static bf_status count_piece(void *arg, int worker, int64_t first, int64_t n) {
    search *s = arg;
    (void)worker;
    s->runs[first / PIECE] = take_keys(s, first, n, 0, false);
    return BF_OK;
}

static bf_status list_piece(void *arg, int worker, int64_t first, int64_t n) {
    search *s = arg;
    (void)worker;
    take_keys(s, first, n, s->runs[first / PIECE], true);
    return BF_OK;
}

bf_status bf_cpu_find_runs(bf_context *context, bf_dtype key, const void *keys, int64_t n,
                           int64_t *first, int64_t room, int64_t *runs) {
    search s = {.key = key, .keys = keys, .first = first, .room = room};
    int64_t pieces = (n - 1) / PIECE + 1, found = 0;
    int64_t bytes = n * bf_key_bytes(key);
    int workers = bf_workers(context, n, KEYS_LEAST);
    s.runs = bf_alloc((size_t)pieces * sizeof *s.runs);
    if (s.runs == NULL) return bf_fail(context, BF_E_MEMORY, "no memory to find runs");
    bf_status status = bf_parallel_watched(context, workers, n, PIECE, bytes / 2, count_piece, &s);
    for (int64_t p = 0; p < pieces && status == BF_OK; p++) {
        int64_t before = found;
        found += s.runs[p];
        s.runs[p] = before;
    }
    *runs = found;
    if (status == BF_OK && first != NULL)
        status = bf_parallel_watched(context, workers, n, PIECE, bytes / 2, list_piece, &s);
    bf_free(s.runs);
    return status;
}
