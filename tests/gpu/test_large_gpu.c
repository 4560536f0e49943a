/* Arrays of more elements than 31 or 32 bits count, in a GPU's memory: a block that repeats, so
 * that the exact answers are a matter of multiplication. */
#include "both.h"

enum { BLOCK = 1 << 26 }; /* bytes */

/* n elements: the block again and again. NULL: the GPU has not that much memory. */
static char *repeated(const char *block, size_t bytes) {
    void *memory;
    if (bf_memory_allocate(gpu, bytes, &memory) != BF_OK) return NULL;
    for (size_t at = 0; at < bytes; at += BLOCK) {
        size_t part = bytes - at < BLOCK ? bytes - at : BLOCK;
        const char *from = at == 0 ? block : memory;
        assert_int_equal(bf_memory_copy(gpu, (char *)memory + at, from, part), BF_OK);
    }
    return memory;
}

static void put(char *at, const void *element, size_t bytes) {
    assert_int_equal(bf_memory_copy(gpu, at, element, bytes), BF_OK);
}

/* The value of one call, which bf_reduce_async gives as well. */
static bf_value value_of(bf_reduction op, const bf_array *a) {
    bf_value value = {.dtype = BF_NONE}, queued;
    if (op == BF_DOT) {
        assert_int_equal(bf_dot(gpu, a, a, NULL, &value), BF_OK);
        assert_int_equal(bf_dot_async(gpu, a, a, NULL, values_on_device), BF_OK);
    } else {
        assert_int_equal(bf_reduce(gpu, op, a, NULL, &value), BF_OK);
        assert_int_equal(bf_reduce_async(gpu, op, a, NULL, values_on_device), BF_OK);
    }
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, &queued, values_on_device, sizeof queued), BF_OK);
    assert_int_equal(queued.dtype, value.dtype);
    assert_memory_equal(queued.as.i192, value.as.i192, sizeof value.as.i192);
    return value;
}

static int64_t integer_of(bf_reduction op, const bf_array *a) {
    bf_value value = value_of(op, a);
    int64_t found;
    assert_int_equal(bf_value_i64(&value, &found), BF_OK);
    return found;
}

/* Bytes from 1 to 254, but for one 0 and one 255 near the end. */
static void check_bytes(int64_t n) {
    uint64_t seed = 1;
    int64_t sum = 0, squares = 0, low = n - 3, high = n - 1;
    for (int i = 0; i < BLOCK; i++) on_host[i] = (char)(1 + next_random(&seed) % 254);
    for (int i = 0; i < BLOCK; i++) {
        int64_t x = (uint8_t)on_host[i], times = n / BLOCK + (i < n % BLOCK);
        sum += times * x;
        squares += times * x * x;
    }
    int64_t x = (uint8_t)on_host[low % BLOCK], y = (uint8_t)on_host[high % BLOCK];
    char *memory = repeated(on_host, (size_t)n);
    if (memory == NULL) skip();
    put(memory + low, "\0", 1);
    put(memory + high, "\xff", 1);
    bf_array a = bf_array_of(BF_U8, memory, n);
    assert_int_equal(integer_of(BF_SUM, &a), sum - x - y + 255);
    assert_int_equal(integer_of(BF_DOT, &a), squares - x * x - y * y + 255 * 255);
    assert_int_equal(integer_of(BF_MIN, &a), 0);
    assert_int_equal(integer_of(BF_ARGMIN, &a), low);
    assert_int_equal(integer_of(BF_ARGMAX, &a), high);
    bf_memory_free(gpu, memory);
}

static void bytes_past_31_bits(void **unused) {
    (void)unused;
    check_bytes(((int64_t)1 << 31) + 5);
}

static void bytes_past_32_bits(void **unused) {
    (void)unused;
    check_bytes(((int64_t)1 << 32) + 5);
}

/* Multiples of 1/8, of which the sums fit 63 bits and those of squares 127. */
static void floats_past_30_bits(void **unused) {
    (void)unused;
    enum { COUNT = BLOCK / 4 };
    const int64_t n = ((int64_t)1 << 30) + 3;
    float *block = (float *)(void *)on_host;
    uint64_t seed = 2;
    int64_t sum = 0;
    __int128 squares = 0;
    for (int i = 0; i < COUNT; i++) {
        int64_t k = (int64_t)(next_random(&seed) % 2000001) - 1000000;
        int64_t times = n / COUNT + (i < n % COUNT);
        block[i] = (float)k / 8;
        sum += times * k;
        squares += (__int128)(times * k) * k;
    }
    char *memory = repeated(on_host, (size_t)n * 4);
    if (memory == NULL) skip();
    bf_array a = bf_array_of(BF_F32, memory, n);
    assert_true(value_of(BF_SUM, &a).as.f64 == (double)sum / 8);
    assert_true(value_of(BF_DOT, &a).as.f64 == (double)squares / 64);
    assert_true(value_of(BF_SUMSQ, &a).as.f64 == (double)squares / 64);
    put(memory + 4 * (n - 2), &(float){2e30f}, 4);
    put(memory + 4 * (n - 1), &(float){-3e30f}, 4);
    assert_true(value_of(BF_MAX, &a).as.f32 == 2e30f);
    assert_true(value_of(BF_MIN, &a).as.f32 == -3e30f);
    assert_int_equal(integer_of(BF_ARGMAX, &a), n - 2);
    assert_int_equal(integer_of(BF_ARGMIN, &a), n - 1);
    bf_memory_free(gpu, memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_past_31_bits),
        cmocka_unit_test(bytes_past_32_bits),
        cmocka_unit_test(floats_past_30_bits),
    };
    return RUN_ON_GPU(tests);
}
