/* A saved table is untrusted input: whatever the bytes, bf_table_load refuses them or gives a table
 * that works, and that saves to the same bytes. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <bitfold.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(int condition) {
    if (!condition) abort();
}

static uint64_t crc64(const uint8_t *bytes, size_t size) {
    uint64_t rest = ~(uint64_t)0;
    for (size_t i = 0; i < 8 * size; i++) {
        uint64_t bit = (bytes[i / 8] >> i % 8 & 1) ^ (rest & 1);
        rest = rest >> 1 ^ (bit ? 0xc96c5795d7870f42u : 0);
    }
    return ~rest;
}

/* Every key that it has, and one that it may not have, entered once more and taken out again. */
static void use(bf_table *t, const uint8_t *data, size_t size) {
    uint8_t *saved = malloc(size), value[16] = {1}, key[16] = {0};
    require(saved != NULL && bf_table_save_size(t) == size);
    require(bf_table_save(t, saved) == BF_OK && memcmp(saved, data, size) == 0);
    int64_t entries = bf_table_size(t);
    bf_dtype of_values = (bf_dtype)data[13];
    for (size_t at = 24; at + 24 < size && at < 1024; at += 4) {
        int found = 0;
        memcpy(key, data + at, sizeof key);
        require(bf_table_find_one(t, key, of_values == BF_NONE ? NULL : value, &found) == BF_OK);
        require(bf_table_insert_one(t, key, of_values == BF_NONE ? NULL : value) == BF_OK);
        require(bf_table_find_one(t, key, NULL, &found) == BF_OK && found);
        require(bf_table_erase_one(t, key, &found) == BF_OK && found);
    }
    require(bf_table_size(t) <= entries);
    free(saved);
}

static void try_to_load(bf_context *context, const uint8_t *data, size_t size) {
    bf_table *t = NULL;
    bf_status status = bf_table_load(context, data, size, &t);
    require(status == BF_OK || status == BF_E_STATE);
    require((status == BF_OK) == (t != NULL));
    if (t != NULL) use(t, data, size);
    bf_table_destroy(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bf_context *context;
    bf_options options = BF_OPTIONS(.threads = 1, .device = "cpu");
    if (!context) require(bf_context_create(&options, &context) == BF_OK);
    try_to_load(context, data, size);
    if (size < 8 || size > 65536) return 0;
    uint8_t *sound = malloc(size); /* the same with a checksum that fits: what lies behind it */
    if (!sound) return 0;
    memcpy(sound, data, size);
    uint64_t crc = crc64(sound, size - 8);
    for (size_t i = 0; i < 8; i++) sound[size - 8 + i] = (uint8_t)(crc >> 8 * i);
    try_to_load(context, sound, size);
    free(sound);
    return 0;
}
