/* verify: what depends on the order of values, compared by a checksum of the results. */
#include "runtime/output.h"
#include "verify/data.h"
#include "verify/verify.h"

#include <stdlib.h>

typedef enum kind { SORT, ARGSORT, MEDIAN, QUANTILE, PASSES, TOP, UNIQUE, KINDS } kind;
static const char *const kind_names[KINDS] = {"sort",   "argsort", "median", "quantile",
                                              "passes", "top",     "unique"};

enum { PARTS = 3, TOP_MOST = 100, QUANTILES = 7 };

static const double quantiles[QUANTILES] = {0, 0.01, 0.25, 0.5, 0.75, 0.999, 1};

/* One call, and room for its results in host memory. */
typedef struct work {
    bf_context *context;
    const bf_array *a;
    bf_order_options rules;
    char *values;
    int64_t *beside;
    uint64_t sum;
} work;

static void add_values(work *w, bf_dtype dtype, int64_t n) {
    w->sum = verify_checksum(w->sum, w->values, (size_t)n * data_size(dtype));
}

static void add_beside(work *w, int64_t n) {
    w->sum = verify_checksum(w->sum, w->beside, (size_t)n * sizeof *w->beside);
}

static bf_status tell_sort(work *w, bool index) {
    const int64_t n = w->a->shape[0];
    const bf_array values = bf_array_of(w->a->dtype, w->values, n),
                   positions = bf_array_of(BF_I64, w->beside, n);
    const bf_status st =
        bf_sort(w->context, w->a, 0, &w->rules, index ? NULL : &values, index ? &positions : NULL);
    if (st == BF_OK && index) add_beside(w, n);
    if (st == BF_OK && !index) add_values(w, w->a->dtype, n);
    return st;
}

static bf_status tell_median(work *w) {
    const int axis = 0;
    const bf_array value = {.data = w->values, .dtype = bf_median_dtype(w->a->dtype)};
    const bf_status st = bf_median_axes(w->context, w->a, &axis, 1, &w->rules, &value);
    if (st == BF_OK) add_values(w, value.dtype, 1);
    return st;
}

static bf_status tell_quantiles(work *w) {
    const int axis = 0;
    bf_status st = BF_OK;
    for (bf_quantile_method method = BF_QUANTILE_LINEAR;
         method <= BF_QUANTILE_NORMAL_UNBIASED && st == BF_OK; method++) {
        const bf_dtype to = bf_quantile_dtype(w->a->dtype, method);
        const bf_array values = bf_array_of(to, w->values, QUANTILES);
        w->rules.method = method;
        st = bf_quantile_axes(w->context, w->a, &axis, 1, quantiles, QUANTILES, &w->rules, &values);
        if (st == BF_OK) add_values(w, to, QUANTILES);
    }
    return st;
}

/* Makes a copy of what has absorbed nothing in this pass, through its saved form. */
static bf_status copy_quantiles(bf_context *context, const bf_quantiles *from, bf_quantiles **to) {
    const size_t size = bf_quantiles_save_size(from);
    void *bytes = malloc(size);
    bf_status st = bytes ? bf_quantiles_save(from, bytes) : BF_E_MEMORY;
    if (st == BF_OK) st = bf_quantiles_load(context, bytes, size, to);
    free(bytes);
    return st;
}

/* A pass over all elements, of which the last third goes to another object. */
static bf_status pass_once(work *w, bf_quantiles *q, int *done) {
    const int64_t n = w->a->shape[0];
    const bf_array first = verify_slice(w->a, 0, n - n / 3),
                   rest = verify_slice(w->a, n - n / 3, n);
    bf_quantiles *other = NULL;
    bf_status st = copy_quantiles(w->context, q, &other);
    if (st == BF_OK) st = bf_quantiles_absorb(q, &first);
    if (st == BF_OK) st = bf_quantiles_absorb(other, &rest);
    if (st == BF_OK) st = bf_quantiles_merge(q, other);
    bf_quantiles_destroy(other);
    return st == BF_OK ? bf_quantiles_next(q, done) : st;
}

static bf_status tell_passes(work *w) {
    bf_value values[QUANTILES];
    bf_quantiles *q = NULL;
    int done = 0;
    bf_status st =
        bf_quantiles_create(w->context, w->a->dtype, quantiles, QUANTILES, &w->rules, &q);
    while (st == BF_OK && !done) st = pass_once(w, q, &done);
    if (st == BF_OK) st = bf_quantiles_result(q, values);
    for (int i = 0; i < QUANTILES && st == BF_OK; i++)
        w->sum = verify_checksum(w->sum, &values[i].as, verify_value_size(values[i].dtype));
    bf_quantiles_destroy(q);
    return st;
}

/* What tell_passes tells, of one call: its results are pairs of bits and dtype, or of i128 values,
 * which are two pairs. */
static bf_status tell_at_once(work *w) {
    const int axis = 0;
    const bool wide = w->a->dtype == BF_I128;
    bf_value found[QUANTILES];
    bf_array values = bf_array_of(BF_PAIR, found, QUANTILES);
    if (wide) {
        values.shape[values.ndim++] = 2;
        values.strides[0] = 2;
        values.strides[1] = 1;
    }
    const bf_status st =
        bf_quantile_axes(w->context, w->a, &axis, 1, quantiles, QUANTILES, &w->rules, &values);
    for (int i = 0; i < QUANTILES && st == BF_OK; i++) {
        const bf_value value = output_element(wide ? BF_I192 : BF_PAIR, 0, found, i);
        w->sum = verify_checksum(w->sum, &value.as, verify_value_size(value.dtype));
    }
    return st;
}

static bf_status tell_top(work *w) {
    const int64_t n = w->a->shape[0], k = n < TOP_MOST ? n : TOP_MOST;
    const bf_array values = bf_array_of(w->a->dtype, w->values, k);
    w->rules.descending = true;
    const bf_status st = bf_top(w->context, w->a, 0, k, &w->rules, &values, NULL);
    if (st == BF_OK) add_values(w, w->a->dtype, k);
    return st;
}

static bf_status tell_unique(work *w) {
    int64_t n = w->a->shape[0];
    const bf_array values = bf_array_of(w->a->dtype, w->values, n),
                   counts = bf_array_of(BF_I64, w->beside, n);
    const bf_status st = bf_unique(w->context, w->a, &w->rules, &values, &counts, &n);
    if (st == BF_OK) add_values(w, w->a->dtype, n);
    if (st == BF_OK) add_beside(w, n);
    return st;
}

static bf_status tell_kind(work *w, kind k, bool parts) {
    switch (k) {
    case PASSES: return parts ? tell_at_once(w) : tell_passes(w);
    case SORT: return tell_sort(w, false);
    case ARGSORT: return tell_sort(w, true);
    case MEDIAN: return tell_median(w);
    case QUANTILE: return tell_quantiles(w);
    case TOP: return tell_top(w);
    default: return tell_unique(w);
    }
}

static outcome tell(bf_context *context, const subject *s, const bf_array *a, bool parts) {
    const size_t room = ((size_t)a->shape[0] + QUANTILES) * 2 * sizeof(int64_t);
    work w = {.context = context, .a = a, .rules = {.size = sizeof w.rules, .nan = s->nan}};
    w.values = malloc(room);
    w.beside = malloc(room);
    outcome r = {.status = BF_E_MEMORY, .value.dtype = BF_U64};
    if (w.values && w.beside) r.status = tell_kind(&w, *(const kind *)s->about, parts);
    r.value.as.u64 = w.sum;
    free(w.values);
    free(w.beside);
    return r;
}

/* Takes an array in the memory of the device, but for i128, from which the CPU selects; results go
 * to the host's. */
static outcome in_one_pass(bf_context *context, const subject *s) {
    bf_array a = s->a;
    if (s->a.dtype == BF_I128) return tell(context, s, &s->a, false);
    outcome r = {.status = verify_move(context, &s->a, &a)};
    if (r.status == BF_OK) r = tell(context, s, &a, false);
    verify_unmove(context, &s->a, &a);
    return r;
}

/* Takes the elements after three parts of them were sorted, each for itself. */
static outcome in_parts(bf_context *context, const subject *s) {
    const int64_t n = s->a.shape[0];
    int64_t cuts[PARTS + 1] = {0, n / 7, n - n / 3, n};
    const bf_array offsets = bf_array_of(BF_I64, cuts, PARTS + 1);
    if (*(const kind *)s->about == ARGSORT) return tell(context, s, &s->a, true);
    bf_array sorted = s->a;
    sorted.data = malloc((size_t)n * data_size(s->a.dtype) + 1);
    outcome r = {.status = sorted.data ? BF_OK : BF_E_MEMORY};
    if (r.status == BF_OK)
        r.status = bf_sort_segments(context, &s->a, &offsets, NULL, &sorted, NULL);
    if (r.status == BF_OK) r = tell(context, s, &sorted, true);
    free(sorted.data);
    return r;
}

static int do_kinds(const machine *m, const char *name, const bf_array *all, bf_nan_policy nan,
                    verdict *v) {
    int code = EXIT_DONE;
    for (kind k = SORT; k < KINDS && code == EXIT_DONE; k++) {
        const subject s = {.op = kind_names[k],
                           .data = name,
                           .a = *all,
                           .nan = nan,
                           .about = &k,
                           .whole = in_one_pass,
                           .parts = in_parts};
        code = verify_row(m, &s, v);
    }
    return code;
}

/* Two i64 are an i128, too. */
int verify_orders(const machine *m, const char *name, const bf_array *all, bf_nan_policy nan,
                  verdict *v) {
    const bf_array wide = bf_array_of(BF_I128, all->data, all->shape[0] / 2);
    const int code = do_kinds(m, name, all, nan, v);
    return code == EXIT_DONE && all->dtype == BF_I64 ? do_kinds(m, name, &wide, nan, v) : code;
}
