/* Arrow's columns. */
#include "tests/runtime/world.h"
#include "tests/support/unit.h"

static const char *const formats[][2] = {
    {"b", "bool"}, {"c", "i8"},  {"C", "u8"},  {"s", "i16"}, {"S", "u16"}, {"i", "i32"},
    {"I", "u32"},  {"l", "i64"}, {"L", "u64"}, {"e", "f16"}, {"f", "f32"}, {"g", "f64"},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static void release_schema(struct ArrowSchema *schema) { schema->release = NULL; }
static void release_array(struct ArrowArray *array) { array->release = NULL; }

typedef struct column {
    struct ArrowSchema schema;
    struct ArrowArray array;
    const void *buffers[2];
} column;

static column *column_of(column *c, const char *format, const void *values, int64_t n,
                         const void *valid) {
    *c = (column){.buffers = {valid, values}};
    c->schema.format = format;
    c->schema.release = release_schema;
    c->array.length = n;
    c->array.null_count = valid != NULL ? -1 : 0;
    c->array.n_buffers = 2;
    c->array.buffers = c->buffers;
    c->array.release = release_array;
    return c;
}

TEST(a_column_is_its_memory) {
    for (int i = 1; i < FORMATS; i++) {
        column c;
        bf_array a;
        int64_t nulls = 77;
        column_of(&c, formats[i][0], w->doubles, 100, NULL);
        c.array.offset = 5;
        assert_int_equal(bf_array_from_arrow(w->context, &c.schema, &c.array, &a, &nulls), BF_OK);
        assert_string_equal(bf_dtype_name(a.dtype), formats[i][1]);
        assert_ptr_equal(a.data, (char *)w->doubles + 5 * bf_dtype_size(a.dtype));
        assert_int_equal(a.ndim, 1);
        assert_int_equal(a.shape[0], 100);
        assert_int_equal(nulls, 0);
        column_of(&c, formats[i][0], NULL, 0, NULL); /* it has nothing */
        assert_int_equal(bf_array_from_arrow(w->context, &c.schema, &c.array, &a, NULL), BF_OK);
        assert_int_equal(bf_array_count(&a), 0);
    }
}

enum { N = 1000 };
static uint8_t valid[N / 8 + 16];

static bool is_valid(int64_t i) { return valid[i / 8] >> i % 8 & 1; }

/* Runs of bits of every length, and singles. */
static void fill_bits(int pattern) {
    memset(valid, 0, sizeof valid);
    for (int i = 0; i < N; i++) {
        bool on = pattern == 0   ? false
                  : pattern == 1 ? true
                  : pattern == 2 ? i % 2 == 0
                  : pattern == 3 ? (unsigned)i * 2654435761u >> 31
                                 : i % (pattern * 17) < pattern * 8;
        valid[i / 8] |= (uint8_t)(on << i % 8);
    }
}

TEST(nulls_are_counted_and_left_out) {
    static double found[N];
    for (int i = 0; i < N; i++) w->doubles[i] = i;
    for (int pattern = 0; pattern < 12; pattern++) {
        fill_bits(pattern);
        for (int offset = 0; offset < 70; offset += offset < 9 ? 1 : 13)
            for (int n = 0; n <= N - offset; n += n < 130 ? 1 : 97) {
                column c;
                bf_array a, out = bf_array_of(BF_F64, found, n);
                int64_t nulls = -7, got = -7, want = 0;
                column_of(&c, "g", w->doubles, n, valid);
                c.array.offset = offset;
                assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &out, &got),
                                 BF_OK);
                for (int i = 0; i < n; i++)
                    if (is_valid(offset + i)) {
                        if (found[want] != offset + i) fail_msg("element %d", i);
                        want++;
                    }
                assert_int_equal(got, want);
                assert_int_equal(bf_array_from_arrow(w->context, &c.schema, &c.array, &a, &nulls),
                                 BF_OK);
                assert_int_equal(nulls, n - want);
                assert_int_equal(bf_array_from_arrow(w->context, &c.schema, &c.array, &a, NULL),
                                 want == n ? BF_OK : BF_E_ARGUMENT);
                if (want == 0) continue;
                out.shape[0] = want - 1;
                assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &out, &got),
                                 BF_E_SHAPE);
                assert_int_equal(got, want);
            }
    }
}

TEST(bools_are_unpacked) {
    static uint8_t packed[] = {0xa5, 0x5a, 0xff, 0x01, 0x80}, found[40];
    for (int masked = 0; masked < 2; masked++)
        for (int offset = 0; offset < 20; offset++) {
            column c;
            bf_array a, out = bf_array_of(BF_BOOL, found, 20);
            int64_t n = 0, want = 0;
            fill_bits(3);
            column_of(&c, "b", packed, 20, masked ? valid : NULL);
            c.array.offset = offset;
            assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &out, &n), BF_OK);
            for (int i = offset; i < offset + 20; i++)
                if (!masked || is_valid(i))
                    assert_int_equal(found[want++], packed[i / 8] >> i % 8 & 1);
            assert_int_equal(n, want);
            assert_int_equal(bf_array_from_arrow(w->context, &c.schema, &c.array, &a, &n),
                             BF_E_DTYPE);
        }
}

TEST(integers_of_128_bits) {
    static const char *const names[] = {"d:38,0", "_pli128"};
    static int64_t halves[2 * 40], found[2 * 40];
    for (int i = 0; i < 2 * 40; i++) halves[i] = i % 2 ? -(i & 4) : i * 7919;
    fill_bits(3);
    for (int i = 0; i < 2; i++) {
        column c;
        bf_array a, out = bf_array_of(BF_I128, found, 30);
        int64_t nulls = 77, n = 0, want = 0;
        column_of(&c, names[i], halves, 30, valid)->array.offset = 7;
        assert_int_equal(bf_array_from_arrow(w->context, &c.schema, &c.array, &a, &nulls), BF_OK);
        assert_int_equal(a.dtype, BF_I128);
        assert_ptr_equal(a.data, halves + 2 * 7);
        assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &out, &n), BF_OK);
        for (int k = 7; k < 37; k++)
            if (is_valid(k)) assert_memory_equal(found + 2 * want++, halves + 2 * k, 16);
        assert_int_equal(n, want);
        assert_int_equal(nulls, 30 - want);
    }
    struct ArrowSchema schema;
    struct ArrowArray array;
    const bf_array all = bf_array_of(BF_I128, halves, 40);
    assert_int_equal(bf_array_to_arrow(w->context, &all, NULL, NULL, &schema, &array), BF_OK);
    assert_string_equal(schema.format, "d:38,0");
    assert_ptr_equal(array.buffers[1], halves);
    array.release(&array);
}

static void check_refused(const column *c, bf_status status) {
    static double memory[4];
    bf_array a = {.ndim = 77}, out = bf_array_of(BF_F64, memory, 4);
    int64_t n = 77;
    assert_int_equal(bf_array_from_arrow(w->context, &c->schema, &c->array, &a, &n), status);
    assert_true(strlen(bf_context_message(w->context)) > 0);
    assert_int_equal(a.ndim, 77);
    assert_int_equal(bf_array_copy_arrow(w->context, &c->schema, &c->array, &out, &n), status);
    assert_int_equal(n, 77);
}

TEST(others_are_refused) {
    static const char *const no_numbers[] = {"",        "n",  "u",    "U",       "z",  "tdD",
                                             "tss:UTC", "+s", "+w:3", "d:38,10", "vu", "ll"};
    column c;
    for (size_t i = 0; i < sizeof no_numbers / sizeof *no_numbers; i++)
        check_refused(column_of(&c, no_numbers[i], w->doubles, 4, NULL), BF_E_DTYPE);
    check_refused(column_of(&c, NULL, w->doubles, 4, NULL), BF_E_DTYPE);
    column_of(&c, "i", w->doubles, 4, NULL)->schema.dictionary = &c.schema;
    check_refused(&c, BF_E_DTYPE);
    check_refused(column_of(&c, "g", NULL, 4, NULL), BF_E_ARGUMENT);
    check_refused(column_of(&c, "g", w->doubles, -1, NULL), BF_E_ARGUMENT);
    check_refused(column_of(&c, "g", w->doubles, INT64_MAX, NULL), BF_E_ARGUMENT);
#define REFUSE(member, value)                                                                      \
    column_of(&c, "g", w->doubles, 4, NULL)->member = (value);                                     \
    check_refused(&c, BF_E_ARGUMENT);
    REFUSE(array.offset, -1)
    REFUSE(array.offset, INT64_MAX)
    REFUSE(array.n_buffers, 3)
    REFUSE(array.buffers, NULL)
    REFUSE(array.null_count, -2)
    REFUSE(array.null_count, 5)
    REFUSE(array.null_count, 1) /* there are no bits */
    REFUSE(array.release, NULL)
    REFUSE(schema.release, NULL)
#undef REFUSE
}

enum { CPU = 1, CUDA = 2, CUDA_HOST = 3, MANAGED = 13 }; /* ArrowDeviceType */

static bf_status view_on(bf_context *context, int32_t type, void *event, const column *c,
                         bf_array *a, int64_t *nulls) {
    struct ArrowDeviceArray on = {.array = c->array, .device_type = type, .sync_event = event};
    return bf_array_from_arrow_device(context, &c->schema, &on, a, nulls);
}

TEST(a_column_on_a_device_is_its_memory) {
    static const int32_t types[] = {CPU, CUDA, CUDA_HOST, MANAGED};
    fill_bits(3);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) { /* without an event none is asked */
        column c;
        bf_array a;
        int64_t nulls = 77, want = 0;
        column_of(&c, "g", w->doubles, 100, valid)->array.offset = 5;
        assert_int_equal(view_on(w->context, types[i], NULL, &c, &a, &nulls), BF_OK);
        assert_ptr_equal(a.data, w->doubles + 5);
        assert_int_equal(a.shape[0], 100);
        for (int k = 5; k < 105; k++) want += !is_valid(k);
        assert_int_equal(nulls, want);
        assert_int_equal(view_on(w->context, types[i], NULL, &c, &a, NULL), BF_E_ARGUMENT);
    }
}

TEST(other_devices_are_refused) {
    static const int32_t types[] = {0, 4, 7, 8, 10, 14, 77, -1};
    column c;
    bf_array a = {.ndim = 77};
    int64_t nulls = 77;
    column_of(&c, "g", w->doubles, 4, NULL);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        assert_int_equal(view_on(w->context, types[i], NULL, &c, &a, &nulls), BF_E_DEVICE);
    c.array.release = NULL;
    assert_int_equal(view_on(w->context, CUDA, &a, &c, &a, &nulls), BF_E_ARGUMENT); /* released */
    assert_int_equal(a.ndim, 77);
    assert_int_equal(nulls, 77);
}

TEST(the_cpu_waits_for_no_event) {
    OWN(bf_context) *cpu = NULL;
    column c;
    bf_array a;
    void *event = NULL;
    assert_int_equal(bf_context_create(&BF_OPTIONS(.device = "cpu"), &cpu), BF_OK);
    column_of(&c, "g", w->doubles, 4, NULL);
    assert_int_equal(view_on(cpu, CPU, &event, &c, &a, NULL), BF_E_ARGUMENT);
    assert_int_equal(view_on(cpu, CUDA, &event, &c, &a, NULL), BF_E_DEVICE);
    assert_int_equal(view_on(cpu, CUDA_HOST, &event, &c, &a, NULL), BF_E_DEVICE);
}

TEST(copies_go_to_arrays_of_their_kind) {
    column c;
    int64_t n = 77;
    bf_array wrong_dtype = bf_array_of(BF_F32, w->floats, 4);
    bf_array strided = {w->out_doubles, BF_F64, 1, {4}, {2}};
    bf_array square = {w->out_doubles, BF_F64, 2, {2, 2}, {2, 1}};
    column_of(&c, "g", w->doubles, 4, NULL);
    assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &wrong_dtype, &n),
                     BF_E_DTYPE);
    assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &strided, &n),
                     BF_E_SHAPE);
    assert_int_equal(bf_array_copy_arrow(w->context, &c.schema, &c.array, &square, &n), BF_E_SHAPE);
    assert_int_equal(n, 77);
}

static void count_release(void *owner) { ++*(int *)owner; }

TEST(an_array_is_given_and_comes_back) {
    for (int i = 0; i < FORMATS; i++)
        for (int n = 0; n < 20; n++) {
            bf_dtype dtype = bf_dtype_from_name(formats[i][1]);
            bf_array a = bf_array_of(dtype, w->integers, n),
                     back = bf_array_of(dtype, w->buffer, n);
            struct ArrowSchema schema;
            struct ArrowArray array;
            int released = 0;
            int64_t got;
            for (int k = 0; k < 20; k++) w->integers[k] = k % 3 == 1;
            assert_int_equal(
                bf_array_to_arrow(w->context, &a, count_release, &released, &schema, &array),
                BF_OK);
            assert_string_equal(schema.format, formats[i][0]);
            assert_int_equal(array.null_count, 0);
            if (dtype != BF_BOOL) assert_ptr_equal(array.buffers[1], w->integers);
            assert_int_equal(bf_array_copy_arrow(w->context, &schema, &array, &back, &got), BF_OK);
            assert_int_equal(got, n);
            assert_memory_equal(w->buffer, w->integers, (size_t)n * bf_dtype_size(dtype));
            schema.release(&schema);
            assert_null(schema.release);
            assert_int_equal(released, 0);
            array.release(&array);
            assert_null(array.release);
            assert_int_equal(released, 1);
        }
}

TEST(what_is_no_column_is_not_given) {
    struct ArrowSchema schema = {.format = "x"};
    struct ArrowArray array = {.length = 77};
    int released = 0;
    bf_array wrong[] = {
        {w->doubles, BF_F64, 2, {2, 2}, {2, 1}}, {w->doubles, BF_F64, 1, {4}, {2}},
        {w->doubles, BF_F64, 0, {0}, {0}},       {w->doubles, BF_BF16, 1, {4}, {1}},
        {w->doubles, BF_F64, 1, {-4}, {1}},      {NULL, BF_F64, 1, {4}, {1}},
    };
    static const bf_status statuses[] = {BF_E_SHAPE, BF_E_SHAPE,    BF_E_SHAPE,
                                         BF_E_DTYPE, BF_E_ARGUMENT, BF_E_ARGUMENT};
    for (int i = 0; i < 6; i++)
        assert_int_equal(
            bf_array_to_arrow(w->context, &wrong[i], count_release, &released, &schema, &array),
            statuses[i]);
    assert_int_equal(released, 0);
    assert_int_equal(array.length, 77);
    assert_string_equal(schema.format, "x");
}

UNIT_TESTS(arrow, make_world, destroy_world)
