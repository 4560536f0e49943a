/* Arrays that no memory can hold, with shapes and strides from anywhere: refused before anything is
 * read, in every call that takes them. UBSan looks for the overflow. */
#include "tests/runtime/world.h"
#include "tests/support/unit.h"

typedef struct shape_case {
    int ndim;
    int64_t shape[3], strides[3];
} shape_case;

static bf_array array_of(const shape_case *s, bf_dtype dtype, void *data) {
    bf_array a = {data, dtype, s->ndim, {0}, {0}};
    memcpy(a.shape, s->shape, sizeof s->shape);
    memcpy(a.strides, s->strides, sizeof s->strides);
    return a;
}

/* These are impossible for every dtype. */
static const shape_case impossible[] = {
    {1, {2}, {INT64_MIN}},
    {1, {2}, {INT64_MAX}},
    {1, {2}, {INT64_MIN + 1}},
    {1, {2}, {(int64_t)1 << 62}},
    {1, {3}, {(int64_t)1 << 61}},
    {1, {INT64_MAX}, {1}},
    {1, {(int64_t)1 << 62}, {2}},
    {1, {(int64_t)1 << 32}, {-((int64_t)1 << 31)}},
    {2, {2, 2}, {INT64_MIN, 1}},
    {2, {2, 2}, {1, INT64_MIN}},
    {2, {2, 2}, {INT64_MAX, INT64_MAX}},
    {2, {3, 3}, {(int64_t)1 << 60, (int64_t)1 << 60}},
    {2, {(int64_t)1 << 32, (int64_t)1 << 32}, {0, 0}},
    {3, {2, 1, 2}, {(int64_t)1 << 61, INT64_MIN, -((int64_t)1 << 61)}},
};
enum { IMPOSSIBLE = sizeof impossible / sizeof *impossible };

TEST(shapes_beyond_all_memory_are_not_well_formed) {
    for (int i = 0; i < IMPOSSIBLE; i++)
        for (int d = 0; d < DTYPE_COUNT; d++) {
            bf_array a = array_of(&impossible[i], all_dtypes[d], w->doubles);
            if (bf_array_count(&a) != -1)
                fail_msg("shape %d of %s", i, bf_dtype_name(all_dtypes[d]));
        }
    bf_array wide = {w->doubles, BF_U8, 1, {((int64_t)1 << 31) + 1}, {(int64_t)1 << 30}};
    assert_int_equal(bf_array_count(&wide), wide.shape[0]); /* 2^61 bytes */
    wide.dtype = BF_F64;
    assert_int_equal(bf_array_count(&wide), -1);
}

TEST(every_call_refuses_them) {
    bf_context *c = w->context;
    bf_description d = {.size = sizeof d};
    bf_value v;
    bf_histogram *h = NULL;
    bf_pairs *pairs = NULL;
    bf_julia_params params = w->params;
    params.width = params.height = BF_JULIA_SIDE_MAX;
    for (int i = 0; i < IMPOSSIBLE; i++) {
        bf_array f64 = array_of(&impossible[i], BF_F64, w->doubles);
        bf_array i64 = array_of(&impossible[i], BF_I64, w->integers);
        bf_array u16 = array_of(&impossible[i], BF_U16, w->pixels);
        bf_array truth = array_of(&impossible[i], BF_BOOL, w->out_truths);
        const bf_array *inputs[] = {&f64, &f64}, *sound[] = {&w->f64, &w->f64}, *values[] = {&f64};
        assert_int_equal(bf_reduce(c, BF_SUM, &f64, NULL, &v), BF_E_ARGUMENT);
        assert_int_equal(bf_reduce(c, BF_PROD, &f64, NULL, &v), BF_E_ARGUMENT);
        assert_int_equal(bf_reduce_async(c, BF_SUM, &f64, NULL, &v), BF_E_ARGUMENT);
        assert_int_equal(bf_dot(c, &f64, &f64, NULL, &v), BF_E_ARGUMENT);
        assert_int_equal(bf_dot_async(c, &f64, &f64, NULL, &v), BF_E_ARGUMENT);
        assert_int_equal(bf_describe(c, &f64, NULL, &d), BF_E_ARGUMENT);
        assert_int_equal(bf_state_absorb(w->state, &f64), BF_E_ARGUMENT);
        assert_int_equal(bf_state_absorb_pair(w->pairs, &f64, &f64), BF_E_ARGUMENT);
        assert_int_equal(bf_map(c, BF_MAP_ADD, inputs, 2, NULL, &w->out_f64), BF_E_ARGUMENT);
        assert_int_equal(bf_map(c, BF_MAP_ADD, sound, 2, NULL, &f64), BF_E_ARGUMENT);
        assert_int_equal(bf_map_async(c, BF_MAP_ADD, inputs, 2, NULL, &f64), BF_E_ARGUMENT);
        assert_int_equal(bf_julia(c, &params, 0, 0, &u16), BF_E_ARGUMENT);
        assert_int_equal(bf_julia_async(c, &params, 0, 0, &u16), BF_E_ARGUMENT);
        assert_int_equal(bf_histogram_of(c, &f64, NULL, NULL, &h), BF_E_ARGUMENT);
        assert_int_equal(bf_histogram_absorb(w->histogram, &f64, &f64), BF_E_ARGUMENT);
        assert_int_equal(bf_bincount(c, &i64, w->out_integers, 9, w->out_integers), BF_E_ARGUMENT);
        assert_int_equal(bf_groups_absorb(w->groups, &i64, values), BF_E_ARGUMENT);
        assert_int_equal(bf_groups_list(w->groups, &i64, NULL), BF_E_ARGUMENT);
        assert_int_equal(bf_join(c, &i64, &i64, 0, &pairs), BF_E_ARGUMENT);
        assert_int_equal(bf_table_insert(w->table, &i64, &f64), BF_E_ARGUMENT);
        assert_int_equal(bf_table_find(w->table, &i64, &f64, &truth), BF_E_ARGUMENT);
        assert_int_equal(bf_table_count(w->table, &i64, &i64), BF_E_ARGUMENT);
        assert_int_equal(bf_table_erase(w->table, &i64, NULL), BF_E_ARGUMENT);
        assert_int_equal(bf_table_export(w->table, &i64, NULL), BF_E_ARGUMENT);
    }
    assert_true(h == NULL && pairs == NULL);
}

/* 16 bytes each: what fits as 8-byte words may not. */
TEST(pairs_are_wider_than_words) {
    bf_table_options set = BF_TABLE_OPTIONS(.key = BF_PAIR);
    OWN(bf_table) *t = NULL;
    assert_int_equal(bf_table_create(w->context, &set, &t), BF_OK);
    bf_array keys = {w->integers, BF_PAIR, 1, {2}, {(int64_t)1 << 58}};
    assert_int_equal(bf_table_insert(t, &keys, NULL), BF_E_ARGUMENT);
}

/* A stride between fewer than two elements is never taken: whatever it is, it is harmless. */
TEST(strides_of_single_elements_do_not_matter) {
    const int64_t strides[] = {INT64_MIN, INT64_MIN + 1, -1, 0, INT64_MAX};
    bf_julia_params params = w->params;
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        bf_array in = {w->doubles, BF_F64, 3, {1, 100, 1}, {strides[i], 2, strides[i]}};
        bf_array out = {w->out_doubles, BF_F64, 3, {1, 100, 1}, {strides[i], -2, strides[i]}};
        out.data = w->out_doubles + 198;
        bf_array keys = {w->integers, BF_I64, 3, {1, 100, 1}, {strides[i], 2, strides[i]}};
        bf_array row = {w->pixels, BF_U16, 2, {1, WORLD_SIDE}, {strides[i], 2}};
        bf_array column = {w->pixels, BF_U16, 2, {WORLD_SIDE, 1}, {2, strides[i]}};
        const bf_array *inputs[] = {&in, &in};
        bf_value v;
        assert_int_equal(bf_reduce(w->context, BF_SUM, &in, NULL, &v), BF_OK);
        assert_true(v.as.f64 == 9900 * 0x1p-15);
        assert_int_equal(bf_map(w->context, BF_MAP_ADD, inputs, 2, NULL, &out), BF_OK);
        assert_true(w->out_doubles[198] == 0 && w->out_doubles[0] == 2 * w->doubles[198]);
        assert_int_equal(bf_table_insert(w->table, &keys, &in), BF_OK);
        assert_int_equal(bf_table_find(w->table, &keys, &out, NULL), BF_OK);
        assert_true(w->out_doubles[0] == w->doubles[198]);
        assert_int_equal(bf_julia(w->context, &params, 0, 0, &row), BF_OK);
        assert_int_equal(bf_julia(w->context, &params, 0, 0, &column), BF_OK);
    }
}

/* One element that stands for so many that no copy of them can be had. */
TEST(copies_that_no_memory_holds_are_refused) {
#if defined(ADDRESS_SANITIZER) || defined(THREAD_SANITIZER)
    skip(); /* allocators abort there */
#endif
    for (int bits = 56; bits <= 62; bits++) {
        const int64_t n = (int64_t)1 << bits;
        bf_array keys = {w->integers, BF_I64, 1, {n}, {0}},
                 pair = {w->integers, BF_PAIR, 1, {n}, {0}};
        bf_array value = {w->doubles, BF_F64, 1, {n}, {0}};
        const bf_array *values[] = {&value};
        bf_pairs *pairs = NULL;
        assert_int_equal(bf_table_insert(w->table, &keys, &value), BF_E_MEMORY);
        assert_int_equal(bf_groups_absorb(w->groups, &keys, values), BF_E_MEMORY);
        assert_int_equal(bf_join(w->context, &pair, &pair, 0, &pairs), BF_E_MEMORY);
        assert_int_equal(bf_table_reserve(w->table, n), BF_E_MEMORY);
    }
    assert_int_equal(bf_table_reserve(w->table, INT64_MAX), BF_E_MEMORY);
}

TEST(an_index_beyond_all_is_refused) {
    const bf_array *inputs[] = {&w->f64, &w->f64};
    const int64_t indices[] = {INT64_MIN, -1, INT64_MAX, ((int64_t)1 << 62) + 1};
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
        bf_map_options options = BF_MAP_OPTIONS(.index = indices[i]);
        assert_int_equal(bf_map(w->context, BF_MAP_ADD, inputs, 2, &options, &w->out_f64),
                         BF_E_ARGUMENT);
    }
}

UNIT_TESTS(arrays, make_world, destroy_world)
