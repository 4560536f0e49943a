/* Groups that get other numbers as keys are those of the same rows with these keys. */
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

enum { ROWS = 30000, KEYS = 9001 };
static const bf_aggregate aggregates[] = {{BF_SUM, BF_F64}, {BF_MAX, BF_I64}, {BF_VAR, BF_I64}};
enum { AGGREGATES = sizeof aggregates / sizeof *aggregates };
static int64_t keys[ROWS], numbers[KEYS], whole[ROWS];
static int32_t narrow[KEYS];
static double values[ROWS];

static bf_groups *make_groups(bf_context *context, bf_dtype key, const void *of) {
    bf_groups *g = NULL;
    const bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = key, .count = AGGREGATES, .aggregates = aggregates);
    const bf_array k = bf_array_of(key, of, ROWS), v = bf_array_of(BF_F64, values, ROWS),
                   w = bf_array_of(BF_I64, whole, ROWS), *const all[] = {&v, &w, &w};
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    assert_int_equal(bf_groups_absorb(g, &k, all), BF_OK);
    return g;
}

/* Keys from 0 on, and for each another number. */
static void fill_rows(void) {
    uint64_t seed = 5;
    for (int i = 0; i < ROWS; i++) {
        keys[i] = (int64_t)(next_random(&seed) % KEYS);
        whole[i] = (int64_t)next_random(&seed);
        values[i] = (double)(int64_t)next_random(&seed) * 0x1p-40;
    }
    for (int i = 0; i < KEYS; i++) keys[i] = i; /* each is there */
    for (int i = 0; i < KEYS; i++) numbers[i] = (int64_t)i * 7919 % KEYS * 3 - KEYS;
    for (int i = 0; i < KEYS; i++) narrow[i] = (int32_t)numbers[i];
}

TEST(numbers_are_the_keys) {
    OWN(bf_context) *context = make_context(NULL, 2);
    int64_t *const to = test_malloc(sizeof keys);
    fill_rows();
    for (int i = 0; i < ROWS; i++) to[i] = numbers[keys[i]];
    bf_groups *g = make_groups(context, BF_I64, keys), *same = make_groups(context, BF_I64, to);
    const bf_array wide = bf_array_of(BF_I64, numbers, KEYS);
    assert_int_equal(bf_groups_renumber(g, &wide), BF_OK);
    assert_same_form(g, same);
    for (int i = 0; i < KEYS; i++) numbers[i] = i;
    assert_int_equal(bf_groups_renumber(g, &wide), BF_OK);
    bf_groups *const back = make_groups(context, BF_I64, keys);
    for (int i = 0; i < ROWS; i++) ((int32_t *)to)[i] = narrow[keys[i]];
    bf_groups *const less = make_groups(context, BF_I32, to);
    const bf_array small = bf_array_of(BF_I32, narrow, KEYS);
    assert_int_equal(bf_groups_renumber(back, &small), BF_OK);
    assert_same_form(back, less);
    bf_groups *const made[] = {g, same, back, less};
    for (int i = 0; i < 4; i++) bf_groups_destroy(made[i]);
    test_free(to);
}

TEST(wrong_numbers_change_nothing) {
    OWN(bf_context) *context = make_context(NULL, 1);
    fill_rows();
    OWN(bf_groups) *g = make_groups(context, BF_I64, keys),
                   *before = make_groups(context, BF_I64, keys);
    const bf_array all = bf_array_of(BF_I64, numbers, KEYS),
                   few = bf_array_of(BF_I64, numbers, KEYS - 1),
                   floats = bf_array_of(BF_F64, values, KEYS);
    assert_int_equal(bf_groups_renumber(g, &few), BF_E_SHAPE);
    assert_int_equal(bf_groups_renumber(g, &floats), BF_E_DTYPE);
    for (int apart = 1; apart < KEYS; apart += KEYS - 2) { /* within a page, and beyond it */
        fill_rows();
        numbers[apart] = numbers[0];
        assert_int_equal(bf_groups_renumber(g, &all), BF_E_ARGUMENT);
    }
    assert_same_form(g, before);
}

TEST(without_memory_nothing_changes) {
    needs_failing_malloc();
    OWN(bf_context) *context = make_context(NULL, 1);
    fill_rows();
    OWN(bf_groups) *g = make_groups(context, BF_I64, keys),
                   *before = make_groups(context, BF_I64, keys);
    const bf_array all = bf_array_of(BF_I64, numbers, KEYS);
    FAIL_EACH_ALLOCATION(bf_groups_renumber(g, &all)) assert_same_form(g, before);
}

UNIT_TESTS(group_renumber, NULL, NULL)
