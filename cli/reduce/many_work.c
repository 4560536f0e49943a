#include "reduce/many_work.h"

#include "memory/temporary.h"
#include "reduce/exact.h"
#include "reduce/paired.h"
#include "reduce/reduce.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"
#include "work/statefile.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of a slab: where files are mapped, work for all threads; otherwise what is copied, or what
 * is done between two checkpoints. */
#define SLAB_IN_PLACE ((int64_t)256 * 1024 * 1024)
#define SLAB_COPIED ((int64_t)16 * 1024 * 1024)

/* ---- results --------------------------------------------------------------------------------- */

bool many_has_empty(bf_reduction op) {
    const bf_result_class gives = bf_reduction_result(op);
    return gives == BF_RESULT_ELEMENT || gives == BF_RESULT_INDEX;
}

/* The reductions in the columns of describe, from the minimum on. */
static const bf_reduction described[] = {BF_MIN, BF_ARGMIN, BF_MAX, BF_ARGMAX,
                                         BF_SUM, BF_MEAN,   BF_STD};

bf_reduce_options many_rules(const options *o, bf_reduction op) {
    bf_reduce_options rules = o->rules;
    if (many_has_empty(op)) rules.out_dtype = BF_NONE;
    return rules;
}

int many_open_results(many *x, bf_dtype dtype) {
    const options *o = x->task->options;
    const bool all = x->op == BF_DESCRIBE;
    const int columns = all ? RESULTS_COLUMNS : x->line ? PAIRED_LINE : 1;
    results *r = &x->results;
    bf_dtype dtypes[RESULTS_COLUMNS] = {BF_I64, BF_I64, BF_I64};
    r->dtype = dtype;
    if (dtype == BF_I128) dtype = BF_I64; /* in arrays */
    for (int k = 0; k < columns && !all; k++) dtypes[k] = bf_reduce_dtype(x->op, dtype, &o->rules);
    for (int k = RESULTS_MIN; k < RESULTS_COLUMNS && all; k++) {
        const bf_reduce_options rules = many_rules(o, described[k - RESULTS_MIN]);
        dtypes[k] = bf_reduce_dtype(described[k - RESULTS_MIN], dtype, &rules);
    }
    results_close(r);
    r->units = bf_reduction_result(x->op) == BF_RESULT_INDEX ? 0 : r->scale;
    r->array = r->units > 0 && dtypes[0] == BF_I64 ? BF_F64 : dtypes[0];
    results_open(r, dtypes, columns, o->memory.results);
    r->skip = o->rules.nan == BF_NAN_SKIP;
    x->rules.empty = o->empty ? &x->empty : NULL;
    x->empty.scale = r->units;
    return places_read_empty(o, dtypes[0], r->units, &x->empty);
}

static int open_results(many *x) {
    x->results.scale = matrix_scale(&x->input[0]);
    x->results.exact = exact_wanted(x);
    return many_open_results(x, matrix_dtype(&x->input[0]));
}

static bool some_text(const many *x) {
    bool text = false;
    for (int i = 0; i < x->inputs; i++) text = text || x->input[i].rows.source.text;
    return text;
}

/* Whether the integers of a text, whose results take more than 64 bits, are done again: exact.h. */
static bool may_do_again(const many *x) {
    const options *o = x->task->options;
    return some_text(x) && !x->overflows && x->op != BF_PROD && !o->save && !o->checkpoint;
}

int many_call_failed(many *x, bf_status st) {
    const char *name = x->input[0].rows.source.name;
    for (int i = 0; i < x->inputs; i++) {
        const int code = matrix_check(&x->input[i]);
        if (code != EXIT_DONE) return code;
    }
    const char *message = bf_context_message(x->task->context);
    switch (st) {
    case BF_E_ARGUMENT: /* an offset or an index is wrong */
        return fail(EXIT_DATA, x->by->kind == BY_AXES ? name : x->by->rows.source.name, "%s",
                    message);
    case BF_E_OVERFLOW:
        x->overflows = may_do_again(x);
        if (x->overflows) return ROWS_RESETTLED;
        fail(EXIT_DATA, name, "%s", message);
        hint("--out-dtype f64 rounds what 64 bits do not hold");
        return EXIT_DATA;
    case BF_E_EMPTY:
        fail(EXIT_DATA, name, "%s", message);
        hint("--empty VALUE stands for what there is not");
        return EXIT_DATA;
    default: return fail_status(st, x->task->context, name);
    }
}

/* The array of the results of n indices of the first axis, without memory and dtype. */
static bf_array shape_values(const many *x, int64_t n) {
    bf_array values = {.data = NULL};
    values.ndim = places_shape(x->by, &x->input[0], n, values.shape);
    matrix_make_contiguous(&values);
    return values;
}

/* Gives values memory for elements of any dtype. */
static int make_room(const many *x, bf_array *values) {
    const char *name = x->input[0].rows.source.name;
    const int64_t most = x->task->options->memory.results, count = matrix_count(values);
    if (most > 0 && count > most / 8) {
        fail(EXIT_USAGE, name, "--memory is too small: there are %" PRId64 " results at a time",
             count);
        hint("results take at most a fourth of --memory");
        return EXIT_USAGE;
    }
    values->data = malloc((size_t)count * 8 + 1);
    return values->data ? EXIT_DONE : fail_memory(name);
}

static int keep_values(many *x, int column, const bf_array *values) {
    return results_add(&x->results, column, values->data, matrix_count(values))
               ? EXIT_DONE
               : temporary_failed(errno);
}

/* ---- describe -------------------------------------------------------------------------------- */

/* Counts all elements of each fibre. */
static bf_status count_all(const many *x, const bf_array *a, const bf_array *counts) {
    static const uint8_t one = 1;
    bf_array ones = *a;
    ones.data = (void *)(uintptr_t)&one;
    ones.dtype = BF_BOOL;
    memset(ones.strides, 0, sizeof ones.strides);
    return places_reduce(x->by, x->task->context, BF_SUM, &ones, NULL, NULL, counts);
}

/* Adds how many elements of each fibre compare so with an array or, as a plain number, with a
 * float. */
static bf_status add_counts(many *x, bf_map_op op, const bf_array *a, const bf_array *with,
                            const bf_array *flags, const bf_array *counts) {
    const bf_array *const inputs[] = {a, with};
    const bf_map_options how = BF_MAP_OPTIONS(.weak = with == a ? 0 : 2);
    bf_array more = *counts;
    const int64_t n = matrix_count(counts);
    int64_t *total = counts->data, *some = malloc((size_t)n * sizeof *some + 1);
    more.data = some;
    bf_status st = some ? bf_map(x->task->context, op, inputs, 2, &how, flags) : BF_E_MEMORY;
    if (st == BF_OK) st = places_reduce(x->by, x->task->context, BF_SUM, flags, NULL, NULL, &more);
    for (int64_t i = 0; i < n && st == BF_OK; i++) total[i] += some[i];
    free(some);
    return st;
}

/* The number of NaNs or of infinities. */
static bf_status count_special(many *x, int column, const bf_array *a, const bf_array *counts) {
    const double infinities[] = {-INFINITY, INFINITY};
    const bf_array less = {.data = (void *)(uintptr_t)&infinities[0], .dtype = BF_F64},
                   more = {.data = (void *)(uintptr_t)&infinities[1], .dtype = BF_F64};
    memset(counts->data, 0, (size_t)matrix_count(counts) * sizeof(int64_t));
    if (a->dtype < BF_F16) return BF_OK;
    bf_array flags = *a;
    flags.dtype = BF_BOOL;
    flags.data = malloc((size_t)bf_array_count(a) + 1);
    if (!flags.data) return BF_E_MEMORY;
    bf_status st;
    if (column == RESULTS_NAN) {
        st = add_counts(x, BF_MAP_NE, a, a, &flags, counts);
    } else {
        st = add_counts(x, BF_MAP_LE, a, &less, &flags, counts);
        if (st == BF_OK) st = add_counts(x, BF_MAP_GE, a, &more, &flags, counts);
    }
    free(flags.data);
    return st;
}

/* What does not exist, of no elements, is written as 0 here, and shown as "-". */
static bf_status describe_column(many *x, int column, const bf_array *a, const bf_array *values) {
    if (column == RESULTS_N) return count_all(x, a, values);
    if (column < RESULTS_MIN) return count_special(x, column, a, values);
    const bf_reduction op = described[column - RESULTS_MIN];
    const bf_value nothing = {.dtype = values->dtype};
    bf_reduce_options rules = many_rules(x->task->options, op);
    rules.empty = many_has_empty(op) ? &nothing : NULL;
    return places_reduce(x->by, x->task->context, op, a, NULL, &rules, values);
}

/* Takes the values of states of descriptions. */
static bf_status describe_states(const many *x, int column, bf_states *states,
                                 const bf_array *values) {
    bf_descriptions one = {.size = sizeof one};
    const bf_array **const members[RESULTS_COLUMNS] = {&one.n,      &one.nan, &one.inf,    &one.min,
                                                       &one.argmin, &one.max, &one.argmax, &one.sum,
                                                       &one.mean,   &one.std};
    *members[column] = values;
    return bf_states_description(states, &x->task->options->rules, &one);
}

/* ---- ways to work ---------------------------------------------------------------------------- */

/* The reduction whose results are in a column, if that is not of describe. */
static bf_reduction op_of(const many *x, int column) {
    return x->line ? paired_line[column] : x->op;
}

/* Reduces an array, or a slab whose results are its own. */
static int reduce_slab(many *x, const bf_array *a, const bf_array *b) {
    bf_array values = shape_values(x, a->shape[0]);
    int code = make_room(x, &values);
    for (int k = 0; k < x->results.columns && code == EXIT_DONE; k++) {
        values.dtype = x->results.column[k].dtype;
        const bf_status st =
            x->op == BF_DESCRIBE
                ? describe_column(x, k, a, &values)
                : places_reduce(x->by, x->task->context, op_of(x, k), a, b, &x->rules, &values);
        code = st == BF_OK ? keep_values(x, k, &values) : many_call_failed(x, st);
    }
    if (code == EXIT_DONE) x->results.count += matrix_count(&values);
    free(values.data);
    return code;
}

static const bf_array *second_of(const many *x, const bf_array of[2]) {
    return x->inputs > 1 ? &of[1] : NULL;
}

static int take_all(many *x, bf_array of[2]) {
    const int64_t memory = x->task->options->memory.input / x->inputs;
    int code = EXIT_DONE;
    for (int i = 0; i < x->inputs && code == EXIT_DONE; i++)
        code = matrix_all(&x->input[i], memory, &of[i]);
    return code;
}

static int check_inputs(many *x) {
    int code = EXIT_DONE;
    for (int i = 0; i < x->inputs && code == EXIT_DONE; i++) code = matrix_check(&x->input[i]);
    return code;
}

static int reduce_whole(many *x) {
    bf_array of[2];
    int code = take_all(x, of);
    if (code == EXIT_DONE) code = reduce_slab(x, &of[0], second_of(x, of));
    return code == EXIT_DONE ? check_inputs(x) : code;
}

static bool all_in_place(const many *x) {
    bool in_place = true;
    for (int i = 0; i < x->inputs; i++) in_place = in_place && matrix_in_place(&x->input[i]);
    return in_place;
}

int many_slab(const many *x, int64_t *n) {
    const matrix *m = &x->input[0];
    const options *o = x->task->options;
    const int64_t row = m->unit * (int64_t)bf_dtype_size(matrix_dtype(m));
    const int64_t limit = o->memory.input / x->inputs;
    int64_t bytes = all_in_place(x) && !o->checkpoint ? SLAB_IN_PLACE : SLAB_COPIED;
    if (o->memory.limit > 0 && limit < bytes) bytes = limit;
    *n = row == 0 || (x->inputs == 1 && some_text(x)) ? 0 : row > bytes ? 1 : bytes / row;
    if (o->memory.limit == 0 || row <= bytes) return EXIT_DONE;
    fail(EXIT_USAGE, m->rows.source.name,
         "--memory is too small: an index of the first axis selects %" PRId64 " bytes", row);
    hint("an array takes at most an eighth of --memory");
    return EXIT_USAGE;
}

int many_next(many *x, int64_t n, bf_array of[2], bool *more) {
    int code = EXIT_DONE;
    *more = false;
    for (int i = 0; i < x->inputs && code == EXIT_DONE; i++) {
        code = matrix_next(&x->input[i], n, &of[i]);
        *more = *more || (code == EXIT_DONE && of[i].shape[0] > 0);
    }
    const int64_t at = x->input[0].at;
    if (code == EXIT_DONE && !places_reach(x->by, at)) code = places_check(x->by, at);
    *more = *more && code == EXIT_DONE;
    return code;
}

static int reduce_slabs(many *x) {
    bf_array of[2];
    bool more = true;
    int64_t n;
    int code = many_slab(x, &n);
    while (code == EXIT_DONE && more) {
        code = many_next(x, n, of, &more);
        if (more) code = reduce_slab(x, &of[0], second_of(x, of));
    }
    return code;
}

static int absorb_slabs(many *x, bf_states *states) {
    bf_array of[2];
    bool more = true;
    const matrix *m = &x->input[0];
    int64_t n;
    int code = many_slab(x, &n);
    if (code == EXIT_DONE) code = places_check(x->by, m->shape[0]);
    while (code == EXIT_DONE && more) {
        code = many_next(x, n, of, &more);
        if (!more) break;
        const bf_status st =
            places_absorb(x->by, states, &of[0], second_of(x, of), m->at - of[0].shape[0]);
        if (st == BF_OK)
            work_tick(&x->task->work);
        else
            code = many_call_failed(x, st);
    }
    if (code == EXIT_DONE && m->shape[0] < 0) code = places_check(x->by, m->at);
    return code;
}

int many_take(many *x, bf_states *states, bf_array *values) {
    int code = make_room(x, values);
    for (int k = 0; k < x->results.columns && code == EXIT_DONE; k++) {
        values->dtype = x->results.column[k].dtype;
        const bf_status st = x->op == BF_DESCRIBE
                                 ? describe_states(x, k, states, values)
                                 : bf_states_result(states, &x->rules, values, NULL);
        code = st == BF_OK ? keep_values(x, k, values) : many_call_failed(x, st);
    }
    x->results.count = matrix_count(values);
    free(values->data);
    return code;
}

/* Takes the values of states, of n indices of the first axis if each has its own, and saves the
 * states if they shall be. */
static int take_states(many *x, bf_states *states, int64_t n) {
    bf_array values = shape_values(x, n);
    const int code = many_take(x, states, &values);
    if (code != EXIT_DONE || !x->task->options->save) return code;
    const statefile saved = {.states = states, .trailer = trailer_of(x->task->options)};
    return statefile_save(&x->task->save, &saved, x->task->context);
}

static bf_status create_states(const many *x, int64_t n, bf_states **states) {
    const bf_array values = shape_values(x, n);
    return bf_states_create(x->task->context, x->op, x->results.dtype, matrix_count(&values),
                            states);
}

/* A checkpoint knows more of what the numbers of a text are than its first lines do. */
static int settle_again(many *x) {
    matrix *const of[] = {&x->input[0], &x->input[1]};
    const int code = matrix_settle(of, x->inputs);
    return code == EXIT_DONE ? open_results(x) : code;
}

static bool is_ordered(const many *x) {
    const bool tree = x->op == BF_PROD && x->results.dtype >= BF_F16;
    return tree || bf_reduction_result(x->op) >= BF_RESULT_INDEX;
}

/* Makes the states, or takes those of a checkpoint, and absorbs what they lack. */
static int walk_slabs(many *x, bf_states **states) {
    matrix *m = &x->input[0];
    rows *const inputs[] = {&m->rows, &x->input[1].rows};
    const work_thing thing = {.many = states};
    int code = work_begin(&x->task->work, inputs, x->inputs);
    for (int i = 0; i < x->inputs; i++) matrix_follow(&x->input[i]);
    if (code == EXIT_DONE && matrix_dtype(m) != x->results.dtype) code = settle_again(x);
    if (code != EXIT_DONE) return code;
    bf_status st = create_states(x, 0, states);
    if (st == BF_OK && is_ordered(x)) st = places_seek(x->by, *states, m, m->first);
    if (st != BF_OK) return many_call_failed(x, st);
    code = work_hold(&x->task->work, &thing, 1);
    return code == EXIT_DONE ? absorb_slabs(x, *states) : code;
}

static int reduce_states(many *x) {
    bf_states *states = NULL;
    int code = walk_slabs(x, &states);
    if (code != ROWS_RESETTLED) code = work_end(&x->task->work, code, true);
    if (code == EXIT_DONE)
        code = ranks_merge_many(x->task->context, states, x->input[0].rows.source.name);
    if (code == EXIT_DONE && ranks_rank() == 0) code = take_states(x, states, 0);
    bf_states_destroy(states);
    return code;
}

/* Saves states where each index of the first axis has states of its own. */
static int save_whole(many *x) {
    bf_array of[2];
    bf_states *states = NULL;
    int code = take_all(x, of);
    if (code != EXIT_DONE) return code;
    bf_status st = create_states(x, of[0].shape[0], &states);
    if (st == BF_OK) st = places_absorb(x->by, states, &of[0], second_of(x, of), 0);
    code = st == BF_OK ? take_states(x, states, of[0].shape[0]) : many_call_failed(x, st);
    bf_states_destroy(states);
    return code == EXIT_DONE ? check_inputs(x) : code;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* A product of floats along axes is cut at whole leaves. Those of segments and slots begin
 * anywhere, and are of one rank. */
enum { LEAF = 4096 };

static bool is_float_product(const many *x) {
    return x->op == BF_PROD && matrix_dtype(&x->input[0]) >= BF_F16;
}

bool many_shares(const many *x) {
    if (some_text(x) || x->line || (places_keep_first(x->by) && x->task->options->save))
        return false;
    return x->by->kind == BY_AXES || !is_float_product(x);
}

/* A GPU reduces at once what states keep in host memory. */
static bool wants_gpu(const many *x) {
    const bool kept = is_ordered(x) || x->op == BF_PROD || bf_reduction_arrays(x->op) == 2;
    return kept && options_gpu(x->task->options->device);
}

/* States describe in one pass, and at once it takes one for each value; but a state is as large as
 * many elements. */
enum { DESCRIBED = 1 << 10 };

static bool wants_states(const many *x) {
    const matrix *m = &x->input[0];
    const bf_array values = shape_values(x, m->shape[0]);
    return x->op == BF_DESCRIBE && !places_keep_first(x->by) && m->shape[0] > 0 &&
           matrix_count(&values) <= m->shape[0] * m->unit / DESCRIBED;
}

/* Slabs with results of their own cost nothing, but states do: an array in place is rather reduced
 * at once, if memory is not limited. */
static bool is_whole(const many *x) {
    const options *o = x->task->options;
    const bool simple = places_keep_first(x->by) && !x->input[0].rows.source.layout.fortran;
    if (x->line) return !simple; /* states of many tell of one reduction */
    if (o->save || o->memory.limit > 0 || o->checkpoint || ranks_count() > 1) return false;
    return !simple && (wants_gpu(x) || (all_in_place(x) && !wants_states(x)));
}

/* Few long fibres are taken in parts if one is too large for memory, or there are more ranks; and
 * those whose states a checkpoint saves. */
static bool wants_parts(const many *x) {
    const matrix *m = &x->input[0];
    const int64_t row = m->unit * (int64_t)bf_dtype_size(matrix_dtype(m));
    const int64_t limit = x->task->options->memory.input / x->inputs;
    if (!places_are_runs(x->by, m) || (ranks_count() > 1 && is_float_product(x))) return false;
    return x->task->options->checkpoint || (limit > 0 && row > limit) ||
           (ranks_count() > 1 && m->shape[0] < ranks_count());
}

static int flatten(many *x) {
    x->by = &x->flat;
    const int code = places_flatten(&x->flat, &x->input[0], &x->places);
    if (x->inputs > 1) matrix_flatten(&x->input[1]);
    return code;
}

static int reduce_once(many *x) {
    const options *o = x->task->options;
    int code = ranks_agree(wants_parts(x) ? flatten(x) : EXIT_DONE);
    if (code != EXIT_DONE) return code;
    if (o->checkpoint && places_keep_first(x->by))
        return fail(EXIT_USAGE, x->input[0].rows.source.name,
                    "--checkpoint needs axis 0, or an array in C order and its last axes");
    if (o->save && places_keep_first(x->by)) return save_whole(x);
    if (is_whole(x)) return reduce_whole(x);
    const bool leaves = !places_keep_first(x->by) && is_float_product(x);
    for (int i = 0; i < x->inputs; i++)
        matrix_share(&x->input[i], leaves && ranks_count() > 1 ? LEAF : 1);
    if (!places_keep_first(x->by)) return reduce_states(x);
    code = reduce_slabs(x);
    return code == ROWS_RESETTLED ? code : ranks_agree(code);
}

/* Reduces anew as long as a number of a text shows that the dtype is another one. */
int many_work(many *x) {
    matrix *const of[] = {&x->input[0], &x->input[1]};
    int code = EXIT_DONE;
    for (bool more = true; code == EXIT_DONE && more;) {
        const options *o = x->task->options;
        code = matrix_settle(of, x->inputs);
        if (code == EXIT_DONE && (o->save || o->checkpoint)) code = exact_leave(x);
        if (code == EXIT_DONE) code = open_results(x);
        if (code == EXIT_DONE) code = x->results.exact ? exact_work(x) : reduce_once(x);
        more = code == ROWS_RESETTLED;
        for (int i = 0; i < x->inputs && more; i++) matrix_again(of[i]);
        if (more) code = EXIT_DONE;
    }
    return code;
}
