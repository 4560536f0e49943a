/* Order statistics by group: rows are sorted by their keys, and the values of each key are a
 * segment. */
#include "api/order/select_groups.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "base/spill/file.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

/* All rows in the order of their keys, in the backend's memory. */
typedef struct sorting {
    bf_grouping *grouping;
    char *sorted;     /* the keys of all rows */
    char *order;      /* the rows that they came from (i64); then unused */
    char *values;     /* the values of the rows in that order */
    char *found;      /* the different keys */
    char *counts;     /* how many rows have each key (i64) */
    int64_t *offsets; /* in host memory: where the values of each begin */
    int64_t longest;
} sorting;

/* ---- arguments ------------------------------------------------------------------------------- */

static bf_status check_keys(bf_grouping *g) {
    bf_order_call *call = &g->selecting->call;
    bf_context *context = call->context;
    const int bytes = g->keys == NULL ? 0 : bf_key_bytes(g->keys->dtype);
    if (g->keys == NULL) return bf_fail(context, BF_E_ARGUMENT, "no keys");
    if (bytes == 0)
        return bf_fail(context, BF_E_DTYPE, "no keys have dtype number %d", (int)g->keys->dtype);
    if (bf_array_elements(g->keys, bytes) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the array of the keys is not well formed");
    bf_status status = bf_order_check_line(context, call->inputs[0], "values");
    if (status == BF_OK) status = bf_order_check_line(context, g->keys, "keys");
    if (status == BF_OK && g->keys->shape[0] != call->inputs[0]->shape[0])
        status = bf_fail(context, BF_E_SHAPE, "there is not one key for each value");
    call->inputs[1] = g->keys;
    g->rows = g->keys->shape[0];
    return status;
}

/* Checks the outputs, and notes how many groups they have room for. */
static bf_status check_outputs(bf_grouping *g) {
    bf_selecting *s = g->selecting;
    bf_context *context = s->call.context;
    const int axis = s->selection.statistic == BF_STATISTIC_MEDIAN ? 0 : 1;
    const bf_array *results = g->results, *listed = g->listed;
    bf_status status = bf_select_into(s, results);
    if (status != BF_OK) return status;
    if (s->selection.tagged && s->lines.dtype == BF_PAIR)
        return bf_fail(context, BF_E_DTYPE, "results of groups of i128 are i128 or f64");
    if (results->ndim != axis + 1 || (axis == 1 && results->shape[0] != s->selection.count))
        return bf_fail(context, BF_E_SHAPE, "the values have not the shape of the result");
    g->room = results->shape[axis];
    if (listed == NULL) return BF_OK;
    status = bf_order_add_output(&s->call, listed, g->keys->dtype, "groups");
    if (status == BF_OK) status = bf_order_check_line(context, listed, "groups");
    if (status == BF_OK && listed->shape[0] < g->room) g->room = listed->shape[0];
    return status;
}

bf_status bf_grouping_check_room(const bf_grouping *g) {
    if (g->groups <= g->room) return BF_OK;
    return bf_fail(g->selecting->call.context, BF_E_SHAPE,
                   "there are %lld groups, and room for %lld", (long long)g->groups,
                   (long long)g->room);
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bf_status allocate_sorting(sorting *x) {
    const bf_grouping *g = x->grouping;
    bf_context *context = g->selecting->call.context;
    const bf_memory_backend *memory = context->used->memory;
    const size_t rows = (size_t)g->rows, key = (size_t)bf_key_bytes(g->keys->dtype);
    const size_t room = (size_t)(g->room < g->rows ? g->room : g->rows) + 1;
    const size_t value = (size_t)bf_key_bytes(g->selecting->lines.dtype);
    char **const parts[] = {&x->sorted, &x->order, &x->values, &x->found, &x->counts};
    const size_t bytes[] = {rows * key, rows * 8, rows * value, room * key, room * 8};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        *parts[i] = memory->allocate(context, bytes[i]);
        if (*parts[i] == NULL) return BF_E_MEMORY;
    }
    return BF_OK;
}

static void release_sorting(const sorting *x) {
    bf_context *context = x->grouping->selecting->call.context;
    char *const parts[] = {x->sorted, x->order, x->values, x->found, x->counts};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (parts[i] != NULL) context->used->memory->release(context, parts[i]);
    bf_free(x->offsets);
}

/* Sorts the rows by their keys, and lists the different keys. */
static bf_status sort_groups(const sorting *x, const char *keys, const char *values) {
    bf_grouping *g = x->grouping;
    bf_context *context = g->selecting->call.context;
    const bf_order_backend *order = context->used->order;
    const bf_dtype dtype = bf_flat_dtype(g->keys->dtype);
    const bf_order_lines line = {.dtype = dtype, .values = keys, .count = 1, .length = g->rows};
    const int64_t room = g->room < g->rows ? g->room : g->rows;
    bf_status status = order->sort(context, &line, x->sorted, x->order);
    if (status == BF_OK)
        status = order->unique(context, dtype, x->sorted, g->rows, x->found, x->counts, room,
                               &g->groups);
    if (status == BF_OK) status = bf_grouping_check_room(g);
    if (status != BF_OK) return status;
    return order->take(context, bf_key_bytes(g->selecting->lines.dtype), values, x->order, g->rows,
                       x->values);
}

/* Turns the counts into offsets. */
static bf_status find_offsets(sorting *x) {
    const int64_t groups = x->grouping->groups;
    bf_context *context = x->grouping->selecting->call.context;
    x->offsets = bf_alloc((size_t)(groups + 1) * sizeof *x->offsets);
    if (x->offsets == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    x->offsets[0] = 0;
    bf_status status = context->used->memory->copy(context, x->offsets + 1, x->counts,
                                                   (size_t)groups * sizeof *x->offsets);
    for (int64_t i = 0; i < groups && status == BF_OK; i++) {
        if (x->offsets[i + 1] > x->longest) x->longest = x->offsets[i + 1];
        x->offsets[i + 1] += x->offsets[i];
    }
    return status;
}

/* Selects from the groups, and writes results and keys. */
static bf_status write_groups(const sorting *x) {
    const bf_grouping *g = x->grouping;
    bf_selecting *s = g->selecting;
    bf_context *context = s->call.context;
    const size_t bytes = (size_t)(g->groups * bf_key_bytes(g->keys->dtype));
    bf_array results, keys;
    bf_flat listed;
    s->results = bf_order_cut(g->results, g->groups, &results);
    bf_status status = bf_flat_prepare_ordered(
        context, context->used, bf_order_cut(g->listed, g->groups, &keys), false, &listed);
    if (status == BF_OK && s->selection.count > 0)
        status = bf_select_offsets(s, x->values, x->offsets, g->groups, x->longest);
    if (status == BF_OK && listed.data != NULL)
        status = context->used->memory->copy(context, listed.data, x->found, bytes);
    if (status == BF_OK) status = bf_flat_return_ordered(context, &listed);
    bf_flat_release(&listed);
    return status;
}

static bf_status select_in_memory(bf_grouping *g) {
    bf_context *context = g->selecting->call.context;
    sorting x = {.grouping = g};
    bf_flat values = {.copy = NULL}, keys = {.copy = NULL};
    bf_status status =
        bf_flat_take_ordered(context, context->used, g->selecting->call.inputs[0], &values);
    if (status == BF_OK) status = bf_flat_take_ordered(context, context->used, g->keys, &keys);
    if (status == BF_OK) status = allocate_sorting(&x);
    if (status == BF_OK) status = sort_groups(&x, keys.data, values.data);
    if (status == BF_OK) status = find_offsets(&x);
    if (status == BF_OK) status = write_groups(&x);
    release_sorting(&x);
    bf_flat_release(&values);
    bf_flat_release(&keys);
    return status;
}

static bf_status select_groups(bf_grouping *g) {
    bf_context *context = g->selecting->call.context;
    bf_status status = bf_order_choose(&g->selecting->call, BF_ORDER_SORTS);
    if (status == BF_OK) status = select_in_memory(g);
    const bool spills = context->used == &bf_backend_cpu && bf_may_spill(context);
    return status == BF_E_MEMORY && spills ? bf_select_groups_spilled(g) : status;
}

static bf_status select_of_groups(bf_context *context, const bf_selection *selection,
                                  const bf_array *array, const bf_array *keys,
                                  const bf_order_options *options, const bf_array *groups,
                                  const bf_array *results, int64_t *n) {
    bf_selecting s = {.selection = *selection};
    bf_grouping g = {.selecting = &s, .keys = keys, .results = results, .listed = groups};
    if (n == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the number of groups");
    *n = 0;
    bf_status status = bf_select_open(&s, context, array, options);
    if (status == BF_OK) status = check_keys(&g);
    if (status == BF_OK) status = check_outputs(&g);
    if (status != BF_OK) return status;
    if (g.rows > 0) status = select_groups(&g);
    *n = g.groups;
    return status;
}

/* ---- public ---------------------------------------------------------------------------------- */

bf_status bf_quantile_groups(bf_context *context, const bf_array *array, const bf_array *keys,
                             const double q[], int m, const bf_order_options *options,
                             const bf_array *groups, const bf_array *values, int64_t *n) {
    const bf_selection selection = bf_select_quantiles(q, m);
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    select_of_groups(context, &selection, array, keys, options, groups, values, n));
}

bf_status bf_median_groups(bf_context *context, const bf_array *array, const bf_array *keys,
                           const bf_order_options *options, const bf_array *groups,
                           const bf_array *values, int64_t *n) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, select_of_groups(context, &bf_select_median, array, keys, options,
                                              groups, values, n));
}
