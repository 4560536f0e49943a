/* Descriptions of many: several results of the same states. */
#include "api/axis/states.h"

#include "api/axis/axis.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"
#include "base/memory.h"
#include "rules/reduce/result.h"

/* The values of a description, in the order of bf_descriptions; the counts come first. */
enum { N, NAN_COUNT, INF_COUNT, FIRST_RESULT, VALUES = 10 };
static const bf_reduction ops[VALUES] = {
    BF_SUM, BF_SUM, BF_SUM, BF_MIN, BF_ARGMIN, BF_MAX, BF_ARGMAX, BF_SUM, BF_MEAN, BF_STD,
};

typedef struct describing {
    bf_states *states;
    const bf_array *arrays[VALUES]; /* NULL: not asked for */
    bf_axis_call calls[VALUES];
    bf_value nothing[VALUES];
} describing;

static bf_status read_arrays(describing *d, const bf_descriptions *given) {
    bf_descriptions read = {.size = sizeof read};
    if (given == NULL || !BF_READ(&read, given, std))
        return bf_fail(d->states->context, BF_E_ARGUMENT, "bf_descriptions: size is not set");
    const bf_array *const arrays[VALUES] = {read.n,   read.nan,    read.inf, read.min,  read.argmin,
                                            read.max, read.argmax, read.sum, read.mean, read.std};
    memcpy(d->arrays, arrays, sizeof arrays);
    return BF_OK;
}

static bool is_extreme(int k) { return ops[k] >= BF_MIN && ops[k] <= BF_ARGMAX; }

/* Reads the options of a value. Extremes keep their type, and there is one where there is none. */
static bf_status read_options(describing *d, int k, const bf_reduce_options *given) {
    bf_axis_call *call = &d->calls[k];
    const bf_states *s = d->states;
    bf_reduce_options own = BF_REDUCE_OPTIONS(.ddof = 0);
    if (given != NULL && !BF_READ(&own, given, overflow))
        return bf_fail(s->context, BF_E_ARGUMENT, "bf_reduce_options: size is not set");
    if (is_extreme(k)) {
        const bool index = bf_is_indexed(ops[k]);
        own.out_dtype = BF_NONE;
        d->nothing[k] = bf_value_from_bits(index ? BF_I64 : s->dtype, index ? UINT64_MAX : 0);
        own.empty = &d->nothing[k];
    }
    bf_status status = bf_axis_read_options(call, ops[k], s->dtype, &own);
    if (k < FIRST_RESULT) call->results.to = BF_I64;
    return status;
}

/* Nothing is written until all is made. */
static bf_status open_value(describing *d, int k, const bf_reduce_options *given) {
    bf_axis_call *call = &d->calls[k];
    const bf_states *s = d->states;
    call->context = s->context;
    bf_status status = read_options(d, k, given);
    if (status == BF_OK) status = bf_axis_set_outputs(call, d->arrays[k], NULL);
    if (status == BF_OK) status = bf_states_check_output(s, d->arrays[k]);
    if (status != BF_OK) return status;
    status = bf_flat_prepare(s->context, s->on, d->arrays[k], true, &call->values);
    call->results.values = call->values.data;
    return status;
}

static void put_count(const describing *d, int k, int64_t i, int64_t count) {
    if (d->arrays[k] != NULL) memcpy((char *)d->calls[k].results.values + 8 * i, &count, 8);
}

static bf_status count_states(const describing *d) {
    const bf_states *s = d->states;
    const int64_t batch = bf_states_batch(s);
    const int each = bf_states_words(s->op, s->dtype);
    int64_t *words = bf_alloc((size_t)(batch * each) * sizeof *words + 1);
    bf_status status = words != NULL ? BF_OK : bf_fail(s->context, BF_E_MEMORY, "no memory");
    for (int64_t at = 0, n; at < s->count && status == BF_OK; at += n) {
        n = s->count - at < batch ? s->count - at : batch;
        status = s->on->axis->words(s->context, s->inside, at, n, words);
        for (int64_t i = 0; i < n && status == BF_OK; i++) {
            const int64_t *of = words + i * each;
            put_count(d, N, at + i, of[BF_SUM_COUNT]);
            put_count(d, NAN_COUNT, at + i, of[BF_SUM_NAN]);
            put_count(d, INF_COUNT, at + i, of[BF_SUM_POS_INF] + of[BF_SUM_NEG_INF]);
        }
    }
    bf_free(words);
    return status;
}

static bf_status make_values(describing *d) {
    bf_states *s = d->states;
    bf_status status = BF_OK;
    if (d->arrays[N] || d->arrays[NAN_COUNT] || d->arrays[INF_COUNT]) status = count_states(d);
    for (int k = FIRST_RESULT; k < VALUES && status == BF_OK; k++) {
        if (d->arrays[k] == NULL || s->count == 0) continue;
        status = bf_watch_begin(s->context, 0);
        if (status == BF_OK)
            status = s->on->axis->part(s->context, s->inside, ops[k], &d->calls[k].results);
        status = bf_watch_end(s->context, status);
    }
    return status;
}

static bf_status describe_states(bf_states *s, const bf_reduce_options *options,
                                 const bf_descriptions *given) {
    describing d = {.states = s};
    if (s->op != BF_DESCRIBE)
        return bf_fail(s->context, BF_E_ARGUMENT, "no description of states of %s",
                       bf_reduction_name(s->op));
    bf_status status = read_arrays(&d, given);
    if (status == BF_OK) status = bf_states_place(s);
    for (int k = 0; k < VALUES && status == BF_OK; k++)
        if (d.arrays[k] != NULL) status = open_value(&d, k, options);
    if (status == BF_OK) status = make_values(&d);
    for (int k = 0; k < VALUES; k++)
        if (d.arrays[k] != NULL) status = bf_axis_finish(&d.calls[k], status);
    return status;
}

bf_status bf_states_description(bf_states *states, const bf_reduce_options *options,
                                const bf_descriptions *arrays) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, describe_states(states, options, arrays));
}
