/* Arrays in shards: one after another, or on all GPUs of the context at once. */
#include "api/reduce/state.h"

#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/place.h"
#include "rules/number/dtype.h"
#include <bitfold/pair.h>

#include <stdlib.h>

/* ---- checking -------------------------------------------------------------------------------- */

/* Checks all shards. b is NULL but for pairs. *count: the elements of all; *flat: all shards are
 * contiguous. */
static bf_status check_shards(const bf_state *s, const bf_array a[], const bf_array b[], int n,
                              int64_t *count, bool *flat) {
    bf_status status = BF_OK;
    *count = 0;
    *flat = true;
    if (n < 0 || (n > 0 && (a == NULL || (bf_takes_pairs(s->op) && b == NULL))))
        return bf_fail(s->context, BF_E_ARGUMENT, "%d shards, or no array of them", n);
    for (int i = 0; i < n && status == BF_OK; i++) {
        int64_t elements = 0;
        status = b != NULL ? bf_check_pair(s->context, s->dtype, &a[i], &b[i], &elements)
                           : bf_check_array(s->context, s->dtype, &a[i], &elements);
        if (status != BF_OK || elements == 0) continue;
        if (elements > BF_COUNT_MAX - *count)
            return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
        *count += elements;
        *flat &= bf_array_is_contiguous(&a[i]) && (b == NULL || bf_array_is_contiguous(&b[i]));
    }
    return status;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

static bf_status absorb_in_turn(bf_state *s, const bf_array a[], const bf_array b[], int n) {
    bf_status status = BF_OK;
    for (int i = 0; i < n && status == BF_OK; i++)
        status =
            b != NULL ? bf_state_absorb_arrays(s, &a[i], &b[i]) : bf_state_absorb_array(s, &a[i]);
    return status;
}

/* Does the backend take several jobs at once? Only one that was asked for by name does. */
static bool takes_shards(const bf_state *s) {
    const bf_context *context = s->context;
    return context->fixed != NULL && !bf_reduce_demand(s->kind, s->dtype).cpu &&
           context->fixed->reduce->absorb_shards != NULL;
}

/* Writes the jobs of the shards that are not empty. Returns how many there are. */
static int make_jobs(bf_state *s, const bf_array a[], const bf_array b[], int n, bf_job *jobs) {
    const int64_t *next = bf_state_next(s);
    int64_t index = next != NULL ? *next : 0;
    int made = 0;
    for (int i = 0; i < n; i++) {
        int64_t count = bf_array_count(&a[i]);
        if (count == 0) continue;
        bf_job job = {.op = s->op, .kind = s->kind, .dtype = s->dtype, .a = a[i].data};
        job.b = b != NULL ? b[i].data : NULL;
        job.count = count;
        job.index = index;
        job.every_zero = s->lasting;
        jobs[made++] = job;
        index += count;
    }
    return made;
}

static bf_status absorb_at_once(bf_state *s, const bf_array a[], const bf_array b[], int n,
                                int64_t count) {
    bf_job *jobs = malloc((size_t)n * sizeof *jobs);
    if (jobs == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for shards");
    int made = make_jobs(s, a, b, n, jobs);
    int64_t bytes = bf_bytes_of(count, bf_dtype_bytes(s->dtype) * (b != NULL ? 2 : 1));
    const bf_demand demand = bf_reduce_demand(s->kind, s->dtype);
    bf_status status = bf_place(s->context, &demand);
    if (status == BF_OK)
        status = s->context->used->reduce->absorb_shards(s->context, jobs, made, s->words);
    if (status == BF_OK) status = bf_watch_tick(s->context, bytes);
    free(jobs);
    return status;
}

static bf_status absorb_shards(bf_state *s, const bf_array a[], const bf_array b[], int n) {
    int64_t count, *kept;
    const int64_t *next = bf_state_next(s);
    bool flat;
    bf_status status = check_shards(s, a, b, n, &count, &flat);
    if (status != BF_OK || count == 0) return status;
    if (count > BF_COUNT_MAX - (next ? *next : s->words[0]))
        return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
    status = bf_state_keep(s, &kept);
    if (status != BF_OK) return status;
    status =
        flat && takes_shards(s) ? absorb_at_once(s, a, b, n, count) : absorb_in_turn(s, a, b, n);
    bf_state_settle(s, kept, status);
    return status;
}

/* ---- the calls ------------------------------------------------------------------------------- */

static bf_status absorb_single_shards(bf_state *s, const bf_array shards[], int n) {
    if (bf_takes_pairs(s->op))
        return bf_fail(s->context, BF_E_ARGUMENT, "%s takes pairs of shards",
                       bf_reduction_name(s->op));
    return absorb_shards(s, shards, NULL, n);
}

bf_status bf_state_absorb_shards(bf_state *state, const bf_array shards[], int n) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, absorb_single_shards(state, shards, n));
}

static bf_status absorb_pairs_of_shards(bf_state *s, const bf_array a[], const bf_array b[],
                                        int n) {
    bf_status status = bf_check_takes_pairs(s->context, s->op);
    return status == BF_OK ? absorb_shards(s, a, b, n) : status;
}

bf_status bf_state_absorb_pair_shards(bf_state *state, const bf_array a[], const bf_array b[],
                                      int n) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, absorb_pairs_of_shards(state, a, b, n));
}

static bf_status reduce_shards(bf_context *context, bf_reduction op, const bf_array a[],
                               const bf_array b[], int n, const bf_reduce_options *given,
                               bf_value *value) {
    bf_reduce_options options;
    bf_state *state;
    if (n < 1 || a == NULL) return bf_fail(context, BF_E_ARGUMENT, "no shard");
    bf_status status = bf_read_reduce_options(context, op, a[0].dtype, given, &options);
    if (status == BF_OK) status = bf_state_make(context, op, a[0].dtype, &state);
    if (status != BF_OK) return status;
    status = b != NULL ? absorb_pairs_of_shards(state, a, b, n) : absorb_single_shards(state, a, n);
    if (status == BF_OK)
        status = bf_result(context, op, state->dtype, state->words, &options, value);
    bf_state_destroy(state);
    return status;
}

bf_status bf_reduce_shards(bf_context *context, bf_reduction op, const bf_array shards[], int n,
                           const bf_reduce_options *options, bf_value *value) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_shards(context, op, shards, NULL, n, options, value));
}

static bf_status reduce_pair_shards(bf_context *context, bf_reduction op, const bf_array a[],
                                    const bf_array b[], int n, const bf_reduce_options *options,
                                    bf_value *value) {
    if (b == NULL) return bf_fail(context, BF_E_ARGUMENT, "no shard");
    return reduce_shards(context, op, a, b, n, options, value);
}

bf_status bf_reduce_pair_shards(bf_context *context, bf_reduction op, const bf_array a[],
                                const bf_array b[], int n, const bf_reduce_options *options,
                                bf_value *value) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, reduce_pair_shards(context, op, a, b, n, options, value));
}

bf_status bf_dot_shards(bf_context *context, const bf_array a[], const bf_array b[], int n,
                        const bf_reduce_options *options, bf_value *value) {
    return bf_reduce_pair_shards(context, BF_DOT, a, b, n, options, value);
}
