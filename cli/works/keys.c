/* The keys of the tables and groups of bench. */
#include "works/keys.h"

#include "runtime/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ZIPF_BITS = 20 };

size_t bench_side_of(size_t pixels) {
    size_t side = (size_t)sqrt((double)pixels);
    while (side * side > pixels) side--;
    while ((side + 1) * (side + 1) <= pixels) side++;
    return side;
}

/* Maps numbers to keys, one to one (the finalizer of MurmurHash3). */
static uint32_t key_of(uint32_t i) {
    i = (i ^ i >> 16) * 0x85ebca6bU;
    i = (i ^ i >> 13) * 0xc2b2ae35U;
    return i ^ i >> 16;
}

/* Returns number i of the n = 2^b numbers in random order. Both steps are one to one modulo 2^b. */
static uint32_t shuffled(uint32_t i, size_t n) {
    const uint32_t mask = (uint32_t)(n - 1);
    const int half = (33 - __builtin_clz(mask | 1)) / 2;
    for (int round = 0; round < 3; round++) {
        i = (i * 0x9e3779b1U + 0x7f4a7c15U) & mask;
        i ^= i >> half;
    }
    return i;
}

static void uniform_keys(int bits, size_t first, size_t count, uint32_t *keys) {
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of((uint32_t)(random_output(0, first + i) & mask));
}

static void zipf_keys(size_t first, size_t count, uint32_t *keys) {
    for (size_t i = 0; i < count; i++) {
        const double u = (double)(random_output(0, first + i) >> 11) * 0x1p-53;
        keys[i] = key_of((uint32_t)exp2(ZIPF_BITS * u));
    }
}

static bool group_keys(const char *data, size_t first, size_t count, uint32_t *keys) {
    const int bits = strncmp(data, "2^", 2) == 0 ? atoi(data + 2) : 0;
    if (strcmp(data, "zipf") == 0)
        zipf_keys(first, count, keys);
    else if (bits > 0 && bits <= 32)
        uniform_keys(bits, first, count, keys);
    else
        return false;
    return true;
}

bool bench_keys(const char *work, const char *data, size_t n, size_t first, size_t count,
                uint32_t *keys) {
    if (strcmp(work, "group") == 0) return group_keys(data, first, count, keys);
    const uint32_t mask = (uint32_t)(strncmp(data, "twice", 5) == 0 ? n / 2 - 1 : n - 1);
    for (size_t i = 0; i < count; i++) keys[i] = key_of(shuffled((uint32_t)(first + i), n) & mask);
    return true;
}

void bench_queries(const char *data, size_t n, size_t first, size_t count, uint32_t *keys) {
    const bool half = strncmp(data, "half", 4) == 0, miss = strncmp(data, "miss", 4) == 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t at = shuffled(shuffled((uint32_t)(first + i), n), n);
        const bool absent = miss || (half && random_output(0, first + i) >> 63);
        keys[i] = key_of(absent ? at + (uint32_t)n : at);
    }
}
