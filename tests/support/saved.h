/* What the fuzzers of saved forms share: the bytes as they come, and once more with a checksum that
 * fits, for what lies behind it. */
#ifndef BITFOLD_TESTS_SUPPORT_SAVED_H
#define BITFOLD_TESTS_SUPPORT_SAVED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bitfold.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(int condition) {
    if (!condition) abort();
}

static inline uint64_t crc64(const uint8_t *bytes, size_t size) {
    uint64_t rest = ~(uint64_t)0;
    for (size_t i = 0; i < 8 * size; i++) {
        uint64_t bit = (bytes[i / 8] >> i % 8 & 1) ^ (rest & 1);
        rest = rest >> 1 ^ (bit ? 0xc96c5795d7870f42u : 0);
    }
    return ~rest;
}

/* Were these bytes saved again as they were? Of version 1 some become version 2; and a variance
 * does not know any more that all its terms were -0, which it never used. */
static inline void require_same(const uint8_t *saved, size_t saved_size, const uint8_t *data,
                                size_t size) {
    bool same = saved_size == size && memcmp(saved, data, size) == 0;
    require(same || data[8] == 1);
}

typedef void try_saved(bf_context *context, const uint8_t *data, size_t size);

static inline int fuzz_saved(try_saved *try_to_load, const uint8_t *data, size_t size) {
    static bf_context *context;
    size_t n;
    bf_options options = BF_OPTIONS(.threads = 1, .device = "cpu");
    if (!context) require(bf_context_create(&options, &context) == BF_OK);
    if (bf_trailer_find(data, size, &n))
        size -= bf_trailer_save_size(n); /* it is not saved again */
    try_to_load(context, data, size);
    if (size < 8 || size > 65536) return 0;
    uint8_t *sound = malloc(size);
    if (!sound) return 0;
    memcpy(sound, data, size);
    uint64_t crc = crc64(sound, size - 8);
    for (size_t i = 0; i < 8; i++) sound[size - 8 + i] = (uint8_t)(crc >> 8 * i);
    try_to_load(context, sound, size);
    free(sound);
    return 0;
}

#endif
