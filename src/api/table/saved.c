/* Saved tables: "table" (key, value, duplicates), "seed" (u64), "keys" in ascending order, "values"
 * if there are any. */
#include "api/runtime/saved.h"
#include "api/runtime/enter.h"
#include "api/table/table.h"

#include "rules/table/entry.h"

enum { NUMBERS = 3 };

/* Lays out the form, and sets the offsets of its keys and values. */
static bf_saving lay_out(const bf_table *table, void *out, size_t *keys, size_t *values) {
    const bf_table_kind *kind = &table->kind;
    const int numbers[NUMBERS] = {(int)kind->key, (int)kind->value, (int)kind->duplicates};
    const int64_t n = bf_table_size(table);
    bf_saving s = bf_saving_begin(out, "table", numbers, NUMBERS);
    bf_saving_put(&s, "seed", BF_U64, &kind->seed, 1);
    *keys = bf_saving_section(&s, "keys", kind->key, n);
    *values = kind->value == BF_NONE ? 0 : bf_saving_section(&s, "values", kind->value, n);
    return s;
}

size_t bf_table_save_size(const bf_table *table) {
    size_t keys, values;
    if (table == NULL) return 0;
    bf_saving s = lay_out(table, NULL, &keys, &values);
    return bf_saving_end(&s);
}

static bf_status save_table(bf_table *table, uint8_t *out) {
    size_t keys, values;
    bf_status status = BF_OK;
    if (out == NULL) return bf_fail(table->context, BF_E_ARGUMENT, "no buffer");
    lay_out(table, NULL, &keys, &values);
    if (bf_table_size(table) > 0)
        status = table->by->list(table->context, table->inside, out + keys,
                                 values == 0 ? NULL : out + values);
    if (status != BF_OK) return status;
    bf_saving s = lay_out(table, out, &keys, &values);
    bf_saving_end(&s);
    return BF_OK;
}

bf_status bf_table_save(bf_table *table, void *buffer) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, save_table(table, buffer));
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool values_are_sound(const bf_table_kind *kind, const uint8_t *values, int64_t count) {
    int bytes = bf_key_bytes(kind->value);
    if (bytes == 0 || bytes == 16) return true;
    for (int64_t i = 0; i < count; i++) {
        uint64_t bits = bf_load_bits(values + i * bytes, bytes);
        if (bf_value_stored(kind->duplicates, kind->value, bits) != bits) return false;
    }
    return true;
}

/* Inserts the saved entries into the table. */
static bf_status load_entries(bf_table *t, bf_loading *l) {
    const bf_table_kind *kind = &t->kind;
    int64_t n, m;
    const size_t keys = bf_loading_section(l, "keys", kind->key, &n);
    const size_t values =
        kind->value == BF_NONE ? 0 : bf_loading_section(l, "values", kind->value, &m);
    if (!bf_loading_end(l) || (values > 0 && m != n))
        return bf_saved_refuse(t->context, "not the size that its header says");
    if (!bf_saved_keys_ascend(kind->key, l->in + keys, n, kind->duplicates == BF_DUPLICATES_KEEP) ||
        !values_are_sound(kind, l->in + values, n))
        return bf_saved_refuse_contents(t->context);
    if (n == 0) return BF_OK;
    return t->by->insert(t->context, t->inside, l->in + keys, values == 0 ? NULL : l->in + values,
                         n);
}

static bf_status load_table(bf_context *context, const void *buffer, size_t size,
                            bf_table **table) {
    int numbers[NUMBERS];
    bf_loading l;
    bf_table *made;
    bf_table_options options = BF_TABLE_OPTIONS(.key = BF_NONE);
    if (table == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the table");
    bf_status status = bf_loading_begin(&l, context, buffer, size, "table", numbers, NUMBERS);
    if (status != BF_OK) return status;
    options.key = (bf_dtype)numbers[0];
    options.value = (bf_dtype)numbers[1];
    options.duplicates = (bf_duplicates)numbers[2];
    bf_loading_get(&l, "seed", BF_U64, &options.seed, 1);
    status = bf_table_make(context, &options, &made);
    if (status == BF_E_ARGUMENT || status == BF_E_DTYPE)
        return bf_saved_refuse(context, "a table that this version does not know");
    if (status != BF_OK) return status;
    status = load_entries(made, &l);
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
