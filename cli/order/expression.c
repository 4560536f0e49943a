#include "order/expression.h"

#include "expression/inputs.h"
#include "runtime/progress.h"

#include <stdlib.h>

typedef struct ordering {
    const question *question;
    const columns_limit *limit;
    expressed expressed;
    columns results; /* one column: the results that are not NULL */
    int64_t *gaps;   /* the rows of the others, ascending, where rows are shown */
    int64_t room;
} ordering;

/* ---- results --------------------------------------------------------------------------------- */

static bool add_gap(ordering *r, int64_t row, int64_t count) {
    if (count == r->room) {
        const int64_t room = 2 * r->room + 64;
        int64_t *more = realloc(r->gaps, (size_t)room * sizeof *more);
        if (!more) return false;
        r->gaps = more;
        r->room = room;
    }
    r->gaps[count] = row;
    return true;
}

/* Counts the rows without a value, and notes where they are if rows are shown. */
static int add_gaps(ordering *r, const uint8_t *valid) {
    const expressed *x = &r->expressed;
    int64_t *count = &r->results.of[0].nulls;
    for (int64_t i = 0; valid && i < x->n; i++) {
        if (valid[i]) continue;
        if (r->question->kind == ORDER_TOP && !add_gap(r, x->at + i, *count))
            return fail_memory(x->files[0]);
        ++*count;
    }
    return EXIT_DONE;
}

static int add_results(ordering *r) {
    formula_results results;
    int code = expressed_compute(&r->expressed, &results);
    if (code == EXIT_DONE && results.numbers.dtype != r->results.of[0].form.dtype)
        return ROWS_RESETTLED;
    if (code == EXIT_DONE) code = add_gaps(r, results.valid);
    if (code != EXIT_DONE) return code;
    const bf_array present = expressed_present(results);
    return columns_add(&r->results, &present, r->limit, r->expressed.files[0]);
}

/* ROWS_RESETTLED: an input turns out to have another dtype. */
static int load_once(ordering *r) {
    expressed *x = &r->expressed;
    const int64_t most = expressed_step(x, INT64_MAX);
    int code = expressed_parse(x);
    columns_close(&r->results);
    if (code == EXIT_DONE) code = columns_open(&r->results, 1, x->files[0]);
    if (code == EXIT_DONE) r->results.of[0].form = x->form;
    while (code == EXIT_DONE && (code = expressed_next(x, most)) == EXIT_DONE && x->n > 0)
        code = add_results(r);
    return code;
}

static int load_results(ordering *r) {
    expressed *x = &r->expressed;
    int code;
    progress_start(x->files[0], expressed_bytes(x));
    while ((code = load_once(r)) == ROWS_RESETTLED) expressed_again(x);
    progress_stop();
    for (int i = 0; i < x->file_count && code == EXIT_DONE; i++)
        code = source_check(&x->inputs[i].source);
    return code;
}

static int open_inputs(ordering *r) {
    const options *o = r->question->options;
    const order_kind kind = r->question->kind;
    const rows_options how = {.threads = o->threads,
                              .digits = BF_SCALE_MOST_I128,
                              .ordered = kind == ORDER_ARGSORT || kind == ORDER_TOP,
                              .memory = o->memory.input,
                              .times = true};
    const int code =
        expressed_open(&r->expressed, o, o->files, o->file_count, r->question->context, &how);
    return code == EXIT_DONE ? expressed_prepare(&r->expressed) : code;
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* The row of result i, of those that are not NULL: so many rows before it are gaps. */
static int64_t row_of(const ordering *r, int64_t i) {
    int64_t first = 0, last = r->results.of[0].nulls;
    while (first < last) {
        const int64_t middle = first + (last - first) / 2;
        if (r->gaps[middle] - middle <= i)
            first = middle + 1;
        else
            last = middle;
    }
    return i + first;
}

static int put_answer(const ordering *r, output *out, double began) {
    const question *q = r->question;
    const subject s = {.file = r->expressed.files[0],
                       .array = columns_array(&r->results, 0),
                       .scale = r->results.of[0].form.scale,
                       .time = r->results.of[0].form.time,
                       .owned = true,
                       .nulls = r->results.of[0].nulls};
    answer a;
    int code = answer_make(&a, q, &s);
    a.seconds = progress_clock() - began;
    for (int64_t i = 0; code == EXIT_DONE && r->gaps && i < answer_count(&a); i++)
        a.beside[i] = row_of(r, a.beside[i]);
    note_device(q->context, s.file);
    if (code == EXIT_DONE) code = answer_put(&a, q, out, false);
    answer_free(&a);
    return code;
}

int expression_check(const options *o) {
    const char *other = o->axes.n > 0 || o->offsets || o->index || o->empty
                            ? "--axis, --offsets, --index or --empty"
                        : o->total      ? "--total"
                        : o->checkpoint ? "--checkpoint"
                                        : NULL;
    if (other) return fail(EXIT_USAGE, NULL, "-e does not go with %s", other);
    return expressed_check(o->file_count);
}

int expression_answer(const question *q, output *out, const columns_limit *limit) {
    const double began = progress_clock();
    ordering *r = calloc(1, sizeof *r); /* too large for a small stack */
    if (!r) return fail_memory(NULL);
    r->question = q;
    r->limit = limit;
    int code = open_inputs(r);
    if (code == EXIT_DONE) code = load_results(r);
    if (code == EXIT_DONE) code = put_answer(r, out, began);
    expressed_close(&r->expressed);
    columns_close(&r->results);
    free(r->gaps);
    free(r);
    return code;
}
