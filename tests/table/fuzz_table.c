/* A saved table is untrusted input: whatever the bytes, bf_table_load refuses them or gives a table
 * that works, and that saves to the same bytes. */
#include "tests/support/saved.h"

FUZZ_SAVED(bf_table)

/* Every key that it has, and one that it may not have, entered once more and taken out again. */
static void use(bf_context *context, bf_table *t, const uint8_t *data, size_t size) {
    uint8_t value[16] = {1}, key[16] = {0};
    int64_t entries = bf_table_size(t);
    bf_dtype of_values = (bf_dtype)saved_number(data, 1);
    for (size_t at = 48; at + 24 < size && at < 1024; at += 4) {
        int found = 0;
        memcpy(key, data + at, sizeof key);
        require(bf_table_find_one(t, key, of_values == BF_NONE ? NULL : value, &found) == BF_OK);
        require(bf_table_insert_one(t, key, of_values == BF_NONE ? NULL : value) == BF_OK);
        require(bf_table_find_one(t, key, NULL, &found) == BF_OK && found);
        require(bf_table_erase_one(t, key, &found) == BF_OK && found);
    }
    require(bf_table_size(t) <= entries);
    save_and_load(context, t);
}
