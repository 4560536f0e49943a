/* Order statistics of lines: the lines are sorted, and a thread makes each result. */
#include "cuda/order/places.cuh"
#include "cuda/runtime/mailbox.cuh"

#include "rules/order/quantile.h"

namespace {

enum { THREADS = 128 };

/* Refusals: 2 * line + why, the least. */
enum { REFUSED_NAN, REFUSED_EMPTY };
static const unsigned long long NOTHING_REFUSED = ~0ull;

struct select_params {
    bf_dtype dtype, to;
    bf_order order;
    bf_cuda_order_lines lines;
    const void *sorted;
    bf_statistic statistic;
    int count;
    const uint64_t *wanted; /* percents, as bits, or positions */
    bf_quantile_method method;
    bf_nan_policy nan;
    bool has_empty;
    uint64_t empty;
    void *results;
    unsigned long long *refused;
};

/* A line in order: its numbers are elements [numbers, numbers + n), NaNs are before or after. */
struct sorted_line {
    const char *elements;
    int64_t length, numbers, n;
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
    int64_t low = 0, high = n; /* NaNs, from their end on */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (bf_is_nan(f, element_at(p, first + (at_front ? middle : n - 1 - middle))))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

__device__ bf_between between_of(const select_params &p, int i, int64_t numbers) {
    if (p.statistic == BF_STATISTIC_MEDIAN) return bf_median_between(numbers);
    return bf_quantile_between(p.method, numbers, bf_number_of_bits(p.wanted[i]));
}

/* Makes result i of a line whose elements are [first, first + n). Returns its bits. */
__device__ uint64_t make_result(const select_params &p, int64_t line, int i) {
    const int64_t first = p.lines.begin(line), n = p.lines.begin(line + 1) - first;
    const bool nth = p.statistic == BF_STATISTIC_NTH;
    const int64_t nans = count_nans(p, first, n);
    const bool skipped = p.nan == BF_NAN_SKIP && !nth;
    if (nans > 0 && p.nan == BF_NAN_ERROR) {
        atomicMin(p.refused, 2 * (unsigned long long)line + REFUSED_NAN);
        return 0;
    }
    if (n == (skipped ? nans : 0)) {
        if (!p.has_empty) atomicMin(p.refused, 2 * (unsigned long long)line + REFUSED_EMPTY);
        return p.empty;
    }
    if (nth) return bf_quantile_element(p.dtype, element_at(p, first + (int64_t)p.wanted[i]));
    if (nans > 0 && !skipped) return bf_format_nan(bf_format_of(p.to));
    const bf_between b = between_of(p, i, n - nans); /* the order is ascending */
    const uint64_t below = element_at(p, first + b.below), above = element_at(p, first + b.above);
    if (p.statistic == BF_STATISTIC_MEDIAN) return bf_median_bits(p.dtype, below, above);
    return bf_quantile_bits(p.dtype, p.method, below, above, b.weight);
}

__global__ void __launch_bounds__(THREADS) make_results(const select_params p) {
    const int64_t all = p.lines.count * p.count;
    const int bytes = bf_dtype_bytes(p.to);
    for (int64_t r = (int64_t)blockIdx.x * THREADS + threadIdx.x; r < all;
         r += (int64_t)gridDim.x * THREADS) {
        const int64_t line = r % p.lines.count;
        bf_store_bits((char *)p.results + r * bytes, bytes,
                      make_result(p, line, (int)(r / p.lines.count)));
    }
}

bf_status refuse(bf_context *context, unsigned long long refused) {
    const long long line = (long long)(refused / 2);
    if (refused % 2 == REFUSED_NAN)
        return bf_fail(context, BF_E_NAN, "NaN in the values of result %lld", line);
    return bf_fail(context, BF_E_EMPTY, "result %lld has no values", line);
}

/* Copies the percents or positions to the GPU. */
bf_status copy_wanted(bf_cuda_order_call *call, const bf_selection *selection, select_params *p) {
    const void *from = selection->statistic == BF_STATISTIC_NTH ? (const void *)selection->positions
                                                                : (const void *)selection->percents;
    const void *at = NULL;
    if (selection->statistic == BF_STATISTIC_MEDIAN) return BF_OK;
    bf_status status = bf_cuda_order_read(call, from, (size_t)selection->count * 8, 8, &at);
    p->wanted = (const uint64_t *)at;
    return status;
}

bf_status select_sorted(bf_cuda_order_call *call, const bf_cuda_order_array *array,
                        const bf_selection *selection, select_params *p) {
    bf_context *context = call->context;
    const int64_t results = array->lines.count * selection->count;
    void *sorted =
        bf_cuda_order_alloc(call, (size_t)(array->lines.n * bf_dtype_bytes(array->dtype)));
    unsigned long long refused;
    if (sorted == NULL) return BF_E_MEMORY;
    bf_status status = bf_cuda_order_sort(context, array, sorted, NULL);
    if (status != BF_OK) return status;
    p->sorted = sorted;
    make_results<<<bf_cuda_order_blocks(context, results, THREADS), THREADS, 0,
                   context->cuda->stream>>>(*p);
    status =
        bf_cuda_fetch_words(context, cudaGetLastError(), p->refused, 1, &refused, "order on a GPU");
    if (status != BF_OK || refused == NOTHING_REFUSED) return status;
    return refuse(context, refused);
}

bf_status set_params(bf_cuda_order_call *call, const bf_cuda_order_array *array,
                     const bf_selection *selection, select_params *p) {
    *p = {};
    p->dtype = array->dtype;
    p->to = selection->to;
    p->order = array->order;
    p->lines = array->lines;
    p->statistic = selection->statistic;
    p->count = selection->count;
    p->method = selection->method;
    p->nan = selection->nan;
    p->has_empty = selection->empty != NULL;
    if (p->has_empty)
        memcpy(&p->empty, &selection->empty->as, (size_t)bf_dtype_bytes(selection->to));
    p->refused = (unsigned long long *)bf_cuda_order_alloc(call, sizeof *p->refused);
    if (p->refused == NULL) return BF_E_MEMORY;
    cudaError_t error =
        cudaMemsetAsync(p->refused, 0xff, sizeof *p->refused, call->context->cuda->stream);
    bf_status status = bf_cuda_order_check(call->context, error);
    return status == BF_OK ? copy_wanted(call, selection, p) : status;
}

} // namespace

bf_status bf_cuda_select(bf_context *context, const bf_order_lines *lines,
                         const bf_selection *selection, void *results) {
    const int bytes = bf_dtype_bytes(selection->to);
    bf_cuda_order_call call;
    bf_cuda_order_array array = {};
    select_params p = {};
    bf_status status = bf_cuda_order_begin(&call, context);
    if (status == BF_OK) status = bf_cuda_order_reach(&call, lines, &array);
    if (status == BF_OK) status = set_params(&call, &array, selection, &p);
    if (status == BF_OK)
        status = bf_cuda_order_write(
            &call, results, (size_t)(lines->count * selection->count * bytes), 1, &p.results);
    if (status == BF_OK) status = select_sorted(&call, &array, selection, &p);
    return bf_cuda_order_end(&call, status);
}
