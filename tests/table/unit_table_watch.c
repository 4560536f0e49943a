/* A watch cancels calls on tables, and joins: the table is as it was, and the call works when it is
 * made again.
 * Builds: release, asan (full), tsan (full). */
#include "tests/support/unit.h"
#include "tests/support/witness.h"
#include "tests/table/tables.h"

enum { ROWS = 160000 }; /* so many entries are sorted by partition even by one thread */
static uint64_t keys[ROWS], values[ROWS];
static bf_context *context;

static int fill_rows(void **unused) {
    (void)unused;
    uint64_t seed = 1;
    for (int i = 0; i < ROWS; i++) {
        keys[i] = next_random(&seed);
        values[i] = next_random(&seed);
    }
    return 0;
}

static bf_array rows_of(uint64_t *data, int64_t first, int64_t n) {
    return bf_array_of(BF_U64, data + first, n);
}

/* A table with some rows, and those that a call on it takes. */
typedef struct scenario {
    bf_duplicates duplicates;
    int64_t reserve, rows, erased; /* the first rows; of these, how many are erased again */
    int64_t first, n;              /* the rows of the call */
} scenario;

static bf_status insert_rows(bf_table *t, int64_t first, int64_t n) {
    const bf_array k = rows_of(keys, first, n), v = rows_of(values, first, n);
    return bf_table_insert(t, &k, &v);
}

static bf_status erase_rows(bf_table *t, int64_t first, int64_t n) {
    const bf_array k = rows_of(keys, first, n);
    return bf_table_erase(t, &k, NULL);
}

static bf_table *table_of(const scenario *s) {
    const bf_table_options o = BF_TABLE_OPTIONS(.key = BF_U64, .value = BF_U64,
                                                .duplicates = s->duplicates, .reserve = s->reserve);
    bf_table *t = NULL;
    assert_int_equal(bf_table_create(context, &o, &t), BF_OK);
    if (s->rows > 0) assert_int_equal(insert_rows(t, 0, s->rows), BF_OK);
    if (s->erased > 0) assert_int_equal(erase_rows(t, 0, s->erased), BF_OK);
    return t;
}

/* ---- calls, each on the rows of the scenario ------------------------------------------------- */

typedef bf_status call(bf_table *t, const scenario *s);

static bf_status insert(bf_table *t, const scenario *s) { return insert_rows(t, s->first, s->n); }
static bf_status erase(bf_table *t, const scenario *s) { return erase_rows(t, s->first, s->n); }

/* Every second row, so that rows are copied first. */
static bf_status insert_sparse(bf_table *t, const scenario *s) {
    const bf_array k = {keys + s->first, BF_U64, 1, {s->n / 2}, {2}};
    const bf_array v = {values + s->first, BF_U64, 1, {s->n / 2}, {2}};
    return bf_table_insert(t, &k, &v);
}

static bf_status find(bf_table *t, const scenario *s) {
    static uint64_t to[ROWS];
    static uint8_t there[ROWS];
    const bf_array k = rows_of(keys, s->first, s->n), v = rows_of(to, 0, s->n);
    const bf_array found = bf_array_of(BF_BOOL, there, s->n);
    bf_status status = bf_table_find(t, &k, &v, &found);
    for (int64_t i = 0; i < s->n && status == BF_OK; i++) {
        if (!there[i] || s->duplicates == BF_DUPLICATES_KEEP) continue;
        assert_true(to[i] == values[s->first + i]);
    }
    return status;
}

static bf_status count(bf_table *t, const scenario *s) {
    static int64_t counts[ROWS];
    const bf_array k = rows_of(keys, s->first, s->n), c = bf_array_of(BF_I64, counts, s->n);
    return bf_table_count(t, &k, &c);
}

static bf_status find_all(bf_table *t, const scenario *s) {
    static uint64_t all[ROWS];
    const bf_array k = rows_of(keys, s->first, s->n), v = rows_of(all, 0, s->n);
    bf_status status = bf_table_find_all(t, &k, &v);
    if (status == BF_OK) assert_memory_equal(all, values + s->first, (size_t)s->n * sizeof *all);
    return status;
}

static bf_status export(bf_table *t, const scenario *s) {
    static uint64_t k[2 * ROWS], v[2 * ROWS];
    (void)s;
    const bf_array to_keys = rows_of(k, 0, bf_table_size(t));
    const bf_array to_values = rows_of(v, 0, bf_table_size(t));
    bf_status status = bf_table_export(t, &to_keys, &to_values);
    for (int64_t i = 1; i < bf_table_size(t) && status == BF_OK; i++) assert_true(k[i - 1] <= k[i]);
    return status;
}

static bf_status copy_and_save(bf_table *t, const scenario *s) {
    (void)s;
    bf_table *copy = NULL, *loaded = NULL;
    size_t size = bf_table_save_size(t);
    void *saved = malloc(size);
    bf_status status = bf_table_copy(context, t, &copy);
    if (status == BF_OK) status = bf_table_save(copy, saved);
    if (status == BF_OK) status = bf_table_load(context, saved, size, &loaded);
    if (status != BF_OK) assert_null(loaded);
    free(saved);
    bf_table_destroy(copy);
    bf_table_destroy(loaded);
    return status;
}

static bf_status reserve(bf_table *t, const scenario *s) { return bf_table_reserve(t, 10 * s->n); }

static bf_status join(bf_table *t, const scenario *s) {
    (void)t;
    const bf_array a = rows_of(keys, s->first, s->n), b = rows_of(keys, 0, s->rows);
    bf_pairs *pairs = NULL;
    bf_status status = bf_join(context, &a, &b, 0, &pairs);
    if (status != BF_OK) assert_null(pairs);
    for (int64_t i = 0; i < bf_pairs_size(pairs); i++)
        assert_true(bf_pairs_a(pairs)[i] + s->first == bf_pairs_b(pairs)[i]);
    bf_pairs_destroy(pairs);
    return status;
}

/* ---- cancelled at every tick ----------------------------------------------------------------- */

/* All entries of a table. */
typedef struct contents {
    int64_t n;
    uint64_t *entries; /* keys, then values */
} contents;

static contents contents_of(bf_table *t) {
    contents c = {bf_table_size(t), NULL};
    c.entries = calloc((size_t)(2 * c.n + 1), sizeof *c.entries);
    const bf_array k = rows_of(c.entries, 0, c.n), v = rows_of(c.entries, c.n, c.n);
    assert_int_equal(bf_table_export(t, &k, &v), BF_OK);
    return c;
}

/* ThreadSanitizer sees no values: the other builds compare. */
static void assert_contents(bf_table *t, const contents *expected) {
    if (CASE_STEP > 1) return;
    contents c = contents_of(t);
    assert_int_equal(c.n, expected->n);
    assert_memory_equal(c.entries, expected->entries, (size_t)(2 * c.n) * sizeof *c.entries);
    free(c.entries);
}

/* Returns the ticks of the call. before and after: of the table, without a watch. */
static int watch_call(const scenario *s, call *act, int cancel_at, int threads,
                      const contents *before, const contents *after) {
    witness w;
    bf_table *t = table_of(s);
    begin_watch(&w, context, 0, cancel_at);
    bf_status status = act(t, s);
    end_watch(&w);
    if (cancel_at > 0 && (threads == 1 || w.ticks >= cancel_at)) {
        assert_int_equal(status, BF_E_CANCELLED);
        assert_int_equal(w.ticks, cancel_at);
        assert_string_equal(bf_context_message(context), "the watch returned 1");
        assert_contents(t, before);
        status = act(t, s);
    }
    assert_int_equal(status, BF_OK);
    assert_contents(t, after);
    bf_table_destroy(t);
    return w.ticks;
}

static void cancel_call(const scenario *s, call *act, int least_ticks) {
    for (int threads = 0; (threads = next_threads(threads)) > 0;) {
        context = context_of(threads);
        bf_table *t = table_of(s);
        contents before = contents_of(t);
        assert_int_equal(act(t, s), BF_OK);
        contents after = contents_of(t);
        bf_table_destroy(t);
        int ticks = COUNTS_TICKS ? watch_call(s, act, 0, threads, &before, &after) : least_ticks;
        assert_true(ticks >= (threads == 1 ? least_ticks : 1)); /* others may take all pieces */
        for (int k = 0; (k = next_cancel(k, ticks)) > 0;)
            watch_call(s, act, k, threads, &before, &after);
        free(before.entries);
        free(after.entries);
        bf_context_destroy(context);
    }
}

static const scenario empty = {BF_DUPLICATES_LAST, 0, 0, 0, 0, ROWS};

TEST(insertions_into_empty_tables) {
    cancel_call(&empty, insert, 10);
    cancel_call(&empty, insert_sparse, 4);
    cancel_call(&(scenario){BF_DUPLICATES_KEEP, 0, 0, 0, 0, ROWS}, insert, 10);
    cancel_call(&(scenario){BF_DUPLICATES_ADD, 2 * ROWS, 0, 0, 0, ROWS}, insert, 10);
    cancel_call(&(scenario){BF_DUPLICATES_FIRST, 0, ROWS, ROWS, 0, ROWS}, insert, 10);
}

TEST(insertions_of_few_keys) {
    static uint64_t all[ROWS];
    memcpy(all, keys, sizeof keys);
    for (int i = 0; i < ROWS; i++) keys[i] = all[i % 1000];
    cancel_call(&(scenario){BF_DUPLICATES_ADD, 0, 0, 0, 0, ROWS}, insert, 2);
    cancel_call(&(scenario){BF_DUPLICATES_ADD, 0, 5000, 0, 5000, ROWS - 5000}, insert, 2);
    cancel_call(&(scenario){BF_DUPLICATES_KEEP, 0, 5000, 0, 5000, ROWS - 5000}, insert, 1);
    memcpy(keys, all, sizeof keys);
}

/* A copy is kept; rows become a table of their own; there is room for all; dead nodes go. */
TEST(insertions_into_full_tables) {
    cancel_call(&(scenario){BF_DUPLICATES_LAST, 0, 50000, 0, 30000, 130000}, insert, 10);
    cancel_call(&(scenario){BF_DUPLICATES_KEEP, 0, 100000, 0, 80000, 80000}, insert, 10);
    cancel_call(&(scenario){BF_DUPLICATES_FIRST, 4 * ROWS, 50000, 0, 30000, 130000}, insert, 1);
    cancel_call(&(scenario){BF_DUPLICATES_KEEP, 0, ROWS, 100000, 0, 1000}, insert, 2);
}

TEST(erasures) {
    const scenario s = {BF_DUPLICATES_LAST, 0, ROWS, 0, 1000, 130000};
    cancel_call(&s, erase, 1);
}

TEST(looking_up) {
    const int fewer = DATA_SHARE > 1; /* the longer lists alone */
    for (int i = fewer; i < 2; i++) {
        const int64_t rows = ROWS / (i ? 1 + fewer : 4);
        const scenario s = {
            i ? BF_DUPLICATES_KEEP : BF_DUPLICATES_LAST, 0, rows, 0, 1000, rows - 1000};
        cancel_call(&s, find, 3);
        cancel_call(&s, count, 3);
        cancel_call(&s, find_all, 3);
        cancel_call(&s, export, 3);
        cancel_call(&s, copy_and_save, 3);
        cancel_call(&s, reserve, 3);
    }
}

TEST(joins) { cancel_call(&(scenario){BF_DUPLICATES_KEEP, 0, ROWS, 0, 10000, 100000}, join, 10); }

/* ---- what is told ---------------------------------------------------------------------------- */

/* Returns what the calls have worked through: the next one tells. */
static int64_t bytes_told(bf_table *t, const witness *w) {
    const bf_array none = rows_of(keys, 0, 1);
    assert_int_equal(bf_table_find(t, &none, NULL, NULL), BF_OK);
    int64_t bytes = w->bytes;
    assert_int_equal(bf_table_find(t, &none, NULL, NULL), BF_OK);
    assert_int_equal(w->bytes, bytes + 8);
    return bytes;
}

TEST(bytes_are_those_of_the_rows) {
    needs_no_threads();
    for (int threads = 1; threads <= 2; threads++) {
        witness w;
        context = context_of(threads);
        bf_table *t = table_of(&empty);
        begin_watch(&w, context, 0, 0);
        assert_int_equal(insert(t, &empty), BF_OK);
        assert_in_range(w.bytes, ROWS * 12, ROWS * 16);
        assert_int_equal(bytes_told(t, &w), ROWS * 16);
        begin_watch(&w, context, 0, 0);
        assert_int_equal(find(t, &empty), BF_OK);
        assert_int_equal(w.bytes, ROWS * 8);
        assert_int_equal(find_all(t, &empty), BF_OK);
        assert_int_equal(w.bytes, ROWS * 16);
        assert_int_equal(export(t, &empty), BF_OK);
        assert_int_equal(bytes_told(t, &w), ROWS * 32);
        end_watch(&w);
        bf_table_destroy(t);
        bf_context_destroy(context);
    }
}

/* A cancelled call's rest is not told by the next one. */
TEST(bytes_of_cancelled_calls_stay_untold) {
    needs_no_threads();
    witness w;
    context = context_of(1);
    bf_table *t = table_of(&empty);
    begin_watch(&w, context, 0, 1);
    assert_int_equal(insert(t, &empty), BF_E_CANCELLED);
    assert_int_equal(copy_and_save(t, &empty), BF_OK);
    assert_int_equal(bytes_told(t, &w), 0);
    end_watch(&w);
    bf_table_destroy(t);
    bf_context_destroy(context);
}

/* One thread sorts millions of rows in one piece, but in more of them if it is watched: entries of
 * one key keep their order. */
TEST(many_rows_stay_in_order) {
    enum { MANY_ROWS = 5000000 };
    static uint32_t k[MANY_ROWS], v[MANY_ROWS];
    needs_no_threads();
    for (uint32_t i = 0; i < MANY_ROWS; i++) {
        k[i] = i % 2000003 * 2654435761u;
        v[i] = i;
    }
    const bf_array to_keys = bf_array_of(BF_U32, k, MANY_ROWS);
    const bf_array to_values = bf_array_of(BF_U32, v, MANY_ROWS);
    const bf_table_options o =
        BF_TABLE_OPTIONS(.key = BF_U32, .value = BF_U32, .duplicates = BF_DUPLICATES_LAST);
    unsigned char *saved[2];
    size_t sizes[2];
    context = context_of(1);
    for (int i = 0; i < 2; i++) {
        witness w;
        OWN(bf_table) *t = NULL;
        assert_int_equal(bf_table_create(context, &o, &t), BF_OK);
        if (i) begin_watch(&w, context, 0, 0);
        assert_int_equal(bf_table_insert(t, &to_keys, &to_values), BF_OK);
        if (i) end_watch(&w);
        saved[i] = save_form(t, &sizes[i]);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(saved[0], saved[1], sizes[0]);
    free(saved[0]);
    free(saved[1]);
    bf_context_destroy(context);
}

UNIT_TESTS(table_watch, fill_rows, NULL)
