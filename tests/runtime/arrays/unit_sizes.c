/* Structs that grow: what callers with older and newer headers than the library's give and get. */
#include "tests/runtime/world.h"
#include "tests/support/unit.h"

#include "api/runtime/sized.h"

#include <stdio.h>

enum {
    MORE = 24, /* bytes that a newer version may have behind */
    ROOM = 1024
};

/* ---- as this library grows ------------------------------------------------------------------- */

typedef struct grown {
    size_t size;
    int first;
    double second; /* new */
} grown;
enum { GROWN_ONCE = offsetof(grown, first) + sizeof(int) };

TEST(an_older_caller_gets_the_defaults) {
    grown read = {.second = 2}, given = {GROWN_ONCE, 1, 99};
    assert_true(BF_READ(&read, &given, first));
    assert_true(read.first == 1 && read.second == 2 && read.size == sizeof read);
    given.size = sizeof given;
    assert_true(BF_READ(&read, &given, first));
    assert_true(read.second == 99);
    for (size_t size = 0; size < GROWN_ONCE; size++) {
        given.size = size;
        assert_false(BF_READ(&read, &given, first));
    }
}

TEST(an_older_caller_is_written_no_more_than_it_has) {
    grown written = {GROWN_ONCE, 0, 99}, found = {0, 1, 2};
    assert_true(BF_WRITE(&written, &found, first));
    assert_true(written.first == 1 && written.second == 99 && written.size == GROWN_ONCE);
    written.size = sizeof written;
    assert_true(BF_WRITE(&written, &found, first));
    assert_true(written.second == 2 && written.size == sizeof written);
    written.size = GROWN_ONCE - 1;
    assert_false(BF_WRITE(&written, &found, first));
}

/* ---- every struct that is read --------------------------------------------------------------- */

static bf_status try_options(const void *options) {
    bf_context *made = NULL;
    bf_status status = bf_context_create(options, &made);
    bf_context_destroy(made);
    return status;
}

static bf_status try_reduce_options(const void *options) {
    const bf_aggregate aggregate = {BF_SUM, BF_F64};
    bf_groups_options kind = BF_GROUPS_OPTIONS(.key = BF_I64, .count = 1, .aggregates = &aggregate);
    bf_description d = {.size = sizeof d};
    bf_groups *g = NULL;
    bf_value v;
    bf_status status[] = {bf_reduce(w->context, BF_SUM, &w->f64, options, &v),
                          bf_reduce_async(w->context, BF_SUM, &w->f64, options, &v),
                          bf_dot(w->context, &w->f64, &w->f64, options, &v),
                          bf_dot_async(w->context, &w->f64, &w->f64, options, &v),
                          bf_state_result(w->state, options, &v),
                          bf_describe(w->context, &w->f64, options, &d),
                          bf_state_description(w->description, options, &d),
                          bf_groups_create(w->context, &kind, &g)};
    const int last = sizeof status / sizeof *status - 1;
    assert_int_equal(status[last], BF_OK);
    status[last] = bf_groups_result(g, 0, options, &v);
    bf_groups_destroy(g);
    for (int i = 0; i < last; i++) assert_int_equal(status[i], status[i + 1]);
    return status[0];
}

static bf_status try_map_options(const void *options) {
    bf_status status = bf_map(w->context, BF_MAP_ADD, world_inputs(w), 2, options, &w->out_f64);
    assert_int_equal(bf_map_async(w->context, BF_MAP_ADD, world_inputs(w), 2, options, &w->out_f64),
                     status);
    return status;
}

static bf_status try_histogram_options(const void *options) {
    bf_histogram *made = NULL;
    bf_status status = bf_histogram_of(w->context, &w->f64, NULL, options, &made);
    bf_histogram_destroy(made);
    made = NULL;
    assert_int_equal(bf_histogram_create(w->context, BF_F64, options, &made), status);
    bf_histogram_destroy(made);
    return status;
}

static bf_status try_groups_options(const void *options) {
    bf_groups *made = NULL;
    bf_status status = bf_groups_create(w->context, options, &made);
    bf_groups_destroy(made);
    return status;
}

static bf_status try_table_options(const void *options) {
    bf_table *made = NULL;
    bf_status status = bf_table_create(w->context, options, &made);
    bf_table_destroy(made);
    return status;
}

static bf_status try_julia_params(const void *params) {
    bf_status status = bf_julia(w->context, params, 0, 0, &w->picture);
    assert_int_equal(bf_julia_async(w->context, params, 0, 0, &w->picture), status);
    return status;
}

static bf_status try_feed(const void *feed) { return bf_state_absorb_feed(w->state, feed); }

static int go_on(void *arg, int64_t bytes) {
    (void)arg;
    (void)bytes;
    return 0;
}

static bf_status try_sorter_options(const void *options) {
    bf_sorter *made = NULL;
    bf_status status = bf_sorter_create(w->context, options, &made);
    bf_sorter_destroy(made);
    return status;
}

static bf_status try_watch(const void *watch) {
    bf_status status = bf_context_watch(w->context, watch);
    assert_int_equal(bf_context_watch(w->context, NULL), BF_OK);
    return status;
}

/* A valid struct of `known` bytes; that of the first version ends at `least`. */
static void check_read(const void *valid, size_t known, size_t least,
                       bf_status (*take)(const void *)) {
    _Alignas(16) char given[512] = {0};
    const size_t larger = known + MORE, most = SIZE_MAX;
    memcpy(given, valid, known);
    assert_int_equal(take(given), BF_OK);
    memcpy(given, &least, sizeof least); /* the oldest caller */
    assert_int_equal(take(given), BF_OK);
    memcpy(given, &larger, sizeof larger); /* a newer one, which asks for nothing new */
    assert_int_equal(take(given), BF_OK);
    for (size_t i = known; i < larger; i++) { /* one that does */
        given[i] = 1;
        assert_int_equal(take(given), BF_E_ARGUMENT);
        given[i] = 0;
    }
    for (size_t size = 0; size < least; size++) {
        memcpy(given, &size, sizeof size);
        assert_int_equal(take(given), BF_E_ARGUMENT);
    }
    memcpy(given, &most, sizeof most);
    assert_int_equal(take(given), BF_E_ARGUMENT);
}
#define CHECK_READ(type, last, valid, take)                                                        \
    check_read(valid, sizeof(type), BF_SIZE_TO(type, last), take)

TEST(every_struct_that_is_read_may_be_of_another_size) {
    bf_histogram_options bins = BF_HISTOGRAM_OPTIONS(.bins = 5, .range = 1, .hi = 1);
    const bf_julia_params params = w->params;
    CHECK_READ(bf_options, threads, &BF_OPTIONS(.threads = 1), try_options);
    CHECK_READ(bf_reduce_options, overflow, &BF_REDUCE_OPTIONS(.ddof = 0), try_reduce_options);
    CHECK_READ(bf_map_options, index, &BF_MAP_OPTIONS(.index = 0), try_map_options);
    CHECK_READ(bf_histogram_options, numbers, &bins, try_histogram_options);
    CHECK_READ(bf_groups_options, seed, &world_groups, try_groups_options);
    CHECK_READ(bf_sorter_options, memory, &BF_SORTER_OPTIONS(.dtype = BF_F64), try_sorter_options);
    CHECK_READ(bf_table_options, seed, &world_table, try_table_options);
    CHECK_READ(bf_julia_params, escape, &params, try_julia_params);
    CHECK_READ(bf_feed, concurrent, &w->feed, try_feed);
    CHECK_READ(bf_watch, arg, &BF_WATCH(.tick = go_on), try_watch);
}

TEST(a_newer_caller_is_told_why) {
    struct {
        bf_map_options options;
        int more;
    } newer = {{.size = sizeof newer}, 1};
    assert_int_equal(try_map_options(&newer), BF_E_ARGUMENT);
    assert_non_null(strstr(bf_context_message(w->context), "newer version"));
}

/* ---- every struct that is written ------------------------------------------------------------ */

static bf_status write_state_info(void *info) { return bf_state_describe(w->state, info); }
static bf_status write_words_info(void *info) { return bf_state_words_info(w->state, info); }
static bf_status write_histogram_info(void *info) {
    return bf_histogram_describe(w->histogram, info);
}
static bf_status write_kind(void *kind) { return bf_groups_describe(w->groups, kind); }
static bf_status write_states_info(void *info) { return bf_states_describe(w->states, info); }
static bf_status write_params(void *params) { return bf_julia_params_fill(params); }
static bf_status write_description(void *d) { return bf_describe(w->context, &w->f64, NULL, d); }
static bf_status write_state_description(void *d) {
    return bf_state_description(w->description, NULL, d);
}

/* A size that fits gets as far as the GPU. */
static bf_status write_device_info(void *info) {
    bf_status status = bf_device_describe(0, info);
    return status == BF_E_DEVICE ? BF_OK : status;
}

/* Has a call with this size the status, and does nothing change from byte `written` on? */
static void write_sized(char *to, size_t size, size_t written, bf_status status,
                        bf_status (*write)(void *)) {
    memset(to, 0x55, ROOM);
    memcpy(to, &size, sizeof size);
    assert_int_equal(write(to), status);
    assert_memory_equal(to, &size, sizeof size);
    for (size_t i = written; i < ROOM; i++) assert_int_equal(to[i], 0x55);
}

static void check_written(size_t known, size_t least, bf_status (*write)(void *)) {
    _Alignas(16) char whole[ROOM], newer[ROOM], older[ROOM];
    const char zeros[MORE] = {0};
    for (size_t size = 0; size < least; size++)
        write_sized(older, size, sizeof size, BF_E_ARGUMENT, write);
    write_sized(older, least, least, BF_OK, write);
    write_sized(whole, known, known, BF_OK, write);
    write_sized(newer, known + MORE, known + MORE, BF_OK, write);
    if (write == write_device_info) return; /* no GPU, or free memory that changes */
    assert_memory_equal(older + 8, whole + 8, least - 8);
    assert_memory_equal(newer + 8, whole + 8, known - 8);
    assert_memory_equal(newer + known, zeros, MORE);
}
#define CHECK_WRITTEN(type, last, write) check_written(sizeof(type), BF_SIZE_TO(type, last), write)

TEST(every_struct_that_is_written_may_be_of_another_size) {
    CHECK_WRITTEN(bf_state_info, next, write_state_info);
    CHECK_WRITTEN(bf_words_info, parts, write_words_info);
    CHECK_WRITTEN(bf_histogram_info, nan, write_histogram_info);
    CHECK_WRITTEN(bf_states_info, count, write_states_info);
    CHECK_WRITTEN(bf_groups_options, seed, write_kind);
    CHECK_WRITTEN(bf_julia_params, escape, write_params);
    CHECK_WRITTEN(bf_description, std, write_description);
    CHECK_WRITTEN(bf_description, std, write_state_description);
    CHECK_WRITTEN(bf_device_info, bandwidth, write_device_info);
}

/* ---- versions and layouts -------------------------------------------------------------------- */

TEST(versions_agree) {
    char text[32];
    assert_int_equal(bf_version_number(), BF_VERSION);
    snprintf(text, sizeof text, "%d.%d.%d", BF_VERSION / 10000, BF_VERSION / 100 % 100,
             BF_VERSION % 100);
    assert_string_equal(bf_version(), text);
}

/* These never change: they stand in arrays, and by value in calls. */
_Static_assert(sizeof(bf_array) == 144 && offsetof(bf_array, strides) == 80, "bf_array");
_Static_assert(sizeof(bf_value) == 32 && offsetof(bf_value, as) == 8, "bf_value");
_Static_assert(sizeof(bf_aggregate) == 8, "bf_aggregate");

UNIT_TESTS(sizes, make_world, destroy_world)
