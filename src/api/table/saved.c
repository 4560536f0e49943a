/* Saved tables: a header, keys in ascending order, their values, a checksum; all little-endian.
 *
 *   0  "bftable" and a newline     24  entries (u64)
 *   8  version (u32), 1            32  the keys
 *  12  key, value (u8 each)            the values
 *  14  duplicates (u16)                CRC-64/XZ of all before (u64)
 *  16  seed (u64)
 */
#include "api/runtime/saved.h"
#include "api/runtime/enter.h"
#include "api/table/table.h"

#include "rules/table/entry.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements are saved as they are");

enum { HEADER_BYTES = 32 };
static const char magic[8] = {'b', 'f', 't', 'a', 'b', 'l', 'e', '\n'};

static size_t entry_bytes(const bf_table_kind *kind) {
    return (size_t)(bf_key_bytes(kind->key) + bf_key_bytes(kind->value));
}

size_t bf_table_save_size(const bf_table *table) {
    if (table == NULL) return 0;
    return HEADER_BYTES + (size_t)bf_table_size(table) * entry_bytes(&table->kind) +
           BF_SAVED_CRC_BYTES;
}

static bf_status save_table(bf_table *table, void *buffer) {
    if (buffer == NULL) return bf_fail(table->context, BF_E_ARGUMENT, "no buffer");
    const bf_table_kind *kind = &table->kind;
    uint8_t *out = buffer;
    int64_t count = bf_table_size(table);
    uint8_t *values = out + HEADER_BYTES + count * bf_key_bytes(kind->key);
    bf_status status = BF_OK;
    if (count > 0)
        status = table->by->list(table->context, table->inside, out + HEADER_BYTES,
                                 kind->value == BF_NONE ? NULL : values);
    if (status != BF_OK) return status;
    bf_saved_begin(out, magic, 1);
    bf_saved_put(out + 12, (uint64_t)kind->key, 1);
    bf_saved_put(out + 13, (uint64_t)kind->value, 1);
    bf_saved_put(out + 14, (uint64_t)kind->duplicates, 2);
    bf_saved_put(out + 16, kind->seed, 8);
    bf_saved_put(out + 24, (uint64_t)count, 8);
    bf_saved_end(out, bf_table_save_size(table));
    return BF_OK;
}

bf_status bf_table_save(bf_table *table, void *buffer) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, save_table(table, buffer));
}

/* ---- loading --------------------------------------------------------------------------------- */

/* Sets *rank to the rank of a key. Returns false if the key is not canonical. */
static bool rank_of(bf_dtype dtype, const uint8_t *key, bf_u128 *rank) {
    int bytes = bf_key_bytes(dtype);
    uint64_t bits = bf_load_bits(key, bytes == 16 ? 8 : bytes);
    if (dtype == BF_PAIR) {
        *rank = (bf_u128)bits << 64 | bf_load_bits(key + 8, 8);
        return true;
    }
    *rank = bf_key_rank(dtype, bits);
    return bf_key_canonical(dtype, bits) == bits;
}

/* Are the keys in ascending order? Only a multimap may have equal keys. */
static bool keys_are_sound(const bf_table_kind *kind, const uint8_t *keys, uint64_t count) {
    bf_u128 before = 0, rank = 0;
    size_t bytes = (size_t)bf_key_bytes(kind->key);
    bool keeps = kind->duplicates == BF_DUPLICATES_KEEP;
    for (uint64_t i = 0; i < count; i++, before = rank) {
        if (!rank_of(kind->key, keys + i * bytes, &rank)) return false;
        if (i > 0 && (rank < before || (rank == before && !keeps))) return false;
    }
    return true;
}

static bool values_are_sound(const bf_table_kind *kind, const uint8_t *values, uint64_t count) {
    int bytes = bf_key_bytes(kind->value);
    if (bytes == 0 || bytes == 16) return true;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t bits = bf_load_bits(values + i * (size_t)bytes, bytes);
        if (bf_value_stored(kind->duplicates, kind->value, bits) != bits) return false;
    }
    return true;
}

/* Inserts the saved entries into the table. */
static bf_status load_entries(bf_table *t, const uint8_t *in, size_t size) {
    uint64_t count = bf_saved_get(in + 24, 8);
    size_t bytes = size - HEADER_BYTES - BF_SAVED_CRC_BYTES, each = entry_bytes(&t->kind);
    const uint8_t *keys = in + HEADER_BYTES;
    if (count != bytes / each || bytes % each != 0)
        return bf_saved_refuse(t->context, "not the size that its header says");
    const uint8_t *values = keys + count * (size_t)bf_key_bytes(t->kind.key);
    if (!keys_are_sound(&t->kind, keys, count) || !values_are_sound(&t->kind, values, count))
        return bf_saved_refuse(t->context, "impossible contents");
    if (count == 0) return BF_OK;
    return t->by->insert(t->context, t->inside, keys, t->kind.value == BF_NONE ? NULL : values,
                         (int64_t)count);
}

static bf_status load_table(bf_context *context, const uint8_t *in, size_t size, bf_table **table) {
    if (in == NULL || table == NULL) return bf_fail(context, BF_E_ARGUMENT, "no buffer");
    bf_status status = bf_saved_check(context, in, &size, HEADER_BYTES, magic, 1);
    if (status != BF_OK) return status;
    bf_table *made;
    bf_table_options options =
        BF_TABLE_OPTIONS(.key = (bf_dtype)in[12], .value = (bf_dtype)in[13],
                         .duplicates = (bf_duplicates)bf_saved_get(in + 14, 2),
                         .seed = bf_saved_get(in + 16, 8));
    status = bf_table_make(context, &options, &made);
    if (status == BF_E_ARGUMENT || status == BF_E_DTYPE)
        return bf_saved_refuse(context, "a table that this version does not know");
    if (status != BF_OK) return status;
    status = load_entries(made, in, size);
    if (status == BF_OK)
        *table = made;
    else
        bf_table_destroy(made);
    return status;
}

bf_status bf_table_load(bf_context *context, const void *buffer, size_t size, bf_table **table) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, load_table(context, buffer, size, table));
}
