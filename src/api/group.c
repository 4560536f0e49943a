/* Groups: arguments checked, and handed to the backend. */
#include "../../include/bitfold/group.h"

#include "../rules/group.h"
#include "result.h"
#include "table.h"

#include <stdlib.h>

struct bf_groups {
    bf_context *context;
    const bf_group_backend *by;
    bf_dtype key;
    int64_t rows;
    int count; /* of aggregates */
    bf_aggregate aggregates[BF_AGGREGATES_MAX];
    void *inside; /* by's */
};

/* ---- making -----------------------------------------------------------------------------------
 */

static bf_status check_aggregate(bf_context *context, bf_aggregate a) {
    switch (a.op) {
    case BF_SUM:
    case BF_MEAN:
    case BF_VAR:
    case BF_STD:
    case BF_SUMSQ:
    case BF_NORM:
    case BF_MIN:
    case BF_MAX: break;
    default:
        return bf_fail(context, BF_E_ARGUMENT, "%s is no aggregate of groups",
                       bf_reduction_name(a.op));
    }
    if (bf_dtype_bytes(a.dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)a.dtype);
    return BF_OK;
}

static bf_status check_options(bf_context *context, const bf_groups_options *o) {
    if (o == NULL || o->size != sizeof *o)
        return bf_fail(context, BF_E_ARGUMENT, "bf_groups_options: size is not set");
    if (o->count < 0 || o->count > BF_AGGREGATES_MAX || (o->count > 0 && o->aggregates == NULL))
        return bf_fail(context, BF_E_ARGUMENT, "%d aggregates, or none where there should be some",
                       o->count);
    if (bf_rank_bytes(o->key) == 0)
        return bf_fail(context, BF_E_DTYPE, "no key has dtype number %d", (int)o->key);
    bf_status status = BF_OK;
    for (int i = 0; i < o->count && status == BF_OK; i++)
        status = check_aggregate(context, o->aggregates[i]);
    return status;
}

/* Where the groups are: for now in host memory. */
static bf_status place(bf_context *context, const bf_group_backend **by) {
    const bf_backend *backend = context->fixed != NULL ? context->fixed : &bf_backend_cpu;
    if (backend->groups == NULL)
        return bf_fail(context, BF_E_DEVICE, "groups are in host memory: ask for the device cpu");
    context->used = backend;
    if (context->fixed == NULL) context->reason = "groups are in host memory";
    *by = backend->groups;
    return BF_OK;
}

bf_status bf_groups_create(bf_context *context, const bf_groups_options *options,
                           bf_groups **groups) {
    bf_groups g = {.context = context};
    if (context == NULL) return BF_E_ARGUMENT;
    if (groups == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the groups");
    bf_status status = check_options(context, options);
    if (status == BF_OK) status = place(context, &g.by);
    if (status != BF_OK) return status;
    bf_group_kind kind = {options->key, options->count, options->aggregates, options->seed};
    g.key = options->key;
    g.count = options->count;
    for (int i = 0; i < g.count; i++) g.aggregates[i] = options->aggregates[i];
    bf_groups *made = malloc(sizeof *made);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    *made = g;
    status = g.by->create(context, &kind, &made->inside);
    if (status == BF_OK)
        *groups = made;
    else
        free(made);
    return status;
}

void bf_groups_destroy(bf_groups *groups) {
    if (groups == NULL) return;
    groups->by->destroy(groups->context, groups->inside);
    free(groups);
}

void bf_groups_clear(bf_groups *groups) {
    groups->by->clear(groups->context, groups->inside);
    groups->rows = 0;
}

int64_t bf_groups_size(const bf_groups *groups) { return groups->by->size(groups->inside); }

int64_t bf_groups_rows(const bf_groups *groups) { return groups->rows; }

/* ---- rows -------------------------------------------------------------------------------------
 */

/* The arrays of a call, as contiguous elements. */
typedef struct flat_rows {
    bf_flat keys, values[BF_AGGREGATES_MAX];
} flat_rows;

static bf_status take_rows(bf_groups *g, const bf_array *keys, const bf_array *const values[],
                           flat_rows *rows) {
    bf_status status = bf_flat_take(g->context, g->key, keys, &rows->keys);
    for (int i = 0; i < g->count && status == BF_OK; i++) {
        if (values[i] == NULL) return bf_fail(g->context, BF_E_ARGUMENT, "no values");
        status = bf_flat_take(g->context, g->aggregates[i].dtype, values[i], &rows->values[i]);
        if (status == BF_OK && !bf_flat_same_shape(&rows->keys, &rows->values[i]))
            status = bf_fail(g->context, BF_E_SHAPE, "keys and values differ in shape");
    }
    if (status == BF_OK && rows->keys.count > BF_COUNT_MAX - g->rows)
        status = bf_fail(g->context, BF_E_OVERFLOW, "more than 2^62 rows");
    return status;
}

static bf_status absorb(bf_groups *g, const flat_rows *rows) {
    const void *data[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->count; i++) data[i] = rows->values[i].data;
    if (rows->keys.count == 0) return BF_OK;
    bf_status status =
        g->by->absorb(g->context, g->inside, rows->keys.data, data, rows->keys.count);
    if (status == BF_OK) g->rows += rows->keys.count;
    return status;
}

bf_status bf_groups_absorb(bf_groups *groups, const bf_array *keys,
                           const bf_array *const values[]) {
    if (groups == NULL) return BF_E_ARGUMENT;
    if (keys == NULL || (values == NULL && groups->count > 0))
        return bf_fail(groups->context, BF_E_ARGUMENT, "no keys, or no values");
    flat_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL) return bf_fail(groups->context, BF_E_MEMORY, "no memory for rows");
    bf_status status = take_rows(groups, keys, values, rows);
    if (status == BF_OK) status = absorb(groups, rows);
    bf_flat_release(&rows->keys);
    for (int i = 0; i < groups->count; i++) bf_flat_release(&rows->values[i]);
    free(rows);
    return status;
}

static bool same_kind(const bf_groups *a, const bf_groups *b) {
    if (a->key != b->key || a->count != b->count || a->by != b->by) return false;
    for (int i = 0; i < a->count; i++)
        if (a->aggregates[i].op != b->aggregates[i].op ||
            a->aggregates[i].dtype != b->aggregates[i].dtype)
            return false;
    return true;
}

bf_status bf_groups_merge(bf_groups *into, const bf_groups *from) {
    if (into == NULL || from == NULL) return BF_E_ARGUMENT;
    if (!same_kind(into, from))
        return bf_fail(into->context, BF_E_STATE, "other keys, or other aggregates");
    if (from->rows > BF_COUNT_MAX - into->rows)
        return bf_fail(into->context, BF_E_OVERFLOW, "more than 2^62 rows");
    bf_status status = into->by->merge(into->context, into->inside, from->inside);
    if (status == BF_OK) into->rows += from->rows;
    return status;
}

/* ---- results ----------------------------------------------------------------------------------
 */

static bf_status list(bf_groups *g, const bf_flat *keys, const bf_flat *counts) {
    int64_t size = bf_groups_size(g);
    if ((keys->array != NULL && keys->count != size) ||
        (counts->array != NULL && counts->count != size))
        return bf_fail(g->context, BF_E_SHAPE, "there are %lld groups", (long long)size);
    if (size == 0) return BF_OK;
    bf_status status = g->by->list(g->context, g->inside, keys->data, counts->data);
    if (status == BF_OK) status = bf_flat_return(g->context, keys);
    return status == BF_OK ? bf_flat_return(g->context, counts) : status;
}

bf_status bf_groups_list(bf_groups *groups, const bf_array *keys, const bf_array *counts) {
    bf_flat flat_keys, flat_counts = {0};
    if (groups == NULL) return BF_E_ARGUMENT;
    bf_status status = bf_flat_take(groups->context, groups->key, keys, &flat_keys);
    if (status == BF_OK) status = bf_flat_take(groups->context, BF_I64, counts, &flat_counts);
    if (status == BF_OK) status = list(groups, &flat_keys, &flat_counts);
    bf_flat_release(&flat_keys);
    bf_flat_release(&flat_counts);
    return status;
}

bf_status bf_groups_result(bf_groups *groups, int which, const bf_reduce_options *options,
                           bf_value *values) {
    static const bf_reduce_options defaults = {.size = sizeof defaults};
    if (groups == NULL) return BF_E_ARGUMENT;
    if (which < 0 || which >= groups->count)
        return bf_fail(groups->context, BF_E_ARGUMENT, "there is no aggregate %d", which);
    bf_status status =
        bf_check_reduce_options(groups->context, groups->aggregates[which].op, options);
    if (status != BF_OK || bf_groups_size(groups) == 0) return status;
    if (values == NULL) return bf_fail(groups->context, BF_E_ARGUMENT, "no place for the values");
    return groups->by->results(groups->context, groups->inside, which,
                               options != NULL ? options : &defaults, values);
}
