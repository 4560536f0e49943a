/* Groups: check arguments, and call the backend. */
#include "api/group/group.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "api/runtime/sized.h"
#include "rules/key/rank.h"
#include "rules/reduce/columns.h"
#include "rules/reduce/state.h"

#include <stdlib.h>

/* ---- making -----------------------------------------------------------------------------------
 */

static bf_status check_aggregate(bf_context *context, bf_aggregate a) {
    if (!bf_is_group_aggregate(a.op))
        return bf_fail(context, BF_E_ARGUMENT, "%s is no aggregate of groups",
                       bf_reduction_name(a.op));
    if (bf_number_bytes(a.dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)a.dtype);
    return BF_OK;
}

static bf_status read_options(bf_context *context, const bf_groups_options *given,
                              bf_groups_options *o) {
    if (given == NULL || !BF_READ(o, given, seed))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_groups_options: size is not set, or from a newer version");
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

/* ---- placing ----------------------------------------------------------------------------------
 */

/* Groups of i128 are in host memory in every context. Returns why groups are there, or NULL. */
static const char *host_only(const bf_groups *g) {
    const char *why = g->key == BF_I128 ? "the CPU groups i128" : NULL;
    for (int i = 0; i < g->count && why == NULL; i++)
        if (g->aggregates[i].dtype == BF_I128) why = "the CPU groups i128";
    return why;
}

/* Replaces the inside by an empty one of another backend. On failure it stays. */
static bf_status make_inside(bf_groups *g, const bf_backend *on) {
    bf_group_kind kind = {g->key, g->count, g->aggregates, g->seed};
    void *inside = NULL;
    bf_status status = on->group->create(g->context, &kind, &inside);
    if (status != BF_OK) return status;
    if (g->inside != NULL) g->by->destroy(g->context, g->inside);
    g->on = on;
    g->by = on->group;
    g->inside = inside;
    return BF_OK;
}

/* Places a call on groups. rows: the memory of n arrays of rows. Groups without a device follow
 * them.
 */
static bf_status place_call(const bf_groups *g, const bf_memory *rows, int n) {
    const char *why = host_only(g);
    const bf_demand demand = {.follows = true,
                              .cpu = why != NULL,
                              .home = n == 0 || g->rows > 0 ? g->on : NULL,
                              .on_host = why != NULL ? why : "the groups are in host memory",
                              .on_gpu = "the groups are in a GPU's memory",
                              .n = n,
                              .memory = rows};
    return bf_place(g->context, &demand);
}

bf_status bf_groups_place(const bf_groups *g) { return place_call(g, NULL, 0); }

_Static_assert(BF_MEMORY_MOST >= 1 + BF_GROUP_ARRAYS, "keys and values are the memory of a call");

/* The arrays of values of all aggregates. Sets the dtype of each. */
static int list_arrays(const bf_groups *g, bf_dtype dtypes[BF_GROUP_ARRAYS]) {
    int n = 0;
    for (int i = 0; i < g->count; i++)
        for (int k = bf_takes_pairs(g->aggregates[i].op) ? 2 : 1; k > 0; k--)
            dtypes[n++] = g->aggregates[i].dtype;
    return n;
}

/* Places a call with rows. Empty groups move to the device of the rows. */
static bf_status place_rows(bf_groups *g, const bf_array *keys, const bf_array *const values[],
                            int n) {
    bf_memory rows[1 + BF_GROUP_ARRAYS];
    rows[0] = bf_flat_memory(keys);
    for (int i = 0; i < n; i++) rows[1 + i] = bf_flat_memory(values[i]);
    bf_status status = place_call(g, rows, 1 + n);
    return status == BF_OK && g->context->used != g->on ? make_inside(g, g->context->used) : status;
}

bf_status bf_groups_make(bf_context *context, const bf_groups_options *given, bf_groups **groups) {
    bf_groups_options options = BF_GROUPS_OPTIONS(.count = 0);
    bf_groups g = {.context = context};
    if (groups == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the groups");
    bf_status status = read_options(context, given, &options);
    if (status != BF_OK) return status;
    g.key = options.key;
    g.seed = options.seed;
    g.count = options.count;
    for (int i = 0; i < g.count; i++) g.aggregates[i] = options.aggregates[i];
    bf_groups *made = malloc(sizeof *made);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for groups");
    *made = g;
    status = make_inside(made, host_only(made) != NULL ? &bf_backend_cpu : bf_place_home(context));
    if (status == BF_OK) status = bf_groups_place(made);
    if (status == BF_OK)
        *groups = made;
    else
        free(made);
    return status;
}

bf_status bf_groups_create(bf_context *context, const bf_groups_options *options,
                           bf_groups **groups) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_groups_make(context, options, groups));
}

void bf_groups_destroy(bf_groups *groups) {
    if (groups == NULL) return;
    groups->by->destroy(groups->context, groups->inside);
    free(groups);
}

bf_status bf_groups_clear(bf_groups *groups) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    groups->by->clear(groups->context, groups->inside);
    groups->rows = 0;
    return bf_leave(groups->context, BF_OK);
}

bf_status bf_groups_settle(const bf_groups *g) {
    return g->by->settle == NULL ? BF_OK : g->by->settle(g->context, g->inside);
}

int64_t bf_groups_size(const bf_groups *groups) {
    if (groups == NULL) return 0;
    return bf_groups_settle(groups) == BF_OK ? groups->by->size(groups->inside) : -1;
}

int64_t bf_groups_rows(const bf_groups *groups) { return groups == NULL ? 0 : groups->rows; }

bf_status bf_groups_describe(const bf_groups *groups, bf_groups_options *kind) {
    if (groups == NULL || kind == NULL) return BF_E_ARGUMENT;
    bf_groups_options found =
        BF_GROUPS_OPTIONS(.key = groups->key, .count = groups->count,
                          .aggregates = groups->aggregates, .seed = groups->seed);
    return BF_WRITE(kind, &found, seed) ? BF_OK : BF_E_ARGUMENT;
}

/* ---- rows -------------------------------------------------------------------------------------
 */

/* The arrays of a call, as contiguous elements. */
typedef struct flat_rows {
    bf_flat keys, values[BF_GROUP_ARRAYS];
    int n; /* arrays of values */
    bf_dtype dtypes[BF_GROUP_ARRAYS];
} flat_rows;

static bf_status flatten_rows(bf_groups *g, const bf_array *keys, const bf_array *const values[],
                              flat_rows *rows) {
    rows->n = list_arrays(g, rows->dtypes);
    bf_status status = place_rows(g, keys, values, rows->n);
    if (status == BF_OK) status = bf_flat_take(g->context, g->on, g->key, keys, &rows->keys);
    for (int i = 0; i < rows->n && status == BF_OK; i++) {
        if (values[i] == NULL) return bf_fail(g->context, BF_E_ARGUMENT, "no values");
        status = bf_flat_take(g->context, g->on, rows->dtypes[i], values[i], &rows->values[i]);
        if (status == BF_OK && !bf_same_shape(keys, values[i]))
            status = bf_fail(g->context, BF_E_SHAPE, "keys and values differ in shape");
    }
    if (status == BF_OK && rows->keys.count > BF_COUNT_MAX - g->rows)
        status = bf_fail(g->context, BF_E_OVERFLOW, "more than 2^62 rows");
    return status;
}

/* Returns the number of an array among those of the job. */
static int number_array(bf_group_job *job, const void *values, bf_dtype dtype) {
    int i = 0;
    while (i < job->arrays && (job->values[i] != values || job->dtypes[i] != dtype)) i++;
    if (i < job->arrays) return i;
    job->values[i] = values;
    job->dtypes[i] = dtype;
    return job->arrays++;
}

/* Sets the columns, by the arrays and what is kept of them. */
static void set_columns(const bf_groups *g, bf_group_job *job) {
    int arrays[BF_AGGREGATES_MAX], kept[BF_AGGREGATES_MAX];
    for (int i = 0; i < g->count; i++) {
        arrays[i] = job->of[i][0] * BF_GROUP_ARRAYS + job->of[i][1];
        kept[i] = 0;
        while (!bf_share_column(g->aggregates[kept[i]].op, g->aggregates[i].op)) kept[i]++;
    }
    bf_columns_of_both(arrays, kept, g->count, job->columns);
}

static void make_job(const bf_groups *g, const flat_rows *rows, bf_group_job *job) {
    job->n = rows->keys.count;
    job->keys = rows->keys.data;
    job->arrays = 0;
    for (int i = 0, k = 0; i < g->count; i++) {
        const bf_aggregate a = g->aggregates[i];
        job->of[i][0] = number_array(job, rows->values[k++].data, a.dtype);
        job->of[i][1] = bf_takes_pairs(a.op) ? number_array(job, rows->values[k++].data, a.dtype)
                                             : job->of[i][0];
    }
    set_columns(g, job);
}

static bf_status absorb_rows(bf_groups *g, const flat_rows *rows) {
    bf_group_job job;
    int64_t row_bytes = bf_key_bytes(g->key);
    make_job(g, rows, &job);
    for (int i = 0; i < job.arrays; i++) row_bytes += bf_number_bytes(job.dtypes[i]);
    if (job.n == 0) return BF_OK;
    bf_status status = bf_watch_begin(g->context, bf_bytes_of(job.n, row_bytes));
    if (status == BF_OK) status = g->by->absorb(g->context, g->inside, &job);
    if (status == BF_OK) g->rows += job.n;
    return bf_watch_end(g->context, status);
}

static bf_status absorb_arrays(bf_groups *groups, const bf_array *keys,
                               const bf_array *const values[]) {
    if (keys == NULL || (values == NULL && groups->count > 0))
        return bf_fail(groups->context, BF_E_ARGUMENT, "no keys, or no values");
    flat_rows *rows = calloc(1, sizeof *rows);
    if (rows == NULL) return bf_fail(groups->context, BF_E_MEMORY, "no memory for rows");
    bf_status status = flatten_rows(groups, keys, values, rows);
    if (status == BF_OK) status = absorb_rows(groups, rows);
    bf_flat_release(&rows->keys);
    for (int i = 0; i < rows->n; i++) bf_flat_release(&rows->values[i]);
    free(rows);
    return status;
}

bf_status bf_groups_absorb(bf_groups *groups, const bf_array *keys,
                           const bf_array *const values[]) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, absorb_arrays(groups, keys, values));
}
