/* Reductions of segments on a GPU: every result has the bits that the CPU's rules give, whatever
 * the lengths, the width, the dtype and the data; and wrong offsets are refused. */
#include "tests/axis/gpu_many.h"

typedef struct problem {
    many m;
    bf_array a, b, offsets;
    int64_t slots, rows, width;
} problem;

static char *offsets_on_host, *offsets_on_device;
static int64_t *wrong_on_device;

/* Lengths of about `mean`: all the same, any, or few long and many short ones. */
static int64_t pick_length(uint64_t *seed, int shape, int64_t mean) {
    switch (shape) {
    case 0: return mean;
    case 1: return pick(seed, 2 * mean + 1);
    case 2: return pick(seed, 3) ? 0 : pick(seed, 6 * mean + 1);
    default: return pick(seed, 200) ? pick(seed, mean + 1) : mean * (1 + pick(seed, 150));
    }
}

static void store_offset(const problem *p, int64_t s, int64_t x) {
    const size_t bytes = bf_dtype_size(p->offsets.dtype);
    store_bits(offsets_on_host + (size_t)s * bytes, bytes, (uint64_t)x);
}

static void fill_offsets(problem *p, uint64_t *seed, int64_t most, int64_t mean) {
    const int shape = (int)pick(seed, 4);
    int64_t at = pick(seed, 3) ? 0 : pick(seed, 30);
    most /= p->width;
    p->offsets = bf_array_of(pick(seed, 2) ? BF_I32 : BF_I64, offsets_on_host, p->slots + 1);
    if (p->slots * p->width > OUT / 16) p->slots = OUT / 16 / p->width;
    p->offsets.shape[0] = p->slots + 1;
    for (int64_t s = 0; s <= p->slots; s++) {
        store_offset(p, s, at);
        if (s == p->slots) break;
        const int64_t length = pick_length(seed, shape, mean);
        if (at + length <= most) at += length;
    }
    p->rows = at + (pick(seed, 3) ? 0 : pick(seed, 30));
    const size_t bytes = (size_t)(p->slots + 1) * bf_dtype_size(p->offsets.dtype);
    assert_int_equal(bf_memory_copy(gpu, offsets_on_device, offsets_on_host, bytes), BF_OK);
}

static bf_status reduce(const problem *p, bf_context *context, const bf_array *a, const bf_array *b,
                        const bf_array *offsets, bool queued, int64_t *wrong) {
    const many *m = &p->m;
    const bf_array *fits = m->has_fits ? &m->fits : NULL;
    if (bf_reduction_arrays(m->op) == 2)
        return bf_reduce_pair_segments(context, m->op, a, b, offsets, &m->options, &m->values,
                                       fits);
    return queued ? bf_reduce_segments_async(context, m->op, a, offsets, &m->options, &m->values,
                                             fits, m->later ? NULL : wrong)
                  : bf_reduce_segments(context, m->op, a, offsets, &m->options, &m->values, fits);
}

static bf_array rows_of(const problem *p, bf_dtype dtype, char *data, int64_t rows) {
    bf_array a = bf_array_of(dtype, data, rows);
    if (p->width == 1) return a;
    a.ndim = 2;
    a.shape[1] = p->width;
    a.strides[0] = p->width;
    a.strides[1] = 1;
    return a;
}

static void check_problem(problem *p, uint64_t *seed) {
    many *m = &p->m;
    const int offset = pick(seed, 4) ? 0 : 3;
    const bool host = !m->queued && pick(seed, 6) == 0;
    int64_t wrong = 7;
    bf_array a = rows_of(p, m->dtype, on_host, p->rows);
    bf_array b = rows_of(p, m->dtype, on_host + SECOND, p->rows), offsets = p->offsets;
    place_results(m, expected_memory, offset);
    m->expected = m->values.data;
    bf_status expected = reduce(p, cpu, &a, &b, &offsets, m->queued, &wrong);
    if (m->queued && !m->later) assert_int_equal(wrong, -1);
    if (!host) {
        a.data = on_device;
        b.data = on_device + SECOND;
        offsets.data = offsets_on_device;
    }
    place_results(m, host ? found_memory : results_on_device, offset);
    bf_status found = finish_call(reduce(p, gpu, &a, &b, &offsets, m->queued, wrong_on_device));
    if (!host && found == BF_OK) fetch_results(m, offset);
    m->found = found_memory + 64 + offset;
    compare(m, m->queued ? "queued" : host ? "host" : "device", found, expected);
    if (!m->queued || m->later || found != BF_OK) return;
    assert_int_equal(bf_memory_copy(gpu, &wrong, wrong_on_device, 8), BF_OK);
    assert_int_equal(wrong, -1);
}

static void choose_results(problem *p, uint64_t *seed) {
    fill_factors(p->m.dtype, p->rows * p->width, next_random(seed));
    pick_options(&p->m, seed);
    p->m.count = p->slots * p->width;
    p->m.values = rows_of(p, p->m.empty.dtype, NULL, p->slots);
    p->m.fits = rows_of(p, BF_BOOL, NULL, p->slots);
}

static void make_problem(problem *p, uint64_t *seed) {
    p->m.dtype = all_dtypes[pick(seed, DTYPE_COUNT)];
    p->m.op = any_op(seed);
    static const int64_t means[] = {1, 3, 8, 20, 64, 100, 500, 3000, 20000};
    const int64_t mean = means[pick(seed, 9)], most = is_small() ? 20000 : 400000;
    p->slots = 1 + pick(seed, most / mean + 2);
    p->width = pick(seed, 3) ? 1 : 1 + pick(seed, pick(seed, 2) ? 10 : 700);
    fill_offsets(p, seed, most, mean);
    choose_results(p, seed);
}

/* Long segments of all elements of which warps take equal parts. */
static void make_long_problem(problem *p, uint64_t *seed) {
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_BF16};
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR};
    static const int64_t spreads[] = {1000, 10000, 2000000};
    const int64_t most = 9500000, mean = 2100 + pick(seed, spreads[pick(seed, 3)]);
    p->m.dtype = dtypes[pick(seed, 4)];
    p->m.op = ops[pick(seed, 3)];
    p->slots = most / mean;
    p->width = 1;
    fill_offsets(p, seed, most, mean);
    choose_results(p, seed);
}

/* Floats whose exponents no window holds. */
static void make_any_exponent(problem *p, uint64_t *seed) {
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_BF16};
    static const bf_reduction ops[] = {BF_SUM, BF_MEAN, BF_VAR, BF_STD, BF_NORM, BF_DOT, BF_PROD};
    make_problem(p, seed);
    p->m.dtype = dtypes[pick(seed, 4)];
    p->m.op = pick(seed, 5) ? ops[pick(seed, 7)] : joint_ops[pick(seed, JOINTS)];
    choose_results(p, seed);
    const int64_t n = p->rows * p->width;
    for (int i = 0; i < 2; i++) {
        char *at = on_host + i * SECOND;
        fill(p->m.dtype, at, n, any_exponents(seed), next_random(seed));
        if (pick(seed, 2)) sprinkle(p->m.dtype, at, n, 300, next_random(seed));
        assert_int_equal(
            bf_memory_copy(gpu, on_device + i * SECOND, at, (size_t)n * bf_dtype_size(p->m.dtype)),
            BF_OK);
    }
}

static void check_case(uint64_t seed, void (*make)(problem *, uint64_t *)) {
    problem p = {0};
    const uint64_t name = seed;
    make(&p, &seed);
    snprintf(p.m.what, sizeof p.m.what, "%s of %s, seed %llu: %lld rows of %lld, %lld segments",
             bf_reduction_name(p.m.op), bf_dtype_name(p.m.dtype), (unsigned long long)name,
             (long long)p.rows, (long long)p.width, (long long)p.slots);
    check_problem(&p, &seed);
}

static void test_random_cases(void **unused) {
    (void)unused;
    const uint64_t cases = random_cases(1200, 240);
    for (uint64_t i = 0; i < cases; i++) check_case(first_seed() + i, make_problem);
}

static void test_long_segments(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 32 && !is_small(); i++) check_case(i, make_long_problem);
}

static void test_any_exponent(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < (is_small() ? 60 : 600); i++) check_case(i, make_any_exponent);
}

/* The first wrong offset is named, also later; a queued call else only says where it is. */
static void test_wrong_offsets(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 40; i++) {
        uint64_t seed = 77 + i;
        problem p = {0};
        int64_t wrong = 7;
        if (i % 8 == 0 && !is_small())
            make_long_problem(&p, &seed);
        else
            make_problem(&p, &seed);
        if (bf_reduction_arrays(p.m.op) == 2) {
            p.m.op = p.m.op == BF_DOT ? BF_SUM : BF_MEAN;
            p.m.options.weights = BF_WEIGHTS_FREQUENCY;
        }
        const int64_t at = pick(&seed, p.slots + 1);
        const size_t bytes = bf_dtype_size(p.offsets.dtype);
        store_offset(&p, at, pick(&seed, 2) ? -1 : p.rows + 1);
        assert_int_equal(
            bf_memory_copy(gpu, offsets_on_device, offsets_on_host, (size_t)(p.slots + 1) * bytes),
            BF_OK);
        bf_array a = rows_of(&p, p.m.dtype, on_device, p.rows), offsets = p.offsets;
        offsets.data = offsets_on_device;
        place_results(&p.m, results_on_device, 0);
        char message[400];
        p.m.has_fits = false;
        if (p.m.queued && !p.m.later) {
            assert_int_equal(reduce(&p, gpu, &a, &a, &offsets, true, wrong_on_device), BF_OK);
            assert_int_equal(bf_context_synchronize(gpu), BF_OK);
            assert_int_equal(bf_memory_copy(gpu, &wrong, wrong_on_device, 8), BF_OK);
            assert_int_equal(wrong, at);
            continue;
        }
        assert_int_equal(finish_call(reduce(&p, gpu, &a, &a, &offsets, p.m.later, NULL)),
                         BF_E_ARGUMENT);
        snprintf(message, sizeof message, "%s", bf_context_message(gpu));
        a.data = on_host;
        offsets.data = offsets_on_host;
        place_results(&p.m, expected_memory, 0);
        assert_int_equal(reduce(&p, cpu, &a, &a, &offsets, false, NULL), BF_E_ARGUMENT);
        assert_string_equal(message, bf_context_message(cpu));
    }
}

static int set_up_offsets(void **state) {
    void *offsets, *wrong;
    if (set_up_results(state) || bf_memory_allocate(gpu, OUT, &offsets) ||
        bf_memory_allocate(gpu, 8, &wrong))
        return -1;
    offsets_on_device = offsets;
    wrong_on_device = wrong;
    offsets_on_host = malloc(OUT);
    return offsets_on_host ? 0 : -1;
}

static int tear_down_offsets(void **state) {
    bf_memory_free(gpu, offsets_on_device);
    bf_memory_free(gpu, wrong_on_device);
    free(offsets_on_host);
    return tear_down_results(state);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases), cmocka_unit_test(test_long_segments),
        cmocka_unit_test(test_any_exponent), cmocka_unit_test(test_wrong_offsets)};
    return RUN_ON_GPU_WITH(tests, set_up_offsets, tear_down_offsets);
}
