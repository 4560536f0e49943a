/* Short arrays, which are reduced at once: the same bits, and the same refusals, as of a state that
 * the rules have filled.
 * Builds: release, asan. */
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { LONGEST = 16400 };

static bf_context *rules;
static char first[LONGEST * 16 + 64], second[LONGEST * 16 + 64];

/* Some elements become NaNs, infinities or zeros of either sign; or all become -0. */
static void spoil(bf_dtype dtype, char *data, int64_t n, int how, uint64_t *rng) {
    const uint64_t sign = is_float(dtype) ? sign_bit(dtype) : 0;
    const uint64_t specials[] = {infinity_bits(dtype) + 1, infinity_bits(dtype),
                                 infinity_bits(dtype) | sign, 0, sign};
    const size_t bytes = bf_dtype_size(dtype);
    if (!is_float(dtype) || n == 0 || how == 0) return;
    for (int64_t i = 0; how == 1 && i < n; i++) store_bits(data + (size_t)i * bytes, bytes, sign);
    for (uint64_t i = 0; how > 1 && i < 1 + next_random(rng) % 3; i++) {
        const uint64_t which = how == 2 ? 3 + i % 2 : next_random(rng) % 5;
        store_bits(data + next_random(rng) % (uint64_t)n * bytes, bytes, specials[which]);
    }
}

static bf_reduce_options random_options(bf_reduction op, uint64_t *rng) {
    bf_reduce_options options = BF_REDUCE_OPTIONS(.ddof = (int)(next_random(rng) % 2));
    options.nan = (bf_nan_policy)(next_random(rng) % 3);
    const bool typed = op == BF_MIN || op == BF_MAX || op == BF_ARGMIN || op == BF_ARGMAX;
    if (!typed && next_random(rng) % 3 == 0) options.out_dtype = BF_F32;
    return options;
}

/* What a state says. */
static bf_status by_rules(bf_reduction op, const bf_array *a, const bf_array *b,
                          const bf_reduce_options *options, bf_value *value,
                          bf_description *description) {
    bf_state *state;
    bf_status status = bf_state_create(rules, op, a->dtype, &state);
    if (status != BF_OK) return status;
    assert_int_equal(op == BF_DOT ? bf_state_absorb_pair(state, a, b) : bf_state_absorb(state, a),
                     BF_OK);
    status = op == BF_DESCRIBE ? bf_state_description(state, options, description)
                               : bf_state_result(state, options, value);
    bf_state_destroy(state);
    return status;
}

static void check_call(bf_context *context, bf_reduction op, const bf_array *a, const bf_array *b,
                       const bf_reduce_options *options) {
    bf_value value = {.dtype = BF_NONE}, expected = {.dtype = BF_NONE};
    bf_description all = {.size = sizeof all}, known = {.size = sizeof known};
    bf_status found = op == BF_DOT        ? bf_dot(context, a, b, options, &value)
                      : op == BF_DESCRIBE ? bf_describe(context, a, options, &all)
                                          : bf_reduce(context, op, a, options, &value);
    bf_status right = by_rules(op, a, b, options, &expected, &known);
    if (found != right || memcmp(&value, &expected, sizeof value) != 0 ||
        memcmp(&all, &known, sizeof all) != 0)
        fail_msg("%s, ddof %d, nan %d: status %d and %a, not status %d and %a",
                 bf_reduction_name(op), options->ddof, (int)options->nan, (int)found, value.as.f64,
                 (int)right, expected.as.f64);
    if (found != BF_OK) assert_string_equal(bf_context_message(context), bf_context_message(rules));
}

static void check_length(bf_context *context, int64_t n, uint64_t *rng) {
    for (int d = 0; d < DTYPE_COUNT; d++) {
        const bf_dtype dtype = all_dtypes[d];
        const size_t offset = next_random(rng) % 3 * bf_dtype_size(dtype);
        const data_kind kind = (data_kind)(next_random(rng) % KIND_COUNT);
        const int how = (int)(next_random(rng) % 6);
        fill(dtype, second + offset, n, kind, next_random(rng));
        fill(dtype, first + offset, n, kind, next_random(rng));
        spoil(dtype, first + offset, n, how < 4 ? how : 0, rng);
        const bf_array a = bf_array_of(dtype, first + offset, n);
        const bf_array b = bf_array_of(dtype, second + offset, n);
        for (int op = BF_SUM; op <= BF_DESCRIBE; op++) {
            const bf_reduce_options options = random_options((bf_reduction)op, rng);
            check_call(context, (bf_reduction)op, &a, &b, &options);
        }
    }
}

TEST(short_arrays_have_the_results_of_states) {
    rules = make_context("generic", 1);
    for (int i = 0; bf_isa_name(i); i++) {
        if (!bf_isa_available(i)) continue;
        OWN(bf_context) *context = make_context(bf_isa_name(i), 1);
        uint64_t rng = 1;
        for (int64_t n = 0; n <= 130; n++) check_length(context, n, &rng);
        for (int k = 0; k < 60; k++)
            check_length(context, (int64_t)(next_random(&rng) % 2001), &rng);
        for (int64_t n = 16382; n < 16387; n++) check_length(context, n, &rng);
    }
    bf_context_destroy(rules);
}

/* A window for the first elements need not hold the others. */
TEST(what_a_sample_misses_is_found) {
    static double x[4096];
    static const double outliers[] = {0x1p300, 0x1p-300, 0x1p60, 0x1p-1074, NAN, -INFINITY};
    rules = make_context("generic", 1);
    OWN(bf_context) *context = make_context(NULL, 1);
    const bf_array a = bf_array_of(BF_F64, x, 4096);
    for (int k = 0; k < 6; k++) {
        fill(BF_F64, x, 4096, KIND_NARROW, (uint64_t)k);
        x[4000] = outliers[k];
        for (int op = BF_SUM; op <= BF_DESCRIBE; op++)
            check_call(context, (bf_reduction)op, &a, &a, &BF_REDUCE_OPTIONS(.ddof = 1));
    }
    bf_context_destroy(rules);
}

UNIT_TESTS(at_once, NULL, NULL)
