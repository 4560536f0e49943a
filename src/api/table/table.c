/* Tables: check arguments, and call the backend. */
#include "api/table/table.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "api/runtime/sized.h"
#include "base/memory.h"
#include "rules/table/entry.h"

/* ---- policies -------------------------------------------------------------------------------- */

const char *bf_duplicates_name(bf_duplicates duplicates) {
    switch (duplicates) {
#define BF_X(id, number, name)                                                                     \
    case BF_DUPLICATES_##id: return #name;
        BF_DUPLICATES_LIST(BF_X)
#undef BF_X
    }
    return "?";
}

int bf_duplicates_from_name(const char *name) {
    if (name == NULL) return -1;
#define BF_X(id, number, text)                                                                     \
    if (strcmp(name, #text) == 0) return number;
    BF_DUPLICATES_LIST(BF_X)
#undef BF_X
    return -1;
}

/* ---- making ---------------------------------------------------------------------------------- */

static bool is_key(bf_dtype dtype) {
    return bf_key_bytes(dtype) >= 4 && (bf_key_bytes(dtype) <= 8 || dtype == BF_PAIR);
}

static bool is_integer(bf_dtype dtype) { return is_key(dtype) && dtype <= BF_U64; }

static bf_status check_kind(bf_context *context, const bf_table_kind *kind) {
    bool compares =
        kind->duplicates == BF_DUPLICATES_LEAST || kind->duplicates == BF_DUPLICATES_GREATEST;
    if (strcmp(bf_duplicates_name(kind->duplicates), "?") == 0)
        return bf_fail(context, BF_E_ARGUMENT, "no policy for duplicates has number %d",
                       (int)kind->duplicates);
    if (!is_key(kind->key))
        return bf_fail(context, BF_E_DTYPE, "%s is no dtype of keys", bf_dtype_name(kind->key));
    if (kind->value != BF_NONE && !is_key(kind->value))
        return bf_fail(context, BF_E_DTYPE, "%s is no dtype of values", bf_dtype_name(kind->value));
    if ((compares && (kind->value == BF_NONE || kind->value == BF_PAIR)) ||
        (kind->duplicates == BF_DUPLICATES_ADD && !is_integer(kind->value)))
        return bf_fail(context, BF_E_DTYPE, "%s is not for values of %s",
                       bf_duplicates_name(kind->duplicates), bf_dtype_name(kind->value));
    return BF_OK;
}

/* Makes the inside of an empty table on a backend. */
static bf_status make_inside(bf_table *t, const bf_backend *on) {
    t->on = on;
    t->by = on->table;
    bf_status status = t->by->create(t->context, &t->kind, &t->inside);
    if (status != BF_OK || t->reserved == 0) return status;
    status = t->by->reserve(t->context, t->inside, t->reserved);
    if (status != BF_OK) t->by->destroy(t->context, t->inside);
    return status;
}

/* Moves an empty table to another backend. On failure it stays. */
static bf_status move_table(bf_table *t, const bf_backend *on) {
    bf_table moved = *t;
    bf_status status = make_inside(&moved, on);
    if (status != BF_OK) return status;
    t->by->destroy(t->context, t->inside);
    *t = moved;
    return BF_OK;
}

/* Places a call on a table. inserted: the keys that it inserts, or NULL. An empty table in host
 * memory moves to the GPU that they are on. */
static bf_status place_table(bf_table *t, const bf_array *inserted) {
    bool may_move = inserted != NULL && t->on == &bf_backend_cpu && bf_table_size(t) == 0;
    const bf_memory memory = bf_flat_memory(inserted);
    const bf_demand demand = {.follows = true,
                              .home = may_move ? NULL : t->on,
                              .on_host = "the table is in host memory",
                              .on_gpu = "the table is in a GPU's memory",
                              .n = may_move ? 1 : 0,
                              .memory = &memory};
    bf_status status = bf_place(t->context, &demand);
    return status == BF_OK && t->context->used != t->on ? move_table(t, t->context->used) : status;
}

bf_status bf_table_make(bf_context *context, const bf_table_options *given, bf_table **table) {
    bf_table_options options = BF_TABLE_OPTIONS(.reserve = 0);
    if (table == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the table");
    if (given == NULL || !BF_READ(&options, given, seed))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_table_options: size is not set, or from a newer version");
    if (options.reserve < 0) return bf_fail(context, BF_E_ARGUMENT, "fewer than no entries");
    bf_table t = {.context = context,
                  .kind = {.key = options.key,
                           .value = options.value,
                           .duplicates = options.duplicates,
                           .seed = options.seed},
                  .reserved = options.reserve};
    bf_status status = check_kind(context, &t.kind);
    if (status != BF_OK) return status;
    bf_table *made = bf_alloc(sizeof *made);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    status = make_inside(&t, bf_place_home(context));
    if (status != BF_OK) {
        bf_free(made);
        return status;
    }
    *made = t;
    *table = made;
    return BF_OK;
}

bf_status bf_table_create(bf_context *context, const bf_table_options *options, bf_table **table) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_table_make(context, options, table));
}

void bf_table_destroy(bf_table *table) {
    if (table == NULL) return;
    table->by->destroy(table->context, table->inside);
    bf_free(table);
}

bf_status bf_table_clear(bf_table *table) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    table->by->clear(table->context, table->inside);
    return bf_leave(table->context, BF_OK);
}

static bf_status reserve_entries(bf_table *table, int64_t entries) {
    if (entries < 0) return bf_fail(table->context, BF_E_ARGUMENT, "fewer than no entries");
    bf_status status = table->by->reserve(table->context, table->inside, entries);
    if (status == BF_OK && entries > table->reserved) table->reserved = entries;
    return status;
}

bf_status bf_table_reserve(bf_table *table, int64_t entries) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, reserve_entries(table, entries));
}

int64_t bf_table_size(const bf_table *table) {
    return table == NULL ? 0 : table->by->size(table->inside);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The arrays of a call: keys, and one or two others. */
typedef struct call {
    bf_table *table;
    bf_flat keys, values, other;
} call;

static bf_status begin_call(call *c, bf_table *table, const bf_array *keys, const bf_array *values,
                            const bf_array *other, bf_dtype other_dtype) {
    *c = (call){.table = table};
    bf_context *context = table->context;
    bf_status status = place_table(table, NULL);
    if (status != BF_OK) return status;
    if (keys == NULL) return bf_fail(context, BF_E_ARGUMENT, "no keys");
    if (values != NULL && table->kind.value == BF_NONE)
        return bf_fail(context, BF_E_ARGUMENT, "the table is a set: it has no values");
    status = bf_flat_take(context, table->on, table->kind.key, keys, &c->keys);
    if (status == BF_OK)
        status = bf_flat_take(context, table->on, table->kind.value, values, &c->values);
    if (status == BF_OK) status = bf_flat_take(context, table->on, other_dtype, other, &c->other);
    return status;
}

static bf_status check_shapes(const call *c) {
    const bf_array *const others[] = {c->values.array, c->other.array};
    bf_status status = BF_OK;
    for (int i = 0; i < 2 && status == BF_OK; i++)
        if (others[i] != NULL)
            status = bf_check_same_shape(c->table->context, c->keys.array, others[i]);
    return status;
}

static bf_status end_call(call *c, bf_status status) {
    if (status == BF_OK) status = bf_flat_return(c->table->context, &c->values);
    if (status == BF_OK) status = bf_flat_return(c->table->context, &c->other);
    bf_flat_release(&c->keys);
    bf_flat_release(&c->values);
    bf_flat_release(&c->other);
    return status;
}

/* Returns the bytes of `count` keys, with values or without. */
static int64_t bytes_of(const bf_table *t, int64_t count, bool values) {
    return bf_bytes_of(count, bf_key_bytes(t->kind.key)) +
           (values ? bf_bytes_of(count, bf_key_bytes(t->kind.value)) : 0);
}

static bf_status insert_elements(call *c) {
    bf_table *t = c->table;
    int64_t n = c->keys.count;
    bf_status status = bf_watch_begin(t->context, bytes_of(t, n, true));
    if (status == BF_OK)
        status = t->by->insert(t->context, t->inside, c->keys.data, c->values.data, n);
    return bf_watch_end(t->context, status);
}

static bf_status insert_entries(bf_table *table, const bf_array *keys, const bf_array *values) {
    call c;
    if (values == NULL && table->kind.value != BF_NONE)
        return bf_fail(table->context, BF_E_ARGUMENT, "no values");
    bf_status status = place_table(table, keys);
    if (status != BF_OK) return status;
    status = begin_call(&c, table, keys, values, NULL, BF_NONE);
    if (status == BF_OK) status = check_shapes(&c);
    if (status == BF_OK && c.keys.count > 0) status = insert_elements(&c);
    bf_flat_release(&c.keys);
    bf_flat_release(&c.values);
    return status;
}

bf_status bf_table_insert(bf_table *table, const bf_array *keys, const bf_array *values) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, insert_entries(table, keys, values));
}

static bf_status find_elements(call *c) {
    bf_table *t = c->table;
    int64_t n = c->keys.count;
    bf_status status = bf_watch_begin(t->context, bytes_of(t, n, false));
    if (status == BF_OK)
        status = t->by->find(t->context, t->inside, c->keys.data, n, c->values.data,
                             (uint8_t *)c->other.data);
    return bf_watch_end(t->context, status);
}

static bf_status find_entries(bf_table *table, const bf_array *keys, const bf_array *values,
                              const bf_array *found) {
    call c;
    bf_status status = begin_call(&c, table, keys, values, found, BF_BOOL);
    if (status == BF_OK) status = check_shapes(&c);
    if (status == BF_OK && c.keys.count > 0) status = find_elements(&c);
    return end_call(&c, status);
}

bf_status bf_table_find(bf_table *table, const bf_array *keys, const bf_array *values,
                        const bf_array *found) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, find_entries(table, keys, values, found));
}

/* Counts the entries of all keys (counts may be NULL), for `bytes` of the call. */
static bf_status count_elements(const call *c, int64_t bytes, int64_t *counts, int64_t *total) {
    bf_table *t = c->table;
    bf_status status = bf_watch_begin(t->context, bytes);
    if (status == BF_OK)
        status = t->by->count(t->context, t->inside, c->keys.data, c->keys.count, counts, total);
    return bf_watch_end(t->context, status);
}

/* Counts the keys. The CPU's backend takes no misaligned counts, so these get a copy. */
static bf_status count_keys(call *c) {
    bf_table *t = c->table;
    int64_t n = c->keys.count, total, *to = (int64_t *)(void *)c->other.data;
    bool direct = t->on != &bf_backend_cpu || (uintptr_t)to % _Alignof(int64_t) == 0;
    if (!direct) to = bf_alloc((size_t)n * sizeof *to);
    if (to == NULL) return bf_fail(t->context, BF_E_MEMORY, "no memory for counts");
    bf_status status = count_elements(c, bytes_of(t, n, false), to, &total);
    if (direct) return status;
    if (status == BF_OK) memcpy(c->other.data, to, (size_t)n * sizeof *to);
    bf_free(to);
    return status;
}

static bf_status count_entries(bf_table *table, const bf_array *keys, const bf_array *counts) {
    call c;
    if (counts == NULL) return bf_fail(table->context, BF_E_ARGUMENT, "no counts");
    bf_status status = begin_call(&c, table, keys, NULL, counts, BF_I64);
    if (status == BF_OK) status = check_shapes(&c);
    if (status == BF_OK && c.keys.count > 0) status = count_keys(&c);
    return end_call(&c, status);
}

bf_status bf_table_count(bf_table *table, const bf_array *keys, const bf_array *counts) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, count_entries(table, keys, counts));
}

static bf_status find_all_elements(call *c, int64_t bytes) {
    bf_table *t = c->table;
    bf_status status = bf_watch_begin(t->context, bytes);
    if (status == BF_OK)
        status =
            t->by->find_all(t->context, t->inside, c->keys.data, c->keys.count, c->values.data);
    return bf_watch_end(t->context, status);
}

static bf_status find_all_values(bf_table *table, const bf_array *keys, const bf_array *values) {
    call c;
    int64_t total = 0;
    if (values == NULL) return bf_fail(table->context, BF_E_ARGUMENT, "no values");
    bf_status status = begin_call(&c, table, keys, values, NULL, BF_NONE);
    int64_t bytes = bytes_of(table, c.keys.count, false);
    if (status == BF_OK && c.keys.count > 0) status = count_elements(&c, bytes / 2, NULL, &total);
    if (status == BF_OK && total != c.values.count)
        status = bf_fail(table->context, BF_E_SHAPE,
                         "the keys have %lld values, and there is "
                         "place for %lld",
                         (long long)total, (long long)c.values.count);
    if (status == BF_OK && total > 0) status = find_all_elements(&c, bytes - bytes / 2);
    return end_call(&c, status);
}

bf_status bf_table_find_all(bf_table *table, const bf_array *keys, const bf_array *values) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, find_all_values(table, keys, values));
}

static bf_status erase_elements(call *c, int64_t *went) {
    bf_table *t = c->table;
    int64_t n = c->keys.count;
    bf_status status = bf_watch_begin(t->context, bytes_of(t, n, false));
    if (status == BF_OK) status = t->by->erase(t->context, t->inside, c->keys.data, n, went);
    return bf_watch_end(t->context, status);
}

static bf_status erase_entries(bf_table *table, const bf_array *keys, int64_t *erased) {
    call c;
    int64_t went = 0;
    bf_status status = begin_call(&c, table, keys, NULL, NULL, BF_NONE);
    if (status == BF_OK && c.keys.count > 0) status = erase_elements(&c, &went);
    if (status == BF_OK && erased != NULL) *erased = went;
    bf_flat_release(&c.keys);
    return status;
}

bf_status bf_table_erase(bf_table *table, const bf_array *keys, int64_t *erased) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, erase_entries(table, keys, erased));
}

static bf_status export_elements(call *c, int64_t size) {
    bf_table *t = c->table;
    bf_status status = bf_watch_begin(t->context, bytes_of(t, size, c->values.array != NULL));
    if (status == BF_OK) status = t->by->list(t->context, t->inside, c->keys.data, c->values.data);
    return bf_watch_end(t->context, status);
}

static bf_status export_entries(bf_table *table, const bf_array *keys, const bf_array *values) {
    call c;
    int64_t size = bf_table_size(table);
    bf_status status = begin_call(&c, table, keys, values, NULL, BF_NONE);
    if (status == BF_OK && (c.keys.count != size || (values != NULL && c.values.count != size)))
        status = bf_fail(table->context, BF_E_SHAPE, "the table has %lld entries", (long long)size);
    if (status == BF_OK && size > 0) status = export_elements(&c, size);
    if (status == BF_OK) status = bf_flat_return(table->context, &c.keys);
    return end_call(&c, status);
}

bf_status bf_table_export(bf_table *table, const bf_array *keys, const bf_array *values) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, export_entries(table, keys, values));
}

/* ---- one key --------------------------------------------------------------------------------- */

static bf_status insert_one(bf_table *table, const void *key, const void *value) {
    if (key == NULL || (value == NULL) != (table->kind.value == BF_NONE))
        return bf_fail(table->context, BF_E_ARGUMENT, "no key, or no value, or one for a set");
    return table->by->insert(table->context, table->inside, key, value, 1);
}

bf_status bf_table_insert_one(bf_table *table, const void *key, const void *value) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, insert_one(table, key, value));
}

static bf_status find_one(bf_table *table, const void *key, void *value, int *found) {
    uint8_t there = 0;
    if (key == NULL || (value != NULL && table->kind.value == BF_NONE))
        return bf_fail(table->context, BF_E_ARGUMENT, "no key, or a value of a set");
    bf_status status = table->by->find(table->context, table->inside, key, 1, value, &there);
    if (status == BF_OK && found != NULL) *found = there;
    return status;
}

bf_status bf_table_find_one(bf_table *table, const void *key, void *value, int *found) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, find_one(table, key, value, found));
}

static bf_status erase_one(bf_table *table, const void *key, int *found) {
    int64_t went = 0;
    if (key == NULL) return bf_fail(table->context, BF_E_ARGUMENT, "no key");
    bf_status status = table->by->erase(table->context, table->inside, key, 1, &went);
    if (status == BF_OK && found != NULL) *found = went > 0;
    return status;
}

bf_status bf_table_erase_one(bf_table *table, const void *key, int *found) {
    if (table == NULL || !bf_enter(table->context)) return BF_E_ARGUMENT;
    return bf_leave(table->context, erase_one(table, key, found));
}
