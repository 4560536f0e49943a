/* What the caller's arrays say: axes, rows, fibres. */
#include "api/axis/axis.h"

#include "api/reduce/reduce.h"
#include "api/runtime/array.h"

/* Does the array repeat memory more often than that is bounded? */
static bool repeats_too_much(const bf_array *array) {
    bool repeats = false;
    for (int d = 0; d < array->ndim; d++) repeats |= array->shape[d] > 1 && array->strides[d] == 0;
    return repeats && bf_array_count(array) > BF_REPEATS_MAX;
}

bf_status bf_axis_check_arrays(bf_context *context, const bf_array *a, const bf_array *b) {
    int64_t count;
    if (bf_dtype_bytes(a->dtype) == 0)
        return bf_fail(context, BF_E_DTYPE, "no array has dtype number %d", (int)a->dtype);
    bf_status status = b != NULL ? bf_check_pair(context, a->dtype, a, b, &count)
                                 : bf_check_array(context, a->dtype, a, &count);
    if (status != BF_OK) return status;
    if (repeats_too_much(a) || (b != NULL && repeats_too_much(b)))
        return bf_fail(context, BF_E_ARGUMENT, "an array that repeats memory has 2^40 elements");
    return BF_OK;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static bool is_place_dtype(bf_rows_by by, bf_dtype dtype) {
    bool is_unsigned = dtype == BF_U32 || dtype == BF_U64;
    return dtype == BF_I32 || dtype == BF_I64 || (by == BF_ROWS_BY_INDEX && is_unsigned);
}

static bf_status check_places(bf_context *context, const bf_array *places, bf_rows_by by,
                              int64_t count) {
    const char *name = by == BF_ROWS_BY_INDEX ? "index" : "offsets";
    if (!is_place_dtype(by, places->dtype))
        return bf_fail(context, BF_E_DTYPE, "%s are whole numbers of 32 or 64 bits, not %s", name,
                       bf_dtype_name(places->dtype));
    if (bf_array_count(places) < 0)
        return bf_fail(context, BF_E_ARGUMENT, "the array of the %s is not well formed", name);
    if (places->ndim != 1)
        return bf_fail(context, BF_E_SHAPE, "the %s have %d dimensions, not one", name,
                       places->ndim);
    if (places->shape[0] != count)
        return bf_fail(context, BF_E_SHAPE, "there are %lld %s, not %lld",
                       (long long)places->shape[0], name, (long long)count);
    return BF_OK;
}

bf_status bf_axis_read_rows(bf_context *context, const bf_array *array, const bf_array *places,
                            bf_rows_by by, int64_t slots, bf_rows *rows) {
    *rows = (bf_rows){.by = by, .slots = slots, .width = 1};
    if (places == NULL) return bf_fail(context, BF_E_ARGUMENT, "no offsets or index");
    if (array->ndim == 0)
        return bf_fail(context, BF_E_SHAPE, "an array without dimensions has no rows");
    rows->count = array->shape[0];
    rows->places_dtype = places->dtype;
    for (int d = 1; d < array->ndim; d++) /* may be 0, and then the rest does not count */
        if (__builtin_mul_overflow(rows->width, array->shape[d], &rows->width)) rows->width = 0;
    return check_places(context, places, by, by == BF_ROWS_BY_INDEX ? rows->count : slots + 1);
}

/* ---- fibres ---------------------------------------------------------------------------------- */

/* Dimensions of two arrays of one shape. */
typedef struct dimensions {
    int n;
    int64_t shape[BF_MAX_DIMS];
    int64_t strides[2][BF_MAX_DIMS];
} dimensions;

static void add_dimension(dimensions *x, const bf_array *a, const bf_array *b, int d) {
    if (a->shape[d] == 1) return;
    x->shape[x->n] = a->shape[d];
    x->strides[0][x->n] = a->strides[d];
    x->strides[1][x->n++] = b != NULL ? b->strides[d] : 0;
}

static int64_t magnitude(int64_t x) { return x < 0 ? -x : x; }

static void swap_numbers(int64_t *a, int64_t *b) {
    int64_t t = *a;
    *a = *b;
    *b = t;
}

/* Puts the largest strides outermost: C order in memory. */
static void sort_dimensions(dimensions *x) {
    for (int i = 1; i < x->n; i++) {
        for (int d = i; d > 0; d--) {
            if (magnitude(x->strides[0][d - 1]) >= magnitude(x->strides[0][d])) break;
            swap_numbers(&x->shape[d - 1], &x->shape[d]);
            for (int k = 0; k < 2; k++) swap_numbers(&x->strides[k][d - 1], &x->strides[k][d]);
        }
    }
}

/* Walks dimensions of negative strides from their other end. */
static void turn_dimensions(dimensions *x, int arity, bf_operands *operands) {
    const int64_t bytes = bf_dtype_bytes(operands->dtype);
    for (int d = 0; d < x->n; d++) {
        if (x->strides[0][d] >= 0 || (arity == 2 && x->strides[1][d] >= 0)) continue;
        int64_t last = x->shape[d] - 1;
        operands->a = (const char *)operands->a + last * x->strides[0][d] * bytes;
        if (arity == 2) operands->b = (const char *)operands->b + last * x->strides[1][d] * bytes;
        for (int k = 0; k < arity; k++) x->strides[k][d] = -x->strides[k][d];
    }
}

static void join_dimensions(dimensions *x) {
    int last = 0;
    for (int d = 1; d < x->n; d++) {
        bool joined = true;
        for (int k = 0; k < 2; k++) joined &= x->strides[k][last] == x->shape[d] * x->strides[k][d];
        if (!joined) last++;
        x->shape[last] = joined ? x->shape[last] * x->shape[d] : x->shape[d];
        for (int k = 0; k < 2; k++) x->strides[k][last] = x->strides[k][d];
    }
    if (x->n > 0) x->n = last + 1;
}

static int64_t product_of(const dimensions *x) {
    int64_t count = 1;
    for (int d = 0; d < x->n; d++) count *= x->shape[d];
    return count;
}

void bf_axis_find_fibres(const bf_array *a, const bf_array *b, const bool reduced[BF_MAX_DIMS],
                         bool any_order, bf_fibres *fibres, bf_operands *operands) {
    dimensions kept = {0}, gone = {0};
    operands->a = a->data;
    operands->b = b != NULL ? b->data : NULL;
    for (int d = 0; d < a->ndim; d++) add_dimension(reduced[d] ? &gone : &kept, a, b, d);
    if (any_order) {
        turn_dimensions(&gone, b != NULL ? 2 : 1, operands);
        sort_dimensions(&gone);
    }
    join_dimensions(&gone);
    join_dimensions(&kept);
    *fibres = (bf_fibres){.kept = kept.n, .reduced = gone.n};
    fibres->count = product_of(&kept);
    fibres->length = product_of(&gone);
    memcpy(fibres->kept_shape, kept.shape, sizeof kept.shape);
    memcpy(fibres->kept_strides, kept.strides, sizeof kept.strides);
    memcpy(fibres->reduced_shape, gone.shape, sizeof gone.shape);
    memcpy(fibres->reduced_strides, gone.strides, sizeof gone.strides);
}
