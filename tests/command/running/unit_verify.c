/* verify: it sees a difference wherever there is one, and its rows of pictures, tables, groups,
 * expressions and states compute what they say.
 * Builds: release, asan (full). */
#include "cli/verify/data.h"
#include "cli/verify/verify.h"
#include "tests/support/unit.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 2 };

static options quiet = {.quiet = true};

/* One instruction set, one and two threads. */
static machine machine_of(void) {
    machine m = {.isas = 1, .counts = THREADS, .isa = {"auto"}};
    for (int i = 0; i < THREADS; i++) {
        m.threads[i] = i + 1;
        const bf_options o = BF_OPTIONS(.device = "cpu", .threads = i + 1);
        assert_int_equal(bf_context_create(&o, &m.context[0][i]), BF_OK);
    }
    return m;
}

static void release(machine *m) {
    for (int i = 0; i < THREADS; i++) bf_context_destroy(m->context[0][i]);
}

static int differing; /* the call that gives another result; -1: none */
static int calls;

static outcome result(bf_context *context, const subject *s) {
    (void)context, (void)s;
    const outcome r = {.value = {.dtype = BF_U64, .as.u64 = calls == differing}};
    calls++;
    return r;
}

static void a_difference_anywhere_is_a_failure(void **unused) {
    (void)unused;
    machine m = machine_of();
    const subject s = {
        .op = "test", .data = "", .a = {.dtype = BF_U64}, .whole = result, .parts = result};
    for (differing = -1; differing < THREADS + 1; differing++) {
        verdict v = {.options = &quiet};
        calls = 0;
        assert_int_equal(verify_row(&m, &s, &v), 0);
        assert_int_equal(v.failures, differing >= 0);
        assert_int_equal(v.gpu_failures, 0);
    }
    m.gpus = 1; /* a GPU that differs from the CPU, in one pass or in parts */
    m.gpu[0] = m.context[0][0];
    for (; differing < THREADS + 3; differing++) {
        verdict v = {.options = &quiet};
        calls = 0;
        assert_int_equal(verify_row(&m, &s, &v), 0);
        assert_int_equal(v.failures, 1);
        assert_int_equal(v.gpu_failures, 1);
    }
    release(&m);
}

static bf_status refusal;

static outcome refused(bf_context *context, const subject *s) {
    (void)context, (void)s;
    return (outcome){.status = refusal};
}

static void calls_that_all_fail_prove_nothing(void **unused) {
    (void)unused;
    machine m = machine_of();
    const subject s = {
        .op = "test", .data = "", .a = {.dtype = BF_U64}, .whole = refused, .parts = refused};
    for (refusal = BF_E_ARGUMENT; refusal <= BF_E_COMM; refusal++) {
        if (refusal == BF_E_MEMORY) continue; /* verify ends */
        const bool data = refusal == BF_E_OVERFLOW || refusal == BF_E_NAN || refusal == BF_E_EMPTY;
        verdict v = {.options = &quiet};
        assert_int_equal(verify_row(&m, &s, &v), 0);
        assert_int_equal(v.failures, !data);
    }
    release(&m);
}

typedef int rows_fn(const machine *m, verdict *v);

static void check_rows(rows_fn *verify, int least) {
    machine m = machine_of();
    verdict v = {.options = &quiet};
    assert_int_equal(verify(&m, &v), 0);
    assert_true(v.rows >= least);
    assert_int_equal(v.failures, 0);
    release(&m);
}

static void pictures_tables_and_groups_have_rows(void **unused) {
    (void)unused;
    check_rows(verify_pictures, 8);
    check_rows(verify_tables, 12);
    check_rows(verify_groups, 20);
    check_rows(verify_dictionaries, 3);
}

static int expressions_and_many(const machine *m, verdict *v) {
    static double numbers[9999];
    const bf_array all = bf_array_of(BF_F64, numbers, 9999), few = verify_slice(&all, 0, 3);
    data_fill(DATA_SPECIAL, BF_F64, numbers, 9999);
    int code = verify_expressions(m, "many", &all, v);
    if (code == 0) code = verify_expressions(m, "few", &few, v);
    if (code == 0) code = verify_axes(m, "few", &few, BF_NAN_PROPAGATE, v);
    return code == 0 ? verify_orders(m, "few", &few, BF_NAN_SKIP, v) : code;
}

static void expressions_and_states_of_many_have_rows(void **unused) {
    (void)unused;
    check_rows(expressions_and_many, 1 + 1 + 4 + 7);
}

static void keys_are_as_different_as_asked_for(void **unused) {
    (void)unused;
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

static void checksums_see_every_byte(void **unused) {
    (void)unused;
    char bytes[19];
    memset(bytes, 5, sizeof bytes);
    const uint64_t sum = verify_checksum(0, bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] ^= 1;
        assert_true(verify_checksum(0, bytes, sizeof bytes) != sum);
        bytes[i] ^= 1;
    }
    assert_true(verify_checksum(1, bytes, sizeof bytes) != sum);
}

UNIT_TESTS(verify) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_difference_anywhere_is_a_failure),
        cmocka_unit_test(calls_that_all_fail_prove_nothing),
        cmocka_unit_test(pictures_tables_and_groups_have_rows),
        cmocka_unit_test(expressions_and_states_of_many_have_rows),
        cmocka_unit_test(keys_are_as_different_as_asked_for),
        cmocka_unit_test(checksums_see_every_byte),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
