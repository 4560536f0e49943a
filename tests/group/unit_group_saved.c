/* Saved groups: allocations that fail leave everything as it was; spans of limbs; what is refused.
 * tests/group/python_group.py has the oracles, tests/group/fuzz_group.c the bytes that nobody
 * saved. */
#include "tests/support/failing_malloc.h"
#include "tests/support/forms.h"
#include "tests/support/oracle.h"
#include "tests/support/unit.h"

#include "rules/reduce/sum.h"

enum { ROWS = 3000, AGGREGATES = 3 };
static const bf_aggregate aggregates[AGGREGATES] = {
    {BF_SUM, BF_F64}, {BF_VAR, BF_F32}, {BF_MAX, BF_I16}};

static bf_groups *groups_of(bf_context *context, int64_t rows) {
    static uint16_t keys[ROWS];
    static double values[3][ROWS];
    uint64_t seed = 1;
    bf_groups *g = NULL;
    bf_groups_options o =
        BF_GROUPS_OPTIONS(.key = BF_U16, .count = AGGREGATES, .aggregates = aggregates);
    for (int i = 0; i < ROWS; i++) {
        keys[i] = (uint16_t)(next_random(&seed) % 900);
        values[0][i] = (double)(int64_t)next_random(&seed);
        for (size_t k = 0; k < 8; k++) ((char *)values[1])[8 * (size_t)i + k] = (char)(i * 7);
    }
    assert_int_equal(bf_groups_create(context, &o, &g), BF_OK);
    bf_array k = bf_array_of(BF_U16, keys, rows), a = bf_array_of(BF_F64, values[0], rows);
    bf_array b = bf_array_of(BF_F32, values[1], rows), c = bf_array_of(BF_I16, values[1], rows);
    const bf_array *arrays[AGGREGATES] = {&a, &b, &c};
    assert_int_equal(bf_groups_absorb(g, &k, arrays), BF_OK);
    return g;
}

/* ---- tests ----------------------------------------------------------------------------------- */

TEST(loading_fails_without_memory_and_leaves_nothing) {
    needs_failing_malloc();
    size_t size;
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_groups) *g = groups_of(context, ROWS), *loaded = NULL;
    unsigned char *saved = save_form(g, &size);
    FAIL_EACH_ALLOCATION(bf_groups_load(context, saved, size, &loaded)) assert_null(loaded);
    assert_same_form(loaded, g);
    free(saved);
}

TEST(saving_fails_without_memory) {
    needs_failing_malloc();
    size_t size = 0;
    OWN(bf_context) *context = make_context(NULL, 1);
    OWN(bf_groups) *g = groups_of(context, ROWS);
    FAIL_EACH_ALLOCATION(bf_groups_save_size(g, &size)) assert_int_equal(size, 0);
    free(save_form(g, &size));
}

/* Limbs outside the span come back from what is inside it. */
TEST(spans_say_all_of_a_number) {
    enum { LIMBS = 8 };
    uint64_t seed = 3;
    for (int round = 0; round < 20000; round++) {
        int64_t limbs[LIMBS] = {0}, back[LIMBS] = {0};
        int first, end, at = (int)(next_random(&seed) % LIMBS);
        int64_t x = (int64_t)next_random(&seed) >> next_random(&seed) % 64;
        limbs[at] = x >> 34;
        bf_limbs_carry(limbs, LIMBS);
        if (!bf_limbs_valid(limbs, LIMBS)) continue;
        bf_limbs_span(limbs, LIMBS, &first, &end);
        assert_true(x >> 34 == 0 ? end == 0 && first == 0 : first == at && end <= at + 2);
        for (int i = first; i < end; i++) back[i] = (uint32_t)limbs[i];
        if (end > first) back[end - 1] = (int32_t)back[end - 1];
        bf_limbs_carry(back, LIMBS);
        assert_memory_equal(back, limbs, sizeof limbs);
        if (end - first < 2) continue;
        back[end - 2] = (int32_t)limbs[end - 2]; /* one limb fewer would not do */
        for (int i = end - 1; i < LIMBS; i++) back[i] = 0;
        bf_limbs_carry(back, LIMBS);
        assert_true(memcmp(back, limbs, sizeof limbs) != 0);
    }
}

TEST(wrong_arguments_are_refused) {
    size_t size;
    OWN(bf_context) *context = make_context(NULL, 1);
    bf_groups *g = groups_of(context, 10), *loaded = NULL;
    bf_groups_options kind = {.size = sizeof kind};
    unsigned char *saved = save_form(g, &size);
    bf_groups_describe(g, &kind);
    assert_true(kind.size == sizeof kind && kind.key == BF_U16 && kind.count == AGGREGATES);
    assert_memory_equal(kind.aggregates, aggregates, sizeof aggregates);
    assert_int_equal(bf_groups_save_size(NULL, &size), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_save_size(g, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_save(NULL, saved), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_save(g, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_load(NULL, saved, size, &loaded), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_load(context, NULL, size, &loaded), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_load(context, saved, size, NULL), BF_E_ARGUMENT);
    assert_int_equal(bf_groups_load(context, saved, size - 1, &loaded), BF_E_STATE);
    assert_null(loaded);
    free(saved);
    bf_groups_destroy(g);
}

UNIT_TESTS(group_saved, NULL, NULL)
