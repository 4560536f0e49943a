/* Sorting streams: the calls on a bf_sorter. */
#include "api/order/order.h"
#include "api/order/sorter.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"
#include "rules/key/rank.h"

/* ---- creating -------------------------------------------------------------------------------- */

static bf_status read_options(bf_context *context, const bf_sorter_options *given,
                              bf_sorter_options *o) {
    *o = (bf_sorter_options){.size = sizeof *o};
    if (given == NULL || !BF_READ(o, given, memory))
        return bf_fail(context, BF_E_ARGUMENT,
                       "bf_sorter_options: size is not set, or from a newer version");
    if (bf_key_bytes(o->dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)o->dtype);
    if (o->memory < 0)
        return bf_fail(context, BF_E_ARGUMENT, "a sorter in %lld bytes of memory",
                       (long long)o->memory);
    return BF_OK;
}

static bf_status create_sorter(bf_context *context, const bf_sorter_options *options,
                               bf_sorter **sorter) {
    bf_sorter_options o;
    bf_order_options read;
    if (sorter == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the sorter");
    *sorter = NULL;
    bf_status status = read_options(context, options, &o);
    const bf_order_options order = {
        .size = sizeof order, .descending = o.descending && !o.different, .nan = o.nan};
    if (status == BF_OK) status = bf_order_read_options(context, o.dtype, &order, &read);
    if (status != BF_OK) return status;
    bf_sorter *s = bf_alloc(sizeof *s);
    if (s == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for a sorter");
    const bf_order_plan plan = {.context = context,
                                .dtype = bf_flat_dtype(o.dtype),
                                .order = bf_order_of(&read),
                                .different = o.different != 0,
                                .beside = o.beside != 0};
    bf_sorter_open(s, &plan, o.nan, o.memory);
    s->dtype = o.dtype;
    *sorter = s;
    return BF_OK;
}

bf_status bf_sorter_create(bf_context *context, const bf_sorter_options *options,
                           bf_sorter **sorter) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, create_sorter(context, options, sorter));
}

void bf_sorter_destroy(bf_sorter *sorter) {
    if (sorter == NULL) return;
    bf_sorter_close(sorter);
    bf_free(sorter);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bf_context *context_of(const bf_sorter *s) { return s == NULL ? NULL : s->plan.context; }

static bf_status check_state(const bf_sorter *s) {
    if (s->failed)
        return bf_fail(s->plan.context, BF_E_STATE, "a call on the sorter failed before");
    return BF_OK;
}

/* Keeps a failure that has lost elements. */
static bf_status keep_failure(bf_sorter *s, bool lost, bf_status status) {
    s->failed |= lost && status != BF_OK;
    return status;
}

static bf_status check_beside(const bf_sorter *s, const bf_array *values, const bf_array *beside) {
    bf_context *context = s->plan.context;
    if (beside == NULL) return BF_OK;
    if (!s->plan.beside)
        return bf_fail(context, BF_E_ARGUMENT, "nothing goes with the elements of this sorter");
    if (beside->dtype != BF_I64)
        return bf_fail(context, BF_E_DTYPE, "what goes with elements is i64, not %s",
                       bf_dtype_name(beside->dtype));
    return bf_check_same_shape(context, values, beside);
}

static bf_status check_added(const bf_sorter *s, const bf_array *values, const bf_array *beside,
                             int64_t *count) {
    bf_context *context = s->plan.context;
    if (values == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    if (values->dtype != s->dtype)
        return bf_fail(context, BF_E_DTYPE, "%s data for a sorter of %s",
                       bf_dtype_name(values->dtype), bf_dtype_name(s->dtype));
    *count = bf_array_elements(values, bf_key_bytes(values->dtype));
    if (*count < 0) return bf_fail(context, BF_E_ARGUMENT, "the array is not well formed");
    const bf_status status = check_beside(s, values, beside);
    if (status != BF_OK) return status;
    if (s->ended) return bf_fail(context, BF_E_STATE, "the sorter gives its elements already");
    if (*count > BF_COUNT_MAX - s->added)
        return bf_fail(context, BF_E_OVERFLOW, "more than 2^62 elements");
    return BF_OK;
}

static bf_status refuse_nans(bf_context *context, void *arg, const void *const data[2],
                             int64_t count) {
    const bf_sorter *s = arg;
    return bf_order_find_nan(context, s->dtype, data[0], count);
}

static bf_status take_numbers(bf_context *context, void *arg, const void *const data[2],
                              int64_t count) {
    (void)context;
    return bf_sorter_take(arg, data[0], data[1], count);
}

/* Takes elements of BF_I128 as the pairs that order as they do. */
static bf_status take_wide(bf_context *context, void *arg, const void *const data[2],
                           int64_t count) {
    enum { SOME = 256 };
    uint64_t pairs[2 * SOME];
    bf_status status = BF_OK;
    for (int64_t at = 0, n; at < count && status == BF_OK; at += n) {
        n = count - at < SOME ? count - at : SOME;
        for (int64_t i = 0; i < n; i++)
            bf_pair_of_i128(bf_load_i128((const char *)data[0] + 16 * (at + i)), pairs + 2 * i);
        const void *beside = data[1] == NULL ? NULL : (const char *)data[1] + 8 * at;
        status = bf_sorter_take(arg, pairs, beside, n);
    }
    (void)context;
    return status;
}

static bf_status add_elements(bf_sorter *s, const bf_array *values, const bf_array *beside,
                              int64_t count) {
    bf_context *context = s->plan.context;
    bf_array elements = *values;
    if (values->dtype == BF_PAIR) elements.dtype = BF_I128; /* they are as wide */
    const bf_array *const arrays[2] = {&elements, beside};
    bf_status status = BF_OK;
    if (s->nan == BF_NAN_ERROR && bf_dtype_is_float(s->dtype))
        status = bf_array_walk(context, arrays, 1, count, true, refuse_nans, s);
    if (status != BF_OK) return status;
    bf_take_piece take = s->dtype == BF_I128 ? take_wide : take_numbers;
    const int arity = beside == NULL ? 1 : 2;
    const int64_t before = s->added;
    status = bf_array_walk(context, arrays, arity, count, false, take, s);
    return keep_failure(s, s->added != before, status);
}

/* Chooses the CPU; refuses arrays (NULL: none) that it does not reach. */
static bf_status place_arrays(const bf_sorter *s, const bf_array *values, const bf_array *beside) {
    const bf_memory memory[] = {bf_flat_memory(values), bf_flat_memory(beside)};
    const bf_demand demand = {.share = BF_ORDER_SORTS,
                              .n = 2,
                              .memory = memory,
                              .cpu = true,
                              .on_host = "the CPU sorts streams"};
    return bf_place(s->plan.context, &demand);
}

static bf_status add_array(bf_sorter *s, const bf_array *values, const bf_array *beside) {
    int64_t count = 0;
    bf_status status = check_state(s);
    if (status == BF_OK) status = check_added(s, values, beside, &count);
    if (status != BF_OK || count == 0) return status;
    status = place_arrays(s, values, beside);
    return status == BF_OK ? add_elements(s, values, beside, count) : status;
}

bf_status bf_sorter_add(bf_sorter *sorter, const bf_array *values, const bf_array *beside) {
    if (!bf_enter(context_of(sorter))) return BF_E_ARGUMENT;
    return bf_leave(sorter->plan.context, add_array(sorter, values, beside));
}

/* ---- giving ---------------------------------------------------------------------------------- */

static bf_status end_adding(bf_sorter *s, int64_t *count) {
    bf_status status = check_state(s);
    if (status == BF_OK && !s->ended) {
        status = place_arrays(s, NULL, NULL);
        if (status == BF_OK) status = keep_failure(s, true, bf_sorter_finish(s));
    }
    if (status == BF_OK && count != NULL) *count = s->count;
    return status;
}

bf_status bf_sorter_end(bf_sorter *sorter, int64_t *count) {
    if (!bf_enter(context_of(sorter))) return BF_E_ARGUMENT;
    return bf_leave(sorter->plan.context, end_adding(sorter, count));
}

static bf_status check_output(const bf_sorter *s, const bf_array *array, bf_dtype dtype,
                              const char *name, int64_t *length) {
    bf_context *context = s->plan.context;
    if (array == NULL) return BF_OK;
    bf_status status = bf_flat_check(context, array, dtype, name);
    if (status == BF_OK) status = bf_order_check_line(context, array, name);
    if (status == BF_OK && *length >= 0 && array->shape[0] != *length)
        status = bf_fail(context, BF_E_SHAPE, "the outputs have not one length");
    if (status == BF_OK) *length = array->shape[0];
    return status;
}

static bf_status check_outputs(const bf_sorter *s, const bf_array *values, const bf_array *beside,
                               int64_t *length) {
    bf_context *context = s->plan.context;
    *length = -1;
    bf_status status = check_output(s, values, s->dtype, "values", length);
    if (status == BF_OK) status = check_output(s, beside, BF_I64, "numbers", length);
    if (status != BF_OK) return status;
    if (*length < 0)
        return bf_fail(context, BF_E_ARGUMENT, "neither values nor what is beside them is wanted");
    if (beside != NULL && !s->plan.beside)
        return bf_fail(context, BF_E_ARGUMENT, "nothing goes with the elements of this sorter");
    if (bf_arrays_overlap(values, beside))
        return bf_fail(context, BF_E_ARGUMENT, "two outputs share memory");
    return BF_OK;
}

/* Writes elements to checked outputs. */
static bf_status give_arrays(bf_sorter *s, const bf_array *const outputs[2], int64_t length,
                             int64_t *n) {
    bf_context *context = s->plan.context;
    bf_order_outputs o = {.cut = {{.data = NULL}}};
    bf_status status = bf_order_prepare(context, outputs, length, false, &o);
    if (status == BF_OK)
        status =
            keep_failure(s, true, bf_sorter_give(s, o.flat[0].data, o.flat[1].data, length, n));
    return bf_order_return(context, outputs, *n, &o, status);
}

static bf_status give_next(bf_sorter *s, const bf_array *values, const bf_array *beside,
                           int64_t *n) {
    const bf_array *const outputs[2] = {values, beside};
    int64_t length;
    if (n == NULL)
        return bf_fail(s->plan.context, BF_E_ARGUMENT, "no place for the number of elements");
    *n = 0;
    bf_status status = check_state(s);
    if (status == BF_OK) status = check_outputs(s, values, beside, &length);
    if (status == BF_OK) status = place_arrays(s, values, beside);
    if (status == BF_OK) status = end_adding(s, NULL);
    if (status != BF_OK || length == 0) return status;
    return give_arrays(s, outputs, length, n);
}

bf_status bf_sorter_next(bf_sorter *sorter, const bf_array *values, const bf_array *beside,
                         int64_t *n) {
    if (!bf_enter(context_of(sorter))) return BF_E_ARGUMENT;
    return bf_leave(sorter->plan.context, give_next(sorter, values, beside, n));
}
