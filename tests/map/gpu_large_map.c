/* Element-wise operations on more elements than 31 or 32 bits count, on a GPU. */
#include "tests/support/large.h"

typedef uint64_t output_rule(const large *inputs, int64_t i);

/* Checks all n elements of an output in the GPU's memory. */
static void check_output(const large *inputs, bf_dtype dtype, const char *data, output_rule *rule) {
    const int64_t size = size_of(dtype);
    char *expected = malloc((size_t)(PERIOD * size));
    assert_non_null(expected);
    for (int64_t i = 0; i < PERIOD; i++)
        store_bits(expected + i * size, (size_t)size, rule(inputs, i));
    for (int64_t first = 0; first < inputs->n; first += PERIOD) {
        const int64_t n = inputs->n - first < PERIOD ? inputs->n - first : PERIOD;
        copy(on_host, data + first * size, n * size);
        for (int m = 0; m < MARKS; m++) { /* checked, and made like the others */
            const int64_t i = inputs->at[m] - first;
            if (i < 0 || i >= n) continue;
            assert_true(load_bits(on_host + i * size, (size_t)size) == rule(inputs, inputs->at[m]));
            memcpy(on_host + i * size, expected + i * size, (size_t)size);
        }
        if (memcmp(on_host, expected, (size_t)(n * size)))
            fail_msg("wrong after %lld", (long long)first);
    }
    free(expected);
}

static uint64_t doubled_byte(const large *in, int64_t i) {
    return (uint64_t)(2 * number_at(in, i)) & 255;
}

static uint64_t square_of_float(const large *in, int64_t i) {
    const float x = (float)number_at(in, i), square = x * x;
    uint32_t bits;
    memcpy(&bits, &square, 4);
    return bits;
}

static void maps(void **unused) {
    (void)unused;
    need_memory(18);
    large l = large_of(BF_U8, PAST_32_BITS, some_byte, 0, 0, 255);
    bf_array a = array_of(&l), out = bf_array_of(BF_U8, allocate(l.n), l.n);
    const bf_array *inputs[] = {&a, &a};
    const bf_map_options wrap = BF_MAP_OPTIONS(.overflow = BF_OVERFLOW_WRAP);
    assert_int_equal(bf_map(gpu, BF_MAP_ADD, inputs, 2, &wrap, &out), BF_OK);
    check_output(&l, BF_U8, out.data, doubled_byte);
    assert_int_equal(bf_map_async(gpu, BF_MAP_ADD, inputs, 2, &wrap, &a), BF_OK); /* in place */
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    check_output(&l, BF_U8, l.data, doubled_byte);
    bf_memory_free(gpu, out.data);
    large_free(&l);
    l = large_of(BF_F32, PAST_31_BITS, some_float, -3000000, 2500000, 3000000);
    a = array_of(&l);
    out = bf_array_of(BF_F32, allocate(4 * l.n), l.n);
    assert_int_equal(bf_map(gpu, BF_MAP_MUL, inputs, 2, NULL, &out), BF_OK);
    check_output(&l, BF_F32, out.data, square_of_float);
    bf_memory_free(gpu, out.data);
    large_free(&l);
}

static int64_t small_number(bf_dtype dtype, int64_t i) {
    (void)dtype;
    return (int64_t)(scramble(i) % 255) - 127;
}

static void failures_are_found(void **unused) {
    (void)unused;
    need_memory(9);
    large l = large_of(BF_I8, PAST_32_BITS, small_number, INT8_MIN, 0, INT8_MIN);
    const bf_array a = array_of(&l), *inputs[] = {&a};
    char index[40];
    snprintf(index, sizeof index, "index %lld ", (long long)l.at[0]);
    bf_array out = bf_array_of(BF_I8, allocate(l.n), l.n);
    assert_int_equal(bf_map(gpu, BF_MAP_NEG, inputs, 1, NULL, &out), BF_E_OVERFLOW);
    assert_non_null(strstr(bf_context_message(gpu), index));
    assert_int_equal(bf_map_async(gpu, BF_MAP_NEG, inputs, 1, NULL, &out), BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_E_OVERFLOW);
    bf_memory_free(gpu, out.data);
    large_free(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps),
        cmocka_unit_test(failures_are_found),
    };
    return RUN_ON_GPU(tests);
}
