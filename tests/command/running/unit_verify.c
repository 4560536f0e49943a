/* verify: it sees a difference wherever there is one, and its rows of pictures, tables, groups,
 * expressions and states compute what they say.
 * Builds: release, asan (full). */
#include "cli/verify/verify.h"
#include "cli/works/data.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 2 };

static options quiet = {.quiet = true};

/* One instruction set, one and two threads, and parts. */
static machine machine_of(void) {
    machine m = {.count = 0};
    for (int i = 0; i < THREADS; i++) {
        way *w = &m.ways[m.count++];
        *w = (way){.name = "auto", .threads = i + 1};
        const bf_options o = BF_OPTIONS(.device = "cpu", .threads = i + 1);
        assert_int_equal(bf_context_create(&o, &w->context), BF_OK);
    }
    m.ways[m.count] = m.ways[0];
    m.ways[m.count++].parts = true;
    return m;
}

static void release(machine *m) {
    for (int i = 0; i < THREADS; i++) bf_context_destroy(m->ways[i].context);
}

static int differing; /* the call that gives another result; -1: none */
static int calls;

static bf_status answer(task *t) {
    t->value.as.u64 = calls == differing;
    calls++;
    return BF_OK;
}

TEST(a_difference_anywhere_is_a_failure) {
    machine m = machine_of();
    const work w = {.whole = answer, .parts = answer};
    const task t = {.work = &w, .op = "test", .data = "", .a = {.dtype = BF_U64}};
    for (differing = -1; differing < THREADS + 1; differing++) {
        verdict v = {.options = &quiet};
        calls = 0;
        assert_int_equal(verify_row(&m, &t, &v), 0);
        assert_int_equal(v.failures, differing >= 0);
        assert_int_equal(v.gpu_failures, 0);
    }
    for (int parts = 0; parts < 2; parts++) /* a GPU that differs from the CPU */
        m.ways[m.count++] =
            (way){.context = m.ways[0].context, .name = "gpu", .gpu = true, .parts = parts};
    for (; differing < THREADS + 3; differing++) {
        verdict v = {.options = &quiet};
        calls = 0;
        assert_int_equal(verify_row(&m, &t, &v), 0);
        assert_int_equal(v.failures, 1);
        assert_int_equal(v.gpu_failures, 1);
    }
    release(&m);
}

static bf_status refusal;

static bf_status refused(task *t) {
    (void)t;
    return refusal;
}

TEST(calls_that_all_fail_prove_nothing) {
    machine m = machine_of();
    const work w = {.whole = refused, .parts = refused};
    const task t = {.work = &w, .op = "test", .data = "", .a = {.dtype = BF_U64}};
    for (refusal = BF_E_ARGUMENT; refusal <= BF_E_IO; refusal++) {
        if (refusal == BF_E_MEMORY) continue; /* verify ends */
        const bool data = refusal == BF_E_OVERFLOW || refusal == BF_E_NAN || refusal == BF_E_EMPTY;
        verdict v = {.options = &quiet};
        assert_int_equal(verify_row(&m, &t, &v), 0);
        assert_int_equal(v.failures, !data);
    }
    release(&m);
}

static void check_rows(const work *w, const task *given, int least) {
    machine m = machine_of();
    verdict v = {.options = &quiet};
    assert_int_equal(verify_work(&m, w, given, &v), 0);
    assert_true(v.rows >= least);
    assert_int_equal(v.failures, 0);
    release(&m);
}

TEST(pictures_tables_and_groups_have_rows) {
    static const int least[] = {8, 12, 20, 3};
    int n = 0;
    for (; works_of_own[n]; n++) check_rows(works_of_own[n], &(task){.kinds = 0}, least[n]);
    assert_int_equal(n, 4);
}

TEST(expressions_and_states_of_many_have_rows) {
    static double numbers[9999];
    const bf_array all = bf_array_of(BF_F64, numbers, 9999);
    data_fill(DATA_SPECIAL, BF_F64, numbers, 9999);
    const task many = {.data = "many", .a = all};
    task few = {.data = "few", .a = work_slice(&all, 0, 3)};
    check_rows(&work_expression, &many, 1);
    check_rows(&work_expression, &few, 1);
    check_rows(&work_axis, &few, 4);
    few.nan = BF_NAN_SKIP;
    check_rows(&work_order, &few, 7);
}

TEST(keys_are_as_different_as_asked_for) {
    enum { N = 999, DIFFERENT = 50 };
    static char keys[N * 16];
    static const bf_dtype dtypes[] = {BF_I32, BF_F64, BF_PAIR};
    for (int i = 0; i < 3; i++) {
        const size_t size = data_size(dtypes[i]);
        int hits = 0;
        memset(keys, 0, sizeof keys);
        data_fill_keys(DATA_NORMAL, dtypes[i], keys, N, DIFFERENT);
        for (int k = DIFFERENT; k < N; k++)
            for (int j = 0; j < DIFFERENT; j++)
                hits += memcmp(keys + (size_t)k * size, keys + (size_t)j * size, size) == 0;
        assert_int_equal(hits, N - DIFFERENT);
    }
}

TEST(checksums_see_every_byte) {
    char bytes[19];
    memset(bytes, 5, sizeof bytes);
    const uint64_t sum = work_checksum(0, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        assert_true(work_checksum(0, bytes, sizeof bytes) != sum);
        bytes[i] ^= 1;
    }
    assert_true(work_checksum(1, bytes, sizeof bytes) != sum);
}

UNIT_TESTS(verify, NULL, NULL)
