/* Watches: a call tells how far it is, and one that is cancelled leaves its objects as they were.
 * Builds: release, asan, tsan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"
#include "tests/support/witness.h"

#include <sys/mman.h>

static bf_context *context;

static void set_watch(witness *w, int64_t every_ns, int cancel_at) {
    begin_watch(w, context, every_ns, cancel_at);
}

enum { ROWS = 1000, COLUMNS = 400 };
static double matrix[ROWS][COLUMNS];

/* Every second column: not contiguous in any order, so that pieces are copied. */
enum { SPARSE = ROWS * COLUMNS / 2, SPARSE_BYTES = SPARSE * sizeof(double) };
static bf_array sparse(void) {
    return (bf_array){matrix, BF_F64, 2, {ROWS, COLUMNS / 2}, {COLUMNS, 2}};
}

static int make(void **unused) {
    (void)unused;
    context = make_context(NULL, 2);
    fill(BF_F64, matrix, ROWS * COLUMNS, KIND_FULL, 1);
    return 0;
}

static int destroy(void **unused) {
    (void)unused;
    bf_context_destroy(context);
    return 0;
}

/* ---- what is told ---------------------------------------------------------------------------- */

TEST(bytes_are_added_up_from_call_to_call) {
    const bf_array a = sparse();
    bf_value v;
    witness w;
    set_watch(&w, 0, 0);
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
        assert_int_equal(w.bytes, i * (int64_t)SPARSE_BYTES);
    }
    assert_true(w.ticks > 3 * 3);
    const int ticks = w.ticks;
    end_watch(&w);
    assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
    assert_int_equal(w.ticks, ticks);
    set_watch(&w, 0, 0);
    assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
    assert_int_equal(w.bytes, SPARSE_BYTES); /* from 0 again */
    end_watch(&w);
}

TEST(ticks_keep_their_distance) {
    const bf_array a = sparse();
    bf_value v;
    witness w;
    set_watch(&w, (int64_t)3600 * 1000000000, 0);
    assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
    assert_int_equal(w.ticks, 1);
    set_watch(&w, INT64_MAX, 0);
    assert_int_equal(bf_reduce(context, BF_PROD, &a, NULL, &v), BF_OK);
    assert_int_equal(w.ticks, 1);
    end_watch(&w);
}

TEST(contiguous_memory_has_pieces_too) {
    needs_no_threads();
    const int64_t bytes = (int64_t)300 << 20;
    void *zeros = mmap(NULL, (size_t)bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(zeros != MAP_FAILED);
    const bf_array a = bf_array_of(BF_I32, zeros, bytes / 4);
    bf_value v;
    witness w;
    set_watch(&w, 0, 0);
    assert_int_equal(bf_reduce(context, BF_MAX, &a, NULL, &v), BF_OK);
    assert_int_equal(w.bytes, bytes);
    assert_true(w.ticks >= 3);
    set_watch(&w, 0, 2);
    assert_int_equal(bf_reduce(context, BF_MAX, &a, NULL, &v), BF_E_CANCELLED);
    assert_true(w.bytes < bytes);
    end_watch(&w);
    munmap(zeros, (size_t)bytes);
}

TEST(a_watch_is_checked) {
    witness w;
    bf_watch watch = BF_WATCH(.tick = watch_tick, .arg = &w);
    watch.every_ns = -1;
    assert_int_equal(bf_context_watch(context, &watch), BF_E_ARGUMENT);
    watch = BF_WATCH(.tick = NULL);
    assert_int_equal(bf_context_watch(context, &watch), BF_E_ARGUMENT);
    watch = (bf_watch){.tick = watch_tick};
    assert_int_equal(bf_context_watch(context, &watch), BF_E_ARGUMENT);
    assert_string_equal(bf_status_string(BF_E_CANCELLED), "cancelled by the caller");
}

/* ---- what a cancelled call leaves ------------------------------------------------------------ */

enum { SAVED = 40000 };

static void check_state(bf_reduction op, const bf_array *a) {
    static unsigned char before[SAVED], after[SAVED];
    const bf_array few = bf_array_of(BF_F64, matrix, 5000);
    OWN(bf_state) *s = NULL;
    witness w;
    assert_int_equal(bf_state_create(context, op, BF_F64, &s), BF_OK);
    assert_int_equal(op == BF_DOT ? bf_state_absorb_pair(s, &few, &few) : bf_state_absorb(s, &few),
                     BF_OK);
    const size_t size = bf_state_save_size(s);
    bf_state_save(s, before);
    for (int k = 1; k <= 3; k++) {
        set_watch(&w, 0, k);
        assert_int_equal(op == BF_DOT ? bf_state_absorb_pair(s, a, a) : bf_state_absorb(s, a),
                         BF_E_CANCELLED);
        assert_string_equal(bf_context_message(context), "the watch returned 1");
        assert_int_equal(w.ticks, k);
        end_watch(&w);
        assert_int_equal(bf_state_save_size(s), size);
        bf_state_save(s, after);
        assert_memory_equal(before, after, size);
    }
}

TEST(a_cancelled_state_is_as_it_was) {
    const bf_array a = sparse();
    for (bf_reduction op = BF_SUM; op <= BF_DESCRIBE; op++) check_state(op, &a);
}

TEST(a_cancelled_histogram_is_as_it_was) {
    static unsigned char before[1 << 16], after[1 << 16];
    const bf_array a = sparse();
    const bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 60, .range = 1, .lo = -1e9, .hi = 1e9, .weights = BF_F64);
    OWN(bf_histogram) *h = NULL;
    witness w;
    assert_int_equal(bf_histogram_create(context, BF_F64, &o, &h), BF_OK);
    assert_int_equal(bf_histogram_absorb(h, &a, &a), BF_OK);
    assert_true(bf_histogram_save_size(h) <= sizeof before);
    bf_histogram_save(h, before);
    for (int k = 1; k <= 3; k++) {
        set_watch(&w, 0, k);
        assert_int_equal(bf_histogram_absorb(h, &a, &a), BF_E_CANCELLED);
        end_watch(&w);
        bf_histogram_save(h, after);
        assert_memory_equal(before, after, bf_histogram_save_size(h));
    }
}

TEST(a_watched_histogram_counts_the_same) {
    const bf_array a = bf_array_of(BF_F64, matrix, ROWS * COLUMNS);
    const bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 60, .range = 1, .lo = -1e9, .hi = 1e9);
    OWN(bf_histogram) *x = NULL, *y = NULL;
    witness w;
    assert_int_equal(bf_histogram_of(context, &a, NULL, &o, &x), BF_OK);
    set_watch(&w, 0, 0);
    assert_int_equal(bf_histogram_of(context, &a, NULL, &o, &y), BF_OK);
    assert_int_equal(w.bytes, sizeof matrix);
    end_watch(&w);
    assert_memory_equal(bf_histogram_counts(x), bf_histogram_counts(y), 60 * sizeof(int64_t));
}

TEST(a_map_is_cancelled) {
    static double out[SPARSE], expected[SPARSE];
    const bf_array a = sparse(), *const inputs[] = {&a, &a};
    const bf_array to = {out, BF_F64, 2, {ROWS, COLUMNS / 2}, {COLUMNS / 2, 1}};
    const bf_array same = {expected, BF_F64, 2, {ROWS, COLUMNS / 2}, {COLUMNS / 2, 1}};
    witness w;
    assert_int_equal(bf_map(context, BF_MAP_ADD, inputs, 2, NULL, &same), BF_OK);
    set_watch(&w, 0, 0);
    assert_int_equal(bf_map(context, BF_MAP_ADD, inputs, 2, NULL, &to), BF_OK);
    assert_int_equal(w.bytes, sizeof out);
    assert_memory_equal(out, expected, sizeof out);
    set_watch(&w, 0, 1);
    assert_int_equal(bf_map(context, BF_MAP_ADD, inputs, 2, NULL, &to), BF_E_CANCELLED);
    end_watch(&w);
}

TEST(a_picture_is_cancelled) {
    enum { SIDE = 400 };
    static uint16_t pixels[SIDE][2 * SIDE];
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.width = p.height = SIDE;
    bf_context *two = context;
    context = make_context(NULL, 1); /* if there were two threads, the other might count nearly all
                                        pixels */
    witness w;
    for (int step = 1; step <= 2; step++) { /* pixels where they belong, and by way of copies */
        const bf_array counts = {pixels, BF_U16, 2, {SIDE, SIDE}, {2 * SIDE, step}};
        set_watch(&w, 0, 0);
        assert_int_equal(bf_julia(context, &p, 0, 0, &counts), BF_OK);
        assert_int_equal(w.bytes, SIDE * SIDE * sizeof(uint16_t));
        assert_true(w.ticks > 0); /* the other thread may have taken all tiles but one */
        set_watch(&w, 0, 1);
        assert_int_equal(bf_julia(context, &p, 0, 0, &counts), BF_E_CANCELLED);
        end_watch(&w);
    }
    bf_context_destroy(context);
    context = two;
}

UNIT_TESTS(watch, make, destroy)
