/* Arrays to and from DLPack. */
#include "tests/runtime/world.h"
#include "tests/support/unit.h"

static const int codes[][3] = {
    {BF_BOOL, 6, 8},  {BF_I8, 0, 8},   {BF_I16, 0, 16}, {BF_I32, 0, 32}, {BF_I64, 0, 64},
    {BF_U8, 1, 8},    {BF_U16, 1, 16}, {BF_U32, 1, 32}, {BF_U64, 1, 64}, {BF_F16, 2, 16},
    {BF_BF16, 4, 16}, {BF_F32, 2, 32}, {BF_F64, 2, 64},
};
enum { CODES = sizeof codes / sizeof *codes };

static int64_t shape[9] = {3, 2, 1, 1, 1, 1, 1, 1, 1}, strides[9] = {-2, 7, 0};

static struct DLManagedTensorVersioned sound(void) {
    struct DLManagedTensorVersioned t = {.version = {1, 3}, .flags = 1};
    t.tensor.data = w->doubles;
    t.tensor.device.type = 1;
    t.tensor.ndim = 2;
    t.tensor.dtype.code = 2;
    t.tensor.dtype.bits = 64;
    t.tensor.dtype.lanes = 1;
    t.tensor.shape = shape;
    t.tensor.strides = strides;
    t.tensor.byte_offset = 32;
    return t;
}

TEST(a_tensor_is_its_memory) {
    struct DLManagedTensorVersioned t = sound();
    for (int i = 0; i < CODES; i++) {
        bf_array a;
        int readonly = -1;
        t.tensor.dtype.code = (uint8_t)codes[i][1];
        t.tensor.dtype.bits = (uint8_t)codes[i][2];
        t.flags = (uint64_t)(i & 1) | 2;
        assert_int_equal(bf_array_from_dlpack(w->context, &t, &a, &readonly), BF_OK);
        assert_int_equal(a.dtype, codes[i][0]);
        assert_int_equal(readonly, i & 1);
        assert_ptr_equal(a.data, w->doubles + 4);
        assert_int_equal(a.ndim, 2);
        assert_memory_equal(a.shape, shape, 2 * sizeof *shape);
        assert_memory_equal(a.strides, strides, 2 * sizeof *shape);
    }
}

TEST(without_strides_it_is_in_c_order) {
    struct DLManagedTensor old = {.tensor = sound().tensor};
    bf_array a;
    old.tensor.strides = NULL;
    assert_int_equal(bf_array_from_dlpack_unversioned(w->context, &old, &a), BF_OK);
    assert_int_equal(a.strides[0], 2);
    assert_int_equal(a.strides[1], 1);
    old.tensor.data = NULL; /* it has no elements */
    old.tensor.shape = (int64_t[]){3, 0};
    assert_int_equal(bf_array_from_dlpack_unversioned(w->context, &old, &a), BF_OK);
    assert_int_equal(bf_array_count(&a), 0);
    old.tensor.ndim = 0;
    old.tensor.shape = NULL;
    old.tensor.data = w->doubles;
    assert_int_equal(bf_array_from_dlpack_unversioned(w->context, &old, &a), BF_OK);
    assert_int_equal(bf_array_count(&a), 1);
}

TEST(memory_that_gpus_reach_is_taken) {
    for (int type = 0; type < 20; type++) {
        struct DLManagedTensorVersioned t = sound();
        bool taken = type == 1 || type == 2 || type == 3 || type == 13;
        bf_array a;
        t.tensor.device.type = type;
        assert_int_equal(bf_array_from_dlpack(w->context, &t, &a, NULL),
                         taken ? BF_OK : BF_E_DEVICE);
    }
}

static void check_refused(struct DLManagedTensorVersioned t, bf_status status) {
    bf_array a = {.ndim = 77};
    int readonly = 77;
    assert_int_equal(bf_array_from_dlpack(w->context, &t, &a, &readonly), status);
    assert_int_equal(a.ndim, 77);
    assert_int_equal(readonly, 77);
    assert_true(strlen(bf_context_message(w->context)) > 0);
}

TEST(others_are_refused) {
    struct DLManagedTensorVersioned t = sound();
#define WITH(member, value) (t = sound(), t.member = (value), t)
    check_refused(WITH(version.major, 0), BF_E_ARGUMENT);
    check_refused(WITH(version.major, 2), BF_E_ARGUMENT);
    check_refused(WITH(tensor.ndim, -1), BF_E_ARGUMENT);
    check_refused(WITH(tensor.ndim, 9), BF_E_SHAPE);
    check_refused(WITH(tensor.ndim, INT32_MAX), BF_E_SHAPE);
    check_refused(WITH(tensor.shape, NULL), BF_E_ARGUMENT);
    check_refused(WITH(tensor.data, NULL), BF_E_ARGUMENT);
    check_refused(WITH(tensor.dtype.lanes, 4), BF_E_DTYPE);
    check_refused(WITH(tensor.dtype.lanes, 0), BF_E_DTYPE);
    check_refused(WITH(tensor.dtype.bits, 8), BF_E_DTYPE);
    check_refused(WITH(tensor.dtype.code, 5), BF_E_DTYPE); /* complex */
    int64_t wrong[][2] = {{-1, 2}, {INT64_MAX, 2}, {(int64_t)1 << 62, 4}};
    for (int i = 0; i < 3; i++) {
        check_refused(WITH(tensor.shape, wrong[i]), BF_E_ARGUMENT);
        t.tensor.strides = NULL;
        check_refused(t, BF_E_ARGUMENT);
    }
#undef WITH
}

static void count_release(void *owner) { ++*(int *)owner; }

TEST(an_array_is_given_and_comes_back) {
    for (int i = 0; i < CODES; i++) {
        bf_array a = {w->doubles + 4, (bf_dtype)codes[i][0], 2, {3, 2}, {-2, 7}}, back;
        struct DLManagedTensorVersioned *t;
        int released = 0, readonly;
        assert_int_equal(bf_array_to_dlpack(w->context, &a, i & 1, count_release, &released, &t),
                         BF_OK);
        assert_int_equal(t->version.major, 1);
        assert_int_equal(t->flags, i & 1);
        assert_int_equal(t->tensor.device.type, 1);
        assert_int_equal(t->tensor.dtype.code, codes[i][1]);
        assert_int_equal(t->tensor.dtype.bits, codes[i][2]);
        assert_int_equal(bf_array_from_dlpack(w->context, t, &back, &readonly), BF_OK);
        assert_int_equal(readonly, i & 1);
        assert_memory_equal(&back, &a, sizeof a);
        assert_int_equal(released, 0);
        t->deleter(t);
        assert_int_equal(released, 1);
    }
}

TEST(an_array_is_given_without_a_version) {
    for (int i = 0; i < CODES; i++) {
        bf_array a = {w->doubles + 4, (bf_dtype)codes[i][0], 2, {3, 2}, {-2, 7}}, back;
        struct DLManagedTensor *t;
        int released = 0;
        assert_int_equal(
            bf_array_to_dlpack_unversioned(w->context, &a, count_release, &released, &t), BF_OK);
        assert_int_equal(t->tensor.dtype.code, codes[i][1]);
        assert_int_equal(t->tensor.dtype.bits, codes[i][2]);
        assert_int_equal(bf_array_from_dlpack_unversioned(w->context, t, &back), BF_OK);
        assert_memory_equal(&back, &a, sizeof a);
        assert_int_equal(released, 0);
        t->deleter(t);
        assert_int_equal(released, 1);
    }
}

TEST(what_is_no_array_is_not_given) {
    struct DLManagedTensorVersioned *t = NULL;
    int released = 0;
    bf_array a = w->f64;
    a.ndim = -1;
    assert_int_equal(bf_array_to_dlpack(w->context, &a, 0, count_release, &released, &t),
                     BF_E_ARGUMENT);
    a = w->f64;
    a.dtype = BF_PAIR;
    assert_int_not_equal(bf_array_to_dlpack(w->context, &a, 0, count_release, &released, &t),
                         BF_OK);
    assert_null(t);
    assert_int_equal(released, 0);
    assert_int_equal(bf_array_to_dlpack(w->context, &w->f64, 0, NULL, NULL, &t), BF_OK);
    t->deleter(t);
}

UNIT_TESTS(dlpack, make_world, destroy_world)
