/* Where calls run: the decision for every kind of memory, and what a context makes of it. */
#include "api/histogram/histogram.h"
#include "api/map/map.h"
#include "api/reduce/reduce.h"
#include "api/runtime/place.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30 };

static const bf_kind kinds[] = {BF_KIND_SUM,        BF_KIND_MOMENTS, BF_KIND_DOT,
                                BF_KIND_EXTREME,    BF_KIND_PRODUCT, BF_KIND_PRODUCT_TREE,
                                BF_KIND_DESCRIPTION};
enum { KINDS = sizeof kinds / sizeof *kinds };
static const bf_where places[] = {BF_WHERE_HOST, BF_WHERE_PINNED, BF_WHERE_MANAGED,
                                  BF_WHERE_DEVICE};

static bf_machine machine(int threads, bool vectors, bool gpu, bool open) {
    bf_machine m = bf_usual_machine(threads, vectors);
    m.gpu = gpu;
    m.open = open;
    return m;
}

static bf_operand operand(bf_where where, int64_t bytes) { return (bf_operand){where, bytes}; }

static bf_choice choose(const bf_machine *m, int share, const bf_operand *operands, int n) {
    const bf_demand demand = {.share = share};
    return bf_choose(m, &demand, operands, n);
}

static bf_choice choose_reduce(const bf_machine *m, bf_kind kind, const bf_operand *operands,
                               int n) {
    return choose(m, bf_reduce_demand(kind, BF_F64).share, operands, n);
}

static bf_choice choose_map(const bf_machine *m, bf_map_op op, const bf_operand *operands) {
    return choose(m, bf_map_share(op), operands, bf_map_arity(op) + 1);
}

/* Chooses for every primitive, with operands of this kind. */
static void expect(const bf_machine *m, bf_where where, int64_t bytes, bool gpu) {
    bf_operand x[4] = {operand(where, bytes), operand(where, bytes), operand(where, bytes),
                       operand(where, bytes)};
    for (int k = 0; k < KINDS; k++) assert_int_equal(choose_reduce(m, kinds[k], x, 1).gpu, gpu);
    assert_int_equal(choose_reduce(m, BF_KIND_DOT, x, 2).gpu, gpu);
    for (int n = 1; n <= 2; n++) assert_int_equal(choose(m, BF_HISTOGRAM_SHARE, x, n).gpu, gpu);
    for (int op = 1; bf_map_arity((bf_map_op)op) > 0; op++)
        assert_int_equal(choose_map(m, (bf_map_op)op, x).gpu, gpu);
}

TEST(data_on_a_gpu_leave_no_choice) {
    for (int open = 0; open < 2; open++) {
        bf_machine m = machine(64, true, open, open);
        expect(&m, BF_WHERE_DEVICE, 1, true);
        expect(&m, BF_WHERE_DEVICE, (int64_t)64 * GIB, true);
        for (int k = 0; k < 3; k++) { /* one operand there is enough */
            bf_operand x[] = {operand(places[k], GIB), operand(BF_WHERE_DEVICE, 8)};
            bf_choice dot = choose_reduce(&m, BF_KIND_DOT, x, 2);
            assert_true(dot.gpu && dot.forced);
            assert_true(choose_map(&m, BF_MAP_NEG, x).gpu);
        }
    }
}

TEST(managed_memory_goes_where_a_gpu_is_in_use) {
    bf_machine closed = machine(1, true, true, false), open = machine(1, true, true, true);
    for (int64_t bytes = 1; bytes < (int64_t)64 * GIB; bytes *= 8) {
        expect(&closed, BF_WHERE_MANAGED, bytes, false);
        expect(&open, BF_WHERE_MANAGED, bytes, true);
    }
}

TEST(small_host_arrays_never_open_a_gpu) {
    for (int k = 0; k < 2; k++) {
        for (int threads = 1; threads <= 64; threads *= 2) {
            bf_machine m = machine(threads, k == 1, true, false);
            expect(&m, BF_WHERE_HOST, 64 * MIB, false);
            expect(&m, BF_WHERE_PINNED, 64 * MIB, false);
            m.open = true;
            expect(&m, BF_WHERE_HOST, 4 * KIB, false);
        }
    }
}

TEST(pageable_memory_stays_where_the_cpu_is_fast) {
    for (int threads = 4; threads <= 64; threads *= 2) {
        bf_machine m = machine(threads, true, true, true);
        expect(&m, BF_WHERE_HOST, (int64_t)16 * GIB, false);
    }
}

/* The rate of copies grows with the threads that copy. */
TEST(more_threads_copy_faster) {
    int64_t before = 0;
    for (int threads = 1; threads <= 16; threads++) {
        const bf_machine m = bf_usual_machine(threads, true);
        assert_true(m.pageable_rate >= before && m.pageable_rate < m.pinned_rate);
        assert_true(threads == 1 || threads > 7 || m.pageable_rate > before);
        before = m.pageable_rate;
    }
}

TEST(without_a_gpu_all_is_the_cpu_s) {
    bf_machine m = machine(1, false, false, false);
    for (int k = 0; k < 3; k++) expect(&m, places[k], (int64_t)64 * GIB, false);
}

TEST(slow_work_on_much_data_moves) {
    bf_machine slow = machine(1, false, true, false), fast = machine(16, true, true, false);
    bf_operand much = operand(BF_WHERE_HOST, (int64_t)16 * GIB);
    assert_true(choose_reduce(&slow, BF_KIND_PRODUCT, &much, 1).gpu);
    assert_false(choose_reduce(&slow, BF_KIND_PRODUCT, &much, 1).forced);
    assert_false(choose_reduce(&fast, BF_KIND_PRODUCT, &much, 1).gpu);
    much.where = BF_WHERE_PINNED;
    assert_true(choose_reduce(&slow, BF_KIND_SUM, &much, 1).gpu);
    assert_false(choose_reduce(&fast, BF_KIND_SUM, &much, 1).gpu);
}

/* More data never speak against the GPU, and neither do slower threads. */
TEST(decisions_are_monotonic) {
    for (int k = 0; k < KINDS; k++) {
        for (int where = 0; where < 2; where++) {
            bool before = false;
            bf_machine m = machine(2, false, true, true);
            for (int64_t bytes = 1; bytes < BF_COUNT_MAX; bytes *= 2) {
                bf_operand x = operand(places[where], bytes);
                bool gpu = choose_reduce(&m, kinds[k], &x, 1).gpu;
                assert_true(gpu || !before);
                before = gpu;
                bf_machine more = machine(64, true, true, true);
                assert_true(gpu || !choose_reduce(&more, kinds[k], &x, 1).gpu);
            }
        }
    }
}

TEST(every_choice_says_why) {
    for (int i = 0; i < 32; i++) {
        bf_machine m = machine(i & 1 ? 1 : 16, i & 2, i & 4, i & 4 && i & 8);
        for (int k = 0; k < 4; k++) {
            bf_operand x = operand(places[k], i & 16 ? (int64_t)64 * GIB : 8);
            const char *why = choose_reduce(&m, BF_KIND_PRODUCT, &x, 1).why;
            assert_true(strlen(why) > 10);
            assert_null(strchr(why, '\n'));
        }
    }
}

/* Tables, groups and joins: no amount of data moves them, nor data that lie elsewhere. */
TEST(objects_are_where_their_data_are) {
    bf_machine m = machine(1, false, true, true);
    for (int k = 0; k < 4; k++) {
        for (int64_t bytes = 0; bytes <= (int64_t)64 * GIB; bytes = bytes * 64 + 1) {
            bf_operand x[] = {operand(BF_WHERE_HOST, bytes), operand(places[k], bytes)};
            bf_demand demand = {
                .share = 1, .follows = true, .on_host = "in the host", .on_gpu = "in the GPU"};
            bool gpu = places[k] == BF_WHERE_DEVICE && bytes > 0;
            bf_choice choice = bf_choose(&m, &demand, x, 2);
            assert_true(choice.gpu == gpu && choice.forced);
            assert_string_equal(choice.why, gpu ? "in the GPU" : "in the host");
            demand.home = &bf_backend_cpu;
            choice = bf_choose(&m, &demand, x, 2);
            assert_true(!choice.gpu && choice.forced);
            assert_string_equal(choice.why, "in the host");
        }
    }
}

TEST(a_table_tells_where_it_is) {
    OWN(bf_context) *c = NULL;
    OWN(bf_table) *table = NULL;
    OWN(bf_groups) *groups = NULL;
    OWN(bf_pairs) *pairs = NULL;
    int64_t x[] = {1, 2, 3};
    bf_array keys = bf_array_of(BF_I64, x, 3);
    assert_int_equal(bf_context_create(NULL, &c), BF_OK);
    assert_int_equal(bf_table_create(c, &BF_TABLE_OPTIONS(.key = BF_I64), &table), BF_OK);
    assert_int_equal(bf_table_insert(table, &keys, NULL), BF_OK);
    assert_string_equal(bf_context_reason(c), "the table is in host memory");
    assert_int_equal(bf_groups_create(c, &BF_GROUPS_OPTIONS(.key = BF_I64), &groups), BF_OK);
    assert_int_equal(bf_groups_absorb(groups, &keys, NULL), BF_OK);
    assert_string_equal(bf_context_reason(c), "the groups are in host memory");
    assert_int_equal(bf_join(c, &keys, &keys, 0, &pairs), BF_OK);
    assert_string_equal(bf_context_reason(c), "joins of keys in host memory are made there");
    assert_string_equal(bf_context_device(c), "cpu");
}

static int here;

TEST(the_host_s_memory_is_known_as_such) {
    int device = 5, local = 0;
    void *heap = malloc(100);
    const void *pointers[] = {&here, &local, heap, NULL, (void *)1, (void *)~(uintptr_t)0};
    for (size_t i = 0; i < sizeof pointers / sizeof *pointers; i++) {
        assert_int_equal(bf_where_is(pointers[i], &device), BF_WHERE_HOST);
        assert_int_equal(device, -1);
        assert_int_equal(bf_where_is(pointers[i], NULL), BF_WHERE_HOST);
    }
    free(heap);
}

TEST(a_call_on_a_small_array_opens_no_gpu) {
    OWN(bf_context) *c = NULL;
    double x[1000] = {1}, sum;
    assert_int_equal(bf_context_create(NULL, &c), BF_OK);
    assert_int_equal(bf_sum_f64(c, x, 1000, &sum), BF_OK);
    assert_string_equal(bf_context_device(c), "cpu");
    assert_non_null(strstr(bf_context_reason(c), "host memory"));
    assert_null(c->cuda);
}

UNIT_TESTS(placement, NULL, NULL)
