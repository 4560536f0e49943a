/* States: absorb, merge, result. */
#include "state.h"

#include "array.h"
#include "result.h"

#include <stdlib.h>

static bf_kind kind_of(const bf_state *s) { return bf_kind_of(s->op); }

bf_status bf_state_start(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state *state) {
    if (strcmp(bf_reduction_name(op), "?") == 0)
        return bf_fail(context, BF_E_ARGUMENT, "no reduction has number %d", (int)op);
    if (bf_dtype_bytes(dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)dtype);
    state->context = context;
    state->op = op;
    state->dtype = dtype;
    bf_state_clear(state);
    return BF_OK;
}

bf_status bf_state_create(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state **state) {
    if (context == NULL || state == NULL) return BF_E_ARGUMENT;
    bf_state *made = malloc(sizeof *made);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a state");
    bf_status status = bf_state_start(context, op, dtype, made);
    if (status == BF_OK)
        *state = made;
    else
        free(made);
    return status;
}

void bf_state_destroy(bf_state *state) { free(state); }

void bf_state_clear(bf_state *state) { bf_state_init(kind_of(state), state->dtype, state->words); }

static bf_status check_array(const bf_state *s, const bf_array *array, int64_t *count) {
    if (array == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no array");
    *count = bf_array_count(array);
    if (*count < 0) return bf_fail(s->context, BF_E_ARGUMENT, "the array is not well formed");
    if (array->dtype != s->dtype)
        return bf_fail(s->context, BF_E_DTYPE, "%s data in a reduction of %s",
                       bf_dtype_name(array->dtype), bf_dtype_name(s->dtype));
    int64_t used = bf_is_indexed(s->op) ? s->words[BF_EXTREME_END] : s->words[0];
    if (*count > BF_COUNT_MAX - used)
        return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
    return BF_OK;
}

static bf_status absorb(bf_state *s, const bf_array *const arrays[], int arity, int64_t count) {
    if (count == 0) return BF_OK;
    int64_t words[BF_STATE_WORDS_MAX];
    size_t bytes = (size_t)bf_state_words(kind_of(s), s->dtype) * sizeof *words;
    memcpy(words, s->words, bytes);
    bf_job job = {.op = s->op, .kind = kind_of(s), .dtype = s->dtype};
    if (bf_is_indexed(s->op)) job.index = words[BF_EXTREME_END];
    bf_status status = bf_array_walk(s->context, arrays, arity, count, !bf_is_indexed(s->op), &job,
                                     s->context->backend->reduce, words);
    if (status == BF_OK) memcpy(s->words, words, bytes);
    return status;
}

bf_status bf_state_absorb(bf_state *state, const bf_array *chunk) {
    if (state == NULL) return BF_E_ARGUMENT;
    int64_t count = 0;
    bf_status status = check_array(state, chunk, &count);
    if (status != BF_OK) return status;
    if (state->op == BF_DOT) return bf_fail(state->context, BF_E_ARGUMENT, "dot takes two arrays");
    return absorb(state, &chunk, 1, count);
}

static bool same_shape(const bf_array *a, const bf_array *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

bf_status bf_state_absorb_pair(bf_state *state, const bf_array *a, const bf_array *b) {
    if (state == NULL) return BF_E_ARGUMENT;
    int64_t count = 0;
    bf_status status = check_array(state, a, &count);
    if (status == BF_OK) status = check_array(state, b, &count);
    if (status != BF_OK) return status;
    if (state->op != BF_DOT)
        return bf_fail(state->context, BF_E_ARGUMENT, "%s takes one array",
                       bf_reduction_name(state->op));
    if (!same_shape(a, b)) return bf_fail(state->context, BF_E_SHAPE, "the shapes differ");
    const bf_array *arrays[2] = {a, b};
    return absorb(state, arrays, 2, count);
}

bf_status bf_state_seek(bf_state *state, int64_t index) {
    if (state == NULL) return BF_E_ARGUMENT;
    if (!bf_is_indexed(state->op))
        return bf_fail(state->context, BF_E_ARGUMENT, "%s has no indices",
                       bf_reduction_name(state->op));
    int64_t *words = state->words;
    if (index < words[BF_EXTREME_END] || index > BF_COUNT_MAX)
        return bf_fail(state->context, BF_E_ARGUMENT, "index %lld is out of range",
                       (long long)index);
    if (words[BF_EXTREME_COUNT] == 0) words[BF_EXTREME_BEGIN] = index;
    words[BF_EXTREME_END] = index;
    return BF_OK;
}

bf_status bf_state_merge(bf_state *into, const bf_state *from) {
    if (into == NULL || from == NULL) return BF_E_ARGUMENT;
    if (into->op != from->op || into->dtype != from->dtype)
        return bf_fail(into->context, BF_E_STATE, "%s of %s does not merge with %s of %s",
                       bf_reduction_name(from->op), bf_dtype_name(from->dtype),
                       bf_reduction_name(into->op), bf_dtype_name(into->dtype));
    if (bf_is_indexed(into->op) && !bf_extreme_disjoint(into->words, from->words))
        return bf_fail(into->context, BF_E_STATE, "the ranges of indices overlap");
    if (from->words[0] > BF_COUNT_MAX - into->words[0])
        return bf_fail(into->context, BF_E_OVERFLOW, "more than 2^62 elements");
    bf_state_merge_words(kind_of(into), into->dtype, into->words, from->words);
    return BF_OK;
}

bf_status bf_state_result(const bf_state *state, const bf_reduce_options *options,
                          bf_value *value) {
    if (state == NULL) return BF_E_ARGUMENT;
    return bf_result(state->context, state->op, state->dtype, state->words, options, value);
}

void bf_state_describe(const bf_state *state, bf_state_info *info) {
    const int64_t *words = state->words;
    *info = (bf_state_info){.op = state->op, .dtype = state->dtype, .count = words[0]};
    if (kind_of(state) == BF_KIND_EXTREME) {
        info->nan = words[BF_EXTREME_NAN];
        info->inf = -1;
    } else {
        info->nan = words[BF_EXACT_NAN];
        info->inf = words[BF_EXACT_POS_INF] + words[BF_EXACT_NEG_INF];
    }
    info->next = bf_is_indexed(state->op) ? words[BF_EXTREME_END] : info->count;
}
