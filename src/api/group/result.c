/* Results of groups: keys, counts and aggregates, as arrays and as values. */
#include "api/group/pages.h"

#include "api/reduce/reduce.h"
#include "api/runtime/array.h"
#include "api/runtime/enter.h"
#include "api/runtime/flat.h"
#include "rules/key/rank.h"
#include "rules/reduce/band.h"

/* ---- keys and counts --------------------------------------------------------------------------
 */

/* Checks that an array, if there is one, has an element for each group. */
static bf_status check_size(bf_groups *g, const bf_flat *flat) {
    int64_t size = bf_groups_size(g);
    if (flat->array == NULL || flat->count == size) return BF_OK;
    return bf_fail(g->context, BF_E_SHAPE, "there are %lld groups", (long long)size);
}

static bf_status list_flat(bf_groups *g, const bf_flat *keys, const bf_flat *counts) {
    bf_status status = check_size(g, keys);
    if (status == BF_OK) status = check_size(g, counts);
    int64_t size = bf_groups_size(g);
    if (status != BF_OK || size == 0) return status;
    int64_t row_bytes = (keys->array != NULL ? bf_key_bytes(g->key) : 0) +
                        (counts->array != NULL ? bf_dtype_bytes(BF_I64) : 0);
    status = bf_watch_begin(g->context, size * row_bytes);
    if (status == BF_OK) status = g->by->list(g->context, g->inside, keys->data, counts->data);
    bf_watch_end(g->context, status);
    if (status == BF_OK) status = bf_flat_return(g->context, keys);
    return status == BF_OK ? bf_flat_return(g->context, counts) : status;
}

static bf_status list_groups(bf_groups *g, const bf_array *keys, const bf_array *counts) {
    bf_flat flat_keys = {0}, flat_counts = {0};
    bf_status status = bf_groups_settle(g);
    if (status == BF_OK) status = bf_flat_take(g->context, g->on, g->key, keys, &flat_keys);
    if (status == BF_OK) status = bf_flat_take(g->context, g->on, BF_I64, counts, &flat_counts);
    if (status == BF_OK) status = list_flat(g, &flat_keys, &flat_counts);
    bf_flat_release(&flat_keys);
    bf_flat_release(&flat_counts);
    return status;
}

bf_status bf_groups_list(bf_groups *groups, const bf_array *keys, const bf_array *counts) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, list_groups(groups, keys, counts));
}

/* ---- aggregates -------------------------------------------------------------------------------
 */

/* Checks `which` and reads the options. Errors: BF_E_ARGUMENT. */
static bf_status read_request(const bf_groups *g, int which, const bf_reduce_options *given,
                              bf_reduce_options *options) {
    if (which < 0 || which >= g->count)
        return bf_fail(g->context, BF_E_ARGUMENT, "there is no aggregate %d", which);
    return bf_read_reduce_options(g->context, g->aggregates[which].op, g->aggregates[which].dtype,
                                  given, options);
}

/* Returns the dtype of an aggregate's results as bf_values. */
static bf_dtype value_dtype(bf_aggregate a, const bf_reduce_options *options) {
    return bf_result_dtype(a.op, a.dtype, options->out_dtype);
}

/* Returns the same for an array, which has no integers of 192 bits. */
static bf_dtype element_dtype(bf_aggregate a, const bf_reduce_options *options) {
    bf_dtype dtype = value_dtype(a, options);
    if (dtype != BF_I192) return dtype;
    if (a.dtype == BF_I128) return BF_I128;
    return bf_dtype_is_signed(a.dtype) || a.dtype == BF_BOOL ? BF_I64 : BF_U64;
}

bf_dtype bf_groups_aggregate_dtype(const bf_groups *groups, int which,
                                   const bf_reduce_options *options) {
    bf_reduce_options read;
    if (groups == NULL || !bf_enter(groups->context)) return BF_NONE;
    bf_status status = bf_leave(groups->context, read_request(groups, which, options, &read));
    return status == BF_OK ? element_dtype(groups->aggregates[which], &read) : BF_NONE;
}

/* Writes the results of an aggregate, as elements of dtype `to`. */
static bf_status finish_aggregate(bf_groups *g, int which, const bf_reduce_options *options,
                                  bf_dtype to, void *values, uint8_t *fits) {
    int64_t bytes = bf_groups_size(g) * (int64_t)bf_dtype_size(to);
    bf_status status = bf_watch_begin(g->context, bytes);
    if (status == BF_OK)
        status = g->by->aggregate(g->context, g->inside, which, g->aggregates[which].op, options,
                                  to, values, fits);
    return bf_watch_end(g->context, status);
}

static bf_status aggregate_flat(bf_groups *g, int which, const bf_reduce_options *options,
                                const bf_flat *values, const bf_flat *fits) {
    bf_status status = check_size(g, values);
    if (status == BF_OK) status = check_size(g, fits);
    if (status != BF_OK || bf_groups_size(g) == 0) return status;
    status = bf_groups_place(g);
    if (status != BF_OK) return status;
    status = finish_aggregate(g, which, options, values->array->dtype, values->data,
                              (uint8_t *)fits->data);
    if (status == BF_OK) status = bf_flat_return(g->context, values);
    return status == BF_OK ? bf_flat_return(g->context, fits) : status;
}

static bf_status aggregate_groups(bf_groups *g, int which, const bf_reduce_options *given,
                                  const bf_array *values, const bf_array *fits) {
    bf_reduce_options options;
    bf_flat flat_values = {0}, flat_fits = {0};
    bf_status status = read_request(g, which, given, &options);
    if (status != BF_OK) return status;
    if (values == NULL) return bf_fail(g->context, BF_E_ARGUMENT, "no place for the values");
    bf_dtype dtype = element_dtype(g->aggregates[which], &options);
    status = bf_groups_settle(g);
    if (status == BF_OK) status = bf_flat_take(g->context, g->on, dtype, values, &flat_values);
    if (status == BF_OK) status = bf_flat_take(g->context, g->on, BF_BOOL, fits, &flat_fits);
    if (status == BF_OK) status = aggregate_flat(g, which, &options, &flat_values, &flat_fits);
    bf_flat_release(&flat_values);
    bf_flat_release(&flat_fits);
    return status;
}

bf_status bf_groups_aggregate(bf_groups *groups, int which, const bf_reduce_options *options,
                              const bf_array *values, const bf_array *fits) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, aggregate_groups(groups, which, options, values, fits));
}

/* ---- aggregates as values ---------------------------------------------------------------------
 */

/* Returns the element of dtype at p as a value. */
static bf_value value_at(bf_dtype dtype, const char *p) {
    bf_value v = bf_value_from_bits(BF_U64, 0);
    if (dtype == BF_I128) return bf_value_from_i128(bf_load_i128(p));
    if (dtype != BF_I192) return bf_value_from_bits(dtype, bf_load_bits(p, bf_dtype_bytes(dtype)));
    v.dtype = dtype;
    memcpy(v.as.i192, p, sizeof v.as.i192);
    return v;
}

/* Finishes elements into the end of the values' own memory, then turns them into values from the
 * first on. Value i ends before element i + 1 begins. */
static bf_status put_values(bf_groups *g, int which, const bf_reduce_options *options,
                            bf_value *values) {
    bf_dtype dtype = value_dtype(g->aggregates[which], options);
    size_t n = (size_t)bf_groups_size(g);
    size_t bytes = dtype == BF_I192 ? sizeof values->as.i192 : bf_dtype_size(dtype);
    char *elements = (char *)values + n * (sizeof *values - bytes);
    bf_status status = finish_aggregate(g, which, options, dtype, elements, NULL);
    for (size_t i = 0; i < n && status == BF_OK; i++)
        values[i] = value_at(dtype, elements + i * bytes);
    const int scale = bf_result_scale(g->aggregates[which].op, options->scale);
    for (size_t i = 0; i < n && status == BF_OK && !bf_dtype_is_float(dtype); i++)
        values[i].scale = scale;
    return status;
}

static bf_status finish_values(bf_groups *g, int which, const bf_reduce_options *given,
                               bf_value *values) {
    bf_reduce_options options;
    bf_status status = read_request(g, which, given, &options);
    if (status == BF_OK) status = bf_groups_settle(g);
    if (status != BF_OK || bf_groups_size(g) == 0) return status;
    if (values == NULL) return bf_fail(g->context, BF_E_ARGUMENT, "no place for the values");
    status = bf_groups_place(g);
    return status == BF_OK ? put_values(g, which, &options, values) : status;
}

bf_status bf_groups_result(bf_groups *groups, int which, const bf_reduce_options *options,
                           bf_value *values) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context, finish_values(groups, which, options, values));
}

/* ---- shares in a sum --------------------------------------------------------------------------
 */

typedef struct sharing {
    bf_group_pages pages;
    int which;
    bf_dtype dtype;
    bf_reduce_options options;
    int64_t of[BF_SUM_WORDS_MAX]; /* the sum of all groups */
    bf_value *values;
    bf_work work;
} sharing;

static const int64_t *words_of(const sharing *s, int64_t i) {
    return s->pages.words[s->which] + i * s->pages.each[s->which];
}

static bf_status add_to_sum(sharing *s, int64_t first, int64_t n) {
    (void)first;
    for (int64_t i = 0; i < n; i++)
        bf_sum_merge(bf_kind_of(BF_SUM, s->dtype), s->dtype, s->of, words_of(s, i));
    if (s->options.nan == BF_NAN_ERROR && s->of[BF_SUM_NAN] > 0)
        return bf_group_refuse_nan(s->pages.groups->context);
    return BF_OK;
}

static bf_status divide_by_sum(sharing *s, int64_t first, int64_t n) {
    const bf_dtype to = s->options.out_dtype == BF_F32 ? BF_F32 : BF_F64;
    const bool skip = s->options.nan == BF_NAN_SKIP;
    for (int64_t i = 0; i < n; i++)
        s->values[first + i] = bf_value_from_bits(
            to, bf_finish_share(s->dtype, words_of(s, i), s->of, skip, bf_format_of(to), &s->work));
    return BF_OK;
}

static bf_status each_page(sharing *s, bf_groups *groups,
                           bf_status (*take)(sharing *s, int64_t first, int64_t n)) {
    s->pages = (bf_group_pages){.groups = NULL};
    bf_status status = bf_groups_place(groups);
    if (status == BF_OK) status = bf_group_pages_open(groups, groups->context, &s->pages);
    for (int64_t at = 0, n; at < s->pages.n && status == BF_OK; at += n) {
        n = s->pages.n - at < BF_GROUP_PAGE ? s->pages.n - at : BF_GROUP_PAGE;
        status = bf_group_pages_read(&s->pages, at, n);
        if (status == BF_OK) status = take(s, at, n);
    }
    if (s->pages.groups != NULL) bf_group_pages_close(&s->pages);
    return status;
}

static bool sums_the_same(const bf_groups *g, const bf_groups *of, int which) {
    return of->context == g->context && which < of->count &&
           of->aggregates[which].op == g->aggregates[which].op &&
           of->aggregates[which].dtype == g->aggregates[which].dtype;
}

static bf_status share_groups(bf_groups *g, int which, bf_groups *of,
                              const bf_reduce_options *given, bf_value *values) {
    sharing s = {.which = which, .values = values};
    bf_status status = read_request(g, which, given, &s.options);
    if (status != BF_OK) return status;
    if (values == NULL || g->aggregates[which].op != BF_SUM)
        return bf_fail(g->context, BF_E_ARGUMENT,
                       values == NULL ? "no place for the values" : "shares are those of a sum");
    if (!sums_the_same(g, of, which))
        return bf_fail(g->context, BF_E_STATE, "other aggregates, or another context");
    s.dtype = g->aggregates[which].dtype;
    status = each_page(&s, of, add_to_sum);
    return status == BF_OK ? each_page(&s, g, divide_by_sum) : status;
}

bf_status bf_groups_shares(bf_groups *groups, int which, bf_groups *of,
                           const bf_reduce_options *options, bf_value *values) {
    if (groups == NULL || !bf_enter(groups->context)) return BF_E_ARGUMENT;
    return bf_leave(groups->context,
                    share_groups(groups, which, of == NULL ? groups : of, options, values));
}
