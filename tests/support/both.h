/* For the tests of reductions on a GPU: the same call on the CPU's rules and on the GPU, which have
 * to agree in every bit. */
#ifndef BITFOLD_TESTS_SUPPORT_BOTH_H
#define BITFOLD_TESTS_SUPPORT_BOTH_H

#include <stdlib.h>

#include "tests/support/data.h"
#include "tests/support/run.h"

enum {
    MOST = (1 << 20) + 3,
    SECOND = 8 * 10000128, /* where a second array has room */
    ROOM = 2 * SECOND,
    VALUES = 256
};

static bf_context *cpu, *gpu;
static char *on_host, *on_device;  /* ROOM bytes each */
static bf_value *values_on_device; /* VALUES of them */

/* BITFOLD_GPU_SMALL: few arrays, and small ones, for tools that make all slow. */
static inline bool is_small(void) { return getenv("BITFOLD_GPU_SMALL") != NULL; }

/* How many random cases are tried: BITFOLD_GPU_CASES, or `many`, or `few` where all is slow. */
static inline uint64_t random_cases(uint64_t many, uint64_t few) {
    const char *const wanted = getenv("BITFOLD_GPU_CASES");
    return wanted ? strtoull(wanted, NULL, 10) : is_small() ? few : many;
}

/* The first one's seed: BITFOLD_SEED, else 0. */
static inline uint64_t first_seed(void) {
    const char *const seed = getenv("BITFOLD_SEED");
    return seed ? strtoull(seed, NULL, 10) : 0;
}

static inline void leave_out_if_small(void) {
    if (is_small()) leave_out("BITFOLD_GPU_SMALL: this needs large arrays");
}

static inline int set_up(void **unused) {
    (void)unused;
    static const bf_value zeros[VALUES];
    void *memory, *values;
    on_host = malloc(ROOM);
    if (!on_host ||
        bf_context_create(&BF_OPTIONS(.device = "cpu", .isa = "generic", .threads = 1), &cpu) ||
        bf_context_create(&BF_OPTIONS(.device = "cuda"), &gpu) ||
        bf_memory_allocate(gpu, ROOM, &memory) || bf_memory_allocate(gpu, sizeof zeros, &values) ||
        bf_memory_copy(gpu, values, zeros, sizeof zeros))
        return -1;
    on_device = memory;
    values_on_device = values;
    return 0;
}

static inline int tear_down(void **unused) {
    (void)unused;
    bf_memory_free(gpu, values_on_device);
    bf_memory_free(gpu, on_device);
    bf_context_destroy(gpu);
    bf_context_destroy(cpu);
    free(on_host);
    return 0;
}

/* n elements that lie `offset` bytes into the memory, as the CPU sees them and as the GPU does. */
typedef struct both {
    bf_array host, device;
} both;

static inline both both_of(bf_dtype dtype, int64_t n, int offset) {
    both b = {bf_array_of(dtype, on_host + offset, n), bf_array_of(dtype, on_device + offset, n)};
    size_t bytes = (size_t)n * bf_dtype_size(dtype);
    if (bytes > 0) assert_int_equal(bf_memory_copy(gpu, b.device.data, b.host.data, bytes), BF_OK);
    return b;
}

static inline void assert_same_value(const char *how, bf_reduction op, const both *b,
                                     const bf_value *found, const bf_value *expected) {
    if (found->dtype == expected->dtype &&
        (found->dtype == BF_NONE ||
         !memcmp(found->as.i192, expected->as.i192, sizeof found->as.i192)))
        return;
    fail_msg("%s of %s %s, n %lld: %llx (%s), not %llx (%s)", how, bf_reduction_name(op),
             bf_dtype_name(b->host.dtype), (long long)b->host.shape[0],
             (unsigned long long)found->as.u64, bf_dtype_name(found->dtype),
             (unsigned long long)expected->as.u64, bf_dtype_name(expected->dtype));
}

/* One call on both, and one that leaves its result on the GPU. */
static inline void check_reduce(bf_reduction op, const both *b, const bf_reduce_options *options) {
    bf_value expected = {.dtype = BF_NONE}, found = {.dtype = BF_NONE};
    bf_status status = bf_reduce(cpu, op, &b->host, options, &expected);
    if (status != BF_OK) expected.dtype = BF_NONE;
    assert_int_equal(bf_reduce(gpu, op, &b->device, options, &found), status);
    if (status != BF_OK) found.dtype = BF_NONE;
    assert_same_value("reduce", op, b, &found, &expected);
    if ((uintptr_t)b->device.data % bf_dtype_size(b->device.dtype) != 0) return;
    assert_int_equal(bf_reduce_async(gpu, op, &b->device, options, values_on_device), BF_OK);
    assert_int_equal(bf_context_synchronize(gpu), BF_OK);
    assert_int_equal(bf_memory_copy(gpu, &found, values_on_device, sizeof found), BF_OK);
    assert_same_value("reduce_async", op, b, &found, &expected);
}

/* Absorbs the array in chunks of up to `most` elements (at once, if it has fewer), the first of
 * which starts at index `begin`, and saves the state. */
static inline void *save_in_chunks(bf_context *context, bf_reduction op, const bf_array *array,
                                   int64_t begin, int64_t most, uint64_t seed, size_t *size) {
    bf_state *state;
    assert_int_equal(bf_state_create(context, op, array->dtype, &state), BF_OK);
    if (begin > 0) assert_int_equal(bf_state_seek(state, begin), BF_OK);
    for (int64_t i = 0, n; i < array->shape[0]; i += n) {
        int64_t left = array->shape[0] - i;
        n = 1 + (int64_t)(next_random(&seed) % (uint64_t)most);
        if (n > left || most > array->shape[0]) n = left;
        bf_array chunk = bf_array_of(
            array->dtype, (char *)array->data + i * (int64_t)bf_dtype_size(array->dtype), n);
        assert_int_equal(bf_state_absorb(state, &chunk), BF_OK);
    }
    *size = bf_state_save_size(state);
    void *saved = malloc(*size);
    assert_non_null(saved);
    bf_state_save(state, saved);
    bf_state_destroy(state);
    return saved;
}

/* States of both, in the same chunks of up to `most` elements, are the same bytes. */
static inline void check_states(bf_reduction op, const both *b, int64_t begin, int64_t most,
                                uint64_t seed) {
    size_t size[2];
    void *expected = save_in_chunks(cpu, op, &b->host, begin, most, seed, &size[0]);
    void *found = save_in_chunks(gpu, op, &b->device, begin, most, seed, &size[1]);
    if (size[0] != size[1] || memcmp(found, expected, size[0]))
        fail_msg("states of %s %s differ: n %lld, begin %lld, chunks %lld, seed %llu",
                 bf_reduction_name(op), bf_dtype_name(b->host.dtype), (long long)b->host.shape[0],
                 (long long)begin, (long long)most, (unsigned long long)seed);
    free(expected);
    free(found);
}

/* Puts NaNs of either sign, infinities and zeros of either sign among floats, every `rarity`. */
static inline void sprinkle(bf_dtype dtype, void *data, int64_t n, int rarity, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t inf = infinity_bits(dtype), sign = sign_bit(dtype);
    const uint64_t special[] = {inf, inf + 1, inf | inf >> 1, 0, 1};
    if (!is_float(dtype)) return;
    for (int64_t i = 0; i < n; i++) {
        uint64_t r = next_random(&seed);
        if (r % (uint64_t)rarity) continue;
        uint64_t bits = special[(r >> 32) % 5] | (r >> 40 & 1 ? sign : 0);
        store_bits((char *)data + (size_t)i * bytes, bytes, bits);
    }
}

static const int64_t hard_sizes[] = {1,     2,     15,    16,     17,     31,     33,     127,
                                     1000,  4095,  4096,  4097,   32767,  32768,  32769,  65536,
                                     70001, 98304, 99999, 131071, 131072, 131073, 262144, MOST};
#define HARD_SIZES (is_small() ? 10 : (int)(sizeof hard_sizes / sizeof *hard_sizes))

#endif
