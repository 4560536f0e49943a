/* Many states: check arguments, and call the backend. */
#include "api/axis/states.h"

#include "api/axis/axis.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"
#include "base/memory.h"
#include "base/where.h"

#include <stdlib.h>

/* A chunk: an array and, for pairs, the other one. */
typedef struct chunk {
    const bf_array *a, *b;
} chunk;

/* ---- making ---------------------------------------------------------------------------------- */

bool bf_states_have(bf_reduction op) { return strcmp(bf_reduction_name(op), "?") != 0; }

static bf_status check_kind(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count) {
    if (!bf_states_have(op))
        return bf_fail(context, BF_E_ARGUMENT, "no reduction has number %d", (int)op);
    if (bf_dtype_bytes(dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)dtype);
    if (count < 0 || count > BF_SLOTS_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "%lld states: 0 to 2^31", (long long)count);
    return BF_OK;
}

/* The backend of new states. */
static const bf_backend *home_of(const bf_states *s) {
    return bf_states_on_host(s->op) ? &bf_backend_cpu : bf_place_home(s->context);
}

/* Replaces the inside by an empty one of another backend. On failure it stays. */
static bf_status make_inside(bf_states *s, const bf_backend *on) {
    void *inside = NULL;
    bf_status status = on->axis->create(s->context, s->op, s->dtype, s->count, &inside);
    if (status != BF_OK) return status;
    if (s->inside != NULL) s->on->axis->destroy(s->context, s->inside);
    s->on = on;
    s->inside = inside;
    return BF_OK;
}

/* Places a call on states with n more arrays. Empty states follow them, if they may be anywhere. */
static bf_status place_call(const bf_states *s, const bf_memory *arrays, int n) {
    if (bf_states_on_host(s->op)) {
        s->context->used = &bf_backend_cpu;
        s->context->reason = "these states are in host memory";
        return BF_OK;
    }
    const bf_demand demand = {.follows = true,
                              .home = n == 0 || s->elements > 0 ? s->on : NULL,
                              .on_host = "the states are in host memory",
                              .on_gpu = "the states are in a GPU's memory",
                              .n = n,
                              .memory = arrays};
    return bf_place(s->context, &demand);
}

bf_status bf_states_place(const bf_states *s) { return place_call(s, NULL, 0); }

/* Places a chunk; empty states move to its device. */
static bf_status place_chunk(bf_states *s, const chunk *c, const bf_array *places) {
    const bf_memory memory[3] = {bf_flat_memory(c->a), bf_flat_memory(c->b),
                                 bf_flat_memory(places)};
    bf_status status = place_call(s, memory, 3);
    return status == BF_OK && s->context->used != s->on ? make_inside(s, s->context->used) : status;
}

bf_status bf_states_make(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                         bf_states **states) {
    if (states == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the states");
    bf_status status = check_kind(context, op, dtype, count);
    if (status != BF_OK) return status;
    bf_states *made = malloc(sizeof *made);
    if (made == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for states");
    *made = (bf_states){.context = context, .op = op, .dtype = dtype, .count = count};
    status = make_inside(made, home_of(made));
    if (status == BF_OK) status = bf_states_place(made);
    if (status == BF_OK)
        *states = made;
    else
        bf_states_destroy(made);
    return status;
}

bf_status bf_states_create(bf_context *context, bf_reduction op, bf_dtype dtype, int64_t count,
                           bf_states **states) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, bf_states_make(context, op, dtype, count, states));
}

void bf_states_destroy(bf_states *states) {
    if (states == NULL) return;
    if (states->inside != NULL) states->on->axis->destroy(states->context, states->inside);
    free(states);
}

bf_status bf_states_clear(bf_states *states) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    states->on->axis->clear(states->context, states->inside);
    states->elements = 0;
    return bf_leave(states->context, BF_OK);
}

int64_t bf_states_count(const bf_states *states) { return states == NULL ? 0 : states->count; }

bf_status bf_states_describe(const bf_states *states, bf_states_info *info) {
    if (states == NULL || info == NULL) return BF_E_ARGUMENT;
    const bf_states_info found = {
        .size = sizeof found, .op = states->op, .dtype = states->dtype, .count = states->count};
    return BF_WRITE(info, &found, count) ? BF_OK : BF_E_ARGUMENT;
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Checks a chunk's arrays, and that their elements are not too many. */
static bf_status check_chunk(const bf_states *s, const chunk *c) {
    bf_context *context = s->context;
    if (c->a == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    if ((c->b != NULL) != bf_takes_pairs(s->op))
        return bf_fail(context, BF_E_ARGUMENT, "%s takes %s", bf_reduction_name(s->op),
                       bf_takes_pairs(s->op) ? "two arrays" : "one array");
    if (c->a->dtype != s->dtype)
        return bf_fail(context, BF_E_DTYPE, "the states are of %s, the array is %s",
                       bf_dtype_name(s->dtype), bf_dtype_name(c->a->dtype));
    bf_status status = bf_axis_check_arrays(context, c->a, c->b);
    if (status == BF_OK && bf_array_count(c->a) > BF_COUNT_MAX - s->elements)
        status = bf_fail(context, BF_E_OVERFLOW, "more than 2^62 elements");
    return status;
}

/* Absorbs rows of flat elements by flat places. */
static bf_status absorb_flat(bf_states *s, const bf_flat values[2], const bf_rows *rows) {
    const int64_t bytes = bf_bytes_of(values[0].count, bf_dtype_bytes(s->dtype));
    bf_status status = bf_watch_begin(s->context, bytes);
    if (status == BF_OK)
        status =
            s->on->axis->absorb(s->context, s->inside, 0, values[0].data, values[1].data, rows);
    if (status == BF_OK) s->elements += values[0].count;
    return bf_watch_end(s->context, status);
}

/* Absorbs the rows of a checked chunk; places: NULL, or those of the rows. */
static bf_status absorb_rows(bf_states *s, const chunk *c, const bf_array *places, bf_rows *rows) {
    bf_flat values[2] = {{.copy = NULL}}, at = {.copy = NULL};
    bf_status status = place_chunk(s, c, places);
    if (status != BF_OK) return status;
    status = bf_flat_take(s->context, s->on, s->dtype, c->a, &values[0]);
    if (status == BF_OK) status = bf_flat_take(s->context, s->on, s->dtype, c->b, &values[1]);
    if (status == BF_OK && places != NULL)
        status = bf_flat_take(s->context, s->on, rows->places_dtype, places, &at);
    rows->places = at.data;
    if (status == BF_OK) status = absorb_flat(s, values, rows);
    bf_flat_release(&values[0]);
    bf_flat_release(&values[1]);
    bf_flat_release(&at);
    return status;
}

/* Views the array with its reduced axes together: after the kept ones before the last of them. Its
 * rows then are these reduced axes' indices, and fibres are numbered in C order. */
static bf_array gather_axes(const bf_array *array, const bool reduced[BF_MAX_DIMS], bf_rows *rows) {
    bf_array view = *array;
    int last = -1, n = 0;
    *rows = (bf_rows){.by = BF_ROWS_BY_LENGTH, .slots = 1, .width = 1, .length = 1};
    for (int d = 0; d < array->ndim; d++)
        if (reduced[d]) last = d;
    for (int turn = 0; turn < 3; turn++) {
        int64_t *extent = turn == 0 ? &rows->slots : turn == 1 ? &rows->length : &rows->width;
        for (int d = 0; d < array->ndim; d++) {
            if (turn != (reduced[d] ? 1 : d < last ? 0 : 2)) continue;
            view.shape[n] = array->shape[d];
            view.strides[n++] = array->strides[d];
            *extent *= array->shape[d];
        }
    }
    rows->count = rows->slots * rows->length;
    return view;
}

static bf_status absorb_axes(bf_states *s, chunk c, const int axes[], int n) {
    const bf_array *array = c.a;
    bool reduced[BF_MAX_DIMS];
    int64_t fibres = 1;
    bf_rows rows;
    bf_status status = check_chunk(s, &c);
    if (status == BF_OK) status = bf_array_read_axes(s->context, array, axes, n, reduced);
    if (status != BF_OK) return status;
    for (int d = 0; d < array->ndim; d++)
        if (!reduced[d] && __builtin_mul_overflow(fibres, array->shape[d], &fibres)) fibres = -1;
    if (fibres != s->count)
        return bf_fail(s->context, BF_E_SHAPE, "there are %lld fibres, and %lld states",
                       (long long)fibres, (long long)s->count);
    if (bf_array_count(array) == 0) return BF_OK;
    const bf_array view = gather_axes(array, reduced, &rows);
    if (c.b == NULL) return absorb_rows(s, &(chunk){&view, NULL}, NULL, &rows);
    const bf_array other = gather_axes(c.b, reduced, &rows);
    return absorb_rows(s, &(chunk){&view, &other}, NULL, &rows);
}

/* Rows without elements have no states, and so any number of slots. */
static int64_t count_slots(const bf_states *s, const bf_array *places, bf_rows_by by,
                           int64_t width) {
    if (width > 0) return s->count / width;
    const bool any = by == BF_ROWS_BY_OFFSETS && places != NULL && places->ndim == 1;
    return any && places->shape[0] > 0 ? places->shape[0] - 1 : 0;
}

static bf_status absorb_placed(bf_states *s, chunk c, const bf_array *places, bf_rows_by by) {
    bf_context *context = s->context;
    const bf_array *array = c.a;
    bf_rows rows;
    int64_t width = 1;
    bf_status status = check_chunk(s, &c);
    if (status != BF_OK) return status;
    for (int d = 1; d < array->ndim; d++)
        if (__builtin_mul_overflow(width, array->shape[d], &width)) width = 0;
    if (width == 0 ? s->count != 0 : s->count % width != 0)
        return bf_fail(context, BF_E_SHAPE, "%lld states are no multiple of the %lld in a row",
                       (long long)s->count, (long long)width);
    const int64_t slots = count_slots(s, places, by, width);
    status = bf_axis_read_rows(context, array, places, by, slots, &rows);
    if (status != BF_OK || width == 0) return status;
    if (by == BF_ROWS_BY_INDEX && s->count == 0 && rows.count > 0)
        return bf_fail(context, BF_E_ARGUMENT, "there are indices, but no states");
    return s->count > 0 ? absorb_rows(s, &c, places, &rows) : BF_OK;
}

bf_status bf_states_absorb_axes(bf_states *states, const bf_array *array, const int axes[], int n) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, absorb_axes(states, (chunk){array, NULL}, axes, n));
}

bf_status bf_states_absorb_segments(bf_states *states, const bf_array *array,
                                    const bf_array *offsets) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context,
                    absorb_placed(states, (chunk){array, NULL}, offsets, BF_ROWS_BY_OFFSETS));
}

bf_status bf_states_absorb_index(bf_states *states, const bf_array *array, const bf_array *index) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context,
                    absorb_placed(states, (chunk){array, NULL}, index, BF_ROWS_BY_INDEX));
}

bf_status bf_states_absorb_pair_axes(bf_states *states, const bf_array *a, const bf_array *b,
                                     const int axes[], int n) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, absorb_axes(states, (chunk){a, b}, axes, n));
}

bf_status bf_states_absorb_pair_segments(bf_states *states, const bf_array *a, const bf_array *b,
                                         const bf_array *offsets) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context,
                    absorb_placed(states, (chunk){a, b}, offsets, BF_ROWS_BY_OFFSETS));
}

bf_status bf_states_absorb_pair_index(bf_states *states, const bf_array *a, const bf_array *b,
                                      const bf_array *index) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, absorb_placed(states, (chunk){a, b}, index, BF_ROWS_BY_INDEX));
}

/* ---- indices --------------------------------------------------------------------------------- */

static bf_status seek_states(bf_states *s, const bf_array *next) {
    bf_flat at;
    if (next == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no indices");
    if (bf_array_count(next) != s->count)
        return bf_fail(s->context, BF_E_SHAPE, "there are %lld indices, and %lld states",
                       (long long)bf_array_count(next), (long long)s->count);
    if (!bf_is_indexed(s->op) && s->op != BF_PROD)
        return bf_fail(s->context, BF_E_ARGUMENT, "%s has no indices", bf_reduction_name(s->op));
    bf_status status = bf_states_place(s);
    if (status == BF_OK) status = bf_flat_take(s->context, s->on, BF_I64, next, &at);
    if (status != BF_OK) return status;
    const bool ordered = bf_kind_of(s->op, s->dtype) != BF_KIND_PRODUCT;
    if (ordered && s->count > 0)
        status = s->on->axis->seek(s->context, s->inside, (const int64_t *)at.data);
    bf_flat_release(&at);
    return status;
}

bf_status bf_states_seek(bf_states *states, const bf_array *next) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, seek_states(states, next));
}

/* ---- merging --------------------------------------------------------------------------------- */

enum { BATCH_BYTES = 1 << 20 /* so many bytes of the words are in memory at a time */ };

int64_t bf_states_batch(const bf_states *s) {
    const int64_t each = 8 * bf_states_words(s->op, s->dtype);
    const int64_t most = BATCH_BYTES / each;
    return most < s->count ? most : s->count;
}

/* Are both in one device's memory? */
static bool share_memory(const bf_states *a, const bf_states *b) {
    return a->on == b->on && (a->on == &bf_backend_cpu || a->context->gpu == b->context->gpu);
}

/* Adds the words of `from` to an empty inside on the device of `into`. */
static bf_status copy_states(const bf_states *into, const bf_states *from, void *inside) {
    const int64_t batch = bf_states_batch(from);
    const int each = bf_states_words(from->op, from->dtype);
    int64_t *words = bf_alloc((size_t)(batch * each) * sizeof *words);
    bf_status status = BF_OK;
    if (words == NULL) return bf_fail(into->context, BF_E_MEMORY, "no memory to merge");
    for (int64_t at = 0; at < from->count && status == BF_OK; at += batch) {
        const int64_t n = from->count - at < batch ? from->count - at : batch;
        status = from->on->axis->words(from->context, from->inside, at, n, words);
        if (status == BF_OK)
            status = into->on->axis->add_words(into->context, inside, at, n, words);
    }
    bf_free(words);
    return status;
}

/* Copies the states to the device of `into`, then merges the copy. */
static bf_status merge_from_afar(bf_states *into, const bf_states *from) {
    const bf_axis_backend *by = into->on->axis;
    void *copy = NULL;
    bf_status status = by->create(into->context, into->op, into->dtype, into->count, &copy);
    if (status != BF_OK) return status;
    status = copy_states(into, from, copy);
    if (status == BF_OK) status = by->merge(into->context, into->inside, copy);
    by->destroy(into->context, copy);
    return status;
}

/* Merges states, or (append) those whose indices follow. */
static bf_status merge_states(bf_states *into, const bf_states *from, bool append) {
    bf_context *context = into->context;
    append = append && bf_states_on_host(into->op);
    if (into->op != from->op || into->dtype != from->dtype || into->count != from->count)
        return bf_fail(context, BF_E_STATE, "states of another op, dtype or number");
    if (from->elements > BF_COUNT_MAX - into->elements)
        return bf_fail(context, BF_E_OVERFLOW, "more than 2^62 elements");
    if (from->elements == 0 || into->count == 0) return BF_OK;
    bf_status status = bf_states_place(into);
    if (status == BF_OK && append)
        status = into->on->axis->append(context, into->inside, from->inside);
    else if (status == BF_OK)
        status = share_memory(into, from)
                     ? into->on->axis->merge(context, into->inside, from->inside)
                     : merge_from_afar(into, from);
    if (status == BF_OK) into->elements += from->elements;
    return status;
}

bf_status bf_states_merge(bf_states *into, const bf_states *from) {
    if (into == NULL || from == NULL || !bf_enter_both(into->context, from->context))
        return BF_E_ARGUMENT;
    return bf_leave_both(into->context, from->context, merge_states(into, from, false));
}

bf_status bf_states_append(bf_states *into, const bf_states *from) {
    if (into == NULL || from == NULL || !bf_enter_both(into->context, from->context))
        return BF_E_ARGUMENT;
    return bf_leave_both(into->context, from->context, merge_states(into, from, true));
}

/* ---- what follows ---------------------------------------------------------------------------- */

bf_status bf_states_follow(const bf_states *s, const bf_array *array, int axis,
                           const bf_array *offsets, bf_states **next) {
    const chunk c = {array, NULL};
    bf_states *made = NULL;
    bf_status status = bf_states_make(s->context, s->op, s->dtype, s->count, &made);
    if (status == BF_OK) status = merge_states(made, s, false);
    if (status == BF_OK)
        status = offsets != NULL ? absorb_placed(made, c, offsets, BF_ROWS_BY_OFFSETS)
                                 : absorb_axes(made, c, &axis, 1);
    if (status == BF_OK)
        *next = made;
    else
        bf_states_destroy(made);
    return status;
}

void bf_states_replace(bf_states *s, bf_states *next) {
    const bf_states old = *s;
    *s = *next;
    *next = old;
    bf_states_destroy(next);
}

/* ---- results --------------------------------------------------------------------------------- */

bf_status bf_states_check_output(const bf_states *s, const bf_array *array) {
    const int64_t count = bf_array_count(array);
    if (count != s->count)
        return bf_fail(s->context, BF_E_SHAPE, "the array has %lld elements, for %lld states",
                       (long long)count, (long long)s->count);
    if (bf_states_on_host(s->op) && bf_where_is(array->data, NULL) == BF_WHERE_DEVICE)
        return bf_fail(s->context, BF_E_DEVICE, "memory of a GPU, and these states are the host's");
    return BF_OK;
}

/* Checks an array for one element of each state, and sets the call's output. */
static bf_status set_output(const bf_states *s, bf_axis_call *call, const bf_array *values,
                            const bf_array *fits) {
    if (values == NULL) return bf_fail(s->context, BF_E_ARGUMENT, "no place for the values");
    bf_status status = bf_axis_set_outputs(call, values, fits);
    if (status == BF_OK) status = bf_states_check_output(s, values);
    if (status == BF_OK) status = bf_states_place(s);
    return status == BF_OK ? bf_axis_prepare(call, s->elements, true) : status;
}

static bf_status write_results(bf_states *s, bf_reduction op, const bf_reduce_options *options,
                               const bf_array *values, const bf_array *fits) {
    bf_axis_call call = {.context = s->context};
    if (s->op == BF_DESCRIBE)
        return bf_fail(s->context, BF_E_ARGUMENT, "descriptions have several values each");
    if (!bf_holds_result(s->op, op, s->dtype))
        return bf_fail(s->context, BF_E_ARGUMENT, "states of %s do not hold the %s",
                       bf_reduction_name(s->op), bf_reduction_name(op));
    bf_status status = bf_axis_read_options(&call, op, s->dtype, options);
    if (status != BF_OK) return status;
    status = set_output(s, &call, values, fits);
    if (status == BF_OK && s->count > 0) {
        status = bf_watch_begin(s->context, 0);
        if (status == BF_OK) status = s->on->axis->result(s->context, s->inside, op, &call.results);
        status = bf_watch_end(s->context, status);
    }
    return bf_axis_finish(&call, status);
}

static bf_status write_counts(bf_states *s, const bf_array *counts) {
    bf_axis_call call = {.context = s->context, .operands = {.op = BF_SUM, .dtype = BF_I64}};
    call.results.to = BF_I64;
    bf_status status = set_output(s, &call, counts, NULL);
    if (status == BF_OK && s->count > 0)
        status = s->on->axis->counts(s->context, s->inside, call.results.values);
    return bf_axis_finish(&call, status);
}

bf_status bf_states_result_of(bf_states *states, bf_reduction op, const bf_reduce_options *options,
                              const bf_array *values, const bf_array *fits) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, write_results(states, op, options, values, fits));
}

bf_status bf_states_result(bf_states *states, const bf_reduce_options *options,
                           const bf_array *values, const bf_array *fits) {
    if (states == NULL) return BF_E_ARGUMENT;
    return bf_states_result_of(states, states->op, options, values, fits);
}

bf_status bf_states_counts(bf_states *states, const bf_array *counts) {
    if (states == NULL || !bf_enter(states->context)) return BF_E_ARGUMENT;
    return bf_leave(states->context, write_counts(states, counts));
}
