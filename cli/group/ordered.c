#include "group/ordered.h"

#include "work/tagged.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

static int no_memory(const char *file) { return fail_status(BF_E_MEMORY, NULL, file); }

static size_t bytes_of(const ordered *x, int column, int64_t n) {
    return (size_t)n * bf_dtype_size(x->of[column].dtype);
}

static bool reserve(ordered *x, int64_t n) {
    if (n <= x->room) return true;
    const int64_t room = n > 2 * x->room ? n : 2 * x->room;
    for (int c = 0; c < x->columns; c++) {
        char *more = realloc(x->of[c].data, bytes_of(x, c, room));
        if (!more) return false;
        x->of[c].data = more;
    }
    x->room = room;
    return true;
}

int ordered_add(ordered *x, const bf_array arrays[], const char *file) {
    if (x->columns == 0) return EXIT_DONE;
    const int64_t n = arrays[0].shape[0];
    for (int c = 0; c < x->columns; c++) x->of[c].dtype = arrays[c].dtype;
    if (!reserve(x, x->n + n)) return no_memory(file);
    for (int c = 0; c < x->columns; c++)
        memcpy(x->of[c].data + bytes_of(x, c, x->n), arrays[c].data, bytes_of(x, c, n));
    x->n += n;
    return EXIT_DONE;
}

void ordered_drop(ordered *x) {
    for (int c = 0; c < x->columns; c++) {
        free(x->of[c].data);
        x->of[c].data = NULL;
    }
    x->n = x->room = 0;
}

void ordered_close(ordered *x) {
    ordered_drop(x);
    for (int i = 0; i < OPTIONS_AGGREGATES; i++) free(x->memory[i]);
}

/* ---- results --------------------------------------------------------------------------------- */

/* The aggregates that one call finds: those of the same column and order. */
typedef struct batch {
    int first, count;
    int of[OPTIONS_AGGREGATES];
    double q[OPTIONS_AGGREGATES];
    bf_dtype to;
    bool tagged;
} batch;

static bf_dtype results_of(const batch *b) { return b->tagged ? BF_PAIR : b->to; }

static size_t bytes_of_results(const batch *b, int64_t groups) {
    return (size_t)groups * (b->tagged ? sizeof(tagged) : bf_dtype_size(b->to));
}

static batch batch_of(const ordered *x, const options *o, int first) {
    batch b = {.first = first};
    const enum wanted_order order = o->aggregates[first].order;
    const bf_dtype dtype = x->of[x->column[first]].dtype;
    for (int i = first; i < o->aggregate_count; i++) {
        if (o->aggregates[i].order != order || x->column[i] != x->column[first]) continue;
        b.q[b.count] = o->aggregates[i].percent / 100;
        b.of[b.count++] = i;
    }
    b.to = order == ORDER_MEDIAN_OF ? bf_median_dtype(dtype) : bf_quantile_dtype(dtype, o->method);
    b.tagged = dtype != BF_I128 && tagged_wanted(dtype, b.to);
    return b;
}

/* The result of a group of NaNs that are all skipped; there are none but of floats. */
static bf_value nothing(bf_dtype dtype) {
    bf_value nan = {.dtype = dtype};
    switch (dtype) {
    case BF_F64: nan.as.f64 = __builtin_nan(""); break;
    case BF_F32: nan.as.f32 = __builtin_nanf(""); break;
    case BF_F16: nan.as.bits = 0x7e00; break;
    default: nan.as.bits = 0x7fc0; break;
    }
    return nan;
}

static bf_status find_batch(const ordered *x, const options *o, bf_context *context, batch *b,
                            int64_t groups, char *to) {
    const struct ordered_column *c = &x->of[x->column[b->first]];
    const bool medians = o->aggregates[b->first].order == ORDER_MEDIAN_OF;
    const bf_value empty = nothing(b->to);
    const bf_order_options rules = {.size = sizeof rules,
                                    .nan = o->rules.nan,
                                    .method = o->method,
                                    .empty = &empty,
                                    .scale = c->scale};
    const bf_array keys = bf_array_of(x->of[0].dtype, x->of[0].data, x->n),
                   values = bf_array_of(c->dtype, c->data, x->n);
    bf_array results = bf_array_of(results_of(b), to, groups);
    int64_t n;
    if (medians) return bf_median_groups(context, &values, &keys, &rules, NULL, &results, &n);
    results = (bf_array){to, results_of(b), 2, {b->count, groups}, {groups, 1}};
    return bf_quantile_groups(context, &values, &keys, b->q, b->count, &rules, NULL, &results, &n);
}

static int add_batch(ordered *x, const options *o, bf_context *context, int first, int64_t groups) {
    const char *file = o->files[0];
    batch b = batch_of(x, o, first);
    const size_t bytes = bytes_of_results(&b, groups);
    const int64_t n = o->aggregates[first].order == ORDER_MEDIAN_OF ? 1 : b.count;
    x->memory[first] = malloc((size_t)n * bytes + 1);
    if (!x->memory[first]) return no_memory(file);
    const bf_status st =
        groups > 0 ? find_batch(x, o, context, &b, groups, x->memory[first]) : BF_OK;
    for (int i = 0; i < b.count; i++)
        x->results[b.of[i]] =
            bf_array_of(results_of(&b), x->memory[first] + (n > 1 ? (size_t)i * bytes : 0), groups);
    return st == BF_OK ? EXIT_DONE : fail_status(st, context, file);
}

int ordered_find(ordered *x, const options *o, bf_context *context, int64_t groups) {
    int code = EXIT_DONE;
    for (int i = 0; i < o->aggregate_count && code == EXIT_DONE; i++)
        if (x->column[i] > 0 && !x->results[i].data) code = add_batch(x, o, context, i, groups);
    return code;
}
