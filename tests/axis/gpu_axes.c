/* Reductions along axes on a GPU: every result has the bits that the CPU's rules give, whatever the
 * shape, the strides, the dtype and the data. */
#include "tests/axis/gpu_many.h"

/* The array's layout on the host; on the GPU it is the same. */
typedef struct problem {
    many m;
    bf_array a, b;
    int axes[BF_MAX_DIMS], n;
} problem;

/* Lays `shape` out in some order of its dimensions, with gaps, backwards, or repeating memory.
 * Returns the elements that it spans; *first is where the first one is. */
static int64_t lay_out(bf_array *a, uint64_t *seed, bool plain, int64_t *first) {
    int order[BF_MAX_DIMS];
    int64_t span = 1;
    *first = 0;
    for (int d = 0; d < a->ndim; d++) order[d] = a->ndim - 1 - d;
    if (!plain)
        for (int d = a->ndim - 1; d > 0; d--) {
            int other = (int)pick(seed, d + 1), x = order[d];
            order[d] = order[other];
            order[other] = x;
        }
    for (int i = 0; i < a->ndim; i++) {
        const int d = order[i];
        const int64_t gap = plain || pick(seed, 4) ? 1 : 2;
        a->strides[d] = span * gap;
        if (!plain && pick(seed, 8) == 0)
            a->strides[d] = 0;
        else if (a->shape[d] > 0)
            span += (a->shape[d] - 1) * a->strides[d];
        if (!plain && pick(seed, 6) == 0) {
            *first += (a->shape[d] - 1) * a->strides[d];
            a->strides[d] = -a->strides[d];
        }
        if (gap > 1) span++;
    }
    return span;
}

/* Shapes for each of the ways that the GPU goes. */
static void pick_shape(problem *p, uint64_t *seed, int family) {
    bf_array *a = &p->a;
    const int64_t most = is_small() ? 20000 : 400000;
    p->n = 1;
    a->ndim = 2;
    switch (family) {
    case 0: /* a few dimensions */
        a->ndim = (int)pick(seed, 6);
        for (int d = 0; d < a->ndim; d++) a->shape[d] = pick(seed, 16) ? 1 + pick(seed, 7) : 0;
        p->n = 0;
        for (int d = 0; d < a->ndim; d++)
            if (pick(seed, 2)) p->axes[p->n++] = pick(seed, 2) ? d : d - a->ndim;
        break;
    case 1: /* short rows */
        a->shape[1] = 1 + pick(seed, 100);
        if (pick(seed, 2)) a->shape[1] *= 4; /* whole vectors */
        a->shape[0] = 1 + pick(seed, most / a->shape[1]);
        p->axes[0] = 1;
        break;
    case 2: /* rows for warps, if there are enough */
        a->shape[1] = 65 + pick(seed, 700);
        a->shape[0] = 1 + pick(seed, most / a->shape[1]);
        if (!is_small() && pick(seed, 2)) a->shape[0] += 1024;
        p->axes[0] = 1;
        break;
    case 3: /* long rows */
        a->shape[1] = 4000 + pick(seed, most);
        a->shape[0] = 1 + pick(seed, 3);
        p->axes[0] = 1;
        break;
    case 4: /* columns: few, and many */
    case 5:
        a->shape[1] = 1 + pick(seed, family == 4 ? 40 : 3000);
        a->shape[0] = 1 + pick(seed, most / a->shape[1]);
        p->axes[0] = 0;
        break;
    case 6: /* few rows of many columns */
        a->shape[1] = most / 50 + pick(seed, most / 10);
        a->shape[0] = 1 + pick(seed, most / a->shape[1]);
        p->axes[0] = 0;
        break;
    default: /* lines in the middle, or around it */
        a->ndim = 3;
        a->shape[2] = 1 + pick(seed, pick(seed, 2) ? 40 : 1500);
        a->shape[1] = 1 + pick(seed, 60);
        a->shape[0] = 1 + pick(seed, most / (a->shape[1] * a->shape[2]) + 1);
        p->axes[0] = (int)pick(seed, 2);
        if (pick(seed, 2)) {
            p->axes[0] = 0;
            p->axes[p->n++] = 2;
        }
    }
}

static void shape_results(problem *p) {
    bool reduced[BF_MAX_DIMS] = {false};
    for (int i = 0; i < p->n; i++)
        reduced[p->axes[i] < 0 ? p->axes[i] + p->a.ndim : p->axes[i]] = true;
    bf_array *v = &p->m.values;
    *v = (bf_array){.dtype = p->m.empty.dtype};
    p->m.count = 1;
    for (int d = 0; d < p->a.ndim; d++)
        if (!reduced[d]) {
            v->shape[v->ndim++] = p->a.shape[d];
            p->m.count *= p->a.shape[d];
        }
    int64_t stride = 1;
    for (int d = v->ndim - 1; d >= 0; d--) {
        v->strides[d] = stride;
        stride *= v->shape[d];
    }
    p->m.fits = *v;
    p->m.fits.dtype = BF_BOOL;
}

static bf_status reduce(const problem *p, bf_context *context, const bf_array *a, const bf_array *b,
                        bool queued) {
    const many *m = &p->m;
    const bf_array *fits = m->has_fits ? &m->fits : NULL;
    if (bf_reduction_arrays(m->op) == 2)
        return queued ? bf_reduce_pair_axes_async(context, m->op, a, b, p->axes, p->n, &m->options,
                                                  &m->values, fits)
                      : bf_reduce_pair_axes(context, m->op, a, b, p->axes, p->n, &m->options,
                                            &m->values, fits);
    return queued ? bf_reduce_axes_async(context, m->op, a, p->axes, p->n, &m->options, &m->values,
                                         fits)
                  : bf_reduce_axes(context, m->op, a, p->axes, p->n, &m->options, &m->values, fits);
}

static void check_problem(problem *p, uint64_t *seed, int64_t first_a, int64_t first_b) {
    many *m = &p->m;
    const int offset = pick(seed, 4) ? 0 : 3;
    const size_t bytes = bf_dtype_size(p->a.dtype);
    const bool host = !m->queued && pick(seed, 6) == 0;
    place_results(m, expected_memory, offset);
    m->expected = m->values.data;
    p->a.data = on_host + (size_t)first_a * bytes;
    p->b.data = on_host + SECOND + (size_t)first_b * bytes;
    bf_status expected = reduce(p, cpu, &p->a, &p->b, m->queued);
    bf_array a = p->a, b = p->b;
    if (!host) {
        a.data = on_device + (size_t)first_a * bytes;
        b.data = on_device + SECOND + (size_t)first_b * bytes;
        assert_int_equal(bf_memory_copy(gpu, results_on_device, expected_memory, 64), BF_OK);
    }
    place_results(m, host ? found_memory : results_on_device, offset);
    bf_status found = finish_call(reduce(p, gpu, &a, &b, m->queued));
    if (!host && found == BF_OK) fetch_results(m, offset);
    m->found = found_memory + 64 + offset;
    compare(m, m->queued ? "queued" : host ? "host" : "device", found, expected);
}

static void check_case(uint64_t seed, int family) {
    problem p = {.m.queues_pairs = true};
    const uint64_t name = seed;
    int64_t first_a, first_b, span;
    p.a.dtype = p.m.dtype = all_dtypes[pick(&seed, DTYPE_COUNT)];
    p.m.op = any_op(&seed);
    pick_shape(&p, &seed, family);
    p.b = p.a;
    const bool plain = pick(&seed, 2);
    span = lay_out(&p.a, &seed, plain, &first_a);
    int64_t other = lay_out(&p.b, &seed, plain, &first_b);
    fill_factors(p.a.dtype, span > other ? span : other, next_random(&seed));
    pick_options(&p.m, &seed);
    shape_results(&p);
    snprintf(p.m.what, sizeof p.m.what, "%s of %s, family %d, seed %llu, %d dims %lld %lld %lld",
             bf_reduction_name(p.m.op), bf_dtype_name(p.a.dtype), family, (unsigned long long)name,
             p.a.ndim, (long long)p.a.shape[0], (long long)p.a.shape[1], (long long)p.a.shape[2]);
    check_problem(&p, &seed, first_a, first_b);
}

static void test_random_cases(void **unused) {
    (void)unused;
    const uint64_t cases = random_cases(300, 60);
    for (int family = 0; family < 8; family++)
        for (uint64_t i = 0; i < (family == 0 ? 4 * cases : cases); i++)
            check_case((uint64_t)family * 1000003 + first_seed() + i, family);
}

/* Long rows of all elements of which warps take equal parts. */
static void check_long_rows(uint64_t seed) {
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_BF16};
    problem p = {.n = 1, .axes = {1}, .m.queues_pairs = true};
    const int64_t first = pick(&seed, 9), rows = 1 + pick(&seed, pick(&seed, 2) ? 4 : 900);
    p.a = (bf_array){.dtype = dtypes[pick(&seed, 4)], .ndim = 2};
    p.a.shape[0] = rows;
    p.a.shape[1] = p.a.strides[0] = (1 << 23) / rows + 1 + pick(&seed, 1500000 / rows);
    p.a.strides[1] = 1;
    p.b = p.a;
    p.m.dtype = p.a.dtype;
    p.m.op = pick(&seed, 2) ? BF_SUM : BF_MEAN;
    fill_factors(p.a.dtype, first + rows * p.a.shape[1], next_random(&seed));
    pick_options(&p.m, &seed);
    shape_results(&p);
    snprintf(p.m.what, sizeof p.m.what, "%s of %s, long rows: %lld of %lld",
             bf_reduction_name(p.m.op), bf_dtype_name(p.a.dtype), (long long)rows,
             (long long)p.a.shape[1]);
    check_problem(&p, &seed, first, first);
}

static void test_long_rows(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < 24 && !is_small(); i++) check_long_rows(i);
}

/* Floats whose exponents no window holds. */
static void fill_exponents(const problem *p, char *to, int64_t n, uint64_t *seed) {
    fill(p->m.dtype, to, n, p->m.op == BF_PROD ? KIND_NARROW : any_exponents(seed),
         next_random(seed));
    if (pick(seed, 2)) sprinkle(p->m.dtype, to, n, 300, next_random(seed));
}

/* The greatest floats of either sign, whose sums overflow, and few infinities, of which there is
 * one at times. */
static void fill_greatest(const problem *p, char *to, int64_t n, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(p->m.dtype);
    const uint64_t inf = infinity_bits(p->m.dtype), sign = sign_bit(p->m.dtype);
    const int64_t rarity = 50 + pick(seed, 5000);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t size =
            inf - (uint64_t)(pick(seed, rarity) > 0) * (1 + (uint64_t)pick(seed, 9));
        store_bits(to + (size_t)i * bytes, bytes, size | (pick(seed, 3) ? 0 : sign));
    }
}

/* Few values of either sign, zeros and the least float among them: many sums are a zero of either
 * sign, or what is left when all else cancels. */
static void fill_cancelling(const problem *p, char *to, int64_t n, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(p->m.dtype);
    const uint64_t inf = infinity_bits(p->m.dtype), sign = sign_bit(p->m.dtype);
    const uint64_t sizes[] = {0, 0, 1, inf / 2, inf / 2, inf / 2 - inf / 32};
    const bool zeros = pick(seed, 3) == 0; /* nearly all are negative zeros */
    for (int64_t i = 0; i < n; i++) {
        const uint64_t size = zeros && pick(seed, 50) ? 0 : sizes[pick(seed, 6)];
        store_bits(to + (size_t)i * bytes, bytes, size | (pick(seed, 2) || zeros ? sign : 0));
    }
    if (pick(seed, 4) == 0) sprinkle(p->m.dtype, to, n, 300, next_random(seed));
}

static void check_filled(uint64_t seed, int64_t rows, int64_t columns, int axis,
                         void (*fill_with)(const problem *, char *, int64_t, uint64_t *)) {
    static const bf_dtype dtypes[] = {BF_F32, BF_F64, BF_F16, BF_BF16};
    static const bf_reduction ops[] = {BF_SUM,   BF_MEAN, BF_VAR, BF_STD,
                                       BF_SUMSQ, BF_NORM, BF_DOT, BF_PROD};
    problem p = {.n = 1, .axes = {axis}, .m.queues_pairs = true};
    const bf_dtype dtype = dtypes[pick(&seed, 4)];
    const size_t bytes = (size_t)(rows * columns) * bf_dtype_size(dtype);
    p.a = (bf_array){.dtype = dtype, .ndim = 2, .shape = {rows, columns}, .strides = {columns, 1}};
    p.b = p.a;
    p.m.dtype = dtype;
    p.m.op = pick(&seed, 5) ? ops[pick(&seed, 8)] : joint_ops[pick(&seed, JOINTS)];
    for (int i = 0; i < 2; i++) {
        char *at = on_host + i * SECOND;
        fill_with(&p, at, rows * columns, &seed);
        assert_int_equal(bf_memory_copy(gpu, on_device + i * SECOND, at, bytes), BF_OK);
    }
    pick_options(&p.m, &seed);
    shape_results(&p);
    snprintf(p.m.what, sizeof p.m.what, "%s of %s, hard ones, %lld x %lld along %d",
             bf_reduction_name(p.m.op), bf_dtype_name(dtype), (long long)rows, (long long)columns,
             axis);
    check_problem(&p, &seed, 0, 0);
}

/* Every shape that kernels tell apart: few or many results, short or long, next to each other or
 * not. */
static void check_shapes(int64_t cases,
                         void (*fill_with)(const problem *, char *, int64_t, uint64_t *)) {
    static const int64_t shapes[][2] = {{3000, 16}, {1025, 3},  {700, 256}, {90, 3000},
                                        {9, 20001}, {1, 50000}, {4097, 7},  {130, 1}};
    for (int64_t i = 0; i < 32 * cases; i++) {
        const int64_t *shape = shapes[i % 8];
        const bool turned = i % 16 >= 8;
        check_filled((uint64_t)i, shape[turned], shape[!turned], i % 32 < 16, fill_with);
    }
}

static void test_any_exponent(void **unused) {
    (void)unused;
    check_shapes(is_small() ? 2 : 36, fill_exponents);
}

static void test_greatest(void **unused) {
    (void)unused;
    check_shapes(is_small() ? 1 : 12, fill_greatest);
}

static void test_cancelling(void **unused) {
    (void)unused;
    check_shapes(is_small() ? 2 : 36, fill_cancelling);
}

/* Floats of any number of bits and of few exponents: what few of them make lies often in the middle
 * of two results. Of some arrays a third of the elements lies below the others, as far as a dtype
 * allows: these tell on which side of the middle a result is. Others have but two neighbouring
 * floats. */
static void fill_ties(const problem *p, char *to, int64_t n, uint64_t *seed) {
    const size_t bytes = bf_dtype_size(p->m.dtype);
    const uint64_t inf = infinity_bits(p->m.dtype), sign = sign_bit(p->m.dtype);
    const uint64_t one = inf & inf / 2, step = inf & (0 - inf), base = next_random(seed);
    const bool far_apart = pick(seed, 2), neighbours = !far_apart && pick(seed, 4) == 0;
    for (int64_t i = 0; i < n; i++) {
        const uint64_t low = step >> pick(seed, 53);
        uint64_t fraction = next_random(seed) & (step - 1) & ~(low > 0 ? low - 1 : 0);
        uint64_t exponent = one + step * (uint64_t)pick(seed, 5);
        if (far_apart && pick(seed, 3) == 0)
            exponent = step * (uint64_t)pick(seed, (int64_t)(one / step));
        uint64_t bits = exponent | fraction | (pick(seed, 2) ? sign : 0);
        if (neighbours) bits = (one | (base & (step - 1))) + (uint64_t)pick(seed, 2);
        store_bits(to + (size_t)i * bytes, bytes, bits);
    }
}

static void test_ties(void **unused) {
    (void)unused;
    for (uint64_t i = 0; i < (is_small() ? 96 : 1280); i++) {
        const int64_t length = i % 18 < 16 ? 1 + (int64_t)(i / 2 % 8) : 33;
        const int64_t others = 200 * (1 + (int64_t)(i % 37));
        if (i % 2 == 0)
            check_filled(i, length, others, 0, fill_ties);
        else
            check_filled(i, others, length, 1, fill_ties);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_cases), cmocka_unit_test(test_long_rows),
        cmocka_unit_test(test_any_exponent), cmocka_unit_test(test_greatest),
        cmocka_unit_test(test_cancelling),   cmocka_unit_test(test_ties)};
    return RUN_ON_GPU_WITH(tests, set_up_results, tear_down_results);
}
