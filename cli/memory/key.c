#include "memory/key.h"

#include <stdbool.h>
#include <string.h>

enum { SOME = 128 }; /* keys whose ranks are widened at a time */

static bool is_float(bf_dtype key) { return key >= BF_F16; }

static bool is_unsigned(bf_dtype key) { return key == BF_BOOL || (key >= BF_U8 && key <= BF_U64); }

static uint64_t sign_of(bf_dtype key) { return (uint64_t)1 << (8 * bf_dtype_size(key) - 1); }

/* The bits of infinity, without a sign: beyond them all are NaN. */
static uint64_t infinity_of(bf_dtype key) {
    switch (key) {
    case BF_F16: return 0x7c00;
    case BF_BF16: return 0x7f80;
    case BF_F32: return 0x7f800000;
    default: return 0x7ff0000000000000;
    }
}

uint64_t key_nan(bf_dtype dtype) {
    const uint64_t infinity = infinity_of(dtype);
    return infinity | (infinity & -infinity) >> 1;
}

static void load_bits(bf_dtype key, const void *keys, int64_t n, uint64_t bits[]) {
    const char *from = keys;
    switch (bf_dtype_size(key)) {
    case 1:
        for (int64_t i = 0; i < n; i++) bits[i] = (uint8_t)from[i];
        break;
    case 2:
        for (int64_t i = 0; i < n; i++) {
            uint16_t x;
            memcpy(&x, from + 2 * i, sizeof x);
            bits[i] = x;
        }
        break;
    case 4:
        for (int64_t i = 0; i < n; i++) {
            uint32_t x;
            memcpy(&x, from + 4 * i, sizeof x);
            bits[i] = x;
        }
        break;
    default: memcpy(bits, keys, (size_t)n * sizeof *bits);
    }
}

/* The bits of a positive float have the right order, and those of a negative one the opposite. */
void key_ranks(bf_dtype key, const void *keys, int64_t n, uint64_t ranks[]) {
    load_bits(key, keys, n, ranks);
    const uint64_t sign = sign_of(key), most = sign - 1, infinity = infinity_of(key);
    const uint64_t nan = key_nan(key);
    if (key == BF_BOOL) {
        for (int64_t i = 0; i < n; i++) ranks[i] = ranks[i] != 0;
    } else if (is_float(key)) {
        for (int64_t i = 0; i < n; i++) {
            const uint64_t x = ranks[i], size = x & most;
            ranks[i] = size > infinity ? nan | sign : x > sign ? most & ~x : size | sign;
        }
    } else if (!is_unsigned(key)) {
        for (int64_t i = 0; i < n; i++) ranks[i] ^= sign;
    }
}

void key_wide_ranks(bf_dtype dtype, const void *keys, int64_t n, key_rank ranks[]) {
    uint64_t some[SOME];
    const size_t bytes = bf_dtype_size(dtype);
    if (dtype == BF_I128) {
        memcpy(ranks, keys, (size_t)n * bytes);
        for (int64_t i = 0; i < n; i++) ranks[i] ^= (key_rank)1 << 127;
        return;
    }
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t k = n - at < SOME ? n - at : SOME;
        key_ranks(dtype, (const char *)keys + (size_t)at * bytes, k, some);
        for (int64_t i = 0; i < k; i++) ranks[at + i] = some[i];
    }
}

void key_of_rank(bf_dtype key, uint64_t rank, void *at) {
    const uint64_t sign = sign_of(key);
    uint64_t x = is_unsigned(key) ? rank : is_float(key) && !(rank & sign) ? ~rank : rank ^ sign;
    memcpy(at, &x, bf_dtype_size(key));
}

uint64_t key_mix(uint64_t hash, uint64_t x) {
    hash = (hash ^ x) * 0x9e3779b97f4a7c15;
    return hash ^ hash >> 29;
}

static void mix_wide(uint64_t hash[], const void *keys, int64_t n) {
    key_rank rank;
    for (int64_t i = 0; i < n; i++) {
        key_wide_ranks(BF_I128, (const char *)keys + (size_t)i * sizeof rank, 1, &rank);
        hash[i] = key_mix(key_mix(hash[i], (uint64_t)(rank >> 64)), (uint64_t)rank);
    }
}

void key_mix_numbers(uint64_t hash[], bf_dtype dtype, const void *keys, int64_t n) {
    uint64_t ranks[SOME];
    const size_t bytes = bf_dtype_size(dtype);
    if (dtype == BF_I128) {
        mix_wide(hash, keys, n);
        return;
    }
    for (int64_t at = 0; at < n; at += SOME) {
        const int64_t k = n - at < SOME ? n - at : SOME;
        key_ranks(dtype, (const char *)keys + (size_t)at * bytes, k, ranks);
        for (int64_t i = 0; i < k; i++) hash[at + i] = key_mix(hash[at + i], ranks[i]);
    }
}

uint64_t key_mix_string(uint64_t hash, const char *at, size_t n) {
    hash = key_mix(hash, n);
    for (uint64_t x = 0; n > 0; x = 0) {
        const size_t some = n < sizeof x ? n : sizeof x;
        memcpy(&x, at, some);
        hash = key_mix(hash, x);
        at += some;
        n -= some;
    }
    return hash;
}

int key_share(uint64_t hash, int n) {
    hash *= 0xbf58476d1ce4e5b9;
    return (int)((hash >> 32) * (uint64_t)n >> 32);
}
