/* Reductions of runs of equal keys: the runs are found, and then they are segments. */
#include "api/axis/axis.h"

#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

/* A call, and its runs. */
typedef struct runs_call {
    bf_axis_call call;
    const bf_array *keys, *first, *values, *fits; /* values NULL: runs are only found */
    int64_t n;                                    /* keys */
    int64_t room;                                 /* for runs */
    int64_t *offsets; /* memory of the backend: where runs begin, and the end of the last */
    int64_t found;
} runs_call;

static bf_status check_keys(runs_call *r) {
    bf_context *context = r->call.context;
    const bf_array *keys = r->keys;
    if (keys == NULL) return bf_fail(context, BF_E_ARGUMENT, "no keys");
    if (bf_rank_bytes(keys->dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no key has dtype number %d", (int)keys->dtype);
    if (bf_array_elements(keys, bf_key_bytes(keys->dtype)) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the array of the keys is not well formed");
    if (keys->ndim != 1)
        return bf_fail(context, BF_E_SHAPE, "keys have %d dimensions, not one", keys->ndim);
    r->n = r->room = keys->shape[0];
    r->call.inputs[2] = keys;
    return BF_OK;
}

/* Checks the dimensions of an output, the first of which has room for runs. */
static bf_status check_room(runs_call *r, const bf_array *output, int ndim, const char *name) {
    const bf_array *a = r->call.inputs[0];
    bool same = output->ndim == ndim;
    for (int d = 1; same && d < ndim; d++) same = output->shape[d] == a->shape[d];
    if (!same)
        return bf_fail(r->call.context, BF_E_SHAPE, "the %s have not the shape of runs", name);
    if (output->shape[0] < r->room) r->room = output->shape[0];
    return BF_OK;
}

static bf_status check_values(runs_call *r) {
    const bf_array *a = r->call.inputs[0];
    bf_status status = BF_OK;
    if (a->ndim == 0 || a->shape[0] != r->n)
        return bf_fail(r->call.context, BF_E_SHAPE, "there is not one key for each row");
    status = bf_axis_set_outputs(&r->call, r->values, r->fits);
    if (status == BF_OK) status = check_room(r, r->values, a->ndim, "values");
    return status;
}

static bf_status check_first(runs_call *r) {
    bf_status status = bf_axis_check_output(&r->call, r->first, BF_I64, "first rows");
    if (status == BF_OK) status = check_room(r, r->first, 1, "first rows");
    if (status != BF_OK) return status;
    if (bf_arrays_overlap(r->first, r->values) || bf_arrays_overlap(r->first, r->fits))
        return bf_fail(r->call.context, BF_E_ARGUMENT, "two outputs share memory");
    return BF_OK;
}

/* Finds the runs: r->offsets begins with where they begin. */
static bf_status find_runs(runs_call *r) {
    bf_context *context = r->call.context;
    const bf_backend *on = context->used;
    bf_flat keys;
    int64_t bytes = bf_bytes_of(r->n, bf_key_bytes(r->keys->dtype));
    r->offsets = on->memory->allocate(context, (size_t)bf_bytes_of(r->room + 1, sizeof(int64_t)));
    if (r->offsets == NULL) return BF_E_MEMORY;
    bf_status status = bf_flat_take(context, on, r->keys->dtype, r->keys, &keys);
    if (status == BF_OK) status = bf_watch_begin(context, bytes);
    if (status == BF_OK) {
        status = on->axis->find_runs(context, r->keys->dtype, keys.data, r->n, r->offsets, r->room,
                                     &r->found);
        status = bf_watch_end(context, status);
    }
    bf_flat_release(&keys);
    if (status != BF_OK || r->found <= r->room) return status;
    return bf_fail(context, BF_E_SHAPE, "there are %lld runs, and room for %lld",
                   (long long)r->found, (long long)r->room);
}

static bf_array cut_array(const bf_array *array, int64_t n) {
    bf_array cut = *array;
    cut.shape[0] = n;
    return cut;
}

/* Reduces the runs that were found. */
static bf_status reduce_runs(runs_call *r) {
    bf_axis_call *call = &r->call;
    bf_context *context = call->context;
    bf_rows rows = {.count = r->n, .width = 1, .slots = r->found, .by = BF_ROWS_BY_OFFSETS};
    rows.places = r->offsets;
    rows.places_dtype = BF_I64;
    bf_array values = cut_array(r->values, r->found), fits;
    if (r->fits != NULL) fits = cut_array(r->fits, r->found);
    bf_status status = bf_axis_set_outputs(call, &values, r->fits != NULL ? &fits : NULL);
    if (status != BF_OK || call->values.count == 0) return status;
    rows.width = call->values.count / r->found;
    status = context->used->memory->copy(context, r->offsets + r->found, &r->n, sizeof r->n);
    if (status == BF_OK) status = bf_axis_prepare(call, rows.count, true);
    if (status == BF_OK) status = bf_axis_reduce_rows(call, &rows);
    return bf_axis_finish(call, status);
}

static bf_status return_first(runs_call *r) {
    bf_array first = cut_array(r->first, r->found);
    bf_context *context = r->call.context;
    bf_flat output = {context, &first, r->found, (char *)r->offsets, r->offsets, context->used};
    return bf_flat_return(context, &output);
}

static bf_status run_call(runs_call *r, int64_t *runs) {
    bf_context *context = r->call.context;
    bf_status status = bf_axis_place(&r->call, r->first);
    if (status == BF_OK) status = find_runs(r);
    *runs = r->found;
    if (status == BF_OK && r->values != NULL) status = reduce_runs(r);
    if (status == BF_OK && r->first != NULL) status = return_first(r);
    if (r->offsets != NULL) context->used->memory->release(context, r->offsets);
    return status;
}

static bf_status reduce_keys(bf_context *context, bf_reduction op, const bf_array *keys,
                             const bf_array *array, const bf_reduce_options *options,
                             const bf_array *first, const bf_array *values, const bf_array *fits,
                             int64_t *runs) {
    runs_call r = {.call = {.context = context}};
    if (runs == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the number of runs");
    *runs = 0;
    bf_status status = BF_OK;
    if (values != NULL) status = bf_axis_open(&r.call, context, op, array, NULL, options);
    r.keys = keys;
    r.first = first;
    r.values = values;
    r.fits = values != NULL ? fits : NULL;
    if (status == BF_OK) status = check_keys(&r);
    if (status == BF_OK && values != NULL) status = check_values(&r);
    if (status == BF_OK && first != NULL) status = check_first(&r);
    if (status != BF_OK || r.n == 0) return status;
    return run_call(&r, runs);
}

bf_status bf_reduce_runs(bf_context *context, bf_reduction op, const bf_array *keys,
                         const bf_array *array, const bf_reduce_options *options,
                         const bf_array *first, const bf_array *values, const bf_array *fits,
                         int64_t *runs) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    reduce_keys(context, op, keys, array, options, first, values, fits, runs));
}
