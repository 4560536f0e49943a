/* Tests of several GPUs as one device: the program that includes this gives the devices and their
 * memory. `several` is the context under test, `alone` one of the CPU, with whose bits its results
 * must agree. */
#ifndef BITFOLD_TESTS_RUNTIME_SEVERAL_H
#define BITFOLD_TESTS_RUNTIME_SEVERAL_H

#include "tests/support/data.h"
#include "tests/support/forms.h"

#include <stdio.h>
#include <stdlib.h>

/* Where an array is: these, or 0, 1, ... for a GPU. */
enum { PAGEABLE = -1, PINNED = -2, MANAGED = -3 };

static bf_context *several, *alone;
static int devices;

/* The program defines these. `put` copies data to new memory, `get` back from it. */
static void *put(const void *data, size_t bytes, int where);
static void get(void *to, const void *memory, size_t bytes);
static void drop(void *memory, int where);

#define assert_done(call)                                                                          \
    do {                                                                                           \
        bf_status status_ = (call);                                                                \
        if (status_ != BF_OK)                                                                      \
            print_message("%s: %s: %s\n", #call, bf_context_message(several),                      \
                          bf_context_message(alone));                                              \
        assert_int_equal(status_, BF_OK);                                                          \
    } while (0)

static inline void assert_ran_on(const char *device) {
    assert_string_equal(bf_context_device(several), device);
}

/* Some NaN, infinities and zeros of both signs, in places that differ. */
static inline void spoil(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    if (!is_float(dtype)) return;
    for (int i = 0; i < 6 && n > 100; i++) {
        const uint64_t bits[] = {infinity_bits(dtype) | 1, infinity_bits(dtype), 0,
                                 sign_bit(dtype)};
        size_t at = (size_t)(next_random(&seed) % (uint64_t)n);
        store_bits(data + at * bytes, bytes, bits[next_random(&seed) % 4]);
    }
}

static inline char *make_data(bf_dtype dtype, int64_t n, uint64_t seed) {
    char *data = malloc((size_t)n * bf_dtype_size(dtype) + 1);
    if (dtype == BF_NONE) return data;
    fill(dtype, data, n, (data_kind)(seed % KIND_COUNT), seed);
    if (seed % 3 == 0) spoil(dtype, data, n, seed);
    return data;
}

/* ---- states ---------------------------------------------------------------------------------- */

static inline bf_state *make_state(bf_context *context, bf_reduction op, bf_dtype dtype,
                                   int64_t index) {
    bf_state *state = NULL;
    assert_done(bf_state_create(context, op, dtype, &state));
    bf_state_info info = {.size = sizeof info};
    assert_done(bf_state_describe(state, &info));
    if (index > 0) (void)bf_state_seek(state, index); /* refused where there are no indices */
    return state;
}

static inline bf_status absorb(bf_state *state, bool dot, const bf_array *x, const bf_array *y) {
    return dot ? bf_state_absorb_pair(state, x, y) : bf_state_absorb(state, x);
}

/* One array in this memory. */
static inline void check_array(bf_reduction op, bf_dtype dtype, int64_t n, int64_t index,
                               int where) {
    size_t bytes = (size_t)n * bf_dtype_size(dtype);
    uint64_t seed = (uint64_t)op * 31 + dtype + (uint64_t)n;
    char *x = make_data(dtype, n, seed), *y = make_data(dtype, n, seed + 6);
    void *there = put(x, bytes, where), *other = put(y, bytes, where);
    bf_array a = bf_array_of(dtype, x, n), b = bf_array_of(dtype, y, n);
    bf_array far_a = bf_array_of(dtype, there, n), far_b = bf_array_of(dtype, other, n);
    bf_state *wanted = make_state(alone, op, dtype, index);
    bf_state *found = make_state(several, op, dtype, index);
    for (int i = 0; i < 2; i++) { /* the second array begins anywhere in a leaf of a product */
        assert_done(absorb(wanted, op == BF_DOT, &a, &b));
        assert_done(absorb(found, op == BF_DOT, &far_a, &far_b));
        assert_same_form(found, wanted);
    }
    bf_state_destroy(wanted);
    bf_state_destroy(found);
    drop(there, where);
    drop(other, where);
    free(x);
    free(y);
}

/* The array in shards of odd sizes, some of them empty, in memory of all kinds. */
static inline void check_shards(bf_reduction op, bf_dtype dtype, int64_t n, int shards,
                                int64_t index) {
    enum { MOST = 64 };
    size_t each = bf_dtype_size(dtype);
    uint64_t seed = (uint64_t)op * 37 + dtype + (uint64_t)shards;
    char *x = make_data(dtype, n, seed), *y = make_data(dtype, n, seed + 6);
    bf_array whole = bf_array_of(dtype, x, n), other = bf_array_of(dtype, y, n);
    bf_array a[MOST], b[MOST];
    int where[MOST], elsewhere[MOST];
    int64_t at = 0;
    for (int i = 0; i < shards; i++) {
        int64_t left = n - at, share = (int64_t)(next_random(&seed) % (uint64_t)(n + 1)) / 2;
        int64_t count = i == shards - 1 || share > left ? left : share;
        where[i] = (int)(next_random(&seed) % (uint64_t)(devices + 3)) - 3;
        elsewhere[i] = seed % 4 == 0 ? PAGEABLE : where[i];
        a[i] =
            bf_array_of(dtype, put(x + (size_t)at * each, (size_t)count * each, where[i]), count);
        b[i] = bf_array_of(dtype, put(y + (size_t)at * each, (size_t)count * each, elsewhere[i]),
                           count);
        at += count;
    }
    bf_state *wanted = make_state(alone, op, dtype, index);
    bf_state *found = make_state(several, op, dtype, index);
    for (int i = 0; i < 2; i++) {
        assert_done(absorb(wanted, op == BF_DOT, &whole, &other));
        assert_done(op == BF_DOT ? bf_state_absorb_pair_shards(found, a, b, shards)
                                 : bf_state_absorb_shards(found, a, shards));
        assert_same_form(found, wanted);
    }
    for (int i = 0; i < shards; i++) {
        drop(a[i].data, where[i]);
        drop(b[i].data, elsewhere[i]);
    }
    bf_state_destroy(wanted);
    bf_state_destroy(found);
    free(x);
    free(y);
}

/* ---- histograms ------------------------------------------------------------------------------ */

/* A whole array, then its halves as shards: one on the last device. */
static inline void check_histogram(bf_dtype dtype, bf_dtype weights, int64_t n, int64_t bins) {
    char *x = make_data(dtype, n, 42), *w = make_data(weights, n, 43);
    size_t each = bf_dtype_size(dtype), heavy = bf_dtype_size(weights);
    bf_array a = bf_array_of(dtype, x, n), b = bf_array_of(weights, w, n);
    const bf_array *given = weights == BF_NONE ? NULL : &b;
    const bf_histogram_options options =
        BF_HISTOGRAM_OPTIONS(.bins = bins, .range = 1, .lo = -8, .hi = 8, .weights = weights);
    bf_histogram *wanted = NULL, *found = NULL;
    assert_done(bf_histogram_create(alone, dtype, &options, &wanted));
    assert_done(bf_histogram_create(several, dtype, &options, &found));
    assert_done(bf_histogram_absorb(wanted, &a, given));
    assert_done(bf_histogram_absorb(found, &a, given));
    assert_same_form(found, wanted);

    int64_t half = n / 2;
    size_t left = (size_t)half, right = (size_t)(n - half);
    bf_array halves[2] = {
        bf_array_of(dtype, put(x, left * each, PAGEABLE), half),
        bf_array_of(dtype, put(x + left * each, right * each, devices - 1), n - half)};
    bf_array heavies[2] = {
        bf_array_of(weights, put(w, left * heavy, 0), half),
        bf_array_of(weights, put(w + left * heavy, right * heavy, devices - 1), n - half)};
    assert_done(bf_histogram_absorb(wanted, &a, given));
    assert_done(bf_histogram_absorb_shards(found, halves, given != NULL ? heavies : NULL, 2));
    assert_same_form(found, wanted);
    drop(halves[0].data, PAGEABLE);
    drop(halves[1].data, devices - 1);
    drop(heavies[0].data, 0);
    drop(heavies[1].data, devices - 1);
    bf_histogram_destroy(wanted);
    bf_histogram_destroy(found);
    free(x);
    free(w);
}

/* ---- maps ------------------------------------------------------------------------------------ */

static inline void check_map(bf_map_op op, bf_dtype dtype, int64_t n, int where) {
    size_t bytes = (size_t)n * bf_dtype_size(dtype);
    char *x = make_data(dtype, n, 7), *y = make_data(dtype, n, 8), *z = make_data(dtype, n, 9);
    void *at[3] = {put(x, bytes, where), put(y, bytes, where), put(z, bytes, where)};
    bf_array a = bf_array_of(dtype, x, n), b = bf_array_of(dtype, y, n),
             c = bf_array_of(dtype, z, n);
    bf_array p = bf_array_of(dtype, at[0], n), q = bf_array_of(dtype, at[1], n),
             r = bf_array_of(dtype, at[2], n);
    const bf_array *near[3] = {&a, &b, &c}, *far[3] = {&p, &q, &r};
    const bf_map_options options = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_ERROR);
    bf_status wanted = bf_map(alone, op, near, bf_map_arity(op), &options, &a);
    assert_int_equal(bf_map(several, op, far, bf_map_arity(op), &options, &p), wanted);
    if (wanted == BF_OK) {
        get(z, at[0], bytes);
        assert_memory_equal(z, x, bytes);
    } else { /* the message names the first element that fails */
        assert_string_equal(bf_context_message(several), bf_context_message(alone));
    }
    for (int i = 0; i < 3; i++) drop(at[i], where);
    free(x);
    free(y);
    free(z);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static const bf_aggregate several_aggregates[] = {
    {BF_SUM, BF_F32}, {BF_COV, BF_F32}, {BF_MAX, BF_I16}};

static inline bf_groups *make_groups(bf_context *context) {
    bf_groups *groups = NULL;
    assert_done(bf_groups_create(
        context,
        &BF_GROUPS_OPTIONS(.key = BF_I64, .count = 3, .aggregates = several_aggregates, .seed = 5),
        &groups));
    return groups;
}

/* Rows in memory of the host and of each device, of about so many keys. */
static inline void check_groups(int64_t n, uint64_t keys) {
    int64_t *k = malloc((size_t)n * sizeof *k + 1);
    char *v = make_data(BF_F32, n, 3), *w = make_data(BF_F32, n, 5), *m = make_data(BF_I16, n, 4);
    bf_groups *wanted = make_groups(alone), *found = make_groups(several);
    for (int where = -1; where < devices + 2; where++) {
        int there = where < devices ? where : PAGEABLE;
        uint64_t rng = (uint64_t)where + 10;
        for (int64_t i = 0; i < n; i++) k[i] = (int64_t)(next_random(&rng) % keys) - 5;
        bf_array key = bf_array_of(BF_I64, k, n), value = bf_array_of(BF_F32, v, n),
                 other = bf_array_of(BF_F32, w, n), most = bf_array_of(BF_I16, m, n), far = key;
        const bf_array *values[] = {&value, &value, &other, &most};
        assert_done(bf_groups_absorb(wanted, &key, values));
        far.data = put(k, (size_t)n * sizeof *k, there);
        assert_done(bf_groups_absorb(found, &far, values));
        drop(far.data, there);
        if (where % 2 == 0) {
            assert_int_equal(bf_groups_size(found), bf_groups_size(wanted));
            assert_same_form(found, wanted);
        }
    }
    bf_groups *copy = make_groups(several);
    assert_done(bf_groups_merge(copy, found));
    assert_done(bf_groups_merge(copy, wanted));
    assert_done(bf_groups_merge(wanted, found));
    assert_same_form(copy, wanted);
    assert_done(bf_groups_clear(copy));
    assert_int_equal(bf_groups_size(copy), 0);
    bf_groups_destroy(copy);
    bf_groups_destroy(wanted);
    bf_groups_destroy(found);
    free(k);
    free(v);
    free(w);
    free(m);
}

/* Groups whose rows have not come together yet are shared out by their keys. */
static inline void check_parts(int64_t n) {
    enum { PARTS = 3 };
    bf_context *contexts[2] = {alone, several};
    bf_groups *parts[2][PARTS];
    int64_t *k = malloc((size_t)n * sizeof *k);
    char *v = make_data(BF_F32, n, 3), *w = make_data(BF_F32, n, 5), *m = make_data(BF_I16, n, 4);
    for (int64_t i = 0; i < n; i++) k[i] = i * i % 1009;
    bf_array key = bf_array_of(BF_I64, k, n), value = bf_array_of(BF_F32, v, n),
             other = bf_array_of(BF_F32, w, n), most = bf_array_of(BF_I16, m, n);
    const bf_array *values[] = {&value, &value, &other, &most};
    for (int c = 0; c < 2; c++) {
        bf_groups *groups = make_groups(contexts[c]);
        for (int i = 0; i < 2; i++) assert_done(bf_groups_absorb(groups, &key, values));
        assert_done(bf_groups_split(groups, PARTS, parts[c]));
        bf_groups_destroy(groups);
    }
    for (int i = 0; i < PARTS; i++) {
        assert_same_form(parts[1][i], parts[0][i]);
        bf_groups_destroy(parts[0][i]);
        bf_groups_destroy(parts[1][i]);
    }
    free(k);
    free(v);
    free(w);
    free(m);
}

/* ---- many at once ---------------------------------------------------------------------------- */

/* Reduces along these axes on both. The results agree, or the messages of what is refused. */
static inline void check_axes(bf_reduction op, bf_dtype dtype, const int64_t shape[3],
                              const int axes[], int n, const bf_reduce_options *options,
                              int where) {
    enum { ROOM = 1 << 17 };
    const int64_t count = shape[0] * shape[1] * shape[2];
    const size_t bytes = (size_t)count * bf_dtype_size(dtype);
    char *x = make_data(dtype, count, (uint64_t)(op * 5 + dtype));
    char *wanted = calloc(ROOM, 1), *found = calloc(ROOM, 1);
    const bf_dtype to = bf_reduce_dtype(op, dtype, options);
    bf_array a = {x, dtype, 3, {shape[0], shape[1], shape[2]}, {shape[1] * shape[2], shape[2], 1}};
    bf_array far = a, values = bf_array_of(to, wanted, 0), others;
    values.ndim = 0;
    for (int d = 0; d < 3; d++) {
        bool reduced = false;
        for (int i = 0; i < n; i++) reduced |= axes[i] == d;
        if (!reduced) values.shape[values.ndim++] = shape[d];
    }
    for (int64_t d = values.ndim, stride = 1; d-- > 0; stride *= values.shape[d])
        values.strides[d] = stride;
    others = values;
    others.data = found;
    far.data = put(x, bytes, where);
    const bf_array *b = op == BF_DOT ? &a : NULL, *far_b = op == BF_DOT ? &far : NULL;
    bf_status status = b != NULL ? bf_dot_axes(alone, &a, b, axes, n, options, &values, NULL)
                                 : bf_reduce_axes(alone, op, &a, axes, n, options, &values, NULL);
    bf_status same = b != NULL ? bf_dot_axes(several, &far, far_b, axes, n, options, &others, NULL)
                               : bf_reduce_axes(several, op, &far, axes, n, options, &others, NULL);
    assert_int_equal(same, status);
    if (status == BF_OK)
        assert_memory_equal(found, wanted, ROOM);
    else
        assert_string_equal(bf_context_message(several), bf_context_message(alone));
    drop(far.data, where);
    free(x);
    free(wanted);
    free(found);
}

static inline bf_states *make_states(bf_context *context, bf_reduction op, bf_dtype dtype,
                                     int64_t count) {
    bf_states *states = NULL;
    assert_done(bf_states_create(context, op, dtype, count, &states));
    return states;
}

/* Chunks by axis and by index, in memory of the host and of each device, and a wrong index. */
/* Both arrays of a pair are the same one. */
static inline bf_status absorb_index(bf_reduction op, bf_states *s, const bf_array *a,
                                     const bf_array *places) {
    return bf_reduction_arrays(op) == 2 ? bf_states_absorb_pair_index(s, a, a, places)
                                        : bf_states_absorb_index(s, a, places);
}

static inline bf_status absorb_axis(bf_reduction op, bf_states *s, const bf_array *a, int axis) {
    return bf_reduction_arrays(op) == 2 ? bf_states_absorb_pair_axes(s, a, a, &axis, 1)
                                        : bf_states_absorb_axes(s, a, &axis, 1);
}

static inline void check_states(bf_reduction op, bf_dtype dtype, int64_t rows, int64_t width) {
    const int64_t n = rows * width;
    const size_t bytes = (size_t)n * bf_dtype_size(dtype);
    char *x = make_data(dtype, n, (uint64_t)(op * 7 + dtype));
    int32_t *index = malloc((size_t)rows * sizeof *index);
    bf_states *wanted = make_states(alone, op, dtype, 3 * width);
    bf_states *found = make_states(several, op, dtype, 3 * width);
    bf_states *columns = make_states(alone, op, dtype, width);
    bf_states *others = make_states(several, op, dtype, width);
    for (int64_t i = 0; i < rows; i++) index[i] = (int32_t)(i * i % 3);
    const bf_array places = bf_array_of(BF_I32, index, rows);
    bf_array a = {x, dtype, 2, {rows, width}, {width, 1}}, far = a;
    bf_array cube = {x, dtype, 3, {3, rows / 3, width}, {rows / 3 * width, width, 1}}, away = cube;
    for (int where = -1; where < devices + 2; where++) {
        const int there = where < devices ? where : PAGEABLE;
        far.data = away.data = put(x, bytes, there);
        assert_done(absorb_index(op, wanted, &a, &places));
        assert_done(absorb_index(op, found, &far, &places));
        assert_done(absorb_axis(op, wanted, &cube, 1));
        assert_done(absorb_axis(op, found, &away, 1));
        assert_done(absorb_axis(op, columns, &a, 0));
        assert_done(absorb_axis(op, others, &far, 0));
        drop(far.data, there);
        if (where % 2 != 0) continue;
        assert_same_form(found, wanted);
        assert_same_form(others, columns);
    }
    index[rows - 1] = 3;
    assert_int_equal(absorb_index(op, wanted, &a, &places), BF_E_ARGUMENT);
    assert_int_equal(absorb_index(op, found, &a, &places), BF_E_ARGUMENT);
    assert_string_equal(bf_context_message(several), bf_context_message(alone));
    assert_same_form(found, wanted);
    assert_done(absorb_axis(op, found, &cube, 1));
    assert_done(bf_states_merge(wanted, found));
    assert_done(bf_states_merge(found, wanted));
    assert_done(bf_states_clear(others));
    assert_done(bf_states_merge(others, columns));
    assert_same_form(others, columns);
    bf_states_destroy(wanted);
    bf_states_destroy(found);
    bf_states_destroy(columns);
    bf_states_destroy(others);
    free(x);
    free(index);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static inline void check_picture(int64_t width, int64_t height) {
    bf_julia_params p;
    bf_julia_defaults(&p);
    p.width = width;
    p.height = height;
    size_t pixels = (size_t)(width * height);
    uint16_t *wanted = malloc(pixels * sizeof *wanted), *found = malloc(pixels * sizeof *found);
    bf_array a = {wanted, BF_U16, 2, {height, width}, {width, 1}}, b = a;
    b.data = found;
    assert_done(bf_julia(alone, &p, 0, 0, &a));
    assert_done(bf_julia(several, &p, 0, 0, &b));
    assert_memory_equal(found, wanted, pixels * sizeof *found);
    free(wanted);
    free(found);
}

/* Every second element of each array, which lie on all devices. */
static inline void check_strides(int64_t n) {
    double *x = (double *)(void *)make_data(BF_F64, 2 * n, 12);
    bf_array every = bf_array_of(BF_F64, x, n);
    every.strides[0] = 2;
    bf_value wanted, found;
    assert_done(bf_reduce(alone, BF_SUM, &every, NULL, &wanted));
    for (int where = -3; where < devices; where++) {
        bf_array far = every;
        far.data = put(x, (size_t)(2 * n) * sizeof *x, where);
        assert_done(bf_reduce(several, BF_SUM, &far, NULL, &found));
        assert_memory_equal(&found.as, &wanted.as, 8);
        drop(far.data, where);
    }
    free(x);
}

/* Copies between any two kinds of memory. */
static inline void check_copies(void) {
    enum { N = 100003 };
    char *x = make_data(BF_U8, N, 1), *y = calloc(N, 1);
    for (int from = -3; from < devices; from++) {
        for (int to = -3; to < devices; to++) {
            memset(y, 0, N);
            void *a = put(x, N, from), *b = put(y, N, to);
            assert_done(bf_memory_copy(several, b, a, N));
            get(y, b, N);
            assert_memory_equal(x, y, N);
            drop(a, from);
            drop(b, to);
        }
    }
    free(x);
    free(y);
}

/* A table is on the first device, whatever memory its rows are in. */
static inline void check_table(int64_t n) {
    int64_t *k = malloc((size_t)n * sizeof *k), *v = malloc((size_t)n * sizeof *v), sum = 0;
    uint8_t *found = calloc((size_t)n, 1);
    for (int64_t i = 0; i < n; i++) {
        k[i] = i * 7;
        sum += v[i] = i + 1;
    }
    bf_table *table = NULL;
    assert_done(
        bf_table_create(several, &BF_TABLE_OPTIONS(.key = BF_I64, .value = BF_I64), &table));
    int last = devices - 1;
    bf_array keys = bf_array_of(BF_I64, put(k, (size_t)n * sizeof *k, last), n);
    bf_array values = bf_array_of(BF_I64, v, n), there = bf_array_of(BF_BOOL, found, n);
    assert_done(bf_table_insert(table, &keys, &values));
    assert_int_equal(bf_table_size(table), n);
    memset(v, 0, (size_t)n * sizeof *v);
    assert_done(bf_table_find(table, &keys, &values, &there));
    for (int64_t i = 0; i < n; i++) sum -= v[i];
    assert_int_equal(sum, 0);
    int64_t erased = 0;
    assert_done(bf_table_erase(table, &keys, &erased));
    assert_int_equal(erased, n);
    bf_table_destroy(table);
    bf_pairs *pairs = NULL;
    bf_array same = bf_array_of(BF_I64, k, n);
    assert_done(bf_join(several, &keys, &same, 1, &pairs));
    assert_int_equal(bf_pairs_size(pairs), n);
    bf_pairs_destroy(pairs);
    drop(keys.data, last);
    free(k);
    free(v);
    free(found);
}

#endif
