/* Arrays that are hard to reduce: more kinds of data than data.h has. */
#ifndef BITFOLD_TESTS_REDUCE_HARD_H
#define BITFOLD_TESTS_REDUCE_HARD_H

#include "tests/support/both.h"

/* Kinds beside those of data.h. */
enum {
    SPREAD = KIND_COUNT, /* 2^-100 to 2^100 */
    NEGATIVE_ZEROS,      /* alone, or with a NaN */
    ZEROS,               /* zeros have both signs */
    NANS,
    INFINITIES, /* infinities have one sign */
    OUTLIER,    /* the greatest number among a few binades */
    EQUAL,
    SOME_ZEROS, /* -0 among a few binades, or among all */
    KINDS
};

static inline uint64_t spread_float(bf_dtype dtype, uint64_t *seed) {
    uint64_t r = next_random(seed);
    int top = (1 << exponent_bits(dtype)) - 2, field = top / 2 - 100 + (int)(r % 201);
    field = field < 0 ? 0 : field > top ? top : field;
    uint64_t fraction = (r >> 8) & (((uint64_t)1 << fraction_bits(dtype)) - 1);
    return (uint64_t)field << fraction_bits(dtype) | fraction | (r >> 7 & sign_bit(dtype));
}

static inline void fill_spread(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++)
        store_bits(data + (size_t)i * bytes, bytes, spread_float(dtype, &seed));
}

/* All of these bits, or, where random, with any sign. */
static inline void fill_with(bf_dtype dtype, char *data, int64_t n, uint64_t bits, bool random,
                             uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    for (int64_t i = 0; i < n; i++) {
        uint64_t sign = random ? next_random(&seed) & sign_bit(dtype) : 0;
        store_bits(data + (size_t)i * bytes, bytes, bits ^ sign);
    }
}

static inline void fill_infinities(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t bits = infinity_bits(dtype) | (seed & sign_bit(dtype));
    fill(dtype, data, n, KIND_FULL, seed);
    for (int64_t i = (int64_t)(seed % 3); i < n; i += 61)
        store_bits(data + (size_t)i * bytes, bytes, bits);
}

static inline void fill_negative_zeros(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    bool real = is_float(dtype);
    fill_with(dtype, data, n, real ? sign_bit(dtype) : 0, false, seed);
    if (real && seed % 2 == 1 && n > 0)
        store_bits(data + (size_t)(n / 2) * bytes, bytes, infinity_bits(dtype) + 1);
}

static inline void fill_outlier(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    uint64_t most = is_float(dtype) ? infinity_bits(dtype) - 1 : sign_bit(dtype) - 1;
    fill(dtype, data, n, KIND_NARROW, seed);
    if (n > 0) store_bits(data + (size_t)(n / 2) * bytes, bytes, most);
}

static inline void fill_equal(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    if (n == 0) return;
    fill(dtype, data, 1, (data_kind)(seed % KIND_COUNT), seed);
    fill_with(dtype, data, n, load_bits(data, bytes), false, 0);
}

static inline void fill_some_zeros(bf_dtype dtype, char *data, int64_t n, uint64_t seed) {
    size_t bytes = bf_dtype_size(dtype);
    const uint64_t every = seed % 3 == 0 ? 3 : 1000;
    fill(dtype, data, n, seed % 2 ? KIND_NARROW : KIND_FULL, seed);
    for (int64_t i = 0; i < n && is_float(dtype); i++)
        if (next_random(&seed) % every == 0)
            store_bits(data + (size_t)i * bytes, bytes, sign_bit(dtype));
}

static inline void fill_any(bf_dtype dtype, char *data, int64_t n, int kind, uint64_t seed) {
    bool real = is_float(dtype);
    switch (kind) {
    case NEGATIVE_ZEROS: fill_negative_zeros(dtype, data, n, seed); break;
    case ZEROS: fill_with(dtype, data, n, 0, real, seed); break;
    case OUTLIER: fill_outlier(dtype, data, n, seed); break;
    case EQUAL: fill_equal(dtype, data, n, seed); break;
    case SOME_ZEROS: fill_some_zeros(dtype, data, n, seed); break;
    case SPREAD:
        if (real) fill_spread(dtype, data, n, seed);
        break;
    case INFINITIES:
        if (real) fill_infinities(dtype, data, n, seed);
        break;
    case NANS:
        fill(dtype, data, n, KIND_NARROW, seed);
        sprinkle(dtype, data, n, seed % 2 ? 7 : 700, seed);
        break;
    default: fill(dtype, data, n, (data_kind)kind, seed);
    }
}

static inline bool is_of_floats(int kind) {
    return kind == SPREAD || kind == INFINITIES || kind == NANS;
}

static inline int other_than(bf_dtype dtype, uint64_t *seed) {
    int kind = (int)(next_random(seed) % KINDS);
    return is_of_floats(kind) && !is_float(dtype) ? EQUAL : kind;
}

#endif
