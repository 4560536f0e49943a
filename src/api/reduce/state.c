/* States: create, absorb, seek, finish. */
#include "api/reduce/state.h"

#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"
#include "base/environment.h"
#include "rules/reduce/rescale.h"

#include <stdlib.h>

size_t bf_state_bytes(const bf_state *s) {
    return (size_t)bf_state_words(s->kind, s->dtype, s->words) * sizeof *s->words;
}

static void clear_state(bf_state *state) { bf_state_init(state->kind, state->dtype, state->words); }

bf_status bf_state_make(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state **state) {
    if (state == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the state");
    if (strcmp(bf_reduction_name(op), "?") == 0)
        return bf_fail(context, BF_E_ARGUMENT, "no reduction has number %d", (int)op);
    if (bf_number_bytes(dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)dtype);
    if (dtype == BF_I128 && op == BF_PROD) return bf_fail(context, BF_E_DTYPE, "no prod of i128");
    bf_kind kind = bf_kind_of(op, dtype);
    size_t words = (size_t)bf_state_room(kind, dtype);
    bf_state *made = malloc(sizeof *made + words * sizeof *made->words);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a state");
    *made = (bf_state){.context = context, .op = op, .dtype = dtype, .kind = kind};
    clear_state(made);
    *state = made;
    return BF_OK;
}

bf_status bf_state_create(bf_context *context, bf_reduction op, bf_dtype dtype, bf_state **state) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    bf_status status = bf_state_make(context, op, dtype, state);
    if (status == BF_OK) (*state)->lasting = true;
    return bf_leave(context, status);
}

void bf_state_destroy(bf_state *state) { free(state); }

bf_status bf_state_clear(bf_state *state) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    clear_state(state);
    return bf_leave(state->context, BF_OK);
}

int64_t *bf_state_next(bf_state *s) {
    if (s->kind == BF_KIND_PRODUCT_TREE) return &s->words[BF_PRODUCT_TREE_END];
    if (!bf_is_indexed(s->op)) return NULL;
    return &s->words[bf_extreme_at(s->kind, s->dtype) + BF_EXTREME_END];
}

bf_status bf_check_array(bf_context *context, bf_dtype dtype, const bf_array *array,
                         int64_t *count) {
    if (array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    *count = bf_array_elements(array, bf_number_bytes(array->dtype));
    if (*count < 0) return bf_fail(context, BF_E_ARGUMENT, "the array is not well formed");
    if (array->dtype != dtype)
        return bf_fail(context, BF_E_DTYPE, "%s data in a reduction of %s",
                       bf_dtype_name(array->dtype), bf_dtype_name(dtype));
    return BF_OK;
}

bf_status bf_check_pair(bf_context *context, bf_dtype dtype, const bf_array *a, const bf_array *b,
                        int64_t *count) {
    bf_status status = bf_check_array(context, dtype, a, count);
    if (status == BF_OK) status = bf_check_array(context, dtype, b, count);
    if (status != BF_OK) return status;
    return bf_check_same_shape(context, a, b);
}

bf_status bf_check_takes_pairs(bf_context *context, bf_reduction op) {
    return bf_takes_pairs(op)
               ? BF_OK
               : bf_fail(context, BF_E_ARGUMENT, "%s takes one array", bf_reduction_name(op));
}

typedef struct absorption {
    bf_job job;
    int64_t *words;
} absorption;

static bf_status absorb_piece(bf_context *context, void *arg, const void *const data[2],
                              int64_t count) {
    absorption *to = arg;
    to->job.a = data[0];
    to->job.b = data[1];
    to->job.count = count;
    bf_status status = context->used->reduce->absorb(context, &to->job, to->words);
    to->job.index += count;
    return status;
}

bf_status bf_state_keep(const bf_state *s, int64_t **kept) {
    *kept = malloc(bf_state_bytes(s));
    if (*kept == NULL) return bf_fail(s->context, BF_E_MEMORY, "no memory for a state");
    memcpy(*kept, s->words, bf_state_bytes(s));
    return BF_OK;
}

void bf_state_settle(bf_state *s, int64_t *kept, bf_status status) {
    if (status != BF_OK && kept != NULL)
        memcpy(s->words, kept, (size_t)bf_state_words(s->kind, s->dtype, kept) * sizeof *kept);
    free(kept);
}

/* Are there several pieces, so that a failure may follow when some are absorbed? */
static bool has_pieces(const bf_state *s, const bf_array *const arrays[], int arity) {
    if (bf_is_watched(s->context) || !bf_array_is_contiguous(arrays[0])) return true;
    return arity > 1 && !bf_array_is_contiguous(arrays[1]);
}

static bf_status absorb_arrays(bf_state *s, const bf_array *const arrays[], int arity,
                               int64_t count) {
    const int64_t *next = bf_state_next(s);
    if (count > BF_COUNT_MAX - (next ? *next : s->words[0]))
        return bf_fail(s->context, BF_E_OVERFLOW, "more than 2^62 elements");
    if (count == 0) return BF_OK;
    bf_status status = bf_reduce_place(s->context, s->kind, arrays, arity, count);
    if (status != BF_OK) return status;
    bf_job job = {.op = s->op, .kind = s->kind, .dtype = s->dtype, .every_zero = s->lasting};
    job.index = next ? *next : 0;
    absorption to = {job, s->words};
    int64_t *kept = NULL;
    if (has_pieces(s, arrays, arity)) status = bf_state_keep(s, &kept);
    if (status != BF_OK) return status;
    status = bf_array_walk(s->context, arrays, arity, count, next == NULL, absorb_piece, &to);
    bf_state_settle(s, kept, status);
    return status;
}

bf_status bf_state_absorb_array(bf_state *state, const bf_array *chunk) {
    int64_t count = 0;
    bf_status status = bf_check_array(state->context, state->dtype, chunk, &count);
    if (status != BF_OK) return status;
    if (bf_takes_pairs(state->op))
        return bf_fail(state->context, BF_E_ARGUMENT, "%s takes two arrays",
                       bf_reduction_name(state->op));
    return absorb_arrays(state, &chunk, 1, count);
}

bf_status bf_state_absorb(bf_state *state, const bf_array *chunk) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, bf_state_absorb_array(state, chunk));
}

bf_status bf_state_absorb_arrays(bf_state *state, const bf_array *a, const bf_array *b) {
    int64_t count = 0;
    bf_status status = bf_check_takes_pairs(state->context, state->op);
    if (status == BF_OK) status = bf_check_pair(state->context, state->dtype, a, b, &count);
    const bf_array *arrays[2] = {a, b};
    return status == BF_OK ? absorb_arrays(state, arrays, 2, count) : status;
}

bf_status bf_state_absorb_pair(bf_state *state, const bf_array *a, const bf_array *b) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, bf_state_absorb_arrays(state, a, b));
}

bf_status bf_state_move(bf_state *state, int64_t index) {
    if (state->kind == BF_KIND_PRODUCT) return BF_OK;
    int64_t *next = bf_state_next(state);
    if (next == NULL)
        return bf_fail(state->context, BF_E_ARGUMENT, "%s has no indices",
                       bf_reduction_name(state->op));
    bool empty = state->words[0] == 0, gap = state->kind == BF_KIND_PRODUCT_TREE && index != *next;
    if (index < *next || index > BF_COUNT_MAX || (gap && !empty))
        return bf_fail(state->context, BF_E_ARGUMENT, "index %lld is out of range",
                       (long long)index);
    int64_t *end[2] = {
        next, state->kind == BF_KIND_DESCRIPTION ? next + bf_extreme_words(state->dtype) : next};
    for (int i = 0; i < 2; i++) {
        *end[i] = index;
        if (empty) end[i][-1] = index; /* the word before `end` is `begin` */
    }
    return BF_OK;
}

bf_status bf_state_seek(bf_state *state, int64_t index) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, bf_state_move(state, index));
}

static bf_status rescale_state(bf_state *s, int scale) {
    int64_t *kept;
    bf_status status = bf_check_scale(s->context, s->op, s->dtype, scale);
    if (status == BF_OK && scale < s->scale)
        status = bf_fail(s->context, BF_E_ARGUMENT, "scale %d is below that of the state, %d",
                         scale, s->scale);
    if (status == BF_OK && scale > s->scale) status = bf_state_keep(s, &kept);
    if (status != BF_OK || scale == s->scale) return status;
    if (!bf_state_rescale_words(s->op, s->dtype, s->words, scale - s->scale))
        status = bf_fail(s->context, BF_E_OVERFLOW, "%s does not hold the elements at scale %d",
                         bf_dtype_name(s->dtype), scale);
    bf_state_settle(s, kept, status);
    if (status == BF_OK) s->scale = scale;
    return status;
}

bf_status bf_state_rescale(bf_state *state, int scale) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, rescale_state(state, scale));
}

/* Copies a state to be merged with `into`, whose context and dtype it gets. */
static bf_state *copy_state(const bf_state *into, const bf_state *from) {
    const int words = bf_state_words(from->kind, into->dtype, from->words);
    bf_state *copy = malloc(sizeof *copy + (size_t)words * sizeof *copy->words);
    if (copy == NULL) return NULL;
    *copy = *from;
    copy->context = into->context;
    copy->dtype = into->dtype;
    if (into->dtype == from->dtype)
        memcpy(copy->words, from->words, bf_state_bytes(from));
    else
        bf_state_widen_words(from->op, from->dtype, from->words, copy->words);
    return copy;
}

bool bf_state_takes(const bf_state *into, const bf_state *from) {
    const bool integers = from->dtype >= BF_I8 && from->dtype <= BF_U64;
    return into->op == from->op &&
           (into->dtype == from->dtype || (into->dtype == BF_I128 && integers));
}

bf_status bf_state_align(bf_state *into, const bf_state *from,
                         bf_status apply(bf_state *into, const bf_state *from)) {
    bf_state *copy = NULL;
    bf_status status;
    if (from == NULL) return bf_fail(into->context, BF_E_ARGUMENT, "no state to merge");
    if (!bf_state_takes(into, from))
        return bf_fail(into->context, BF_E_STATE, "%s of %s does not merge with %s of %s",
                       bf_reduction_name(from->op), bf_dtype_name(from->dtype),
                       bf_reduction_name(into->op), bf_dtype_name(into->dtype));
    const bool same = into->dtype == from->dtype;
    if (into->scale > from->scale || !same) {
        copy = copy_state(into, from);
        if (copy == NULL) return bf_fail(into->context, BF_E_MEMORY, "no memory to merge");
    }
    status = into->scale > from->scale ? rescale_state(copy, into->scale)
                                       : rescale_state(into, from->scale);
    if (status == BF_OK) status = apply(into, copy != NULL ? copy : from);
    free(copy);
    return status;
}

static bf_status finish_state(const bf_state *s, bf_reduction op, const bf_reduce_options *given,
                              bf_value *value) {
    bf_reduce_options options;
    if (!bf_holds_result(s->op, op, s->dtype))
        return bf_fail(s->context, BF_E_ARGUMENT, "a state of %s does not hold the %s",
                       bf_reduction_name(s->op), bf_reduction_name(op));
    bf_status status = bf_read_reduce_options(s->context, op, BF_NONE, given, &options);
    options.scale = s->scale;
    return status == BF_OK ? bf_result(s->context, op, s->dtype, s->words, &options, value)
                           : status;
}

bf_status bf_state_result_of(const bf_state *state, bf_reduction op,
                             const bf_reduce_options *options, bf_value *value) {
    if (state == NULL || !bf_enter(state->context)) return BF_E_ARGUMENT;
    return bf_leave(state->context, finish_state(state, op, options, value));
}

bf_status bf_state_result(const bf_state *state, const bf_reduce_options *options,
                          bf_value *value) {
    if (state == NULL) return BF_E_ARGUMENT;
    return bf_state_result_of(state, state->op, options, value);
}

bf_status bf_state_describe(const bf_state *state, bf_state_info *info) {
    if (state == NULL || info == NULL) return BF_E_ARGUMENT;
    const int64_t *words = state->words, *extreme = words;
    bf_state_info found = {.op = state->op,
                           .dtype = state->dtype,
                           .count = words[0],
                           .inf = -1,
                           .scale = state->scale};
    found.next = found.count;
    switch (state->kind) {
    case BF_KIND_PRODUCT: break;
    case BF_KIND_PRODUCT_TREE:
        found.nan = words[BF_PRODUCT_TREE_NAN];
        found.inf = words[BF_PRODUCT_TREE_INF];
        found.next = words[BF_PRODUCT_TREE_END];
        break;
    case BF_KIND_EXTREME: found.nan = words[BF_EXTREME_NAN]; break;
    case BF_KIND_DESCRIPTION:
        extreme += bf_extreme_at(state->kind, state->dtype); /* fall through */
    default:
        found.nan = words[BF_SUM_NAN];
        found.inf = words[BF_SUM_POS_INF] + words[BF_SUM_NEG_INF];
        break;
    }
    if (bf_is_indexed(state->op)) found.next = extreme[BF_EXTREME_END];
    return BF_WRITE(info, &found, next) ? BF_OK : BF_E_ARGUMENT;
}
