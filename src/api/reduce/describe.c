/* Descriptions: several results of one state. */
#include <bitfold/describe.h>

#include "api/reduce/reduce.h"
#include "api/reduce/state.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"

#include <math.h>

/* Finishes the part of a description's words that belongs to op. */
static bf_status finish_part(const bf_state *s, bf_reduction op, const int64_t *words,
                             const bf_reduce_options *options, bf_value *value) {
    return bf_result(s->context, op, s->dtype, words, options, value);
}

/* Finishes a minimum or maximum and its index. It is no error if there is none. */
static bf_status finish_extreme(const bf_state *s, bf_reduction op, bf_reduction arg,
                                const int64_t *words, const bf_reduce_options *options,
                                bf_value *value, int64_t *index) {
    bf_value at = {.dtype = BF_I64};
    *value = (bf_value){.dtype = BF_NONE};
    *index = -1;
    bf_status status = finish_part(s, op, words, options, value);
    if (status == BF_E_EMPTY) return BF_OK;
    if (status == BF_OK) status = finish_part(s, arg, words, options, &at);
    *index = at.as.i64;
    return status;
}

/* Are all elements but NaNs -0? Moments do not count -0, but then both extremes are -0. */
static bool all_neg_zero(const bf_state *s, const int64_t *least, const int64_t *greatest) {
    if (!bf_dtype_is_float(s->dtype) || least[BF_EXTREME_INDEX] < 0) return false;
    int64_t key = bf_order_rank(s->dtype, bf_format_sign(bf_format_of(s->dtype)));
    return least[BF_EXTREME_RANK] == key && greatest[BF_EXTREME_RANK] == ~key;
}

/* The options take a scale for elements of `scaled`; BF_NONE: the state has its own. */
static bf_status describe_state(const bf_state *state, bf_dtype scaled,
                                const bf_reduce_options *given, bf_description *description) {
    bf_reduce_options exact;
    if (description != NULL && !bf_sized_fits(description, BF_SIZE_TO(bf_description, std)))
        return bf_fail(state->context, BF_E_ARGUMENT, "bf_description: size is not set");
    if (state->kind != BF_KIND_DESCRIPTION || description == NULL)
        return bf_fail(state->context, BF_E_ARGUMENT, "no description of a state of %s",
                       bf_reduction_name(state->op));
    bf_status status = bf_read_reduce_options(state->context, BF_SUM, scaled, given, &exact);
    if (status != BF_OK) return status;
    if (scaled == BF_NONE) exact.scale = state->scale;
    const int64_t *least = state->words + bf_extreme_at(state->kind, state->dtype);
    const int64_t *greatest = least + bf_extreme_words(state->dtype);
    bf_reduce_options own = exact;
    own.out_dtype = BF_NONE; /* extremes keep their type */
    int64_t sum[BF_SUM_WORDS_MAX];
    memcpy(sum, state->words, (size_t)(least - state->words) * sizeof *sum);
    if (all_neg_zero(state, least, greatest)) sum[BF_SUM_NEG_ZERO] = bf_sum_finite(sum);

    bf_state_info info = {.size = sizeof info};
    bf_state_describe(state, &info);
    bf_description d = {.n = info.count, .nan = info.nan, .inf = info.inf};
    status = finish_extreme(state, BF_MIN, BF_ARGMIN, least, &own, &d.min, &d.argmin);
    if (status == BF_OK)
        status = finish_extreme(state, BF_MAX, BF_ARGMAX, greatest, &own, &d.max, &d.argmax);
    if (status == BF_OK) status = finish_part(state, BF_SUM, sum, &exact, &d.sum);
    if (status == BF_OK) status = finish_part(state, BF_MEAN, sum, &exact, &d.mean);
    if (status == BF_OK) status = finish_part(state, BF_STD, state->words, &exact, &d.std);
    if (status == BF_OK) BF_WRITE(description, &d, std);
    return status;
}

bf_status bf_state_description(const bf_state *state, const bf_reduce_options *options,
                               bf_description *description) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, describe_state(state, BF_NONE, options, description));
}

enum { SHORT = 2048 }; /* elements that several passes take less time than a state */

/* Finishes one value of a short array. */
static bool take_value(bf_context *context, bf_job *job, bf_reduction op,
                       const bf_reduce_options *options, bf_value *value) {
    job->op = op;
    job->kind = bf_kind_of(op, job->dtype);
    return context->used->reduce->at_once(context, job, options, value);
}

/* Describes a short array by its reductions, which find it in the cache. False: a state does it, as
 * that of NaNs and infinities, which are counted. */
static bool describe_short(bf_context *context, const bf_array *array,
                           const bf_reduce_options *given, bf_description *description) {
    bf_reduce_options exact, own, all;
    bf_value least, greatest;
    bf_description d = {.nan = 0};
    bf_job job;
    if (description == NULL ||
        bf_read_reduce_options(context, BF_SUM, array->dtype, given, &exact) != BF_OK ||
        !bf_reduce_at_once(context, BF_DESCRIBE, array, NULL, &job) || job.count > SHORT)
        return false;
    own = all = exact;
    own.out_dtype = BF_NONE; /* extremes keep their type */
    all.nan = BF_NAN_PROPAGATE;
    if (!take_value(context, &job, BF_SUM, &all, &d.sum)) return false;
    if (bf_dtype_is_float(array->dtype) && !isfinite(bf_value_f64(&d.sum))) return false;
    if (!take_value(context, &job, BF_MEAN, &exact, &d.mean) ||
        !take_value(context, &job, BF_STD, &exact, &d.std) ||
        !take_value(context, &job, BF_MIN, &own, &d.min) ||
        !take_value(context, &job, BF_MAX, &own, &d.max) ||
        !take_value(context, &job, BF_ARGMIN, &own, &least) ||
        !take_value(context, &job, BF_ARGMAX, &own, &greatest))
        return false;
    d.n = job.count;
    d.argmin = least.as.i64;
    d.argmax = greatest.as.i64;
    return BF_WRITE(description, &d, std);
}

static bf_status describe_array(bf_context *context, const bf_array *array,
                                const bf_reduce_options *options, bf_description *description) {
    if (array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    if (describe_short(context, array, options, description)) return BF_OK;
    bf_state *state;
    bf_status status = bf_state_make(context, BF_DESCRIBE, array->dtype, &state);
    if (status != BF_OK) return status;
    status = bf_state_absorb_array(state, array);
    if (status == BF_OK) status = describe_state(state, array->dtype, options, description);
    bf_state_destroy(state);
    return status;
}

bf_status bf_describe(bf_context *context, const bf_array *array, const bf_reduce_options *options,
                      bf_description *description) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, describe_array(context, array, options, description));
}
