/* Saved forms that tests change, and what their fuzzers share: the bytes as they come, and once
 * more with a checksum that fits, for what lies behind it. */
#ifndef BITFOLD_TESTS_SUPPORT_SAVED_H
#define BITFOLD_TESTS_SUPPORT_SAVED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/forms.h"

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

/* Makes the checksum of a saved form fit again. */
static inline void sign_saved(void *form, size_t size) {
    uint64_t crc = crc64(form, size - 8);
    memcpy((uint8_t *)form + size - 8, &crc, 8);
}

/* The offset in a saved form of the elements of a section (bitfold/state.h). */
static inline size_t saved_offset(const void *form, size_t size, const char *name) {
    char wanted[12] = {0};
    memcpy(wanted, name, strlen(name));
    size_t at = 24;
    while (at + 24 < size && memcmp((const uint8_t *)form + at, wanted, sizeof wanted) != 0)
        at += 8;
    require(at + 24 < size);
    return at + 24;
}

/* Number i of the first section, which describes the object. */
static inline int saved_number(const uint8_t *form, int i) {
    int32_t number;
    memcpy(&number, form + 48 + 4 * i, sizeof number);
    return number;
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
    sign_saved(sound, size);
    try_to_load(context, sound, size);
    free(sound);
    return 0;
}

/* The fuzzer of a type: the bytes are refused, or become an object that saves to them, and that
 * works, as use tries. save_and_load sees that it can be saved and loaded again. */
#define FUZZ_SAVED(type)                                                                           \
    static void use(bf_context *context, type *object, const uint8_t *data, size_t size);          \
    static __attribute__((unused)) void save_and_load(bf_context *context, type *object) {         \
        type *back = copy_form(context, object);                                                   \
        require(back != NULL);                                                                     \
        type##_destroy(back);                                                                      \
    }                                                                                              \
    static void try_to_load(bf_context *context, const uint8_t *data, size_t size) {               \
        type *object = NULL;                                                                       \
        const bf_status status = type##_load(context, data, size, &object);                        \
        require(status == BF_OK || status == BF_E_STATE);                                          \
        require((status == BF_OK) == (object != NULL));                                            \
        if (object == NULL) return;                                                                \
        size_t form_size;                                                                          \
        uint8_t *form = save_form(object, &form_size);                                             \
        require(form != NULL && form_size == size && memcmp(form, data, size) == 0);               \
        free(form);                                                                                \
        use(context, object, data, size);                                                          \
        type##_destroy(object);                                                                    \
    }                                                                                              \
    int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {                                 \
        return fuzz_saved(try_to_load, data, size);                                                \
    }

#endif
