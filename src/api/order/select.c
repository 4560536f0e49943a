/* Order statistics: quantiles, medians and nth elements of fibres, segments and slots. */
#include "api/order/select.h"

#include "api/axis/axis.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "base/environment.h"
#include "rules/key/rank.h"
#include "seam/memory.h"

/* ---- what is asked --------------------------------------------------------------------------- */

static bf_status check_quantiles(bf_context *context, const double q[], int m) {
    if (m < 0 || (m > 0 && q == NULL)) return bf_fail(context, BF_E_ARGUMENT, "%d quantiles", m);
    for (int i = 0; i < m; i++)
        if (!(q[i] >= 0 && q[i] <= 1))
            return bf_fail(context, BF_E_ARGUMENT, "quantile %d is %g, outside 0 to 1", i, q[i]);
    return BF_OK;
}

bf_status bf_select_open(bf_selecting *s, bf_context *context, const bf_array *array,
                         const bf_order_options *options) {
    bf_selection *x = &s->selection;
    bf_status status = bf_order_open(&s->call, context, array, NULL, options);
    if (status == BF_OK && array->dtype == BF_PAIR && x->statistic != BF_STATISTIC_NTH)
        status = bf_fail(context, BF_E_DTYPE, "pairs are no numbers: nothing lies between two");
    if (status == BF_OK && x->statistic == BF_STATISTIC_QUANTILE)
        status = check_quantiles(context, x->q, x->count);
    if (status == BF_OK && (x->count < 0 || (x->statistic == BF_STATISTIC_NTH && x->count > 0 &&
                                             x->positions == NULL)))
        status = bf_fail(context, BF_E_ARGUMENT, "%d positions", x->count);
    if (status != BF_OK) return status;
    const bf_order_options *o = &s->call.options;
    x->method = o->method;
    x->nan = o->nan;
    x->scale = o->scale;
    x->to = array->dtype;
    if (x->statistic == BF_STATISTIC_QUANTILE) x->to = bf_quantile_dtype(array->dtype, o->method);
    if (x->statistic == BF_STATISTIC_MEDIAN) x->to = bf_median_dtype(array->dtype);
    if (o->whole) x->to = array->dtype;
    s->lines = (bf_order_lines){.dtype = bf_flat_dtype(array->dtype), .order = s->call.order};
    if (x->statistic != BF_STATISTIC_NTH) s->lines.order = BF_ASCENDING;
    s->call.on_cpu = s->lines.dtype == BF_PAIR;
    return BF_OK;
}

/* Results that are told apart have a dtype each; of BF_I128 they are a bf_value, which is two
 * pairs. */
static bool is_tagged(const bf_selecting *s, const bf_array *results) {
    return s->selection.statistic != BF_STATISTIC_NTH && results->dtype == BF_PAIR;
}
static bool is_wide(const bf_selecting *s, const bf_array *results) {
    return is_tagged(s, results) && s->lines.dtype == BF_PAIR;
}
_Static_assert(sizeof(bf_value) == 32, "two pairs");

bf_status bf_select_into(bf_selecting *s, const bf_array *results) {
    bf_context *context = s->call.context;
    bf_selection *x = &s->selection;
    const bf_value *empty = s->call.options.empty;
    if (results == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the values");
    const bool selects = x->statistic != BF_STATISTIC_NTH;
    x->tagged = is_tagged(s, results);
    if (selects && results->dtype == s->call.inputs[0]->dtype) x->to = results->dtype;
    s->results = results;
    bf_status status = BF_OK;
    if (selects && empty != NULL) {
        status = bf_order_take_empty(context, x->to, empty, &s->empty);
        x->empty = &s->empty;
    }
    if (status == BF_OK)
        status = bf_order_add_output(&s->call, results, x->tagged ? BF_PAIR : x->to, "values");
    x->to = bf_flat_dtype(x->to);
    return status;
}

static int64_t count_results(const bf_selecting *s, const bf_array *results) {
    const int64_t elements = bf_array_elements(results, bf_key_bytes(results->dtype));
    return is_wide(s, results) ? elements / 2 : elements;
}

/* Checks the results: (count, kept[0..n)), without the first extent for a median, and of two pairs
 * each if they are wide. */
static bf_status check_results(bf_selecting *s, const bf_array *results, int n,
                               const int64_t kept[]) {
    bf_context *context = s->call.context;
    int64_t shape[BF_MAX_DIMS + 2] = {s->selection.count};
    int first = s->selection.statistic == BF_STATISTIC_MEDIAN ? 1 : 0;
    int end = n + 1;
    for (int d = 0; d < n; d++) shape[1 + d] = kept[d];
    if (results != NULL && is_wide(s, results)) shape[end++] = 2;
    if (results != NULL && !bf_array_has_shape(results, end - first, shape + first))
        return bf_fail(context, BF_E_SHAPE, "the values have not the shape of the result");
    return bf_select_into(s, results);
}

/* ---- running --------------------------------------------------------------------------------- */

static bool is_whole(const bf_selection *x, int64_t n) {
    const bool median = x->statistic == BF_STATISTIC_MEDIAN;
    return n == 0 || bf_quantile_whole(x->method, n, x->q, median ? 0 : x->count);
}

bf_status bf_select_check_whole(const bf_selecting *s) {
    const bf_selection *x = &s->selection;
    const bf_order_lines *lines = &s->lines;
    if (x->tagged || x->statistic == BF_STATISTIC_NTH || bf_dtype_is_float(x->to) ||
        s->call.options.whole)
        return BF_OK;
    if (x->statistic == BF_STATISTIC_QUANTILE && bf_quantile_chooses(x->method)) return BF_OK;
    bf_environment environment = bf_environment_enter();
    bool whole = lines->offsets != NULL || is_whole(x, lines->length);
    for (int64_t l = 0; lines->offsets != NULL && whole && l < lines->count; l++)
        whole = is_whole(x, lines->offsets[l + 1] - lines->offsets[l]);
    bf_environment_leave(environment);
    if (whole) return BF_OK;
    return bf_fail(s->call.context, BF_E_DTYPE, "a value lies between two elements: %s holds it",
                   bf_dtype_name(BF_F64));
}

bf_status bf_select_run(bf_selecting *s, int64_t elements) {
    bf_context *context = s->call.context;
    bf_flat results;
    int64_t bytes = bf_bytes_of(elements, bf_key_bytes(s->lines.dtype));
    bf_status status = bf_select_check_whole(s);
    if (status != BF_OK) return status;
    /* a NaN, nothing, or a cancelled call: then nothing is written */
    status = bf_flat_prepare(context, context->used, s->results, !s->lines.queued, &results);
    if (status == BF_OK && s->lines.queued)
        return context->used->order->select(context, &s->lines, &s->selection, results.data);
    if (status == BF_OK) status = bf_watch_begin(context, bytes);
    if (status == BF_OK) {
        status = context->used->order->select(context, &s->lines, &s->selection, results.data);
        status = bf_watch_end(context, status);
    }
    if (status == BF_OK) status = bf_flat_return_ordered(context, &results);
    bf_flat_release(&results);
    return status;
}

/* ---- axes ------------------------------------------------------------------------------------ */

static bf_status check_positions(bf_selecting *s) {
    const bf_selection *x = &s->selection;
    for (int i = 0; x->statistic == BF_STATISTIC_NTH && i < x->count; i++)
        if (x->positions[i] < 0 || x->positions[i] >= s->lines.length)
            return bf_fail(s->call.context, BF_E_ARGUMENT, "position %lld of %lld elements",
                           (long long)x->positions[i], (long long)s->lines.length);
    return BF_OK;
}

static bf_status check_axes(bf_selecting *s, const int axes[], int n, const bf_array *results,
                            bool named[BF_MAX_DIMS]) {
    const bf_array *array = s->call.inputs[0];
    int64_t without[BF_MAX_DIMS], with[BF_MAX_DIMS];
    int kept = 0;
    bf_status status = bf_array_read_axes(s->call.context, array, axes, n, named);
    if (status != BF_OK) return status;
    s->lines.count = s->lines.length = 1;
    bool empty = false; /* then products mean nothing */
    for (int d = 0; d < array->ndim; d++) {
        empty |= array->shape[d] == 0;
        with[d] = named[d] ? 1 : array->shape[d];
        if (!named[d]) without[kept++] = array->shape[d];
    }
    for (int d = 0; d < array->ndim; d++) {
        int64_t *extent = named[d] ? &s->lines.length : &s->lines.count;
        if (__builtin_mul_overflow(*extent, array->shape[d], extent)) *extent = empty ? 1 : -1;
    }
    bool keeps = results != NULL && kept < array->ndim &&
                 results->ndim == array->ndim + (s->selection.statistic != BF_STATISTIC_MEDIAN) +
                                      is_wide(s, results);
    status = keeps ? check_results(s, results, array->ndim, with)
                   : check_results(s, results, kept, without);
    return status == BF_OK ? check_positions(s) : status;
}

/* Results of fibres without elements. */
static bf_status select_nothing(bf_selecting *s, int64_t count) {
    int64_t *offsets = bf_calloc((size_t)count + 1, sizeof *offsets);
    if (offsets == NULL) return bf_fail(s->call.context, BF_E_MEMORY, "no memory for offsets");
    s->lines.count = count;
    s->lines.length = 0;
    s->lines.offsets = offsets;
    bf_status status = bf_select_run(s, 0);
    bf_free(offsets);
    return status;
}

/* A call on a stream goes on whatever the data are, and what is copied is waited for. */
static bf_status check_queued(bf_selecting *s, const bf_array *view) {
    bf_context *context = s->call.context;
    bf_selection *x = &s->selection;
    if (x->nan == BF_NAN_ERROR)
        return bf_fail(context, BF_E_ARGUMENT, "a quantile on a stream does not fail for a NaN");
    if (x->empty == NULL && x->to != BF_PAIR) {
        const bool is_float = bf_dtype_is_float(x->to);
        s->empty = bf_value_from_bits(x->to, is_float ? bf_format_nan(bf_format_of(x->to)) : 0);
        x->empty = &s->empty;
    }
    s->lines.queued = context->used != &bf_backend_cpu && s->lines.length > 0;
    bf_status status = bf_flat_check_queued(context, view, "lines of a quantile");
    return status == BF_OK ? bf_flat_check_queued(context, s->results, "values") : status;
}

static bf_status select_axes(bf_selecting *s, const int axes[], int n, const bf_array *results) {
    bf_context *context = s->call.context;
    const bf_array *array = s->call.inputs[0];
    bool named[BF_MAX_DIMS];
    bf_array view;
    bf_flat flat;
    bf_status status = check_axes(s, axes, n, results, named);
    const int64_t count = status == BF_OK ? count_results(s, results) : 0;
    if (count == 0) return status;
    status = bf_order_choose(&s->call, BF_ORDER_SELECTS);
    bf_order_move_axes(array, named, &view);
    if (status == BF_OK && s->queued) status = check_queued(s, &view);
    if (status != BF_OK) return status;
    if (s->lines.length == 0) return select_nothing(s, count / s->selection.count);
    status = bf_flat_take_ordered(context, context->used, &view, &flat);
    s->lines.values = flat.data;
    if (status == BF_OK) status = bf_select_run(s, flat.count);
    bf_flat_release(&flat);
    return status;
}

static bf_status select_of_axes(bf_context *context, const bf_selection *selection,
                                const bf_array *array, const int axes[], int n, bool queued,
                                const bf_order_options *options, const bf_array *results) {
    bf_selecting s = {.selection = *selection, .queued = queued};
    bf_status status = bf_select_open(&s, context, array, options);
    return status == BF_OK ? select_axes(&s, axes, n, results) : status;
}

/* ---- segments -------------------------------------------------------------------------------- */

bf_status bf_select_offsets(bf_selecting *s, const char *values, const int64_t *offsets,
                            int64_t segments, int64_t longest) {
    s->lines.values = values;
    s->lines.count = segments;
    s->lines.length = longest;
    s->lines.offsets = offsets;
    return bf_select_run(s, offsets[segments] - offsets[0]);
}

static bf_status select_segments(bf_selecting *s, const bf_array *offsets,
                                 const bf_array *results) {
    bf_context *context = s->call.context;
    const bf_array *array = s->call.inputs[0];
    int64_t *host = NULL, segments, longest, kept;
    bf_flat flat = {.copy = NULL};
    bf_status status = bf_order_check_line(context, array, "values");
    if (status == BF_OK) status = bf_axis_check_offsets(context, offsets);
    s->call.inputs[1] = offsets;
    if (status != BF_OK) return status;
    kept = offsets->shape[0] - 1;
    status = check_results(s, results, 1, &kept);
    if (status == BF_OK) status = bf_order_choose(&s->call, BF_ORDER_SELECTS);
    if (status != BF_OK) return status;
    status = bf_axis_read_offsets(context, offsets, array->shape[0], &host, &segments, &longest);
    if (status == BF_OK) status = bf_flat_take_ordered(context, context->used, array, &flat);
    if (status == BF_OK && count_results(s, results) > 0)
        status = bf_select_offsets(s, flat.data, host, segments, longest);
    bf_flat_release(&flat);
    bf_free(host);
    return status;
}

static bf_status select_of_segments(bf_context *context, const bf_selection *selection,
                                    const bf_array *array, const bf_array *offsets,
                                    const bf_order_options *options, const bf_array *results) {
    bf_selecting s = {.selection = *selection};
    bf_status status = bf_select_open(&s, context, array, options);
    return status == BF_OK ? select_segments(&s, offsets, results) : status;
}

/* ---- slots: the values are brought into the order of their slots ------------------------------
 */

typedef struct slots {
    bf_dtype dtype; /* the index's dtype */
    int64_t count, n;
    const char *index;
    char *sorted;     /* the index in order; then places */
    int64_t *order;   /* where the elements came from */
    char *values;     /* in that order */
    int64_t *offsets; /* in host memory */
    int64_t longest;
} slots;

static bf_status check_index(bf_selecting *s, const bf_array *index) {
    bf_context *context = s->call.context;
    const bf_array *array = s->call.inputs[0];
    if (index == NULL) return bf_fail(context, BF_E_ARGUMENT, "no index");
    if (bf_array_count(index) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the array of the index is not well formed");
    if (index->dtype != BF_I32 && index->dtype != BF_I64 && index->dtype != BF_U32 &&
        index->dtype != BF_U64)
        return bf_fail(context, BF_E_DTYPE, "an index has whole numbers of 32 or 64 bits, not %s",
                       bf_dtype_name(index->dtype));
    bf_status status = bf_order_check_line(context, array, "values");
    if (status == BF_OK) status = bf_order_check_line(context, index, "index");
    if (status == BF_OK && index->shape[0] != array->shape[0])
        status = bf_fail(context, BF_E_SHAPE, "there is not one index for each value");
    s->call.inputs[1] = index;
    return status;
}

/* Writes slot number i as an element of an index. */
static void set_slot(bf_dtype dtype, void *to, int64_t at, int64_t slot) {
    if (bf_dtype_bytes(dtype) == 4) {
        uint32_t x = (uint32_t)slot;
        memcpy((char *)to + 4 * at, &x, sizeof x);
    } else {
        memcpy((char *)to + 8 * at, &slot, sizeof slot);
    }
}

/* Names the first index that is no slot: the one that comes first in the index. */
static bf_status refuse_index(bf_context *context, const slots *x) {
    const bf_rows rows = {.slots = x->count, .by = BF_ROWS_BY_INDEX};
    int bytes = bf_dtype_bytes(x->dtype);
    for (int64_t i = 0; i < x->n; i++) {
        uint64_t bits = 0;
        bf_status status =
            context->used->memory->copy(context, &bits, x->index + i * bytes, (size_t)bytes);
        if (status != BF_OK) return status;
        int64_t at = bf_dtype_is_signed(x->dtype) ? bf_sign_extend(bits, 8 * bytes) : (int64_t)bits;
        if (at < 0 || at >= x->count) return bf_axis_wrong_place(context, &rows, i, at);
    }
    return bf_fail(context, BF_E_ARGUMENT, "the index changed while it was read");
}

/* Finds where slots begin in the sorted index: x->offsets. */
static bf_status find_slots(bf_context *context, slots *x) {
    const bf_backend *on = context->used;
    int bytes = bf_dtype_bytes(x->dtype);
    char *wanted = bf_alloc((size_t)bf_bytes_of(x->count + 1, bytes));
    void *places = on->memory->allocate(context, (size_t)bf_bytes_of(x->count + 1, 8));
    bf_status status = wanted != NULL && places != NULL ? BF_OK : BF_E_MEMORY;
    for (int64_t i = 0; status == BF_OK && i <= x->count; i++) set_slot(x->dtype, wanted, i, i);
    if (status == BF_OK)
        status = on->order->search(context, x->dtype, BF_ASCENDING, x->sorted, x->n, wanted,
                                   x->count + 1, false, places);
    if (status == BF_OK)
        status = on->memory->copy(context, x->offsets, places, (size_t)(x->count + 1) * 8);
    if (places != NULL) on->memory->release(context, places);
    bf_free(wanted);
    if (status != BF_OK) return status;
    if (x->offsets[0] != 0 || x->offsets[x->count] != x->n) return refuse_index(context, x);
    for (int64_t i = 0; i < x->count; i++) {
        int64_t length = x->offsets[i + 1] - x->offsets[i];
        if (length > x->longest) x->longest = length;
    }
    return BF_OK;
}

/* Sorts the index, and brings the values into its order. */
static bf_status sort_slots(bf_selecting *s, slots *x, const char *values) {
    bf_context *context = s->call.context;
    const bf_order_backend *order = context->used->order;
    const bf_order_lines line = {.dtype = x->dtype, .values = x->index, .count = 1, .length = x->n};
    bf_status status = order->sort(context, &line, x->sorted, x->order);
    if (status == BF_OK) status = find_slots(context, x);
    if (status != BF_OK) return status;
    return order->take(context, bf_key_bytes(s->lines.dtype), values, x->order, x->n, x->values);
}

static bf_status select_slots(bf_selecting *s, slots *x, const char *values) {
    bf_context *context = s->call.context;
    const bf_memory_backend *memory = context->used->memory;
    x->offsets = bf_calloc((size_t)x->count + 1, sizeof *x->offsets);
    bf_status status =
        x->offsets != NULL ? BF_OK : bf_fail(context, BF_E_MEMORY, "no memory for slots");
    if (status == BF_OK && x->n > 0) {
        size_t n = (size_t)x->n;
        x->sorted = memory->allocate(context, n * (size_t)bf_dtype_bytes(x->dtype));
        x->order = memory->allocate(context, n * sizeof(int64_t));
        x->values = memory->allocate(context, n * (size_t)bf_key_bytes(s->lines.dtype));
        bool made = x->sorted != NULL && x->order != NULL && x->values != NULL;
        status = made ? sort_slots(s, x, values) : BF_E_MEMORY;
    }
    if (status == BF_OK) status = bf_select_offsets(s, x->values, x->offsets, x->count, x->longest);
    if (x->sorted != NULL) memory->release(context, x->sorted);
    if (x->order != NULL) memory->release(context, x->order);
    if (x->values != NULL) memory->release(context, x->values);
    bf_free(x->offsets);
    return status;
}

static bf_status select_index(bf_selecting *s, const bf_array *index, const bf_array *results) {
    bf_context *context = s->call.context;
    const bf_array *array = s->call.inputs[0];
    bf_flat values = {.copy = NULL}, places = {.copy = NULL};
    bf_status status = check_index(s, index);
    if (status != BF_OK) return status;
    int axis = s->selection.statistic == BF_STATISTIC_MEDIAN ? 0 : 1;
    if (results == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the values");
    if (results->ndim != axis + 1 + is_wide(s, results))
        return bf_fail(context, BF_E_SHAPE, "the values have not the shape of the result");
    slots x = {.dtype = index->dtype, .n = index->shape[0], .count = results->shape[axis]};
    if (x.count < 0 || x.count > BF_SLOTS_MAX)
        return bf_fail(context, BF_E_ARGUMENT, "%lld slots are not 0 to 2^31", (long long)x.count);
    if (x.count == 0 && x.n > 0)
        return bf_fail(context, BF_E_ARGUMENT, "there are indices, but no slots");
    status = check_results(s, results, 1, &x.count);
    if (status != BF_OK || count_results(s, results) == 0) return status;
    status = bf_order_choose(&s->call, BF_ORDER_SORTS);
    if (status == BF_OK) status = bf_flat_take_ordered(context, context->used, array, &values);
    if (status == BF_OK)
        status = bf_flat_take(context, context->used, index->dtype, index, &places);
    x.index = places.data;
    if (status == BF_OK) status = select_slots(s, &x, values.data);
    bf_flat_release(&values);
    bf_flat_release(&places);
    return status;
}

static bf_status select_of_index(bf_context *context, const bf_selection *selection,
                                 const bf_array *array, const bf_array *index,
                                 const bf_order_options *options, const bf_array *results) {
    bf_selecting s = {.selection = *selection};
    bf_status status = bf_select_open(&s, context, array, options);
    return status == BF_OK ? select_index(&s, index, results) : status;
}

/* ---- public ---------------------------------------------------------------------------------- */

bf_status bf_quantile_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                           const double q[], int m, const bf_order_options *options,
                           const bf_array *values) {
    const bf_selection selection = bf_select_quantiles(q, m);
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    select_of_axes(context, &selection, array, axes, n, false, options, values));
}

bf_status bf_quantile_segments(bf_context *context, const bf_array *array, const bf_array *offsets,
                               const double q[], int m, const bf_order_options *options,
                               const bf_array *values) {
    const bf_selection selection = bf_select_quantiles(q, m);
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    select_of_segments(context, &selection, array, offsets, options, values));
}

bf_status bf_quantile_index(bf_context *context, const bf_array *array, const bf_array *index,
                            const double q[], int m, const bf_order_options *options,
                            const bf_array *values) {
    const bf_selection selection = bf_select_quantiles(q, m);
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, select_of_index(context, &selection, array, index, options, values));
}

bf_status bf_median_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                         const bf_order_options *options, const bf_array *values) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, select_of_axes(context, &bf_select_median, array, axes, n, false,
                                            options, values));
}

bf_status bf_quantile_axes_async(bf_context *context, const bf_array *array, const int axes[],
                                 int n, const double q[], int m, const bf_order_options *options,
                                 const bf_array *values) {
    const bf_selection selection = bf_select_quantiles(q, m);
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    select_of_axes(context, &selection, array, axes, n, true, options, values));
}

bf_status bf_median_axes_async(bf_context *context, const bf_array *array, const int axes[], int n,
                               const bf_order_options *options, const bf_array *values) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(
        context, select_of_axes(context, &bf_select_median, array, axes, n, true, options, values));
}

bf_status bf_median_segments(bf_context *context, const bf_array *array, const bf_array *offsets,
                             const bf_order_options *options, const bf_array *values) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(
        context, select_of_segments(context, &bf_select_median, array, offsets, options, values));
}

bf_status bf_median_index(bf_context *context, const bf_array *array, const bf_array *index,
                          const bf_order_options *options, const bf_array *values) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    select_of_index(context, &bf_select_median, array, index, options, values));
}

bf_status bf_nth_axes(bf_context *context, const bf_array *array, const int axes[], int n,
                      const int64_t positions[], int m, const bf_order_options *options,
                      const bf_array *values) {
    const bf_selection selection = {
        .statistic = BF_STATISTIC_NTH, .count = m, .positions = positions};
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context,
                    select_of_axes(context, &selection, array, axes, n, false, options, values));
}
