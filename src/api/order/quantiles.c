/* Quantiles of data that are read again: objects, passes, merging, results. */
#include "api/order/quantiles.h"

#include "api/order/order.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/sized.h"
#include "base/environment.h"
#include "rules/key/rank.h"
#include "rules/reduce/result.h"
#include "seam/memory.h"

#include <stdlib.h>

enum { COPIED = 1 << 20 }; /* bytes that come from a GPU at a time */

/* ---- objects --------------------------------------------------------------------------------- */

static bf_status no_memory(bf_context *context) {
    return bf_fail(context, BF_E_MEMORY, "no memory for quantiles");
}

bf_status bf_quantiles_allocate(bf_context *context, const bf_quantiles *like,
                                bf_quantiles **quantiles) {
    bf_quantiles *q = bf_alloc(sizeof *q);
    uint64_t *words = bf_zeros(BF_TALLY_WORDS * sizeof *words);
    if (q == NULL || words == NULL) {
        bf_free(q);
        bf_free(words);
        return no_memory(context);
    }
    *q = *like;
    q->context = context;
    q->tally.words = words;
    *quantiles = q;
    return BF_OK;
}

static bf_status check_q(bf_context *context, const double q[], int m) {
    if (m < 0 || m > BF_QUANTILES_MAX || (m > 0) != (q != NULL))
        return bf_fail(context, BF_E_ARGUMENT, "%d quantiles: there may be 1 to %d", m,
                       BF_QUANTILES_MAX);
    for (int i = 0; i < m; i++)
        if (!(q[i] >= 0 && q[i] <= 1))
            return bf_fail(context, BF_E_ARGUMENT, "quantile %d is %g, outside 0 to 1", i, q[i]);
    return BF_OK;
}

static bf_status create_quantiles(bf_context *context, bf_dtype dtype, const double q[], int m,
                                  const bf_order_options *options, bf_quantiles **quantiles) {
    bf_order_options o;
    if (quantiles == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the quantiles");
    if (bf_number_bytes(dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)dtype);
    bf_status status = check_q(context, q, m);
    if (status == BF_OK) status = bf_order_read_options(context, dtype, options, &o);
    if (status != BF_OK) return status;
    bf_quantiles like = {
        .dtype = dtype, .method = o.method, .nan = o.nan, .scale = o.scale, .m = m, .pass = 1};
    like.to = bf_quantiles_to(&like, o.whole != 0);
    if (m > 0) memcpy(like.q, q, (size_t)m * sizeof *q);
    like.has_empty = o.empty != NULL;
    if (like.has_empty) status = bf_order_take_empty(context, like.to, o.empty, &like.empty);
    if (status != BF_OK) return status;
    bf_ranges_begin(&like.ranges, dtype);
    bf_tally_begin(&like.ranges, &like.tally);
    return bf_quantiles_allocate(context, &like, quantiles);
}

bf_status bf_quantiles_create(bf_context *context, bf_dtype dtype, const double q[], int m,
                              const bf_order_options *options, bf_quantiles **quantiles) {
    if (!bf_enter(context)) return BF_E_ARGUMENT;
    return bf_leave(context, create_quantiles(context, dtype, q, m, options, quantiles));
}

void bf_quantiles_destroy(bf_quantiles *quantiles) {
    if (quantiles == NULL) return;
    bf_free(quantiles->tally.words);
    bf_free(quantiles);
}

/* ---- absorbing ------------------------------------------------------------------------------- */

/* Copies a piece to host memory, part by part. */
static bf_status tally_copies(bf_context *context, bf_quantiles *q, const char *data,
                              int64_t count) {
    const int bytes = bf_number_bytes(q->dtype);
    const int64_t most = COPIED / bytes;
    char *copy = bf_alloc(COPIED);
    bf_status status = copy != NULL ? BF_OK : no_memory(context);
    for (int64_t at = 0, n; status == BF_OK && at < count; at += n) {
        n = count - at < most ? count - at : most;
        status = context->used->memory->copy(context, copy, data + at * bytes, (size_t)(n * bytes));
        if (status == BF_OK)
            status = bf_backend_cpu.order->tally(context, &q->ranges, copy, n, &q->tally);
    }
    bf_free(copy);
    return status;
}

static bf_status tally_piece(bf_context *context, void *arg, const void *const data[2],
                             int64_t count) {
    bf_quantiles *q = arg;
    if (context->used != &bf_backend_cpu) return tally_copies(context, q, data[0], count);
    return bf_backend_cpu.order->tally(context, &q->ranges, data[0], count, &q->tally);
}

static bf_status check_elements(const bf_quantiles *q, const bf_array *array, int64_t *count) {
    bf_context *context = q->context;
    if (array == NULL) return bf_fail(context, BF_E_ARGUMENT, "no array");
    *count = bf_array_elements(array, bf_key_bytes(array->dtype));
    if (*count < 0) return bf_fail(context, BF_E_ARGUMENT, "the array is not well formed");
    if (array->dtype != q->dtype)
        return bf_fail(context, BF_E_DTYPE, "%s data for quantiles of %s",
                       bf_dtype_name(array->dtype), bf_dtype_name(q->dtype));
    if (q->done) return bf_fail(context, BF_E_STATE, "all quantiles are found");
    if (*count > BF_COUNT_MAX - q->tally.n)
        return bf_fail(context, BF_E_OVERFLOW, "more than 2^62 elements");
    if (q->pass > 1 && *count > q->all - q->tally.n)
        return bf_fail(context, BF_E_STATE, "pass %d has more elements than the %lld of the first",
                       q->pass, (long long)q->all);
    return BF_OK;
}

/* Absorbs into a tally apart: a failure leaves no trace. */
static bf_status absorb_apart(bf_quantiles *q, const bf_array *array, int64_t count) {
    const bf_array *const arrays[2] = {array, NULL};
    bf_quantiles *apart = NULL;
    bf_status status = bf_quantiles_allocate(q->context, q, &apart);
    if (status != BF_OK) return status;
    bf_tally_begin(&apart->ranges, &apart->tally);
    status = bf_array_walk(q->context, arrays, 1, count, true, tally_piece, apart);
    if (status == BF_OK && !bf_tally_merge(&q->ranges, &q->tally, &apart->tally))
        status = bf_fail(q->context, BF_E_STATE, "the elements are not those of the first pass");
    bf_quantiles_destroy(apart);
    return status;
}

/* Absorbs one piece. It may fail only where places are collected, behind those that are there. */
static bf_status absorb_piece(bf_quantiles *q, const bf_array *array, int64_t count) {
    const bf_tally before = q->tally;
    bf_status status =
        bf_backend_cpu.order->tally(q->context, &q->ranges, array->data, count, &q->tally);
    if (status == BF_OK) return BF_OK;
    if (q->ranges.collect)
        memset(q->tally.words + before.used, 0,
               (size_t)(q->tally.used - before.used) * sizeof *q->tally.words);
    q->tally = before;
    return status;
}

static bf_status absorb_array(bf_quantiles *q, const bf_array *array) {
    int64_t count = 0;
    bf_context *context = q->context;
    bf_status status = check_elements(q, array, &count);
    if (status != BF_OK || count == 0) return status;
    const int64_t bytes = bf_bytes_of(count, bf_number_bytes(q->dtype));
    const bf_memory memory[] = {{array->data, bytes}};
    const bf_demand demand = {.share = 100,
                              .n = 1,
                              .memory = memory,
                              .cpu = q->dtype == BF_I128,
                              .on_host = "the CPU reads i128"};
    status = bf_place(context, &demand);
    if (status != BF_OK) return status;
    const bool is_one = context->used == &bf_backend_cpu && !bf_is_watched(context) &&
                        bf_array_is_contiguous(array);
    return is_one ? absorb_piece(q, array, count) : absorb_apart(q, array, count);
}

bf_status bf_quantiles_absorb(bf_quantiles *quantiles, const bf_array *array) {
    if (quantiles == NULL || !bf_enter(quantiles->context)) return BF_E_ARGUMENT;
    return bf_leave(quantiles->context, absorb_array(quantiles, array));
}

/* ---- merging --------------------------------------------------------------------------------- */

static bool same_search(const bf_quantiles *a, const bf_quantiles *b) {
    return a->dtype == b->dtype && a->scale == b->scale && a->m == b->m && a->method == b->method &&
           a->nan == b->nan && a->to == b->to && memcmp(a->q, b->q, sizeof a->q) == 0;
}

static bool same_ranges(const bf_ranges *a, const bf_ranges *b) {
    return a->count == b->count && a->collect == b->collect &&
           memcmp(a->lo, b->lo, sizeof a->lo) == 0 &&
           memcmp(a->width, b->width, sizeof a->width) == 0;
}

static bool same_pass(const bf_quantiles *a, const bf_quantiles *b) {
    return a->pass == b->pass && !a->done && !b->done && a->all == b->all && a->nans == b->nans &&
           same_ranges(&a->ranges, &b->ranges);
}

static bf_status merge_quantiles(bf_quantiles *into, const bf_quantiles *from) {
    bf_context *context = into->context;
    if (into == from) return bf_fail(context, BF_E_ARGUMENT, "quantiles with themselves");
    if (!same_search(into, from))
        return bf_fail(context, BF_E_STATE, "the dtypes, quantiles or options differ");
    if (!same_pass(into, from))
        return bf_fail(context, BF_E_STATE, "the quantiles are not in the same pass");
    const int64_t most = into->pass > 1 ? into->all : BF_COUNT_MAX;
    if (from->tally.n > most - into->tally.n)
        return bf_fail(context, into->pass > 1 ? BF_E_STATE : BF_E_OVERFLOW,
                       "more than %lld elements", (long long)most);
    if (!bf_tally_merge(&into->ranges, &into->tally, &from->tally))
        return bf_fail(context, BF_E_STATE, "the elements are not those of the first pass");
    return BF_OK;
}

bf_status bf_quantiles_merge(bf_quantiles *into, const bf_quantiles *from) {
    if (into == NULL || from == NULL || !bf_enter_both(into->context, from->context))
        return BF_E_ARGUMENT;
    return bf_leave_both(into->context, from->context, merge_quantiles(into, from));
}

/* ---- passes ---------------------------------------------------------------------------------- */

bf_status bf_quantiles_status(const bf_quantiles *q) {
    if (q->nans > 0 && q->nan == BF_NAN_ERROR) return BF_E_NAN;
    return q->all == (q->nan == BF_NAN_SKIP ? q->nans : 0) ? BF_E_EMPTY : BF_OK;
}

bool bf_quantiles_are_nan(const bf_quantiles *q) {
    return q->nans > 0 && q->nan == BF_NAN_PROPAGATE;
}

bf_between bf_quantiles_between(const bf_quantiles *q, int i) {
    const int64_t n = q->all - q->nans;
    return q->m > 0 ? bf_quantile_between(q->method, n, q->q[i]) : bf_median_between(n);
}

/* Inserts a rank into those that are there. Returns their number. */
static int insert_rank(int64_t *rank, int n, int64_t added) {
    int at = n;
    while (at > 0 && rank[at - 1] > added) at--;
    if (at > 0 && rank[at - 1] == added) return n;
    memmove(rank + at + 1, rank + at, (size_t)(n - at) * sizeof *rank);
    rank[at] = added;
    return n + 1;
}

int bf_quantiles_ranks(const bf_quantiles *q, int64_t rank[BF_RANGES_MOST]) {
    int n = 0;
    if (bf_quantiles_status(q) != BF_OK || bf_quantiles_are_nan(q)) return 0;
    for (int i = 0; i < bf_quantiles_results(q); i++) {
        const bf_between b = bf_quantiles_between(q, i);
        n = insert_rank(rank, n, b.below);
        n = insert_rank(rank, n, b.above);
    }
    return n;
}

/* NaNs have the last step of the first pass to themselves. */
static int64_t count_nans(const bf_quantiles *q) {
    return bf_dtype_is_float(q->dtype) ? (int64_t)q->tally.words[q->tally.used - 1] : 0;
}

static void end_first_pass(bf_quantiles *q) {
    int64_t rank[BF_RANGES_MOST];
    q->all = q->tally.n;
    q->nans = count_nans(q);
    memset(&q->wants, 0, sizeof q->wants);
    q->wants.ranks = bf_quantiles_ranks(q, rank);
    for (int k = 0; k < q->wants.ranks; k++) q->wants.rank[k] = rank[k];
}

static int compare_places(const void *a, const void *b) {
    const uint64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

void bf_quantiles_order(const bf_quantiles *q) {
    if (q->ranges.collect)
        qsort(q->tally.words, (size_t)q->tally.used, sizeof *q->tally.words, compare_places);
}

static bf_status wrong_pass(const bf_quantiles *q) {
    return bf_fail(q->context, BF_E_STATE,
                   "pass %d has %lld elements, and not the %lld of the first", q->pass,
                   (long long)q->tally.n, (long long)q->all);
}

/* Finds what is wanted, or the ranges to come. */
static bool end_pass(const bf_quantiles *q, bf_wants *wants, bf_ranges *next) {
    memset(next, 0, sizeof *next);
    bf_quantiles_order(q);
    return q->ranges.collect ? bf_tally_find_collected(&q->ranges, &q->tally, wants)
                             : bf_ranges_next(&q->ranges, &q->tally, wants, next);
}

static bf_status next_pass(bf_quantiles *q, int *done) {
    if (done == NULL) return bf_fail(q->context, BF_E_ARGUMENT, "no place for done");
    *done = 1;
    if (q->done) return BF_OK;
    if (q->pass > 1 && q->tally.n != q->all) return wrong_pass(q);
    if (q->pass == 1) end_first_pass(q);
    bf_wants wants = q->wants;
    bf_ranges next;
    if (!end_pass(q, &wants, &next))
        return bf_fail(q->context, BF_E_STATE, "the elements are not those of the first pass");
    q->wants = wants;
    q->done = next.count == 0;
    q->pass += !q->done;
    q->ranges = next;
    memset(q->tally.words, 0, (size_t)q->tally.used * sizeof *q->tally.words);
    bf_tally_begin(&q->ranges, &q->tally);
    *done = q->done;
    return BF_OK;
}

bf_status bf_quantiles_next(bf_quantiles *quantiles, int *done) {
    if (quantiles == NULL || !bf_enter(quantiles->context)) return BF_E_ARGUMENT;
    bf_environment environment = bf_environment_enter();
    bf_status status = next_pass(quantiles, done);
    bf_environment_leave(environment);
    return bf_leave(quantiles->context, status);
}

/* ---- results --------------------------------------------------------------------------------- */

static bf_u128 place_of(const bf_quantiles *q, const int64_t *rank, int64_t wanted) {
    int k = 0;
    while (rank[k] != wanted) k++;
    return q->wants.place[k];
}

/* An element has the scale of them all. */
static bf_value result_of(const bf_quantiles *q, bf_value value) {
    value.scale = value.dtype == q->dtype || value.dtype == BF_I192 ? q->scale : 0;
    return value;
}

/* What lies between the elements at two places. */
static bf_value value_between(const bf_quantiles *q, bf_u128 below, bf_u128 above, double weight) {
    if (q->dtype == BF_I128)
        return bf_quantile_make_i128(bf_i128_of_place(below), bf_i128_of_place(above), weight,
                                     q->scale, q->to == BF_I128);
    const bf_quantile_value value = bf_quantile_make(
        q->dtype, q->to, q->scale, bf_order_element(q->dtype, BF_ASCENDING, (uint64_t)below),
        bf_order_element(q->dtype, BF_ASCENDING, (uint64_t)above), weight);
    return bf_value_from_bits(value.dtype, value.bits);
}

static void write_results(const bf_quantiles *q, bf_value values[]) {
    int64_t rank[BF_RANGES_MOST];
    (void)bf_quantiles_ranks(q, rank);
    for (int i = 0; i < bf_quantiles_results(q); i++) {
        if (bf_quantiles_are_nan(q)) {
            values[i] = bf_value_from_bits(q->to, bf_format_nan(bf_format_of(q->to)));
            continue;
        }
        const bf_between b = bf_quantiles_between(q, i);
        values[i] = result_of(
            q, value_between(q, place_of(q, rank, b.below), place_of(q, rank, b.above), b.weight));
    }
}

static bf_status read_results(const bf_quantiles *q, bf_value values[]) {
    bf_context *context = q->context;
    if (values == NULL) return bf_fail(context, BF_E_ARGUMENT, "no place for the values");
    if (!q->done) return bf_fail(context, BF_E_STATE, "a pass is not ended: bf_quantiles_next");
    const bf_status status = bf_quantiles_status(q);
    if (status == BF_E_NAN) return bf_fail(context, status, "NaN in the values");
    if (status == BF_E_EMPTY && !q->has_empty)
        return bf_fail(context, status, "no value: the %s of no elements (result 0)",
                       q->m > 0 ? "quantile" : "median");
    if (status == BF_OK) write_results(q, values);
    for (int i = 0; status != BF_OK && i < bf_quantiles_results(q); i++)
        values[i] = result_of(q, q->empty);
    return BF_OK;
}

bf_status bf_quantiles_result(const bf_quantiles *quantiles, bf_value values[]) {
    if (quantiles == NULL || !bf_enter(quantiles->context)) return BF_E_ARGUMENT;
    bf_environment environment = bf_environment_enter();
    bf_status status = read_results(quantiles, values);
    bf_environment_leave(environment);
    return bf_leave(quantiles->context, status);
}

bf_status bf_quantiles_describe(const bf_quantiles *quantiles, bf_quantiles_info *info) {
    if (quantiles == NULL || info == NULL) return BF_E_ARGUMENT;
    const bf_quantiles *q = quantiles;
    const bf_quantiles_info known = {.size = sizeof known,
                                     .dtype = q->dtype,
                                     .to = q->to,
                                     .results = bf_quantiles_results(q),
                                     .pass = q->pass,
                                     .done = q->done,
                                     .count = q->tally.n,
                                     .all = q->all,
                                     .nan = q->nans,
                                     .scale = q->scale};
    return BF_WRITE(info, &known, nan) ? BF_OK : BF_E_ARGUMENT;
}
