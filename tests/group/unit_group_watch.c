/* A watch cancels calls on groups: they are as they were, and the call works when it is made again.
 * Builds: release (full), asan (full), tsan (full). */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"
#include "tests/support/witness.h"

#include <stdlib.h>

/* More keys than a set of one partition holds, so that rows are sorted by partition. */
enum { ROWS = 340000, CHUNK = 270001, AGGREGATES = 1 };
static uint64_t keys[ROWS];
static double values[ROWS];
static const bf_aggregate aggregates[AGGREGATES] = {{BF_SUM, BF_F64}};
static bf_context *context;

static int fill_rows(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (int i = 0; i < ROWS; i++) {
        keys[i] = i % 10 == 0 ? next_random(&seed) % 50 : next_random(&seed);
        values[i] = (double)(int64_t)next_random(&seed) * 0x1p-40;
    }
    return 0;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* Groups of the first rows, and the rows of a call on them. Few groups: those of short keys. */
typedef struct scenario {
    bf_dtype key;
    int64_t rows, first, n;
    uint64_t seed; /* makes other groups, which are merged or taken out */
} scenario;

static bf_groups *groups_of(bf_dtype key, uint64_t seed) {
    bf_groups *g = NULL;
    const bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = key, .count = AGGREGATES, .aggregates = aggregates, .seed = seed);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

static bf_status absorb_rows(bf_groups *g, const scenario *s, int64_t first, int64_t n) {
    bf_array arrays[AGGREGATES];
    const bf_array *inputs[AGGREGATES];
    const bf_array k = bf_array_of(s->key, (char *)keys + (size_t)first * bf_dtype_size(s->key), n);
    for (int i = 0; i < AGGREGATES; i++) {
        arrays[i] = bf_array_of(aggregates[i].dtype, values + first, n);
        inputs[i] = &arrays[i];
    }
    return n > 0 ? bf_groups_absorb(g, &k, inputs) : BF_OK;
}

typedef bf_status call(bf_groups *g, bf_groups *other, const scenario *s);

static bf_status absorb(bf_groups *g, bf_groups *other, const scenario *s) {
    (void)other;
    return absorb_rows(g, s, s->first, s->n);
}

static bf_status merge(bf_groups *g, bf_groups *other, const scenario *s) {
    (void)s;
    return bf_groups_merge(g, other);
}

static bf_status retract(bf_groups *g, bf_groups *other, const scenario *s) {
    (void)s;
    return bf_groups_retract(g, other);
}

static bf_status list(bf_groups *g, bf_groups *other, const scenario *s) {
    static uint64_t k[ROWS];
    static int64_t c[ROWS];
    (void)other;
    const bf_array to_keys = bf_array_of(s->key, k, bf_groups_size(g));
    const bf_array to_counts = bf_array_of(BF_I64, c, bf_groups_size(g));
    return bf_groups_list(g, &to_keys, &to_counts);
}

/* A call that is cancelled writes nothing. */
static bf_status aggregate(bf_groups *g, bf_groups *other, const scenario *s) {
    static double to[ROWS], no[ROWS];
    (void)other, (void)s;
    memset(to, 0xa5, sizeof to);
    memset(no, 0xa5, sizeof no);
    const bf_array sums = bf_array_of(BF_F64, to, bf_groups_size(g));
    bf_status status = bf_groups_aggregate(g, 0, NULL, &sums, NULL);
    if (status != BF_OK) assert_memory_equal(to, no, sizeof to);
    return status;
}

static bf_status save_and_load(bf_groups *g, bf_groups *other, const scenario *s) {
    bf_groups *loaded = NULL;
    size_t size = 0;
    (void)other, (void)s;
    bf_status status = bf_groups_save_size(g, &size);
    void *saved = malloc(size + 1);
    if (status == BF_OK) status = bf_groups_save(g, saved);
    if (status == BF_OK) status = bf_groups_load(context, saved, size, &loaded);
    if (status != BF_OK) assert_null(loaded);
    free(saved);
    bf_groups_destroy(loaded);
    return status;
}

/* ---- cancelled at every tick ----------------------------------------------------------------- */

/* All that groups tell: keys, counts, and sums. */
typedef struct contents {
    int64_t n, rows;
    uint64_t *words;
} contents;

static contents contents_of(bf_groups *g, bf_dtype key) {
    contents c = {bf_groups_size(g), bf_groups_rows(g), NULL};
    c.words = calloc((size_t)(3 * c.n + 1), sizeof *c.words);
    const bf_array k = bf_array_of(key, c.words, c.n);
    const bf_array counts = bf_array_of(BF_I64, c.words + c.n, c.n);
    const bf_array sums = bf_array_of(BF_F64, c.words + 2 * c.n, c.n);
    assert_int_equal(bf_groups_list(g, &k, &counts), BF_OK);
    assert_int_equal(bf_groups_aggregate(g, 0, NULL, &sums, NULL), BF_OK);
    return c;
}

/* ThreadSanitizer sees no values: the other builds compare. */
static void assert_contents(bf_groups *g, bf_dtype key, const contents *expected) {
    if (CASE_STEP > 1) return;
    contents c = contents_of(g, key);
    assert_int_equal(c.n, expected->n);
    assert_int_equal(c.rows, expected->rows);
    assert_memory_equal(c.words, expected->words, (size_t)(3 * c.n) * sizeof *c.words);
    free(c.words);
}

/* Returns the ticks of the call. before and after: of the groups. */
static int watch_call(const scenario *s, call *act, int cancel_at, int threads, contents *before,
                      contents *after) {
    witness w;
    bf_groups *g = groups_of(s->key, 0), *other = groups_of(s->key, s->seed);
    assert_int_equal(absorb_rows(g, s, 0, s->rows), BF_OK);
    assert_int_equal(absorb_rows(other, s, s->first, s->n), BF_OK);
    if (before->words == NULL) *before = contents_of(g, s->key);
    contents others = {0};
    if (cancel_at > 0 && CASE_STEP == 1) others = contents_of(other, s->key);
    begin_watch(&w, context, 0, cancel_at);
    bf_status status = act(g, other, s);
    end_watch(&w);
    if (cancel_at > 0 && (threads == 1 || w.ticks >= cancel_at)) {
        assert_int_equal(status, BF_E_CANCELLED);
        assert_int_equal(w.ticks, cancel_at);
        assert_string_equal(bf_context_message(context), "the watch returned 1");
        assert_contents(g, s->key, before);
        assert_contents(other, s->key, &others);
        status = act(g, other, s);
    }
    assert_int_equal(status, BF_OK);
    if (after->words == NULL)
        *after = contents_of(g, s->key);
    else
        assert_contents(g, s->key, after);
    free(others.words);
    bf_groups_destroy(g);
    bf_groups_destroy(other);
    return w.ticks;
}

static void cancel_call(const scenario *s, call *act, int least_ticks) {
    contents before = {0}, after = {0};
    for (int threads = 0; (threads = next_threads(threads)) > 0;) {
        context = make_context(NULL, threads);
        int ticks = COUNTS_TICKS ? watch_call(s, act, 0, threads, &before, &after) : least_ticks;
        assert_true(ticks >= (threads == 1 ? least_ticks : 1)); /* others may take all pieces */
        for (int k = 0; (k = next_cancel(k, ticks)) > 0;)
            watch_call(s, act, k, threads, &before, &after);
        bf_context_destroy(context);
    }
    free(before.words);
    free(after.words);
}

static const scenario few = {BF_U8, 100, 100, ROWS - 100, 0};
static const scenario crowd = {BF_U64, 0, 0, ROWS, 0};
static const scenario many = {BF_U64, CHUNK, CHUNK, ROWS - CHUNK, 7};

TEST(rows_are_absorbed) {
    cancel_call(&few, absorb, 10);
    cancel_call(&crowd, absorb, 100);
    cancel_call(&many, absorb, 100);
}

TEST(groups_are_merged_and_taken_out) {
    cancel_call(&many, merge, 100);
    cancel_call(&(scenario){BF_U64, CHUNK, 1000, ROWS - 1000, 7}, merge, 100);
    cancel_call(&(scenario){BF_U64, 20000, 10000, 10000, 7}, retract, 10);
}

TEST(groups_are_listed) {
    cancel_call(&many, list, 100);
    cancel_call(&many, aggregate, 10);
    cancel_call(&(scenario){BF_U64, 20000, 0, 10, 0}, save_and_load, 10);
}

/* ---- what is told ---------------------------------------------------------------------------- */

TEST(bytes_are_those_of_the_rows) {
    needs_no_threads();
    for (int threads = 1; threads <= 2; threads++) {
        witness w;
        context = make_context(NULL, threads);
        bf_groups *g = groups_of(BF_U64, 0);
        begin_watch(&w, context, 0, 0);
        assert_int_equal(absorb(g, NULL, &crowd), BF_OK);
        const int64_t absorbed = (int64_t)ROWS * (8 + 8), n = bf_groups_size(g);
        assert_in_range(w.bytes, absorbed / 2, absorbed);
        begin_watch(&w, context, 0, 0);
        assert_int_equal(list(g, NULL, &crowd), BF_OK);
        assert_int_equal(w.bytes, 16 * n);
        assert_int_equal(aggregate(g, NULL, &crowd), BF_OK);
        assert_int_equal(w.bytes, 24 * n);
        assert_int_equal(absorb(g, NULL, &crowd), BF_OK);
        assert_int_equal(list(g, NULL, &crowd), BF_OK);
        assert_int_equal(w.bytes, 24 * n + absorbed + 16 * n);
        end_watch(&w);
        bf_groups_destroy(g);
        bf_context_destroy(context);
    }
}

UNIT_TESTS(group_watch, fill_rows, NULL)
