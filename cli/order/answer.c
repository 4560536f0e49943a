#include "order/answer.h"

#include "input/matrix.h"

#include "runtime/info.h"
#include "work/tagged.h"

#include <stdlib.h>
#include <string.h>

struct wanted_percents answer_percents(const options *o) {
    static double quartiles[] = {0, 25, 50, 75, 100};
    if (o->percents.n > 0) return o->percents;
    return (struct wanted_percents){sizeof quartiles / sizeof *quartiles, quartiles};
}

void answer_free(answer *x) {
    free(x->memory);
    free(x->beside);
    x->memory = x->beside = NULL;
}

/* ---- shapes ---------------------------------------------------------------------------------- */

int64_t answer_count(const answer *x) { return matrix_count(&x->values); }

/* Gives the values, whose shape and dtype are set, memory; tagged: for tagged results. */
static int make_room(answer *x, const subject *s, bool tags) {
    matrix_make_contiguous(&x->values);
    const size_t bytes = tags ? tagged_bytes(s->array.dtype) : bf_dtype_size(x->values.dtype);
    x->memory = x->values.data = malloc((size_t)answer_count(x) * bytes + 1);
    return x->memory ? EXIT_DONE : fail_memory(s->file);
}

static int make_beside(answer *x, const subject *s, int64_t n) {
    x->beside = malloc((size_t)n * sizeof *x->beside + 1);
    return x->beside ? EXIT_DONE : fail_memory(s->file);
}

/* The shape of one value for each fibre, segment or slot, behind so many extents before it. */
static void shape_kept(answer *x, const question *q, const bf_array *a, int before) {
    const places *p = q->places;
    x->values.ndim = before;
    for (int d = 0; p && d < a->ndim; d++)
        if (p->kind == BY_AXES && !(p->reduced & 1u << d))
            x->values.shape[x->values.ndim++] = a->shape[d];
    if (p && p->kind != BY_AXES) x->values.shape[x->values.ndim++] = p->slots;
}

/* ---- calls ----------------------------------------------------------------------------------- */

bf_order_options answer_rules(const question *q) {
    const options *o = q->options;
    const bool descending = q->kind == ORDER_TOP ? !o->least : o->descending;
    return (bf_order_options){.size = sizeof(bf_order_options),
                              .descending = descending,
                              .nan = o->rules.nan,
                              .method = o->method};
}

int answer_failed(const question *q, bf_status st, const char *file) {
    const char *message = bf_context_message(q->context);
    const places *p = q->places;
    switch (st) {
    case BF_E_ARGUMENT: /* an offset or an index is wrong */
        return fail(EXIT_DATA, p && p->kind != BY_AXES ? p->rows.source.name : file, "%s", message);
    case BF_E_EMPTY:
        fail(EXIT_DATA, file, "%s", message);
        hint("--empty VALUE stands for what there is not");
        return EXIT_DATA;
    default: return fail_status(st, q->context, file);
    }
}

static int end_call(const question *q, const subject *s, bf_status st) {
    return st == BF_OK ? EXIT_DONE : answer_failed(q, st, s->file);
}

/* Counts the NaNs and infinities of the array. */
static int count_special(answer *x, const question *q, const subject *s) {
    bf_state *state = NULL;
    bf_status st = bf_state_create(q->context, BF_SUM, s->array.dtype, &state);
    if (st == BF_OK) st = bf_state_absorb(state, &s->array);
    if (st == BF_OK) x->info = state_info(state);
    bf_state_destroy(state);
    return end_call(q, s, st);
}

/* The elements that are shown of a line of n, which ends in NaNs if they are skipped. */
static int count_shown(answer *x, const question *q, const subject *s, int64_t *n) {
    if (q->places || q->options->rules.nan != BF_NAN_SKIP) return EXIT_DONE;
    const int code = count_special(x, q, s);
    if (code == EXIT_DONE && *n > s->array.shape[0] - x->info.nan)
        *n = s->array.shape[0] - x->info.nan;
    return code;
}

static int sort_array(answer *x, const question *q, const subject *s) {
    const places *p = q->places;
    const bf_array *a = &s->array;
    const bool index = q->kind == ORDER_ARGSORT;
    const bf_order_options rules = answer_rules(q);
    int64_t shown = a->shape[0];
    x->values = *a;
    if (index) x->values.dtype = BF_I64;
    int code = count_shown(x, q, s, &shown);
    if (code == EXIT_DONE && (index || !s->owned)) code = make_room(x, s, false);
    if (code != EXIT_DONE) return code;
    const bf_array *values = index ? NULL : &x->values, *indices = index ? &x->values : NULL;
    const bf_status st =
        p && p->kind == BY_SEGMENTS
            ? bf_sort_segments(q->context, a, &p->elements, &rules, values, indices)
            : bf_sort(q->context, a, p ? p->axes[0] : 0, &rules, values, indices);
    if (!p) x->values.shape[0] = shown;
    return end_call(q, s, st);
}

static int top_of_array(answer *x, const question *q, const subject *s) {
    const int axis = q->places ? q->places->axes[0] : 0;
    const bf_order_options rules = answer_rules(q);
    int64_t shown = s->array.shape[axis];
    int code = count_shown(x, q, s, &shown);
    if (code != EXIT_DONE) return code;
    x->values = s->array;
    x->values.shape[axis] = shown < q->options->first ? shown : q->options->first;
    code = make_room(x, s, false);
    if (code == EXIT_DONE) code = make_beside(x, s, answer_count(x));
    if (code != EXIT_DONE) return code;
    bf_array index = x->values;
    index.dtype = BF_I64;
    index.data = x->beside;
    return end_call(
        q, s,
        bf_top(q->context, &s->array, axis, x->values.shape[axis], &rules, &x->values, &index));
}

static int unique_of_array(answer *x, const question *q, const subject *s) {
    const bf_order_options rules = answer_rules(q);
    const int64_t n = s->array.shape[0];
    int64_t found = 0;
    x->values = s->array;
    int code = make_room(x, s, false);
    if (code == EXIT_DONE && q->options->times) code = make_beside(x, s, n);
    if (code != EXIT_DONE) return code;
    const bf_array counts = bf_array_of(BF_I64, x->beside, n);
    const bf_status st =
        bf_unique(q->context, &s->array, &rules, &x->values, x->beside ? &counts : NULL, &found);
    x->values.shape[0] = found;
    return end_call(q, s, st);
}

static bf_status find_median(const question *q, const bf_array *a, const bf_order_options *rules,
                             const bf_array *values) {
    static const int first = 0;
    const places *p = q->places;
    if (!p) return bf_median_axes(q->context, a, &first, 1, rules, values);
    if (p->kind == BY_AXES)
        return bf_median_axes(q->context, a, p->axes, p->axis_count, rules, values);
    return p->kind == BY_SEGMENTS ? bf_median_segments(q->context, a, &p->elements, rules, values)
                                  : bf_median_index(q->context, a, &p->elements, rules, values);
}

static bf_status find_quantiles(const question *q, const bf_array *a, const double *of, int n,
                                const bf_order_options *rules, const bf_array *values) {
    static const int first = 0;
    const places *p = q->places;
    if (!p) return bf_quantile_axes(q->context, a, &first, 1, of, n, rules, values);
    if (p->kind == BY_AXES)
        return bf_quantile_axes(q->context, a, p->axes, p->axis_count, of, n, rules, values);
    return p->kind == BY_SEGMENTS
               ? bf_quantile_segments(q->context, a, &p->elements, of, n, rules, values)
               : bf_quantile_index(q->context, a, &p->elements, of, n, rules, values);
}

/* The rules with --empty, as a result of this dtype. */
static int read_empty(bf_dtype dtype, const subject *s, const question *q, bf_order_options *rules,
                      bf_value *empty) {
    *rules = answer_rules(q);
    rules->scale = s->scale;
    rules->whole = s->time != BF_TIME_NONE;
    if (q->options->empty && s->time)
        return rows_refuse_times(s->file, "number in their place (--empty)");
    if (q->options->empty) rules->empty = empty;
    return places_read_empty(q->options, dtype, s->scale, empty);
}

/* The quantiles that are asked for, from 0 to 1; NULL: there is no memory. */
static double *list_fractions(const question *q, int *n) {
    const struct wanted_percents percents = answer_percents(q->options);
    double *of = malloc((size_t)percents.n * sizeof *of + 1);
    for (int i = 0; i < percents.n && of; i++) of[i] = percents.at[i] / 100;
    *n = percents.n;
    return of;
}

static bf_status find_percents(const question *q, const bf_array *a, const bf_order_options *rules,
                               const bf_array *values) {
    int n;
    double *of = list_fractions(q, &n);
    const bf_status st = of ? find_quantiles(q, a, of, n, rules, values) : BF_E_MEMORY;
    free(of);
    return st;
}

/* Whether all results are elements by their places. */
static bool is_whole(const question *q, int64_t length) {
    int n = 0;
    double *of = q->kind == ORDER_QUANTILE ? list_fractions(q, &n) : NULL;
    const bool known = length > 0 && (of || q->kind == ORDER_MEDIAN);
    const bool whole = known && bf_quantile_is_whole(q->options->method, length, of, n);
    free(of);
    return whole;
}

/* The dtype of an array depends on places, not on what is equal there. */
void answer_settle(answer *x, const question *q, bf_dtype dtype, bf_dtype to, int64_t length) {
    const int64_t n = answer_count(x);
    const bool rounds =
        q->options->form == FORM_NPY && tagged_wanted(dtype, to) && !is_whole(q, length);
    x->values.dtype = rounds ? tagged_make(x->memory, n, dtype, to, x->scale)
                             : tagged_settle(x->memory, n, dtype, to);
}

/* The elements of each fibre. */
static int64_t length_of(const question *q, const bf_array *a) {
    const places *p = q->places;
    int64_t length = 1;
    if (p && p->kind != BY_AXES) return 0;
    for (int d = 0; d < a->ndim; d++)
        if (!p || p->reduced & 1u << d) length *= a->shape[d];
    return length;
}

/* The values as the library writes them: tagged ones of BF_I128 are two pairs each. */
static bf_array results_of(const answer *x, bf_dtype dtype) {
    bf_array results = x->values;
    if (results.dtype == BF_PAIR && dtype == BF_I128) results.shape[results.ndim++] = 2;
    matrix_make_contiguous(&results);
    return results;
}

/* The dtype of values between elements. */
static bf_dtype dtype_between(const question *q, const subject *s) {
    const bf_dtype dtype = s->array.dtype;
    if (s->time) return dtype;
    return q->kind == ORDER_MEDIAN ? bf_median_dtype(dtype)
                                   : bf_quantile_dtype(dtype, q->options->method);
}

/* Results that are elements have their dtype. */
static int statistics_of_array(answer *x, const question *q, const subject *s) {
    bf_order_options rules;
    bf_value empty;
    const bool median = q->kind == ORDER_MEDIAN;
    const bf_dtype dtype = s->array.dtype, to = dtype_between(q, s);
    if (!median) x->values.shape[0] = answer_percents(q->options).n;
    x->values.dtype = to == dtype ? to : BF_PAIR;
    shape_kept(x, q, &s->array, !median);
    int code = read_empty(to, s, q, &rules, &empty);
    if (code == EXIT_DONE) code = make_room(x, s, to != dtype);
    if (code != EXIT_DONE) return code;
    const bf_array results = results_of(x, dtype);
    const bf_status st = median ? find_median(q, &s->array, &rules, &results)
                                : find_percents(q, &s->array, &rules, &results);
    if (st == BF_OK && to != dtype) answer_settle(x, q, dtype, to, length_of(q, &s->array));
    return end_call(q, s, st);
}

/* Whether a single value is shown with the numbers of NaNs and infinities. */
static bool shows_special(const answer *x, const question *q) {
    return q->kind == ORDER_MEDIAN && x->values.ndim == 0 && q->options->layout == LAYOUT_JSON;
}

int answer_make(answer *x, const question *q, const subject *s) {
    int code = EXIT_DONE;
    *x = (answer){.file = s->file, .column = s->column, .nulls = s->nulls};
    x->scale = q->kind == ORDER_ARGSORT ? 0 : s->scale;
    x->time = s->time;
    switch (q->kind) {
    case ORDER_SORT:
    case ORDER_ARGSORT: code = sort_array(x, q, s); break;
    case ORDER_MEDIAN:
    case ORDER_QUANTILE: code = statistics_of_array(x, q, s); break;
    case ORDER_TOP: code = top_of_array(x, q, s); break;
    case ORDER_UNIQUE: code = unique_of_array(x, q, s); break;
    }
    if (code == EXIT_DONE && shows_special(x, q)) code = count_special(x, q, s);
    x->info.dtype = s->array.dtype;
    x->info.scale = s->scale;
    x->info.count = matrix_count(&s->array);
    return code;
}
