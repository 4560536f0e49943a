/* Order statistics of lines. Of few long lines the elements that results need are found by brackets
 * (bracket.cu), and the host makes the results. Other lines, and all in a capture, are sorted, and
 * a thread makes each result. */
#include "cuda/order/bracket.cuh"
#include "cuda/order/places.cuh"
#include "cuda/runtime/mailbox.cuh"
#include "cuda/runtime/pipeline.cuh"

extern "C" {
#include "base/where.h"
}

namespace {

enum { SELECT_THREADS = 128, AT_ONCE = 32 /* fractions or positions of a launch */ };

/* Refusals: 2 * line + why, the least. */
enum { REFUSED_NAN, REFUSED_EMPTY };
static const unsigned long long NOTHING_REFUSED = ~0ull;

struct select_params {
    bf_dtype dtype, to;
    int scale;
    bool tagged;
    bf_order order;
    bf_cuda_order_lines lines;
    const void *sorted;
    bf_statistic statistic;
    int count;
    uint64_t wanted[AT_ONCE]; /* fractions, as bits, or positions */
    bf_quantile_method method;
    bf_nan_policy nan;
    bool has_empty;
    uint64_t empty;
    void *results;
    unsigned long long *refused;
};

__device__ uint64_t element_at(const select_params &p, int64_t i) {
    const int bytes = bf_dtype_bytes(p.dtype);
    return bf_load_bits((const char *)p.sorted + i * bytes, bytes);
}

/* Counts the NaNs of elements [first, first + n), which are at one end. */
__device__ int64_t count_nans(const select_params &p, int64_t first, int64_t n) {
    if (!bf_dtype_is_float(p.dtype)) return 0;
    const bf_format f = bf_format_of(p.dtype);
    const bool at_front = p.order == BF_DESCENDING;
    return bf_cuda_count_first(
        n, [&](int64_t i) { /* NaNs, from their end on */
                            return bf_is_nan(f, element_at(p, first + (at_front ? i : n - 1 - i)));
        });
}

__device__ bf_between between_of(const select_params &p, int i, int64_t numbers) {
    const bool nth = p.statistic == BF_STATISTIC_NTH,
               quantile = p.statistic == BF_STATISTIC_QUANTILE;
    double q = 0;
    if (quantile) memcpy(&q, &p.wanted[i], sizeof q);
    return bf_cuda_between(p.statistic, p.method, q, nth ? (int64_t)p.wanted[i] : 0, numbers);
}

/* Makes result i of a line whose elements are [first, first + n). */
__device__ bf_quantile_value make_result(const select_params &p, int64_t line, int i) {
    const int64_t first = p.lines.begin(line), n = p.lines.begin(line + 1) - first;
    const bool nth = p.statistic == BF_STATISTIC_NTH;
    const int64_t nans = count_nans(p, first, n);
    const bool skipped = p.nan == BF_NAN_SKIP && !nth;
    if (nans > 0 && p.nan == BF_NAN_ERROR) {
        atomicMin(p.refused, 2 * (unsigned long long)line + REFUSED_NAN);
        return bf_quantile_value_make(p.to, 0);
    }
    if (n == (skipped ? nans : 0)) {
        if (!p.has_empty) atomicMin(p.refused, 2 * (unsigned long long)line + REFUSED_EMPTY);
        return bf_quantile_value_make(p.to, p.empty);
    }
    if (!nth && nans > 0 && !skipped)
        return bf_quantile_value_make(p.to, bf_format_nan(bf_format_of(p.to)));
    const bf_between b = between_of(p, i, n - nans); /* the order of quantiles is ascending */
    const uint64_t below = element_at(p, first + b.below), above = element_at(p, first + b.above);
    return bf_quantile_make(p.dtype, p.to, p.scale, below, above, b.weight);
}

__global__ void __launch_bounds__(SELECT_THREADS) make_results(const select_params p) {
    const int64_t all = p.lines.count * p.count;
    const int bytes = bf_quantile_bytes(p.to, p.tagged);
    for (const int64_t r : bf_cuda_indices<SELECT_THREADS>(all)) {
        const int64_t line = r % p.lines.count;
        bf_quantile_store((char *)p.results + r * bytes, p.to, p.scale, p.tagged,
                          make_result(p, line, (int)(r / p.lines.count)));
    }
}

bf_status refuse(bf_context *context, bf_statistic statistic, unsigned long long refused) {
    if (refused % 2 == REFUSED_NAN) return bf_fail(context, BF_E_NAN, "NaN in the values");
    return bf_fail(context, BF_E_EMPTY, "no value: the %s of no elements (result %lld)",
                   statistic == BF_STATISTIC_MEDIAN ? "median" : "quantile",
                   (long long)(refused / 2));
}

/* --- long lines --- */

enum { RESULTS_MOST = 512 /* the most results of long lines: more are worth a sort */ };

/* The results of long lines, made by the host. */
struct long_lines {
    bf_cuda_call *call;
    const bf_cuda_order_array *array;
    const bf_selection *selection;
    char results[RESULTS_MOST * 16];
};

/* Makes result i of a line from the places of its elements. */
bf_quantile_value make_from_places(const long_lines *s, int i, int64_t numbers,
                                   const uint64_t place[2]) {
    const bf_selection *x = s->selection;
    const bf_dtype dtype = s->array->dtype;
    const uint64_t below = bf_order_element(dtype, s->array->order, place[0]);
    const uint64_t above = bf_order_element(dtype, s->array->order, place[1]);
    const double q = x->statistic == BF_STATISTIC_QUANTILE ? x->q[i] : 0;
    const bf_between b = bf_cuda_between(x->statistic, x->method, q, 0, numbers);
    return bf_quantile_make(dtype, x->to, x->scale, below, above, b.weight);
}

bool is_nan_place(const bf_cuda_order_array *array, uint64_t place) {
    const bf_cuda_coding coding = bf_cuda_coding_of(array->dtype, array->order);
    return coding.kind == BF_CUDA_FLOATS && place == coding.nan_place;
}

/* Stores `results` results of a line, from number `first` on, or refuses the line. *found becomes
 * false if a result is a NaN whose bits are not known. */
bf_status store_results(long_lines *s, int64_t line, int first, int results,
                        const uint64_t places[][2], int64_t nans, bool *found) {
    const bf_selection *x = s->selection;
    const int64_t numbers = s->array->lines.length - nans;
    const int bytes = bf_selection_bytes(x);
    const bool nth = x->statistic == BF_STATISTIC_NTH;
    bf_context *context = s->call->context;
    if (nans > 0 && x->nan == BF_NAN_ERROR)
        return refuse(context, x->statistic, 2 * (unsigned long long)line + REFUSED_NAN);
    if (numbers == 0 && x->nan == BF_NAN_SKIP && !nth && x->empty == NULL)
        return refuse(context, x->statistic, 2 * (unsigned long long)line + REFUSED_EMPTY);
    for (int i = 0; i < results; i++) {
        bf_quantile_value value = bf_quantile_value_make(x->to, 0);
        if (nth && is_nan_place(s->array, places[i][0]))
            *found = false;
        else if (nth || nans == 0 || (x->nan == BF_NAN_SKIP && numbers > 0))
            value = make_from_places(s, first + i, numbers, places[i]);
        else if (x->nan == BF_NAN_SKIP)
            value = bf_selection_empty(x);
        else
            value.bits = bf_format_nan(bf_format_of(x->to));
        bf_selection_store(x, s->results + ((first + i) * s->array->lines.count + line) * bytes,
                           value);
    }
    return BF_OK;
}

bf_status find_line(long_lines *s, int64_t line, bool *found) {
    const bf_cuda_order_array *a = s->array;
    const void *values =
        (const char *)a->values + line * a->lines.length * bf_dtype_bytes(a->dtype);
    bf_status status = BF_OK;
    for (int first = 0; first < s->selection->count && *found && status == BF_OK;
         first += BF_CUDA_BRACKETS) {
        uint64_t places[BF_CUDA_BRACKETS][2];
        int64_t nans = 0;
        const int left = s->selection->count - first;
        const int results = left < BF_CUDA_BRACKETS ? left : (int)BF_CUDA_BRACKETS;
        status = bf_cuda_order_brackets(s->call, a->dtype, a->order, values, a->lines.length,
                                        s->selection, first, results, places, &nans, found);
        if (status == BF_OK && *found)
            status = store_results(s, line, first, results, places, nans, found);
    }
    return status;
}

/* Selects from long lines, unless *found becomes false. */
bf_status select_long(bf_cuda_call *call, const bf_cuda_order_array *array,
                      const bf_selection *selection, void *results, bool *found) {
    const int64_t lines = array->lines.count, all = lines * selection->count;
    long_lines s = {call, array, selection, {}};
    bf_status status = BF_OK;
    *found = call->context->cuda->capture == 0 && array->lines.length >= BF_CUDA_BRACKET_LEAST &&
             array->lines.n == lines * array->lines.length && all <= RESULTS_MOST &&
             selection->count <= 8 * BF_CUDA_BRACKETS;
    for (int64_t l = 0; l < lines && *found && status == BF_OK; l++)
        status = find_line(&s, l, found);
    if (status != BF_OK || !*found) return status;
    const size_t bytes = (size_t)(all * bf_selection_bytes(selection));
    if (bf_where_is(results, NULL) == BF_WHERE_HOST) {
        memcpy(results, s.results, bytes);
        return BF_OK;
    }
    status = bf_cuda_copy(call->context, results, s.results, bytes);
    return status == BF_OK ? bf_cuda_wait(call->context, cudaSuccess, "order on a GPU") : status;
}

/* --- lines that are sorted --- */

/* Makes the results of all fractions or positions, which launches have with them. */
cudaError_t make_all(const bf_cuda *cuda, const bf_selection *selection, select_params p) {
    const char *wanted = selection->statistic == BF_STATISTIC_NTH
                             ? (const char *)selection->positions
                             : (const char *)selection->q;
    char *const results = (char *)p.results;
    const size_t row = (size_t)p.lines.count * (size_t)bf_selection_bytes(selection);
    for (int first = 0; first < selection->count; first += AT_ONCE) {
        const int left = selection->count - first;
        p.count = left < AT_ONCE ? left : (int)AT_ONCE;
        p.results = results + (size_t)first * row;
        if (selection->statistic != BF_STATISTIC_MEDIAN)
            memcpy(p.wanted, wanted + (size_t)first * 8, (size_t)p.count * 8);
        make_results<<<bf_cuda_blocks(cuda, p.lines.count * p.count, SELECT_THREADS),
                       SELECT_THREADS, 0, cuda->stream>>>(p);
    }
    return cudaGetLastError();
}

bf_status select_sorted(bf_cuda_call *call, const bf_cuda_order_array *array,
                        const bf_selection *selection, select_params *p) {
    bf_context *context = call->context;
    void *sorted =
        bf_cuda_call_alloc(call, (size_t)(array->lines.n * bf_dtype_bytes(array->dtype)));
    unsigned long long refused;
    if (sorted == NULL) return BF_E_MEMORY;
    bf_status status = bf_cuda_order_sort(context, array, sorted, NULL);
    if (status != BF_OK) return status;
    p->sorted = sorted;
    const cudaError_t error = make_all(context->cuda, selection, *p);
    if (array->queued) return bf_cuda_order_check(context, error);
    status = bf_cuda_fetch_words(context, error, p->refused, 1, &refused, "order on a GPU");
    if (status != BF_OK || refused == NOTHING_REFUSED) return status;
    return refuse(context, p->statistic, refused);
}

bf_status set_params(bf_cuda_call *call, const bf_cuda_order_array *array,
                     const bf_selection *selection, select_params *p) {
    *p = {};
    p->dtype = array->dtype;
    p->to = selection->to;
    p->scale = selection->scale;
    p->tagged = selection->tagged;
    p->order = array->order;
    p->lines = array->lines;
    p->statistic = selection->statistic;
    p->method = selection->method;
    p->nan = selection->nan;
    p->has_empty = selection->empty != NULL;
    if (p->has_empty) p->empty = bf_selection_empty(selection).bits;
    p->refused = (unsigned long long *)bf_cuda_call_alloc(call, sizeof *p->refused);
    if (p->refused == NULL) return BF_E_MEMORY;
    cudaError_t error =
        cudaMemsetAsync(p->refused, 0xff, sizeof *p->refused, call->context->cuda->stream);
    return bf_cuda_order_check(call->context, error);
}

} // namespace

bf_status bf_cuda_select(bf_context *context, const bf_order_lines *lines,
                         const bf_selection *selection, void *results) {
    const int bytes = bf_selection_bytes(selection);
    bf_cuda_call call;
    bf_cuda_order_array array = {};
    select_params p = {};
    bool found = false;
    bf_status status = bf_cuda_call_begin(&call, context, lines->queued);
    if (status == BF_OK) status = bf_cuda_order_reach(&call, lines, &array);
    if (status == BF_OK) status = select_long(&call, &array, selection, results, &found);
    if (found || status != BF_OK) return bf_cuda_call_end(&call, status);
    status = set_params(&call, &array, selection, &p);
    if (status == BF_OK)
        status = bf_cuda_call_write(
            &call, results, (size_t)(lines->count * selection->count * bytes), 1, &p.results);
    if (status == BF_OK) status = select_sorted(&call, &array, selection, &p);
    return bf_cuda_call_end(&call, status);
}
