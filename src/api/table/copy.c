/* Copies of tables: all entries are inserted into a new one, which may be on another device. */
#include "api/runtime/enter.h"
#include "api/table/table.h"

#include "rules/table/entry.h"
#include "seam/memory.h"

/* Copies the entries through host memory. */
static bf_status copy_entries(const bf_table *from, bf_table *to, int64_t n) {
    bf_context *context = to->context;
    size_t key = (size_t)bf_key_bytes(from->kind.key);
    size_t value = (size_t)bf_key_bytes(from->kind.value);
    char *keys = bf_backend_cpu.memory->allocate(context, (size_t)n * (key + value));
    if (keys == NULL) return BF_E_MEMORY;
    char *values = value > 0 ? keys + (size_t)n * key : NULL;
    bf_status status = from->by->list(from->context, from->inside, keys, values);
    if (status == BF_OK) status = to->by->insert(context, to->inside, keys, values, n);
    bf_backend_cpu.memory->release(context, keys);
    return status;
}

static bf_status copy_table(bf_context *context, const bf_table *from, bf_table **table) {
    if (table == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the table");
    bf_table *made;
    int64_t n = bf_table_size(from);
    bf_table_options options = BF_TABLE_OPTIONS(.key = from->kind.key, .value = from->kind.value,
                                                .duplicates = from->kind.duplicates, .reserve = n,
                                                .seed = from->kind.seed);
    bf_status status = bf_table_make(context, &options, &made);
    if (status != BF_OK) return status;
    if (n > 0) status = copy_entries(from, made, n);
    if (status == BF_OK)
        *table = made;
    else
        bf_table_destroy(made);
    return status;
}

bf_status bf_table_copy(bf_context *context, const bf_table *from, bf_table **table) {
    if (from == NULL || !bf_enter_both(context, from->context)) return BF_E_ARGUMENT;
    return bf_leave_both(context, from->context, copy_table(context, from, table));
}
