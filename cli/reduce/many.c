/* sum, dot, describe and the other commands of values with --axis, --offsets or --index. */
#include "reduce/many.h"

#include "memory/temporary.h"
#include "options/context.h"
#include "reduce/exact.h"
#include "reduce/many_work.h"
#include "reduce/reduce.h"
#include "runtime/info.h"
#include "runtime/progress.h"
#include "runtime/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- the command line ------------------------------------------------------------------------ */

bool many_asked(const options *o) {
    return o->axes.n > 0 || o->offsets || o->index || o->slots >= 0 || o->empty;
}

static int check_output(const options *o, bf_reduction op) {
    if (o->form != FORM_NPY) return EXIT_DONE;
    if (o->file_count > bf_reduction_arrays(op))
        return fail(EXIT_USAGE, o->output, "one array holds the results of one FILE");
    return EXIT_DONE;
}

static int check_options(const options *o, bf_reduction op) {
    if (op == BF_SLOPE && (o->save || o->checkpoint))
        return fail(EXIT_USAGE, NULL, "%s of many values tells of one reduction, not of a line",
                    o->save ? "--save" : "--checkpoint");
    if (o->axes.n == 0 && !o->offsets && !o->index)
        return fail(EXIT_USAGE, NULL, "--empty needs --axis, --offsets or --index");
    if (o->empty && !many_has_empty(op))
        return fail(EXIT_USAGE, NULL, "--empty is for min, max, argmin and argmax");
    if (o->save && o->file_count > bf_reduction_arrays(op))
        return fail(EXIT_USAGE, NULL, "--save of many values takes one FILE");
    return check_output(o, op);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int open_inputs(many *x, char *const names[]) {
    const options *o = x->task->options;
    input in = o->input;
    rows_options how = context_reading(o, &x->limit, x->inputs);
    how.digits = exact_digits(x->op);
    how.slab = options_slab(o);
    in.text.table = true;
    spool_limit_set(&x->limit, o->memory.pipes / 2);
    int code = EXIT_DONE;
    for (int i = 0; i < x->inputs && code == EXIT_DONE; i++)
        code = matrix_open(&x->input[i], names[i], &in, &how);
    return code;
}

/* Pairs have one shape; the length of a stream shows at its end. */
static int check_pair(const many *x) {
    const matrix *a = &x->input[0], *b = &x->input[1];
    bool same = x->inputs == 1 || a->ndim == b->ndim;
    for (int d = 0; same && x->inputs > 1 && d < a->ndim; d++)
        same = a->shape[d] == b->shape[d] || a->shape[d] < 0 || b->shape[d] < 0;
    return same ? EXIT_DONE
                : fail(EXIT_DATA, b->rows.source.name, "%s: it is not that of %s",
                       bf_status_string(BF_E_SHAPE), a->rows.source.name);
}

/* Whether this rank has a part in the work; what ranks cannot share is done by rank 0 alone. */
static bool takes_part(many *x) {
    x->away = !many_shares(x) && !ranks_alone();
    return !x->away;
}

static int put_results(many *x, char *const names[], double began) {
    const matrix *m = &x->input[0];
    const int64_t indices = m->shape[0] < 0 ? m->at : m->shape[0];
    results *r = &x->results;
    r->seconds = progress_clock() - began;
    r->file = names[0];
    r->other = x->inputs > 1 ? names[1] : NULL;
    r->n = indices * m->unit;
    if (m->shape[0] < 0) r->ndim = places_shape(x->by, m, indices, r->shape);
    note_device(x->task->context, names[0]);
    return ranks_rank() == 0 ? results_put(r, &x->task->output, bf_context_device(x->task->context))
                             : EXIT_DONE;
}

static int reduce_files(many *x, char *const names[]) {
    const matrix *m = &x->input[0];
    const double began = progress_clock();
    x->by = &x->places;
    x->overflows = false;
    int code = open_inputs(x, names);
    if (code == EXIT_DONE) code = check_pair(x);
    if (code == EXIT_DONE) code = places_fit(&x->places, m);
    code = ranks_agree(code);
    if (code != EXIT_DONE || !takes_part(x)) return code;
    x->results.ndim = places_shape(&x->places, m, m->shape[0], x->results.shape);
    for (int i = 0; i < x->inputs; i++) task_tell_input(x->task, &x->input[i].rows);
    progress_start(names[0], rows_bytes(&m->rows));
    code = many_work(x);
    progress_stop();
    if (code == EXIT_DONE && places_keep_first(x->by)) code = results_collect(&x->results);
    if (code == EXIT_DONE) code = put_results(x, names, began);
    return ranks_agree(code);
}

/* A file that fails does not keep the others from their values. */
static int run_files(many *x) {
    const options *o = x->task->options;
    int first_failure = EXIT_DONE;
    for (int i = 0; i < o->file_count && !x->away; i += x->inputs) {
        if (ranks_any(ferror(x->task->output.stream))) break;
        const int code = reduce_files(x, o->files + i);
        if (first_failure == EXIT_DONE) first_failure = code;
        for (int k = 0; k < x->inputs; k++) matrix_close(&x->input[k]);
        if (x->by == &x->flat) places_close(&x->flat);
        results_close(&x->results);
    }
    return first_failure;
}

static int run_task(many *x, task *t, const options *o) {
    int code = task_open(t, o, o->file_count > x->inputs);
    x->task = t;
    if (code == EXIT_DONE) {
        code = ranks_agree(places_open(&x->places, o, t->context));
        code = task_close(t, code == EXIT_DONE ? run_files(x) : code, NULL);
        places_close(&x->places);
    }
    task_free(t);
    return code;
}

int many_run(const options *o, bf_reduction op) {
    int code = places_check_line(o);
    if (code == EXIT_DONE && o->where)
        code = fail(EXIT_USAGE, NULL, "--where does not go with --axis, --offsets or --index");
    if (code == EXIT_DONE) code = check_options(o, op);
    if (code != EXIT_DONE) return code;
    many *x = calloc(1, sizeof *x); /* too large for a small stack */
    task *t = calloc(1, sizeof *t);
    if (x)
        *x = (many){
            .op = op, .rules = o->rules, .inputs = bf_reduction_arrays(op), .line = op == BF_SLOPE};
    code = x && t ? run_task(x, t, o) : fail_memory(NULL);
    free(t);
    free(x);
    return code;
}

/* ---- merge ----------------------------------------------------------------------------------- */

/* The elements that all states have absorbed; memory has room for a number for each. */
static int64_t count_elements(bf_states *states, int64_t n, int64_t *memory) {
    const bf_array counts = bf_array_of(BF_I64, memory, n);
    int64_t sum = 0;
    const bf_status st = bf_states_counts(states, &counts);
    for (int64_t i = 0; i < n && st == BF_OK; i++) sum += memory[i];
    return sum;
}

static int show_states(many *x, bf_states *states, double began) {
    const bf_states_info info = states_info(states);
    results *r = &x->results;
    x->op = info.op;
    x->rules = many_rules(x->task->options, info.op);
    int code = many_open_results(x, info.dtype);
    if (code != EXIT_DONE) return code;
    bf_array values = {.ndim = 1, .shape = {info.count}, .strides = {1}};
    r->ndim = 1;
    r->shape[0] = info.count;
    int64_t *memory = malloc((size_t)info.count * sizeof *memory + 1);
    if (memory) r->n = count_elements(states, info.count, memory);
    free(memory);
    code = many_take(x, states, &values);
    r->seconds = progress_clock() - began;
    if (code == EXIT_DONE)
        code = results_put(r, &x->task->output, bf_context_device(x->task->context));
    results_close(r);
    return code;
}

int many_show(task *t, bf_states *states, const char *file, double began) {
    many *x = calloc(1, sizeof *x); /* too large for a small stack */
    if (!x) return fail_memory(file);
    x->task = t;
    x->by = &x->places;
    x->results.file = x->input[0].rows.source.name = file;
    const int code = show_states(x, states, began);
    free(x);
    return code;
}
