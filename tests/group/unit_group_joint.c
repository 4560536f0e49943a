/* Groups of joint kinds: slots keep the words that the rules make of each pair, on every
 * instruction set; groups have the results of their rows alone, and save to the same bytes whatever
 * the chunks, the threads, the instruction set and the memory.
 * Builds: release, asan (full), tsan (full). */
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/spilling.h"
#include "tests/support/unit.h"

#include "api/group/group.h"
#include "cpu/reduce/reduce.h"

#include <unistd.h>

enum {
    SLOTS = 5,
    JOINT = 3,
    ROWS = 3000,
    MANY = DATA_SHARE > 1 ? 16000 : 40000,
    FEW = 4 << 20,
    KEYS = 11,
    AGGREGATES = 8
};

static const bf_reduction kinds[JOINT] = {BF_KURTOSIS, BF_CORR, BF_WVAR};
static char values[2][16 * ROWS];

/* Any elements, with a NaN or infinity now and then. */
static void make_values(bf_dtype dtype, data_kind k, uint64_t *rng, char *to, int64_t n) {
    if (dtype == BF_I128) {
        int64_t halves[2];
        make_elements(dtype, to, n, UINT64_MAX, next_random(rng), 8);
        for (; k == KIND_NARROW && n > 0; n--, to += sizeof halves) {
            memcpy(halves, to, sizeof halves);
            halves[1] = halves[0] < 0 ? -1 : 0; /* one of 64 bits */
            memcpy(to, halves, sizeof halves);
        }
        return;
    }
    const size_t bytes = bf_dtype_size(dtype);
    fill(dtype, to, n, k, next_random(rng));
    for (int64_t i = 0; i < n && is_float(dtype); i++) {
        const uint64_t special[] = {sign_bit(dtype), infinity_bits(dtype),
                                    infinity_bits(dtype) | sign_bit(dtype),
                                    infinity_bits(dtype) | 1};
        const uint64_t r = next_random(rng) % 64;
        if (r < 4) store_bits(to + (size_t)i * bytes, bytes, special[r]);
    }
}

/* ---- slots ----------------------------------------------------------------------------------- */

static bf_i128 load(bf_dtype dtype, const char *at, int64_t i) {
    if (dtype == BF_I128) return bf_load_i128(at + 16 * i);
    return (bf_i128)load_bits(at + (size_t)i * bf_dtype_size(dtype), bf_dtype_size(dtype));
}

static void check_slots(const bf_accumulate_loops *loops, bf_dtype dtype, bf_reduction op,
                        data_kind k, uint64_t seed) {
    static int64_t words[SLOTS][BF_PARTS_WORDS_MAX], found[BF_PARTS_WORDS_MAX];
    const bf_kind kind = bf_kind_of(op, dtype);
    const bf_parts parts = bf_parts_of(kind, dtype);
    bf_accumulator_column column[2] = {{.dtype = dtype, .parts = bf_part_of(op)},
                                       {.dtype = dtype, .parts = bf_part_of(op)}};
    bf_accumulators a[2];
    uint32_t slots[300];
    uint64_t rng = seed;
    memset(words, 0, sizeof words);
    for (int i = 0; i < 2; i++) {
        bf_accumulators_init(&a[i], &column[i], 1);
        assert_true(bf_accumulators_grow(&a[i], SLOTS));
    }
    for (int round = 0; round < 4; round++) {
        const int64_t n = 1 + (int64_t)(next_random(&rng) % 300);
        const bf_rows_batch b = {.slots = slots,
                                 .values = values[0],
                                 .second = bf_takes_pairs(op) ? values[1] : NULL,
                                 .n = n};
        for (int v = 0; v < 2; v++)
            make_values(dtype, round == 0 ? KIND_NARROW : k, &rng, values[v], n);
        for (int64_t i = 0; i < n; i++) {
            slots[i] = (uint32_t)(next_random(&rng) % SLOTS);
            bf_sum_take_joint(kind, dtype, &parts, words[slots[i]], load(dtype, values[0], i),
                              b.second != NULL ? load(dtype, values[1], i) : 0);
            bf_sum_carry(kind, dtype, words[slots[i]]);
        }
        assert_true(bf_accumulators_open(&a[round % 2], loops, slots, n));
        assert_true(bf_accumulators_absorb(&a[round % 2], loops, 0, &b));
        a[round % 2].deposits += (int64_t)1 << (12 * round + 11); /* as if there were more rows */
    }
    assert_true(bf_accumulators_prepare(&a[0], &a[1], NULL));
    for (size_t s = 0; s < SLOTS; s++) {
        bf_accumulators_merge(&a[0], s, &a[1], s, NULL);
        bf_accumulators_words(&a[0], 0, op, s, found);
        assert_memory_equal(found, words[s], (size_t)parts.words * sizeof *found);
    }
    assert_true(bf_accumulators_add_words(&a[0], 0, op, 0, words[1], 1));
    bf_record(&a[0], 0)[0] += words[1][BF_SUM_COUNT];
    bf_sum_merge(kind, dtype, words[0], words[1]);
    bf_accumulators_words(&a[0], 0, op, 0, found);
    assert_memory_equal(found, words[0], (size_t)parts.words * sizeof *found);
    for (int i = 0; i < 2; i++) bf_accumulators_clear(&a[i]);
}

TEST(slots_keep_the_words_of_the_rules) {
    for (int isa = 0; bf_cpu_isa(isa) != NULL; isa++) {
        if (!bf_cpu_isa(isa)->available()) continue;
        for (int d = 0; d <= DTYPE_COUNT; d += CASE_STEP)
            for (int k = 0; k < KIND_COUNT; k++)
                for (int j = 0; j < JOINT; j++)
                    check_slots(bf_cpu_isa(isa)->accumulate,
                                d < DTYPE_COUNT ? all_dtypes[d] : BF_I128, kinds[j], (data_kind)k,
                                (uint64_t)(1000 * d + 10 * k + j));
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* Results of one pair share its column; the others have columns of their own. */
static const bf_reduction ops[AGGREGATES] = {BF_CORR, BF_SUM,   BF_SLOPE, BF_SKEW,
                                             BF_WSTD, BF_WMEAN, BF_COV,   BF_KURTOSIS};
static const int first[AGGREGATES] = {0, 0, 0, 0, 1, 1, 1, 0},
                 second[AGGREGATES] = {1, 0, 1, 0, 0, 0, 0, 0};

static bf_groups *make_groups(bf_context *context, bf_dtype dtype) {
    bf_aggregate aggregates[AGGREGATES];
    bf_groups *g = NULL;
    for (int i = 0; i < AGGREGATES; i++) aggregates[i] = (bf_aggregate){ops[i], dtype};
    OK(bf_groups_create(
        context, &BF_GROUPS_OPTIONS(.key = BF_I32, .count = AGGREGATES, .aggregates = aggregates),
        &g));
    return g;
}

/* Absorbs rows [begin, end) of two arrays of values. */
static bf_status absorb(bf_groups *g, bf_dtype dtype, const int32_t *keys, const char *const x[2],
                        int64_t begin, int64_t end) {
    const int64_t at = begin * bytes_of(dtype);
    const bf_array k = {(int32_t *)(uintptr_t)keys + begin, BF_I32, 1, {end - begin}, {1}};
    bf_array arrays[2];
    const bf_array *all[2 * AGGREGATES];
    int n = 0;
    for (int v = 0; v < 2; v++)
        arrays[v] = (bf_array){(char *)(uintptr_t)x[v] + at, dtype, 1, {end - begin}, {1}};
    for (int i = 0; i < AGGREGATES; i++) {
        all[n++] = &arrays[first[i]];
        if (bf_takes_pairs(ops[i])) all[n++] = &arrays[second[i]];
    }
    return bf_groups_absorb(g, &k, all);
}

static void assert_saves_to(bf_groups *g, const unsigned char *want, size_t size) {
    size_t own;
    unsigned char *saved = save_form(g, &own);
    assert_int_equal(own, size);
    assert_memory_equal(saved, want, size);
    free(saved);
}

/* The result of the rows of one key alone. */
static bf_value reduce_rows(bf_context *context, int which, bf_dtype dtype, const int32_t *keys,
                            int32_t key, const bf_reduce_options *options) {
    static char rows[2][16 * ROWS];
    const size_t bytes = (size_t)bytes_of(dtype);
    const int from[2] = {first[which], second[which]};
    bf_array x[2];
    bf_value value;
    for (int v = 0; v < 2; v++) {
        size_t n = 0;
        for (size_t i = 0; i < ROWS; i++)
            if (keys[i] == key) memcpy(rows[v] + bytes * n++, values[from[v]] + bytes * i, bytes);
        x[v] = (bf_array){rows[v], dtype, 1, {(int64_t)n}, {1}};
    }
    OK(bf_takes_pairs(ops[which])
           ? bf_reduce_pair(context, ops[which], &x[0], &x[1], options, &value)
           : bf_reduce(context, ops[which], &x[0], options, &value));
    return value;
}

static void assert_results(bf_context *context, bf_groups *g, bf_dtype dtype, const int32_t *keys) {
    bf_value found[KEYS];
    for (int i = 0; i < AGGREGATES; i++) {
        const bf_reduce_options options =
            BF_REDUCE_OPTIONS(.nan = i % 2 ? BF_NAN_SKIP : BF_NAN_PROPAGATE, .ddof = i / 2 % 2,
                              .out_dtype = i % 3 == 2 ? BF_F32 : BF_NONE);
        OK(bf_groups_result(g, i, &options, found));
        for (int32_t k = 0; k < KEYS; k++) {
            const bf_value want = reduce_rows(context, i, dtype, keys, k, &options);
            assert_int_equal(found[k].dtype, want.dtype);
            assert_memory_equal(&found[k].as, &want.as, sizeof(uint32_t));
            if (want.dtype != BF_F32) assert_memory_equal(&found[k].as, &want.as, 8);
        }
    }
}

/* Whole, in chunks that are merged, without a part that is taken out, and loaded. */
static void check_groups(bf_context *context, bf_dtype dtype, const unsigned char **want,
                         size_t *size) {
    static int32_t keys[ROWS];
    const char *const x[2] = {values[0], values[1]};
    for (int i = 0; i < ROWS; i++) keys[i] = i < KEYS ? i : i * 7 % 1000 % KEYS;
    OWN(bf_groups) *g = make_groups(context, dtype), *part = make_groups(context, dtype),
                   *loaded = NULL;
    OK(absorb(g, dtype, keys, x, 0, ROWS));
    assert_results(context, g, dtype, keys);
    if (*want == NULL) *want = save_form(g, size);
    assert_saves_to(g, *want, *size);
    OK(absorb(part, dtype, keys, x, 100, 900));
    OK(bf_groups_merge(g, part));
    OK(bf_groups_retract(g, part));
    assert_saves_to(g, *want, *size);
    OK(bf_groups_clear(g));
    for (int at = 0; at < ROWS; at += 700)
        OK(absorb(g, dtype, keys, x, at, ROWS - at < 700 ? ROWS : at + 700));
    assert_saves_to(g, *want, *size);
    OK(bf_groups_load(context, *want, *size, &loaded));
    assert_saves_to(loaded, *want, *size);
    assert_results(context, loaded, dtype, keys);
}

TEST(groups_have_the_results_of_their_rows) {
    static const char *const isas[] = {"generic", "auto"};
    for (int d = 0; d <= DTYPE_COUNT; d += CASE_STEP) {
        const bf_dtype dtype = d < DTYPE_COUNT ? all_dtypes[d] : BF_I128;
        const unsigned char *want = NULL;
        size_t size = 0;
        uint64_t rng = (uint64_t)d;
        for (int v = 0; v < 2; v++)
            make_values(dtype, d % 2 ? KIND_FULL : KIND_NARROW, &rng, values[v], ROWS);
        for (int i = 0; i < 4; i++) {
            OWN(bf_context) *context = make_context(isas[i % 2], 1 + i / 2);
            check_groups(context, dtype, &want, &size);
        }
        free((void *)(uintptr_t)want);
    }
}

/* Rows by index, of a dtype that axes take, have the bits that groups by the same keys have. */
TEST(an_index_has_the_results_of_groups) {
    static int32_t keys[ROWS];
    uint64_t rng = 9;
    OWN(bf_context) *context = limited(0, NULL, 2);
    for (int i = 0; i < ROWS; i++) keys[i] = i < KEYS ? i : i * 7 % 1000 % KEYS;
    for (int d = 0; d < DTYPE_COUNT; d += CASE_STEP) {
        const char *const x[2] = {values[0], values[1]};
        OWN(bf_groups) *g = make_groups(context, all_dtypes[d]);
        for (int v = 0; v < 2; v++) make_values(all_dtypes[d], KIND_FULL, &rng, values[v], ROWS);
        OK(absorb(g, all_dtypes[d], keys, x, 0, ROWS));
        for (int i = 0; i < AGGREGATES; i++) {
            double found[KEYS + 1], want[KEYS];
            const bf_reduce_options options =
                BF_REDUCE_OPTIONS(.nan = BF_NAN_SKIP, .out_dtype = BF_F64);
            const bf_array index = bf_array_of(BF_I32, keys, ROWS),
                           a = bf_array_of(all_dtypes[d], values[first[i]], ROWS),
                           b = bf_array_of(all_dtypes[d], values[second[i]], ROWS),
                           to = bf_array_of(BF_F64, found, KEYS + 1),
                           groups = bf_array_of(BF_F64, want, KEYS);
            OK(bf_takes_pairs(ops[i])
                   ? bf_reduce_pair_index(context, ops[i], &a, &b, &index, &options, &to, NULL)
                   : bf_reduce_index(context, ops[i], &a, &index, &options, &to, NULL));
            OK(bf_groups_aggregate(g, i, &options, &groups, NULL));
            assert_memory_equal(found, want, sizeof want);
            assert_true(ops[i] == BF_SUM ? found[KEYS] == 0 : isnan(found[KEYS]));
        }
    }
}

/* ---- many rows ------------------------------------------------------------------------------- */

enum { FRONT_ROWS = 70000, FRONT_WAYS = 7 };

/* A number of a way: within the exponents that fronts take, up to both ends of these; of some that
 * are outside; far from its mean; of few digits; over many exponents; with NaNs and the like in the
 * second half. */
static double any_number(int way, int64_t i, uint64_t *rng) {
    const uint64_t r = next_random(rng);
    const double u = (double)(r >> 11) * 0x1p-54 + 0.5, signed_u = r & 1 ? u : -u;
    const int exponent = (int)(next_random(rng) % 64);
    switch (way) {
    case 0: return ldexp(signed_u, -(exponent % 31));
    case 1: return ldexp(signed_u, 4 - (exponent == 0 ? 40 : exponent % 31));
    case 2: return 1e11 + u;
    case 3: return (double)(int64_t)(r % 2001) / 100 - 10;
    case 4: return ldexp(signed_u, 4 * exponent - 128);
    case 5: return ldexp(signed_u, -60);
    default:
        if (i < FRONT_ROWS / 2 || r % 1000 > 3) return signed_u;
        return r % 1000 == 0   ? (double)NAN
               : r % 1000 == 1 ? HUGE_VAL
               : r % 1000 == 2 ? -0.0
                               : 0x1p90;
    }
}

/* Pairs behind moments and a sum, which share theirs, or before a sum. */
static bf_groups *group_many(const char *isa, int threads, const bf_array *keys,
                             const bf_array x[2], bool moments) {
    const bf_dtype dtype = x[0].dtype;
    const bf_aggregate three[] = {{BF_VAR, dtype}, {BF_SUM, dtype}, {BF_CORR, dtype}},
                       two[] = {{BF_CORR, dtype}, {BF_SUM, dtype}};
    const bf_array *const of_three[] = {&x[0], &x[0], &x[0], &x[1]}, *const of_two[] = {
                                                                         &x[0], &x[1], &x[0]};
    const bf_groups_options options = BF_GROUPS_OPTIONS(.key = BF_I32, .count = moments ? 3 : 2,
                                                        .aggregates = moments ? three : two);
    bf_groups *g;
    OK(bf_groups_create(make_context(isa, threads), &options, &g));
    for (int i = 0; i < 2; i++) OK(bf_groups_absorb(g, keys, moments ? of_three : of_two));
    return g;
}

/* Pairs and moments of groups that are large enough for sums in doubles: of one, of some, of more
 * than have these. */
TEST(many_rows_have_the_words_of_the_rules) {
    static int32_t keys[FRONT_ROWS];
    static double wide[2][FRONT_ROWS];
    static float narrow[2][FRONT_ROWS];
    static const int counts[] = {1, 300, 6000};
    uint64_t rng = 21;
    for (int c = 0; c < 6 * FRONT_WAYS; c += CASE_STEP) {
        const int way = c % FRONT_WAYS, groups = counts[c / FRONT_WAYS % 3];
        const bool is_narrow = c / FRONT_WAYS / 3 != 0;
        size_t size = 0;
        unsigned char *want = NULL;
        bf_array x[2];
        for (int64_t i = 0; i < FRONT_ROWS; i++) {
            keys[i] = (int32_t)(next_random(&rng) % (uint64_t)groups);
            for (int v = 0; v < 2; v++)
                narrow[v][i] = (float)(wide[v][i] = any_number(way, i, &rng));
        }
        for (int v = 0; v < 2; v++)
            x[v] = is_narrow ? bf_array_of(BF_F32, narrow[v], FRONT_ROWS)
                             : bf_array_of(BF_F64, wide[v], FRONT_ROWS);
        const bf_array k = bf_array_of(BF_I32, keys, FRONT_ROWS);
        for (int i = 0; bf_cpu_isa(i / 2) != NULL; i++) {
            const bf_isa *isa = bf_cpu_isa(i / 2);
            if (!isa->available()) continue;
            bf_groups *g = group_many(isa->name, 1 + i % 2, &k, x, c % 2);
            if (want == NULL)
                want = save_form(g, &size);
            else
                assert_saves_to(g, want, size);
            bf_context *context = g->context;
            bf_groups_destroy(g);
            bf_context_destroy(context);
        }
        free(want);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int32_t many_keys[MANY];
static double many[2][MANY];

static void make_many(void) {
    uint64_t rng = 3;
    for (int i = 0; i < MANY; i++) {
        many_keys[i] = (int32_t)(next_random(&rng) % (MANY / 4));
        for (int v = 0; v < 2; v++) many[v][i] = (double)(int64_t)next_random(&rng) * 0x1p-40;
    }
}

TEST_WITH(spilled_groups_are_those_in_memory, make_directory, remove_directory) {
    const char *const x[2] = {(char *)many[0], (char *)many[1]};
    make_many();
    bf_context *all = limited(0, NULL, 2), *few = limited(FEW, directory, 2),
               *without = limited(FEW, NULL, 2);
    bf_groups *g = make_groups(all, BF_F64), *spilled = make_groups(few, BF_F64);
    size_t size;
    OK(absorb(g, BF_F64, many_keys, x, 0, MANY));
    for (int at = 0; at < MANY; at += MANY / 4)
        OK(absorb(spilled, BF_F64, many_keys, x, at, at + MANY / 4));
    const int64_t n = bf_groups_size(g);
    assert_int_equal(bf_groups_size(spilled), n);
    for (int i = 0; i < AGGREGATES; i++) {
        double *found = test_malloc((size_t)n * 16);
        const bf_array to[2] = {bf_array_of(BF_F64, found, n), bf_array_of(BF_F64, found + n, n)};
        OK(bf_groups_aggregate(g, i, NULL, &to[0], NULL));
        OK(bf_groups_aggregate(spilled, i, NULL, &to[1], NULL));
        assert_memory_equal(found, found + n, (size_t)n * 8);
        test_free(found);
    }
    bf_groups *copy = make_groups(all, BF_F64), *fails = make_groups(without, BF_F64);
    unsigned char *saved = save_form(g, &size);
    OK(bf_groups_merge(copy, spilled));
    assert_saves_to(copy, saved, size);
    assert_int_equal(absorb(fails, BF_F64, many_keys, x, 0, MANY), BF_E_MEMORY);
    free(saved);
    bf_groups_destroy(fails);
    bf_groups_destroy(copy);
    bf_groups_destroy(spilled);
    bf_groups_destroy(g);
    bf_context_destroy(without);
    bf_context_destroy(few);
    bf_context_destroy(all);
    assert_int_equal(count_files(), 0);
}

TEST(a_failure_changes_nothing) {
    needs_failing_malloc();
    const char *const x[2] = {(char *)many[0], (char *)many[1]};
    OWN(bf_context) *context = limited(0, NULL, 1);
    OWN(bf_groups) *g = make_groups(context, BF_F64);
    size_t size;
    make_many();
    for (int i = 50; i < 60; i++) many[i % 2][i] = i % 3 ? INFINITY : 0x1p-900;
    OK(absorb(g, BF_F64, many_keys, x, 0, 40));
    unsigned char *saved = save_form(g, &size);
    FAIL_EACH_ALLOCATION(absorb(g, BF_F64, many_keys, x, 40, 400))
    assert_saves_to(g, saved, size);
    free(saved);
}

TEST(wrong_arrays_are_refused) {
    int32_t keys[3] = {1, 2, 1};
    double x[3] = {1, 2, 3};
    float y[3] = {1, 2, 3};
    OWN(bf_context) *context = limited(0, NULL, 1);
    OWN(bf_groups) *g = NULL;
    const bf_aggregate corr = {BF_CORR, BF_F64}, dot = {BF_DOT, BF_F64};
    const bf_array k = bf_array_of(BF_I32, keys, 3), a = bf_array_of(BF_F64, x, 3),
                   narrow = bf_array_of(BF_F32, y, 3), fewer = bf_array_of(BF_F64, x, 2);
    assert_int_equal(
        bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = BF_I32, .count = 1, .aggregates = &dot),
                         &g),
        BF_E_ARGUMENT);
    OK(bf_groups_create(context, &BF_GROUPS_OPTIONS(.key = BF_I32, .count = 1, .aggregates = &corr),
                        &g));
    const bf_array *wrong[3][2] = {{&a, NULL}, {&a, &narrow}, {&a, &fewer}};
    const bf_status status[3] = {BF_E_ARGUMENT, BF_E_DTYPE, BF_E_SHAPE};
    for (int i = 0; i < 3; i++) assert_int_equal(bf_groups_absorb(g, &k, wrong[i]), status[i]);
    assert_int_equal(bf_groups_rows(g), 0);
}

UNIT_TESTS(group_joint, NULL, NULL)
