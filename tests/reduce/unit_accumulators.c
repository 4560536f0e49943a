/* Accumulators of many slots keep the words that the rules make of each slot's values one by one,
 * on every instruction set: whatever the values, however wide the bands, however many deposits. */
#include "tests/support/failing_malloc.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "cpu/reduce/reduce.h"

enum { SLOTS = 7, BATCHES = 5, OPS = 8, MORE = 3 };

static const bf_reduction ops[OPS] = {BF_SUM,   BF_MEAN, BF_VAR, BF_STD,
                                      BF_SUMSQ, BF_NORM, BF_MIN, BF_MAX};

/* The words of every slot, for every operation, by the rules. */
typedef struct expected {
    int64_t words[OPS][SLOTS][BF_SUM_WORDS_MAX];
} expected;

static void take(bf_reduction op, bf_dtype dtype, int64_t *words, uint64_t x) {
    const bf_kind kind = bf_kind_of(op, dtype);
    const bf_sum_shape s = bf_sum_shape_of(kind, dtype);
    if (kind == BF_KIND_SQUARES) {
        bf_sum_take_pair(dtype, &s, words, x, x);
    } else if (kind != BF_KIND_EXTREME) {
        bf_sum_take(dtype, &s, words, x);
    } else {
        if (is_float(dtype) && bf_is_nan(bf_format_of(dtype), x))
            bf_extreme_take_nan(words, 1, 0);
        else
            bf_extreme_take(words, bf_order_rank(dtype, x) ^ (op == BF_MAX ? -1 : 0), 0);
        bf_extreme_cover(words, 1, 0, 0);
    }
}

static void expect_nothing(expected *e, bf_dtype dtype) {
    for (int o = 0; o < OPS; o++)
        for (int s = 0; s < SLOTS; s++)
            bf_state_init(bf_kind_of(ops[o], dtype), dtype, e->words[o][s]);
}

static void expect_batch(expected *e, bf_dtype dtype, const bf_rows_batch *b) {
    const size_t bytes = bf_dtype_size(dtype);
    for (int o = 0; o < OPS; o++) {
        for (int64_t i = 0; i < b->n; i++)
            take(ops[o], dtype, e->words[o][b->slots[i]],
                 load_bits(b->values + (size_t)i * bytes, bytes));
        for (int s = 0; s < SLOTS; s++)
            if (bf_kind_is_sum(bf_kind_of(ops[o], dtype)))
                bf_sum_carry(bf_kind_of(ops[o], dtype), dtype, e->words[o][s]);
    }
}

static uint64_t result_bits(bf_value v) {
    uint64_t bits = 0;
    memcpy(&bits, &v.as, v.dtype == BF_I192 ? 8 : bf_dtype_size(v.dtype));
    return bits;
}

static void assert_result(const bf_accumulators *a, int column, bf_reduction op, bf_dtype dtype,
                          size_t slot, const int64_t *words) {
    bf_value v;
    bf_work work;
    uint64_t found[3] = {0};
    const bf_reduce_options o = BF_REDUCE_OPTIONS(.nan = BF_NAN_PROPAGATE);
    if (bf_result_plain(op, dtype, words, &o, &v, &work) != BF_OK) return;
    const bf_slot_results r = {.from = a,
                               .column = column,
                               .op = op,
                               .options = &o,
                               .result = bf_result_dtype(op, dtype, BF_NONE),
                               .to = v.dtype,
                               .values = (char *)found};
    assert_true(bf_accumulators_finish(&r, slot, 1));
    assert_int_equal(found[0], result_bits(v));
    if (v.dtype == BF_I192) assert_memory_equal(found, v.as.i192, sizeof found);
}

/* column: of the operation, or -1: each its own. */
static void assert_words(const bf_accumulators *a, int column, bf_dtype dtype, const expected *e) {
    int64_t words[BF_SUM_WORDS_MAX];
    for (int o = 0; o < OPS; o++) {
        const size_t count = (size_t)bf_state_words(bf_kind_of(ops[o], dtype), dtype, NULL);
        for (size_t s = 0; s < SLOTS; s++) {
            bf_accumulators_words(a, column < 0 ? o : column, ops[o], s, words);
            assert_memory_equal(words, e->words[o][s], count * sizeof *words);
            assert_result(a, column < 0 ? o : column, ops[o], dtype, s, words);
        }
    }
}

/* Accumulators with one column of all parts, or with a column for each operation. */
static void make(bf_accumulators *a, bf_accumulator_column columns[OPS], bf_dtype dtype,
                 bool shared) {
    memset(columns, 0, OPS * sizeof *columns);
    for (int o = 0; o < OPS; o++) {
        columns[shared ? 0 : o].dtype = dtype;
        columns[shared ? 0 : o].parts |= bf_part_of(ops[o]);
    }
    bf_accumulators_init(a, columns, shared ? 1 : OPS);
    assert_true(bf_accumulators_grow(a, SLOTS / 2));
    assert_true(bf_accumulators_grow(a, SLOTS));
}

static void absorb(bf_accumulators *a, const bf_accumulate_loops *loops, const bf_rows_batch *b) {
    assert_true(bf_accumulators_open(a, loops, b->slots, b->n));
    for (int c = 0; c < a->count; c++) assert_true(bf_accumulators_absorb(a, loops, c, b));
}

static void free_all(bf_accumulators *a) { bf_accumulators_clear(a); }

/* A batch of random values of any kind, with a NaN, infinity or -0 now and then. */
static void random_batch(bf_dtype dtype, data_kind k, uint64_t *rng, char *values, uint32_t *slots,
                         int64_t n) {
    const size_t bytes = bf_dtype_size(dtype);
    fill(dtype, values, n, k, next_random(rng));
    for (int64_t i = 0; i < n; i++) {
        slots[i] = (uint32_t)(next_random(rng) % SLOTS);
        const uint64_t r = next_random(rng) % 64;
        if (!is_float(dtype) || r > 3 || k == KIND_NARROW) continue;
        const uint64_t special[] = {sign_bit(dtype), infinity_bits(dtype),
                                    infinity_bits(dtype) | sign_bit(dtype),
                                    infinity_bits(dtype) | 1};
        store_bits(values + (size_t)i * bytes, bytes, special[r]);
    }
}

static void check(const bf_accumulate_loops *loops, bf_dtype dtype, data_kind k, uint64_t seed) {
    static char values[BF_ACCUMULATE_BATCH * 8];
    static uint32_t slots[BF_ACCUMULATE_BATCH];
    static expected e;
    bf_accumulator_column columns[2][OPS], other[OPS];
    bf_accumulators a[2], from;
    uint64_t rng = seed;
    expect_nothing(&e, dtype);
    make(&a[0], columns[0], dtype, false);
    make(&a[1], columns[1], dtype, true);
    for (int round = 0; round < BATCHES; round++) {
        const int64_t n = (int64_t)(next_random(&rng) % 70);
        const bf_rows_batch b = {.slots = slots, .values = values, .n = n};
        random_batch(dtype, round == 0 ? KIND_NARROW : k, &rng, values, slots, n);
        if (seed % 2 && n > 0) memset(values, 0, 8); /* the first value takes no bits */
        expect_batch(&e, dtype, &b);
        absorb(&a[0], loops, &b);
        absorb(&a[1], loops, &b);
        /* As if there had been so many rows: bands are wide enough for each number of them. */
        a[round % 2].deposits += (int64_t)1 << (12 * round + 11);
    }
    assert_words(&a[0], -1, dtype, &e);
    assert_words(&a[1], 0, dtype, &e);

    /* One column of all parts goes to a column for each: as a merge, and as words. */
    const int map[OPS] = {0};
    make(&from, other, dtype, false);
    assert_true(bf_accumulators_prepare(&from, &a[1], map));
    for (size_t s = 0; s < SLOTS; s++) bf_accumulators_merge(&from, s, &a[1], s, map);
    assert_words(&from, -1, dtype, &e);
    for (int o = 0; o < OPS; o++) {
        int64_t words[SLOTS * BF_SUM_WORDS_MAX];
        const bf_kind kind = bf_kind_of(ops[o], dtype);
        const size_t each = (size_t)bf_state_words(kind, dtype, NULL);
        for (size_t s = 0; s < SLOTS; s++)
            memcpy(words + s * each, e.words[o][s], each * sizeof *words);
        assert_true(bf_accumulators_add_words(&from, o, ops[o], 0, words, SLOTS));
        for (size_t s = 0; s < SLOTS; s++)
            bf_state_merge_words(kind, dtype, e.words[o][s], words + s * each);
    }
    for (size_t s = 0; s < SLOTS; s++) bf_record(&from, s)[0] *= 2;
    assert_words(&from, -1, dtype, &e);
    free_all(&from);
    free_all(&a[0]);
    free_all(&a[1]);
}

TEST(slots_keep_the_words_of_the_rules) {
    for (int isa = 0; bf_cpu_isa(isa) != NULL; isa++) {
        if (!bf_cpu_isa(isa)->available()) continue;
        for (int d = 0; d < DTYPE_COUNT; d++)
            for (int k = 0; k < KIND_COUNT; k++)
                for (int i = 0; i < MORE; i++)
                    check(bf_cpu_isa(isa)->accumulate, all_dtypes[d], (data_kind)k,
                          (uint64_t)(100 * k + i));
    }
}

/* As after room for more was made in part, for want of memory. */
TEST(less_room_changes_nothing) {
    enum { ROOM = 1000 };
    bf_accumulator_column column = {.dtype = BF_I64, .parts = BF_PART_GREATEST};
    bf_accumulators a;
    bf_accumulators_init(&a, &column, 1);
    assert_true(bf_accumulators_grow(&a, ROOM));
    bf_record(&a, ROOM - 1)[0] = 7;
    assert_true(bf_accumulators_grow(&a, ROOM / 2));
    assert_int_equal(a.room, ROOM);
    assert_int_equal(bf_record(&a, ROOM - 1)[0], 7);
    bf_accumulators_clear(&a);
}

/* Deposits of the largest terms until 2^62 of them, which the sums must hold. */
TEST(bands_hold_all_deposits) {
    const double most = 0x1.fffffffffffffp100;
    const uint32_t slot = 0;
    const bf_rows_batch b = {.slots = &slot, .values = (const char *)&most, .n = 1};
    bf_accumulator_column column = {.dtype = BF_F64, .parts = BF_PART_SUM};
    bf_accumulators a;
    int64_t words[BF_SUM_WORDS_MAX], sum[BF_SUM_WORDS_MAX] = {0};
    const bf_sum_shape s = bf_sum_shape_of(BF_KIND_SUM, BF_F64);
    uint64_t bits;
    memcpy(&bits, &most, sizeof bits);
    bf_accumulators_init(&a, &column, 1);
    assert_true(bf_accumulators_grow(&a, 1));
    bf_sum_take(BF_F64, &s, sum, bits);
    assert_true(bf_accumulators_open(&a, &bf_accumulate_loops_generic, &slot, 1));
    assert_true(bf_accumulators_absorb(&a, &bf_accumulate_loops_generic, 0, &b));
    while (sum[BF_SUM_COUNT] < BF_COUNT_MAX) { /* doubles itself */
        bf_accumulator_column copied;
        bf_accumulators copy;
        memset(&copied, 0, sizeof copied);
        copied.dtype = BF_F64;
        copied.parts = BF_PART_SUM;
        bf_accumulators_init(&copy, &copied, 1);
        assert_true(bf_accumulators_grow(&copy, 1));
        assert_true(bf_accumulators_prepare(&copy, &a, NULL));
        bf_accumulators_merge(&copy, 0, &a, 0, NULL);
        assert_true(bf_accumulators_prepare(&a, &copy, NULL));
        bf_accumulators_merge(&a, 0, &copy, 0, NULL);
        bf_accumulators_clear(&copy);
        bf_sum_merge(BF_KIND_SUM, BF_F64, sum, sum);
        bf_accumulators_words(&a, 0, BF_SUM, 0, words);
        assert_memory_equal(words, sum, (size_t)s.words * sizeof *sum);
    }
    bf_accumulators_clear(&a);
}

/* Every allocation that fails leaves the values as they were. */
TEST(a_failure_changes_nothing) {
    needs_failing_malloc();
    static const double near[2] = {1, 3}, far[3] = {0x1p900, 0x1p-900, INFINITY};
    static const uint32_t slots[3] = {0, 1, 2};
    bf_accumulator_column column = {.dtype = BF_F64,
                                    .parts = BF_PART_SUM | BF_PART_PRODUCTS | BF_PART_LEAST};
    const bf_rows_batch b = {.slots = slots, .values = (const char *)near, .n = 2};
    const bf_rows_batch more = {.slots = slots, .values = (const char *)far, .n = 3};
    int64_t before[BF_SUM_WORDS_MAX], after[BF_SUM_WORDS_MAX];
    bf_accumulators a;
    bf_accumulators_init(&a, &column, 1);
    assert_true(bf_accumulators_grow(&a, SLOTS));
    absorb(&a, &bf_accumulate_loops_generic, &b);
    for (long allowed = 0;; allowed++) {
        bf_accumulators into;
        bf_accumulator_column own = {.dtype = BF_F64, .parts = column.parts};
        bf_accumulators_init(&into, &own, 1);
        assert_true(bf_accumulators_grow(&into, SLOTS));
        absorb(&into, &bf_accumulate_loops_generic, &more);
        bf_accumulators_words(&into, 0, BF_VAR, 1, before);
        atomic_store(&failures, 0);
        atomic_store(&until_failure, allowed);
        const bool made = bf_accumulators_prepare(&into, &a, NULL) &&
                          bf_accumulators_absorb(&a, &bf_accumulate_loops_generic, 0, &more);
        atomic_store(&until_failure, -1);
        bf_accumulators_words(&into, 0, BF_VAR, 1, after);
        assert_memory_equal(before, after, sizeof(int64_t) * 208);
        bf_accumulators_clear(&into);
        if (made) break;
    }
    bf_accumulators_clear(&a);
}

UNIT_TESTS(accumulators, NULL, NULL)
