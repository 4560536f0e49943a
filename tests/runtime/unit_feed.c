/* Feeds: elements that are read while others are absorbed give the bits of one absorb, and a feed
 * that fails leaves no trace.
 * Builds: release, asan, tsan. */
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include <pthread.h>

enum { N = 400003 }; /* so many f64 fill three buffers and a part of one */

static double data[N], others[N];
static const int64_t sizes[] = {0, 1, 3, 4095, 131072, 131073, 262144, N};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* ---- readers --------------------------------------------------------------------------------- */

/* Reads two arrays in pieces of any length, and looks whether it is called as it should be. */
typedef struct script {
    const void *arrays[2];
    size_t element[2];
    int64_t count;    /* elements there are */
    int64_t fails_at; /* -1: never */
    int64_t answer;   /* at that element */
    int64_t next;
    uint64_t seed;
    bool wrong;
} script;

static int64_t read_script(void *arg, int64_t at, int64_t most, void *const to[]) {
    script *s = arg;
    const int64_t left = s->count - at;
    int64_t n = 1 + (int64_t)(next_random(&s->seed) % (uint64_t)most);
    if (next_random(&s->seed) % 4 == 0) n = most;
    if (n > left) n = left;
    s->wrong |= at != s->next || most <= 0;
    if (s->fails_at >= 0 && at + n > s->fails_at) n = s->fails_at - at;
    if (s->fails_at == at) return s->answer == INT64_MAX ? most + 1 : s->answer;
    for (int i = 0; i < 2; i++)
        if (to[i] != NULL)
            memcpy(to[i], (const char *)s->arrays[i] + (size_t)at * s->element[i],
                   (size_t)n * s->element[i]);
    s->next = at + n;
    return n;
}

/* Reads on several threads at once. */
static int64_t read_anywhere(void *arg, int64_t at, int64_t most, void *const to[]) {
    const script *s = arg;
    if (s->fails_at >= at && s->fails_at < at + most) return s->answer;
    const int64_t n = most > 1000 ? most - 999 : most;
    for (int i = 0; i < 2; i++)
        if (to[i] != NULL)
            memcpy(to[i], (const char *)s->arrays[i] + (size_t)at * s->element[i],
                   (size_t)n * s->element[i]);
    return n;
}

static script script_of(bf_dtype a, bf_dtype b, int64_t count) {
    return (script){.arrays = {data, others},
                    .element = {bf_dtype_size(a), bf_dtype_size(b)},
                    .count = count,
                    .fails_at = -1,
                    .seed = (uint64_t)count};
}

/* The ways of giving a feed: in memory, read, or one array of each kind. */
enum { IN_MEMORY, READ, READ_TO_THE_END, CONCURRENT, FIRST_READ, SECOND_READ, WAYS };

static bf_feed feed_of(script *s, int arrays, bf_dtype a, bf_dtype b, int way) {
    bf_feed feed = BF_FEED(.arrays = arrays, .dtype = {a, b}, .count = s->count,
                           .read = read_script, .arg = s);
    if (way == IN_MEMORY || way == SECOND_READ) feed.memory[0] = s->arrays[0];
    if (way == IN_MEMORY || way == FIRST_READ) feed.memory[1] = s->arrays[1];
    if (way == IN_MEMORY) feed.read = NULL;
    if (way == READ_TO_THE_END) feed.count = -1;
    if (way == CONCURRENT) feed.read = read_anywhere;
    feed.concurrent = way == CONCURRENT;
    return feed;
}

/* ---- states ---------------------------------------------------------------------------------- */

static bf_context *context;

static bf_state *make_state(bf_reduction op, bf_dtype dtype) {
    bf_state *s = NULL;
    assert_int_equal(bf_state_create(context, op, dtype, &s), BF_OK);
    return s;
}

static bf_state *state_of(bf_reduction op, bf_dtype dtype, int64_t n) {
    const bf_array a = bf_array_of(dtype, data, n), b = bf_array_of(dtype, others, n);
    bf_state *s = make_state(op, dtype);
    assert_int_equal(op == BF_DOT ? bf_state_absorb_pair(s, &a, &b) : bf_state_absorb(s, &a),
                     BF_OK);
    return s;
}

static void check_state(bf_reduction op, bf_dtype dtype, int64_t n) {
    const int arrays = op == BF_DOT ? 2 : 1;
    OWN(bf_state) *expected = state_of(op, dtype, n);
    for (int way = 0; way < (arrays == 2 ? WAYS : FIRST_READ); way++) {
        script s = script_of(dtype, dtype, n);
        bf_feed feed = feed_of(&s, arrays, dtype, dtype, way);
        OWN(bf_state) *got = make_state(op, dtype);
        assert_int_equal(bf_state_absorb_feed(got, &feed), BF_OK);
        assert_false(s.wrong);
        assert_same_form(got, expected);
    }
}

/* The kinds of state: exact, ordered, extreme, of pairs, of several. */
TEST(a_feed_gives_the_bits_of_one_absorb) {
    static const bf_reduction ops[] = {BF_SUM, BF_ARGMAX, BF_MIN, BF_DOT, BF_PROD, BF_DESCRIBE};
    fill(BF_F64, data, N, KIND_FULL, 1);
    fill(BF_F64, others, N, KIND_CANCEL, 2);
    for (int threads = CASE_STEP > 1 ? 3 : 1; threads <= 3; threads += 2) {
        context = make_context(NULL, threads);
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            for (int k = 0; k < SIZES; k += SEVERAL_THREADS ? SIZES - 1 : 1)
                check_state(ops[i], BF_F64, sizes[k]);
            for (int d = 0; d < DTYPE_COUNT; d += CASE_STEP)
                check_state(ops[i], all_dtypes[d], 140001);
        }
        bf_context_destroy(context);
    }
}

TEST(an_ordered_state_goes_on_from_where_it_was) {
    context = make_context(NULL, 2);
    fill(BF_F64, data, N, KIND_NARROW, 3);
    for (bf_reduction op = BF_ARGMIN; op <= BF_PROD; op++) {
        script s = script_of(BF_F64, BF_F64, N);
        bf_feed feed = feed_of(&s, 1, BF_F64, BF_F64, READ_TO_THE_END);
        const bf_array all = bf_array_of(BF_F64, data, N);
        OWN(bf_state) *x = make_state(op, BF_F64), *y = make_state(op, BF_F64);
        assert_int_equal(bf_state_seek(x, 12345), BF_OK);
        assert_int_equal(bf_state_seek(y, 12345), BF_OK);
        assert_int_equal(bf_state_absorb_feed(x, &feed), BF_OK);
        assert_int_equal(bf_state_absorb(y, &all), BF_OK);
        assert_same_form(x, y);
        s.next = 0;
        assert_int_equal(bf_state_absorb_feed(x, &feed), BF_OK);
        assert_int_equal(bf_state_absorb(y, &all), BF_OK);
        assert_same_form(x, y);
    }
    bf_context_destroy(context);
}

/* ---- failures -------------------------------------------------------------------------------- */

/* The feed fails with this status, and leaves the state as it was. */
static void check_refused(bf_reduction op, const bf_feed *feed, bf_status status) {
    OWN(bf_state) *s = state_of(op, BF_F64, 1000), *before = state_of(op, BF_F64, 1000);
    assert_int_equal(bf_state_absorb_feed(s, feed), status);
    assert_true(*bf_context_message(context) != '\0');
    assert_same_form(s, before);
}

TEST(a_failing_read_leaves_the_state_as_it_was) {
    enum { PLACE_STEP = CASE_STEP > 1 ? 2 : 1 };
    static const bf_reduction ops[] = {BF_SUM, BF_PROD, BF_DESCRIBE, BF_DOT};
    static const int64_t places[] = {0, 1, 131071, 131072, 300000, N};
    context = make_context(NULL, 2);
    fill(BF_F64, data, N, KIND_FULL, 1);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        for (size_t k = i % PLACE_STEP; k < sizeof places / sizeof *places; k += PLACE_STEP) {
            script s = script_of(BF_F64, BF_F64, N + 1);
            s.fails_at = places[k];
            s.answer = -1;
            bf_feed feed = feed_of(&s, ops[i] == BF_DOT ? 2 : 1, BF_F64, BF_F64, READ_TO_THE_END);
            s.count = N;
            check_refused(ops[i], &feed, BF_E_CANCELLED);
            feed.count = N + 1;
            s.next = 0;
            check_refused(ops[i], &feed, BF_E_CANCELLED);
            feed.read = read_anywhere;
            feed.concurrent = 1;
            check_refused(ops[i], &feed, BF_E_CANCELLED);
        }
    }
    bf_context_destroy(context);
}

TEST(a_feed_that_is_not_as_it_says_is_refused) {
    context = make_context(NULL, 1);
    script s = script_of(BF_F64, BF_F64, 200000);
    bf_feed feed = feed_of(&s, 1, BF_F64, BF_F64, READ);
    s.fails_at = 150000;
    check_refused(BF_SUM, &feed, BF_E_SHAPE); /* read returns 0 too early */
    s.answer = INT64_MAX;
    s.next = 0;
    check_refused(BF_SUM, &feed, BF_E_ARGUMENT); /* more than was asked for */
    s.answer = -2;
    s.next = 0;
    check_refused(BF_SUM, &feed, BF_E_CANCELLED);
    check_refused(BF_SUM, NULL, BF_E_ARGUMENT);
    check_refused(BF_DOT, &feed, BF_E_ARGUMENT);
    bf_feed bad = feed;
    bad.size = 0;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad = feed;
    bad.arrays = 2;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad = feed;
    bad.dtype[0] = BF_F32;
    check_refused(BF_SUM, &bad, BF_E_DTYPE);
    bad = feed;
    bad.concurrent = 2;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad.concurrent = 1;
    bad.count = -1;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad = feed;
    bad.read = NULL;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad.memory[0] = data;
    bad.count = -1;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad.count = -2;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad.count = ((int64_t)1 << 62) + 1;
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bad.count = (int64_t)1 << 62; /* beyond all memory */
    check_refused(BF_SUM, &bad, BF_E_ARGUMENT);
    bf_context_destroy(context);
}

/* ---- histograms ------------------------------------------------------------------------------ */

static bf_histogram *make_histogram(bf_dtype weights) {
    bf_histogram *h = NULL;
    const bf_histogram_options o =
        BF_HISTOGRAM_OPTIONS(.bins = 77, .range = 1, .lo = -1e3, .hi = 1e3, .weights = weights);
    assert_int_equal(bf_histogram_create(context, BF_F64, &o, &h), BF_OK);
    return h;
}

static void check_histogram(bf_dtype weights, int way) {
    const int arrays = weights == BF_NONE ? 1 : 2;
    const bf_array a = bf_array_of(BF_F64, data, N), w = bf_array_of(weights, others, N);
    OWN(bf_histogram) *expected = make_histogram(weights), *got = make_histogram(weights);
    assert_int_equal(bf_histogram_absorb(expected, &a, arrays == 2 ? &w : NULL), BF_OK);
    script s = script_of(BF_F64, weights, N);
    bf_feed feed = feed_of(&s, arrays, BF_F64, weights, way);
    assert_int_equal(bf_histogram_absorb_feed(got, &feed), BF_OK);
    assert_same_form(got, expected);
    s.next = 0;
    s.fails_at = 200000;
    s.answer = -1;
    if (way != IN_MEMORY) assert_int_equal(bf_histogram_absorb_feed(got, &feed), BF_E_CANCELLED);
    assert_same_form(got, expected);
    assert_false(s.wrong);
}

TEST(histograms_absorb_feeds) {
    context = make_context(NULL, 2);
    fill(BF_F64, data, N, KIND_NARROW, 4);
    fill(BF_F64, others, N, KIND_FULL, 5);
    for (int way = 0; way < FIRST_READ; way++) check_histogram(BF_NONE, way);
    for (int way = 0; way < WAYS; way++) check_histogram(BF_F64, way);
    for (int way = 0; way < WAYS; way++) check_histogram(BF_U8, way);
    bf_context_destroy(context);
}

/* ---- the watch ------------------------------------------------------------------------------- */

/* Counts ticks, and cancels at one of them. */
typedef struct witness {
    int ticks, cancel_at; /* 0: never */
    int64_t bytes;
    pthread_mutex_t lock;
    pthread_cond_t ticked;
} witness;

static int watch_tick(void *arg, int64_t bytes) {
    witness *w = arg;
    pthread_mutex_lock(&w->lock);
    assert_true(bytes >= w->bytes);
    w->bytes = bytes;
    const int ticks = ++w->ticks;
    pthread_cond_signal(&w->ticked);
    pthread_mutex_unlock(&w->lock);
    return w->cancel_at != 0 && ticks >= w->cancel_at;
}

static witness watch(int cancel_at) {
    return (witness){.cancel_at = cancel_at,
                     .lock = PTHREAD_MUTEX_INITIALIZER,
                     .ticked = PTHREAD_COND_INITIALIZER};
}

TEST(a_watch_cancels_a_feed) {
    context = make_context(NULL, 2);
    fill(BF_F64, data, N, KIND_FULL, 1);
    witness w = watch(0);
    script s = script_of(BF_F64, BF_F64, N);
    bf_feed feed = feed_of(&s, 1, BF_F64, BF_F64, READ_TO_THE_END);
    bf_state *sum = make_state(BF_SUM, BF_F64);
    assert_int_equal(bf_context_watch(context, &BF_WATCH(.tick = watch_tick, .arg = &w)), BF_OK);
    assert_int_equal(bf_state_absorb_feed(sum, &feed), BF_OK);
    assert_int_equal(w.bytes, N * sizeof(double));
    bf_state_destroy(sum);
    assert_int_equal(bf_context_watch(context, NULL), BF_OK);
    for (int k = 1; k <= 4; k++) {
        w = watch(k);
        s.next = 0;
        OWN(bf_state) *x = state_of(BF_PROD, BF_F64, 1000), *y = state_of(BF_PROD, BF_F64, 1000);
        bf_context_watch(context, &BF_WATCH(.tick = watch_tick, .arg = &w));
        assert_int_equal(bf_state_absorb_feed(x, &feed), BF_E_CANCELLED);
        assert_int_equal(w.ticks, k);
        assert_same_form(x, y);
        bf_context_watch(context, NULL);
    }
    bf_context_destroy(context);
}

/* Returns when the watch has ticked. */
static int64_t read_slowly(void *arg, int64_t at, int64_t most, void *const to[]) {
    witness *w = arg;
    (void)most;
    if (at > 0) return 0;
    pthread_mutex_lock(&w->lock);
    while (w->ticks == 0) pthread_cond_wait(&w->ticked, &w->lock);
    pthread_mutex_unlock(&w->lock);
    memset(to[0], 0, sizeof(double));
    return 1;
}

TEST(the_watch_is_asked_while_a_read_waits) {
    context = make_context(NULL, 1);
    for (int cancel = 0; cancel <= 1; cancel++) {
        witness w = watch(cancel);
        const bf_feed feed =
            BF_FEED(.arrays = 1, .dtype = {BF_F64}, .count = -1, .read = read_slowly, .arg = &w);
        OWN(bf_state) *sum = make_state(BF_SUM, BF_F64);
        bf_context_watch(context, &BF_WATCH(.tick = watch_tick, .arg = &w));
        assert_int_equal(bf_state_absorb_feed(sum, &feed), cancel ? BF_E_CANCELLED : BF_OK);
        bf_context_watch(context, NULL);
    }
    bf_context_destroy(context);
}

UNIT_TESTS(feed, NULL, NULL)
