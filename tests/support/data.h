/* For the tests in C: arrays that are hard to reduce. Needs nothing but the library. */
#ifndef BITFOLD_TESTS_SUPPORT_DATA_H
#define BITFOLD_TESTS_SUPPORT_DATA_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <bitfold.h>

#include "tests/support/tried.h"

#define LARGE_BYTES 2200009 /* enough for two threads: the CPU starts one for each MiB */

static const bf_dtype all_dtypes[] = {
#define BF_X(id, number, name, bytes, type, ...) BF_##id,
    BF_DTYPE_LIST(BF_X)
#undef BF_X
};
#define DTYPE_COUNT ((int)(sizeof all_dtypes / sizeof *all_dtypes))

static inline bool is_float(bf_dtype dtype) { return dtype >= BF_F16 && dtype <= BF_F64; }
static inline bool is_signed(bf_dtype dtype) { return dtype >= BF_I8 && dtype <= BF_I64; }

/* splitmix64 */
static inline uint64_t next_random(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static inline void store_bits(void *at, size_t bytes, uint64_t bits) {
    memcpy(at, &bits, bytes); /* little-endian, like every machine that runs these tests */
}

static inline uint64_t load_bits(const void *at, size_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, at, bytes);
    return bits;
}

static inline int fraction_bits(bf_dtype dtype) {
    return dtype == BF_F64 ? 52 : dtype == BF_F32 ? 23 : dtype == BF_F16 ? 10 : 7;
}
static inline int exponent_bits(bf_dtype dtype) {
    return dtype == BF_F64 ? 11 : dtype == BF_F16 ? 5 : 8;
}
static inline uint64_t infinity_bits(bf_dtype dtype) {
    return ((1ull << exponent_bits(dtype)) - 1) << fraction_bits(dtype);
}
static inline uint64_t sign_bit(bf_dtype dtype) { return 1ull << (8 * bf_dtype_size(dtype) - 1); }

/* What an array is made of. */
typedef enum data_kind {
    KIND_NARROW, /* a few binades */
    KIND_FULL,   /* every finite exponent */
    KIND_CANCEL, /* x, -x, x', -x' and a small one now and then */
    KIND_HUGE,   /* the top binades: partial sums overflow */
    KIND_SUBNORMAL,
    KIND_EXTREME, /* least and greatest integers; +-max and +-0 */
    KIND_TIES,    /* powers of 2 a precision apart, and others: sums in the middle of two floats */
    KIND_COUNT
} data_kind;

static inline uint64_t random_float(bf_dtype dtype, data_kind k, uint64_t *rng) {
    uint64_t fraction = next_random(rng) & ((1ull << fraction_bits(dtype)) - 1);
    int top = (1 << exponent_bits(dtype)) - 2, field;
    int r = (int)(next_random(rng) % 4096);
    switch (k) {
    case KIND_NARROW: field = top / 2 - r % 10; break;
    case KIND_HUGE: field = top - r % 2; break;
    case KIND_SUBNORMAL: field = r % 2; break;
    case KIND_TIES:
        field = r % 4 ? top - 1 - (fraction_bits(dtype) + 1) * (r % 3) : r / 4 % (top + 1);
        fraction = r % 5 == 0;
        break;
    case KIND_EXTREME:
        field = r % 3 ? top : 0;
        fraction = r % 3 ? (1ull << fraction_bits(dtype)) - 1 : 0;
        break;
    default: field = r % (top + 1);
    }
    return (uint64_t)field << fraction_bits(dtype) | fraction;
}

/* The bits of element i of an array of this kind. */
static inline uint64_t random_element(bf_dtype dtype, data_kind k, int64_t i, uint64_t before,
                                      uint64_t *rng) {
    uint64_t mask = ~0ull >> (64 - 8 * bf_dtype_size(dtype));
    if (is_float(dtype)) {
        if (k == KIND_CANCEL && i % 2 == 1 && i % 31 != 1) return before ^ sign_bit(dtype);
        return random_float(dtype, k, rng) | (next_random(rng) & sign_bit(dtype));
    }
    uint64_t x = next_random(rng);
    if (k == KIND_NARROW) return x & (dtype == BF_BOOL ? 3 : 15);
    if (k == KIND_EXTREME) return (x & 1 ? mask : x & 2 ? mask >> 1 : mask ^ mask >> 1);
    return x & mask;
}

static inline void fill(bf_dtype dtype, void *data, int64_t n, data_kind k, uint64_t seed) {
    uint64_t bits = 0;
    size_t bytes = bf_dtype_size(dtype);
    try_data("%lld elements of %s, of kind %d, from seed %llu", (long long)n, bf_dtype_name(dtype),
             (int)k, (unsigned long long)seed);
    if (dtype == BF_I128) { /* two halves each */
        dtype = BF_U64;
        bytes = 8;
        n *= 2;
    }
    for (int64_t i = 0; i < n; i++) {
        bits = random_element(dtype, k, i, bits, &seed);
        store_bits((char *)data + (size_t)i * bytes, bytes, bits);
    }
}

static inline double wide_float(bf_dtype dtype, uint64_t bits) {
    double d;
    float f;
    uint32_t b = (uint32_t)bits;
    if (dtype == BF_F64) {
        memcpy(&d, &bits, 8);
        return d;
    }
    if (dtype == BF_BF16) b <<= 16;
    if (dtype == BF_F16) {
        int field = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
        d = field == 31  ? (fraction ? (double)NAN : (double)INFINITY)
            : field == 0 ? ldexp(fraction, -24)
                         : ldexp(1024 + fraction, field - 25);
        return bits >> 15 ? -d : d;
    }
    memcpy(&f, &b, 4);
    return (double)f;
}

#endif
