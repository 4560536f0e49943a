#include "gpus/table/table.h"

#include "gpus/runtime/context.h"

#include <stdlib.h>

typedef struct table {
    const bf_table_backend *by;
    void *inside;
} table;

static bf_status create_table(bf_context *context, const bf_table_kind *kind, void **made) {
    table *t = malloc(sizeof *t);
    if (t == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a table");
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    t->by = one->used->table;
    bf_status status = bf_gpus_leave(context, 0, t->by->create(one, kind, &t->inside));
    if (status == BF_OK)
        *made = t;
    else
        free(t);
    return status;
}

static void destroy_table(bf_context *context, void *made) {
    table *t = made;
    t->by->destroy(context->gpus->gpu[0].context, t->inside);
    free(t);
}

static void clear_table(bf_context *context, void *made) {
    const table *t = made;
    t->by->clear(bf_gpus_enter(context, 0, NULL, 0), t->inside);
    bf_gpus_leave(context, 0, BF_OK);
}

static bf_status reserve_entries(bf_context *context, void *made, int64_t entries) {
    const table *t = made;
    bf_context *one = bf_gpus_enter(context, 0, NULL, 0);
    return bf_gpus_leave(context, 0, t->by->reserve(one, t->inside, entries));
}

static int64_t count_entries(const void *made) {
    const table *t = made;
    return t->by->size(t->inside);
}

static bf_status insert_rows(bf_context *context, void *made, const void *keys, const void *values,
                             int64_t n) {
    const table *t = made;
    const void *memory[] = {keys, values};
    bf_context *one = bf_gpus_enter(context, 0, memory, 2);
    return bf_gpus_leave(context, 0, t->by->insert(one, t->inside, keys, values, n));
}

static bf_status find_keys(bf_context *context, void *made, const void *keys, int64_t n,
                           void *values, uint8_t *found) {
    const table *t = made;
    const void *memory[] = {keys, values, found};
    bf_context *one = bf_gpus_enter(context, 0, memory, 3);
    return bf_gpus_leave(context, 0, t->by->find(one, t->inside, keys, n, values, found));
}

static bf_status count_keys(bf_context *context, void *made, const void *keys, int64_t n,
                            int64_t *counts, int64_t *total) {
    const table *t = made;
    const void *memory[] = {keys, counts};
    bf_context *one = bf_gpus_enter(context, 0, memory, 2);
    return bf_gpus_leave(context, 0, t->by->count(one, t->inside, keys, n, counts, total));
}

static bf_status find_all_values(bf_context *context, void *made, const void *keys, int64_t n,
                                 void *values) {
    const table *t = made;
    const void *memory[] = {keys, values};
    bf_context *one = bf_gpus_enter(context, 0, memory, 2);
    return bf_gpus_leave(context, 0, t->by->find_all(one, t->inside, keys, n, values));
}

static bf_status erase_keys(bf_context *context, void *made, const void *keys, int64_t n,
                            int64_t *erased) {
    const table *t = made;
    bf_context *one = bf_gpus_enter(context, 0, &keys, 1);
    return bf_gpus_leave(context, 0, t->by->erase(one, t->inside, keys, n, erased));
}

static bf_status list_entries(bf_context *context, void *made, void *keys, void *values) {
    const table *t = made;
    const void *memory[] = {keys, values};
    bf_context *one = bf_gpus_enter(context, 0, memory, 2);
    return bf_gpus_leave(context, 0, t->by->list(one, t->inside, keys, values));
}

const bf_table_backend bf_gpus_table_backend = {
    .create = create_table,
    .destroy = destroy_table,
    .clear = clear_table,
    .reserve = reserve_entries,
    .size = count_entries,
    .insert = insert_rows,
    .find = find_keys,
    .count = count_keys,
    .find_all = find_all_values,
    .erase = erase_keys,
    .list = list_entries,
};
