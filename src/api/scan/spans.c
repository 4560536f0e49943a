/* Windows of a span: one pass over the keys, because neither end of a window goes back. */
#include "api/scan/spans.h"

#include "api/runtime/array.h"
#include "api/runtime/flat.h"
#include "api/scan/lines.h"
#include "base/double.h"
#include "base/environment.h"
#include "base/memory.h"
#include "rules/number/cast.h"
#include "rules/scan/span.h"
#include "seam/memory.h"
#include <bitfold/value.h>

/* ---- arguments ------------------------------------------------------------------------------- */

static bf_status check_span(bf_context *context, bf_dtype dtype, const bf_value *span) {
    uint64_t whole;
    const bool is_float = bf_dtype_is_float(span->dtype);
    if (is_float != bf_dtype_is_float(dtype) ||
        (span->dtype != BF_I192 && bf_dtype_bytes(span->dtype) == 0))
        return bf_fail(context, BF_E_DTYPE, "a span of dtype number %d of a key of %s",
                       (int)span->dtype, bf_dtype_name(dtype));
    if (is_float) {
        const double x = bf_value_f64(span);
        if (!(x > 0 && x < bf_double_of_bits(bf_format_inf(bf_format_f64()))))
            return bf_fail(context, BF_E_ARGUMENT, "a span is above 0, and finite");
    } else if (bf_value_u64(span, &whole) != BF_OK || whole == 0)
        return bf_fail(context, BF_E_ARGUMENT, "a span is a whole number from 1 to 2^64 - 1");
    return BF_OK;
}

bf_status bf_spans_check(bf_context *context, const bf_spans *spans) {
    if (spans->on == NULL || spans->span == NULL)
        return bf_fail(context, BF_E_ARGUMENT, "a key needs a span, and a span a key");
    bf_status status = bf_lines_check(context, spans->on);
    return status == BF_OK ? check_span(context, spans->on->dtype, spans->span) : status;
}

/* ---- keys ------------------------------------------------------------------------------------ */

typedef struct finding {
    const char *keys;
    int64_t length, step, results;
    bf_integer_span integers;
    bf_float_span floats;
    int64_t *first, *end;
    int64_t longest;
    int64_t bad; /* the first key that is not finite, or less than the one before it */
} finding;

static inline bf_i128 integer_at(bf_dtype dtype, const finding *f, int64_t i) {
    if (dtype == BF_I128) return bf_load_i128(f->keys + 16 * i);
    const int bytes = bf_dtype_bytes(dtype);
    return bf_integer_decode(dtype, bf_load_bits(f->keys + i * bytes, bytes));
}

static inline double float_at(bf_dtype dtype, const finding *f, int64_t i) {
    const int bytes = bf_dtype_bytes(dtype);
    const uint64_t held = bf_load_bits(f->keys + i * bytes, bytes);
    return bf_double_of_bits(
        dtype == BF_F64 ? held : bf_float_convert(bf_format_of(dtype), bf_format_f64(), held));
}

/* Returns whether key i is finite and not below the one before it. */
static inline bool is_next(bf_dtype dtype, const finding *f, int64_t i) {
    const int64_t before = i > 0 ? i - 1 : 0;
    if (!bf_dtype_is_float(dtype)) return integer_at(dtype, f, before) <= integer_at(dtype, f, i);
    const double x = float_at(dtype, f, i);
    return float_at(dtype, f, before) <= x && x - x == 0;
}

/* Returns the sign of the distance of two keys, of which `high` is not the less, less a span. */
static inline int compare(bf_dtype dtype, const finding *f, int64_t high, int64_t low,
                          uint64_t whole, double span) {
    if (bf_dtype_is_float(dtype))
        return bf_float_span_compare(float_at(dtype, f, high), float_at(dtype, f, low), span);
    return bf_integer_span_compare(dtype, integer_at(dtype, f, high), integer_at(dtype, f, low),
                                   whole);
}

/* Returns whether element i before `at` is in the window of it. */
static inline bool reaches_down(bf_dtype dtype, const finding *f, int64_t at, int64_t i) {
    return compare(dtype, f, at, i, f->integers.before, f->floats.before) < 0;
}

/* Returns whether element i behind `at` is in the window of it. */
static inline bool reaches_up(bf_dtype dtype, const finding *f, int64_t at, int64_t i) {
    return compare(dtype, f, i, at, f->integers.after, f->floats.after) <= 0;
}

static inline __attribute__((always_inline)) void find_windows(bf_dtype dtype, finding *f) {
    int64_t first = 0, end = 0;
    f->bad = 0;
    while (f->bad < f->length && is_next(dtype, f, f->bad)) f->bad++;
    if (f->bad < f->length) return;
    for (int64_t k = 0; k < f->results; k++) {
        const int64_t at = k * f->step;
        while (!reaches_down(dtype, f, at, first)) first++;
        if (end < at) end = at;
        while (end < f->length && reaches_up(dtype, f, at, end)) end++;
        f->first[k] = first;
        f->end[k] = end;
        if (end - first > f->longest) f->longest = end - first;
    }
}

static void find(const bf_spans *spans, finding *f) {
    const bf_environment environment = bf_environment_enter();
    uint64_t whole;
    if (bf_value_u64(spans->span, &whole) == BF_OK)
        f->integers = bf_integer_span_make(whole, spans->center);
    f->floats = bf_float_span_make(bf_value_f64(spans->span), spans->center);
    switch (spans->on->dtype) {
#define BF_X(id, number, name, bytes, type, ...)                                                   \
    case BF_##id: find_windows(BF_##id, f); break;
        BF_DTYPE_LIST(BF_X)
#undef BF_X
    default: find_windows(BF_I128, f);
    }
    bf_environment_leave(environment);
}

static bf_status refuse_key(bf_context *context, bf_dtype dtype, const finding *f) {
    const bool is_float = bf_dtype_is_float(dtype);
    const double x = is_float ? float_at(dtype, f, f->bad) : 0;
    if (x != x) return bf_fail(context, BF_E_NAN, "NaN in the keys, at %lld", (long long)f->bad);
    if (x - x != 0)
        return bf_fail(context, BF_E_ARGUMENT, "infinity in the keys, at %lld", (long long)f->bad);
    return bf_fail(context, BF_E_ARGUMENT,
                   "the keys are not in order: that at %lld is less than the one before it",
                   (long long)f->bad);
}

/* Sets f->keys to the keys in host memory; the caller frees the copy, if there is one. */
static bf_status reach_keys(bf_context *context, const bf_flat *keys, finding *f, void **copy) {
    const size_t bytes = (size_t)bf_bytes_of(keys->count, bf_number_bytes(keys->array->dtype));
    f->keys = keys->data;
    *copy = NULL;
    if (bf_where_is(keys->data, NULL) != BF_WHERE_DEVICE) return BF_OK;
    f->keys = *copy = bf_alloc(bytes);
    if (*copy == NULL) return bf_fail(context, BF_E_MEMORY, "no memory for keys");
    return context->used->memory->copy(context, *copy, keys->data, bytes);
}

bf_status bf_spans_find(bf_context *context, const bf_spans *spans, bf_rolling_job *job) {
    const bf_array *on = spans->on;
    finding f = {.length = job->length, .step = job->step, .results = job->results};
    bf_flat keys;
    void *copy = NULL;
    if (on->ndim != 1 || on->shape[0] != job->length)
        return bf_fail(context, BF_E_SHAPE, "not one key for each of %lld elements",
                       (long long)job->length);
    bf_status status = bf_flat_take(context, context->used, on->dtype, on, &keys);
    if (status == BF_OK) status = reach_keys(context, &keys, &f, &copy);
    if (status == BF_OK && (f.first = bf_alloc(2 * sizeof *f.first * (size_t)f.results)) == NULL)
        status = bf_fail(context, BF_E_MEMORY, "no memory for windows");
    if (status == BF_OK) {
        f.end = f.first + f.results;
        find(spans, &f);
        if (f.bad < f.length) status = refuse_key(context, on->dtype, &f);
    }
    bf_flat_release(&keys);
    bf_free(copy);
    job->first = f.first;
    job->end = f.end;
    job->size = f.longest;
    return status;
}
