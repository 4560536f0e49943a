/* Groups of joint kinds on a GPU (pairs, weights, powers): what they save is what the CPU's groups
 * save, to the byte, and so are their results, whatever the dtypes, the values, the number of
 * groups, the place of the rows, the chunks and the merges. */
#include "tests/support/both.h"
#include "tests/support/groups.h"

enum { OPS = 8, SECOND_OF_PAIRS = SECOND + SECOND / 2 };

/* Two results of some kinds; the sum shows that plain columns stay what they are beside them. */
static const bf_reduction ops[OPS] = {BF_CORR,  BF_KURTOSIS, BF_WVAR, BF_SUM,
                                      BF_SLOPE, BF_SKEW,     BF_COV,  BF_WMEAN};

typedef struct rows {
    bf_dtype key, dtype;
    int64_t n;
    uint64_t seed;
} rows;

static bf_context *fast; /* the CPU, by all of its threads */

static int set_up_both(void **state) {
    return set_up(state) || bf_context_create(&BF_OPTIONS(.device = "cpu"), &fast);
}

static int tear_down_both(void **state) {
    bf_context_destroy(fast);
    return tear_down(state);
}

static bf_groups *groups_on(bf_context *context, const rows *r) {
    bf_aggregate aggregates[OPS];
    bf_groups *g = NULL;
    for (int i = 0; i < OPS; i++) aggregates[i] = (bf_aggregate){ops[i], r->dtype};
    bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = r->key, .count = OPS, .aggregates = aggregates, .seed = r->seed);
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    return g;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void make_keys(const rows *r, int64_t groups) {
    uint64_t seed = (uint64_t)groups;
    for (int64_t i = 0; i < r->n; i++) {
        const uint64_t bits = next_random(&seed) % (uint64_t)groups * 0x9e3779b97f4a7c15u;
        const uint64_t pair[2] = {bits & 3, bits};
        if (r->key == BF_PAIR)
            memcpy(on_host + 16 * i, pair, sizeof pair);
        else
            store_bits(on_host + (size_t)i * bf_dtype_size(r->key), bf_dtype_size(r->key), bits);
    }
}

/* Both arrays; kind KIND_COUNT: the first of all exponents, and weights of few. */
static void make_values(const rows *r, int kind, int rarity) {
    const bool mixed = kind == KIND_COUNT;
    fill(r->dtype, on_host + SECOND, r->n, mixed ? KIND_FULL : (data_kind)kind, (uint64_t)kind);
    fill(r->dtype, on_host + SECOND_OF_PAIRS, r->n, mixed ? KIND_NARROW : (data_kind)kind, 99);
    if (rarity == 0) return;
    sprinkle(r->dtype, on_host + SECOND, r->n, rarity, 5);
    sprinkle(r->dtype, on_host + SECOND_OF_PAIRS, r->n, rarity, 6);
}

static void to_device(const rows *r) {
    const size_t bytes = (size_t)r->n * bf_dtype_size(r->dtype);
    const int at[2] = {SECOND, SECOND_OF_PAIRS};
    if (r->n == 0) return;
    assert_int_equal(bf_memory_copy(gpu, on_device, on_host, 16 * (size_t)r->n), BF_OK);
    for (int v = 0; v < 2; v++)
        assert_int_equal(bf_memory_copy(gpu, on_device + at[v], on_host + at[v], bytes), BF_OK);
}

/* parted: the later aggregates get the arrays swapped, and so share no column with others. */
static bf_status absorb_parted(bf_groups *g, const rows *r, char *memory, int64_t first, int64_t n,
                               bool parted) {
    const int64_t at = first * (int64_t)bf_dtype_size(r->dtype);
    const int64_t key_bytes = r->key == BF_PAIR ? 16 : (int64_t)bf_dtype_size(r->key);
    const bf_array keys = bf_array_of(r->key, memory + first * key_bytes, n);
    const bf_array a = bf_array_of(r->dtype, memory + SECOND + at, n);
    const bf_array b = bf_array_of(r->dtype, memory + SECOND_OF_PAIRS + at, n);
    const bf_array *all[2 * OPS];
    int count = 0;
    for (int i = 0; i < OPS; i++) {
        const bool swaps = parted && i >= 4;
        all[count++] = swaps ? &b : &a;
        if (ops[i] != BF_KURTOSIS && ops[i] != BF_SUM && ops[i] != BF_SKEW)
            all[count++] = swaps ? &a : &b;
    }
    return bf_groups_absorb(g, &keys, all);
}

static bf_status absorb(bf_groups *g, const rows *r, char *memory, int64_t first, int64_t n) {
    return absorb_parted(g, r, memory, first, n, false);
}

/* ---- comparison ------------------------------------------------------------------------------ */

static void assert_same(const char *what, const rows *r, bf_groups *found, bf_groups *expected) {
    assert_same_groups(what, r->key, r->dtype, r->n, found, expected);
}

static void assert_same_result(bf_groups *found, bf_groups *expected, int which,
                               const bf_reduce_options *o) {
    const size_t n = (size_t)bf_groups_size(expected);
    bf_value *a = calloc(n + 1, sizeof *a), *b = calloc(n + 1, sizeof *b);
    const bf_status status = bf_groups_result(expected, which, o, b);
    assert_int_equal(bf_groups_result(found, which, o, a), status);
    for (size_t k = 0; k < n && status == BF_OK; k++)
        if (a[k].dtype != b[k].dtype || memcmp(a[k].as.i192, b[k].as.i192, sizeof a->as.i192) != 0)
            fail_msg("%s of group %zu of %zu: %llx, not %llx; nan %d, ddof %d",
                     bf_reduction_name(ops[which]), k, n, (unsigned long long)a[k].as.u64,
                     (unsigned long long)b[k].as.u64, (int)o->nan, o->ddof);
    free(a);
    free(b);
}

static void assert_same_results(const rows *r, bf_groups *found, bf_groups *expected) {
    for (int i = 0; i < OPS; i++)
        for (int v = 0; v < 4; v++) {
            bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = (bf_nan_policy)(v % 3), .ddof = v % 2);
            if (v > 1 && ops[i] != BF_SUM) o.out_dtype = BF_F32;
            if (v == 1) o.weights = BF_WEIGHTS_RELIABILITY;
            if (v == 3 && !is_float(r->dtype)) o.scale = 2;
            assert_same_result(found, expected, i, &o);
        }
}

/* Results in the GPU's memory are those that come to the host; all of them fit. */
static void assert_results_anywhere(bf_groups *found) {
    const int64_t n = bf_groups_size(found);
    double *one = calloc((size_t)n + 1, sizeof *one), *other = calloc((size_t)n + 1, sizeof *one);
    uint8_t *fit = calloc((size_t)n + 1, 1);
    const bf_array host = bf_array_of(BF_F64, one, n), device = bf_array_of(BF_F64, on_device, n);
    const bf_array fits = bf_array_of(BF_BOOL, fit, n);
    assert_int_equal(bf_groups_aggregate(found, 0, NULL, &host, &fits), BF_OK);
    assert_int_equal(bf_groups_aggregate(found, 0, NULL, &device, NULL), BF_OK);
    if (n > 0) assert_int_equal(bf_memory_copy(gpu, other, on_device, (size_t)n * 8), BF_OK);
    assert_memory_equal(one, other, (size_t)n * 8);
    for (int64_t i = 0; i < n; i++) assert_int_equal(fit[i], 1);
    free(one);
    free(other);
    free(fit);
}

/* All rows at once on both. */
static void check(const rows *r, bool device, bool results) {
    bf_groups *found = groups_on(gpu, r), *expected = groups_on(fast, r);
    to_device(r);
    assert_int_equal(absorb(found, r, device ? on_device : on_host, 0, r->n), BF_OK);
    assert_string_equal(bf_context_device(gpu), "cuda:0");
    assert_int_equal(absorb(expected, r, on_host, 0, r->n), BF_OK);
    assert_same("at once", r, found, expected);
    if (results) assert_same_results(r, found, expected);
    if (results) assert_results_anywhere(found);
    bf_groups_destroy(found);
    bf_groups_destroy(expected);
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* Few rows go through the index, more through tables. */
static void every_dtype_of_every_kind(void **unused) {
    (void)unused;
    static const int64_t sizes[] = {0, 1, 33, 3001, 20011};
    static const bf_dtype keys[] = {BF_U32, BF_I64, BF_PAIR, BF_F32};
    const int step = is_small() ? 7 : 1;
    for (int d = 0, turn = 0; d < DTYPE_COUNT; d++)
        for (int kind = 0; kind <= KIND_COUNT; kind++)
            for (int s = 0; s < 5; s++, turn++) {
                const rows r = {keys[(s + kind) % 4], all_dtypes[d], sizes[s], 1};
                if (turn % step != 0) continue;
                make_keys(&r, 1 + (turn % 7) * 40);
                make_values(&r, kind, kind % 3 == 0 ? 0 : 100);
                check(&r, turn % 2 != 0, s != 2);
            }
}

static void every_number_of_groups(void **unused) {
    (void)unused;
    static const bf_dtype dtypes[] = {BF_F64, BF_F32, BF_I64, BF_BF16};
    const int64_t n = is_small() ? 20000 : 1 << 18;
    int turn = 0;
    for (int64_t groups = 1; groups <= 4 * n; groups *= is_small() ? 64 : 8)
        for (int kind = 0; kind < KIND_COUNT; kind += 3, turn++) {
            const rows r = {turn % 2 ? BF_U32 : BF_U64, dtypes[turn % 4], n, (uint64_t)turn};
            make_keys(&r, groups);
            make_values(&r, kind, turn % 3 == 0 ? 1000 : 0);
            check(&r, true, groups <= 1 << 12);
        }
}

/* Groups of one row, and of equal rows, whose spread is 0. */
static void groups_without_a_spread(void **unused) {
    (void)unused;
    const rows r = {BF_U32, BF_F64, is_small() ? 3000 : 30000, 0};
    make_keys(&r, 1 << 30);
    make_values(&r, KIND_NARROW, 0);
    check(&r, true, true);
    make_keys(&r, 9);
    for (int64_t i = 0; i < r.n; i++)
        for (int v = 0; v < 2; v++)
            ((double *)(on_host + (v == 0 ? SECOND : SECOND_OF_PAIRS)))[i] = 1 + v;
    check(&r, true, true);
}

/* Chunks into groups of several devices, which are then merged, and taken out again. */
static void chunks_and_merges(void **unused) {
    (void)unused;
    const int64_t n = is_small() ? 3000 : 100000;
    for (int turn = 0; turn < (is_small() ? 2 : 8); turn++) {
        uint64_t seed = (uint64_t)turn;
        rows r = {turn % 2 ? BF_U32 : BF_I64, all_dtypes[(5 * turn + 12) % DTYPE_COUNT], n, 0};
        make_keys(&r, turn % 3 ? 50 : 20000);
        make_values(&r, turn % (KIND_COUNT + 1), turn % 2 ? 500 : 0);
        to_device(&r);
        bf_groups *whole = groups_on(fast, &r), *on_cpu = groups_on(fast, &r), *parts[2];
        for (int i = 0; i < 2; i++) {
            r.seed = (uint64_t)i;
            parts[i] = groups_on(gpu, &r);
        }
        for (int64_t at = 0, some; at < n; at += some) {
            some = 1 + (int64_t)(next_random(&seed) % (uint64_t)(n / 2));
            if (some > n - at) some = n - at;
            assert_int_equal(absorb(parts[next_random(&seed) % 2], &r,
                                    next_random(&seed) % 2 ? on_device : on_host, at, some),
                             BF_OK);
        }
        assert_int_equal(absorb(whole, &r, on_host, 0, n), BF_OK);
        assert_int_equal(bf_groups_merge(on_cpu, parts[1]), BF_OK);
        assert_int_equal(bf_groups_merge(parts[0], on_cpu), BF_OK);
        assert_same("merged", &r, parts[0], whole);
        assert_int_equal(bf_groups_retract(parts[0], parts[1]), BF_OK);
        assert_int_equal(bf_groups_merge(parts[0], parts[1]), BF_OK);
        assert_same("taken out and merged again", &r, parts[0], whole);
        assert_same_results(&r, parts[0], whole);
        bf_groups_clear(parts[0]);
        bf_groups_clear(whole);
        assert_int_equal(absorb(parts[0], &r, on_device, n / 2, n / 3), BF_OK);
        assert_int_equal(absorb(whole, &r, on_host, n / 2, n / 3), BF_OK);
        assert_same("cleared", &r, parts[0], whole);
        for (int i = 0; i < 2; i++) bf_groups_destroy(parts[i]);
        bf_groups_destroy(whole);
        bf_groups_destroy(on_cpu);
    }
}

/* Aggregates that share a column no longer do when they absorb different values, and groups merge
 * whichever share theirs. */
static void columns_that_part(void **unused) {
    (void)unused;
    for (int turn = 0; turn < 8; turn++) {
        const rows r = {BF_U32, turn % 2 ? BF_F64 : BF_I32, is_small() ? 3000 : 40000, 0};
        const int64_t half = r.n / 2;
        const bool first = turn & 2, second = !first;
        bf_groups *found = groups_on(gpu, &r), *expected = groups_on(fast, &r);
        bf_groups *other = groups_on(gpu, &r);
        make_keys(&r, turn & 4 ? 30000 : 60);
        make_values(&r, turn, 300);
        to_device(&r);
        assert_int_equal(absorb_parted(other, &r, on_device, 0, half, second), BF_OK);
        assert_int_equal(absorb_parted(found, &r, on_device, 0, half, first), BF_OK);
        assert_int_equal(absorb_parted(found, &r, on_device, half, half, second), BF_OK);
        assert_int_equal(bf_groups_merge(found, other), BF_OK);
        assert_int_equal(absorb_parted(expected, &r, on_host, 0, half, first), BF_OK);
        assert_int_equal(absorb_parted(expected, &r, on_host, half, half, second), BF_OK);
        assert_int_equal(absorb_parted(expected, &r, on_host, 0, half, second), BF_OK);
        assert_same("parted", &r, found, expected);
        assert_same_results(&r, found, expected);
        bf_groups_clear(found);
        assert_int_equal(bf_groups_merge(found, other), BF_OK);
        assert_same("merged into none", &r, found, other);
        bf_groups_destroy(found);
        bf_groups_destroy(other);
        bf_groups_destroy(expected);
    }
}

/* What one backend saves the other loads, and goes on with. */
static void saved_groups_go_on_elsewhere(void **unused) {
    (void)unused;
    for (int turn = 0; turn < 4; turn++) {
        const rows r = {BF_I32, turn < 2 ? BF_F64 : BF_I64, is_small() ? 999 : 50000, 0};
        bf_context *one = turn % 2 ? gpu : fast, *other = turn % 2 ? fast : gpu;
        make_keys(&r, 3000);
        make_values(&r, KIND_FULL, 300);
        to_device(&r);
        bf_groups *saved = groups_on(one, &r), *loaded;
        size_t size;
        assert_int_equal(absorb(saved, &r, on_host, 0, r.n), BF_OK);
        unsigned char *bytes = save_groups(saved, &size);
        assert_int_equal(bf_groups_load(other, bytes, size, &loaded), BF_OK);
        assert_same("loaded", &r, loaded, saved);
        make_values(&r, KIND_NARROW, 0);
        to_device(&r);
        assert_int_equal(absorb(saved, &r, on_host, 0, r.n), BF_OK);
        assert_int_equal(absorb(loaded, &r, other == gpu ? on_device : on_host, 0, r.n), BF_OK);
        assert_same("loaded, and more", &r, loaded, saved);
        assert_same_results(&r, loaded, saved);
        free(bytes);
        bf_groups_destroy(saved);
        bf_groups_destroy(loaded);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_dtype_of_every_kind),    cmocka_unit_test(every_number_of_groups),
        cmocka_unit_test(groups_without_a_spread),      cmocka_unit_test(chunks_and_merges),
        cmocka_unit_test(saved_groups_go_on_elsewhere), cmocka_unit_test(columns_that_part),
    };
    return RUN_ON_GPU_WITH(tests, set_up_both, tear_down_both);
}
