/* What holds for every call that uses a context: one thread at a time, and a small stack is enough.
 */
#include "tests/support/oracle.h"

#include "tests/runtime/calls.h"
#include "tests/support/unit.h"

#include "api/runtime/enter.h"

#include <pthread.h>
#include <stdio.h>

/* The first thing that went wrong: cmocka can be told on the main thread only. */
static char trouble[200];

static void expect_ok(bf_status status, bf_context *context, const char *what, const char *of) {
    if (status != BF_OK && *trouble == '\0')
        snprintf(trouble, sizeof trouble, "%s %s: %d: %s", what, of, (int)status,
                 bf_context_message(context));
}

static void call_all(world *w) {
    for (int i = 0; i < CONTEXT_CALLS; i++)
        expect_ok(context_calls[i].call(w), w->context, context_calls[i].name, "");
}

static void run_all(world *w) {
    call_all(w);
    assert_string_equal(trouble, "");
}

static world *make_world(const char *isa, int threads) {
    world *w = world_make(isa, threads);
    assert_non_null(w);
    return w;
}

/* ---- one thread at a time -------------------------------------------------------------------- */

TEST(a_context_in_use_refuses_every_call) {
    world *w = make_world(NULL, 1);
    run_all(w);
    strcpy(w->context->message, "the other thread's");
    assert_true(bf_enter(w->context));
    for (int i = 0; i < CONTEXT_CALLS; i++) {
        if (context_calls[i].call(w) != BF_E_ARGUMENT)
            fail_msg("%s enters a context in use", context_calls[i].name);
        assert_string_equal(bf_context_message(w->context), "the other thread's");
    }
    bf_leave(w->context, BF_OK);
    run_all(w);
    world_destroy(w);
}

/* The second context of calls that have two. */
TEST(both_contexts_are_entered) {
    world *a = make_world(NULL, 1), *b = make_world(NULL, 1);
    bf_table *copy = NULL;
    assert_int_equal(bf_groups_merge(a->groups, b->groups), BF_OK);
    assert_true(bf_enter(b->context));
    assert_int_equal(bf_groups_merge(a->groups, b->groups), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_merge(b->groups, a->groups), BF_E_ARGUMENT);
    assert_int_equal(bf_table_copy(a->context, b->table, &copy), BF_E_ARGUMENT);
    assert_null(copy);
    run_all(a); /* it was left again */
    bf_leave(b->context, BF_OK);
    run_all(b);
    world_destroy(a);
    world_destroy(b);
}

typedef struct rival {
    bf_context *context;
    const bf_array *array;
    double expected;
    int calls;
    bool wrong;
} rival;

static void *sum_often(void *arg) {
    rival *r = arg;
    for (int i = 0; i < r->calls; i++) {
        double sum = -1;
        bf_status status = bf_sum_f64(r->context, r->array->data, r->array->shape[0], &sum);
        r->wrong |= status == BF_OK ? sum != r->expected : status != BF_E_ARGUMENT;
    }
    return NULL;
}

/* Two threads, on a context with a pool: each gets its own sum, or is refused. */
TEST(a_context_used_by_two_threads_gives_no_wrong_sum) {
    enum { MANY = 1 << 19, FEW = 1000 };
    double *x = malloc(MANY * sizeof *x);
    pthread_t thread;
    for (int i = 0; i < MANY; i++) x[i] = 1;
    OWN(bf_context) *c = make_context(NULL, 2);
    bf_array all = bf_array_of(BF_F64, x, MANY), few = bf_array_of(BF_F64, x, FEW);
    rival rivals[] = {{c, &all, MANY, 20, false}, {c, &few, FEW, 20000, false}};
    assert_int_equal(pthread_create(&thread, NULL, sum_often, &rivals[1]), 0);
    sum_often(&rivals[0]);
    pthread_join(thread, NULL);
    assert_false(rivals[0].wrong || rivals[1].wrong);
    double sum;
    assert_int_equal(bf_sum_f64(c, x, MANY, &sum), BF_OK);
    assert_true(sum == MANY);
    free(x);
}

/* ---- a dtype that few calls take ---------------------------------------------------------------
 */

/* Whether a call that has no options for the dtype of its numbers takes those of 128 bits. */
static bool takes_i128(const char *name) {
    static const char *const taking[] = {"bf_reduce_pair",
                                         "bf_reduce_pair_shards",
                                         "bf_cov_matrix",
                                         "bf_cov_matrix_weighted",
                                         "bf_reduce",
                                         "bf_reduce_shards",
                                         "bf_dot",
                                         "bf_dot_shards",
                                         "bf_describe",
                                         "bf_array_to_arrow",
                                         "bf_join",
                                         "bf_mode",
                                         "bf_unique",
                                         "bf_is_sorted",
                                         "bf_median_groups",
                                         "bf_median_axes",
                                         "bf_quantile_groups",
                                         "bf_quantile_axes",
                                         "bf_sort_rows",
                                         "bf_scan",
                                         "bf_scan_async",
                                         "bf_scan_segments_async",
                                         "bf_median_axes_async",
                                         "bf_quantile_axes_async"};
    for (size_t i = 0; i < sizeof taking / sizeof *taking; i++)
        if (strcmp(name, taking[i]) == 0) return true;
    return false;
}

/* Half as many elements of 16 bytes, or of an unknown dtype. */
static void set_dtype(world *w, bf_dtype dtype) {
    bf_array *const all[] = {&w->f64, &w->i64, &w->zeros, &w->out_f64, &w->out_i64};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        all[i]->dtype = dtype;
        all[i]->shape[0] = WORLD_N / 2;
    }
    w->f32 = w->u16 = w->bools = w->f64;
}

TEST(integers_of_128_bits_are_refused_where_nothing_takes_them) {
    enum { UNKNOWN = 99 };
    world *unknown = make_world(NULL, 1), *wide = make_world(NULL, 1);
    set_dtype(unknown, (bf_dtype)UNKNOWN);
    set_dtype(wide, BF_I128);
    for (int i = 0; i < CONTEXT_CALLS; i++) {
        const char *name = context_calls[i].name;
        const bf_status refused = context_calls[i].call(unknown);
        const bf_status found = context_calls[i].call(wide);
        const bool taken = found == BF_OK || found == BF_E_OVERFLOW;
        if (refused != BF_OK && taken != takes_i128(name))
            fail_msg("%s of i128: %d, of an unknown dtype: %d", name, found, refused);
    }
    world_destroy(unknown);
    world_destroy(wide);
}

#define REFUSED(call) assert_int_equal(call, BF_E_DTYPE)

TEST(objects_of_128_bits_are_refused_where_nothing_takes_them) {
    const bf_table_options table = BF_TABLE_OPTIONS(.key = BF_I128, .value = BF_F64);
    const bf_table_options values = BF_TABLE_OPTIONS(.key = BF_I64, .value = BF_I128);
    const bf_dtype three[] = {BF_I128, BF_I128, BF_I128};
    OWN(bf_context) *c = make_context(NULL, 1);
    void *none = NULL;
    bf_dtype result;
    bf_state *state = NULL;
    REFUSED(bf_states_create(c, BF_SUM, BF_I128, 1, (void *)&none));
    REFUSED(bf_histogram_create(c, BF_I128, NULL, (void *)&none));
    REFUSED(bf_table_create(c, &table, (void *)&none));
    REFUSED(bf_table_create(c, &values, (void *)&none));
    REFUSED(bf_state_create(c, BF_PROD, BF_I128, &state));
    for (bf_map_op op = BF_MAP_ADD; op <= BF_MAP_CAST; op++)
        assert_int_not_equal(bf_map_result_dtype(op, three, bf_map_arity(op), BF_F64, &result),
                             BF_OK);
    for (bf_reduction op = BF_SUM; op <= BF_PROD; op++)
        assert_int_equal(bf_reduce_dtype(op, BF_I128, NULL), BF_NONE);
    assert_null(none);
}

/* ---- a small stack --------------------------------------------------------------------------- */

enum { SMALL_STACK = 64 << 10 };

static bf_context *small_context;
static void *small_data, *small_out;

static void check(bf_status status, const char *what, bf_dtype dtype) {
    expect_ok(status, small_context, what, bf_dtype_name(dtype));
}

/* Sums, products and the others, of a dtype. */
static void reduce_everything(bf_dtype dtype) {
    bf_array a = bf_array_of(dtype, small_data, WORLD_N);
    bf_reduce_options options = BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP);
    bf_value value;
    for (bf_reduction op = BF_SUM; op <= BF_PROD; op++) {
        bf_status status = op == BF_DOT ? bf_dot(small_context, &a, &a, &options, &value)
                                        : bf_reduce(small_context, op, &a, &options, &value);
        if (status != BF_E_OVERFLOW) check(status, bf_reduction_name(op), dtype);
    }
}

static void count_and_group(bf_dtype dtype) {
    const bf_aggregate aggregate = {BF_VAR, dtype};
    bf_groups_options how = BF_GROUPS_OPTIONS(.key = dtype, .count = 1, .aggregates = &aggregate);
    bf_array a = bf_array_of(dtype, small_data, WORLD_N), few = bf_array_of(dtype, small_data, 100);
    bf_histogram_options bins = BF_HISTOGRAM_OPTIONS(.bins = BF_BINS_AUTO);
    const bf_array *values[] = {&a};
    OWN(bf_histogram) *h = NULL;
    OWN(bf_groups) *g = NULL;
    OWN(bf_pairs) *pairs = NULL;
    bf_status status = bf_histogram_of(small_context, &a, NULL, &bins, &h);
    if (status != BF_E_ARGUMENT) check(status, "histogram", dtype); /* a range beyond f64 */
    check(bf_groups_create(small_context, &how, &g), "groups", dtype);
    check(bf_groups_absorb(g, &a, values), "absorb", dtype);
    check(bf_groups_result(g, 0, NULL, small_out), "result", dtype);
    check(bf_join(small_context, &few, &few, 0, &pairs), "join", dtype);
}

static void compute_everything(bf_dtype dtype) {
    bf_array a = bf_array_of(dtype, small_data, WORLD_N);
    bf_map_options options = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    const bf_array *inputs[] = {&a, &a, &a};
    for (bf_map_op op = BF_MAP_ADD; op < BF_MAP_CAST; op++) {
        bf_dtype result, all[] = {dtype, dtype, dtype};
        if (bf_map_result_dtype(op, all, bf_map_arity(op), 0, &result) != BF_OK) continue;
        bf_array out = bf_array_of(result, small_out, WORLD_N);
        bf_status status = bf_map(small_context, op, inputs, bf_map_arity(op), &options, &out);
        if (status != BF_E_ARGUMENT) check(status, bf_map_name(op), dtype); /* divided by 0 */
    }
}

/* From memory that is walked backwards. */
static void cast_to_everything(bf_dtype dtype) {
    char *last = (char *)small_data + (WORLD_N - 1) * bf_dtype_size(dtype);
    bf_array turned = {last, dtype, 1, {WORLD_N}, {-1}};
    bf_map_options options = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_SATURATE);
    const bf_array *input = &turned;
    for (int to = 0; to < DTYPE_COUNT; to++) {
        bf_array out = bf_array_of(all_dtypes[to], small_out, WORLD_N);
        check(bf_map(small_context, BF_MAP_CAST, &input, 1, &options, &out), "cast", dtype);
    }
}

static void *use_little_stack(void *arg) {
    call_all(arg);
    for (int i = 0; i < DTYPE_COUNT; i++) {
        fill(all_dtypes[i], small_data, WORLD_N, KIND_FULL, 1);
        if (is_float(all_dtypes[i])) memset(small_data, 0xff, 8); /* NaNs, the longest way */
        reduce_everything(all_dtypes[i]);
        compute_everything(all_dtypes[i]);
        cast_to_everything(all_dtypes[i]);
        count_and_group(all_dtypes[i]);
    }
    return NULL;
}

TEST(a_stack_of_64_kib_is_enough) {
#if defined(ADDRESS_SANITIZER) || defined(THREAD_SANITIZER) || !defined(__OPTIMIZE__)
    skip(); /* frames are larger there */
#endif
    small_data = malloc(8 * WORLD_N);
    small_out = malloc(sizeof(bf_value) * WORLD_N);
    for (int i = 0; bf_isa_name(i); i++) {
        pthread_attr_t attributes;
        pthread_t thread;
        if (!bf_isa_available(i)) continue;
        world *w = make_world(bf_isa_name(i), 1);
        small_context = w->context;
        pthread_attr_init(&attributes);
        assert_int_equal(pthread_attr_setstacksize(&attributes, SMALL_STACK), 0);
        assert_int_equal(pthread_create(&thread, &attributes, use_little_stack, w), 0);
        pthread_join(thread, NULL);
        pthread_attr_destroy(&attributes);
        assert_string_equal(trouble, "");
        world_destroy(w);
    }
    free(small_data);
    free(small_out);
}

UNIT_TESTS(calls, NULL, NULL)
